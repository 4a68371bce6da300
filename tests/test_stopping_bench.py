"""The account of the stopping rule along a long series, on series whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from benchbook.stopping_bench import on_series


def test_calm_noise_is_stopped_at_once_and_covered() -> None:
    rates = 1000 * (1 + 0.01 * np.random.default_rng(5).standard_normal(400))
    rows = on_series(rates, minimum_s=16, longest_s=100, published_s=1200).set_index("target")
    # (400 - 100) / 5 = 60 starts; the second look is at 20 s.
    assert (rows.starts == 60).all()
    assert (rows.stops == 60).all()
    assert rows.loc[0.05, "seconds"] == 20
    assert rows.loc[0.05, "of_published"] == pytest.approx(20 / 1200)
    assert (rows.covered >= 0.93).all()
    # 1% noise is within 10% after a fiftieth of a second already: seconds are the floor of any rule.
    assert rows.loc[0.1, "fixed_s"] == pytest.approx(400 * (1.97 * 0.01 / 20 / 0.1) ** 2, rel=0.5)


def test_nothing_is_said_of_a_series_without_a_steady_state() -> None:
    assert on_series(np.linspace(100, 300, 200), minimum_s=16, longest_s=60, published_s=1200).empty
