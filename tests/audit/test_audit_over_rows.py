"""`mean`, `sum`, `min` and `max` over rows in declared equalities: which rows, what rounding, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from packages import column, facts, package, write

from benchbook.audit.findings import Audit
from benchbook.audit.report_audit import audit
from benchbook.audit.unused_checks import refuse_dead
from benchbook.documents.findings import Finding
from benchbook.errors import BadInput
from benchbook.published import arithmetic
from benchbook.published.tables import load

COLUMNS = [
    column("n", "integer", "level", required=True),
    column("host", "string", "level"),
    column("part", "string", "level"),
    column("tps", "number", "metric"),
    column("total", "number", "metric"),
]
# Two hosts of two parts each: 1.5 + 2.5 = 4.0 and 10 + 20 = 30.
ROWS = [
    ["1", "a", "read", "1.5", "4.0"],
    ["2", "a", "write", "2.5", "4.0"],
    ["3", "b", "read", "10", "30"],
    ["4", "b", "write", "20", "30"],
]
PARTS = {"id": "parts", "left": "total", "relation": "=", "right": "sum(tps, host)", "why": "a host is its parts"}


def found(root: Path, *identities: dict[str, Any], rows: list[list[str]] = ROWS, **more: Any) -> Audit:
    report = facts(text_facts=more.pop("text_facts", []))
    write(root, package(COLUMNS, identities=list(identities), **more), rows, report=report)
    return audit(load("mine", root))


def declared(root: Path, *identities: dict[str, Any], rows: list[list[str]] = ROWS, **more: Any) -> list[Finding]:
    """What these identities find; other checks have their own tests."""
    return [one for one in found(root, *identities, rows=rows, **more).findings if one.kind in {"identity", "bound"}]


def changed(row: int, place: int, text: str) -> list[list[str]]:
    return [[text if (r, c) == (row, place) else cell for c, cell in enumerate(line)] for r, line in enumerate(ROWS)]


def test_a_sum_over_the_rows_that_share_a_level(tmp_path: Path) -> None:
    assert found(tmp_path, PARTS).passed["identity"] == 4
    (broken,) = declared(tmp_path, PARTS, rows=changed(0, 3, "2.5"))
    assert broken.arithmetic[::2] == [
        "n 1: 5 [sum(tps, host)]; printed 4.0",
        "n 2: 5 [sum(tps, host)]; printed 4.0",
    ]
    # Another tps would change the sum of every row: only the total is offered, as 5.0.
    assert set(broken.arithmetic[1::2]) == {"5 [sum(tps, host)], with total with one slip of a digit"}
    assert broken.sentence.startswith("In 2 of 4 rows total and sum(tps, host) differ by more than rounding allows")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("mean(tps)", 8.5),
        ("sum(tps, host != 'a')", 30.0),
        ("max(tps, part == 'read')", 10.0),
        ("min(tps, host, part == 'write')", 20.0),
        ("max(tps * 2, n == 2) - 1", 4.0),
        ("sum(tps, lab == 'x')", 34.0),
    ],
)
def test_which_rows_a_function_takes(tmp_path: Path, expression: str, value: float) -> None:
    """34 in all, 8.5 on average; seen from row 4, of host b."""
    row = {"id": "i", "left": expression, "relation": "=", "right": f"{value} + 0 * total", "why": "w"}
    check = {**row, "rows": {"n": 4}}
    assert found(tmp_path, check, fixed={"lab": "x"}).passed["identity"] == 1
    (wrong,) = declared(tmp_path, {**check, "right": f"{value + 2} + 0 * total"}, fixed={"lab": "x"})
    assert "In 1 of 1 rows" in wrong.sentence


def test_rows_limits_where_it_is_checked_and_not_what_is_summed(tmp_path: Path) -> None:
    assert found(tmp_path, {**PARTS, "rows": {"part": "read"}}).passed["identity"] == 2


def test_what_does_not_differ_between_rows_is_checked_once(tmp_path: Path) -> None:
    said = [{"id": "text", "where": "W", "printed": "8.5 on average", "values": {"mean": 8.5, "half": 9.2}}]
    average = {"id": "average", "left": "text.mean", "relation": "=", "right": "mean(tps)", "why": "the text averages"}
    assert found(tmp_path, average, text_facts=said).passed["identity"] == 1
    (wrong,) = declared(tmp_path, {**average, "left": "text.half"}, text_facts=said)
    assert wrong.arithmetic == ["all rows: 8.5 [mean(tps)]; printed 9.2"]
    assert wrong.sentence.startswith("Over all rows text.half and mean(tps) differ")


def test_rounding_is_carried_through() -> None:
    """1.5 stands for 1.45 to 1.55 and 20 for 19.5 to 20.5: their sum for 20.95 to 22.05, their mean for half of it."""
    numbers = [arithmetic.rounded(1.5, 0.1), arithmetic.rounded(20.0, 1.0)]
    assert arithmetic.over("sum", numbers) == pytest.approx((20.95, 21.5, 22.05))
    assert arithmetic.over("mean", numbers) == pytest.approx((10.475, 10.75, 11.025))
    assert arithmetic.over("max", numbers) == pytest.approx((19.5, 20.0, 20.5))
    assert arithmetic.over("min", numbers) == pytest.approx((1.45, 1.5, 1.55))


def test_a_sum_within_the_rounding_of_its_parts_holds(tmp_path: Path) -> None:
    """9.5 + 19.5 = 29.0 to 10.5 + 20.5 = 31.0 can be the sum of 10 and 20; 31.6 prints as 32 and cannot."""
    assert declared(tmp_path, PARTS, rows=changed(2, 4, "31")) == []
    assert len(declared(tmp_path, PARTS, rows=changed(2, 4, "32"))) == 1


def test_a_sum_with_a_part_that_is_not_printed_is_not_checked(tmp_path: Path) -> None:
    assert found(tmp_path, PARTS, rows=changed(1, 3, "")).passed["identity"] == 2


def test_a_condition_that_names_no_row_is_refused_by_check(tmp_path: Path) -> None:
    write(tmp_path, package(COLUMNS, identities=[{**PARTS, "right": "sum(tps, host, part != 'reed')"}]), ROWS)
    with pytest.raises(BadInput, match="no row has part 'reed', which parts names") as refused:
        refuse_dead(load("mine", tmp_path))
    assert refused.value.key == "t.parts"
