"""Scrapes Prometheus endpoints from their own hosts while a trial runs, and brings the samples home as one text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchbook.hosts.jobs import Command, Job, remote_program
from benchbook.hosts.remote_host import RemoteHost
from benchbook.hosts.session import Session
from benchbook.probes.probe import LONGEST_S


@dataclass(frozen=True)
class Target:
    """An endpoint: scraped on `host`, known in the samples as `source`; `match` is a pattern of series' beginnings."""

    host: RemoteHost
    source: str
    url: str
    match: str


@dataclass
class Scraped:
    """Filled when the scraping ends: the samplers' lines, and the CPU (in cores) that each sampler used itself."""

    samples: str = ""
    cores: dict[str, float] = field(default_factory=dict)


def command(host: RemoteHost, target: Target, interval_s: float) -> Command:
    """The sampler's command line on its host. Raises re.error for a pattern that is none."""
    re.compile(target.match)
    program = host.push(remote_program("probes", "sample_prometheus.py"))
    argv = [
        "python3",
        program,
        "--out",
        "{job}/samples",
        "--interval",
        interval_s,
        "--match",
        target.match,
        "--target",
        f"{target.source}={target.url}",
    ]
    return Command(argv, timeout_s=LONGEST_S)


@contextmanager
def scraping(session: Session, targets: Iterable[Target], interval_s: float = 1.0) -> Iterator[Scraped]:
    """Scrape while the block runs; afterwards the samples are in what was yielded."""
    running = [(t, session.start(t.host, f"scrape-{t.source}", command(t.host, t, interval_s))) for t in targets]
    scraped = Scraped()
    try:
        yield scraped
    finally:
        for target, job in running:
            _finish(session, target, job, scraped)


def _finish(session: Session, target: Target, job: Job, scraped: Scraped) -> None:
    session.end(job)
    if ended := job.status():
        scraped.cores[f"prometheus@{target.source}"] = ended.cpu_s / (ended.ended - ended.started)
    scraped.samples += job.host.read(f"{job.folder}/samples").decode()
    job.remove()
