"""Steady state where it is known: warm-up cut to within two samples, nothing steady on a ramp."""

from collections import Counter

import numpy as np
import pytest

from benchbook.stats.steady import steady_state


def _classes(ar1, shape, *, phi=0.5, noise=0.03, runs=60, seed=1):
    rows = 1000 * (shape + ar1(np.random.default_rng(seed), phi, series=runs, samples=shape.size, sd=noise))
    return [steady_state(row) for row in rows]


def _step(before, cut, n):
    return np.r_[np.full(cut, before), np.ones(n - cut)]


@pytest.mark.parametrize(("n", "cut"), [(60, 12), (120, 20), (300, 60), (300, 7)])
@pytest.mark.parametrize("phi", [0.0, 0.5])
@pytest.mark.parametrize(("before", "kind"), [(0.6, "warm-up"), (1.4, "slow-down")])
def test_a_step_is_cut_within_two_samples(ar1, n, cut, phi, before, kind):
    found = _classes(ar1, _step(before, cut, n), phi=phi)
    right = [state.kind == kind and abs(state.start - cut) <= 2 for state in found]
    assert np.mean(right) >= 0.9
    levels = [state.level for state in found if state.reached]
    assert np.mean(levels) == pytest.approx(1000, rel=0.01)


@pytest.mark.parametrize("phi", [0.0, 0.5])
def test_a_straight_rise_is_cut_where_it_ends(ar1, phi):
    # From 30% to 100% over the first 60 of 300 samples.
    found = _classes(ar1, np.minimum(1, 0.3 + 0.7 * np.arange(300) / 60), phi=phi)
    assert all(state.kind == "warm-up" for state in found)
    assert abs(np.median([state.start for state in found]) - 60) <= 2
    assert np.mean([abs(state.start - 60) <= 2 for state in found]) >= 0.85


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize("phi", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(("start", "end"), [(0.5, 1.0), (1.0, 0.5)])
def test_nothing_is_steady_on_a_ramp(ar1, n, phi, start, end):
    found = _classes(ar1, np.linspace(start, end, n), phi=phi)
    assert sum(state.reached for state in found) == 0
    assert {state.kind for state in found} == {"none"}


def test_a_mild_ramp_is_not_steady_either(ar1):
    for phi in (0.0, 0.5):
        assert not any(state.reached for state in _classes(ar1, np.linspace(0.8, 1, 300), phi=phi))


@pytest.mark.parametrize(("n", "phi", "least"), [(60, 0.0, 0.93), (300, 0.0, 0.95), (300, 0.5, 0.93), (300, 0.9, 0.9)])
def test_noise_alone_is_flat(ar1, n, phi, least):
    found = Counter(state.kind for state in _classes(ar1, np.ones(n), phi=phi, runs=150))
    assert found["flat"] / 150 >= least


def test_a_slow_warm_up_is_cut_where_little_is_left(ar1):
    # 1 - 0.5 exp(-t / 20): below 2% of the level from t = 64 on, below 10% from t = 32 on.
    found = _classes(ar1, 1 - 0.5 * np.exp(-np.arange(300) / 20))
    assert np.mean([state.kind == "warm-up" for state in found]) >= 0.95
    assert all(25 <= state.start <= 110 for state in found if state.reached)
    assert np.mean([state.level for state in found if state.reached]) == pytest.approx(1000, rel=0.01)


def test_a_late_collapse_is_no_steady_state(ar1):
    found = _classes(ar1, np.r_[np.ones(240), np.full(60, 0.5)], phi=0.0)
    assert not any(state.reached for state in found)


def test_short_dips_belong_to_the_steady_state(ar1):
    shape = np.ones(300)
    shape[[70, 71, 170, 171, 270, 271]] = 0.6
    found = _classes(ar1, shape, phi=0.0)
    assert np.mean([state.kind == "flat" for state in found]) >= 0.95


def test_an_unsettled_beginning_at_the_same_level_is_warm_up():
    rng = np.random.default_rng(5)
    spread = np.r_[np.full(80, 0.2), np.full(220, 0.01)]
    found = [steady_state(1000 * (1 + spread * rng.standard_normal(300))) for _ in range(40)]
    assert np.mean([state.kind == "warm-up" and abs(state.start - 80) <= 5 for state in found]) >= 0.85


@pytest.mark.parametrize("n", [0, 1, 3, 9])
def test_a_smoke_series_is_too_short(n):
    found = steady_state(np.arange(n, dtype=float))
    assert found.kind == "too short"
    assert not found.reached
    assert found.of(np.arange(n)).size == 0


def test_a_constant_series_is_flat():
    found = steady_state([5.0] * 20)
    assert (found.kind, found.start, found.level, found.drift) == ("flat", 0, 5.0, 0.0)


def test_a_noiseless_step_is_cut_exactly():
    found = steady_state([10.0] * 20 + [20.0] * 40)
    assert (found.kind, found.start, found.level) == ("warm-up", 20, 20.0)
    assert found.of(range(60)).tolist() == list(range(20, 60))


@pytest.mark.parametrize("samples", [16, 20, 25, 32, 40, 50, 64])
@pytest.mark.parametrize("slope", [5.0, -1.5])
def test_an_exact_ramp_is_no_steady_state_either(samples: int, slope: float) -> None:
    """Without any noise its residuals are rounding, which must not pass for autocorrelation."""
    assert steady_state(100 + slope * np.arange(samples)).kind == "none"


def test_a_stall_at_the_start_is_no_warm_up() -> None:
    """Five seconds at the level, five of nothing, then the level: what begins at its level does not warm up."""
    rates = 1000 * (1 + 0.02 * np.random.default_rng(7).standard_normal(120))
    rates[5:10] = 0
    found = steady_state(rates)
    assert (found.kind, found.start) == ("flat", 0)
    rates[:5] = 0
    assert steady_state(rates).start == 10
