"""What campaigns differ by: by hand, and by the rate at which equal campaigns are called different."""

import math

import numpy as np
import pandas as pd
import pytest

from benchbook.errors import BadInput
from benchbook.stats.campaign_effect import CampaignEffect, Repeats, campaign_effects, stated
from benchbook.stats.cellwise import compare_cells, repetitions_needed


def repeats(means, error2=0.0, strata="aaa"):
    found = pd.DataFrame(means, dtype=float).set_axis(pd.MultiIndex.from_arrays([list(strata), range(len(means))]))
    return Repeats(found, found * 0 + error2)


def of(*args, **kwargs):
    return campaign_effects({"group": repeats(*args, **kwargs)}, 0.02).get("group")


def test_campaigns_that_shift_all_cells_alike_have_their_own_degrees_of_freedom():
    # Deviations 0, 0.03, -0.03: variance 0.0018 / 2 = 0.0009 with 2 degrees of freedom, 0.0001 of it the repetitions'.
    # The prior has 10: (10 x (0.02^2 + 0.0001) + 2 x 0.0009) / 12.
    found = of([[5.0, 7.0], [5.03, 7.03], [4.97, 6.97]], 0.0001)
    assert found.between == pytest.approx(0.0068 / 12)
    assert found.variance == pytest.approx(0.0056 / 12)
    assert (found.df, found.campaigns) == (pytest.approx(12), 3)


def test_cells_that_vary_by_themselves_add_degrees_of_freedom():
    # Variances 0.0001 and 0.0003 without covariance: (1 + 3)^2 / (1 + 9) = 1.6 cells, times 2.
    found = of([[0.01, 0.01], [-0.01, 0.01], [0.0, -0.02]])
    assert found.between == pytest.approx((10 * 0.0004 + 3.2 * 0.0002) / 13.2)
    assert found.df == pytest.approx(13.2)


def test_tables_that_a_campaign_shifts_alike_are_one_witness_and_others_are_several():
    alike = [[0.0], [0.03], [-0.03]]
    found = campaign_effects(dict.fromkeys("abc", repeats(alike)))
    assert [one.df for one in found.values()] == pytest.approx([12] * 3)
    assert [one.variance for one in found.values()] == pytest.approx([(10 * 0.0004 + 2 * 0.0009) / 12] * 3)
    apart = {"a": [0, 1, -1, 0], "b": [0, 1, 1, -2], "c": [3, -1, -1, -1]}
    known = campaign_effects({name: repeats([[0.01 * v] for v in each], strata="aaaa") for name, each in apart.items()})
    assert all(one.df > 13 + 3 for one in known.values()), "a table alone has 3 degrees of freedom"


def test_a_table_differs_as_all_do_in_the_mean_or_as_its_own_campaigns_do_if_more():
    # Variances 0.0009 and 0.0001, 0.0005 in the mean, on 2 degrees of freedom, beside the prior's 0.0004 on 10.
    found = campaign_effects({"a": repeats([[0.0], [0.03], [-0.03]]), "b": repeats([[0.0], [0.01], [-0.01]])})
    assert found["a"].variance == pytest.approx((10 * 0.0004 + 2 * 0.0009) / 12)
    assert found["b"].variance == pytest.approx((10 * 0.0004 + 2 * 0.0005) / 12)


def test_strata_differ_in_level_and_only_repeats_within_them_count():
    # Two of each, 0.02 apart: 4 times 0.01^2 on 2 degrees of freedom; that b lies 0.5 higher says nothing.
    found = of([[1.0], [1.02], [1.5], [1.52]], strata="aabb")
    assert found.between == pytest.approx((10 * 0.0004 + 2 * 0.0002) / 12)
    assert found.df == pytest.approx(12)
    assert of([[1.0], [1.02], [1.5]], strata="abc") is None, "no two repeat each other"


def test_one_campaign_is_no_history_and_a_gap_is_bad_input():
    assert of([[1.0]], strata="a") is None
    assert (stated(0.03).variance, stated(0.03).campaigns) == (pytest.approx(0.0009), 0)
    with pytest.raises(BadInput, match="every campaign needs every cell"):
        of([[1.0], [math.nan], [1.0]])


