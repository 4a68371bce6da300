"""The shape of a scaling curve: what hardware does not change when it changes every figure.

A curve is a long frame, one row per level (threads, pool size, ...) and repetition. With 2 to 5 repetitions a level,
resampling them would hide most of the noise, so curves are redrawn from the relative spread pooled over all levels,
with the uncertainty of that spread (`_draws`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from benchbook.errors import BadInput
from benchbook.stats.estimates import (
    Array,
    Interval,
    Values,
    columns,
    degenerate,
    no_interval,
    positive_vector,
    share,
    vector,
)

Indices: TypeAlias = NDArray[np.int64]
_Find: TypeAlias = Callable[[Array, Array], Indices]


@dataclass(frozen=True)
class RankAgreement:
    """Kendall's tau-b (-1..1), its two-sided p value, and whether no pair stands in the opposite order."""

    tau: float
    p_value: float
    same_order: bool
    n: int


@dataclass(frozen=True)
class Position:
    """A level of a curve (knee, peak, ...) with the interval in levels, and the share of redrawn curves per level."""

    position: float
    low: float
    high: float
    shares: dict[float, float]
    confidence: float

    @property
    def known(self) -> bool:
        """Whether the repetitions allowed an interval."""
        return not math.isnan(self.low)


@dataclass(frozen=True)
class Curve:
    """Mean per level, repetitions per level, relative spread pooled over levels, and its degrees of freedom."""

    level: Array
    mean: Array
    n: Array
    spread: float
    freedom: int


def curve(frame: pd.DataFrame, *, x: str, y: str) -> Curve:
    """Reduce repetitions to a curve, levels in rising order; all values above 0."""
    columns(frame, x, y)
    clean = frame[[x, y]].dropna().astype(float)
    positive_vector(clean[y], key=y, minimum=2)
    groups = clean.groupby(x, sort=True)[y]
    mean, n = groups.mean().to_numpy(float), np.asarray(groups.size(), dtype=float)
    logs = np.log(clean[y])
    freedom = int((n - 1).sum())
    squares = float(((logs - logs.groupby(clean[x]).transform("mean")) ** 2).sum())
    spread = math.sqrt(squares / freedom) if freedom else math.nan
    return Curve(np.sort(clean[x].unique()).astype(float), mean, n, spread, freedom)


def normalised_curve(
    frame: pd.DataFrame, *, x: str, y: str, by: Sequence[str] = (), reference: Literal["first", "peak"] = "first"
) -> pd.DataFrame:
    """Mean of `y` per `by` and `x`, and `relative` = mean / mean at the lowest level (or at the peak) of its curve."""
    columns(frame, x, y, *by)
    out = frame.groupby([*by, x], sort=True, as_index=False, dropna=False).agg(mean=(y, "mean"), n=(y, "count"))
    keys = [out[name] for name in by] or np.zeros(len(out))
    base = out.groupby(keys, dropna=False)["mean"].transform("first" if reference == "first" else "max")
    return out.assign(relative=out["mean"] / base)


def rank_agreement(a: Values, b: Values) -> RankAgreement:
    """How far two sets of figures (published and ours, say) order the same things alike."""
    x, y = vector(a, key="a", minimum=2), vector(b, key="b", minimum=2)
    if x.size != y.size:
        raise BadInput("ranks need pairs", value=(x.size, y.size), fix="pass the same things on both sides")
    signs = np.sign(x[:, None] - x[None, :]) * np.sign(y[:, None] - y[None, :])
    # Kendall (1945), Biometrika 33(3), tau-b: ties count on neither side.
    found = stats.kendalltau(x, y)
    return RankAgreement(float(found.statistic), float(found.pvalue), not bool((signs < 0).any()), x.size)


