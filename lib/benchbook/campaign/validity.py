"""Whether a measurement counts: what interfered with it, and is no part of the system under test, makes it *disturbed*.

`CONDITIONS` is the table. Each condition reads the samples of a load and says what it found. None asks how much the
load did, how busy it kept its hosts or how fast they computed: a system that is slow now and then would choose by that
which of its own trials count. Each asks what *others* took, whether a process, a machine or the network stood still.
A hard disturbance spoils a trial; of the others (CPU, disk) a little is taken all day on some machines.

A stall of the system itself is none of them: it counts, and `stalls` tells of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise

import pandas as pd

from benchbook.campaign.record import Quantity
from benchbook.hosts.host_models import Json

# What stands still for so long, or for this share of the load, spoils it. A heartbeat comes once a second, so that of a
# stop up to a second is not seen: one of 2 s, or of a tenth of a load that is longer than 20 s, is always found.
LEAST_S, SHARE = 1.0, 0.05
# The probe of the machine samples so often, whatever the system does.
PERIOD_S = 1.0
# With a twentieth of the CPU stolen on two cores, rates fell by a third (33 loads of 3 s).
STOLEN = 0.02
# What runs on any machine (a clock daemon, a desktop) uses a little CPU all the time.
CPU_BY_OTHERS = 0.05
# Bytes/s. A search through all files read 700 pieces of 4 kB a second: it kept a disk busy for 95% of the time, and
# sagas over MySQL had a fifth to three fifths of their throughput.
DISK_BY_OTHERS = 2e6
# What keeps clocks slews them by 0.0005 s a second at most (RFC 5905: what is off by more than 0.128 s is set at once).
CLOCK_STEP_S = 0.1
# A stall lasts so many seconds at least, and at the rate of the load's other seconds it has cost so many transactions:
# of one transaction a second, two seconds in five hundred are empty by chance.
STALL_S, MISSED = 2.0, 10.0
# Retransmission timers of TCP that ran out while nothing was done: one may be of another program's connection.
TIMEOUTS = 2
# A record says under this key which of its series the load generator's lines are.
RATES = "rates"
OUTSIDE = "programs outside of this container"
_COLUMNS = ["host", "source", "metric", "t", "value"]
_IDLE = ["cpu.idle", "cpu.iowait"]


@dataclass(frozen=True)
class Disturbance:
    """`why` is a sentence with the figure that decides. One that is not `hard` may count where it lasts."""

    condition: str
    why: str
    hard: bool = True


@dataclass(frozen=True)
class CpuTaken:
    """What others took of a machine's CPU during a load, 0 to 1: `stolen` of what was wanted, `others` of all cores."""

    stolen: float = 0.0
    others: float = 0.0
    program: str = ""

    @property
    def lost(self) -> float:
        return self.stolen + self.others

    @property
    def proof(self) -> Json:
        """Return what a record keeps of it."""
        used = {"others": round(self.others, 4), "program": self.program} if self.others else {}
        return {"stolen": round(self.stolen, 4), "lost": round(self.lost, 4), **used}


@dataclass(frozen=True)
class DiskTaken:
    """Bytes/s that others moved to and from a machine's disks during a load, and how busy the disks were, 0 to 1."""

    others: float = 0.0
    busy: float = 0.0
    program: str = ""

    @property
    def proof(self) -> Json:
        """Return what a record keeps of it: nothing where others moved nothing."""
        found = {"bytes_per_s": round(self.others), "busy": round(self.busy, 4), "program": self.program}
        return {"disk_taken": found} if self.others else {}


@dataclass(frozen=True)
class RateLines:
    """The load generator's lines, (t, value) in order, one every `every_s`, of a load from `began` to `ended`."""

    rates: Sequence[tuple[float, float]]
    every_s: float
    began: float
    ended: float

    @property
    def longest_gap_s(self) -> float:
        """The longest time without a line, the load's begin and end among them."""
        marks = [self.began, *(t for t, _ in self.rates), self.ended]
        return float(max(after - before for before, after in pairwise(marks)))

    @property
    def empty(self) -> list[list[float]]:
        """The times of lines in which nothing was done, those that follow each other together."""
        return [[t for t, _ in run] for nothing, run in groupby(self.rates, lambda line: line[1] == 0) if nothing]


