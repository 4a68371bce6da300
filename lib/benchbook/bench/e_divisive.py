"""Change points as Apache Otava finds them, written from its description, to be held against the kit's own.

Fleming & Kołaczkowski (2023), Hunter: Using Change Point Detection to Hunt for Performance Regressions, ICPE: the split
of largest energy distance (E-divisive means: Matteson & James (2014), JASA 109(505)) is a candidate if Welch's t test
says so at ten times the wanted p value; then the weakest is dropped until all are below it. Its window is 50 values.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy import stats

from benchbook.stats.estimates import Array

P_VALUE = 0.001
_LEAST = 2


def e_divisive(values: Array) -> list[int]:
    """First places of the new levels, in order; for series of up to 50 values."""
    places: list[int] = []
    while (best := _best_split(values, [0, *places, values.size])) is not None:
        tried = sorted([*places, best])
        if _welch(values, tried, best) >= 10 * P_VALUE:
            break
        places = tried
    while places:
        weakest = max(places, key=lambda place: _welch(values, places, place))
        if _welch(values, places, weakest) < P_VALUE:
            break
        places.remove(weakest)
    return places


def _best_split(values: Array, bounds: Sequence[int]) -> int | None:
    """The split of any stretch with the largest energy statistic."""
    found = [
        (score, a + at) for a, b in pairwise(bounds) for at, score in enumerate(_scores(values[a:b]), start=_LEAST)
    ]
    return max(found)[1] if found else None


def _scores(part: Array) -> list[float]:
    """Matteson & James, eq. 5 and 6 with alpha 1, for every split that leaves two values on each side."""
    n = part.size
    distance = np.abs(part[:, None] - part[None, :])
    found = []
    for at in range(_LEAST, n - _LEAST + 1):
        across = float(distance[:at, at:].mean())
        left = float(distance[:at, :at].sum()) / (at * (at - 1))
        right = float(distance[at:, at:].sum()) / ((n - at) * (n - at - 1))
        found.append(at * (n - at) / n * (2 * across - left - right))
    return found


def _welch(values: Array, places: Sequence[int], place: int) -> float:
    """The p value of the step at `place`, between its neighbours."""
    before = max((one for one in places if one < place), default=0)
    after = min((one for one in places if one > place), default=values.size)
    return float(stats.ttest_ind(values[before:place], values[place:after], equal_var=False).pvalue)
