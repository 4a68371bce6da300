"""The stopping rule: decisions by hand, and the coverage of the interval it stops at."""

import math
from dataclasses import replace

import numpy as np
import pytest

from benchbook.errors import BadInput
from benchbook.stats.autocorrelation import series_interval
from benchbook.stats.background import Background, learned, missed
from benchbook.stats.stopping import StopRule, replay, stop_decision, taught

RULE = StopRule(maximum_s=600, minimum_s=30)


def _calm(samples, seed=0, spread=0.01):
    return 1000 * (1 + spread * np.random.default_rng(seed).standard_normal(samples))


def test_looks_grow_by_a_quarter_and_end_at_the_maximum():
    assert StopRule(maximum_s=60, minimum_s=30).looks() == [30, 37.5, 46.875, 58.59375, 60]
    assert StopRule(maximum_s=30, minimum_s=30).looks() == [30]


def test_never_before_two_looks_agree():
    assert not stop_decision(_calm(29), rule=RULE).stop
    rule = StopRule(maximum_s=600, minimum_freedom=1)
    first = stop_decision(_calm(30), rule=rule)
    assert not first.stop
    assert "not yet at 2 in a row" in first.reason
    assert first.next_look_s == 37.5
    second = stop_decision(_calm(38), rule=rule)
    assert second.stop
    assert second.precise
    assert second.interval.contains(1000)
    assert second.elapsed_s == 38


def test_a_noisy_series_goes_on_and_ends_at_the_maximum():
    noisy = _calm(600, spread=0.5)
    assert not stop_decision(noisy[:300], rule=RULE).stop
    end = stop_decision(noisy, rule=RULE)
    assert end.stop
    assert not end.precise
    assert end.reason.startswith("maximum reached; within")
    assert end.elapsed_s == 600


def test_a_ramp_never_stops_early():
    ramp = np.linspace(500, 1000, 600) * _calm(600) / 1000
    found = replay(ramp, rule=RULE)
    assert found.elapsed_s == 600
    assert not found.precise
    assert "no steady state" in found.reason
    assert found.interval is None


def test_the_interval_excludes_the_warm_up():
    series = _calm(300)
    series[:20] *= 0.5
    found = replay(series, rule=RULE)
    assert found.precise
    assert found.steady.start == 20
    assert found.interval.contains(1000)


def test_a_look_between_two_samples_waits_for_the_second():
    slow = StopRule(maximum_s=3000, minimum_s=150, minimum_freedom=1)
    found = replay(_calm(300), rule=slow)
    assert found.precise
    assert found.elapsed_s == 188  # the looks are at 150 and 187.5 s


def test_precision_needs_degrees_of_freedom():
    tight = StopRule(maximum_s=600, minimum_freedom=1)
    assert replay(_calm(600), rule=tight).elapsed_s < replay(_calm(600), rule=RULE).elapsed_s
    assert replay(_calm(600), rule=RULE).interval.degrees_of_freedom >= 10


@pytest.mark.filterwarnings("error")
def test_seconds_that_are_all_equal_are_precise_and_nothing_to_warn_of():
    decision = stop_decision([100.0] * 60, rule=RULE)
    assert (decision.precise, decision.interval.low, decision.interval.high) == (True, 100.0, 100.0)
    # Of nothing that was done no share is known.
    assert not stop_decision([0.0] * 60, rule=RULE).precise


def test_replay_is_stop_decision_look_by_look():
    series = _calm(600, seed=4, spread=0.06)
    end = replay(series, rule=RULE)
    assert end == stop_decision(series[: int(end.elapsed_s)], rule=RULE)
    assert not stop_decision(series[: int(end.elapsed_s) - 1], rule=RULE).stop


def test_a_series_shorter_than_the_rule_is_judged_as_it_is():
    found = replay(_calm(10), rule=RULE)
    assert not found.stop
    assert found.elapsed_s == 10


@pytest.mark.parametrize(
    "wrong",
    [{"minimum_s": 700}, {"minimum_s": 0}, {"target": 0}, {"consecutive": 0}],
)
def test_a_rule_that_cannot_be_followed_is_refused(wrong):
    with pytest.raises(BadInput):
        StopRule(**{"maximum_s": 600, **wrong})


