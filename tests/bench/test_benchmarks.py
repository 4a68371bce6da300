"""What the benchmarks compute from what they measured."""

from __future__ import annotations

import math

import pytest

from benchbook.bench.benchmarks import ratio


def test_a_ratio_is_the_geometric_mean_of_the_pairs_with_students_interval() -> None:
    found = ratio([(2.0, 1.0), (24.0, 3.0)])
    # ln 2 and ln 8: mean ln 4, standard error ln 2, and t(0.975, 1 degree of freedom) = 12.706.
    assert found["ratio"] == pytest.approx(4.0)
    assert found["high"] == pytest.approx(4.0 * math.exp(12.706 * math.log(2.0)), rel=1e-3)
    assert found["low"] == pytest.approx(4.0 / math.exp(12.706 * math.log(2.0)), rel=1e-3)
    assert found["pairs"] == 2