def peak_position(
    frame: pd.DataFrame, *, x: str, y: str, confidence: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Position:
    """Level of the highest mean."""
    return _position(curve(frame, x=x, y=y), lambda level, means: means.argmax(axis=1), confidence, resamples, seed)


def saturation_position(
    frame: pd.DataFrame,
    *,
    x: str,
    y: str,
    tolerance: float = 0.05,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Position:
    """Lowest level whose mean is within `tolerance` (relative) of the highest: from there more is not worth it."""
    near = 1 - share(tolerance, key="tolerance")
    return _position(
        curve(frame, x=x, y=y),
        lambda level, means: (means >= near * means.max(axis=1, keepdims=True)).argmax(axis=1),
        confidence,
        resamples,
        seed,
    )


def knee_position(
    frame: pd.DataFrame, *, x: str, y: str, confidence: float = 0.95, resamples: int = 2000, seed: int = 0
) -> Position:
    """Level at which a rising curve bends most: furthest above the line from its first to its last level."""
    return _position(curve(frame, x=x, y=y), _knee, confidence, resamples, seed)


def _knee(level: Array, means: Array) -> Indices:
    # Satopaa et al. (2011), Finding a "Kneedle" in a Haystack, sec. III: both axes scaled to 0..1, largest y - x.
    across = (level - level[0]) / (level[-1] - level[0])
    low = means.min(axis=1, keepdims=True)
    up = (means - low) / (means.max(axis=1, keepdims=True) - low)
    return np.asarray((up - across).argmax(axis=1), dtype=np.int64)


def _position(c: Curve, find: _Find, confidence: float, resamples: int, seed: int) -> Position:
    level = share(confidence, key="confidence")
    if c.level.size < 3:
        raise BadInput("needs at least three levels", value=c.level.tolist(), fix="measure more levels")
    best = float(c.level[find(c.level, c.mean[None, :])[0]])
    if not c.freedom:
        degenerate("one repetition per level: the position has no interval")
        return Position(best, math.nan, math.nan, {best: 1.0}, level)
    found = np.sort(c.level[find(c.level, _draws(c, resamples, np.random.default_rng(seed)))])
    low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    shares = {float(k): float((found == k).mean()) for k in np.unique(found)}
    return Position(best, min(float(low), best), max(float(high), best), shares, level)


def _draws(c: Curve, resamples: int, rng: np.random.Generator) -> Array:
    """Curves that could have been measured, shape (resamples, levels)."""
    # Parametric bootstrap (Davison & Hinkley 1997, sec. 2.2) on logs; the chi-square draw is the posterior of the
    # pooled variance, so each level's draw is a t variable (Gelman et al. 2013, Bayesian Data Analysis, sec. 3.2).
    spread = c.spread * np.sqrt(c.freedom / rng.chisquare(c.freedom, (resamples, 1)))
    return np.asarray(c.mean * np.exp(spread * rng.standard_normal((resamples, c.level.size)) / np.sqrt(c.n)))


def ratio_slope(
    frame: pd.DataFrame, *, x: str, y: str, arm: str, arms: tuple[object, object], confidence: float = 0.95
) -> Interval:
    """Change of the ratio arm[0] / arm[1] per doubling of `x`, as a factor: below 1 the ratio falls as `x` rises."""
    level = share(confidence, key="confidence")
    columns(frame, x, y, arm)
    top, base = (curve(frame[frame[arm] == name], x=x, y=y) for name in arms)
    if not np.array_equal(top.level, base.level) or top.level.size < 2:
        raise BadInput("both arms need the same two or more levels", key=arm, value=arms, fix="drop levels of one arm")
    # Weighted least squares with the weights known from the repetitions: Draper & Smith (1998), sec. 9.2.
    weight, doublings = 1 / (1 / top.n + 1 / base.n), np.log2(top.level)
    off = doublings - np.average(doublings, weights=weight)
    slope = float((weight * off * np.log(top.mean / base.mean)).sum() / (weight * off**2).sum())
    n, freedom = int(min(top.n.min(), base.n.min())), top.freedom + base.freedom
    if not freedom:
        why = "one repetition per level: the slope has no interval"
        return no_interval(math.exp(slope), confidence=level, n=n, method="ratio per doubling", why=why)
    squares = sum(a.spread**2 * a.freedom for a in (top, base) if a.freedom)
    half = stats.t.ppf((1 + level) / 2, freedom) * math.sqrt(squares / freedom / float((weight * off**2).sum()))
    low, high = math.exp(slope - half), math.exp(slope + half)
    return Interval(math.exp(slope), low, high, level, n, "ratio per doubling")
