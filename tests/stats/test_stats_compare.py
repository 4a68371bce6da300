"""Comparisons: by hand, and by the rate at which equal data are called different."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchbook.errors import BadInput
from benchbook.stats.cellwise import compare_cells, repetitions_needed
from benchbook.stats.estimates import holm


def _pair(new, base):
    """One cell alone, as a row."""
    rows = [(0, "x", arm, value) for arm, values in (("new", new), ("base", base)) for value in values]
    found = compare_cells(pd.DataFrame(rows, columns=["cell", "kind", "arm", "value"]), arms=("new", "base"))
    return found.iloc[0]


A, B = [90.0, 100.0, 110.0], [198.0, 200.0, 202.0]


def test_single_repetitions_compare_to_nothing_known():
    found = _pair([100], [90])
    assert found["ratio"] == pytest.approx(100 / 90)
    assert math.isnan(found["p_value"])
    assert not found["equivalent"]


def test_a_cell_alone_is_judged_by_welch_on_its_logs():
    # Means 100 and 200; the variances of the logs stand for those of the relative errors.
    found, logs = _pair(A, B), (np.log(A), np.log(B))
    parts = [part.var(ddof=1) / 3 for part in logs]
    df = sum(parts) ** 2 / sum(part**2 / 2 for part in parts)
    assert found["df"] == pytest.approx(df)
    assert found["p_value"] == pytest.approx(2 * stats.t.sf(math.log(2) / math.sqrt(sum(parts)), df))


def test_no_spread_at_all_is_not_a_difference_by_itself():
    assert _pair([5, 5], [5, 5])["p_value"] == 1
    assert _pair([5, 5], [6, 6])["p_value"] == pytest.approx(1 / 3)


def test_holm_by_hand():
    # Sorted 0.01, 0.02, 0.04 times 3, 2, 1: 0.03, 0.04, 0.04; what was not tested does not count.
    assert holm([0.04, 0.01, 0.02]).tolist() == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.03, math.nan, 0.5])[0] == pytest.approx(0.06)
    assert np.isnan(holm([0.03, math.nan])[1])
    assert np.isnan(holm([math.nan])).all()


def test_equivalence_is_shown_not_assumed():
    tight, wide = [99.5, 100, 100.5], [80, 100, 120]
    assert _pair(tight, [100, 100.4, 99.6])["equivalent"]
    assert not _pair(wide, [100, 100.4, 99.6])["equivalent"], "no difference seen is not no difference"
    assert not _pair([90, 90.2, 89.8], tight)["equivalent"]
    assert _pair([5, 5], [5, 5])["equivalent"]


def test_equivalence_errs_at_most_at_its_level():
    noise = np.exp(0.01 * np.random.default_rng(9).standard_normal((2, 300, 5)))
    found = [_pair(0.95 * a, b)["equivalent"] for a, b in zip(*noise, strict=True)]
    # Two standard errors of a share of 5% over 300 simulations are 2.5%.
    assert np.mean(found) <= 0.05 + 0.025


def _table(cells, repetitions, *, changed=0):
    rows = [
        (arm, cell, 1000 * (cell + 1) * (1.3 if arm == "new" and cell < changed else 1) * math.exp(noise))
        for arm in ("new", "base")
        for cell in range(cells)
        for noise in np.linspace(-0.03, 0.03, repetitions)
    ]
    return pd.DataFrame(rows, columns=["arm", "threads", "tps"])


def _compare(frame, **options):
    named = frame.rename(columns={"threads": "cell", "tps": "value"}).assign(kind="tps")
    return compare_cells(named, arms=("new", "base"), **options)


@pytest.mark.parametrize("repetitions", [3, 5])
def test_equal_tables_are_called_different_in_at_most_5_percent(repetitions):
    a, b = 1000 * np.exp(0.03 * np.random.default_rng(21).standard_normal((2, 2000, 15, repetitions)))
    p_values = stats.ttest_ind(np.log(a), np.log(b), axis=-1, equal_var=False).pvalue
    # Holm calls anything different exactly when its smallest adjusted value, 15 times the smallest p, is below 5%.
    smallest = np.minimum(15 * p_values.min(axis=1), 1)
    assert [holm(p).min() for p in p_values[:20]] == pytest.approx(smallest[:20])
    assert np.mean(smallest < 0.05) <= 0.05
    assert np.mean(p_values.min(axis=1) < 0.05) > 0.3, "the same tables without Holm"


@pytest.mark.parametrize("few", ["new", "base"])
def test_equal_tables_of_2_and_6_repetitions_are_called_different_in_at_most_5_percent(few):
    # 12% where the variances of each arm were moderated by themselves.
    rng, wrong = np.random.default_rng(26), 0
    for _ in range(150):
        rows = [
            (arm, cell, 1000 * math.exp(0.03 * noise))
            for arm in ("new", "base")
            for cell in range(15)
            for noise in rng.standard_normal(2 if arm == few else 6)
        ]
        wrong += _compare(pd.DataFrame(rows, columns=["arm", "threads", "tps"])).different.any()
    assert wrong <= 7


def _steady(spreads, factors=(1, 1)):
    """Logs of three repetitions: -d, 0, d have the variance d^2; d is a cell's spread, times its arm's factor."""
    rows = [
        (arm, cell, math.exp(noise))
        for arm, times in zip(("new", "base"), factors, strict=True)
        for cell, spread in enumerate(spreads)
        for noise in (-times * spread, 0, times * spread)
    ]
    return pd.DataFrame(rows, columns=["arm", "threads", "tps"])


def test_cells_lend_their_usual_spread_arm_by_arm():
    # The median of d^2 is 0.00065, of chi-square over its 2 degrees of freedom ln 2; the new arm varies twice as much:
    # (4 + 1) x 0.00065 / 3 / ln 2 = 0.00156. The four differ by no more than chance makes of three repetitions.
    found, usual = _compare(_steady([0.01, 0.02, 0.03, 0.04], (2, 1))), 0.00065 / 3 / math.log(2)
    assert (found.error**2).tolist() == pytest.approx([5 * usual] * 4, rel=1e-3)
    # Half of the 8 in an arm; Welch: (4 + 1)^2 / ((4^2 + 1^2) / 4).
    assert found.df.tolist() == pytest.approx([4 * 25 / 17] * 4)
    # The variance of one repetition: the error's over 2 / 3.
    assert found.variance.iloc[0] == pytest.approx(7.5 * usual)


def test_a_cell_that_differs_in_kind_has_its_own_spread_and_turns_no_other():
    found = _compare(_steady([0.01] * 6 + [0.1], (2, 1)))
    assert (found.error**2).tolist() == pytest.approx([5e-4 / 3 / math.log(2)] * 6 + [0.05 / 3])
    assert found.df.tolist() == pytest.approx([7 * 25 / 17] * 6 + [2 * 25 / 17])


def test_spreads_that_differ_are_weighted_by_their_degrees_of_freedom():
    # A prior of 8 degrees of freedom beside the 4 of a cell; their median is that of F(4, 8), 0.915 (tables of F).
    found = _compare(_steady(0.01 * np.sqrt(stats.f.ppf((np.arange(1000) + 0.5) / 1000, 4, 8))))
    lent = 1e-4 * 0.915 * 2 / 3 / math.log(2)
    # The 750th has F = 1.662 (its quantile at 0.7495): (8 x 0.915 / ln 2 + 4 x 1.662) / 12, of 2e-4 / 3.
    assert found.error[749] ** 2 == pytest.approx((8 * lent + 4 * 1.662e-4 * 2 / 3) / 12, rel=0.01)
    assert found.df[749] == pytest.approx(12, rel=0.03)
    assert found.error[0] ** 2 == pytest.approx(lent, rel=0.01), "none is taken to vary less than most"
    # What has an F of 5% beside the usual spread differs in kind: 3.84 x 0.915 / ln 2 = 5.07, which 2.5% of all exceed.
    assert (found.df < 5).sum() == 25


def test_two_cells_have_no_middle_and_lend_their_mean_or_keep_more_of_their_own():
    # The mean of 1, 9 e-4 is 5e-4; both arms: x 2 / 3. The second varies more. 4 degrees of freedom in each arm.
    found = _compare(_steady([0.01, 0.03]))
    assert (found.error**2).tolist() == pytest.approx([10e-4 / 3, 18e-4 / 3])
    assert found.df.tolist() == pytest.approx([8, 8])


def test_a_table_that_differs_in_two_cells():
    found = _compare(_table(6, 5, changed=2))
    assert found["different"].tolist() == [True, True, False, False, False, False]
    assert found["ratio"].iloc[0] == pytest.approx(1.3)
    assert (found["low"] < found["ratio"]).all()
    assert (found["n_new"] == 5).all()


def test_a_cell_with_one_repetition_is_shown_but_not_tested():
    frame = _table(2, 3, changed=1)
    frame = frame[~((frame["threads"] == 1) & (frame["arm"] == "new"))]
    frame = pd.concat([frame, pd.DataFrame([("new", 1, 2000.0)], columns=frame.columns)])
    found = _compare(frame)
    assert np.isnan(found["p_holm"].iloc[1])
    assert not found["different"].iloc[1]
    assert found["p_holm"].iloc[0] == pytest.approx(found["p_value"].iloc[0])
    with pytest.raises(BadInput, match="both arms"):
        _compare(frame[frame["arm"] == "new"])


def test_equivalence_is_corrected_for_the_family():
    # Log spread 0.01 on both sides: error sqrt(2/3) * 0.01 = 0.00816; 0.0513 - 0.0333 is 2.20 of it, p = 0.046 with 4
    # degrees of freedom. Two cells of it have 8, p = 0.029, which for both is 0.059.
    base = np.exp([0.0, 0.01, -0.01])
    rows = [(c, arm, v) for c in (0, 1) for arm, f in (("base", 1), ("new", math.exp(0.0333))) for v in f * base]
    frame = pd.DataFrame(rows, columns=["threads", "arm", "tps"])
    assert _compare(frame[frame["threads"] == 0])["equivalent"].tolist() == [True]
    assert _compare(frame)["equivalent"].tolist() == [False, False]


def test_one_repetition_beside_cells_that_were_repeated_decides_nothing():
    """What the others vary by says nothing of a cell that may differ from them in kind."""
    others = _table(8, 3)
    once = pd.DataFrame([("base", 8, 1000.0), ("new", 8, 700.0)], columns=others.columns)
    found = _compare(pd.concat([others, once]))
    alone = found.iloc[8]
    assert alone["ratio"] == pytest.approx(0.7)
    assert np.isnan([alone["low"], alone["high"], alone["p_value"], alone["p_holm"]]).all()
    assert not alone[["different", "equivalent", "not_below", "not_above"]].any()
    assert found["p_holm"].notna().sum() == 8


def test_constants_are_told_apart_by_their_order_alone():
    rows = [
        (c, arm, v) for c, new in ((0, 5.0), (1, 6.0)) for arm, v in (("base", 5.0), ("new", new)) for _ in range(3)
    ]
    found = _compare(pd.DataFrame(rows, columns=["threads", "arm", "tps"]))
    # 20 ways to deal six values into two threes.
    assert found["p_value"].tolist() == pytest.approx([1.0, 0.1])
    assert found["equivalent"].tolist() == [True, False]


def test_repetitions_needed():
    # Cohen's table 2.4.1: d = 0.8, power 0.80, two-sided 0.05: 26 per arm; d = 0.5: 64.
    assert repetitions_needed(0.01, 0.08) == 26
    assert repetitions_needed(0.01, 0.05) == 64
    assert repetitions_needed(1e-6, math.log(2)) == 2
    assert repetitions_needed(0.25, 0.0001) is None
    assert repetitions_needed(math.nan, 0.05) is None


def test_repetitions_needed_give_the_power_they_promise():
    n, rng = repetitions_needed(0.03**2, math.log(1.1)), np.random.default_rng(24)
    a, b = np.log(1.1) + 0.03 * rng.standard_normal((1000, n)), 0.03 * rng.standard_normal((1000, n))
    seen = stats.ttest_ind(a, b, axis=-1, equal_var=False).pvalue
    assert np.mean(seen < 0.05) >= 0.7  # Welch gives away a little against the pooled test of the formula
