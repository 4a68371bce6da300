"""Whether figures rise or fall from one repetition to the next: one slope for all cells of a campaign.

A cell of five repetitions hardly shows a drift of 2% in each; fifty cells together do. Intervals over repetitions take
their order for chance, and miss: where each of seven is 2% below the one before, few hold the first one's rate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchbook.stats.estimates import positive_vector
from benchbook.stats.moderation import moderate
from benchbook.stats.tails import f_tail, t_quantile, t_tail

LEAST_BLOCKS = 3
# Blocks that differ by more than chance, apart from the drift, take the place of the trials as units. Tested at 25%, as
# Bancroft (1964), Biometrics 20(3), advises where variances are pooled after a test.
_POOLED = 0.25


@dataclass(frozen=True)
class OrderDrift:
    """Relative change from one repetition to the next, its 95% interval and p; over so many cells."""

    change: float
    low: float
    high: float
    p_value: float
    cells: int


def order_drift(frame: pd.DataFrame) -> OrderDrift | None:
    """One slope of the log of `value` (above 0) on `repetition` within each `cell`; None below 3 repetitions.

    Cells are weighted by their moderated variances. Raises BadInput for values that are not above 0.
    """
    kept = frame[frame.groupby("cell").value.transform("size") >= LEAST_BLOCKS]
    if kept.empty:
        return None
    kept = kept.assign(y=np.log(positive_vector(kept.value)), x=kept.repetition.astype(float))
    kept = kept.assign(w=_weights(kept))
    for name in ("x", "y"):
        kept[name] = kept[name] - kept.groupby("cell")[name].transform("mean")
    weight_of_x = float((kept.w * kept.x**2).sum())
    slope = float((kept.w * kept.x * kept.y).sum()) / weight_of_x
    variance, freedom = _error(kept.assign(r=kept.y - slope * kept.x))
    error = math.sqrt(variance / weight_of_x)
    half = float(t_quantile(0.975, freedom)) * error
    p = 2 * float(t_tail(abs(slope) / error, freedom)) if error else 1.0
    low, high = math.expm1(slope - half), math.expm1(slope + half)
    return OrderDrift(math.expm1(slope), low, high, p, kept.cell.nunique())


def _weights(kept: pd.DataFrame) -> pd.Series[float]:
    """1 over the moderated variance of each cell; all 1 where there are too few cells to moderate."""
    cells = kept.groupby("cell", sort=False).y
    own = cells.var(ddof=1)
    found = moderate(own.astype(float), cells.size().astype(float) - 1)
    if not found.prior_df or not (found.variances > 0).all():
        return pd.Series(1.0, index=kept.index)
    of_cell = pd.Series(1 / found.variances, index=own.index)
    return kept.cell.map(of_cell).astype(float)


def _error(kept: pd.DataFrame) -> tuple[float, float]:
    """Variance of a residual of weight 1, and its degrees of freedom: of trials, or of blocks where these differ."""
    squares = (kept.w * kept.r**2).groupby(kept.cell).sum().to_numpy()
    own = kept.groupby("cell").size().to_numpy() - 1.0
    freedom = float(own.sum()) - 1
    variance = float(squares.sum()) / freedom
    # Satterthwaite (1946): cells whose variances differ know their sum less well. s^4 without bias: q^2 / (v (v + 2)).
    spread = float((squares**2 / (own + 2)).sum())
    freedom = max(1.0, min(freedom, float(squares.sum()) ** 2 / spread)) if spread else freedom
    by_block = kept.assign(wr=kept.w * kept.r).groupby("repetition")[["wr", "w"]].sum()
    of_blocks = float((by_block.wr**2 / by_block.w).sum()) / max(len(by_block) - 2, 1)
    if variance and f_tail(of_blocks / variance, len(by_block) - 2, freedom) < _POOLED:
        return of_blocks, float(len(by_block) - 2)
    return variance, freedom
