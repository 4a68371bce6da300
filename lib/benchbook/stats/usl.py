"""The Universal Scalability Law fitted to throughput over concurrency, with intervals.

X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)): Gunther (2007), Guerrilla Capacity Planning, eq. 4.31, with the
throughput of one worker as lambda. sigma is contention, kappa coherency; the peak is at sqrt((1 - sigma) / kappa).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from scipy import stats

from benchbook.errors import BadInput
from benchbook.stats.estimates import Array, Interval, Values, positive_vector

LEAST_LEVELS = 4
_NEAR, _FAR = 1e-9, 1e9
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class UslFit:
    """sigma (0..1), kappa (>= 0), the peak in workers (may be inf), and how far the law is off, as a share."""

    sigma: Interval
    kappa: Interval
    peak: Interval
    relative_error: float


def usl_fit(workers: Values, throughput: Values) -> UslFit:
    """Fit the law to a mean per level, at least 4 levels: three of the law's parameters leave one to tell how it fits.

    `relative_error` is the residual standard deviation relative to the curve; much above the spread between
    repetitions, it says that the law does not describe this curve. The 95% intervals are profiles of the sum of
    squares, which stay right where a parameter lies on its bound (no contention, no coherency cost); a bound of inf
    means that the levels do not limit the parameter.
    """
    x, y = positive_vector(workers, key="workers"), positive_vector(throughput, key="throughput")
    if x.size != y.size or np.unique(x).size < LEAST_LEVELS:
        raise BadInput("needs pairs at four or more levels", key="workers", value=np.unique(x).tolist())
    model = _Inverse(x - 1, x * (x - 1), y / x)
    (sigma, kappa), least = model.best()
    freedom = x.size - 3
    # Bates & Watts (1988), Nonlinear Regression Analysis, sec. 6.1.2: all values whose best fit is not worse by F.
    limit = least * (1 + float(stats.f.ppf(_CONFIDENCE, 1, freedom)) / freedom) + 1e-18

    def profile(value: float, cost: Callable[[float], float], bottom: float, top: float) -> Interval:
        low, high = _edge(cost, value, bottom, limit), _edge(cost, value, top, limit)
        return Interval(value, low, high, _CONFIDENCE, x.size)

    return UslFit(
        sigma=profile(sigma, model.at_sigma, 0.0, 1.0),
        kappa=profile(kappa, model.at_kappa, 0.0, math.inf),
        peak=profile(_peak(sigma, kappa), model.at_peak, 1.0, math.inf),
        relative_error=math.sqrt(least / freedom),
    )


@dataclass(frozen=True)
class _Inverse:
    """Least squares of y / X(N) - 1, with a = N - 1, b = N (N - 1) and w = y / N per row.

    1/X is linear in 1/lambda, sigma/lambda and kappa/lambda (Gunther 2007, sec. 5.2, fits the same inverse), so the
    bounded problem is convex and needs no start values: Lawson & Hanson (1974), Solving Least Squares Problems, ch. 23.
    sigma <= 1 is kept by 1/lambda = sigma/lambda + (1 - sigma)/lambda with both terms >= 0.
    """

    a: Array
    b: Array
    w: Array

    def best(self) -> tuple[tuple[float, float], float]:
        """(sigma, kappa) and the sum of squares."""
        (free, bound, coherency), least = self._solve(np.ones_like(self.a), 1 + self.a, self.b)
        whole = free + bound
        if whole <= 0:
            raise BadInput("falls faster than the law allows", key="throughput", fix="add low levels")
        return (bound / whole, coherency / whole), least

    def at_sigma(self, value: float) -> float:
        """Least sum of squares with sigma fixed."""
        return self._solve(1 + value * self.a, self.b)[1]

    def at_kappa(self, value: float) -> float:
        """Least sum of squares with kappa fixed."""
        return self._solve(1 + value * self.b, 1 + self.a + value * self.b)[1]

    def at_peak(self, value: float) -> float:
        """Least sum of squares with the peak fixed: kappa = (1 - sigma) / peak^2."""
        return self._solve(1 + self.b / value**2, 1 + self.a)[1]

    def _solve(self, *columns: Array) -> tuple[Array, float]:
        design = self.w[:, None] * np.column_stack(columns)
        scale = np.abs(design).max(axis=0)
        found, norm = scipy.optimize.nnls(design / scale, np.ones_like(self.w))
        return found / scale, float(norm) ** 2


def _peak(sigma: float, kappa: float) -> float:
    # Gunther (2007), eq. 4.33; no peak without coherency cost, none below one worker.
    return max(math.sqrt((1 - sigma) / kappa), 1.0) if kappa > 0 else math.inf


def _edge(cost: Callable[[float], float], start: float, bound: float, limit: float) -> float:
    """Return the value between `start` and `bound` at which `cost` passes `limit`; `bound` if it never does."""
    up, value = bound > start, start
    if start == bound:
        return bound
    if math.isinf(start):
        value = _FAR
    step = 2.0 if up else 0.5
    floor = _NEAR if bound == 0 else bound
    previous = value = max(value, _NEAR)
    while cost(value) <= limit:
        if value >= _FAR if up and math.isinf(bound) else value == floor:
            return bound
        previous, value = value, min(value * step, bound, _FAR) if up else max(value * step, floor)
    if previous == value:
        return start
    return float(scipy.optimize.brentq(lambda v: cost(v) - limit, previous, value, xtol=1e-12, rtol=1e-6))
