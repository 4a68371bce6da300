"""What a step of a benchmark took: seconds, CPU, memory."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

SELF, CHILDREN = RUSAGE_SELF, RUSAGE_CHILDREN
_PEAK = re.compile(rb"VmHWM:\s+(\d+) kB")


def cpu_s(*who: int) -> float:
    """CPU seconds so far: of this process (SELF), of those that it started and saw end, and theirs (CHILDREN)."""
    return sum(used.ru_utime + used.ru_stime for used in map(getrusage, who))


def peak_mb(*who: int) -> int:
    """The most memory that this process, or the largest of its children, has held."""
    return round(max(_own_peak_kib() if one == SELF else getrusage(one).ru_maxrss for one in who) * 1024 / 1e6)


def _own_peak_kib() -> int:
    """By what the kernel says of this program alone.

    `ru_maxrss` of a process that was just started is what the one that started it holds (getrusage(2) has it survive
    execve(2), and until then both have one memory).
    """
    found = _PEAK.search(Path("/proc/self/status").read_bytes())
    return int(found[1]) if found else getrusage(SELF).ru_maxrss


def seconds(step: Callable[[], object]) -> float:
    """Wall time of a step."""
    began = time.perf_counter()
    step()
    return time.perf_counter() - began
