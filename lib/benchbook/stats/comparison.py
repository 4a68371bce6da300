"""Comparing two arms by their repetitions: ratio with interval, and Holm. `cellwise` compares whole tables.

Intervals take one value per repetition. Ratios are taken on the log scale, where a ratio and its inverse are
treated alike and the noise of a benchmark, which grows with its level, is even.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy import stats

from benchbook.errors import BadInput
from benchbook.stats.estimates import Array, Interval, Values, degenerate, no_interval, positive_vector, share
from benchbook.stats.intervals import mean_interval


def ratio_interval(
    a: Values, b: Values, *, paired: bool = False, method: Literal["log", "fieller"] = "log", confidence: float = 0.95
) -> Interval:
    """Interval of mean(a) / mean(b); `paired` takes a[i] and b[i] as one block. One repetition gives no interval."""
    x, y, level = positive_vector(a, key="a"), positive_vector(b, key="b"), share(confidence, key="confidence")
    if paired:
        return _paired_ratio(x, y, level)
    estimate, n = float(x.mean() / y.mean()), min(x.size, y.size)
    if n < 2:
        why = "a ratio of single repetitions has no interval"
        return no_interval(estimate, confidence=level, n=n, method=f"ratio, {method}", why=why)
    (error, freedom) = _log_error(x, y)
    if method == "fieller":
        low, high = _fieller(x, y, float(stats.t.ppf((1 + level) / 2, freedom)))
        return Interval(estimate, low, high, level, n, "ratio, fieller")
    half = float(stats.t.ppf((1 + level) / 2, freedom)) * error
    return Interval(estimate, estimate * math.exp(-half), estimate * math.exp(half), level, n, "ratio, log")


def _paired_ratio(x: Array, y: Array, level: float) -> Interval:
    if x.size != y.size:
        raise BadInput("pairs need as many values on both sides", value=(x.size, y.size), fix="pass paired=False")
    logs = mean_interval(np.log(x / y), confidence=level)
    low, middle, high = (math.exp(v) for v in (logs.low, logs.estimate, logs.high))
    return Interval(middle, low, high, level, x.size, "ratio, paired log")


def _log_error(x: Array, y: Array) -> tuple[float, float]:
    """Standard error of log(mean x / mean y) and its degrees of freedom; both sides with at least two values."""
    # Delta method for a ratio of means: Casella & Berger (2002), Statistical Inference, sec. 5.5.4.
    parts = [v.var(ddof=1) / (v.size * v.mean() ** 2) for v in (x, y)]
    total = float(sum(parts))
    if total == 0:
        return 0.0, float(x.size + y.size - 2)
    # Welch (1947), Biometrika 34(1-2), degrees of freedom.
    return math.sqrt(total), float(total**2 / sum(p**2 / (v.size - 1) for p, v in zip(parts, (x, y), strict=True)))


def _fieller(x: Array, y: Array, t: float) -> tuple[float, float]:
    # Fieller (1954), JRSS B 16(2), for independent means: roots of the quadratic in the ratio.
    vx, vy = x.var(ddof=1) / x.size, y.var(ddof=1) / y.size
    mx, my = float(x.mean()), float(y.mean())
    g = t**2 * vy / my**2
    if g >= 1:
        degenerate("the denominator is not told from zero: the ratio has no bounds")
        return math.nan, math.nan
    centre, root = mx / my, t / my * math.sqrt(vx * (1 - g) + (mx / my) ** 2 * vy)
    return (centre - root) / (1 - g), (centre + root) / (1 - g)


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
