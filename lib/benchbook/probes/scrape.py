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

# An endpoint that does not answer is given up by the sampler itself, long before this.
LAST_LOOK_S = 60.0


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


def command(target: Target, interval_s: float, *words: object) -> list[object]:
    """The sampler's command line on the target's host, with these words. Raises re.error for a pattern that is none."""
    re.compile(target.match)
    program = target.host.push(remote_program("probes", "sample_prometheus.py"))
    about = ("--interval", interval_s, "--match", target.match, "--target", f"{target.source}={target.url}")
    return ["python3", program, *words, *about]


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

    def last_look(self) -> str:
        """A line of now: nobody has to wait for the next tick to know all that was counted until here."""
        argv = command(self.target, self.interval_s, "--once")
        return self.target.host.run(argv, timeout=LAST_LOOK_S).stdout


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
            last = list(pool.map(StandingSampler.last_look, running))
            for one, lines, line in zip(running, pool.map(StandingSampler.seen, running), last, strict=True):
                _collect(one, lines, line, scraped)


def _collect(one: StandingSampler, lines: list[str], last: str, scraped: Scraped) -> None:
    # A rate from one sample to another that is all but the same moment would be next to anything.
    apart = [line for line in lines if abs(_time(line) - _time(last)) > one.interval_s / 4]
    scraped.samples += "".join(sorted([*apart, last], key=_time))
    scraped.cores[f"prometheus@{one.target.source}"] = own_cores([json.loads(line) for line in lines[:1] + lines[-1:]])
    refuse_killed(f"probe prometheus of {one.target.source} on {one.target.host.name}", one.file.job.status())


def _standing(session: Session, target: Target, interval_s: float) -> StandingSampler:
    key = ("scrape", target.host.name, target.source, target.url, target.match, str(interval_s))
    one: StandingSampler | None = session.standing.get(key)
    if one is not None and one.file.job.status() is None:
        one.file.look()
        return one
    sampler = Command(command(target, interval_s, "--out", "{job}/samples"), timeout_s=LONGEST_S)
    job = session.start(target.host, f"scrape-{target.source}", sampler)
    one = session.standing[key] = StandingSampler(target, Followed(job), interval_s)
    one.file.await_first()
    return one
