"""Where the level of a cell changes from one campaign to the next, and holds against what campaigns differ by anyway.

Change points of the log means are candidates; each is then tested between its neighbours, with a correction for having
been looked for, and the weakest is dropped until all that are left hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import ruptures
from scipy import stats

from benchbook.stats.estimates import Array, share, vector

# A level needs two campaigns: one alone may be an odd day.
LEAST_IN_LEVEL = 2
LEAST_CAMPAIGNS = 2 * LEAST_IN_LEVEL + 1
# A candidate costs this many log(n); lenient, as each is tested afterwards.
_PENALTY = 2.0


@dataclass(frozen=True)
class LevelChange:
    """A step of the level: `at` is the place of the first campaign of the new one.

    `ratio` is new / old level with its 95% interval, for this place; `p_value` counts that the place was looked for.
    """

    at: int
    ratio: float
    low: float
    high: float
    p_value: float


def level_changes(
    logs: Sequence[float] | Array, spreads: Sequence[tuple[int, float]] | None = None, *, alpha: float = 0.05
) -> list[LevelChange]:
    """Changes in a series of log means, one per campaign, in time order; none with fewer than 5 campaigns.

    `spreads`: repetitions of each campaign and the variance of their logs (NaN of one). Campaigns are weighted by the
    number, and a level whose repetitions vary more than those of the others is known less.
    `alpha` is the chance of any change in a series that has none; for many series, divide it by their number. Raise
    BadInput for values that are not finite.
    """
    found = vector(logs, key="logs")
    share(alpha, key="alpha")
    if found.size < LEAST_CAMPAIGNS or np.ptp(found) == 0:
        return []
    weights, doubts = _weights(found, spreads or [(1, math.nan)] * found.size)
    places = _candidates(found)
    while places:
        tested = _steps(found, weights, doubts, [0, *places, found.size])
        weakest = max(tested, key=lambda change: change.p_value)
        if weakest.p_value <= alpha:
            return tested
        places = [place for place in places if place != weakest.at]
    return []


def _sigma(logs: Array) -> float:
    """Spread around the local level; differences of neighbours do not see it, their median no steps either."""
    steps = np.abs(np.diff(logs))
    robust = 1.4826 * float(np.median(steps)) / math.sqrt(2)
    return robust or float(steps.std()) / math.sqrt(2)


def _weights(logs: Array, spreads: Sequence[tuple[int, float]]) -> tuple[Array, Array]:
    """Inverse variances of campaigns, and how many times as large each is by the spread of its own repetitions.

    They hold what campaigns differ by anyway, and what their repetitions leave open, by one spread for all: by its own,
    one of three repetitions that lie together by luck outweighs the others, and of histories of 15 cells in which
    nothing changed a third shows a change (simulated).
    """
    n, own = np.array(spreads, dtype=np.float64).T
    repeated = n > 1
    # The median, as a few odd days are not what is usual.
    within = np.median((own * (n - 1) / stats.chi2.median(n - 1))[repeated]) if repeated.any() else 0.0
    if not within:
        return np.ones(n.size), np.ones(n.size)
    between = max(_sigma(logs) ** 2 - within / np.median(n), 0.0)
    variance = between + within / n
    return np.median(variance) / variance, (between + np.where(repeated, own, within) / n) / variance


def _candidates(logs: Array) -> list[int]:
    # Of unit variance, as the penalty counts in it.
    signal = ((logs - np.median(logs)) / _sigma(logs)).reshape(-1, 1)
    # Killick, Fearnhead & Eckley (2012), JASA 107(500): PELT; a penalty of a few log(n) per change, sec. 3. The linear
    # kernel is least squares on the level (Arlot, Celisse & Harchaoui (2019), JMLR 20(162)).
    search = ruptures.KernelCPD(kernel="linear", min_size=LEAST_IN_LEVEL).fit(signal)
    return [int(place) for place in search.predict(pen=_PENALTY * math.log(logs.size))[:-1]]


def _steps(logs: Array, weights: Array, doubts: Array, places: Sequence[int]) -> list[LevelChange]:
    """Test every step between the levels that begin at `places` against the spread around all of them."""
    levels = [slice(a, b) for a, b in pairwise(places)]
    sizes = [level.stop - level.start for level in levels]
    means = [float(np.average(logs[level], weights=weights[level])) for level in levels]
    squares = [float(weights[level] @ (logs[level] - mean) ** 2) for level, mean in zip(levels, means, strict=True)]
    df = logs.size - len(levels)
    # Where the campaigns of a level, or their repetitions, spread wider, their own spread counts: an odd day makes no
    # level.
    errors2 = [
        max(1.0, doubts[level].mean()) * max(sum(squares) / df, square / (size - 1)) / weights[level].sum()
        for level, size, square in zip(levels, sizes, squares, strict=True)
    ]
    steps = zip(places[1:], pairwise(means), pairwise(errors2), pairwise(sizes), strict=False)
    return [
        _step(at, after - before, math.sqrt(sum(errors)), df, sum(both)) for at, (before, after), errors, both in steps
    ]


def _step(at: int, gap: float, error: float, df: int, length: int) -> LevelChange:
    half = float(stats.t.ppf(0.975, df)) * error
    low, middle, high = (math.exp(value) for value in (gap - half, gap, gap + half))
    one_sided = float(stats.t.sf(abs(gap) / error, df)) if error else 0.0
    return LevelChange(at, middle, low, high, searched(one_sided, length))


def searched(one_sided: float, length: int) -> float:
    """The chance of so large a step, either way, at any place of a stretch of `length`, by its chance at one place."""
    return min(1.0, 2 * one_sided * (length - 2 * LEAST_IN_LEVEL + 1))
