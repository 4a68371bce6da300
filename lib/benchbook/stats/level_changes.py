"""Where the level of a cell changes from one campaign to the next, and holds against what campaigns differ by anyway.

Change points of the log means are candidates; each is then tested between its neighbours, with a correction for having
been looked for, and the weakest is dropped until all that are left hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import ruptures
from scipy import stats

from benchbook.errors import BadInput
from benchbook.stats.estimates import Array, share

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
    share(alpha, key="alpha")
    found = np.asarray(logs, dtype=float)
    if not np.isfinite(found).all():
        raise BadInput("a level is not finite", key="logs", value=found.tolist(), fix="leave gaps out first")
    if found.size < LEAST_CAMPAIGNS or np.ptp(found) == 0:
        return []
    weights, noise = _weights(found, spreads)
    places = _candidates(found)
    while places:
        tested = _Steps(found, weights, noise, places).tested()
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


def _weights(logs: Array, spreads: Sequence[tuple[int, float]] | None) -> tuple[Array, Array]:
    """Inverse variances of campaigns, and how many times as large each is by the spread of its own repetitions.

    They hold what campaigns differ by anyway, and what their repetitions leave open, by one spread for all: by its own,
    one of three repetitions that lie together by luck outweighs the others, and of histories of 15 cells in which
    nothing changed a third shows a change (simulated).
    """
    alike = np.ones(logs.size), np.ones(logs.size)
    if spreads is None:
        return alike
    n, own = np.array(spreads, dtype=np.float64).T
    repeated = n > 1
    if not repeated.any():
        return alike
    df = n[repeated] - 1
    # The median, as a few odd days are not what is usual; of chi-square it is about df (1 - 2 / (9 df))^3: Wilson
    # & Hilferty (1931), Proc. Natl. Acad. Sci. 17(12).
    within = float(np.median(own[repeated] / (1 - 2 / (9 * df)) ** 3))
    between = max(_sigma(logs) ** 2 - within / float(np.median(n)), 0.0)
    variance = between + within / n
    if not (variance > 0).all():
        return alike
    return float(np.median(variance)) / variance, (between + np.where(repeated, own, within) / n) / variance


def _candidates(logs: Array) -> list[int]:
    # Of unit variance, as the penalty counts in it.
    signal = ((logs - np.median(logs)) / _sigma(logs)).reshape(-1, 1)
    # Killick, Fearnhead & Eckley (2012), JASA 107(500): PELT; a penalty of a few log(n) per change, sec. 3. The linear
    # kernel is least squares on the level (Arlot, Celisse & Harchaoui (2019), JMLR 20(162)).
    search = ruptures.KernelCPD(kernel="linear", min_size=LEAST_IN_LEVEL).fit(signal)
    return [int(place) for place in search.predict(pen=_PENALTY * math.log(logs.size))[:-1]]


class _Steps:
    """Every step at `places`, tested against the spread around all levels."""

    def __init__(self, logs: Array, weights: Array, noise: Array, places: Sequence[int]) -> None:
        self._logs, self._weights, self._noise = logs, weights, noise
        self._places = [0, *places, logs.size]
        self._df = logs.size - len(places) - 1
        left = sum(self._squares(a, b) for a, b in zip(self._places, self._places[1:], strict=False))
        self._variance = left / self._df

    def tested(self) -> list[LevelChange]:
        around = zip(self._places, self._places[1:], self._places[2:], strict=False)
        return [self._step(*three) for three in around]

    def _step(self, a: int, at: int, b: int) -> LevelChange:
        before, after = slice(a, at), slice(at, b)
        gap = self._mean(after) - self._mean(before)
        error = math.sqrt(self._error2(before) + self._error2(after))
        half = float(stats.t.ppf(0.975, self._df)) * error
        low, middle, high = (math.exp(value) for value in (gap - half, gap, gap + half))
        one_sided = float(stats.t.sf(abs(gap) / error, self._df)) if error else 0.0
        return LevelChange(at, middle, low, high, searched(one_sided, b - a))

    def _error2(self, part: slice) -> float:
        """Of a level's mean. Where campaigns, or repetitions, spread wider: an odd day makes no level."""
        own = self._squares(part.start, part.stop) / (part.stop - part.start - 1)
        doubt = max(1.0, float(self._noise[part].mean()))
        return doubt * float(max(self._variance, own) / self._weights[part].sum())

    def _mean(self, part: slice) -> float:
        return float(np.average(self._logs[part], weights=self._weights[part]))

    def _squares(self, a: int, b: int) -> float:
        part = slice(a, b)
        return float((self._weights[part] * (self._logs[part] - self._mean(part)) ** 2).sum())


def searched(one_sided: float, length: int) -> float:
    """The chance of so large a step, either way, at any place of a stretch of `length`, by its chance at one place."""
    places = length - 2 * LEAST_IN_LEVEL + 1
    every = 2 * one_sided * places
    z = stats.norm.isf(one_sided) if one_sided > 0 else math.inf
    if z <= 1 or places < 2 or math.isinf(z):
        return min(1.0, every)
    # Miller & Siegmund (1982), Biometrics 38(4), eq. 8: steps at neighbouring places resemble each other, so there are
    # fewer chances than places; for two-sided steps, with t put at the same quantile of the normal.
    edge = LEAST_IN_LEVEL / length
    scan = stats.norm.pdf(z) * ((z - 1 / z) * math.log((1 - edge) ** 2 / edge**2) + 4 / z)
    return min(1.0, every, scan)
