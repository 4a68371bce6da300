"""The stopping rule: decisions by hand, and the coverage of the interval it stops at."""

import numpy as np
import pytest

from benchbook.errors import BadInput
from benchbook.stats.autocorrelation import series_interval
from benchbook.stats.stopping import StopRule, replay, stop_decision

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
    assert second.share_of_maximum == pytest.approx(38 / 600)


def test_a_noisy_series_goes_on_and_ends_at_the_maximum():
    noisy = _calm(600, spread=0.5)
    assert not stop_decision(noisy[:300], rule=RULE).stop
    end = stop_decision(noisy, rule=RULE)
    assert end.stop
    assert not end.precise
    assert end.reason.startswith("maximum reached; within")
    assert end.share_of_maximum == 1


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


def test_samples_may_be_longer_than_a_second():
    slow = StopRule(maximum_s=3000, minimum_s=150, minimum_freedom=1)
    found = replay(_calm(300), rule=slow, interval_s=10)
    assert found.precise
    assert found.elapsed_s == 190  # the looks are at 150 and 187.5 s, and the 19th sample ends the second


def test_precision_needs_degrees_of_freedom():
    tight = StopRule(maximum_s=600, minimum_freedom=1)
    assert replay(_calm(600), rule=tight).elapsed_s < replay(_calm(600), rule=RULE).elapsed_s
    assert replay(_calm(600), rule=RULE).interval.degrees_of_freedom >= 10


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
    [{"minimum_s": 700}, {"minimum_s": 0}, {"target": 0}, {"growth": 1}, {"consecutive": 0}, {"error_share": 2}],
)
def test_a_rule_that_cannot_be_followed_is_refused(wrong):
    with pytest.raises(BadInput):
        StopRule(**{"maximum_s": 600, **wrong})


@pytest.mark.slow
@pytest.mark.parametrize(("phi", "spread", "saved_at_least"), [(0.0, 0.08, 0.8), (0.5, 0.06, 0.7), (0.9, 0.03, 0.2)])
def test_coverage_at_the_stop_and_machine_time(ar1, phi, spread, saved_at_least):
    rng = np.random.default_rng(31)
    rule = StopRule(maximum_s=1200)
    rows = 1000 * (1 + ar1(rng, phi, series=2000, samples=1200, sd=spread))
    found = [replay(row, rule=rule) for row in rows]
    judged = [decision.interval for decision in found if decision.interval is not None]
    assert len(judged) >= 0.99 * len(found)
    assert np.mean([interval.contains(1000) for interval in judged]) >= 0.93
    assert np.mean([decision.precise for decision in found]) >= 0.98
    assert all(decision.interval.relative_half_width <= 0.02 for decision in found if decision.precise)
    assert 1 - np.mean([decision.share_of_maximum for decision in found]) >= saved_at_least


def test_stopping_at_the_first_tight_interval_would_not_cover(ar1):
    rows = 1000 * (1 + ar1(np.random.default_rng(32), 0.9, series=300, samples=1200, sd=0.03))
    hits = []
    for row in rows:
        looks = (int(30 * 1.1**k) for k in range(39))
        end = next((n for n in looks if series_interval(row[:n]).relative_half_width <= 0.02), 1200)
        hits.append(series_interval(row[:end]).contains(1000))
    assert np.mean(hits) < 0.92, "below the 93% that the rule keeps"
