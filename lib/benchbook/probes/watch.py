"""Starts probes on their hosts and reads, for each trial, what they wrote while it ran.

Probes that watch a host or a server stand as long as the session: starting and ending five processes for each trial
would take as long as a short load. Those that watch the processes of one trial start and end with it.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pymysql

from benchbook import paths
from benchbook.hosts.jobs import Command, Ended, Job, remote_program
from benchbook.hosts.remote_host import RemoteHost
from benchbook.hosts.session import Session
from benchbook.probes.samples import empty, to_series
from benchbook.systems.sql import SqlEndpoint

LONGEST_S = 2 * 86_400


@dataclass(frozen=True)
class Probe:
    """One probe to start: on `host`, known in the series as `source`, watching `about`."""

    host: RemoteHost
    source: str
    about: str
    command: Command
    standing: bool = True


@dataclass
class Standing:
    """A running probe: how far its file has been read, and the last sample before that, which the next rate needs."""

    probe: Probe
    job: Job
    offset: int = 0
    last: list[dict[str, Any]] = field(default_factory=list)

    def fresh(self) -> list[dict[str, Any]]:
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

    `series` is the long table (t, host, source, metric, value, unit); `cores` the CPU that each probe used itself.
    """

    series: pd.DataFrame = field(default_factory=empty)
    cores: dict[str, float] = field(default_factory=dict)


def host_probe(host: RemoteHost) -> Probe:
    program = host.push(remote_program("probes", "sample_host.py"))
    return Probe(host, "host", host.name, Command(["python3", program, "{job}/samples"], timeout_s=LONGEST_S))


def process_probe(host: RemoteHost, jobs: Mapping[str, str], *, every_s: float = 1.0) -> Probe:
    """CPU and memory of the jobs on this host, by label: `jobs` maps it to the name that the job is started under."""
    program = host.push(remote_program("probes", "sample_processes.py"))
    patterns = [f"{label}={host.path('jobs', f'{name}-*', 'pid')}" for label, name in jobs.items()]
    argv = ["python3", program, "{job}/samples", every_s, *patterns]
    return Probe(host, "process", host.name, Command(argv, timeout_s=LONGEST_S), standing=False)


def mysql_probe(host: RemoteHost, endpoint: SqlEndpoint, about: str) -> Probe:
    """Status counters of `endpoint`, sampled from `host`."""
    program = host.push(remote_program("probes", "sample_mysql.py"))
    library = host.push(client_library())
    argv = [
        "python3",
        program,
        "{job}/samples",
        endpoint.address,
        endpoint.port,
        endpoint.user,
        "{job}/password",
        library,
    ]
    return Probe(host, "mysql", about, Command(argv, timeout_s=LONGEST_S, secrets={"password": endpoint.password}))


@cache
def client_library() -> Path:
    """PyMySQL, which is pure Python, as a zip to push: hosts need nothing but python3."""
    source = Path(pymysql.__file__).parent
    files = sorted(source.rglob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
    target = paths.cache_dir() / f"pymysql-{digest}.zip"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files:
                archive.writestr(zipfile.ZipInfo(f"pymysql/{path.relative_to(source)}"), path.read_bytes())
        partial.rename(target)
    return target


@contextmanager
def watching(session: Session, probes: Iterable[Probe]) -> Iterator[Watched]:
    """Run the probes while the block runs; afterwards their samples are in what was yielded."""
    wanted, watched = list(probes), Watched()
    with ThreadPoolExecutor(max_workers=len(wanted) or 1, thread_name_prefix="probe") as pool:
        running = list(pool.map(lambda probe: _standing(session, probe), wanted))
        try:
            yield watched
        finally:
            parts = list(pool.map(lambda one: _cut(session, one, watched), running))
    watched.series = pd.concat([watched.series, *parts], ignore_index=True)


def _standing(session: Session, probe: Probe) -> Standing:
    """The probe, running: one that stands already is only told where this trial begins."""
    key = (probe.host.name, probe.source, probe.about, *map(str, probe.command.argv))
    one = session.standing.get(key)
    if one is None or one.job.status() is not None:
        one = Standing(probe, session.start(probe.host, f"probe-{probe.source}", probe.command))
        if probe.standing:
            session.standing[key] = one
    one.fresh()
    return one


def _cut(session: Session, one: Standing, watched: Watched) -> pd.DataFrame:
    """What the probe saw during this trial; a probe of the trial's own ends with it."""
    probe = one.probe
    if not probe.standing:
        session.end(one.job)
    samples = one.fresh()
    watched.cores[f"{probe.source}@{probe.about}"] = _own_cores(samples, None if probe.standing else one.job.status())
    if not probe.standing:
        one.job.remove()
    return to_series(samples, probe.about, probe.source)


def _own_cores(samples: list[dict[str, Any]], ended: Ended | None) -> float:
    """CPU that the probe used itself, in cores: by its own account, or as the host's supervisor saw it end."""
    if ended is not None:
        return ended.cpu_s / (ended.ended - ended.started)
    first, last = (samples[0], samples[-1]) if samples else ({}, {})
    seconds = last.get("t", 0.0) - first.get("t", 0.0)
    return float((last.get("cpu", 0.0) - first.get("cpu", 0.0)) / seconds) if seconds > 0 else 0.0