@dataclass(frozen=True)
class TrialSamples:
    """A load from `started` to `ended` (s since the epoch, by its hosts): long table of samples, figures, proof."""

    started: float
    ended: float
    series: pd.DataFrame
    summary: Mapping[str, Quantity]
    proof: Json

    @property
    def seconds(self) -> float:
        return self.ended - self.started

    @property
    def tolerated_s(self) -> float:
        """What stands still for less than this is no disturbance."""
        return max(LEAST_S, SHARE * self.seconds)

    def inside_s(self, began: float, ended: float) -> float:
        """Return seconds of a span that lie inside the load."""
        return max(0.0, min(ended, self.ended) - max(began, self.started))

    def samples(self, *, source: str = "", metric: str = "") -> pd.DataFrame:
        """Return the rows of a source, or whose metric begins so, in their order."""
        found = self._rows[self._rows.source == source] if source else self._rows
        return found[found.metric.str.startswith(metric)] if metric else found

    @cached_property
    def _rows(self) -> pd.DataFrame:
        return self.series.reindex(columns=_COLUMNS).astype({"host": str, "source": str, "metric": str})

    def means(self, source: str) -> dict[str, pd.Series[float]]:
        """Per host the mean of each metric over the load."""
        rows = of_load(self.samples(source=source), self.started, self.ended)
        return {str(host): part.groupby("metric").value.mean() for host, part in rows.groupby("host")}

    @cached_property
    def _machines(self) -> list[tuple[pd.Series[float], pd.Series[float]]]:
        """Of every host what its machine counted, and what others used there."""
        others = self.means("others")
        return [(machine, others.get(host, _NOTHING)) for host, machine in self.means("host").items()]

    @cached_property
    def cpu_taken(self) -> CpuTaken:
        """Of the machine that lost the most."""
        found = [_cpu_taken(machine, others) for machine, others in self._machines]
        return max(found, key=lambda one: one.lost, default=CpuTaken())

    @cached_property
    def disk_taken(self) -> DiskTaken:
        """Of the machine on whose disks others moved the most."""
        found = [_disk_taken(machine, others) for machine, others in self._machines]
        return max(found, key=lambda one: one.others, default=DiskTaken())

    @property
    def speed(self) -> dict[str, float]:
        """Per host how fast its cores computed: pieces of work per second of CPU time, the median over the load."""
        rows = self.samples(source="host", metric="speed")
        inside = rows[rows.t.between(self.started, self.ended)]
        return {str(host): float(value) for host, value in inside.groupby("host").value.median().round(1).items()}

    @cached_property
    def rate_lines(self) -> RateLines | None:
        """None where the generator prints no such lines."""
        if not (said := self.proof.get(RATES)):
            return None
        rows = self.samples(source=said["source"], metric=said["metric"]).sort_values("t")
        rates = list(zip(rows.t.astype(float), rows.value.astype(float), strict=True))
        return RateLines(rates, said["every_s"], said["began"], said["ended"])


_NOTHING = pd.Series(dtype=float)


def of_load(samples: pd.DataFrame, started: float, ended: float) -> pd.DataFrame:
    """Return the rows of `samples` that belong to the load alone.

    A sample stands at the end of its second: the first one inside a load of 2 s is half of the quiet before it. So a
    host's samples that begin before the load count only where it has no others.
    """
    moments = samples[["host", "t"]].drop_duplicates().sort_values(["host", "t"])
    whole = moments[(moments.groupby("host").t.shift() >= started) & (moments.t <= ended)]
    others = moments[moments.t.between(started, ended) & ~moments.host.isin(whole.host)]
    return samples.merge(pd.concat([whole, others]), on=["host", "t"])


def _cpu_taken(machine: pd.Series[float], others: pd.Series[float]) -> CpuTaken:
    cpu = machine[machine.index.str.startswith("cpu.")]
    cores = float(cpu.sum())
    if not cores:
        return CpuTaken()
    wanted = cores - float(cpu.reindex(_IDLE).sum())
    unseen = _unseen(cpu.get("cpu.user", 0.0) + cpu.get("cpu.nice", 0.0), others.get("seen.cpu"))
    return CpuTaken(
        # Only what is wanted can be stolen: as a share of it, what a neighbour takes is the same however idle we are.
        stolen=cpu.get("cpu.steal", 0.0) / max(wanted, cores / 4),
        others=(others.get("cpu", 0.0) + unseen) / cores,
        program=_most_used(others, "cpu.", unseen),
    )


