"""A report of loads on a system that decides by quorum; in loads beside the published ones a member is killed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from statistics import fmean
from typing import Annotated, Literal

from pydantic import Field

from benchbook import systems
from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.record import Quantity
from benchbook.errors import BadInput, WorkloadFailed
from benchbook.hosts.host import Host
from benchbook.hosts.session import clock_offset
from benchbook.parameters import Words
from benchbook.published.tables import Published
from benchbook.reports.kind import RunRequest
from benchbook.reports.load.load_kind import LoadKind, LoadParameters
from benchbook.reports.load.load_trials import LoadTrials
from benchbook.systems.base import Quorum
from benchbook.workloads.etcd_benchmark import BAR_EVERY_S

# So long the load runs with all members, that there is a rate to compare with; and so long it runs without one. Then
# the member is started again, while the load goes on: clients that the tool has connected to it alone wait for it.
KILLED_AFTER_S, AWAY_S = 1.0, 2.0
RESIDENT = "process_resident_memory_bytes"


# A rate below this share of the one before is no service any more.
STOPPED = 0.1


def around(rates: Sequence[tuple[float, float]], killed: float, returned: float, every_s: float) -> dict[str, Quantity]:
    """Of rates (s, 1/s), each told at the end of its `every_s`: before the kill, without the member, and with it again.

    The interval that an end or a return falls into belongs to neither side. `stalled_s` is the longest time without
    service that began while the member was away, to within `every_s`. A figure of which no interval is whole is left
    out. Once all is sent, a load waits for its last answers, which may time out: that end is no rate of the members.
    """
    before = [rate for t, rate in rates if t <= killed]
    least = STOPPED * (fmean(before) if before else 0.0)
    runs = [
        list(run) for stopped, run in groupby((r for r in rates if r[0] > killed), lambda r: r[1] < least) if stopped
    ]
    stalls = [run for run in runs if run[0][0] <= returned + every_s]
    waiting = runs[-1] if runs and runs[-1] not in stalls and runs[-1][-1] == rates[-1] else []
    parts = {
        "tps_before": before,
        "tps_without": [rate for t, rate in rates if killed + every_s < t <= returned],
        "tps_after": [rate for t, rate in rates[: len(rates) - len(waiting)] if t > returned + every_s],
    }
    return {
        **{name: Quantity(value=fmean(part), unit="1/s") for name, part in parts.items() if part},
        "stalled_s": Quantity(value=max(map(len, stalls), default=0) * every_s, unit="s"),
    }


def leading(system: Quorum) -> Host:
    return system.leader()


def following(system: Quorum) -> Host:
    """Return the first that does not lead."""
    leader = system.leader()
    return next(host for host in system.members() if host is not leader)


# Workload -> which member is killed in it.
VICTIMS: dict[str, Callable[[Quorum], Host]] = {
    "put_follower_killed": following,
    "put_leader_killed": leading,
}


@dataclass
class MemberKill:
    """Kills a member of `system` once the load has run for a while, and starts it again; `on_rate` is passed on.

    `killed` and `returned` are s since the epoch, by the victim's clock: when it had ended, and when it served again;
    0: not yet.
    """

    system: Quorum
    victim: Host
    on_rate: Callable[[float, float], None]
    killed: float = field(init=False, default=0.0)
    returned: float = field(init=False, default=0.0)

    def seen(self, second: float, rate: float) -> None:
        if second >= KILLED_AFTER_S and not self.killed:
            self.killed = self.system.lose(self.victim)
        if second >= KILLED_AFTER_S + AWAY_S:
            self.restart()
        self.on_rate(second, rate)

    def restart(self) -> None:
        """The member, if it is away."""
        if self.killed and not self.returned:
            self.system.regain()
            self.returned = self.victim.now()


class QuorumTrials(LoadTrials):
    """As those of any load; the servers' memory is measured beside, and a member that was killed is started again."""

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        """Raise WorkloadFailed also for a load that was over before a member could be killed."""
        choose = VICTIMS.get(str(trial.cell.levels["workload"]))
        if choose is None:
            return _with_memory(super().measure(trial, on_rate))
        system = self._systems[trial.cell.system]
        assert isinstance(system, Quorum)  # the kind has asked
        killing = MemberKill(system, choose(system), on_rate)
        ahead_s = clock_offset(killing.victim)[0] - clock_offset(self._driver.clients[0])[0]
        try:
            measured = super().measure(trial, killing.seen)
        finally:
            killing.restart()
        if not killing.killed:
            raise WorkloadFailed(f"the load was over before a member was killed, {KILLED_AFTER_S:g} s after its start")
        return _with_memory(_told(measured, killing, ahead_s))


