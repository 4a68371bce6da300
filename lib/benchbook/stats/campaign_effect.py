"""How much campaigns of the same system on the same hosts differ from each other, from campaigns that repeat it.

Repetitions of one campaign share its luck: where its data files lie, what else the machine does that day. A difference
of two campaigns has two such lucks in it, which no number of repetitions averages out. Few campaigns say little of its
size, so groups of cells lend each other what they have seen, and all of them borrow from a prior that is stated.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pandas as pd

from benchbook.errors import BadInput
from benchbook.stats.estimates import Array

# What campaigns of one system differ by where nothing else is known, a standard deviation relative to the level, and
# how sure that is, in degrees of freedom: 1.4 to 3.5%. With 4, three other campaigns leave a loss of 10% unseen; with
# 20, campaigns that differ by 3% are called regressions in 10 of 100 (`python -m benchmarks compare_aa`).
STATED, STATED_DF = 0.02, 10.0
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class CampaignEffect:
    """The variance component of campaigns in a group of cells; variances are those of log means (squared shares).

    `between` is the variance of a campaign's log mean, `within` the part of it that repetitions alone would give,
    `df` the degrees of freedom of `between`, `campaigns` how many stand behind it (0: what is stated alone).
    """

    between: float
    within: float
    df: float
    campaigns: int

    @property
    def variance(self) -> float:
        """The component itself: what is left of `between` without the repetitions' part, and never below 0."""
        return max(self.between - self.within, 0.0)

    def widened(self, error2: Array, df: Array) -> tuple[Array, Array]:
        """Squared standard error of a log ratio of two campaigns, and its degrees of freedom.

        `error2` and `df` are those that the repetitions of the two campaigns give.
        """
        # Satterthwaite (1946), Biometrics Bull. 2(6), for between - within + error2. A `between` that is below `within`
        # by luck would claim more certainty than its degrees of freedom have: there it counts as `within`.
        total = error2 + 2 * self.variance
        doubt = (2 * max(self.between, self.within)) ** 2 / self.df + np.divide(error2, np.sqrt(df)) ** 2
        return total, np.where(doubt > 0, total**2 / np.maximum(doubt, np.finfo(float).tiny), df)


def stated(effect: float = STATED) -> CampaignEffect:
    """The component where no campaigns repeat the compared ones: a standard deviation of log means, by prior alone."""
    return CampaignEffect(effect**2, 0.0, STATED_DF, 0)


@dataclass(frozen=True)
class Repeats:
    """Campaigns that repeat each other in a group of cells: log means, shape (campaigns, cells), without gaps.

    Their index is (stratum, campaign): those of one stratum repeat each other; strata may differ in level. `errors2`,
    of the same shape: squared standard errors, NaN where one repetition says nothing of it (it counts as 0, so that
    more is laid to the campaigns). Raise BadInput where a mean is missing.
    """

    means: pd.DataFrame
    errors2: pd.DataFrame

    def __post_init__(self) -> None:
        if self.means.isna().to_numpy().any() or self.means.shape != self.errors2.shape:
            raise BadInput("every campaign needs every cell", key="means", value=self.means.shape, fix="leave gaps out")

    @property
    def df(self) -> int:
        """Degrees of freedom: campaigns beyond the first of each stratum."""
        return len(self.means) - self.means.index.get_level_values(0).nunique()

    @property
    def residuals(self) -> pd.DataFrame:
        return self.means - self.means.groupby(level=0).transform("mean")

    @property
    def within(self) -> float:
        return float(self.errors2.fillna(0.0).to_numpy(float).mean())


def campaign_effects(groups: Mapping[K, Repeats], effect: float = STATED) -> dict[K, CampaignEffect]:
    """The component of each group of cells: what all campaigns show, or more where its own do, and the prior.

    A group in which no two campaigns repeat each other has none. `effect` is the prior's standard deviation.
    """
    known = {name: group for name, group in groups.items() if group.df > 0}
    if not known:
        return {}
    found = [_covariance(group.residuals, group.df) for group in known.values()]
    # The analysis of variance's moment estimator: Hedges & Olkin (1985), Statistical Methods for Meta-Analysis, ch. 9.
    between = [float(np.diag(covariance).mean()) for covariance in found]
    # A campaign that is slow in one table may be slow in all: groups are as many witnesses as all cells together.
    whole = pd.concat([group.residuals for group in known.values()], axis=1).fillna(0.0)
    freedom = max(group.df for group in known.values())
    every = freedom * _effective(_covariance(whole, freedom))
    mean = float(np.mean(between))
    return {
        name: _with_prior(max(own, mean), max(every, group.df * _effective(covariance)), group, effect)
        for (name, group), own, covariance in zip(known.items(), between, found, strict=True)
    }


def _with_prior(seen: float, df: float, group: Repeats, effect: float) -> CampaignEffect:
    """Return the mean of what is seen and what is stated, weighted by degrees of freedom: Smyth (2004), eq. 3."""
    whole = STATED_DF + df
    mean = (STATED_DF * (effect**2 + group.within) + df * seen) / whole
    return CampaignEffect(mean, group.within, whole, len(group.means))


def _covariance(residuals: pd.DataFrame, freedom: int) -> Array:
    values = residuals.to_numpy(float)
    found: Array = values.T @ values / freedom
    return found


def _effective(covariance: Array) -> float:
    """Return how many of the cells vary independently: 1 where a campaign shifts all of them alike."""
    # Box (1954), Ann. Math. Stat. 25(2), theorem 3.1: trace(S)^2 / trace(S^2). From a sample it is taken too low rather
    # than too high, as S has no more than `freedom` dimensions.
    squares = float((covariance**2).sum())
    return float(np.trace(covariance)) ** 2 / squares if squares > 0 else 1.0
