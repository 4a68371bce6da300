"""Starts the probes of a trial on their hosts, ends them with it, and reads what they wrote."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pymysql

from benchbook import paths
from benchbook.hosts.jobs import Command, Job, remote_program
from benchbook.hosts.remote_host import RemoteHost
from benchbook.hosts.session import Session
from benchbook.probes.series import empty, to_series
from benchbook.systems.sql import SqlEndpoint

LONGEST_S = 2 * 86_400


@dataclass(frozen=True)
class Probe:
    """One probe to start: on `host`, known in the series as `source`, watching `about`."""

    host: RemoteHost
    source: str
    about: str
    command: Command


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
    return Probe(host, "process", host.name, Command(argv, timeout_s=LONGEST_S))


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
    """Run the probes while the block runs; afterwards their samples are in what was yielded.

    They are started and ended side by side: one after the other would take as long as a short load.
    """
    wanted, watched = list(probes), Watched()
    with ThreadPoolExecutor(max_workers=len(wanted) or 1, thread_name_prefix="probe") as pool:
        jobs = list(pool.map(lambda p: session.start(p.host, f"probe-{p.source}", p.command), wanted))
        try:
            yield watched
        finally:
            parts = list(pool.map(lambda probe, job: _finish(session, probe, job, watched), wanted, jobs))
    watched.series = pd.concat([watched.series, *parts], ignore_index=True)


def _finish(session: Session, probe: Probe, job: Job, watched: Watched) -> pd.DataFrame:
    session.end(job)
    ended = job.status()
    if ended:
        watched.cores[f"{probe.source}@{probe.about}"] = ended.cpu_s / (ended.ended - ended.started)
    lines = job.host.read(f"{job.folder}/samples").decode().splitlines()
    job.remove()
    return to_series([json.loads(line) for line in lines], probe.about, probe.source)
