"""Contrasts of log figures by repetition, and how much they vary.

With three repetitions a contrast knows its own spread with two degrees of freedom. The figures that it compares were
repeated beside all others of their unit: the additive model log figure = cell + repetition (Box, Hunter & Hunter 2005,
*Statistics for Experimenters*, ch. 4) leaves each cell a residual variance, and a contrast's own is drawn towards their
mean. Cells lend their spread, but little certainty: a quiet campaign may have one cell with a slow state that its few
repetitions did not show, so that errors have the long tails of Student's t with four degrees of freedom (Lange, Little
& Taylor 1989, JASA 84(408)).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np
import pandas as pd
from scipy import special

from benchbook.claims.figures import Term
from benchbook.grouping import grouped
from benchbook.stats.estimates import Array

# Of an effect: how many times as much, or a rank correlation.
Unit = Literal["times", "tau"]
K = TypeVar("K", bound=Hashable)
# Fewer cells than this know nothing of each other.
LEAST_CELLS = 3
# The spread that cells lend weighs so many times what the contrast's own repetitions do, and a contrast that borrows
# has so many degrees of freedom at least. docs/how-often-a-verdict-is-wrong.md says what other numbers do.
LENT_WEIGHT = 2.0
LENT_DF = 4.0
# What a float holds when it is written as a ratio.
_LARGEST = 700.0


@dataclass(frozen=True)
class Contrast:
    """One comparison of a claim: `effects`, one per repetition, are logs of ratios (or taus); all must lie inside.

    `low` and `high` bound the claimed region on that scale, `published` is the same effect in the report's table.
    `terms` are the figures compared and `weights` what each one's log counts in an effect (empty for a tau).
    `rounding` is the variance that rounding gives one effect. `pooled` takes the place of the effects' own spread.
    """

    what: str
    effects: Array
    low: float = -math.inf
    high: float = math.inf
    published: float = math.nan
    unit: Unit = "times"
    terms: tuple[Term, ...] = ()
    weights: tuple[float, ...] = ()
    rounding: float = 0.0
    pooled: tuple[float, float] | None = None

    @property
    def n(self) -> int:
        return int(self.effects.size)

    @cached_property
    def mean(self) -> float:
        return float(self.effects.mean()) if self.n else math.nan

    @property
    def own_variance(self) -> float:
        """Variance of one repetition's effect from its repetitions alone; NaN below two."""
        variance = float(self.effects.var(ddof=1)) if self.n > 1 else math.nan
        # Differences below rounding are none: a figure that repeats exactly has no spread.
        return max(0.0 if variance < 1e-24 else variance, self.rounding)

    @property
    def variance(self) -> float:
        return self.pooled[0] if self.pooled else self.own_variance

    @property
    def df(self) -> float:
        return self.pooled[1] if self.pooled else self.n - 1.0

    @cached_property
    def error(self) -> float:
        """Standard error of the mean; NaN below two repetitions."""
        return math.sqrt(self.variance / self.n + self._every_time) if self.n > 1 else math.nan

    @property
    def _every_time(self) -> float:
        # Rounding is the same each time: it does not average out. What one pair of ranks moves a tau by is not.
        return self.rounding if self.unit == "times" else 0.0

    def half_widths(self, alpha: float, counts: Array) -> Array:
        """Return those of the interval at confidence 1 - alpha with so many repetitions each, at the spread seen."""
        quantiles = special.stdtrit(np.maximum(self.df, counts - 1), 1 - alpha / 2)
        return np.asarray(quantiles * np.sqrt(self.variance / counts + self._every_time))

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the two-sided Student interval of the mean effect (1908, Biometrika 6(1)); NaN below two."""
        half = float(self.half_widths(alpha, np.array([float(self.n)]))[0]) if self.n > 1 else math.nan
        return self.mean - half, self.mean + half

    def inside(self, effect: float) -> bool:
        return self.low < effect < self.high

    def p_inside(self, withheld: tuple[float, float] = (0.0, 0.0)) -> float:
        """Return the one-sided p value against "the effect lies outside the region".

        `withheld` is the least and the most that the published machine would add to the effect.
        """
        # Schuirmann (1987), J. Pharmacokinet. Biopharm. 15(6): both one-sided tests must reject.
        return max(self._p_above(self.low - withheld[0]), self._p_below(self.high - withheld[1]))

    def p_outside(self, withheld: tuple[float, float] = (0.0, 0.0)) -> float:
        """Return the one-sided p value against "it lies in the region", from the bound that it is furthest beyond."""
        return min(self._p_below(self.low - withheld[1]), self._p_above(self.high - withheld[0]))

    def probability_inside(self) -> float:
        """Return the posterior probability that the mean effect lies in the region; NaN below two repetitions.

        With a flat prior it is Student's t around the mean: Box & Tiao (1973), *Bayesian Inference in Statistical
        Analysis*, sec. 2.4.
        """
        return max(0.0, 1 - self._p_above(self.low) - self._p_below(self.high)) if self.n > 1 else math.nan

    def holds_if_rounded(self) -> bool:
        """Return whether the mean lies in the region, or as near to it as rounding may have moved it."""
        # A value rounded to steps of w is off by w / 2 at most, the root of 3 times its variance w^2 / 12.
        off = math.sqrt(3 * self.rounding * max(1, len(self.terms)))
        return self.low - off < self.mean < self.high + off

    def shown(self, effect: float) -> float:
        """Return an effect on the scale that people read: a ratio, or tau from -1 to 1."""
        return math.exp(min(effect, _LARGEST)) if self.unit == "times" else max(-1.0, min(1.0, effect))

    def _p_above(self, bound: float) -> float:
        """Against "the effect is at most `bound`"."""
        return self._p(self.mean - bound)

    def _p_below(self, bound: float) -> float:
        return self._p(bound - self.mean)

    def _p(self, gap: float) -> float:
        if math.isinf(gap):
            return 0.0 if gap > 0 else 1.0
        if self.n < 2:
            return 1.0
        if self.error == 0:
            return 0.0 if gap > 0 else 1.0
        return float(special.stdtr(self.df, -gap / self.error))


def at_least(ratio: float) -> tuple[float, float]:
    """Return the region of ratios above `ratio`, as logs."""
    return math.log(ratio), math.inf


def at_most(ratio: float) -> tuple[float, float]:
    """Return the region of ratios below 1 / `ratio`, as logs."""
    return -math.inf, -math.log(ratio)


def within(tolerance: float, *, of: float = 0.0) -> tuple[float, float]:
    """Return the region from (1 - tolerance) x a ratio to 1 / (1 - tolerance) x it, whose log is `of`, as logs."""
    edge = -math.log(1 - tolerance)
    return of - edge, of + edge


def pool(logs: pd.DataFrame) -> tuple[float, float] | None:
    """Return the variance of cells of one unit (rows) over repetitions (columns), and its degrees of freedom.

    None of too few. A missing value is NaN. Residuals are those of the additive model cell + repetition, least squares.
    """
    values = logs.to_numpy(dtype=np.float64)
    known = ~np.isnan(values)
    row, column = np.nonzero(known)
    design = np.hstack([np.eye(values.shape[0])[row], np.eye(values.shape[1])[column]])
    hat = design @ np.linalg.pinv(design)
    residuals, left = np.zeros(values.shape), np.zeros(values.shape)
    residuals[known] = values[known] - hat @ values[known]
    left[known] = 1 - np.diag(hat)
    dfs, squares = left.sum(axis=1), (residuals**2).sum(axis=1)
    repeated = (dfs > 1e-9) & (squares > 1e-24)
    if repeated.sum() < LEAST_CELLS:
        return None
    df = float(dfs[repeated].sum())
    return float(squares[repeated].sum()) / df, df


def with_pooled(
    claims: Sequence[Sequence[Contrast]],
    log: Callable[[Term], "pd.Series[float]"],
    unit: Callable[[Term], str],
    trial: Callable[[Term], tuple[object, ...]],
) -> list[list[Contrast]]:
    """Return the same contrasts, each with the spread that the cells of its unit lend it, where they do.

    A contrast of two figures of one trial (a program's two ends) and one of two units keep their own, for what befalls
    the trial, or the unit, is no measure of them. `log` gives a term by repetition.
    """
    lent = [c for contrasts in claims for c in contrasts if _borrows(c, unit, trial)]
    terms = {term.key: term for contrast in lent for term in contrast.terms}
    pools = {
        name: pool(pd.DataFrame({term.key: log(term) for term in _apart(mine, log, trial)}).T)
        for name, mine in grouped(terms.values(), unit).items()
    }

    def pooled(contrast: Contrast) -> Contrast:
        found = pools.get(unit(contrast.terms[0])) if _borrows(contrast, unit, trial) else None
        if found is None or contrast.n < 2:
            return contrast
        lent, residuals = found
        weighed = LENT_WEIGHT * figures_in(contrast, trial) * lent + contrast.own_variance
        df = min(max(LENT_DF, contrast.n - 1.0), residuals)
        return replace(contrast, pooled=(max(weighed / (LENT_WEIGHT + 1), contrast.rounding), df))

    return [[pooled(contrast) for contrast in contrasts] for contrasts in claims]


def _borrows(contrast: Contrast, unit: Callable[[Term], str], trial: Callable[[Term], tuple[object, ...]]) -> bool:
    one_unit = len({unit(term) for term in contrast.terms}) == 1
    return one_unit and bool(contrast.weights) and len({trial(term) for term in contrast.terms}) > 1


def _apart(
    terms: Sequence[Term], log: Callable[[Term], "pd.Series[float]"], trial: Callable[[Term], tuple[object, ...]]
) -> list[Term]:
    """One figure of each trial: several of them (sagas, and their statements) know no more of a spread than one."""
    return list({trial(term): term for term in reversed(terms)}.values())


def figures_in(contrast: Contrast, trial: Callable[[Term], tuple[object, ...]]) -> float:
    """Return how many figures' variances an effect holds: a ratio 2, a mean of L ratios 2 / L.

    Figures of a table share what a start of its server does: of those that do not cancel, all of it counts.
    """
    of_figure = summed((term.key for term in contrast.terms), contrast.weights)
    of_start = summed((trial(term)[:2] for term in contrast.terms), contrast.weights)
    return max(sum(weight**2 for weight in each.values()) for each in (of_figure, of_start))


def summed(keys: Iterable[K], weights: Iterable[float]) -> dict[K, float]:
    """Return the sum of the weights of each key: what stands twice in an effect counts twice, and its variance four."""
    found: dict[K, float] = defaultdict(float)
    for key, weight in zip(keys, weights, strict=True):
        found[key] += weight
    return found
