"""The Universal Scalability Law is recovered within its intervals."""

import math

import numpy as np
import pytest

from benchbook.errors import BadInput
from benchbook.stats.usl import usl_fit

LEVELS = np.array([1.0, 2, 4, 8, 16, 32])


def usl_throughput(workers, *, lam, sigma, kappa):
    return lam * workers / (1 + sigma * (workers - 1) + kappa * workers * (workers - 1))


def test_usl_of_noiseless_data_is_exact():
    found = usl_fit(LEVELS, usl_throughput(LEVELS, lam=1000, sigma=0.05, kappa=0.002))
    assert found.sigma.estimate == pytest.approx(0.05)
    assert found.kappa.estimate == pytest.approx(0.002)
    assert found.peak.estimate == pytest.approx(math.sqrt(0.95 / 0.002))
    assert found.relative_error < 1e-6


@pytest.mark.parametrize(("sigma", "kappa"), [(0.03, 0.0005), (0.1, 0.0), (0.0, 0.001)])
@pytest.mark.parametrize(("levels", "repetitions"), [(LEVELS, 3), (np.array([50.0, 100, 200, 400]), 3)])
def test_usl_parameters_lie_within_their_intervals(levels, repetitions, sigma, kappa):
    rng, x = np.random.default_rng(41), np.repeat(levels, repetitions)
    truth = usl_throughput(x, lam=1000, sigma=sigma, kappa=kappa)
    fits = [usl_fit(x, truth * np.exp(0.03 * rng.standard_normal(x.size))) for _ in range(500)]
    assert np.mean([fit.sigma.contains(sigma) for fit in fits]) >= 0.92
    assert np.mean([fit.kappa.contains(kappa) for fit in fits]) >= 0.92
    peak = math.sqrt((1 - sigma) / kappa) if kappa else math.inf
    assert np.mean([fit.peak.contains(peak) for fit in fits]) >= 0.92
    assert np.median([fit.relative_error for fit in fits]) == pytest.approx(0.03, rel=0.15)


def test_linear_scaling_has_no_peak():
    found = usl_fit(LEVELS, 100 * LEVELS)
    assert found.sigma.estimate == pytest.approx(0, abs=1e-6)
    assert found.peak.high == math.inf


def test_a_flat_curve_is_full_contention():
    found = usl_fit([50, 100, 200, 400] * 2, [1000, 1001, 999, 1000, 1002, 998, 1000, 1000])
    assert found.sigma.estimate > 0.9
    assert found.sigma.high == 1


def test_usl_needs_a_level_more_than_it_has_parameters():
    with pytest.raises(BadInput, match="four or more levels"):
        usl_fit([50, 100, 200] * 3, [1, 2, 3] * 3)
