"""What further repetitions would show: how many would decide a claim, and how likely so many are to."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from benchbook.claims.parts import Part
from benchbook.stats.estimates import Array
from benchbook.stats.tails import t_quantile, t_tail

# More repetitions than this are no answer to "how many would decide it".
MOST_REPETITIONS = 100
# Chances are worked out for so many further repetitions.
MOST_AHEAD = 30


def needed(parts: Sequence[Part], level: float) -> int | None:
    """Repetitions until, at the means and spreads seen, all intervals lie inside, or the first one lies outside."""
    total = sum(part.weight for part in parts)
    outside = [part for part in parts if not part.inside(part.mean)]
    if outside:
        counts = [_repetitions(part, level * part.weight / total) for part in outside]
        return min((count for count in counts if count is not None), default=None)
    found = [_repetitions(part, level) for part in parts if not part.decided(level)]
    return None if None in found else max((count for count in found if count is not None), default=None)


def _repetitions(part: Part, level: float) -> int | None:
    """The least n whose interval would not reach a bound of the region."""
    gap = min(abs(part.mean - bound) for bound in (part.low, part.high) if math.isfinite(bound))
    # A drift goes on: more repetitions take first and last further apart.
    if part.n < 2 or gap == 0 or part.drift:
        return None
    counts = range(part.n + 1, MOST_REPETITIONS + 1)
    # Quantile and error both shrink with every repetition: the first n that is enough is found by bisection.
    found = bisect_left(counts, True, key=lambda n: _half(part, n, level) < gap)
    return counts[found] if found < len(counts) else None


def _half(part: Part, n: int, level: float) -> float:
    """Half the width of the interval with `n` repetitions, at the spread seen."""
    # Degrees of freedom: each repetition adds one, what was borrowed stays.
    return float(t_quantile(1 - level / 2, part.spread.df + n - part.n)) * part.error_of(n)


def chances(parts: Sequence[Part], level: float) -> Array:
    """The probability that a claim is decided by 1, 2, ... MOST_AHEAD further repetitions, (MOST_AHEAD,).

    A claim that holds does so in all of its parts, as if they were independent; of one that fails the part counts that
    shows it soonest.
    """
    total = sum(part.weight for part in parts)
    holds = np.prod([_decided(part, level)[0] for part in parts], axis=0)
    fails = np.max([_decided(part, level * part.weight / total)[1] for part in parts], axis=0)
    return np.asarray(np.minimum(1.0, holds + fails))


def _decided(part: Part, level: float) -> tuple[Array, Array]:
    """The probabilities that its interval lies inside its region, and that it lies wholly outside.

    With n effects of variance s^2 seen, k more move their mean by Student's t times s * sqrt(k / (n * (n + k)))
    (the posterior predictive distribution: Gelman et al., Bayesian Data Analysis, 3rd ed., section 3.2).
    """
    more = np.arange(1, MOST_AHEAD + 1)
    if part.n < 2 or part.drift:
        return np.zeros(MOST_AHEAD), np.zeros(MOST_AHEAD)
    half = np.array([_half(part, part.n + int(k), level) for k in more])
    moves = np.sqrt(part.spread.variance * more / (part.n * (part.n + more)))
    moves = np.maximum(moves, np.finfo(float).tiny)

    def above(effect: Array) -> Array:
        return np.asarray(t_tail((effect - part.mean) / moves, part.spread.df))

    inside = np.maximum(0.0, above(part.low + half) - above(part.high - half))
    return inside, np.minimum(1.0, 1 - above(part.low - half) + above(part.high + half))
