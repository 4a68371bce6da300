"""Intervals over repetitions and bootstrap intervals: by hand, against scipy, and by coverage."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchbook.errors import BadInput
from benchbook.stats.estimates import DegenerateDataWarning
from benchbook.stats.intervals import (
    bca_bootstrap,
    hierarchical_bootstrap,
    mean_interval,
    percentile_bootstrap,
    resampled_means,
)

SIMULATIONS = 2000


def test_student_interval_by_hand():
    # Mean 10, s = 1, t(0.975, 2) = 4.3027: half width 4.3027 / sqrt(3) = 2.4842.
    found = mean_interval([9, 10, 11])
    assert found.estimate == 10
    assert found.half_width == pytest.approx(2.4842, abs=1e-4)
    assert found.relative_half_width == pytest.approx(0.24842, abs=1e-5)
    assert (found.n, found.degrees_of_freedom) == (3, 2)
    assert found.contains(12.4)
    assert not found.contains(12.5)


def test_one_repetition_has_no_interval_and_says_so():
    with pytest.warns(DegenerateDataWarning, match="one repetition"):
        found = mean_interval([42.0])
    assert found.estimate == 42.0
    assert not found.known
    assert math.isnan(found.low)
    assert not found.contains(42.0)


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [[1.0], [2.0]]])
def test_unusable_values_are_refused(values):
    with pytest.raises(BadInput):
        mean_interval(values)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_confidence_is_a_share(confidence):
    with pytest.raises(BadInput, match="confidence"):
        mean_interval([1, 2, 3], confidence=confidence)


@pytest.mark.parametrize(
    ("size", "seed"),
    [(12, 1), (400, 2), (20_000, 3)],  # below the number of groups, below, and far above it
)
@pytest.mark.parametrize(("ours", "method"), [(percentile_bootstrap, "percentile"), (bca_bootstrap, "BCa")])
def test_bootstrap_equals_scipy_within_monte_carlo_error(ours, method, size, seed):
    data = np.random.default_rng(seed).lognormal(1.0, 0.8, size)
    n_resamples = 4999 if size < 20_000 else 1999
    if method == "BCa" and size > 1000:
        data = data[:4000]  # scipy's jackknife is quadratic
    theirs = stats.bootstrap(
        (data,), np.mean, method=method, n_resamples=n_resamples, batch=100, rng=np.random.default_rng(7)
    ).confidence_interval
    mine = ours(data, resamples=n_resamples, seed=8)
    # A 2.5% quantile of R draws has standard error sqrt(.025 * .975 / R) / density = 2.67 / sqrt(R) standard errors of
    # the mean; the difference of two independent ones sqrt(2) as much. Four of those, over four bounds of each size.
    allowed = 4 * math.sqrt(2) * 2.67 / math.sqrt(n_resamples) * data.std() / math.sqrt(data.size)
    assert abs(mine.low - theirs.low) < allowed
    assert abs(mine.high - theirs.high) < allowed


def test_grouped_resampling_keeps_spread_and_skewness_of_a_long_tail():
    data = np.random.default_rng(4).pareto(2.5, 5000) + 1
    draws = resampled_means(data, resamples=60_000, seed=1)
    off = data - data.mean()
    # Moments of a bootstrap mean are those of the data over n and n^2 (Hall 1992, sec. 2.3).
    assert draws.mean() == pytest.approx(data.mean(), abs=4 * data.std() / math.sqrt(5000 * 60_000))
    assert draws.std() == pytest.approx(data.std() / math.sqrt(5000), rel=0.02)
    skew = (off**3).mean() / data.std() ** 3 / math.sqrt(5000)
    assert stats.skew(draws) == pytest.approx(skew, abs=0.1 * skew + 4 * math.sqrt(6 / 60_000))


def test_few_distinct_values_are_resampled_as_they_stand():
    draws = resampled_means([0.0] * 600_000 + [1.0] * 400_000, resamples=4000, seed=1)
    counts = draws * 1e6
    assert np.allclose(counts, np.round(counts), atol=1e-4)
    assert draws.std() == pytest.approx(math.sqrt(0.4 * 0.6 / 1e6), rel=0.05)


def test_the_seed_decides():
    data = np.arange(50.0)
    assert percentile_bootstrap(data, seed=3) == percentile_bootstrap(data, seed=3)
    assert percentile_bootstrap(data, seed=3) != percentile_bootstrap(data, seed=4)


def test_bootstrap_of_a_constant_is_a_named_point():
    with pytest.warns(DegenerateDataWarning):
        found = bca_bootstrap([5.0, 5.0, 5.0])
    assert (found.low, found.high) == (5.0, 5.0)


def _two_level(rng, ar1, repetitions, samples=60):
    """Samples of one campaign: between-run spread 3, within-run spread 5 with correlation 0.5, true mean 100."""
    within = ar1(rng, 0.5, series=repetitions, samples=samples, sd=5.0)
    return 100 + 3 * rng.standard_normal((repetitions, 1)) + within


def _frame(block):
    repetition, second = np.indices(block.shape)
    return pd.DataFrame({"repetition": repetition.ravel(), "second": second.ravel(), "tps": block.ravel()})


@pytest.mark.parametrize("repetitions", [3, 5])
def test_coverage_on_two_level_data(ar1, repetitions):
    rng = np.random.default_rng(repetitions)
    hits = {"student": 0, "percentile": 0, "naive": 0}
    for _ in range(SIMULATIONS):
        block = _two_level(rng, ar1, repetitions)
        frame = _frame(block)
        hits["student"] += hierarchical_bootstrap(frame, value="tps").contains(100)
        hits["naive"] += mean_interval(block.ravel()).contains(100)
        percentile = hierarchical_bootstrap(frame, value="tps", method="percentile", resamples=400)
        hits["percentile"] += percentile.contains(100)
    share = {name: count / SIMULATIONS for name, count in hits.items()}
    assert 0.93 <= share["student"] <= 0.97
    assert share["naive"] < 0.45
    assert share["percentile"] < 0.90, "the reason why it is not the default"


def test_percentile_method_covers_with_many_repetitions(ar1):
    rng = np.random.default_rng(20)
    hits = [
        hierarchical_bootstrap(_frame(_two_level(rng, ar1, 40, 5)), value="tps", method="percentile", resamples=500)
        for _ in range(500)
    ]
    assert 0.91 <= np.mean([hit.contains(100) for hit in hits]) <= 0.97


def test_each_repetition_counts_once_whatever_its_length():
    frame = pd.DataFrame({"repetition": [1, 2, 2, 2], "tps": [10.0, 20.0, 20.0, 20.0]})
    assert hierarchical_bootstrap(frame, value="tps").estimate == 15
    assert hierarchical_bootstrap(frame, value="tps", method="percentile").estimate == 15


def test_a_second_level_is_resampled_inside_the_first():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"repetition": np.repeat(np.arange(8), 40), "block": np.tile(np.repeat(np.arange(4), 10), 8), "ms": 1.0}
    )
    frame["ms"] = rng.normal(10, 1, len(frame))
    found = hierarchical_bootstrap(
        frame, value="ms", levels=["repetition", "block"], statistic=np.median, method="percentile", resamples=300
    )
    assert found.low < 10 < found.high
    assert found.n == 8


def test_missing_column_names_what_there_is():
    with pytest.raises(BadInput, match=r"repetition.*one of tps"):
        hierarchical_bootstrap(pd.DataFrame({"tps": [1.0]}), value="tps")
