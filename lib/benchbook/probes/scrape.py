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
from benchbook.hosts.jobs import Command, Job, remote_program
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


@dataclass
class StandingSampler:
    """A sampler that stands as long as the session: how far its file has been read, and the line before that."""

    target: Target
    job: Job
    interval_s: float
    offset: int = 0
    before: str = ""

    def begin(self) -> None:
        """What is read next begins here: with the last line so far, if no tick is missed after it."""
        self.before = "".join(self._whole_lines()[-1:])

    def seen(self) -> list[str]:
        """The lines since `begin`."""
        lines = self._whole_lines()
        near = self.before and lines and _time(lines[0]) - _time(self.before) < 1.5 * self.interval_s
        return [self.before, *lines] if near else lines

    def _whole_lines(self) -> list[str]:
        data = self.job.host.read(f"{self.job.folder}/samples", offset=self.offset)
        whole = data[: data.rfind(b"\n") + 1]
        self.offset += len(whole)
        return whole.decode().splitlines(keepends=True)


def _time(line: str) -> float:
    return float(json.loads(line)["t"])


@contextmanager
def scraping(session: Session, targets: Iterable[Target], interval_s: float = 1.0) -> Iterator[Scraped]:
    """Scrape while the block runs; afterwards the samples are in what was yielded.

    The samplers go on until the session ends: starting and ending two of them took longer than a short load. Between
    trials a server may be down, which is a line with an error in a sampler's file, and read by nobody. Raises
    ProbeFailed for one that was killed meanwhile.
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
        scraped.cores[f"prometheus@{one.target.source}"] = own_cores(lines)
        refuse_killed(f"probe prometheus of {one.target.source} on {one.target.host.name}", one.job.status())


def _standing(session: Session, target: Target, interval_s: float) -> StandingSampler:
    key = ("scrape", target.host.name, target.source, target.url, target.match, str(interval_s))
    one: StandingSampler | None = session.standing.get(key)
    if one is None or one.job.status() is not None:
        job = session.start(target.host, f"scrape-{target.source}", command(target.host, target, interval_s))
        one = session.standing[key] = StandingSampler(target, job, interval_s)
    one.begin()
    return one


def own_cores(lines: list[str]) -> float:
    """CPU that the sampler used itself while these lines were written, in cores, by its own account."""
    ends = [json.loads(line) for line in (lines[:1] + lines[-1:])]
    seconds = ends[-1]["t"] - ends[0]["t"] if ends else 0.0
    return float((ends[-1]["cpu"] - ends[0]["cpu"]) / seconds) if seconds > 0 else 0.0
