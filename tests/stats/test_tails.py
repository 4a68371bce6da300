"""Tails and quantiles are those of scipy.stats, to the last digit."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import stats

from benchbook.stats import tails

DFS = np.array([0.5, 1, 1.5, 2, 7, 30.3, 1e3, 1e7, 1e10])
SHARES = np.array([1e-300, 1e-12, 0.001, 0.025, 0.5, 0.9, 0.975, 0.999999])[:, None]
VALUES = np.array([0, 1e-9, 0.2, 1, 2, 17, 1e5, 1e300])[:, None]


def test_t() -> None:
    assert_array_equal(tails.t_quantile(SHARES, DFS), stats.t.ppf(SHARES, DFS))
    for values in (VALUES, -VALUES):
        assert_array_equal(tails.t_tail(values, DFS), stats.t.sf(values, DFS))
    # The table that every textbook has.
    assert tails.t_quantile(0.975, 10) == pytest.approx(2.228, abs=5e-4)
    assert tails.t_tail(2.228, 10) == pytest.approx(0.025, abs=1e-5)


@pytest.mark.parametrize("of_divisor", DFS)
def test_f(of_divisor: float) -> None:
    assert_array_equal(tails.f_tail(VALUES, DFS, of_divisor), stats.f.sf(VALUES, DFS, of_divisor))
    assert_array_equal(tails.f_quantile(SHARES, DFS, of_divisor), stats.f.ppf(SHARES, DFS, of_divisor))


@pytest.mark.parametrize("share", SHARES.ravel())
def test_chi_square_and_normal(share: float) -> None:
    assert [tails.chi2_quantile(share, df) for df in DFS] == stats.chi2.ppf(share, DFS).tolist()
    assert tails.normal_above(share) == stats.norm.isf(share)
    assert tails.normal_density(tails.normal_above(share)) == pytest.approx(stats.norm.pdf(stats.norm.isf(share)))
