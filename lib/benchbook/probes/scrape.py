"""Scrapes Prometheus endpoints from their own hosts while a trial runs, and brings the samples home as one text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchbook.campaign.overhead import phase
from benchbook.hosts.jobs import Command, remote_program
from benchbook.probes.followed import Followed, own_cores
from benchbook.probes.probe import LONGEST_S
from benchbook.probes.watch import refuse_killed

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session


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


@dataclass(frozen=True)
class StandingSampler:
    """A sampler that stands as long as the session, and the file that it writes every `interval_s`."""

    target: Target
    file: Followed
    interval_s: float

    def seen(self) -> list[str]:
        """The lines since the last look; with the one before them, if no tick was missed after it."""
        before, lines = self.file.look()
        near = before and lines and _time(lines[0]) - _time(before) < 1.5 * self.interval_s
        return [before, *lines] if near else lines


def _time(line: str) -> float:
    return float(json.loads(line)["t"])


@contextmanager
def scraping(session: Session, targets: Iterable[Target], interval_s: float = 1.0) -> Iterator[Scraped]:
    """Scrape while the block runs; afterwards the samples are in what was yielded.

    The samplers go on until the session ends: starting and ending two of them took longer than a short load. The block
    begins when each has looked once. Between trials a server may be down, which is a line with an error in a sampler's
    file, and read by nobody. Raises ProbeFailed for one that was killed meanwhile.
    """
    wanted, scraped = list(targets), Scraped()
    with ThreadPoolExecutor(max_workers=len(wanted) or 1, thread_name_prefix="scrape") as pool:
        with phase("probes"):
            running = list(pool.map(lambda target: _standing(session, target, interval_s), wanted))
        yield scraped
        with phase("collect"):
            _collect(running, pool.map(StandingSampler.seen, running), scraped)


def _collect(running: Iterable[StandingSampler], seen: Iterable[list[str]], scraped: Scraped) -> None:
    for one, lines in zip(running, seen, strict=True):
        scraped.samples += "".join(lines)
        scraped.cores[f"prometheus@{one.target.source}"] = own_cores(
            [json.loads(line) for line in lines[:1] + lines[-1:]]
        )
        refuse_killed(f"probe prometheus of {one.target.source} on {one.target.host.name}", one.file.job.status())


def _standing(session: Session, target: Target, interval_s: float) -> StandingSampler:
    key = ("scrape", target.host.name, target.source, target.url, target.match, str(interval_s))
    one: StandingSampler | None = session.standing.get(key)
    if one is not None and one.file.job.status() is None:
        one.file.look()
        return one
    job = session.start(target.host, f"scrape-{target.source}", command(target.host, target, interval_s))
    one = session.standing[key] = StandingSampler(target, Followed(job), interval_s)
    one.file.await_first()
    return one
