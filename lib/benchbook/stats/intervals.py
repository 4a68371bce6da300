"""Interval of a mean over repetitions.

The unit of replication is a repetition. Seconds or requests of one run share that run's luck: pooled, they give an
interval that is far too narrow.
"""

from __future__ import annotations

import math

from scipy import stats

from benchbook.stats.estimates import Interval, Values, no_interval, share, vector


def mean_interval(values: Values, *, confidence: float = 0.95) -> Interval:
    """Student interval of the mean of one value per repetition; one repetition gives no interval and a warning."""
    found, level = vector(values), share(confidence, key="confidence")
    if found.size == 1:
        why = "one repetition says nothing about the spread between repetitions"
        return no_interval(found[0], confidence=level, n=1, method="student", why=why)
    # Student (1908), Biometrika 6(1): mean +- t(n-1) s / sqrt(n).
    half = stats.t.ppf((1 + level) / 2, found.size - 1) * found.std(ddof=1) / math.sqrt(found.size)
    centre = float(found.mean())
    return Interval(centre, centre - float(half), centre + float(half), level, found.size, "student", found.size - 1)
