"""The shape of a curve over its levels: where it peaks, and from where on more is not worth it."""

from __future__ import annotations

import numpy as np

from benchbook.errors import BadInput
from benchbook.stats.estimates import Array, Values, share, vector


def peak_level(levels: Values, means: Values) -> float:
    """The level with the highest mean; of several, the lowest."""
    x, y = _curve(levels, means)
    return float(x[y.argmax()])


def saturation_level(levels: Values, means: Values, *, tolerance: float) -> float:
    """The lowest level whose mean is within `tolerance` (relative, 0..1) of the highest."""
    x, y = _curve(levels, means)
    return float(x[(y >= (1 - share(tolerance, key="tolerance")) * y.max()).argmax()])


def _curve(levels: Values, means: Values) -> tuple[Array, Array]:
    """Both in rising order of the levels; a mean per level."""
    x, y = vector(levels, key="levels"), vector(means, key="means")
    if x.size != y.size or np.unique(x).size != x.size:
        raise BadInput("a curve needs one mean per level", key="levels", value=x.tolist(), fix="take means first")
    order = x.argsort()
    return x[order], y[order]
