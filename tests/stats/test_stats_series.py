"""Intervals of a mean over one run's samples: coverage where the truth is known, beside the naive interval's."""

import warnings

import numpy as np
import pytest

from benchbook.errors import BadInput
from benchbook.stats.autocorrelation import block_bootstrap, block_length, effective_samples, series_interval
from benchbook.stats.estimates import DegenerateDataWarning

SIMULATIONS = 4000


def _coverage(rows, method):
    return float(np.mean([series_interval(row, method=method).contains(0) for row in rows]))


@pytest.mark.slow
@pytest.mark.parametrize("samples", [300, 1000])
@pytest.mark.parametrize(("phi", "naive_at_most"), [(0.0, 0.97), (0.5, 0.80), (0.9, 0.40)])
def test_coverage_on_autocorrelated_series(ar1, phi, naive_at_most, samples):
    rows = ar1(np.random.default_rng(11), phi, series=SIMULATIONS, samples=samples)
    assert 0.93 <= _coverage(rows, "ar") <= 0.97
    assert _coverage(rows, "naive") <= naive_at_most


def test_coverage_holds_on_a_minute_and_on_negative_correlation(ar1):
    rng = np.random.default_rng(12)
    for phi in (-0.5, 0.0, 0.5, 0.9):
        rows = ar1(rng, phi, series=2000, samples=60)
        assert 0.92 <= _coverage(rows, "ar") <= 0.97


def test_coverage_on_a_series_that_swings():
    # AR(2) with a period of about 8 samples, as checkpoints make.
    rng = np.random.default_rng(13)
    noise = rng.standard_normal((2000, 500))
    rows = np.zeros_like(noise)
    for t in range(2, 500):
        rows[:, t] = 1.2 * rows[:, t - 1] - 0.7 * rows[:, t - 2] + noise[:, t]
    assert 0.93 <= _coverage(rows[:, 200:], "ar") <= 0.97


def test_effective_samples_are_the_textbook_share(ar1):
    # n (1 - phi) / (1 + phi): a third at 0.5, a nineteenth at 0.9.
    rng = np.random.default_rng(14)
    for phi, share in ((0.0, 1.0), (0.5, 1 / 3), (0.9, 1 / 19)):
        rows = ar1(rng, phi, series=50, samples=2000)
        assert np.median([effective_samples(row) for row in rows]) == pytest.approx(2000 * share, rel=0.2)


def test_block_bootstrap_beats_the_naive_interval_and_stays_below_the_parametric_one(ar1):
    rows = ar1(np.random.default_rng(15), 0.5, series=500, samples=600)
    block = np.mean([block_bootstrap(row, resamples=400).contains(0) for row in rows])
    assert 0.88 <= block <= 0.97
    assert block > _coverage(rows, "naive") + 0.1


def test_block_length_by_hand():
    # Lag-1 correlation of 1,0,1,0,... (n = 100, mean 0.5) is -99/100, clipped to 0.97; the cube root of
    # 6 * 0.9409 / 0.0591^2 * 100 is 54.5, and a block is no more than a third of the series.
    assert block_length([1.0, 0.0] * 50) == 33
    assert block_length([3.0] * 20) == 1
    rng = np.random.default_rng(16)
    assert block_length(rng.standard_normal(1000)) <= 4


def test_blocks_of_one_sample_are_the_plain_bootstrap():
    values = np.random.default_rng(17).standard_normal(200)
    found = block_bootstrap(values, length=1, resamples=5000)
    assert found.half_width == pytest.approx(1.96 * values.std() / np.sqrt(200), rel=0.06)
    # A block as long as the circle holds every sample once: all means are equal.
    assert block_bootstrap(values, length=200).half_width == pytest.approx(0, abs=1e-12)
    with pytest.raises(BadInput, match="length"):
        block_bootstrap(values, length=0)


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
