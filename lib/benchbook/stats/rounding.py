"""How finely a metric was recorded: the last digit that it shows, or the histogram buckets that its values lie on."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

from benchbook.stats.estimates import Array

# sysbench's buckets of latencies: 1,024, spread evenly over the logarithm of 0.001 to 100,000 ms, lie so far apart in
# it, which is 1.8% (A. Kopytov, sysbench 1.0, src/sb_histogram.c).
FIRST_MS, BUCKET_STEP = 0.001, math.log(1e8) / 1023
_BY_CHANCE = 0.01
_MS = {"ms": 1.0, "s": 1000.0}


def log_variance(value: float, recorded: Array, unit: str) -> float:
    """Return the variance that rounding gives log(value) of a metric: steps of w spread the error evenly, w^2 / 12.

    `recorded`: all values of the metric, above 0 and in `unit`. They tell the steps: buckets, or their last digit.
    """
    digit = last_digit(recorded)
    bucketed = unit in _MS and on_buckets(recorded * _MS[unit], digit * _MS[unit])
    # Sheppard (1898), Proc. London Math. Soc. 29.
    return (BUCKET_STEP if bucketed else digit / value) ** 2 / 12


def last_digit(recorded: Array) -> float:
    """The last decimal place that any of the values uses: 0.01 for 4.57; 1 at most, as 100 may be a whole number."""
    exponents = [int(Decimal(repr(float(value))).normalize().as_tuple().exponent) for value in recorded]
    return float(10.0 ** min([0, *exponents]))


def on_buckets(recorded_ms: Array, digit_ms: float) -> bool:
    """Return whether all values are bounds of sysbench's latency buckets, more of them than chance would put there."""
    values = np.unique(recorded_ms)
    if values.size == 0 or values[0] <= 0:
        return False
    place = np.log(values / FIRST_MS) / BUCKET_STEP
    off = np.abs(place - np.round(place)) * BUCKET_STEP
    chance = np.minimum(1.0, digit_ms / values / BUCKET_STEP)
    return bool((off <= digit_ms / values / 2 + 1e-9).all() and chance.prod() < _BY_CHANCE)
