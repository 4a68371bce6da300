"""From contrasts to answers: every claim of a ledger at once, so that their number is accounted for.

A claim *holds* here when every contrast's interval lies in its region, it *fails* when one's lies wholly outside, else
it is *open*. Intervals are as wide as Holm's step-down over the claims asks for, so that the chance that any answer of
a ledger is wrong stays at `alpha`. Nothing else is looked at: no excuse, and no machine.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchbook.analysis.results import Here
from benchbook.claims.contrasts import Contrast
from benchbook.stats.estimates import Array, holm

# More repetitions than this are no answer to "how many would decide it".
MOST_REPETITIONS = 100
# Chances are worked out for so many further repetitions.
MOST_AHEAD = 30


@dataclass(frozen=True)
class Decision:
    """A claim's answer, the contrast that shows it, the error rate of that one's interval, and Holm's p value.

    `p_value` is NaN where nothing could be tested. `needed` repetitions would decide it at the spread seen: None where
    it is decided, or where more than MOST_REPETITIONS, or a first second one, would be needed. `chances`: that 1, 2,
    ... further repetitions decide it. `probability` that it holds here, as if its contrasts were independent.
    """

    here: Here
    shown: Contrast
    alpha: float
    p_value: float
    needed: int | None = None
    chances: tuple[float, ...] = ()
    probability: float = math.nan


def decide(claims: Sequence[Sequence[Contrast]], *, alpha: float = 0.05, shares: float = 1) -> list[Decision]:
    """Return an answer per claim, each given by its contrasts, of which every one must hold.

    They have one of `shares` equal shares of `alpha` (Bonferroni), which p values count as intervals do.
    """
    inside, outside = _both(claims)
    p = np.fmin(inside, outside)
    adjusted = adjusted_p(claims, shares)
    tested = ~np.isnan(p)
    rejected = int((adjusted < alpha).sum())
    ranks = p.argsort().argsort()
    levels = [2 * alpha / shares / max(2, int(tested.sum()) - min(int(rank), rejected)) for rank in ranks]
    return [
        _decision(contrasts, float(adjusted[i]), bool(inside[i] <= outside[i]), levels[i], alpha)
        for i, contrasts in enumerate(claims)
    ]


def adjusted_p(claims: Sequence[Sequence[Contrast]], shares: float = 1) -> Array:
    """Return a p value per claim, corrected for all of them and for the looks: below alpha it holds or fails."""
    # A claim holds or fails: one answer alone can wrong it. Jones & Tukey (2000), Psychological Methods 5(4).
    p = np.fmin(*_both(claims))
    # That Holm also bounds wrong directions: Shaffer (1980), Ann. Statist. 8(6). Twice, so that the last claims of a
    # ledger have a 95% interval inside their region, too, and not one of 90%.
    return np.asarray(np.minimum(1.0, shares * np.maximum(holm(p), 2 * p)))


def _both(claims: Sequence[Sequence[Contrast]]) -> Array:
    """Return the p values of all claims, shape (2, claims): against that they fail, and against that they hold."""
    return np.array([p_values(contrasts) for contrasts in claims], dtype=np.float64).reshape(-1, 2).T


def p_values(
    contrasts: Sequence[Contrast], withheld: Sequence[tuple[float, float]] | None = None
) -> tuple[float, float]:
    """Return the p values against "the claim fails" and "the claim holds"; NaN where none has two repetitions."""
    if all(contrast.n < 2 for contrast in contrasts):
        return math.nan, math.nan
    added = withheld or [(0.0, 0.0)] * len(contrasts)
    # All must hold: Berger (1982), Technometrics 24(4), the largest p value tests the whole. One fails: Bonferroni.
    inside = max(contrast.p_inside(more) for contrast, more in zip(contrasts, added, strict=True))
    outside = min(contrast.p_outside(more) for contrast, more in zip(contrasts, added, strict=True))
    return inside, min(1.0, len(contrasts) * outside)


def _decision(contrasts: Sequence[Contrast], p: float, holds: bool, level: float, alpha: float) -> Decision:
    weakest = max(contrasts, key=Contrast.p_inside)
    probability = math.prod(contrast.probability_inside() for contrast in contrasts)
    if math.isnan(p):
        return Decision("open", contrasts[0], level, p)
    if p >= alpha:
        ahead = tuple(_chances(contrasts, level))
        return Decision("open", weakest, level, p, _needed(contrasts, level), ahead, probability)
    if holds:
        return Decision("holds", weakest, level, p, probability=probability)
    worst = min(contrasts, key=Contrast.p_outside)
    return Decision("fails", worst, level / len(contrasts), p, probability=probability)


def _needed(contrasts: Sequence[Contrast], level: float) -> int | None:
    """Repetitions until, at the means and spreads seen, all intervals lie inside, or the first one lies outside."""
    outside = [contrast for contrast in contrasts if not contrast.inside(contrast.mean)]
    counts = [_repetitions(contrast, level / len(contrasts)) for contrast in outside]
    if outside:
        return min((count for count in counts if count is not None), default=None)
    found = [_repetitions(contrast, level) for contrast in contrasts]
    return None if None in found else max(count for count in found if count is not None)


def _repetitions(contrast: Contrast, level: float) -> int | None:
    """Return the least n whose interval would not reach a bound of the region."""
    gap = min(abs(contrast.mean - bound) for bound in (contrast.low, contrast.high) if math.isfinite(bound))
    if contrast.n < 2:
        return None
    counts = np.arange(contrast.n, MOST_REPETITIONS + 1, dtype=np.float64)
    enough = contrast.half_widths(level, counts) < gap
    return int(counts[enough.argmax()]) if enough.any() else None


def _chances(contrasts: Sequence[Contrast], level: float) -> Array:
    """Return the probability that a claim is decided by 1, 2, ... MOST_AHEAD further repetitions, (MOST_AHEAD,).

    A claim that holds does so in all of its contrasts, as if they were independent; of one that fails the contrast
    counts that shows it soonest.
    """
    holds = np.prod([_decided(contrast, level)[0] for contrast in contrasts], axis=0)
    fails = np.max([_decided(contrast, level / len(contrasts))[1] for contrast in contrasts], axis=0)
    return np.asarray(np.minimum(1.0, holds + fails))


def _decided(contrast: Contrast, level: float) -> tuple[Array, Array]:
    """Return the probabilities that its interval lies inside its region, and that it lies wholly outside.

    With n effects of variance s^2 seen, k more move their mean by Student's t times s * sqrt(k / (n * (n + k)))
    (the posterior predictive distribution: Gelman et al., Bayesian Data Analysis, 3rd ed., section 3.2).
    """
    more = np.arange(1, MOST_AHEAD + 1, dtype=np.float64)
    n = contrast.n
    if n < 2:
        return np.zeros(MOST_AHEAD), np.zeros(MOST_AHEAD)
    half = contrast.half_widths(level, n + more)
    moves = np.maximum(np.sqrt(contrast.variance * more / (n * (n + more))), np.finfo(float).tiny)
    low, high = contrast.low - contrast.mean, contrast.high - contrast.mean
    inside = stats.t.sf((low + half) / moves, contrast.df) - stats.t.sf((high - half) / moves, contrast.df)
    outside = stats.t.cdf((low - half) / moves, contrast.df) + stats.t.sf((high + half) / moves, contrast.df)
    return np.maximum(0.0, inside), np.minimum(1.0, outside)
