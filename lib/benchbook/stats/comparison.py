"""Comparing two arms by their repetitions: ratio with interval, and Holm. `cellwise` compares whole tables.

Intervals take one value per repetition. Ratios are taken on the log scale, where a ratio and its inverse are
treated alike and the noise of a benchmark, which grows with its level, is even.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from benchbook.errors import BadInput
from benchbook.stats.estimates import Array, Interval, Values, positive_vector
from benchbook.stats.intervals import mean_interval


def ratio_interval(a: Values, b: Values) -> Interval:
    """95% interval of the geometric mean of a[i] / b[i]: each pair one block. A single pair gives no interval.

    Raises BadInput for values that are not positive, and where a side has more values than the other.
    """
    x, y = positive_vector(a, key="a"), positive_vector(b, key="b")
    if x.size != y.size:
        raise BadInput("pairs need as many values on both sides", value=(x.size, y.size), fix="pass whole pairs")
    logs = mean_interval(np.log(x / y))
    low, middle, high = (math.exp(v) for v in (logs.low, logs.estimate, logs.high))
    return Interval(middle, low, high, logs.confidence, x.size, "ratio, paired log")


def holm(p_values: Sequence[float] | Array) -> Array:
    """Holm-adjusted p values of one family, in the order given; NaN (not tested) stays NaN and does not count."""
    found = np.asarray(p_values, dtype=float)
    out, tested = np.full(found.shape, np.nan), ~np.isnan(found)
    # Holm (1979), Scand. J. Statist. 6(2). By hand, because statsmodels' function collects garbage on every call, which
    # takes a tenth of a second in a process that has drawn figures.
    p, order = found[tested], np.argsort(found[tested], kind="stable")
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)))
    out[tested] = adjusted
    return out