def _disk_taken(machine: pd.Series[float], others: pd.Series[float]) -> DiskTaken:
    # A file system writes its journal for us in nobody's name: up to as much again as the programs wrote is ours.
    written = 2 * others["seen.written"] if "seen.written" in others else None
    unseen = _unseen(machine.get("disk.read_bytes", 0.0), others.get("seen.read"))
    unseen += _unseen(machine.get("disk.written_bytes", 0.0), written)
    program = _most_used(others, "disk.", unseen)
    return DiskTaken(others.get("disk", 0.0) + unseen, min(1.0, machine.get("disk.busy_s", 0.0)), program)


def _unseen(of_machine: float, of_programs: float | None) -> float:
    """Return what programs used that a container hides: the machine's own count less that of all who are seen.

    `of_programs` is None where nobody is hidden.
    """
    return 0.0 if of_programs is None else max(0.0, of_machine - of_programs)


def _most_used(others: pd.Series[float], metric: str, unseen: float) -> str:
    named = others[others.index.str.startswith(metric)] if len(others) else others
    if unseen and unseen >= (named.max() if len(named) else 0.0):
        return OUTSIDE
    return str(named.idxmax()).removeprefix(metric) if len(named) else ""


# -- what stood still -------------------------------------------------------------------------------------------------


def stopped(load: TrialSamples) -> Iterator[str]:
    """Commands that somebody had stopped: nothing healthy ever is, so that any while counts, however short."""
    for stop in load.proof.get("stopped", []):
        seconds = load.inside_s(stop["began"], stop["ended"] or load.ended)
        who = f"{stop['job']} on {stop['host']}"
        if stop["what"] == "command" and seconds > 0:
            yield f"{who} was stopped (SIGSTOP) for {seconds:.1f} of {load.seconds:.1f} s"
        elif stop["what"] == "supervisor" and seconds > load.tolerated_s:
            yield f"the supervisor of {who} stood still for {seconds:.1f} s"


def stopped_in_groups(load: TrialSamples) -> Iterator[str]:
    """Of jobs whose processes are sampled one by one (transfers): any that was stopped, parent or child."""
    rows = load.samples(metric="stopped.")
    for (host, metric), seen in rows[rows.t.between(load.started, load.ended)].groupby(["host", "metric"]):
        if (standing := seen[seen.value > 0]).empty:
            continue
        who = f"{str(metric).removeprefix('stopped.')} on {host}"
        yield f"{standing.value.max():.0f} processes of {who} were stopped in {len(standing)} of {len(seen)} samples"


def late_heartbeats(load: TrialSamples) -> Iterator[str]:
    """Of every host the latest wake-up of its probes: the machine, or the probe, stood still meanwhile."""
    for (host, probe), beats in load.samples(metric="heartbeat.late_s").groupby(["host", "source"]):
        seconds = max(load.inside_s(t - late, t) for t, late in zip(beats.t, beats.value, strict=True))
        if seconds > load.tolerated_s:
            why = f"stood still for at least {seconds:.1f} of {load.seconds:.1f} s: its heartbeat came that late"
            yield f"{host} (probe {probe}) {why}"


def missing_samples(load: TrialSamples) -> Iterator[str]:
    """Of every host the longest time without a sample of the machine, the load's start and end among them."""
    for host, times in load.samples(source="host").groupby("host").t:
        marks = [load.started, *sorted(t for t in set(times) if load.started < t < load.ended), load.ended]
        seconds = max(after - before for before, after in pairwise(marks))
        if seconds > PERIOD_S + load.tolerated_s:
            yield f"no sample of host {host} for {seconds:.1f} s, where one comes every {PERIOD_S:g} s"


def clock_steps(load: TrialSamples) -> Iterator[str]:
    """Of every host the largest step of its wall clock: times and rates of its series are then wrong."""
    rows = load.samples(metric="clock.step_s")
    for host, steps in rows[rows.t.between(load.started, load.ended)].groupby("host").value:
        if abs(step := max(steps, key=abs)) > CLOCK_STEP_S:
            yield f"the clock of host {host} was set by {step:+.2f} s while the load ran"


