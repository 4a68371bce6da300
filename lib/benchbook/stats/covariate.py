"""How a figure goes with a covariate that was seen beside it, from all cells of a table together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchbook.stats.estimates import columns

# The noise of a slope from fewer is a guess: what was known before stays.
LEAST_FREEDOM = 8


@dataclass(frozen=True)
class Slope:
    """Change of y per unit of x, and its standard error."""

    value: float
    error: float


def slope_within(frame: pd.DataFrame, before: Slope) -> Slope:
    """Slope of `y` on `x` within cells, `before` being what was known of it; `frame`: [cell, x, y].

    Analysis of covariance with one slope for all cells, Fisher (1932), *Statistical Methods for Research Workers*,
    sec. 49.1, and a normal prior: Box & Tiao (1973), *Bayesian Inference in Statistical Analysis*, sec. 2.7. With
    fewer than 8 degrees of freedom, or where x never changes within a cell, `before` is returned.
    """
    columns(frame, "cell", "x", "y")
    apart = frame[["x", "y"]] - frame.groupby("cell")[["x", "y"]].transform("mean")
    freedom = len(frame) - frame["cell"].nunique() - 1
    xx, xy = float((apart.x**2).sum()), float((apart.x * apart.y).sum())
    if freedom < LEAST_FREEDOM or xx == 0:
        return before
    noise = float(((apart.y - xy / xx * apart.x) ** 2).sum()) / freedom
    if noise == 0:
        return Slope(xy / xx, 0.0)
    seen, known = xx / noise, 1 / before.error**2
    return Slope((xy / noise + before.value * known) / (seen + known), 1 / math.sqrt(float(np.add(seen, known))))
