"""A figure that drifts over the repetitions, unlike the others: found, counted, and named."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from toy_report import X, ledger, published_toy

from benchbook.claims import judge, own_drift
from benchbook.claims.evidence import Evidence
from benchbook.claims.parts import Part, Spread, interval, p_inside, p_outside
from benchbook.claims.terms import Term
from benchbook.stats.estimates import Array

ALONE = math.log(0.97)


def noisy(figures: int, n: int, seed: int = 1) -> Array:
    return 0.01 * np.random.default_rng(seed).standard_normal((figures, n))


def test_the_one_figure_that_drifts_by_itself_is_found() -> None:
    one = np.array([place == 3 for place in range(10)])
    sets = [noisy(10, 5, seed) + np.outer(one, ALONE * np.arange(5)) for seed in range(20)]
    assert np.mean([own_drift.drifts(logs)[one] for logs in sets]) >= 0.9
    assert np.mean([own_drift.drifts(logs[:, ::-1])[one] for logs in sets]) >= 0.9, "rising as well"
    assert np.mean([own_drift.drifts(logs)[~one] for logs in sets]) <= 0.1


def test_what_all_figures_share_is_no_drift_of_theirs() -> None:
    assert not own_drift.drifts(noisy(10, 5) + 10 * ALONE * np.arange(5)).any()


def test_four_repetitions_and_three_figures_are_too_few_to_tell() -> None:
    steep = np.outer(np.arange(10), np.arange(5))
    assert not own_drift.drifts(steep[:, :4].astype(float)).any()
    assert not own_drift.drifts(steep[:3].astype(float)).any()


@pytest.mark.parametrize("n", [5, 7])
def test_of_steady_figures_about_one_in_twenty_seems_to_drift(n: int) -> None:
    found = np.mean([own_drift.drifts(noisy(15, n, seed)).mean() for seed in range(100)])
    assert 0.01 <= found <= own_drift.BY_CHANCE + 2 * math.sqrt(0.05 * 0.95 / 1500) + 0.01


def test_an_interval_with_a_drift_holds_for_both_ends_by_hand() -> None:
    # Effects 0.5, 0.48, 0.46: 0.02 less each time, so first and last lie 0.02 off the mean 0.48.
    part = own_drift.with_drift(Part("p", np.array([0.5, 0.48, 0.46]), 0.4, borrowed=Spread(0.0003, 10)))
    assert (part.drift, part.drifted) == (pytest.approx(-0.02), pytest.approx(0.02))
    # An end of a straight line through three points: variance x (1/3 + 1 / 2).
    error = math.sqrt(0.0003 * (1 / 3 + 1 / 2))
    half = stats.t.ppf(0.975, 10) * error + 0.02
    assert interval(part, 0.05) == (pytest.approx(0.48 - half), pytest.approx(0.48 + half))
    assert p_inside(part) == pytest.approx(stats.t.sf((0.48 - 0.02 - 0.4) / error, 10))
    assert p_outside(part) == pytest.approx(stats.t.sf((0.4 - 0.02 - 0.48) / error, 10))


@pytest.mark.parametrize(
    ("averaged", "drifting", "widened"), [(1, 1, True), (3, 1, False), (3, 2, False), (3, 3, True)]
)
def test_of_a_mean_over_several_comparisons_as_many_figures_must_drift_as_one_of_them_has(
    averaged: int, drifting: int, widened: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    terms = tuple(Term("a", metric, {"x": x}) for x in X[:averaged] for metric in ("y", "z"))
    monkeypatch.setattr(own_drift, "_found", lambda *_: {term.key for term in terms[:drifting]})
    part = Part("p", np.array([0.5, 0.48, 0.46]), terms=terms, averaged=averaged)
    ((found,),) = own_drift.widened([[part]], cast(Any, None))
    assert bool(found.drift) is widened


def test_a_claim_on_a_figure_that_drifts_says_so_and_stays_open_near_its_bound() -> None:
    rows = []
    for repetition, noise in enumerate(np.exp(0.1 * noisy(5, len(X)))):
        y = np.array([100, 190, 250, 312]) * noise * np.where(np.array(X) == 8, 0.98**repetition, 1)
        rows.append(pd.DataFrame({"x": X, "y": y, "z": 10.0, "system": "s", "repetition": repetition + 1}))
    claim = {"hypothesis": "increases", "table": "a", "metric": "y", "factor": "x", "at_least": 2.9}
    (found,) = judge.judge(
        ledger(claim), published_toy(), Evidence({"a": pd.concat(rows)}, ["s"]), judge.JudgedSystem("s")
    )
    # 3.12 times in the first repetition, 2.88 in the last: neither above 2.9 in both nor below.
    assert found.verdict == "inconclusive"
    assert "Seems to drift" in found.sentence
    assert "throughput, x 8 against 1 by -2.0%" in found.sentence
    assert found.decide.startswith("more repetitions, to see whether it drifts; ")
    assert found.needed is None
