"""What is shown of thousands of trials, and with which digits."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from benchbook.analysis.beside import MOST_POINTS, few_points
from benchbook.analysis.formatting import with_interval
from benchbook.analysis.samples import evenly
from benchbook.display import show
from benchbook.stats.estimates import Interval


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


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        # Half the interval is 2.15, and 2,650: two of its digits.
        (9.0, 6.9, 11.2, "9.0 [6.9, 11.2]"),
        (22_249.0, 19_600.0, 24_900.0, "22,200 [19,600, 24,900]"),
        (0.09, 0.061, 0.119, "0.090 [0.061, 0.119]"),
        # Not more than four of the value's own, and of a whole number all.
        (1.23456, 1.2344, 1.2347, "1.235 [1.234, 1.235]"),
        (12_345.6, 12_345.1, 12_346.1, "12,346 [12,345, 12,346]"),
        (3.0, -1.0, 7.0, "3.0 [0.0, 7.0]"),
        (2.0, 2.0, 2.0, "2 [2, 2]"),
        (2.0, math.nan, math.nan, "2"),
    ],
)
def test_an_interval_and_its_mean_have_as_many_digits(value: float, low: float, high: float, said: str) -> None:
    assert with_interval(Interval(value, low, high, 3)).replace("\u00a0", " ") == said


def test_a_frame_without_rows_is_a_sentence() -> None:
    assert show.captioned(pd.DataFrame({"n": []}), "After a kill").data == "<p>After a kill: none.</p>"


def test_the_end_of_a_line_in_a_cell_is_one() -> None:
    """The page of DTM said: "as it comes;\\nits binary log has GTIDs"."""
    assert "<td>one;\ntwo</td>" in str(show.table([{"n": 1, "what": "one;\ntwo"}]).data)