def lost_links(load: TrialSamples) -> Iterator[str]:
    """A network link that went down or came up: any while counts, for what is lost is sent again a good deal later."""
    for (host, metric), counts in load.samples(source="host", metric="link_changes.").groupby(["host", "metric"]):
        changed = counts.value.diff().abs()[(counts.t.shift() < load.ended) & (counts.t > load.started)].sum()
        if changed:
            times = "once" if changed == 1 else f"{changed:.0f} times"
            interface = str(metric).removeprefix("link_changes.")
            yield f"the network link of host {host} ({interface}) went down or came up {times} under load"


def network_cuts(load: TrialSamples) -> Iterator[str]:
    """Yield a cut that no link of a host shows: nothing was done for a while, and meanwhile TCP's timers ran out.

    A server that stands still acknowledges what comes, so that no timer of its clients runs out. What other programs'
    connections lose all the time is told by the rest of the load. Where nothing is left of that, only connections count
    that stood: what programs try all day is to connect to what does not answer.
    """
    lines = load.rate_lines
    spans = [*([(run[0] - lines.every_s, run[-1]) for run in lines.empty] if lines else []), *_overrun(load)]
    longest = max((ended - began for began, ended in spans), default=0.0)
    if longest < LEAST_S:
        return
    tcp = load.samples(source="host", metric="tcp.").pivot_table(index=["host", "t"], columns="metric", values="value")
    tcp = tcp.reindex(columns=["tcp.timeouts", "tcp.syn_retransmitted"]).fillna(0.0).reset_index()
    tcp = tcp[tcp.t.between(load.started, load.ended + PERIOD_S)]
    # Usual is what is far from the cut: it begins in the middle of a second, and TCP waits twice as long each time, so
    # that its timers run out for as long again after it. In a short load nearer seconds must do.
    edges = [(began - PERIOD_S, ended + PERIOD_S) for began, ended in spans]
    echoes = [(began - PERIOD_S, 2 * ended - began + PERIOD_S) for began, ended in spans]
    for host, rows in tcp.groupby("host"):
        inside, timeouts = _within(rows.t, spans), rows["tcp.timeouts"]
        beside = next((far for near in (echoes, edges, spans) if (far := ~_within(rows.t, near)).any()), ~inside)
        if beside.any():
            usual = timeouts[beside].mean()
        else:
            # Without a timer, Linux counts there what answers a SYN that came again (tcp_rtx_synack).
            # Of a connect() that Linux gives up, the last timer sends no SYN, and is left over (6.18: 3 timers, 2 SYN):
            # two such ends within the stall look like a cut. TCPAbortOnTimeout counts them, but those of connections
            # that stood as well: less by those, a cut would be missed.
            usual, timeouts = 0.0, (timeouts - rows["tcp.syn_retransmitted"]).clip(lower=0.0)
        seconds = rows.t.diff().fillna(PERIOD_S)
        within = (timeouts * seconds)[inside].sum()
        if within >= max(TIMEOUTS, 3 * usual * seconds[inside].sum()):
            yield (
                f"the network of host {host} was cut: nothing was done for {longest:.1f} s, in which "
                f"{within:.0f} of its TCP timers ran out"
            )


def _within(times: pd.Series[float], spans: Sequence[tuple[float, float]]) -> pd.Series[bool]:
    """Return which of the samples at these times, each of the second before, have a part in one of the spans."""
    return times.map(lambda t: any(began < t <= ended + PERIOD_S for began, ended in spans)).astype(bool)


def _overrun(load: TrialSamples) -> list[tuple[float, float]]:
    """Return the span by which the load lasted longer than was asked for."""
    asked_s, took = load.proof.get("asked_s"), load.summary.get("total_time_s")
    if not asked_s or not took or took.value - asked_s <= load.tolerated_s:
        return []
    return [(load.ended - (took.value - asked_s), load.ended)]


def missing_lines(load: TrialSamples) -> Iterator[str]:
    """A generator that stood still prints nothing: lines are missing, one after the other."""
    lines = load.rate_lines
    if lines and lines.longest_gap_s > lines.every_s + load.tolerated_s:
        expected = int((lines.ended - lines.began) / lines.every_s)
        yield (
            f"the load generator printed no rate for {lines.longest_gap_s:.1f} s: {len(lines.rates)} lines of "
            f"{expected} came"
        )


