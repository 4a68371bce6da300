"""Comparisons of whole tables, and how many repetitions a difference would need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.power import TTestIndPower

from benchbook.errors import BadInput
from benchbook.stats.comparison import Test, difference_test, effect_size, equivalence, holm, ratio_interval
from benchbook.stats.estimates import Array, Values, columns, degenerate, positive_vector, share

_MOST_REPETITIONS = 10_000


def compare_cells(
    frame: pd.DataFrame,
    *,
    value: str,
    arm: str,
    arms: tuple[object, object],
    cell: Sequence[str],
    test: Test = "welch",
    margin: float = 0.05,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Compare two arms in every cell of a table, corrected by Holm over its cells.

    `frame` has one row per repetition; `arms` = (new, baseline). Returns one row per cell with the columns of `cell`
    and ratio (new / baseline), low, high, n_new, n_baseline, p_value, p_holm, different, hedges_g, cliffs_delta,
    equivalent (bounds 1 - margin to 1 / (1 - margin)). low and high hold for the cell alone, p_holm for the table.
    Cells in which an arm is missing are left out; cells with one repetition have NaN for what needs two.
    """
    columns(frame, value, arm, *cell)
    rows = []
    for key, part in frame.groupby(list(cell), sort=True, dropna=False):
        new, base = (part.loc[part[arm] == name, value].dropna().to_numpy(float) for name in arms)
        if new.size and base.size:
            rows.append(dict(zip(cell, key, strict=True)) | _cell(new, base, test, margin, confidence))
    if not rows:
        raise BadInput("no cell holds both arms", key=arm, value=arms, fix=f"seen: {frame[arm].unique().tolist()}")
    out = pd.DataFrame(rows)
    adjusted = holm(out["p_value"].to_numpy(float))
    return out.assign(p_holm=adjusted, different=adjusted < 1 - confidence)


def _cell(new: Array, base: Array, test: Test, margin: float, confidence: float) -> dict[str, object]:
    ratio, size = ratio_interval(new, base, confidence=confidence), effect_size(new, base)
    tested = ratio.known
    return {
        "ratio": ratio.estimate,
        "low": ratio.low,
        "high": ratio.high,
        "n_new": len(new),
        "n_baseline": len(base),
        "p_value": difference_test(new, base, method=test).p_value if tested else math.nan,
        "hedges_g": size.hedges_g,
        "cliffs_delta": size.cliffs_delta,
        "equivalent": tested and equivalence(new, base, margin=margin, confidence=confidence).equivalent,
    }


def coefficient_of_variation(values: Values, *, groups: Sequence[object] | None = None) -> float:
    """Standard deviation between repetitions relative to the mean, pooled over `groups` (one label per value)."""
    found = positive_vector(values)
    labels = np.zeros(found.size) if groups is None else pd.factorize(pd.Series(list(groups)))[0]
    parts = [np.log(found[labels == label]) for label in np.unique(labels)]
    freedom = sum(part.size - 1 for part in parts)
    if freedom == 0:
        degenerate("one repetition per cell says nothing about the spread between repetitions")
        return math.nan
    return math.sqrt(sum(float(((part - part.mean()) ** 2).sum()) for part in parts) / freedom)


def repetitions_needed(*, cv: float, ratio: float, power: float = 0.8, alpha: float = 0.05) -> int:
    """Repetitions per arm for a t test at `alpha` to see a true `ratio` with probability `power`; at least 2.

    `cv` is the relative standard deviation between repetitions; correct `alpha` for the family by hand (alpha / cells).
    """
    share(power, key="power"), share(alpha, key="alpha")
    if cv <= 0 or ratio <= 0 or ratio == 1:
        raise BadInput("needs cv > 0 and a ratio above 0 and not 1", value=(cv, ratio), fix="name the difference")
    effect, solver = abs(math.log(ratio)) / cv, TTestIndPower()
    # Cohen (1988), Statistical Power Analysis, ch. 2, by the noncentral t of statsmodels; the power rises with n.
    return _first(lambda n: float(solver.power(effect, n, alpha)) >= power)


def repetitions_for_half_width(*, cv: float, target: float, confidence: float = 0.95) -> int:
    """Repetitions until the t interval of a mean is expected to be no wider than +- `target` (relative); at least 2."""
    share(confidence, key="confidence"), share(target, key="target")
    return _first(lambda n: stats.t.ppf((1 + confidence) / 2, n - 1) * cv / math.sqrt(n) <= target)


def _first(enough: Callable[[int], bool]) -> int:
    """The least n from 2 on that is enough, by doubling and bisection."""
    high = 2
    while not enough(high):
        high *= 2
        if high > _MOST_REPETITIONS:
            raise BadInput("would need more than 10,000 repetitions", value=high, fix="ask for a larger difference")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
