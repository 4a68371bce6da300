"""What a step of a benchmark took: seconds, CPU, memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

SELF, CHILDREN = RUSAGE_SELF, RUSAGE_CHILDREN


def cpu_s(*who: int) -> float:
    """CPU seconds so far: of this process (SELF), of those that it started and saw end, and theirs (CHILDREN)."""
    return sum(used.ru_utime + used.ru_stime for used in map(getrusage, who))


def peak_mb(*who: int) -> int:
    """The most memory that this process, or the largest of its children, has held."""
    # In KiB on Linux (getrusage(2)).
    return round(max(getrusage(one).ru_maxrss for one in who) * 1024 / 1e6)


def seconds(step: Callable[[], object]) -> float:
    """Wall time of a step."""
    began = time.perf_counter()
    step()
    return time.perf_counter() - began
