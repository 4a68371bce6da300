"""The account of the stopping rule along a long series, on series whose truth is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchbook.bench.stopping_bench import LOADS, in_words, on_series


def account(rates: np.ndarray, offered: float = 0) -> pd.DataFrame:
    rows = on_series(rates, offered=offered, minimum_s=16, longest_s=100, published_s=1200)
    return pd.DataFrame(rows).set_index("target")


def test_calm_noise_is_stopped_at_once_and_covered() -> None:
    rows = account(1000 * (1 + 0.01 * np.random.default_rng(5).standard_normal(400)))
    # (400 - 100) / 5 = 60 starts. Looks at 16, 20, 25, 31.25, 39.1 s: ten degrees of freedom need more than 30 samples.
    assert (rows.starts == 60).all()
    assert (rows.stops >= 58).all()
    assert (rows.seconds == 40).all()
    # The longest is 100 s, so that the starts end at 295 s: 0, 40, ... 280 s share no second where each stops at 40 s.
    assert rows.apart.between(6, 8).all()
    assert rows.loc[0.05, "of_published"] == pytest.approx(40 / 1200)
    # The starts overlap, so that their coverage is one draw, not sixty; tests/stats has that of many series.
    assert rows.covered.between(0.8, 1).all()
    # 1% noise is within 10% after a fiftieth of a second already: seconds are the floor of any rule.
    assert rows.loc[0.1, "fixed_s"] == pytest.approx(400 * (1.97 * 0.01 / 20 / 0.1) ** 2, rel=0.5)


def test_the_rate_offered_is_the_truth_where_there_is_one() -> None:
    rates = 1000 * (1 + 0.01 * np.random.default_rng(5).standard_normal(400))
    assert (account(rates, offered=1000).covered >= 0.8).all()
    # Forty samples of 1% noise know their mean within 0.4%: 3% away is in no interval.
    assert (account(rates, offered=1030)[["covered", "covered_apart"]] == 0).all(axis=None)


def test_a_series_without_a_steady_state_has_no_truth_and_is_never_stopped() -> None:
    rows = account(np.linspace(100, 300, 200))
    assert (rows.stops == 0).all()
    assert rows[["covered", "covered_apart", "seconds", "of_published", "of_fixed"]].isna().all(axis=None)
    assert "0.02" in in_words(rows.reset_index().to_dict("records"))


def test_the_open_loops_last_as_long_as_published() -> None:
    assert {load.seconds for load in LOADS if load.rate} == {1200}
    assert LOADS[0].in_words() == "oltp_point_select, 16 threads, 4000/s offered, 1200 s"
