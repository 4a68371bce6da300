"""Intervals of a mean over repetitions, and bootstrap intervals that stay quick at a million samples.

The unit of replication is a repetition. Seconds or requests of one run share that run's luck, so pooling them gives an
interval that is far too narrow: `hierarchical_bootstrap` resamples repetitions, never their seconds alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from scipy import stats

from benchbook.errors import BadInput
from benchbook.stats.estimates import Array, Interval, Values, columns, degenerate, no_interval, share, vector

_BLOCKS = 512
_SINGLES = 64
_CHUNK_CELLS = 2_000_000


def mean_interval(values: Values, *, confidence: float = 0.95) -> Interval:
    """Student interval of the mean of one value per repetition; one repetition gives no interval and a warning."""
    found, level = vector(values), share(confidence, key="confidence")
    if found.size == 1:
        why = "one repetition says nothing about the spread between repetitions"
        return no_interval(found[0], confidence=level, n=1, method="student", why=why)
    # Student (1908), Biometrika 6(1): mean +- t(n-1) s / sqrt(n).
    half = stats.t.ppf((1 + level) / 2, found.size - 1) * found.std(ddof=1) / math.sqrt(found.size)
    centre = float(found.mean())
    return Interval(centre, centre - float(half), centre + float(half), level, found.size, "student", found.size - 1)


def percentile_bootstrap(values: Values, *, confidence: float = 0.95, resamples: int = 9999, seed: int = 0) -> Interval:
    """Percentile bootstrap of the mean of independent values (a million are fine; see `resampled_means`)."""
    found, level = vector(values), share(confidence, key="confidence")
    if np.ptp(found) == 0:
        return _constant(found, level, "percentile bootstrap")
    draws = resampled_means(found, resamples=resamples, seed=seed)
    # Efron & Tibshirani (1993), An Introduction to the Bootstrap, eq. 13.5.
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(found.mean()), float(low), float(high), level, found.size, "percentile bootstrap")


def bca_bootstrap(values: Values, *, confidence: float = 0.95, resamples: int = 9999, seed: int = 0) -> Interval:
    """BCa bootstrap of the mean of independent values: corrects the percentile interval for bias and skewness."""
    found, level = vector(values), share(confidence, key="confidence")
    if np.ptp(found) == 0:
        return _constant(found, level, "BCa bootstrap")
    draws, centre = resampled_means(found, resamples=resamples, seed=seed), float(found.mean())
    below = ((draws < centre).mean() + (draws <= centre).mean()) / 2
    shares = _bca_shares(bias=float(stats.norm.ppf(below)), skew=_acceleration(found), confidence=level)
    low, high = np.quantile(draws, shares)
    return Interval(centre, float(low), float(high), level, found.size, "BCa bootstrap")


def _acceleration(values: Array) -> float:
    # Efron (1987), JASA 82(397), eq. 6.6, from jackknife means; for the mean those are known in closed form,
    # (sum - x_i)/(n - 1), so the n re-evaluations of the general method are one pass here.
    off = values - values.mean()
    return float((off**3).sum() / (6 * (off**2).sum() ** 1.5))


def _bca_shares(*, bias: float, skew: float, confidence: float) -> Array:
    # Efron (1987), eq. 3.9: the percentiles that replace alpha/2 and 1 - alpha/2.
    z = bias + stats.norm.ppf([(1 - confidence) / 2, (1 + confidence) / 2])
    return np.asarray(stats.norm.cdf(bias + z / (1 - skew * z)), dtype=float)


def _constant(values: Array, confidence: float, method: str) -> Interval:
    degenerate("all values are equal: the bootstrap interval is a point")
    return Interval(float(values[0]), float(values[0]), float(values[0]), confidence, values.size, method)


def resampled_means(values: Values, *, resamples: int = 9999, seed: int = 0, blocks: int = _BLOCKS) -> Array:
    """Means of `resamples` bootstrap samples of `values`, shape (resamples,).

    A bootstrap sample is a multinomial draw of how often each value is taken (Efron 1979, Ann. Statist. 7(1), sec. 2).
    Up to `blocks` distinct values (small samples, latencies from a histogram) that draw is made as it stands. Above,
    the sorted values are grouped: the draw is made over groups, and what a group adds beyond its mean is normal with
    the group's variance (the central limit theorem within a group of like values). The extreme values stay groups of
    one, so a long tail keeps its weight. Cost per resample: the number of groups, not the number of values.
    """
    found = vector(values)
    means, variances, sizes = _groups(found, blocks)
    rng, shares = np.random.default_rng(seed), sizes / sizes.sum()
    step = max(1, _CHUNK_CELLS // means.size)
    parts = []
    for start in range(0, resamples, step):
        counts = rng.multinomial(found.size, shares, size=min(step, resamples - start)).astype(float)
        spread = np.sqrt(counts @ variances) * rng.standard_normal(len(counts))
        parts.append((counts @ means + spread) / found.size)
    return np.concatenate(parts)


def _groups(values: Array, blocks: int) -> tuple[Array, Array, Array]:
    """Mean, variance and size of each group of sorted values."""
    ordered = np.sort(values)
    edges = np.flatnonzero(np.diff(ordered)) + 1
    if edges.size >= blocks:
        inner = np.linspace(_SINGLES, values.size - _SINGLES, max(blocks - 2 * _SINGLES, 2)).astype(int)
        edges = np.unique(np.r_[1:_SINGLES, inner, values.size - np.arange(1, _SINGLES)])
    starts = np.r_[0, edges]
    sizes = np.diff(np.r_[starts, values.size]).astype(float)
    means = np.add.reduceat(ordered, starts) / sizes
    off = ordered - np.repeat(means, sizes.astype(int))
    return means, np.add.reduceat(off**2, starts) / sizes, sizes


def hierarchical_bootstrap(
    frame: pd.DataFrame,
    *,
    value: str,
    levels: Sequence[str] = ("repetition",),
    statistic: Callable[[Array], float] = np.mean,
    method: Literal["student", "percentile"] = "student",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Interval of the mean over repetitions of `statistic` of each repetition's samples.

    `frame` is long, one row per sample; `levels` name its nesting columns from the top, the first being the unit of
    replication. "student" (the default) reduces each unit to its statistic and takes the t interval over units: with
    the 3 to 5 repetitions a benchmark can afford, the percentile bootstrap covers 74 to 84% instead of 95%, because n
    resampled units have (n-1)/n of the variance and no t quantile (Hesterberg 2015, Am. Stat. 69(4), sec. 4).
    "percentile" resamples units, then each further level inside them; rows below the last level stay together, as
    Davison & Hinkley (1997), Bootstrap Methods, sec. 3.8, advise. Use it from about 20 units on.
    """
    level = share(confidence, key="confidence")
    columns(frame, value, *levels)
    if not levels or frame.empty:
        raise BadInput("needs rows and at least one level", key="levels", value=list(levels), fix="name the repetition")
    units = [unit for _, unit in frame.groupby(levels[0], sort=True)]
    found = vector([float(statistic(unit[value].to_numpy(float))) for unit in units], key=value)
    if method == "student" or len(units) == 1:
        return mean_interval(found, confidence=level)
    draws = _nested_draws(units, value, list(levels[1:]), statistic, resamples, np.random.default_rng(seed))
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(found.mean()), float(low), float(high), level, len(units), "hierarchical percentile")


def _nested_draws(
    units: list[pd.DataFrame],
    value: str,
    levels: list[str],
    statistic: Callable[[Array], float],
    resamples: int,
    rng: np.random.Generator,
) -> Array:
    picks = rng.integers(len(units), size=(resamples, len(units)))
    if not levels:
        fixed = np.array([float(statistic(unit[value].to_numpy(float))) for unit in units])
        return np.asarray(fixed[picks].mean(axis=1))
    trees = [_tree(unit, value, levels) for unit in units]
    return np.array([np.mean([statistic(_draw(trees[i], rng)) for i in row]) for row in picks])


_Tree = Array | list["_Tree"]


def _tree(frame: pd.DataFrame, value: str, levels: list[str]) -> _Tree:
    if not levels:
        return frame[value].to_numpy(float)
    return [_tree(part, value, levels[1:]) for _, part in frame.groupby(levels[0], sort=True)]


def _draw(tree: _Tree, rng: np.random.Generator) -> Array:
    if isinstance(tree, np.ndarray):
        return tree
    return np.concatenate([_draw(tree[i], rng) for i in rng.integers(len(tree), size=len(tree))])
