"""Scaling along a level: by hand on a made table, and the published curves of the TiDB report."""

from __future__ import annotations

import math

import pandas as pd
import pytest
import tabled

from benchbook import published
from benchbook.analysis import scaling
from benchbook.campaign.design import plan
from benchbook.reports.load.load_kind import LoadKind, LoadParameters

LEVELS = [1, 2, 4, 8, 16, 32]


def law(clients: int, *, sigma: float, kappa: float) -> float:
    return 1000 * clients / (1 + sigma * (clients - 1) + kappa * clients * (clients - 1))


def beside(rows: list[dict[str, object]]) -> pd.DataFrame:
    """What was measured alone, in the words of `report.beside_frame()`."""
    frame = pd.DataFrame(rows).assign(table="t", metric="tps", unit="1/s", n=1)
    return frame.assign(published=math.nan, low=math.nan, high=math.nan)


def curves(means: dict[int, float], *, relabelled: bool = False) -> list[scaling.Scaling]:
    rows = [{"workload": "insert", "threads": n, "system": "tidb", "measured": v} for n, v in means.items()]
    return scaling.scaling_of(beside(rows), "tps", x="threads", panel="workload", relabelled=relabelled)


def test_contention_and_coherency_of_a_curve_that_obeys_the_law() -> None:
    # The law peaks at sqrt(0.95 / 0.01) = 9.7 clients: of the levels, 8 (4,193/s) is higher than 16 (3,855/s).
    (found,) = curves({n: law(n, sigma=0.05, kappa=0.01) for n in reversed(LEVELS)})
    assert (found.panel, found.who, found.levels) == ("insert", "tidb", (1, 2, 4, 8, 16, 32))
    assert (found.peak, found.saturated, found.why) == (8, 8, "")
    assert found.ends == pytest.approx(32 / (1 + 0.05 * 31 + 0.01 * 32 * 31))
    assert found.fit is not None
    assert found.fit.sigma.estimate == pytest.approx(0.05)
    assert found.fit.kappa.estimate == pytest.approx(0.01)
    (row,) = scaling.in_rows([found], x="threads", panel="workload")
    assert row["most over fewest"] == "2.57x"
    assert row["contention"].startswith("0.05\u00a0[")
    assert row["highest by the law at"].startswith("9.747\u00a0[")
    assert row["the law is off by"] == "0.0%"
    assert "95% intervals" in scaling.about_the_law([found])


def test_three_levels_show_a_shape_and_no_law() -> None:
    found = curves({50: 1000.0, 100: 1500.0, 200: 1480.0})
    assert scaling.in_rows(found, x="threads", panel="workload") == [
        {
            "workload": "insert",
            "who": "tidb",
            "threads": "50, 100, 200",
            "most over fewest": "1.48x",
            "highest at": "100",
            "within 5% of the highest from": "100",
        }
    ]
    assert "not fitted (3 levels)" in scaling.about_the_law(found)


def test_the_published_curves_of_the_tidb_report() -> None:
    report = published.load("tidb_v7_1_3_sysbench")
    cells = LoadKind().cells(report, LoadParameters(inventory="lab_tidb", system="tidb"))
    both = tabled.beside(LoadKind(), report, [], plan(cells, 1, seed=1, asked={}))
    found = scaling.scaling_of(both, "tps", x="threads", panel="workload")
    assert {curve.who for curve in found} == {"published"}
    assert len(found) == 5
    assert all(curve.fit is None and curve.why == "3 levels" for curve in found)
