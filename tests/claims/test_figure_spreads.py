"""Spreads of comparisons from those of their figures: the additive model, the sums, what pairing brings, one trial."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from toy_report import published_toy

from benchbook.claims import spreads
from benchbook.claims.evidence import Evidence
from benchbook.claims.figure_spreads import (
    FigureSpreads,
    RepeatedFigures,
    additive_residuals,
    cancels_blocks,
    figure_spreads,
)
from benchbook.claims.hypothesis import Arm
from benchbook.claims.oddity import WIDER
from benchbook.claims.parts import Part, Spread
from benchbook.claims.terms import Term

TERMS = [Term("a", "y", {"x": x}) for x in (1, 2, 4, 8)]
APART = np.array([-1.0, 0.0, 1.0])
# The factor of pairing is taken half a standard error high, where all figures have 20 degrees of freedom.
HIGH = 1 + 0.5 * math.sqrt(2 / 20)


def part(a: Term, b: Term, variance: float, **more: object) -> Part:
    """The comparison of two figures whose effects of three repetitions have this variance."""
    made = Part("p", math.sqrt(variance) * APART, terms=(a, b), signs=(1, -1))
    return replace(made, **more)  # type: ignore[arg-type]


def test_the_additive_model_by_hand() -> None:
    # Means of rows 1 and 0, of columns 0, 0 and 1.5, of all 0.5: a figure is repeated as often as the other.
    residuals, dfs, starts = additive_residuals(np.array([[0.0, 0, 3], [0, 0, 0]]), ["s", "s"])
    assert residuals == pytest.approx(np.array([[-0.5, -0.5, 1], [0.5, 0.5, -1]]))
    assert dfs == pytest.approx([1, 1])
    assert (starts.loc["s"] - starts.loc["s", 0]).tolist() == pytest.approx([0, 0, 1.5])


def test_what_a_start_does_to_its_system_is_no_spread_of_its_figures() -> None:
    # The second system's two figures rise by 1 and by 2 with its starts, and by nothing else.
    values = np.array([[0.0, 0, 3], [0, 0, 0], [5, 6, 8], [7, 8, 10]])
    residuals, dfs, starts = additive_residuals(values, ["s", "s", "t", "t"])
    assert residuals == pytest.approx(np.array([[-0.5, -0.5, 1], [0.5, 0.5, -1], [0, 0, 0], [0, 0, 0]]))
    assert dfs == pytest.approx([1, 1, 1, 1])
    assert (starts.loc["t"] - starts.loc["t", 0]).tolist() == pytest.approx([0, 1, 3])


def test_what_was_not_measured_costs_its_figure_a_degree_of_freedom() -> None:
    # Eight values; three figures and three repetitions take five: their means, and two differences of repetitions.
    values = np.array([[1.0, 2, 4], [0, 1, 5], [3, 3, math.nan]])
    residuals, dfs, _ = additive_residuals(values, ["s"] * 3)
    assert dfs.sum() == pytest.approx(3)
    assert dfs[2] < dfs[0] == pytest.approx(dfs[1])
    assert np.isnan(residuals).sum() == 1
    assert np.nansum(residuals, axis=1) == pytest.approx([0, 0, 0])


def test_a_figure_that_nothing_else_was_repeated_beside_knows_nothing() -> None:
    _, dfs, _ = additive_residuals(np.array([[1.0, 2, 4]]), ["s"])
    assert dfs.tolist() == [0]


def test_a_comparison_varies_by_the_sum_of_its_figures() -> None:
    a, b, c, _ = TERMS
    known = FigureSpreads({a.key: Spread(0.04, 4), b.key: Spread(0.01, 2), c.key: Spread(9.0, 1)}, most_df=20)
    (found,) = known.of([part(a, b, 0.05)])
    # Satterthwaite: 0.05^2 / (0.04^2 / 4 + 0.01^2 / 2).
    assert (found.variance, found.df) == (pytest.approx(0.05 * HIGH), pytest.approx(0.0025 / 0.00045))
    over_c = part(a, b, 0.05, terms=(a, c, b, c), signs=(1, -1, -1, 1))
    assert known.of([over_c]) == [found], "what both are divided by cancels"
    (at_most,) = replace(known, most_df=3).of([part(a, b, 0.05)])
    assert at_most.df == 3


def test_figures_that_share_more_than_their_repetition_differ_less() -> None:
    a, b, c, d = TERMS
    known = FigureSpreads({term.key: Spread(0.02, 6) for term in TERMS}, most_df=20)
    # Three comparisons say a quarter of the sums, 0.01 of 0.04, against three that are taken to say the whole.
    pairs = [part(x, y, 0.01) for x, y in ((a, b), (b, c), (c, d))]
    assert [each.variance for each in known.of(pairs)] == pytest.approx([0.04 * (3 + 0.75) / 6 * HIGH] * 3)
    assert known.of([part(a, b, 0.04, resolution=0.09)])[0].variance == pytest.approx(0.09), "rounding is the least"


def test_what_starts_of_two_systems_differ_by_is_known_from_as_many_starts_alone() -> None:
    a, b, c, d = TERMS
    systems = dict(zip((term.key for term in TERMS), "sstt", strict=True))
    starts = pd.DataFrame([[0.0, 0.3, 0.6], [0.0, 0.0, 0.0]], index=["s", "t"])
    known = FigureSpreads({term.key: Spread(0.02, 6) for term in TERMS}, 20, systems, starts)
    (between,) = known.of([part(a, c, 1.0)])
    # The starts differ with variance 0.09, with two degrees of freedom, which is half a standard error high 0.135. Of
    # it the figures' own spread makes 2 x 0.02 / 2.
    assert between.variance == pytest.approx(0.04 * HIGH + 0.115)
    assert between.df == pytest.approx(between.variance**2 / (0.135**2 / 2 + (0.04 * HIGH) ** 2 / 12))
    ratios = part(a, b, 0.08, terms=(a, c, b, d), signs=(1, -1, -1, 1))
    assert known.of([ratios])[0] == Spread(pytest.approx(0.08 * HIGH), pytest.approx(20)), "starts cancel"
    mean = part(a, b, 1.0, terms=(a, c, b, d), signs=(1, -1, 1, -1), averaged=2)
    assert known.of([mean])[0].variance == pytest.approx(0.02 * HIGH + 0.115), "and a mean has them whole"


def test_what_slows_one_table_alone_is_in_comparisons_with_another() -> None:
    # In each repetition all of table b is off by as much; its figures, and those of a, hardly vary beside each other.
    rng = np.random.default_rng(8)
    off, terms = np.array([0.0, 0.2, -0.1, 0.3]), [Term(table, "y", {"x": x}) for table in "ab" for x in (1, 2, 4)]
    values = {t.key: 0.001 * rng.standard_normal(4) + (off if t.table == "b" else 0) for t in terms}
    found = figure_spreads(terms, RepeatedFigures(lambda t: pd.Series(values[t.key]), lambda _: False, lambda _: "s"))
    assert found is not None
    across, within = found.of([part(terms[0], terms[3], 1.0), part(terms[3], terms[4], 2e-6)])
    # The variance of (0, 0.2, -0.1, 0.3) is 0.1 / 3, with three degrees of freedom: 1.41 times that, half a standard
    # error high.
    assert (across.variance, across.df) == (pytest.approx(1.408 * 0.1 / 3, rel=0.03), pytest.approx(3, rel=0.01))
    assert within.variance < 1e-5


def test_comparisons_of_systems_do_not_borrow_from_each_other() -> None:
    a, b, c, d = TERMS
    named = RepeatedFigures(
        lambda term: pytest.fail("asked for its figures"), lambda _: True, lambda t: str(t.rows["x"])
    )
    pairs = [part(a, b, 0.01), part(b, c, 0.02), part(c, d, 0.03)]
    assert [each.borrowed for each in spreads.moderated([pairs], published_toy(), named)[0]] == [None] * 3


def test_comparisons_of_two_tables_do_not_borrow_from_those_within_one() -> None:
    # Three repetitions; table b's are off by 0, 0.2 and -0.1 as a whole, of variance 0.07 / 3, half a standard error
    # high 0.035; all else varies by 0.1%.
    rng = np.random.default_rng(8)
    terms = [Term(table, "y", {"x": x}) for table in "ab" for x in (1, 2, 4, 8)]
    off = {"a": np.zeros(3), "b": np.array([0.0, 0.2, -0.1])}
    values = {t.key: off[t.table] + 0.001 * rng.standard_normal(3) for t in terms}
    pairs = [(i, i + 4) for i in range(4)] + [(i, i + 1) for i in (0, 1, 2, 4, 5, 6)]
    parts = [
        replace(part(terms[i], terms[j], 1.0), effects=values[terms[i].key] - values[terms[j].key]) for i, j in pairs
    ]
    known = RepeatedFigures(lambda t: pd.Series(values[t.key]), lambda _: False, lambda _: "s")
    found = [each.spread for each in spreads.moderated([parts], published_toy(), known)[0]]
    assert [each.variance for each in found[:4]] == pytest.approx([0.035] * 4, rel=0.05)
    assert [each.df for each in found[:4]] == pytest.approx([2] * 4, rel=0.01)
    assert max(each.variance for each in found[4:]) < 1e-5


def repeated(values: dict[int, list[float]]) -> RepeatedFigures:
    return RepeatedFigures(lambda term: pd.Series(values[int(term.rows["x"])]), lambda _: False, lambda _: "s")


def test_a_figure_that_varies_unlike_the_others_is_named_in_its_comparisons() -> None:
    rng = np.random.default_rng(5)
    values = {x: (0.01 * rng.standard_normal(5)).tolist() for x in range(1, 13)} | {4: [0.5, -0.5, 1.1, -1.2, 0.1]}
    terms = [Term("a", "y", {"x": x}) for x in values]
    found = figure_spreads(terms, repeated(values))
    assert found is not None
    odd, calm = found.of([part(terms[3], terms[0], 1.0), part(terms[1], terms[0], 0.0002)])
    assert (odd.odd, calm.odd) == (WIDER, "")
    assert odd.df == pytest.approx(4 * 11 / 12, rel=0.1), "all but its own degrees of freedom count for nothing"
    assert calm.df > 8


def test_rates_of_one_trial_that_move_as_one_are_one_figure() -> None:
    # Sagas, transactions and statements of five trials: the last two are 4 and 7 times the first, within rounding.
    rng = np.random.default_rng(4)
    whole = 0.03 * rng.standard_normal((5, 4)) + [0.0, 0.2, -0.1, 0.3]
    values = {
        (rate, x): whole[x] + math.log(times) + 1e-5 * rng.standard_normal(4)
        for x in range(5)
        for rate, times in (("sagas", 1), ("transactions", 4), ("statements", 7))
    }
    terms = [Term("a", rate, {"x": x}) for rate, x in values]
    known = RepeatedFigures(
        lambda term: pd.Series(values[term.metric, int(term.rows["x"])]),
        lambda of: len({term.rows["x"] for term in of}) == 1,
        lambda _: "s",
    )
    alone, all_rates = figure_spreads(terms[::3], known), figure_spreads(terms, known)
    assert alone is not None
    assert all_rates is not None
    # (5 - 1) x (4 - 1) degrees of freedom, of five figures.
    assert all_rates.most_df == pytest.approx(12)
    compared = part(terms[0], terms[3], 0.001)
    assert all_rates.of([compared]) == alone.of([compared])
    of_statements = part(terms[2], terms[5], 0.001)
    assert all_rates.of([of_statements]) == alone.of([compared])


def test_rates_of_one_trial_that_differ_are_figures_of_their_own() -> None:
    # They share what their repetition did, which is ten times what tells them apart.
    rng = np.random.default_rng(4)
    values = {term.key: 0.02 * rng.standard_normal(4) + [0.0, 0.2, -0.1, 0.3] for term in TERMS}
    known = RepeatedFigures(lambda term: pd.Series(values[term.key]), lambda _: True, lambda _: "s")
    found = figure_spreads(TERMS, known)
    assert found is not None
    assert found.most_df == pytest.approx(9)


def test_too_few_figures_know_nothing_of_each_other() -> None:
    assert figure_spreads(TERMS[:2], repeated({1: [0, 1, 2], 2: [1, 0, 3]})) is None


def test_only_comparisons_of_figures_lose_what_a_repetition_shares() -> None:
    a, b, c, _ = TERMS
    assert cancels_blocks(part(a, b, 1.0))
    assert not cancels_blocks(part(a, b, 1.0, terms=(a, b, c), signs=(1, -1, 1)))
    assert not cancels_blocks(part(a, b, 1.0, signs=()))
    assert not cancels_blocks(part(a, b, 1.0, scale="tau"))


def test_figures_of_one_trial_are_compared_among_themselves() -> None:
    # Both ends of a program, in one trial, go up and down together; no spread of theirs comes from single figures.
    rows = {"x": [1, 1, 2, 2], "end": ["in", "out"] * 2, "y": 1.0, "system": "s", "repetition": 1}
    found = Evidence({"a": pd.DataFrame(rows)}, ["s"], {"a": frozenset({"x"})})
    arm = Arm(published_toy(), found, "s")
    ends = [Term("a", "y", {"x": 1, "end": end}) for end in ("in", "out")]
    assert arm.one_trial(ends)
    assert not arm.one_trial([ends[0], Term("a", "y", {"x": 2, "end": "in"})])
    assert not arm.one_trial([ends[0], ends[1]._replace(system="t")])
    never = RepeatedFigures(lambda term: pytest.fail("asked for its figures"), lambda _: True, lambda _: "s")
    a, b, c, d = TERMS
    together = [part(a, b, 0.01), part(b, c, 0.02), part(c, d, 0.03)]
    moderated = spreads.moderated([together], published_toy(), never)[0]
    assert all(each.borrowed is not None for each in moderated)
