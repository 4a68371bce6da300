"""What the bootstrap intervals cost against `scipy.stats.bootstrap`, with equal results: one call for `make bench`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import stats

from benchbook.stats.estimates import Array, Interval
from benchbook.stats.intervals import bca_bootstrap, percentile_bootstrap


def measure_bootstrap_cost(
    *, samples: int = 1_000_000, resamples: int = 999, bca_samples: int = 10_000, seed: int = 1
) -> dict[str, Any]:
    """Seconds of our and scipy's interval of a mean of skewed (lognormal) latencies in ms, and the bounds' difference.

    `difference_in_standard_errors` is the larger difference of the two bounds, divided by the standard error of the
    mean: with 999 resamples, a bound itself moves by about 0.1 of that between seeds. scipy's BCa evaluates the
    statistic on n leave-one-out samples of n values, n^2 work that does not end in a minute at 1e6, so it is timed at
    `bca_samples` and ours at both sizes; nothing is extrapolated.
    """
    big = np.random.default_rng(seed).lognormal(1.0, 0.6, samples)
    small = big[:bca_samples]
    out: dict[str, Any] = {"samples": samples, "resamples": resamples, "bca_samples_scipy": bca_samples}
    out["percentile"] = _duel(percentile_bootstrap, "percentile", big, resamples, seed)
    out["bca"] = _duel(bca_bootstrap, "BCa", small, resamples, seed)
    out["bca"]["ours_s_at_all_samples"] = _timed(lambda: bca_bootstrap(big, resamples=resamples, seed=seed))[0]
    return out


def _duel(
    ours: Callable[..., Interval], method: Literal["percentile", "BCa"], data: Array, resamples: int, seed: int
) -> dict[str, float]:
    ours_s, mine = _timed(lambda: ours(data, resamples=resamples, seed=seed))
    scipy_s, theirs = _timed(lambda: _scipy_interval(data, method, resamples, seed))
    error = data.std(ddof=1) / np.sqrt(data.size)
    gap = max(abs(mine.low - theirs.low), abs(mine.high - theirs.high)) / error
    return {
        "ours_s": ours_s,
        "scipy_s": scipy_s,
        "times_faster": scipy_s / ours_s,
        "difference_in_standard_errors": float(gap),
    }


def _scipy_interval(data: Array, method: Literal["percentile", "BCa"], resamples: int, seed: int) -> Any:
    # A batch bounds memory: 1e7 cells of 8 bytes, whatever n is.
    rows = max(1, 10_000_000 // data.size)
    found = stats.bootstrap(
        (data,), _mean, n_resamples=resamples, batch=rows, method=method, rng=np.random.default_rng(seed + 1)
    )
    return found.confidence_interval


def _mean(data: Array, axis: int = -1) -> Array:
    return np.asarray(np.mean(data, axis=axis))


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result
