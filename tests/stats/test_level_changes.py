"""Changes of a level over campaigns: hand-computed steps, and what must not be one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from benchbook.errors import BadInput
from benchbook.stats.level_changes import level_changes, searched

WAVE = np.tile([0.01, -0.01], 5)


def test_a_step_has_its_place_ratio_and_interval() -> None:
    (found,) = level_changes([*WAVE, *(WAVE + math.log(1.1))])
    assert found.at == 10
    assert found.ratio == pytest.approx(1.1)
    # Two levels of ten, each 0.01 off its mean: variance 20 x 0.01^2 / 18, half width t(18) x sqrt(variance x 2 / 10).
    half = stats.t.ppf(0.975, 18) * math.sqrt(20 * 1e-4 / 18 * 0.2)
    assert (math.log(found.low), math.log(found.high)) == pytest.approx(
        (math.log(1.1) - half, math.log(1.1) + half), abs=1e-12
    )
    assert found.p_value < 1e-6


def test_one_that_is_undone_is_two() -> None:
    found = level_changes([*WAVE, *(WAVE[:4] - 0.1), *WAVE])
    assert [(one.at, round(one.ratio, 3)) for one in found] == [(10, 0.905), (14, 1.105)]


@pytest.mark.parametrize("logs", [[1.0] * 20, [0.0, 0.0, 1.0, 1.0], WAVE.tolist(), [*WAVE, 0.3, *WAVE]])
def test_what_is_no_change(logs: list[float]) -> None:
    assert level_changes(logs) == []


def test_a_level_whose_campaigns_spread_wider_is_known_less() -> None:
    assert [one.at for one in level_changes([*WAVE, 0.15, 0.15, 0.15, *WAVE])] == [10, 13]
    assert level_changes([*WAVE, 0.05, 0.25, 0.0, *WAVE]) == []


def test_no_level_is_known_better_than_its_repetitions_say() -> None:
    logs = [*WAVE, 0.15, 0.15, 0.15, *WAVE]
    spreads = [(3, 1e-6)] * len(logs)
    assert [one.at for one in level_changes(logs, spreads)] == [10, 13]
    spreads[10:13] = [(3, 0.5**2)] * 3
    assert level_changes(logs, spreads) == []
    assert level_changes(logs, [(1, math.nan)] * len(logs)) == level_changes(logs)


def test_campaigns_weigh_by_their_repetitions_and_not_by_how_alike_these_are() -> None:
    logs = [*WAVE, *(WAVE + math.log(1.1))]
    lucky = [(3, 1.5e-4)] * 19 + [(3, 0.0)]
    assert level_changes(logs, lucky)[0].ratio == pytest.approx(1.1), "one whose repetitions agree has no more of a say"
    # Campaigns differ by less than repetitions make of them, so that one of 30 repetitions weighs as 10 of 3:
    # (4 x 0.01 - 5 x 0.01 + 10 x 0.01) / 19, where the others' mean is 0.
    many = [(30, 9e-3)] + [(3, 9e-3)] * 19
    assert math.log(level_changes(logs, many)[0].ratio) == pytest.approx(math.log(1.1) - 0.09 / 19)


def test_five_to_twelve_campaigns_in_which_nothing_changed_show_no_change() -> None:
    rng, alpha, series = np.random.default_rng(3), 0.05 / 15, 400
    for campaigns in (8, 12):
        values = 0.02 * rng.standard_normal((series, campaigns, 3))
        found = [
            level_changes(one.mean(axis=1), [(3, float(v)) for v in one.var(axis=1, ddof=1)], alpha=alpha)
            for one in values
        ]
        assert sum(map(bool, found)) <= series * alpha + 3 * math.sqrt(series * alpha)


def test_the_chance_counts_every_place() -> None:
    # One place in a stretch of four: two-sided, and nothing was looked for. In one of 40 there are 37.
    assert searched(0.01, 4) == pytest.approx(0.02)
    assert searched(0.001, 40) == pytest.approx(0.074)
    assert searched(0.4, 40) == 1.0


def test_values_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(BadInput, match="logs"):
        level_changes([0.0, math.nan, 0.0, 0.0, 0.0])
    with pytest.raises(BadInput, match="alpha"):
        level_changes(WAVE, alpha=2)


def _campaigns(dice: np.random.Generator, step: float, at: int) -> np.ndarray:
    """Log means of 40 campaigns at 3% noise, with a step at one of them."""
    logs = 0.03 * dice.standard_normal(40)
    logs[at:] += step
    return logs


def test_false_alarms_are_as_rare_as_asked() -> None:
    dice = np.random.default_rng(1)
    series = [_campaigns(dice, 0.0, 40) for _ in range(300)]
    # 5% of 300 and three standard errors.
    assert np.mean([bool(level_changes(one, alpha=0.05)) for one in series]) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 300)
    assert np.mean([bool(level_changes(one, alpha=0.001)) for one in series]) <= 0.01


def test_planted_changes_are_found() -> None:
    dice = np.random.default_rng(1)
    places = [int(dice.integers(4, 37)) for _ in range(100)]
    found = [[one.at for one in level_changes(_campaigns(dice, math.log(1.1), at), alpha=0.001)] for at in places]
    assert (
        np.mean([any(abs(one - at) <= 2 for one in changes) for changes, at in zip(found, places, strict=True)]) > 0.9
    )
