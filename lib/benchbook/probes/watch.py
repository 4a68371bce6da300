"""Starts probes on their hosts and reads, for each trial, what they wrote while it ran.

Probes that watch a host or a server stand as long as the session: starting and ending five processes for each trial
would take as long as a short load. Those that watch the processes of one trial start and end with it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field

import pandas as pd

from benchbook.errors import (
    BenchbookError,
    ConnectionLost,
    HostUnreachable,
    LeftStopped,
    ProbeFailed,
    RemoteFailed,
    TrialFailed,
)
from benchbook.hosts.agent import Ended, Job, Stop, stops
from benchbook.hosts.host_models import Json
from benchbook.hosts.session import Session
from benchbook.hosts.timeouts import until
from benchbook.hosts.tuning import check_tuned
from benchbook.probes.probe import Probe
from benchbook.probes.samples import empty, to_series

# A clock that nothing is known of may be off by so much.
UNKNOWN_CLOCK_S = 60.0
# A probe of which no sample comes in so many intervals has got no time.
DUE = 3
# What was started gets so long for its first sample before the load begins without it.
FIRST_S, LOOKS_S = 10.0, 0.02


@dataclass
class RunningProbe:
    """A probe, and its job, which writes `samples` into its folder.

    `offset` is how far that has been read, `last` the last whole line before that.
    """

    probe: Probe
    job: Job
    offset: int = 0
    last: str = ""

    def look(self) -> tuple[str, list[str]]:
        """Return the last line of the looks before, empty if there was none, and the whole lines since, as JSON."""
        data = self.job.host.read(f"{self.job.folder}/samples", offset=self.offset)
        whole = data[: data.rfind(b"\n") + 1]
        self.offset += len(whole)
        before, lines = self.last, whole.decode().splitlines(keepends=True)
        self.last = lines[-1] if lines else before
        return before, lines

    def await_first(self) -> None:
        """Until it has looked once: what a probe takes to begin would slow the load, and one that starves sees nothing.

        One that has ended, or takes longer than FIRST_S, is waited for no more.
        """
        until(lambda: self.job.status() is not None or self.look()[1], FIRST_S, every_s=LOOKS_S)


def own_cores(samples: Sequence[Json]) -> float:
    """CPU that a probe used itself between the first of these and the last, in cores, by its own account."""
    first, last = (samples[0], samples[-1]) if samples else ({}, {})
    seconds = last.get("t", 0.0) - first.get("t", 0.0)
    return float((last.get("cpu", 0.0) - first.get("cpu", 0.0)) / seconds) if seconds > 0 else 0.0


@dataclass
class Watched:
    """Filled when the watch ends.

    `series` is the long table (t, host, source, metric, value, unit); `cores` the CPU that each probe used itself;
    `failed` why each probe that took not one sample took none; `stopped` which jobs of the session, servers and
    load and probes, stood still meanwhile.
    """

    series: pd.DataFrame = field(default_factory=empty)
    cores: dict[str, float] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    stopped: list[Stop] = field(default_factory=list)

    @property
    def proof(self) -> Json:
        """What stands of the probes in a record, beside their series."""
        failed = {"failed_probes": self.failed} if self.failed else {}
        stopped = {"stopped": [asdict(stop) for stop in self.stopped]} if self.stopped else {}
        return {"probe_cores": self.cores, **failed, **stopped}


@contextmanager
def watching(session: Session, probes: Iterable[Probe]) -> Iterator[Watched]:
    """Run the probes, each once, while the block runs; afterwards their samples are in what was yielded.

    Raise ProbeFailed for one that was killed meanwhile: the next trial starts it anew. Raise LeftStopped for what
    failed while a job of the session, a server say, was stopped, and has not gone on; SettingsLost where a host was
    not set any more as it is for the run.
    """
    wanted, watched = list({probe.key: probe for probe in probes}.values()), Watched()
    began = time.time()
    with ThreadPoolExecutor(max_workers=len(wanted) or 1, thread_name_prefix="probe") as pool:
        running = list(pool.map(lambda probe: _running(session, probe), wanted))
        watched_from = time.monotonic()
        try:
            yield watched
        except BenchbookError as problem:
            # What went wrong is to be told, not what the probes say of it.
            for one in running:
                if not one.probe.standing:
                    session.abandon(one.job)
            if isinstance(problem, (TrialFailed, RemoteFailed)) and not isinstance(problem, HostUnreachable):
                _blame_what_stands(session, problem)
            raise
        lasted_s = time.monotonic() - watched_from
        told = pool.map(lambda host: stops(host, session.id), session.hosts.values())
        parts = list(pool.map(lambda one: _cut(session, one, watched, lasted_s), running))
        watched.series = pd.concat([watched.series, *parts], ignore_index=True)
        first = {str(host): float(t) for host, t in watched.series.groupby("host").t.min().items()}
        watched.stopped = of_trial(told, first, began, session.running)
        check_tuned(session)


def of_trial(told: Iterable[Sequence[Stop]], first: Mapping[str, float], began: float, alive: Set[str]) -> list[Stop]:
    """Return, of what all hosts told, what stood still at a trial's `first` sample of that host, or later.

    Of a host without samples, from a minute before `began`, which is the driver's clock. What was killed before the
    trial, while it stood, never went on: only jobs whose folders are in `alive` still stand.
    """

    def concerns(stop: Stop) -> bool:
        since = first.get(stop.host, began - UNKNOWN_CLOCK_S)
        return stop.began > since or (stop.folder in alive if stop.ended is None else stop.ended > since)

    return [stop for part in told for stop in part if concerns(stop)]


def _blame_what_stands(session: Session, problem: TrialFailed | RemoteFailed) -> None:
    """Raise LeftStopped where a job is stopped now. A host that does not say has its own trouble, which comes up."""
    with suppress(ConnectionLost):
        told = [stop for host in session.hosts.values() for stop in stops(host, session.id)]
        standing = [stop for stop in told if stop.ended is None and stop.folder in session.running]
        if standing:
            raise LeftStopped(f"{'; '.join(map(str, standing))}: {problem}", output=problem.output) from problem


def _running(session: Session, probe: Probe) -> RunningProbe:
    """Return the probe, running: one that stands already is only told where this trial begins."""
    command = probe.command()
    key = (probe.host.name, probe.name, probe.about, *map(str, command.argv))
    one: RunningProbe | None = session.standing.get(key)
    if one is not None and one.job.status() is None:
        one.look()
        return one
    one = RunningProbe(probe, session.start(probe.host, f"probe-{probe.name}", command))
    if probe.standing:
        session.standing[key] = one
    one.await_first()
    return one


def _cut(session: Session, one: RunningProbe, watched: Watched, lasted_s: float) -> pd.DataFrame:
    """Return what the probe saw during this trial, after the sample before it, which the first rate needs.

    A probe of the trial's own ends with it.
    """
    probe, job = one.probe, one.job
    refuse_killed(f"probe {probe.name} on {probe.host.name}", job.status())
    if not probe.standing:
        session.end(job)
    last, lines = one.look()
    before: list[Json] = [json.loads(last)] if last else []
    fresh: list[Json] = [json.loads(line) for line in lines]
    who = f"{probe.name}@{probe.about}"
    # Of one that stands only its own account tells what it used in this trial.
    ended = None if probe.standing else job.status()
    watched.cores[who] = ended.cpu_s / (ended.ended - ended.started) if ended else own_cores([*before, *fresh])
    if problem := _failure(before, fresh, due=lasted_s >= DUE * probe.every_s):
        watched.failed[who] = problem
    if not probe.standing:
        job.remove()
    return to_series([*before, *fresh], probe.about, probe.name, probe.file.metrics)


def refuse_killed(who: str, ended: Ended | None) -> None:
    """Raise ProbeFailed for a probe that somebody ended; one that gave up by itself has said why in its samples."""
    if ended is not None and ended.reason != "exited":
        raise ProbeFailed(str(ended.from_outside(who)))
    if ended is not None and ended.signal:
        raise ProbeFailed(f"{who} was killed by signal {ended.signal}")


def _failure(before: list[Json], fresh: list[Json], *, due: bool) -> str | None:
    """Why a probe took no `fresh` sample during the trial, though one was `due`; or at all, by the one before."""
    if any("v" in sample for sample in fresh):
        return None
    errors = [str(sample["error"]) for sample in (*before, *fresh) if "error" in sample]
    if errors:
        return errors[-1]
    return "none came in time" if due else None
