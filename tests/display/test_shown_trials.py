"""Figures of single trials stay readable: which trials they show of thousands, and that they say so."""

from __future__ import annotations

import pandas as pd

from benchbook.analysis.beside import MOST_POINTS, few_points, of_rows
from benchbook.analysis.samples import evenly
from benchbook.display import show


def test_evenly_keeps_the_ends() -> None:
    assert evenly([1, 2, 3], 3) == [1, 2, 3]
    assert evenly(list(range(11)), 3) == [0, 5, 10]


def test_a_curve_keeps_its_published_points() -> None:
    points = pd.DataFrame(
        {"threads": range(1, 101), "who": ["published" if n == 50 else "tidb" for n in range(1, 101)]}
    )
    found, said = few_points(points, "threads")
    assert {1, 50, 100} <= set(found.threads)
    assert len(found) <= MOST_POINTS + 1
    assert said == f"{len(found)} of 100 values of threads are shown."
    assert few_points(points[:20], "threads")[1] == ""


def test_a_table_of_thousands_is_cut_and_says_so() -> None:
    html = str(show.table([{"n": n} for n in range(3000)], "Numbers").data)
    assert html.count("<tr>") + html.count("<tr ") == 1 + show.MOST_ROWS
    assert f"Numbers (the first {show.MOST_ROWS} of 3,000 rows)" in html
    assert "first" not in str(show.table([{"n": n} for n in range(show.MOST_ROWS)], "Numbers").data)


def beside(rows: list[dict[str, object]]) -> pd.DataFrame:
    return of_rows([{"table": "oltp_insert", "system": "x", "unit": "1/s", **row} for row in rows])
