"""Variances of many cells with few repetitions each, moderated by each other: empirical Bayes as in limma.

With three repetitions a cell's own variance is known within a factor of 6 each way, and intervals that pay for this
say nothing. The variances of the other cells of a campaign tell what is usual: a scaled inverse chi-square prior is
fitted to all of them, and each cell's variance is drawn towards it (Smyth 2004, Stat. Appl. Genet. Mol. Biol. 3(1)).
Cells that differ in kind (two regimes, an outlier) keep their own (Phipson et al. 2016, Ann. Appl. Stat. 10(2)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import stats

from benchbook.errors import BadInput
from benchbook.stats.estimates import Array, Values, vector

LEAST_FEATURES = 3
# A line through fewer variances, each known within a factor of 6, is fitted to their noise.
LEAST_FOR_TREND = 8
# Shares of the smallest and the largest variances that are not believed: limma's `winsor.tail.p`.
_LOW_TAIL, _HIGH_TAIL = 0.05, 0.1
_CAUTION = 0.5
_DIFFERS = 0.05
# Above, a prior is as good as known; below, as good as none.
_MOST_DF, _LEAST_DF = 1e6, 0.1
_NODES = 200
# A distribution with its tails cut to their quantiles, as probabilities and what each of them stands for.
_KEPT = 1 - _LOW_TAIL - _HIGH_TAIL
_WINSOR_AT = np.r_[_LOW_TAIL, _LOW_TAIL + (np.arange(_NODES) + 0.5) / _NODES * _KEPT, 1 - _HIGH_TAIL]
_WINSOR_WEIGHT = np.r_[_LOW_TAIL, np.full(_NODES, _KEPT / _NODES), _HIGH_TAIL]


@dataclass(frozen=True)
class Moderated:
    """Per feature: posterior variance and its degrees of freedom, prior variance, and whether it kept its own.

    All variances are in the squared unit of what was passed. `prior_df` is that of features like most: 0 means that
    nothing was borrowed, inf that all features have one variance. `trend`: change of the log of the prior variance per
    unit of the covariate (0 without one). Where `own`, `variances` and `dfs` are what was passed.
    """

    variances: Array
    dfs: Array
    prior_df: float
    prior_variances: Array
    own: NDArray[np.bool_]
    trend: float = 0.0


def moderate(
    variances: Values,
    dfs: Values,
    *,
    covariate: Values | None = None,
    robust: bool = True,
) -> Moderated:
    """Moderate sample variances, shape (features,), with `dfs` degrees of freedom each.

    A feature with 0 degrees of freedom (one repetition; its variance may be NaN) informs no prior and gets the prior's
    variance. With `covariate` (the log of the level, say), the log of the prior variance follows a line, from 8
    features on. `robust` keeps outlying variances out of the prior, and the prior away from them. Variances of 0 inform
    no prior, so that they cannot draw it to 0. With fewer than 3 variances above 0 nothing is moderated.

    A posterior has at most as many degrees of freedom as all features together (limma's rule). Raise BadInput.
    """
    found, own_df = _usable(variances, dfs)
    along = _along(covariate, found.size)
    informs = (own_df > 0) & (found > 0)
    if informs.sum() < LEAST_FEATURES:
        return _as_they_are(found, own_df)
    log_trend, slope = _trend(found, own_df, informs, along)
    scaled = found[informs] / np.exp(log_trend[informs])
    fit = _robust_fit if robust else _fit
    scale, prior_df = fit(scaled, own_df[informs], 2 if slope else 1)
    belief = np.ones(found.size)
    if robust:
        belief[informs] = _belief(scaled / scale, own_df[informs], prior_df)
    return _squeezed(found, own_df, scale * np.exp(log_trend), prior_df, belief, slope)


def _usable(variances: Values, dfs: Values) -> tuple[Array, Array]:
    own_df, found = vector(dfs, key="dfs"), np.asarray(variances, dtype=float)
    if found.shape != own_df.shape:
        raise BadInput("needs one per variance", key="dfs", value=own_df.shape, fix=f"pass {found.shape}")
    if (own_df < 0).any():
        raise BadInput("must not be below 0", key="dfs", value=own_df.min())
    known = vector(found[own_df > 0], key="variances", minimum=0)
    if (known < 0).any():
        raise BadInput("must not be below 0", key="variances", value=float(known.min()), fix="pass variances")
    return np.where(own_df > 0, found, math.nan), own_df


def _as_they_are(found: Array, own_df: Array) -> Moderated:
    return Moderated(found, own_df, 0.0, np.full(found.size, math.nan), own_df > 0)


def _along(covariate: Values | None, features: int) -> Array:
    """Return the covariate, one per feature; all equal without one."""
    along = np.zeros(features) if covariate is None else vector(covariate, key="covariate")
    if along.size != features:
        raise BadInput("needs one per variance", key="covariate", value=along.size, fix=f"pass {features}")
    return along


def _trend(found: Array, own_df: Array, informs: NDArray[np.bool_], along: Array) -> tuple[Array, float]:
    """Log variance by the covariate's line, per feature and 0 in the mean of those that inform; and its slope."""
    if informs.sum() < LEAST_FOR_TREND or np.ptp(along[informs]) == 0:
        return np.zeros(found.size), 0.0
    # limma-trend fits a spline to hundreds of genes; a campaign has tens of cells. The line is the median of the slopes
    # of all pairs, which outlying variances do not turn: Sen (1968), JASA 63(324).
    slope = float(stats.theilslopes(_centred_logs(found[informs], own_df[informs]), along[informs]).slope)
    return slope * (along - along[informs].mean()), slope


def _centred_logs(s2: Array, df: Array) -> Array:
    # Smyth (2004), sec. 6.2: the log of a sample variance lies below that of the true one by this much.
    return np.asarray(np.log(s2) - scipy.special.digamma(df / 2) + np.log(df / 2))


def _fit(s2: Array, df: Array, parameters: int) -> tuple[float, float]:
    """Scale and degrees of freedom of the prior by moments of log s2, `parameters` of its mean having been fitted."""
    e = _centred_logs(s2, df)
    excess = float(((e - e.mean()) ** 2).sum() / (e.size - parameters)) - float(_trigamma(df / 2).mean())
    prior_df = _prior_df(excess, df)
    return math.exp(float(e.mean()) + _bias(prior_df)), prior_df


def _bias(prior_df: float) -> float:
    # Smyth (2004), sec. 6.2: mean of the log of a true variance relative to the prior's scale.
    return 0.0 if math.isinf(prior_df) else float(scipy.special.digamma(prior_df / 2) - math.log(prior_df / 2))


def _prior_df(excess: float, df: Array) -> float:
    """Degrees of freedom of the prior from how much more log s2 varies than its own sampling makes it: inf if not.

    The estimate is taken low: half a standard error is added to `excess`. As it comes, few features with a wide prior
    look alike by chance, and 99.6% intervals of 3 repetitions cover 98.8% with 8 cells and 99.0% with 16; so they cover
    99.2 to 99.8% and are 1.05 to 1.1 times as wide (simulated, prior df from 2 to infinity).
    """
    kept = max(excess, 0.0)
    true = _prior_quartic(kept)
    # Variance of a sample variance: (fourth cumulant + 2 sigma^4) / n, Kendall & Stuart vol. 1, sec. 10.9.
    total = kept + float(_trigamma(df / 2).mean())
    error = math.sqrt((float(scipy.special.polygamma(3, df / 2).mean()) + true + 2 * total**2) / df.size)
    cautious = excess + _CAUTION * error
    if cautious <= 2 / _MOST_DF:
        return math.inf
    return max(2 * _trigamma_inverse(cautious), _LEAST_DF)


def _prior_quartic(excess: float) -> float:
    """Fourth cumulant of the log of a scaled inverse chi-square variable whose variance is `excess`."""
    return float(scipy.special.polygamma(3, _trigamma_inverse(excess))) if excess > 2 / _MOST_DF else 0.0


def _trigamma(x: Array | float) -> Array:
    return np.asarray(scipy.special.polygamma(1, x))


def _trigamma_inverse(y: float) -> float:
    # Smyth (2004), appendix: Newton's method on 1 / trigamma, which is nearly linear, converges from this start.
    x = 0.5 + 1 / y
    for _ in range(50):
        at = float(scipy.special.polygamma(1, x))
        step = at * (1 - at / y) / float(scipy.special.polygamma(2, x))
        x += step
        if -step / x < 1e-8:
            break
    return x


def _robust_fit(s2: Array, df: Array, parameters: int) -> tuple[float, float]:
    """As `_fit`, from the winsorised moments of log s2: Phipson et al. (2016), sec. 3.2."""
    common, most = _to_common_df(s2, df, *_fit(s2, df, parameters)), float(df.max())
    z = np.log(common)
    low, high = np.quantile(z, [_LOW_TAIL, 1 - _HIGH_TAIL])
    kept = np.clip(z, low, high)
    seen = float(((kept - kept.mean()) ** 2).sum() / (z.size - parameters))
    excess = _excess_behind(seen, most)
    prior_df = _prior_df(excess, np.full(z.size, most))
    return math.exp(float(kept.mean()) - _winsorised(most, prior_df)[0]), prior_df


def _to_common_df(s2: Array, df: Array, scale: float, prior_df: float) -> Array:
    """The variances as if all had the most degrees of freedom, each at its own quantile (sec. 3.3, last paragraph)."""
    out, most, d2 = s2.copy(), float(df.max()), min(prior_df, _MOST_DF)
    fewer = df < most
    if fewer.any():
        out[fewer] = stats.f.ppf(1 - stats.f.sf(s2[fewer] / scale, df[fewer], d2), most, d2) * scale
    return np.maximum(out, np.finfo(float).tiny)


def _winsorised(df: float, prior_df: float) -> tuple[float, float]:
    """Mean and variance of log F(df, prior_df) with its tails cut to their quantiles."""
    z = np.log(scipy.special.fdtri(df, min(prior_df, _MOST_DF), _WINSOR_AT))
    mean = float(_WINSOR_WEIGHT @ z)
    return mean, float(_WINSOR_WEIGHT @ (z - mean) ** 2)


def _excess_behind(seen: float, df: float) -> float:
    """The variance of the log of the true variances that would show `seen` after winsorising; below 0 for too little.

    Where `seen` is less than sampling alone gives, the shortfall is scaled as winsorising scales the sampling.
    """
    alone = _winsorised(df, _MOST_DF)[1]
    sampling = float(_trigamma(df / 2))
    if seen <= alone:
        return (seen - alone) * sampling / alone
    if seen >= _winsorised(df, _LEAST_DF)[1]:
        return float(_trigamma(_LEAST_DF / 2))
    # The more degrees of freedom, the less varies.
    ends = math.log(_LEAST_DF), math.log(_MOST_DF)
    log_df = scipy.optimize.brentq(lambda at: _winsorised(df, math.exp(at))[1] - seen, *ends, xtol=1e-9)
    return float(_trigamma(math.exp(log_df) / 2))


def _belief(ratio: Array, df: Array, prior_df: float) -> Array:
    """Return how far each variance belongs to the prior, 1 to 0, from its ratio to the prior's scale.

    Phipson et al. (2016), eq. 5: the chance of so large a ratio over the share of ratios that are as large. Where even
    the family of all features has less than 5% chance to show it (Bonferroni), the cell differs in kind: 0.
    """
    tail = np.asarray(scipy.special.fdtrc(df, min(prior_df, _MOST_DF), ratio), dtype=np.float64)
    order = np.argsort(tail)
    share = np.minimum(tail[order] / ((np.arange(tail.size) + 0.5) / tail.size), 1.0)
    out = np.empty(tail.size)
    # A larger ratio is never believed more than a smaller one.
    out[order] = np.minimum.accumulate(share[::-1])[::-1]
    return np.asarray(np.where(tail * tail.size < _DIFFERS, 0.0, out))


def _squeezed(found: Array, own_df: Array, scale: Array, prior_df: float, belief: Array, slope: float) -> Moderated:
    # Smyth (2004), eq. 3: the mean of the prior and of the own variance, weighted by degrees of freedom.
    borrowed = np.minimum(prior_df, _MOST_DF) * belief
    own = belief == 0
    held = np.where(own_df > 0, found, 0.0)
    variances = (borrowed * scale + own_df * held) / (borrowed + own_df)
    dfs = np.where(own, own_df, np.minimum(borrowed + own_df, own_df.sum()))
    return Moderated(np.where(own, found, variances), dfs, prior_df, scale, own, slope)
