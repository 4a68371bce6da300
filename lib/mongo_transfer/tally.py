"""Counts of a transfer, by collection, and what the processes used: plain data that workers send to their parent."""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self


@dataclass
class Counts:
    """Documents and bytes of one collection.

    `read` counts each once, however often its range was read. `inserted` and `replaced` were acknowledged by the target
    in this run; `already_there` were found on it unchanged (after an earlier run, or after a connection was lost
    between a write and its answer).
    """

    read: int = 0
    inserted: int = 0
    replaced: int = 0
    already_there: int = 0
    bytes: int = 0

    def add(self, other: Counts) -> Self:
        """Adds another's counts to these."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))
        return self

    @property
    def written(self) -> int:
        return self.inserted + self.replaced

    @property
    def settled(self) -> int:
        """Documents known to be on the target."""
        return self.written + self.already_there


@dataclass(frozen=True)
class Usage:
    """One process: CPU seconds (user and system) so far, resident memory now and at its peak (bytes)."""

    cpu: float = 0.0
    resident: int = 0
    peak: int = 0


@dataclass(frozen=True)
class Tick:
    """What a worker says of itself: its counts by namespace and its usage, cumulative."""

    counts: dict[str, Counts]
    usage: Usage
    most_in_flight: int = 0


@dataclass(frozen=True)
class ShareFailure:
    """Why a worker stopped, in words: exceptions with arguments of their own do not survive pickling."""

    text: str


@dataclass(frozen=True)
class Wanted:
    """A reader has nothing to do and asks for a range."""


@dataclass(frozen=True)
class ShareEnded:
    """A worker has sent its last tick."""


def total(by_namespace: dict[str, Counts]) -> Counts:
    """The sum over all collections."""
    whole = Counts()
    for each in by_namespace.values():
        whole.add(each)
    return whole


def merged(parts: list[dict[str, Counts]]) -> dict[str, Counts]:
    """The counts of several workers, by namespace.

    A document that was still on its way when its range was read again is written by one of two batches, and found to be
    there by the other: that is no second document.
    """
    whole: defaultdict[str, Counts] = defaultdict(Counts)
    for part in parts:
        for namespace, counts in part.items():
            whole[namespace].add(counts)
    for counts in whole.values():
        counts.already_there = min(counts.already_there, max(0, counts.read - counts.written))
    return dict(whole)


def usage() -> Usage:
    """This process, from /proc: VmHWM starts anew with a program, which ru_maxrss does not."""
    spent = os.times()
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    return Usage(spent.user + spent.system, _kilobytes(status["VmRSS"]), _kilobytes(status["VmHWM"]))


def _kilobytes(text: str) -> int:
    return int(text.split(maxsplit=1)[0]) * 1024