def _told(measured: Measurement, killing: MemberKill, ahead_s: float) -> Measurement:
    """Return what became of the rate, and whether the member that was killed has come to hold what the others do.

    Rates come five times a second by the client's clock, of which the victim's is `ahead_s` ahead.
    """
    mine = measured.series[(measured.series.source == "etcd_benchmark") & (measured.series.metric == "tps")]
    rates = list(zip(mine.t.astype(float), mine.value.astype(float), strict=True))
    revision, members = killing.system.agree()
    proved = measured.proof["quorum"]
    counted = {"acknowledged": proved["acknowledged"], "found": proved["found"], "members_back": members}
    counts = {name: Quantity(value=float(count), unit="1") for name, count in counted.items()}
    killed, returned = killing.killed - ahead_s, killing.returned - ahead_s
    spans = {"killed_s": killed - measured.started, "away_s": returned - killed}
    when = {name: Quantity(value=span, unit="s") for name, span in spans.items()}
    # Not `lost`: under this name a record keeps the CPU that others took.
    member = {"name": killing.victim.name, "killed": killed, "returned": returned}
    return replace(
        measured,
        summary={**measured.summary, **when, **around(rates, killed, returned, BAR_EVERY_S), **counts},
        proof={**measured.proof, "member": member, "back": {"revision": revision, "members": members}},
        # It is the driver that sees that it serves again.
        timed_by_driver=True,
    )


def _with_memory(measured: Measurement) -> Measurement:
    """Return the mean of what all members had resident while the load ran, as the report prints it.

    The series begins with a sample of before the load: of one that has no others it is all that is known.
    """
    resident = measured.series[measured.series.metric == RESIDENT]
    if resident.empty:
        return measured
    inside = resident[resident.t.between(measured.started, measured.ended)]
    mean = Quantity(value=float((resident if inside.empty else inside).value.mean()) / 1e6, unit="MB")
    return replace(measured, summary={**measured.summary, "rss_mb": mean})


class QuorumParameters(LoadParameters):
    """As for any load; `killed` says which member is killed in a load of writes, each in one of its own."""

    system: Words = "etcd"
    killed: Annotated[list[Literal["follower", "leader"]], Field(max_length=2)] = []


class QuorumKind(LoadKind):
    """The loads in which a member is killed stand in the first table, at its most clients, and in no published row."""

    Parameters = QuorumParameters
    Trials = QuorumTrials

    def cells(self, published: Published, parameters: LoadParameters) -> list[Cell]:
        planned = super().cells(published, parameters)
        return [*planned, *_killed(planned, published, parameters)]

    def experiment(self, request: RunRequest) -> LoadTrials:
        """Raise BadInput also for a system that a lost member ends."""
        for name in request.parameters.names():
            if not issubclass(systems.find(name, request.inventory), Quorum):
                fix = "use etcd, or a system of yours that derives from benchbook.systems.base.Quorum"
                raise BadInput("is no system of members that decide by quorum", key="systems", value=name, fix=fix)
        return super().experiment(request)


def _killed(planned: list[Cell], published: Published, parameters: LoadParameters) -> list[Cell]:
    """One cell per system and kind of member; none where the first table is not run."""
    asked = parameters.killed if isinstance(parameters, QuorumParameters) else []
    first = published.report.design[0].table
    found = []
    for system in parameters.names():
        mine = [cell for cell in planned if (cell.table, cell.system) == (first, system)]
        for member in dict.fromkeys(asked) if mine else ():
            most = max(int(cell.levels["threads"]) for cell in mine)
            levels: dict[str, str | int | float] = {"workload": f"put_{member}_killed", "threads": most}
            found.append(Cell(table=first, system=system, levels=levels))
    return found