def longest_request(load: TrialSamples) -> Iterator[str]:
    """No request takes longer than the load that it belongs to: a clock, or who reads it, stood still."""
    longest, took = load.summary.get("latency_max_ms"), load.summary.get("total_time_s")
    if longest and took and longest.value / 1000 > took.value + load.tolerated_s:
        yield f"a request took {longest.value / 1000:.1f} s in a load of {took.value:.1f} s"


# -- what others took -------------------------------------------------------------------------------------------------


def steal(load: TrialSamples) -> Iterator[str]:
    if load.cpu_taken.stolen > STOLEN:
        yield f"{load.cpu_taken.stolen:.0%} of the CPU was taken by other virtual machines"


def other_programs(load: TrialSamples) -> Iterator[str]:
    found = load.cpu_taken
    if found.others > CPU_BY_OTHERS:
        most = f", most of it by {found.program}" if found.program else ""
        yield f"{found.others:.0%} of the CPU was used by programs that are no part of the run{most}"


def io_contention(load: TrialSamples) -> Iterator[str]:
    found = load.disk_taken
    if found.others > DISK_BY_OTHERS:
        most = f", most of it by {found.program}" if found.program else ""
        yield (
            f"programs that are no part of the run moved {found.others / 1e6:.1f} MB/s to and from the disk{most}, "
            f"which was busy for {found.busy:.0%} of the time"
        )


# Gravest first: where one fault shows in several ways, the first names what was at fault. (name, condition, hard)
CONDITIONS: Sequence[tuple[str, Callable[[TrialSamples], Iterable[str]], bool]] = (
    ("stopped", stopped, True),
    ("stopped", stopped_in_groups, True),
    ("heartbeat", late_heartbeats, True),
    ("probe samples", missing_samples, True),
    ("clock", clock_steps, True),
    ("link", lost_links, True),
    ("network", network_cuts, True),
    ("interval lines", missing_lines, True),
    ("longest request", longest_request, True),
    ("stolen CPU", steal, False),
    ("other programs", other_programs, False),
    ("disk of others", io_contention, False),
)


def disturbances(load: TrialSamples) -> list[Disturbance]:
    """Return all that interfered with a measurement, gravest first; nothing if it counts."""
    return [Disturbance(name, why, hard) for name, condition, hard in CONDITIONS for why in condition(load)]


def driver_stood_still(load: TrialSamples, stood_s: float, *, timed_here: bool) -> list[Disturbance]:
    """Return how the driver harmed what it times itself; a load that is timed on its host does not notice."""
    if not timed_here or stood_s <= load.tolerated_s:
        return []
    why = f"the driver stood still for {stood_s:.1f} s, and times of this trial are taken by its clock"
    return [Disturbance("driver", why)]


# -- what a record keeps ----------------------------------------------------------------------------------------------


def declared_rates(source: str, every_s: float, began: float, ended: float) -> Json:
    """Return what a load leaves in its proof, so that its lines are found among its series; {} if it prints none."""
    said = {"source": source, "metric": "tps", "every_s": every_s, "began": began, "ended": ended}
    return {RATES: said} if every_s else {}


def stalls(load: TrialSamples) -> Json:
    """Return how often the system itself did nothing under load, and for how long at most (s); {} if it never did."""
    lines = load.rate_lines
    busy = [rate for _, rate in lines.rates if rate > 0] if lines else []
    usual = sum(busy) / len(busy) if busy else 0.0
    seconds = [len(run) * lines.every_s for run in lines.empty] if lines else []
    long = [each for each in seconds if each >= STALL_S and each * usual >= MISSED]
    return {"stalls": {"count": len(long), "longest_s": max(long)}} if long else {}


def proof(load: TrialSamples) -> Json:
    """Return what a record keeps of what others took, of stalls, and of how fast its machines computed."""
    speed = {"speed": load.speed} if load.speed else {}
    return {**load.cpu_taken.proof, **load.disk_taken.proof, **speed, **stalls(load)}


def lost_share(kept: Json) -> float | None:
    """Return the share of the CPU that others took, from a record's proof; None where nobody looked."""
    found = kept.get("lost", kept.get("stolen"))
    return None if found is None else float(found)


def cpu_was_taken(kept: Json) -> bool:
    """Return whether a record's load had to do without more CPU than counts as little; False where nobody looked."""
    return float(kept.get("stolen", 0.0)) > STOLEN or float(kept.get("others", 0.0)) > CPU_BY_OTHERS