@pytest.mark.slow
@pytest.mark.parametrize(("phi", "spread", "saved_at_least"), [(0.0, 0.08, 0.8), (0.5, 0.06, 0.7), (0.9, 0.03, 0.2)])
def test_coverage_at_the_stop_and_machine_time(ar1, phi, spread, saved_at_least):
    rng = np.random.default_rng(31)
    rule = StopRule(maximum_s=1200)
    rows = 1000 * (1 + ar1(rng, phi, series=600, samples=1200, sd=spread))
    found = [replay(row, rule=rule) for row in rows]
    judged = [decision.interval for decision in found if decision.interval is not None]
    assert len(judged) >= 0.99 * len(found)
    assert np.mean([interval.contains(1000) for interval in judged]) >= 0.93
    assert np.mean([decision.precise for decision in found]) >= 0.98
    assert all(decision.interval.relative_half_width <= 0.02 for decision in found if decision.precise)
    assert 1 - np.mean([decision.elapsed_s / 1200 for decision in found]) >= saved_at_least


def test_stopping_at_the_first_tight_interval_would_not_cover(ar1):
    rows = 1000 * (1 + ar1(np.random.default_rng(32), 0.9, series=300, samples=1200, sd=0.03))
    hits = []
    for row in rows:
        looks = (int(30 * 1.1**k) for k in range(39))
        end = next((n for n in looks if series_interval(row[:n]).relative_half_width <= 0.02), 1200)
        hits.append(series_interval(row[:end]).contains(1000))
    assert np.mean(hits) < 0.92, "below the 93% that the rule keeps"


KNOWN = StopRule(maximum_s=600, background=Background(period_s=60, stall_s=5, seen_s=1200))


def test_no_load_is_precise_before_five_periods():
    assert KNOWN.looks()[0] == 300
    assert replay(_calm(600), rule=KNOWN).elapsed_s == 375
    short = replay(_calm(45), rule=replace(KNOWN, maximum_s=45))
    assert not short.precise
    assert short.interval is None
    assert short.reason == "maximum reached; shorter than 5 periods of 60 s of the system's background work"


def test_a_drift_is_never_precise():
    """15% in 20 min: 3.75% in the 5 min at which white noise of 2% would end."""
    rate = _calm(600, spread=0.02) * (1 - 0.15 * np.arange(600) / 1200)
    found = replay(rate, rule=KNOWN)
    assert not found.precise


def test_checkpoints_are_judged_over_whole_periods():
    """Half of the rate for 5 s a minute: 4.2% less than between them; what is judged is whole minutes."""
    rate = _calm(600)
    rate[np.arange(600) % 60 >= 55] *= 0.5
    found = replay(rate, rule=KNOWN)
    assert found.precise
    assert found.interval.contains(1000 * (1 - 0.5 * 5 / 60))


def test_stalls_that_may_have_been_missed_widen_the_interval_downwards():
    """None seen in 1,500 s: up to -ln(0.05) = 3.0 in 1,500 s, 5 s each: 1.0% (Garwood's bound for none)."""
    below, above = missed(Background(stall_s=5, seen_s=1125), 0, 375)
    assert below == pytest.approx(-math.log(0.05) * 5 / 1500)
    assert above == 0
    # One in 375 s, none before: 4.744 and 0.051 are the bounds for one (Garwood's table).
    below, above = missed(Background(stall_s=5), 1, 375)
    assert below == pytest.approx((4.744 - 1) * 5 / 375, rel=1e-3)
    assert above == pytest.approx((1 - 0.0513) * 5 / 375, rel=1e-3)


def test_a_stall_before_the_whole_periods_is_not_in_their_mean():
    """375 s are judged over their last six minutes; one stall in 375 and 1,200 s allows 4.744 (Garwood), 5 s each."""
    rate = _calm(375, spread=0.001)
    rate[3:8] = 0
    found = stop_decision(rate, rule=KNOWN).interval
    assert found.estimate == pytest.approx(1000, rel=1e-3)
    assert 1 - found.low / found.estimate == pytest.approx(4.744 * 5 / 1575, abs=5e-4)
    # Within them it is: 5 of 360 s are missing from the mean already.
    rate = _calm(375, spread=0.001)
    rate[100:105] = 0
    found = stop_decision(rate, rule=replace(KNOWN, target=0.5)).interval
    assert found.estimate == pytest.approx(1000 * (1 - 5 / 360), rel=1e-3)


def test_what_earlier_loads_have_shown_is_learned():
    rate = _calm(600)
    rate[np.arange(600) % 100 < 5] *= 0.5
    rate[350:355] = 0
    found = learned(Background(period_s=60, stall_s=5), [rate, _calm(300)])
    assert found.period_s == pytest.approx(100)
    assert (found.seen_s, found.stalls) == (900, 1)
    assert learned(Background(period_s=60), [_calm(600, seed=s) for s in range(5)]).period_s == 60


def test_a_short_load_teaches_nothing_about_steadiness():
    """Shorter than five periods, a load that rises may be one of whose work in the background half is seen."""
    rising = np.linspace(500, 1500, 60)
    assert not taught(KNOWN, [rising]).background.moved
    assert taught(KNOWN, [np.linspace(500, 1500, 600)]).background.moved
