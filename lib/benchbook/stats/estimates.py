"""What every estimate of this package is made of: an interval, a named warning, and the checks on what goes in."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook.errors import BadInput

Array: TypeAlias = NDArray[np.float64]
Values: TypeAlias = "Sequence[float] | Array | pd.Series"


class DegenerateDataWarning(UserWarning):
    """The data do not show their own spread (one repetition, a constant): the interval is NaN or a point."""


@dataclass(frozen=True)
class Interval:
    """An estimate with its two-sided interval, all three in the unit of the data; NaN bounds mean "no interval"."""

    estimate: float
    low: float
    high: float
    confidence: float
    n: int
    method: str
    degrees_of_freedom: float = math.nan

    @property
    def known(self) -> bool:
        """Whether the data allowed an interval at all."""
        return not (math.isnan(self.low) or math.isnan(self.high))

    @property
    def half_width(self) -> float:
        """Half the distance between the bounds."""
        return (self.high - self.low) / 2

    @property
    def relative_half_width(self) -> float:
        """Half width as a share of the estimate; infinite at an estimate of 0, NaN without an interval."""
        if self.estimate == 0:
            return math.inf if self.known else math.nan
        return self.half_width / abs(self.estimate)

    def contains(self, value: float) -> bool:
        """Whether `value` lies within the bounds; never, without an interval."""
        return self.low <= value <= self.high


def degenerate(what: str) -> None:
    """Say that an interval could not be had, in a warning a caller can filter by name."""
    warnings.warn(what, DegenerateDataWarning, stacklevel=3)


def no_interval(estimate: float, *, confidence: float, n: int, method: str, why: str) -> Interval:
    """The estimate alone, with a named warning."""
    degenerate(why)
    return Interval(float(estimate), math.nan, math.nan, confidence, n, method)


def vector(values: Values, *, key: str = "values", minimum: int = 1) -> Array:
    """`values` as a float vector of finite numbers, at least `minimum` long; BadInput otherwise."""
    found = np.asarray(values, dtype=float)
    if found.ndim != 1:
        raise BadInput("needs one dimension", key=key, value=found.shape, fix="pass one column")
    if found.size < minimum:
        raise BadInput(f"needs at least {minimum} values", key=key, value=int(found.size), fix="measure more")
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
    """A number strictly between 0 and 1; BadInput otherwise."""
    if not 0 < value < 1:
        raise BadInput("must lie between 0 and 1", key=key, value=value, fix="e.g. 0.95")
    return float(value)


def columns(frame: pd.DataFrame, *names: str) -> None:
    """BadInput naming the first column that is not there."""
    for name in names:
        if name not in frame.columns:
            raise BadInput("no such column", key=name, fix=f"one of {', '.join(map(str, frame.columns))}")
