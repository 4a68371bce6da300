"""Units of time and of rate, which tell whether more is better, and conversions between units."""

from __future__ import annotations

from functools import cache

# Of each unit of time, how many seconds it is; of each unit of data, how many bytes or bits.
SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_BYTES = (
    {"B": 1.0}
    | {f"{p}B": 1e3**n for n, p in enumerate("kMGT", 1)}
    | {f"{p}iB": 2.0 ** (10 * n) for n, p in enumerate("KMGT", 1)}
)
_BITS = {"kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9}


def is_time(unit: str) -> bool:
    """Return whether a unit is one of latencies and durations: less is better."""
    return unit in SECONDS


def is_rate(unit: str) -> bool:
    """Return whether it is so many, or so much, in a time (1/s, MB/s, tpmC's 1/min): more is better."""
    return unit.rpartition("/")[0] != "" and unit.rpartition("/")[2] in SECONDS


@cache
def factor(unit: str, other: str) -> float | None:
    """Return what one `unit` is in the other one; None where they are of different dimensions, or not known."""
    if unit == other:
        return 1.0
    unit, other = ("1/s" if one == "Hz" else one for one in (unit, other))
    if is_rate(unit) and is_rate(other):
        (amount, _, per), (other_amount, _, other_per) = unit.rpartition("/"), other.rpartition("/")
        amounts = factor(amount, other_amount)
        return None if amounts is None else amounts * SECONDS[other_per] / SECONDS[per]
    for units in (SECONDS, _BYTES, _BITS):
        if unit in units and other in units:
            return units[unit] / units[other]
    return None
