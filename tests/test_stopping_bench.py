"""The account of the stopping rule along a long series, on series whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from benchbook.stopping_bench import on_series


def test_calm_noise_is_stopped_at_once_and_covered() -> None:
    rates = 1000 * (1 + 0.01 * np.random.default_rng(5).standard_normal(400))
    rows = on_series(rates, minimum_s=16, longest_s=100, published_s=1200).set_index("target")
    # (400 - 100) / 5 = 60 starts. Looks at 16, 20, 25, 31.25, 39.1 s: ten degrees of freedom need more than 30 samples.
    assert (rows.starts == 60).all()
    assert (rows.stops >= 58).all()
    assert (rows.seconds == 40).all()
    assert rows.loc[0.05, "of_published"] == pytest.approx(40 / 1200)
    # The starts overlap, so that their coverage is one draw, not sixty; tests/stats has that of many series.
    assert rows.covered.between(0.8, 1).all()
    # 1% noise is within 10% after a fiftieth of a second already: seconds are the floor of any rule.
    assert rows.loc[0.1, "fixed_s"] == pytest.approx(400 * (1.97 * 0.01 / 20 / 0.1) ** 2, rel=0.5)


def test_nothing_is_said_of_a_series_without_a_steady_state() -> None:
    assert on_series(np.linspace(100, 300, 200), minimum_s=16, longest_s=60, published_s=1200).empty
