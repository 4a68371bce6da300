"""Scrapes Prometheus endpoints from their own hosts while a trial runs, and brings the samples home as one text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchbook.errors import ProbeFailed
from benchbook.hosts.agent import Command, program_on
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.probes.probe import LONGEST_S
from benchbook.probes.watch import Followed, own_cores, refuse_killed

# An endpoint that does not answer is given up by the sampler itself, long before this.
ANSWERS_WITHIN_S = 60.0


@dataclass(frozen=True)
class Target:
    """An endpoint: scraped on `host`, known in the samples as `source`; `match` is a pattern of series' beginnings."""

    host: Host
    source: str
    url: str
    match: str


@dataclass
class Scraped:
    """Filled when the scraping ends: the samplers' lines, and the CPU (in cores) that each sampler used itself."""

    samples: str = ""
    cores: dict[str, float] = field(default_factory=dict)


def command(target: Target, interval_s: float) -> Command:
    """The sampler on the target's host. Raises re.error for a pattern that is none."""
    re.compile(target.match)
    program = program_on(target.host, "probes", "sample_prometheus.py")
    about = ("--interval", interval_s, "--match", target.match, "--target", f"{target.source}={target.url}")
    return Command([*program, "--out", "{job}/samples", *about], timeout_s=LONGEST_S)


@dataclass(frozen=True)
class StandingSampler:
    """A sampler that stands as long as the session, and the file that it writes every `interval_s`."""

    target: Target
    file: Followed
    interval_s: float

    @property
    def called(self) -> str:
        return f"probe prometheus of {self.target.source} on {self.target.host.name}"

    def seen(self) -> list[str]:
        """The lines since the last look, ending with one of now; and the one before them, if no tick was missed.

        Nobody has to wait for the next tick to know all that was counted until here. Raises ProbeFailed for a sampler
        that was killed, or does not answer.
        """
        self.file.job.ask()
        before, lines = self.file.look_for(_was_asked, ANSWERS_WITHIN_S)
        refuse_killed(self.called, self.file.job.status())
        while lines and not _was_asked(lines[-1]):
            lines.pop()
        if not lines:
            raise ProbeFailed(f"{self.called} does not answer")
        *earlier, now = lines
        # A rate from one sample to another that is all but the same moment would be next to anything.
        while earlier and _time(now) - _time(earlier[-1]) <= self.interval_s / 4:
            earlier.pop()
        found = [*earlier, now]
        gap_s = _time(found[0]) - _time(before) if before else 0.0
        return [before, *found] if self.interval_s / 4 < gap_s < 1.5 * self.interval_s else found


def _was_asked(line: str) -> bool:
    return bool(json.loads(line).get("asked"))


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
        running = list(pool.map(lambda target: _standing(session, target, interval_s), wanted))
        yield scraped
        for one, lines in zip(running, pool.map(StandingSampler.seen, running), strict=True):
            scraped.samples += "".join(lines)
            scraped.cores[f"prometheus@{one.target.source}"] = own_cores([json.loads(lines[0]), json.loads(lines[-1])])


def _standing(session: Session, target: Target, interval_s: float) -> StandingSampler:
    key = ("scrape", target.host.name, target.source, target.url, target.match, str(interval_s))
    one: StandingSampler | None = session.standing.get(key)
    if one is not None and one.file.job.status() is None:
        one.file.look()
        return one
    job = session.start(target.host, f"scrape-{target.source}", command(target, interval_s))
    one = session.standing[key] = StandingSampler(target, Followed(job), interval_s)
    one.file.await_first()
    return one
