"""How much campaigns of the same system on the same hosts differ from each other, from campaigns that repeat it.

Repetitions of one campaign share its luck: where its data files lie, what else the machine does that day. A difference
of two campaigns has two such lucks in it, which no number of repetitions averages out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchbook.errors import BadInput
from benchbook.stats.estimates import Array

# Two campaigns give one degree of freedom: a t quantile for 15 cells would be 190.
LEAST_CAMPAIGNS = 3


@dataclass(frozen=True)
class CampaignEffect:
    """The variance component of campaigns in a group of cells; variances are those of log means (squared shares).

    `between` is the variance of a campaign's log mean, `within` the part of it that repetitions alone would give,
    `df` the degrees of freedom of `between`, `campaigns` how many stand behind it.
    """

    between: float
    within: float
    df: float
    campaigns: int

    @property
    def variance(self) -> float:
        """The component itself: what is left of `between` without the repetitions' part, and never below 0."""
        return max(self.between - self.within, 0.0)

    def widened(self, error2: float, df: float) -> tuple[float, float]:
        """Squared standard error of a log ratio of two campaigns, and its degrees of freedom.

        `error2` and `df` are those that the repetitions of the two campaigns give.
        """
        return with_component(error2, df, 2 * self.between, 2 * self.within, self.df)


def with_component(error2: float, df: float, between: float, within: float, between_df: float) -> tuple[float, float]:
    """A variance with what `between` is above `within` added to it, and its degrees of freedom."""
    # Satterthwaite (1946), Biometrics Bull. 2(6), for between - within + error2. A `between` that is below `within` by
    # luck would claim more certainty than its degrees of freedom have: there it counts as `within`.
    total = error2 + max(between - within, 0.0)
    doubt = max(between, within) ** 2 / between_df + (error2**2 / df if df > 0 else 0.0)
    return total, total**2 / doubt if doubt > 0 else df


def campaign_effect(means: pd.DataFrame, errors2: pd.DataFrame, strata: Sequence[object]) -> CampaignEffect | None:
    """The component of a group of cells; None with fewer than `LEAST_CAMPAIGNS` campaigns, or no two of one stratum.

    `means`: log means, shape (campaigns, cells); `errors2`, of the same shape: their squared standard errors, NaN where
    one repetition says nothing of it (it counts as 0, so that more is laid to the campaigns). Campaigns of one stratum
    repeat each other; strata may differ in level. Raises BadInput where a mean is missing.
    """
    if means.isna().to_numpy().any() or means.shape != errors2.shape or len(means) != len(strata):
        raise BadInput("every campaign needs every cell", key="means", value=means.shape, fix="leave gaps out first")
    labels = pd.Series(list(strata), index=means.index)
    freedom = len(means) - labels.nunique()
    if len(means) < LEAST_CAMPAIGNS or freedom < 1 or means.empty:
        return None
    residuals = (means - means.groupby(labels).transform("mean")).to_numpy(float)
    covariance = residuals.T @ residuals / freedom
    # The analysis of variance's moment estimator: Hedges & Olkin (1985), Statistical Methods for Meta-Analysis, ch. 9.
    within = float(errors2.fillna(0.0).to_numpy(float).mean())
    return CampaignEffect(float(np.diag(covariance).mean()), within, freedom * _effective(covariance), len(means))


def _effective(covariance: Array) -> float:
    """How many of the cells vary independently: 1 where a campaign shifts all of them alike."""
    # Box (1954), Ann. Math. Stat. 25(2), theorem 3.1: trace(S)^2 / trace(S^2). From a sample it is taken too low rather
    # than too high, as S has no more than `freedom` dimensions.
    squares = float((covariance**2).sum())
    return float(np.trace(covariance)) ** 2 / squares if squares > 0 else 1.0
