"""What further repetitions are likely to show: the chance that so many of them decide a claim."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchbook.claims.parts import Part
from benchbook.stats.estimates import Array
from benchbook.stats.tails import t_tail

# Chances are worked out for so many further repetitions.
MOST_AHEAD = 30


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
    half = np.array([part.half_width(part.n + int(k), level) for k in more])
    moves = np.sqrt(part.spread.variance * more / (part.n * (part.n + more)))
    moves = np.maximum(moves, np.finfo(float).tiny)

    def above(effect: Array) -> Array:
        return np.asarray(t_tail((effect - part.mean) / moves, part.spread.df))

    inside = np.maximum(0.0, above(part.low + half) - above(part.high - half))
    return inside, np.minimum(1.0, 1 - above(part.low - half) + above(part.high + half))
