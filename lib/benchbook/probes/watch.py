"""Starts probes on their hosts and reads, for each trial, what they wrote while it ran.

Probes that watch a host or a server stand as long as the session: starting and ending five processes for each trial
would take as long as a short load. Those that watch the processes of one trial start and end with it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pandas as pd
from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from benchbook.campaign.overhead import phase
from benchbook.errors import (
    BenchbookError,
    ConnectionLost,
    HostUnreachable,
    LeftStopped,
    ProbeFailed,
    RemoteFailed,
    TrialFailed,
)
from benchbook.hosts import stops
from benchbook.hosts.about import Json
from benchbook.hosts.jobs import Ended, Job
from benchbook.hosts.stops import Stop
from benchbook.probes.probe import Probe
from benchbook.probes.samples import empty, to_series

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.session import Session

# A probe that is started gets so long for its first sample before the load begins without it.
FIRST_S, LOOKS_S = 10.0, 0.02
# A probe of which no sample comes in so many intervals has got no time.
DUE = 3


@dataclass
class Standing:
    """A running probe: how far its file has been read, and the last sample before that, which the next rate needs."""

    probe: Probe
    job: Job
    offset: int = 0
    last: list[Json] = field(default_factory=list)

    def fresh(self) -> list[Json]:
        """The whole samples written since the last look, after the one before them."""
        data = self.job.host.read(f"{self.job.folder}/samples", offset=self.offset)
        whole = data[: data.rfind(b"\n") + 1]
        self.offset += len(whole)
        samples = [*self.last, *(json.loads(line) for line in whole.splitlines())]
        self.last = samples[-1:]
        return samples


@dataclass
class Watched:
    """Filled when the watch ends.

    `series` is the long table (t, host, source, metric, value, unit); `cores` the CPU that each probe used itself;
    `failed` the last error of each probe that took not one sample; `stopped` which jobs of the session, servers and
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
        return {"probe_cores": self.cores, **failed, **stops.proof(self.stopped)}


@contextmanager
def watching(session: Session, probes: Iterable[Probe]) -> Iterator[Watched]:
    """Run the probes, each once, while the block runs; afterwards their samples are in what was yielded.

    Raises ProbeFailed for one that was killed meanwhile: the next trial starts it anew. Raises LeftStopped for what
    failed while a job of the session, a server say, was stopped, and has not gone on.
    """
    wanted, watched = list({probe.key: probe for probe in probes}.values()), Watched()
    began = time.time()
    with ThreadPoolExecutor(max_workers=len(wanted) or 1, thread_name_prefix="probe") as pool:
        with phase("probes"):
            running = list(pool.map(lambda probe: _standing(session, probe), wanted))
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
        with phase("collect"):
            told = pool.map(lambda host: stops.read(host, session.lease(host)), session.hosts.values())
            parts = list(pool.map(lambda one: _cut(session, one, watched, lasted_s), running))
            watched.series = pd.concat([watched.series, *parts], ignore_index=True)
            first = {str(host): float(t) for host, t in watched.series.groupby("host").t.min().items()}
            watched.stopped = stops.of_trial(told, first, began, session.running)


def _blame_what_stands(session: Session, problem: TrialFailed | RemoteFailed) -> None:
    """Raises LeftStopped where a job is stopped now. A host that does not say has its own trouble, which comes up."""
    with suppress(ConnectionLost):
        told = [stop for host in session.hosts.values() for stop in stops.read(host, session.lease(host))]
        standing = [stop for stop in told if stop.ended is None and stop.folder in session.running]
        if standing:
            raise LeftStopped(f"{'; '.join(map(str, standing))}: {problem}", output=problem.output) from problem


def _standing(session: Session, probe: Probe) -> Standing:
    """The probe, running: one that stands already is only told where this trial begins."""
    command = probe.command()
    key = (probe.host.name, probe.name, probe.about, *map(str, command.argv))
    one = session.standing.get(key)
    if one is None or one.job.status() is not None:
        one = Standing(probe, session.start(probe.host, f"probe-{probe.name}", command))
        if probe.standing:
            session.standing[key] = one
            _await_first(one)
    one.fresh()
    return one


def _await_first(one: Standing) -> None:
    """Until it has looked once: what a probe takes to begin would slow the load, and one that starves sees nothing."""
    looks = Retrying(
        stop=stop_after_delay(FIRST_S),
        wait=wait_fixed(LOOKS_S),
        retry=retry_if_result(bool),
        retry_error_callback=lambda late: None,
    )
    looks(lambda: not one.fresh() and one.job.status() is None)


def _cut(session: Session, one: Standing, watched: Watched, lasted_s: float) -> pd.DataFrame:
    """What the probe saw during this trial; a probe of the trial's own ends with it."""
    probe, ended = one.probe, one.job.status()
    refuse_killed(f"probe {probe.name} on {probe.host.name}", ended)
    if not probe.standing:
        session.end(one.job)
    samples = one.fresh()
    who = f"{probe.name}@{probe.about}"
    watched.cores[who] = _own_cores(samples, None if probe.standing else one.job.status())
    if problem := _failure(samples, due=lasted_s >= DUE * probe.every_s):
        watched.failed[who] = problem
    if not probe.standing:
        one.job.remove()
    return to_series(samples, probe.about, probe.name, probe.file.metrics)


def refuse_killed(who: str, ended: Ended | None) -> None:
    """Raises ProbeFailed for a probe that somebody ended; one that gave up by itself has said why in its samples."""
    if ended is not None and ended.reason != "exited":
        raise ProbeFailed(str(ended.from_outside(who)))
    if ended is not None and ended.signal:
        raise ProbeFailed(f"{who} was killed by signal {ended.signal}")


def _failure(samples: list[Json], *, due: bool) -> str | None:
    """Why a probe took no sample during the trial, though one was `due`; the first of these is from before it."""
    if any("v" in sample for sample in samples[1:]):
        return None
    errors = [str(sample["error"]) for sample in samples if "error" in sample]
    return errors[-1] if errors else "none came in time" if due else None


def _own_cores(samples: list[Json], ended: Ended | None) -> float:
    """CPU that the probe used itself, in cores: by its own account, or as the host's supervisor saw it end."""
    if ended is not None:
        return ended.cpu_s / (ended.ended - ended.started)
    first, last = (samples[0], samples[-1]) if samples else ({}, {})
    seconds = last.get("t", 0.0) - first.get("t", 0.0)
    return float((last.get("cpu", 0.0) - first.get("cpu", 0.0)) / seconds) if seconds > 0 else 0.0
