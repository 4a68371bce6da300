"""Comparing two arms by their repetitions: ratio with interval, tests, Holm, effect size, equivalence, power.

Every function takes one value per repetition. Ratios are taken on the log scale, where a ratio and its inverse are
treated alike and the noise of a benchmark, which grows with its level, is even.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy import stats

from benchbook.errors import BadInput
from benchbook.stats.estimates import Array, Interval, Values, degenerate, no_interval, positive_vector, share
from benchbook.stats.intervals import mean_interval

Test: TypeAlias = Literal["welch", "permutation", "rank"]

_EXACT_PERMUTATIONS = 20_000


@dataclass(frozen=True)
class TestResult:
    """A two-sided p value, and the smallest one this many repetitions could give (1 where none could be had)."""

    __test__ = False  # not a test case, whatever pytest makes of the name

    p_value: float
    smallest_possible: float
    method: str


@dataclass(frozen=True)
class Equivalence:
    """TOST: whether the ratio lies within `bounds`, at level 1 - confidence, and its p value."""

    equivalent: bool
    p_value: float
    bounds: tuple[float, float]


@dataclass(frozen=True)
class EffectSize:
    """Hedges' g (in pooled standard deviations of the logs) and Cliff's delta (-1..1), positive if a is above b."""

    hedges_g: float
    cliffs_delta: float


def ratio_interval(
    a: Values, b: Values, *, paired: bool = False, method: Literal["log", "fieller"] = "log", confidence: float = 0.95
) -> Interval:
    """Interval of mean(a) / mean(b); `paired` takes a[i] and b[i] as one block. One repetition gives no interval."""
    x, y, level = positive_vector(a, key="a"), positive_vector(b, key="b"), share(confidence, key="confidence")
    if paired:
        return _paired_ratio(x, y, level)
    estimate, n = float(x.mean() / y.mean()), min(x.size, y.size)
    if n < 2:
        why = "a ratio of single repetitions has no interval"
        return no_interval(estimate, confidence=level, n=n, method=f"ratio, {method}", why=why)
    (error, freedom) = _log_error(x, y)
    if method == "fieller":
        low, high = _fieller(x, y, float(stats.t.ppf((1 + level) / 2, freedom)))
        return Interval(estimate, low, high, level, n, "ratio, fieller")
    half = float(stats.t.ppf((1 + level) / 2, freedom)) * error
    return Interval(estimate, estimate * math.exp(-half), estimate * math.exp(half), level, n, "ratio, log")


def _paired_ratio(x: Array, y: Array, level: float) -> Interval:
    if x.size != y.size:
        raise BadInput("pairs need as many values on both sides", value=(x.size, y.size), fix="pass paired=False")
    logs = mean_interval(np.log(x / y), confidence=level)
    low, middle, high = (math.exp(v) for v in (logs.low, logs.estimate, logs.high))
    return Interval(middle, low, high, level, x.size, "ratio, paired log")


def _log_error(x: Array, y: Array) -> tuple[float, float]:
    """Standard error of log(mean x / mean y) and its degrees of freedom; both sides with at least two values."""
    # Delta method for a ratio of means: Casella & Berger (2002), Statistical Inference, sec. 5.5.4.
    parts = [v.var(ddof=1) / (v.size * v.mean() ** 2) for v in (x, y)]
    total = float(sum(parts))
    if total == 0:
        return 0.0, float(x.size + y.size - 2)
    # Welch (1947), Biometrika 34(1-2), degrees of freedom.
    return math.sqrt(total), float(total**2 / sum(p**2 / (v.size - 1) for p, v in zip(parts, (x, y), strict=True)))


def _fieller(x: Array, y: Array, t: float) -> tuple[float, float]:
    # Fieller (1954), JRSS B 16(2), for independent means: roots of the quadratic in the ratio.
    vx, vy = x.var(ddof=1) / x.size, y.var(ddof=1) / y.size
    mx, my = float(x.mean()), float(y.mean())
    g = t**2 * vy / my**2
    if g >= 1:
        degenerate("the denominator is not told from zero: the ratio has no bounds")
        return math.nan, math.nan
    centre, root = mx / my, t / my * math.sqrt(vx * (1 - g) + (mx / my) ** 2 * vy)
    return (centre - root) / (1 - g), (centre + root) / (1 - g)


def difference_test(a: Values, b: Values, *, method: Test = "welch", seed: int = 0) -> TestResult:
    """Test that a and b have the same level.

    "welch" (on logs; the default) can reach any p value from two repetitions on. "permutation" and "rank" assume less,
    but with n repetitions a side cannot go below 2 / C(2n, n): 0.1 for 3, 0.008 for 5, which Holm over a table of 15
    cells never calls a difference; `smallest_possible` says so.
    """
    x, y = positive_vector(a, key="a"), positive_vector(b, key="b")
    ways = math.comb(x.size + y.size, x.size)
    least = min((2 if x.size == y.size else 1) / ways, 1.0)
    if min(x.size, y.size) < 2:
        degenerate("one repetition cannot be tested")
        return TestResult(1.0, 1.0, method)
    if np.ptp(x) == 0 and np.ptp(y) == 0:
        degenerate("no spread on either side: the test says nothing about noise")
        return TestResult(1.0, 1.0, method) if x[0] == y[0] else TestResult(least, least, "permutation")
    if method == "welch":
        return TestResult(float(stats.ttest_ind(np.log(x), np.log(y), equal_var=False).pvalue), 0.0, method)
    if method == "rank":
        # Mann & Whitney (1947), Ann. Math. Statist. 18(1); scipy takes the exact distribution for small samples.
        return TestResult(float(stats.mannwhitneyu(x, y).pvalue), least, method)
    found = stats.permutation_test(
        (np.log(x), np.log(y)),
        lambda u, v, axis: np.mean(u, axis=axis) - np.mean(v, axis=axis),
        vectorized=True,
        n_resamples=_EXACT_PERMUTATIONS,
        rng=np.random.default_rng(seed),
    )
    return TestResult(float(found.pvalue), max(least, 1 / _EXACT_PERMUTATIONS), method)


def holm(p_values: Sequence[float] | Array) -> Array:
    """Holm-adjusted p values of one family, in the order given; NaN (not tested) stays NaN and does not count."""
    found = np.asarray(p_values, dtype=float)
    out, tested = np.full(found.shape, np.nan), ~np.isnan(found)
    # Holm (1979), Scand. J. Statist. 6(2). By hand, because statsmodels' function collects garbage on every call, which
    # takes a tenth of a second in a process that has drawn figures.
    p, order = found[tested], np.argsort(found[tested], kind="stable")
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)))
    out[tested] = adjusted
    return out


def effect_size(a: Values, b: Values) -> EffectSize:
    """Standardised size of the difference; g is NaN with a single repetition on each side, infinite without spread."""
    x, y = positive_vector(a, key="a"), positive_vector(b, key="b")
    # Cliff (1993), Psychological Bulletin 114(3): share of pairs above minus share below.
    delta = float(np.sign(x[:, None] - y[None, :]).mean())
    freedom = x.size + y.size - 2
    if freedom < 1:
        degenerate("one repetition a side has no standardised effect")
        return EffectSize(math.nan, delta)
    u, v = np.log(x), np.log(y)
    pooled = math.sqrt((((u - u.mean()) ** 2).sum() + ((v - v.mean()) ** 2).sum()) / freedom)
    gap = float(u.mean() - v.mean())
    if pooled == 0:
        return EffectSize(math.copysign(math.inf, gap) if gap else 0.0, delta)
    # Hedges (1981), J. Educ. Stat. 6(2), eq. 6e: small-sample correction of the standardised mean difference.
    return EffectSize(gap / pooled * (1 - 3 / (4 * freedom - 1)), delta)


def equivalence(a: Values, b: Values, *, margin: float = 0.05, confidence: float = 0.95) -> Equivalence:
    """Whether mean(a)/mean(b) lies between 1 - margin and 1/(1 - margin): two one-sided tests on the log ratio."""
    x, y = positive_vector(a, key="a"), positive_vector(b, key="b")
    level, edge = share(confidence, key="confidence"), -math.log(1 - share(margin, key="margin"))
    bounds = (1 - margin, 1 / (1 - margin))
    if min(x.size, y.size) < 2:
        degenerate("one repetition cannot show equivalence")
        return Equivalence(False, 1.0, bounds)
    (error, freedom), log_ratio = _log_error(x, y), math.log(x.mean() / y.mean())
    if error == 0:
        inside = abs(log_ratio) < edge
        return Equivalence(inside, 0.0 if inside else 1.0, bounds)
    # Schuirmann (1987), J. Pharmacokinet. Biopharm. 15(6).
    p = float(stats.t.sf((edge - abs(log_ratio)) / error, freedom))
    return Equivalence(p < 1 - level, p, bounds)
