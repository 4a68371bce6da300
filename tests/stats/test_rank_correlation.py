"""Kendall's tau by hand, and as scipy.stats has it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from benchbook.errors import BadInput
from benchbook.stats.rank_correlation import kendall_tau


def test_by_hand() -> None:
    # Of six pairs, five rank alike and one the other way round.
    assert kendall_tau([1, 2, 3, 4], [10, 30, 20, 40]) == pytest.approx(4 / 6)
    # x ties one pair, y none: five of the five others alike, over the root of 5 times 6.
    assert kendall_tau([1, 1, 3, 4], [10, 20, 30, 40]) == pytest.approx(5 / math.sqrt(30))
    assert kendall_tau([1, 2, 3], [3, 2, 1]) == -1
    assert math.isnan(kendall_tau([1, 2, 3], [7, 7, 7]))
    with pytest.raises(BadInput, match="not finite"):
        kendall_tau([1, 2, math.nan], [1, 2, 3])


@pytest.mark.parametrize("distinct", [2, 5, 1000])
def test_as_scipy_has_it(distinct: int) -> None:
    dice = np.random.default_rng(distinct)
    x, y = dice.integers(distinct, size=40), dice.integers(distinct, size=40)
    assert kendall_tau(x, y) == pytest.approx(stats.kendalltau(x, y).statistic, rel=1e-12)
