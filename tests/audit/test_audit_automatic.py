"""Checks that need no declaration, and `check`: what is broken, or checks nothing, is told before any load."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from packages import column, facts, package, write

from benchbook.audit.findings import Audit
from benchbook.audit.report_audit import audit
from benchbook.audit.unused_checks import refuse_dead
from benchbook.errors import BadInput
from benchbook.published.tables import load

COLUMNS = [column("threads", "integer", "level", required=True), column("tps", "number", "metric"),
           column("p95_ms", "number", "metric", unit="ms")]  # fmt: skip
ROWS = [["8", "1000", "12.0"], ["16", "1900", "13.5"], ["32", "3000", "17.0"], ["64", "3300", "31.0"]]


def found(
    root: Path, rows: Sequence[Sequence[str]], columns: list[dict[str, object]] | None = None, **more: object
) -> Audit:
    write(root, package(columns or COLUMNS, **more), rows)
    return audit(load("mine", root))


def ids(one: Audit) -> list[str]:
    return [finding.id for finding in one.findings]


def with_cell(row: int, place: int, text: str) -> list[list[str]]:
    rows = [list(line) for line in ROWS]
    rows[row][place] = text
    return rows


# -- figures below zero, tables without rows -------------------------------------------------------------------------

DRIFT = [column("step", "integer", "level", required=True), column("drift_ms", "number", "metric")]
RISES = {"id": "up", "metric": "drift_ms", "over": ["step"], "direction": "increases", "why": "it drifts"}


def test_a_negative_figure_is_read_with_its_printed_place(tmp_path: Path) -> None:
    write(tmp_path, package(DRIFT), [["1", "-2.50"]])
    assert load("mine", tmp_path).table("t").value("drift_ms", step=1) == -2.5


def test_a_trend_over_negative_figures_goes_the_way_that_is_declared(tmp_path: Path) -> None:
    assert found(tmp_path, [["1", "-9.0"], ["2", "-3.0"], ["3", "2.0"]], DRIFT, trends=[RISES]).findings == []
    falling = found(tmp_path, [["1", "-3.0"], ["2", "-9.0"]], DRIFT, trends=[RISES])
    assert [line.rpartition(" ")[2] for line in falling.findings[0].arithmetic] == ["+67%"]  # (-3 + 9) / 9


def test_a_constant_of_negative_figures_is_off_by_its_size(tmp_path: Path) -> None:
    same = {"id": "same", "expression": "drift_ms", "tolerance": 0.1, "why": "it is the same clock"}
    off = found(tmp_path, [["1", "-10.0"], ["2", "-10.0"], ["3", "-12.0"]], DRIFT, constants=[same])
    assert off.findings[0].arithmetic == ["step 3: -12.0 = -12, -20.0% off the median -10"]


def test_a_negative_figure_with_digits_cut_off_is_truncated_towards_zero(tmp_path: Path) -> None:
    columns = [column("n", "integer", "level", required=True), column("x", "number", "metric")]
    third = {"id": "third", "left": "x", "relation": "=", "right": "-8 / 3", "why": "thirds"}
    (cut,) = found(tmp_path, [["1", "-2.66"]], columns, identities=[third]).findings
    assert cut.id == "t.third.truncated"


@pytest.mark.parametrize(("printed", "agrees"), [("-13.89k", True), ("13.89k", False)])
def test_the_sign_of_a_print_is_that_of_the_stored_number(tmp_path: Path, printed: str, agrees: bool) -> None:
    columns = [*DRIFT, column("drift_ms_printed", "string", "note")]
    write(tmp_path, package(columns), [["1", "-13890", printed]])
    if agrees:
        assert load("mine", tmp_path).table("t").value("drift_ms", step=1) == -13890
    else:
        with pytest.raises(BadInput, match="stored and printed number differ"):
            load("mine", tmp_path)


def test_a_table_of_a_header_alone_is_refused(tmp_path: Path) -> None:
    write(tmp_path, package(COLUMNS), [])
    with pytest.raises(BadInput, match="the table has no rows") as refused:
        load("mine", tmp_path)
    assert refused.value.fix == "transcribe its rows, or take the table out of datapackage.json"


# -- points off their neighbours -------------------------------------------------------------------------------------


def test_a_ladder_without_slips_has_no_finding(tmp_path: Path) -> None:
    one = found(tmp_path, ROWS)
    assert one.findings == []
    assert {kind: one.passed[kind] for kind in ("outlier", "Markov's inequality", "printed digits")} == {
        "outlier": 8, "Markov's inequality": 4, "printed digits": 8,
    }  # fmt: skip


@pytest.mark.parametrize(("row", "slip"), [(0, "10000"), (1, "19000"), (2, "300"), (3, "330"), (3, "198000")])
def test_a_shifted_point_or_a_wrong_unit_is_an_outlier(tmp_path: Path, row: int, slip: str) -> None:
    assert f"t.tps.outlier.{ROWS[row][0]}" in ids(found(tmp_path, with_cell(row, 1, slip)))


def test_latencies_of_an_overloaded_server_are_no_outlier(tmp_path: Path) -> None:
    # 31 ms at 64 threads becomes 300: 64 / 3,300 = 19.4 ms, so 300 ms is below 20 means (388 ms).
    assert found(tmp_path, with_cell(3, 2, "300.0")).findings == []


def test_figures_that_an_equality_confirms_are_no_outlier(tmp_path: Path) -> None:
    columns = [*COLUMNS, column("statements", "integer", "note"), column("qps", "number", "metric")]
    rows = [
        [*row, count, str(int(row[1]) * int(count))] for row, count in zip(ROWS, ("1", "20", "1", "1"), strict=True)
    ]
    parts = {"id": "parts", "left": "qps", "relation": "=", "right": "tps * statements", "why": "counted"}
    assert ids(found(tmp_path, rows, columns)) == ["t.qps.outlier.16"]
    assert found(tmp_path, rows, columns, identities=[parts]).findings == []


# -- latencies -------------------------------------------------------------------------------------------------------


def test_a_p95_above_20_means_of_a_closed_loop_is_suspicious(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, with_cell(3, 2, "401.0")).findings
    assert (finding.id, finding.severity) == ("t.p95_ms.far_above_mean", "suspicious")
    assert finding.arithmetic == ["threads 64: 401.0 > 20 x 64 / 3,300 x 1,000 = 387.88"]


def test_an_offered_rate_is_no_closed_loop(tmp_path: Path) -> None:
    assert "Markov's inequality" not in found(tmp_path, ROWS, fixed={"rate": 100}).passed


def test_a_row_against_littles_law_is_suspicious_where_all_others_keep_it(tmp_path: Path) -> None:
    columns = [*COLUMNS[:2], column("mean_ms", "number", "metric", unit="ms")]
    # 8 / 1,000 s = 8.000 ms, 16 / 1,900 s = 8.421, 32 / 3,000 s = 10.667, 64 / 3,300 s = 19.394, 128 / 3,200 s = 40.
    means = ["8.000", "8.421", "10.667", "19.394", "40.000"]
    rows = [[*row[:2], mean] for row, mean in zip([*ROWS, ["128", "3200", ""]], means, strict=True)]
    assert found(tmp_path, rows, columns).passed["Little's law"] == 5
    rows[2][1] = "3030"
    (finding,) = found(tmp_path, rows, columns).findings
    assert (finding.id, finding.severity) == ("t.law.32", "suspicious")
    assert finding.sentence.endswith(": one of its figures is wrong, unless its clients paused or its requests failed.")
    # 32 / 3,030 s = 10.561 ms.
    assert finding.arithmetic == ["32 / (3,030 x 10.667) x 1,000 = 0.99007"]
    assert "Little's law" not in found(tmp_path, rows, columns, fixed={"rate": 100}).passed


def test_a_printed_mean_bounds_its_percentiles(tmp_path: Path) -> None:
    columns = [column("n", "integer", "level", required=True), column("mean_ms", "number", "metric"),
               column("p50_ms", "number", "metric"), column("p99_ms", "number", "metric"),
               column("p999_ms", "number", "metric")]  # fmt: skip
    assert found(tmp_path, [["1", "1.0", "1.9", "99.0", "999.0"]], columns).findings == []
    wrong = found(tmp_path, [["1", "1.0", "2.2", "106.0", "105.0"]], columns)
    # 1.0 may be 1.05: p50 at most 2.1, p99 at most 105; and 106.0 ms at 99% is above 105.0 at 99.9%.
    assert ids(wrong) == ["t.p99_ms.above.p999_ms", "t.p50_ms.far_above_mean", "t.p99_ms.far_above_mean"]


# -- printed digits, near repeats --------------------------------------------------------------------------------------


def test_a_dropped_trailing_zero_is_a_note(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, with_cell(1, 2, "14")).findings
    assert (finding.id, finding.severity) == ("t.p95_ms.digits", "note")
    assert finding.arithmetic == ["t, threads 16: 14, where others print digits as in 12.0"]


def test_a_habit_is_what_two_thirds_of_a_column_do(tmp_path: Path) -> None:
    def digits(*texts: str) -> list[str]:
        rows = [[str(2**place), "1000", text] for place, text in enumerate(texts)]
        return [one for one in ids(found(tmp_path, rows)) if one.endswith(".digits")]

    assert digits("12.0", "13.5", "17.0", "21.5", "26", "31") == ["t.p95_ms.digits"]
    assert digits("12.0", "13.5", "17.0", "21", "26", "31") == []


def test_three_significant_digits_are_a_habit(tmp_path: Path) -> None:
    rows = [[row[0], row[1], text] for row, text in zip(ROWS, ("1.90", "12.0", "101", "300"), strict=True)]
    assert "t.p95_ms.digits" not in ids(found(tmp_path, rows))


def test_two_rows_with_all_figures_alike_but_one(tmp_path: Path) -> None:
    columns = [column("n", "integer", "level", required=True), *(column(name, "number", "metric") for name in "abcd")]
    (finding,) = found(
        tmp_path, [["1", "123", "4.56", "78.9", "10"], ["2", "123", "4.56", "78.9", "11"]], columns
    ).findings
    assert (finding.id, finding.severity) == ("t.row1.all_but_d.t.row2", "suspicious")
    assert finding.arithmetic[0] == "d: 10, but 11"


# -- declarations that check nothing ---------------------------------------------------------------------------------

DEAD = {
    "identities": {"id": "none", "left": "tps", "relation": "<=", "right": "9", "rows": {"threads": 7}, "why": "w"},
    "constants": {"id": "none", "expression": "cpu", "tolerance": 0.1, "why": "w"},
    "trends": {"id": "none", "metric": "cpu", "over": ["threads"], "direction": "increases", "why": "w"},
    "companions": {"id": "none", "metric": "tps", "beside": "p95_ms", "why": "w"},
}  # fmt: skip


@pytest.mark.parametrize("kind", DEAD)
def test_a_declaration_that_checks_nothing_is_refused(tmp_path: Path, kind: str) -> None:
    columns = [*COLUMNS, column("cpu", "number", "metric")]
    write(tmp_path, package(columns, **{kind: [DEAD[kind]]}), [[*row, ""] for row in ROWS])
    with pytest.raises(BadInput, match="checks nothing") as refused:
        refuse_dead(load("mine", tmp_path))
    assert (refused.value.key, Path(str(refused.value.file)).name) == ("t.none", "datapackage.json")


def test_a_key_of_a_text_fact_that_matches_nothing_is_refused(tmp_path: Path) -> None:
    values = {"thread": [8, 16, 32, 64]}
    said = {"id": "said", "where": "text", "printed": "8 to 64", "values": values, "tables": ["t"]}
    write(tmp_path, package(COLUMNS), ROWS, report=facts(text_facts=[said]))
    with pytest.raises(BadInput, match="it is no level and no metric of t") as refused:
        refuse_dead(load("mine", tmp_path))
    assert refused.value.key == "text_facts.said.values.thread"
    write(tmp_path, package(COLUMNS), ROWS, report=facts(text_facts=[{**said, "unchecked": ["thread"]}]))
    refuse_dead(load("mine", tmp_path))
