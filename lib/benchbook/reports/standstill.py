"""A wait in which nothing moves comes to an end: a program that hangs must cost a trial, not the campaign."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from benchbook.errors import WorkloadFailed


@dataclass
class Standstill:
    """Raises once neither what is seen nor what is weighed has changed for `longest_s`.

    `weigh` may be slow (bytes on a disk, say): it is asked only after what is seen has stood still for `longest_s`, so
    the end comes after at least `longest_s` and, on the second weighing, at most twice that.
    """

    what: str
    longest_s: float
    weigh: Callable[[], int]
    clock: Callable[[], float] = time.monotonic
    _seen: object = field(init=False, default=None)
    _since: float = field(init=False, default=0.0)
    _weight: int | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._since = self.clock()

    def see(self, now: object) -> None:
        """Raises WorkloadFailed with what was seen last."""
        if now != self._seen:
            self._seen, self._since, self._weight = now, self.clock(), None
        elif self.clock() - self._since >= self.longest_s:
            weight = self.weigh()
            if weight == self._weight:
                raise WorkloadFailed(f"{self.what} has not moved for {self.longest_s:g} s: {now}")
            self._weight, self._since = weight, self.clock()
