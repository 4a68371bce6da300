"""How far two metrics rank the same points alike: Kendall's tau."""

from __future__ import annotations

import math

import numpy as np

from benchbook.stats.estimates import Values, vector


def kendall_tau(x: Values, y: Values) -> float:
    """Kendall's tau-b of paired values, -1 to 1: Kendall (1945), Biometrika 33(3). NaN where one does not vary at all.

    A test compares it with what scipy.stats calls so: that is half a second to import, for every page that asks.
    """
    (of_x, of_y) = (np.sign(np.subtract.outer(values, values)) for values in (vector(x), vector(y)))
    untied = float((of_x**2).sum() * (of_y**2).sum())
    return float((of_x * of_y).sum()) / math.sqrt(untied) if untied else math.nan
