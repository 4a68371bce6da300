"""Figures of single trials stay readable: which trials they show of thousands, and that they say so."""

from __future__ import annotations

import pandas as pd
from records import record, with_values

from benchbook.analysis.beside import MOST_POINTS, few_points, of_rows
from benchbook.analysis.samples import CHOSEN_LINES, distinct_by, evenly, shown
from benchbook.campaign.record import Record
from benchbook.display import show


def trial(threads: int, repetition: int, workload: str = "a") -> Record:
    """Rates fall with the number of the repetition."""
    return record(
        f"r{repetition:02d}-{workload}-{threads}", levels={"workload": workload, "threads": threads},
        repetition=repetition, summary=with_values(tps=1000 - repetition),
    )  # fmt: skip


def rate(one: Record) -> float:
    return one.summary["tps"].value


def test_evenly_keeps_the_ends() -> None:
    assert evenly([1, 2, 3], 3) == [1, 2, 3]
    assert evenly(list(range(11)), 3) == [0, 5, 10]


def test_few_trials_are_all_shown_and_nothing_is_said() -> None:
    few = [trial(threads, repetition) for threads in (50, 100, 200) for repetition in range(1, 8)]
    assert shown(few, row="workload", column="threads", rate=rate) == (few, "")


def test_cells_of_one_panel_get_rows_of_their_own() -> None:
    """Trials of 64 and of 8192 bytes were joined to one line of their repetition."""
    alike = [trial(threads, repetition) for threads in (2, 8) for repetition in (1, 2)]
    assert distinct_by(alike, row="workload", column="threads") == alike
    other = alike[2].model_copy(update={"levels": {**alike[2].levels, "value_bytes": 64}})
    rows = [r.levels["workload"] for r in distinct_by([*alike, other], row="workload", column="threads")]
    assert rows == [*["a, value_bytes -"] * 4, "a, value_bytes 64"]
    twice = alike[2].model_copy(update={"table": "again"})
    rows = [r.levels["workload"] for r in distinct_by([alike[2], twice], row="workload", column="threads")]
    assert rows == [f"a, table {alike[2].table}", "a, table again"]


def test_of_many_trials_the_slowest_and_the_fastest_are_shown() -> None:
    many = [trial(threads, repetition) for threads in range(1, 101) for repetition in range(1, 31)]
    found, said = shown(many, row="workload", column="threads", rate=rate)
    assert sorted({r.levels["threads"] for r in found}) == [1, 26, 51, 75, 100]
    mine = [r.repetition for r in found if r.levels["threads"] == 1]
    assert (len(mine), mine[0], mine[-1]) == (CHOSEN_LINES, 1, 30)
    assert said.startswith(f"Shown are {5 * CHOSEN_LINES} of 3,000 trials: ")


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
