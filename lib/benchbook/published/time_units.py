"""Which units are times and which are rates: what more of a figure means hangs on it."""

from __future__ import annotations

TIMES = ("s", "ms", "us", "µs", "ns", "min", "h")


def is_time(unit: str) -> bool:
    """A latency, a duration: less is better."""
    return unit in TIMES


def is_rate(unit: str) -> bool:
    """So many, or so much, in a time (1/s, MB/s, tpmC's 1/min): more is better."""
    return unit.rpartition("/")[0] != "" and unit.rpartition("/")[2] in TIMES
