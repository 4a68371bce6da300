"""Spreads of contrasts: their own, those that cells lend each other, and how often intervals hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from toy_report import evidence, ledger

from benchbook.claims.contrasts import Contrast, pool, with_pooled
from benchbook.claims.evidence import Evidence
from benchbook.claims.figures import Term
from benchbook.claims.hypothesis import SystemFigures
from benchbook.published.tables import Published


def test_pooled_variance_is_that_of_the_residuals_of_cell_and_repetition() -> None:
    # Two repetitions of three cells: differences 0.1, 0.2, 0.6, mean 0.3; residuals +-0.1, +-0.05, +-0.15: squares sum
    # to 2 x (0.01 + 0.0025 + 0.0225) = 0.07 on (3 - 1) x (2 - 1) = 2 degrees of freedom.
    assert pool(pd.DataFrame([[1.0, 1.1], [2.0, 2.2], [5.0, 5.6]])) == pytest.approx((0.035, 2))


def test_two_cells_know_nothing_of_each_other() -> None:
    assert pool(pd.DataFrame([[1.0, 1.1, 1.2], [2.0, 2.2, 2.1]])) is None


def test_a_cell_that_lacks_a_repetition_takes_part_with_the_others() -> None:
    found = pool(pd.DataFrame([[1.0, 1.1, 1.3], [2.0, 2.2, math.nan], [5.0, 5.6, 5.2], [3.0, 3.1, 3.3]]))
    assert found is not None
    # 11 values less 4 cells and 3 repetitions, of which one constant is shared.
    assert found[1] == pytest.approx(11 - 4 - 2)


@pytest.mark.parametrize(
    ("times", "n", "lent", "df"),
    [
        (1, 3, 0.035, 2),  # no more than there are residuals
        (3, 3, 0.21 / 8, 4),  # 9 cells: squares 3 x 0.07 on (9 - 1) x (2 - 1) degrees of freedom
        (3, 8, 0.21 / 8, 7),  # its own repetitions know more
    ],
)
def test_the_lent_spread_weighs_twice_the_own_and_gives_four_degrees_of_freedom(
    times: int, n: int, lent: float, df: float
) -> None:
    moves = [0.1, 0.2, 0.6] * times
    terms = [Term("t", "y", {"x": x}) for x in range(len(moves))]
    effects = np.linspace(0, 0.1, n)
    compared = [Contrast("", effects, terms=(terms[0], other), weights=(1.0, -1.0)) for other in terms[1:]]
    found = with_pooled(
        [compared],
        lambda term: pd.Series([0.0, moves[int(term.rows["x"])]]),
        lambda term: "1/s",
        lambda term: ("t", "s", term.rows["x"]),
    )[0][0]
    # A ratio has two figures.
    assert found.pooled == pytest.approx(((2 * 2 * lent + effects.var(ddof=1)) / 3, df))


def test_contrasts_of_one_trial_and_of_two_units_keep_their_own() -> None:
    def logs(term: Term) -> pd.Series[float]:
        return pd.Series(np.random.default_rng(len(term.metric) + int(term.rows["x"])).normal(size=4))

    def contrast(one: Term, other: Term) -> Contrast:
        return Contrast("", np.array([0.1, 0.2, 0.4, 0.1]), terms=(one, other), weights=(1.0, -1.0))

    a, b, c, d = (Term("t", "y", {"x": x}) for x in (1, 2, 3, 4))
    other_unit, same_trial = Term("t", "zz", {"x": 2}), Term("t", "yyy", {"x": 1})
    (found,) = with_pooled(
        [[contrast(a, b), contrast(c, d), contrast(a, other_unit), contrast(a, same_trial)]],
        logs,
        lambda term: term.metric[0],
        lambda term: (term.table, "s", term.rows["x"]),
    )
    assert [one.pooled is not None for one in found] == [True, True, False, False]


def test_a_figure_that_stands_twice_counts_twice_in_its_rounding(toy: Published) -> None:
    # log(y2 / y1) - log(y4 / y2) holds the log of y2 twice; rounding to whole numbers: 1 / 12, Sheppard.
    steps = [{"table": "a", "metric": "y", "rows": {"x": b}, "over": {"rows": {"x": a}}} for a, b in ((1, 2), (2, 4))]
    claim = ledger({"hypothesis": "order", "figures": steps}).claims[0]
    frame = pd.DataFrame({"x": [1, 2, 4] * 2, "y": [100.0, 200, 300] * 2, "repetition": [1, 1, 1, 2, 2, 2]})
    (found,) = claim.contrasts(SystemFigures(toy, Evidence({"a": frame.assign(system="s")}, ["s"]), "s"))
    assert found.weights == (1, -1, -1, 1)
    assert found.rounding == pytest.approx((1 / 100**2 + 4 / 200**2 + 1 / 300**2) / 12)


@pytest.mark.parametrize("repetitions", [3, 5])
def test_95_percent_intervals_hold_the_truth(toy: Published, repetitions: int) -> None:
    """Four cells of 5% noise each, whole repetitions 20%: of 300 intervals 93% or more hold log(4)."""
    claim = ledger({"hypothesis": "increases", "table": "a", "metric": "y", "factor": "x"}).claims[0]
    held, widths = 0, []
    for seed in range(300):
        figures = SystemFigures(
            toy, evidence({"a": {"y": [100, 200, 300, 400]}}, cv=0.05, repetitions=repetitions, seed=seed), "s"
        )
        ((found,),) = with_pooled([claim.contrasts(figures)], figures.logs, figures.dimension, figures.trial_of)
        low, high = found.interval(0.05)
        held += low < math.log(4) < high
        widths.append(high - low)
    assert held >= 0.93 * 300
    assert np.median(widths) < 0.6
