"""Which units are times and which are rates: what more of a figure means hangs on it."""

from __future__ import annotations

# Of each unit of time, how many seconds it is.
SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def is_time(unit: str) -> bool:
    """A latency, a duration: less is better."""
    return unit in SECONDS


def is_rate(unit: str) -> bool:
    """So many, or so much, in a time (1/s, MB/s, tpmC's 1/min): more is better."""
    return unit.rpartition("/")[0] != "" and unit.rpartition("/")[2] in SECONDS
