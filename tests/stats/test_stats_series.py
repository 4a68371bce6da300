"""Intervals of a mean over one run's samples: coverage where the truth is known, beside the naive interval's."""

import warnings

import numpy as np
import pytest

from benchbook.stats.autocorrelation import series_interval
from benchbook.stats.estimates import DegenerateDataWarning
from benchbook.stats.intervals import mean_interval

SIMULATIONS = 4000


def _coverage(rows, interval=series_interval):
    return float(np.mean([interval(row).contains(0) for row in rows]))


@pytest.mark.slow
@pytest.mark.parametrize("samples", [300, 1000])
@pytest.mark.parametrize(("phi", "naive_at_most"), [(0.0, 0.97), (0.5, 0.80), (0.9, 0.40)])
def test_coverage_on_autocorrelated_series(ar1, phi, naive_at_most, samples):
    rows = ar1(np.random.default_rng(11), phi, series=SIMULATIONS, samples=samples)
    assert 0.93 <= _coverage(rows) <= 0.97
    assert _coverage(rows, mean_interval) <= naive_at_most


def test_coverage_holds_on_a_minute_and_on_negative_correlation(ar1):
    rng = np.random.default_rng(12)
    for phi in (-0.5, 0.0, 0.5, 0.9):
        rows = ar1(rng, phi, series=2000, samples=60)
        assert 0.92 <= _coverage(rows) <= 0.97


def test_coverage_on_a_series_that_swings():
    # AR(2) with a period of about 8 samples, as checkpoints make.
    rng = np.random.default_rng(13)
    noise = rng.standard_normal((2000, 500))
    rows = np.zeros_like(noise)
    for t in range(2, 500):
        rows[:, t] = 1.2 * rows[:, t - 1] - 0.7 * rows[:, t - 2] + noise[:, t]
    assert 0.93 <= _coverage(rows[:, 200:]) <= 0.97


def test_too_few_samples_give_no_interval():
    with pytest.warns(DegenerateDataWarning, match="3 samples"):
        found = series_interval([1.0, 2.0, 3.0])
    assert found.estimate == 2.0
    assert not found.known


def test_a_constant_series_is_a_named_point():
    with pytest.warns(DegenerateDataWarning):
        found = series_interval([7.0] * 30)
    assert (found.low, found.high) == (7.0, 7.0)


def test_a_series_that_repeats_itself_exactly_has_a_mean_that_is_known() -> None:
    """1, -1, 1, ...: the first order predicts it all, so nothing is left to divide by."""
    values = np.tile([99.0, 101.0], 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = series_interval(values)
    assert found.estimate == 100
    assert found.relative_half_width < 0.005
