"""Intervals over repetitions, Holm's correction, and the checks on what goes in.

The unit of replication is a repetition. Seconds or requests of one run share that run's luck: pooled, they give an
interval that is far too narrow. Ratios are taken on the log scale, where a ratio and its inverse are treated alike and
the noise of a benchmark, which grows with its level, is even.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from benchbook.errors import BadInput

Array: TypeAlias = NDArray[np.float64]
Values: TypeAlias = "Sequence[float] | Array | pd.Series"


class Interval(NamedTuple):
    """A mean over `n` repetitions with its two-sided interval, in the unit of the data; NaN: there is none."""

    value: float
    low: float
    high: float
    n: int


def vector(values: Values, *, key: str = "values") -> Array:
    """`values` as a float vector of finite numbers, at least one; BadInput otherwise."""
    found = np.asarray(values, dtype=float)
    if found.ndim != 1:
        raise BadInput("needs one dimension", key=key, value=found.shape, fix="pass one column")
    if not found.size:
        raise BadInput("needs at least one value", key=key, fix="measure some")
    if not np.isfinite(found).all():
        raise BadInput("holds values that are not finite", key=key, fix="drop failed or empty samples first")
    return found


def positive_vector(values: Values, *, key: str = "values") -> Array:
    """As `vector`, and every value above 0."""
    found = vector(values, key=key)
    if (found <= 0).any():
        raise BadInput("needs values above 0", key=key, value=float(found.min()), fix="leave failed trials out")
    return found


def share(value: float, *, key: str) -> float:
    """Return a number strictly between 0 and 1; BadInput otherwise."""
    if not 0 < value < 1:
        raise BadInput("must lie between 0 and 1", key=key, value=value, fix="e.g. 0.95")
    return float(value)


def mean_interval(values: Values, *, confidence: float = 0.95) -> Interval:
    """Student interval of the mean of one value per repetition; one repetition gives no interval."""
    found, level = vector(values), share(confidence, key="confidence")
    centre = float(found.mean())
    if found.size == 1:
        return Interval(centre, math.nan, math.nan, 1)
    # Student (1908), Biometrika 6(1): mean +- t(n-1) s / sqrt(n).
    half = float(stats.t.ppf((1 + level) / 2, found.size - 1) * found.std(ddof=1) / math.sqrt(found.size))
    return Interval(centre, centre - half, centre + half, found.size)


def holm(p_values: Sequence[float] | Array) -> Array:
    """Holm-adjusted p values of one family, in the order given; NaN (not tested) stays NaN and does not count."""
    found = np.array(p_values, dtype=float)
    tested = np.flatnonzero(~np.isnan(found))
    # Holm (1979), Scand. J. Statist. 6(2).
    order = tested[np.argsort(found[tested], kind="stable")]
    found[order] = np.minimum(1.0, np.maximum.accumulate(found[order] * np.arange(order.size, 0, -1)))
    return found