def test_one_repetition_lays_all_its_spread_to_the_campaigns():
    assert of([[1.0], [1.02], [1.04]], math.nan).variance == pytest.approx(0.0004)


def test_the_error_of_a_ratio_is_widened_by_hand():
    effect = CampaignEffect(between=0.0005, within=0.0001, df=4, campaigns=5)
    error2, df = effect.widened(0.0002, 8)
    assert error2 == pytest.approx(0.0002 + 2 * 0.0004)
    # 0.001^2 / ((2 * 0.0005)^2 / 4 + 0.0002^2 / 8) = 1e-6 / (2.5e-7 + 5e-9)
    assert df == pytest.approx(1 / 0.255)


def test_a_component_of_nothing_by_luck_keeps_its_few_degrees_of_freedom():
    error2, df = CampaignEffect(between=0.0, within=0.0001, df=2, campaigns=3).widened(0.0002, math.inf)
    assert error2 == pytest.approx(0.0002)
    assert df == pytest.approx(2)


def test_repetitions_do_not_average_out_what_campaigns_differ_by():
    small, large = (CampaignEffect(v + 1e-5, 1e-5, 30, 31) for v in (0.00002, 0.001))
    alone = repetitions_needed(0.03**2, 0.05)
    assert alone < repetitions_needed(0.03**2, 0.05, effect=small) < 4 * alone
    assert repetitions_needed(0.03**2, 0.05, effect=large) is None


# -- rates --------------------------------------------------------------------------------------------------------

CELLS, REPETITIONS, SPREAD = 15, 3, 0.01


def campaign(dice, effect, change=0.0):
    """Values of cells by repetitions; the campaign shifts all of them, `change` the first cell alone."""
    shift = dice.normal(0, effect) + np.where(np.arange(CELLS) == 0, math.log1p(change), 0.0)
    return np.exp(np.log(1000 * np.arange(1, CELLS + 1)) + shift + dice.normal(0, SPREAD, (REPETITIONS, CELLS)))


def repeated(dice, effect, count):
    logs = [np.log(campaign(dice, effect)) for _ in range(count)]
    means = [one.mean(axis=0) for one in logs]
    return of(means, np.array([one.var(axis=0, ddof=1) / REPETITIONS for one in logs]), strata="a" * count)


def compared(a, b, effect=None):
    cells = np.tile(np.arange(CELLS), REPETITIONS)
    parts = [
        pd.DataFrame({"cell": cells, "kind": "tps", "arm": arm, "value": v.ravel()})
        for arm, v in zip("ab", (a, b), strict=True)
    ]
    return compare_cells(
        pd.concat(parts), arms=("b", "a"), effects=dict.fromkeys(range(CELLS), effect) if effect else {}
    )


def share_that_differs(effect, history, times):
    dice = np.random.default_rng(11)
    found = [
        compared(campaign(dice, effect), campaign(dice, effect), repeated(dice, effect, history) if history else None)
        for _ in range(times)
    ]
    return np.mean([one.different.any() for one in found])


@pytest.mark.slow
def test_equal_campaigns_show_a_difference_in_at_most_5_percent_once_a_history_is_known():
    # Two standard errors of a share of 5% over 80 simulations are 5%.
    assert share_that_differs(0.0, 0, 80) <= 0.05 + 0.05
    assert share_that_differs(0.025, 3, 80) <= 0.05 + 0.05
    assert share_that_differs(0.025, 8, 80) <= 0.05 + 0.05
    assert share_that_differs(0.025, 0, 40) > 0.3, "what campaigns differ by has to be counted"


@pytest.mark.slow
def test_a_loss_of_10_percent_is_found_with_three_others_recorded():
    dice = np.random.default_rng(13)
    found = [
        compared(campaign(dice, 0.02), campaign(dice, 0.02, change=-0.1), repeated(dice, 0.02, 3)).different[0]
        for _ in range(40)
    ]
    # With their own 2 degrees of freedom it would be 1 to 3 of 100.
    assert np.mean(found) > 0.2


@pytest.mark.slow
def test_three_repetitions_find_5_percent_where_campaigns_do_not_differ():
    dice = np.random.default_rng(12)
    found = [compared(campaign(dice, 0), campaign(dice, 0, change=-0.05)).different for _ in range(40)]
    assert np.mean([one[0] for one in found]) > 0.9
