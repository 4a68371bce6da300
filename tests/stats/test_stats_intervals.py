"""Intervals over repetitions: by hand, and by coverage."""

import math

import numpy as np
import pytest

from benchbook.errors import BadInput
from benchbook.stats.estimates import mean_interval

SIMULATIONS = 2000


def contains(interval, value):
    return interval.low <= value <= interval.high


def test_student_interval_by_hand():
    # Mean 10, s = 1, t(0.975, 2) = 4.3027: half width 4.3027 / sqrt(3) = 2.4842.
    assert mean_interval([9, 10, 11]) == pytest.approx((10, 10 - 2.4842, 10 + 2.4842, 3), abs=1e-4)


def test_one_repetition_has_no_interval():
    assert mean_interval([42.0]) == pytest.approx((42, math.nan, math.nan, 1), nan_ok=True)


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [[1.0], [2.0]]])
def test_unusable_values_are_refused(values):
    with pytest.raises(BadInput):
        mean_interval(values)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_confidence_is_a_share(confidence):
    with pytest.raises(BadInput, match="confidence"):
        mean_interval([1, 2, 3], confidence=confidence)


def _two_level(rng, ar1, repetitions, samples=60):
    """Samples of one campaign: between-run spread 3, within-run spread 5 with correlation 0.5, true mean 100."""
    within = ar1(rng, 0.5, series=repetitions, samples=samples, sd=5.0)
    return 100 + 3 * rng.standard_normal((repetitions, 1)) + within


@pytest.mark.parametrize("repetitions", [3, 5])
def test_coverage_on_two_level_data(ar1, repetitions):
    rng, found = np.random.default_rng(repetitions), {"repetitions": 0, "samples": 0}
    for _ in range(SIMULATIONS):
        block = _two_level(rng, ar1, repetitions)
        found["repetitions"] += contains(mean_interval(block.mean(axis=1)), 100)
        found["samples"] += contains(mean_interval(block.ravel()), 100)
    share = {name: count / SIMULATIONS for name, count in found.items()}
    assert 0.93 <= share["repetitions"] <= 0.97
    assert share["samples"] < 0.45, "why samples of one run are never pooled"
