"""A drift in the order of repetitions, one that stands apart, two levels: found where they are, seldom elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from benchbook.analysis.repeatability import CELLS_ALPHA, DRIFT_ALPHA
from benchbook.stats.intervals import mean_interval
from benchbook.stats.order_drift import order_drift
from benchbook.stats.outlying import outlying


def _frame(values: np.ndarray) -> pd.DataFrame:
    """One row per cell (rows) and repetition (columns)."""
    rows = [(f"cell {i}", j + 1, value) for i, row in enumerate(values) for j, value in enumerate(row)]
    return pd.DataFrame(rows, columns=["cell", "repetition", "value"])


def test_an_exact_drift_is_its_own_estimate() -> None:
    rates = np.outer([100, 1000, 50], 0.98 ** np.arange(5)) * (1 + 1e-6 * np.arange(15).reshape(3, 5) ** 2 % 3)
    found = order_drift(_frame(rates))
    assert found is not None
    assert found.change == pytest.approx(-0.02, abs=1e-4)
    assert (found.p_value < 1e-3, found.cells) == (True, 3)


def test_the_slope_by_hand() -> None:
    """Logs 0, 1, 5 and 0, 0, 1: slopes 2.5 and 0.5 over the same repetitions, so 1.5 in common; too few to weigh."""
    found = order_drift(_frame(np.exp([[0.0, 1.0, 5.0], [0.0, 0.0, 1.0]])))
    assert found is not None
    assert math.log1p(found.change) == pytest.approx(1.5)


def test_two_repetitions_have_no_order() -> None:
    assert order_drift(_frame(np.ones((4, 2)))) is None


def test_a_drift_that_one_cell_does_not_show_is_found_in_all_of_them() -> None:
    """-2% each at 3% between repetitions: an interval of a cell does not hold its first repetition's rate."""
    rng = np.random.default_rng(3)
    rates = np.exp(0.03 * rng.standard_normal((15, 7)) + np.log(0.98) * np.arange(7))
    whole = order_drift(_frame(rates))
    assert whole is not None
    assert whole.p_value < DRIFT_ALPHA
    assert whole.low < -0.02 < whole.high
    assert np.mean([mean_interval(row).contains(1.0) for row in rates]) < 0.5


def test_repetitions_that_differ_as_a_whole_are_no_drift() -> None:
    """Blocks up and down by 10%, every cell alike to 0.1%: the five blocks are the units, not the fifty trials."""
    rng = np.random.default_rng(4)
    logs = np.array([0.1, -0.1, 0.05, -0.1, 0.0]) + 0.001 * rng.standard_normal((10, 5))
    found = order_drift(_frame(np.exp(logs)))
    assert found is not None
    assert found.p_value > 0.3


def _usual(cells: int, repetitions: int, seed: int = 5) -> dict[str, list[float]]:
    rows = 0.03 * np.random.default_rng(seed).standard_normal((cells, repetitions))
    return {f"cell {i}": row.tolist() for i, row in enumerate(rows)}


def test_one_repetition_that_stands_apart_is_named_with_three_repetitions() -> None:
    cells = _usual(16, 3)
    cells["cell 4"] = [0.0, math.log(0.7), 0.01]
    (found,) = outlying(cells, alpha=CELLS_ALPHA)
    assert (found.cell, found.kind, found.repetition) == ("cell 4", "outlier", 1)
    assert found.shift == pytest.approx(math.log(0.7) - 0.005)


def test_two_levels_are_named() -> None:
    cells = _usual(16, 7)
    cells["cell 2"] = [0.0, 0.01, -0.3, 0.0, -0.31, -0.29, 0.02]
    (found,) = outlying(cells, alpha=CELLS_ALPHA)
    assert (found.cell, found.kind) == ("cell 2", "two levels")
    assert found.shift == pytest.approx(0.0075 + 0.3)


def test_a_single_cell_has_nothing_to_borrow_and_few_repetitions_say_nothing() -> None:
    assert outlying({"a": [0.0, 0.02, -0.3]}, alpha=CELLS_ALPHA) == []
    assert outlying({"a": [0.0]}, alpha=CELLS_ALPHA) == []
