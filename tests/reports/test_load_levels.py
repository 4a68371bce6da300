"""Which loads a load report asks for: every row of its tables is one, at all of its levels."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import Any

import pandas as pd
import pytest

from benchbook.campaign.design import another_block, plan
from benchbook.campaign.max_rate import cells as searched
from benchbook.errors import BadInput
from benchbook.published import load
from benchbook.published.report_file import ResourceMeta, TableDesign
from benchbook.published.tables import Field, Published, PublishedTable
from benchbook.reports.load.load_kind import LoadKind, LoadParameters
from benchbook.workloads.pgbench import Pgbench

PLAIN = LoadKind()


@pytest.fixture(autouse=True)
def varied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A load generator that varies one more level than its threads."""
    monkeypatch.setattr(Pgbench, "levels", frozenset({"scale"}))


def report(*tables: str, **fixed: Any) -> Published:
    """A report of these tables, each its CSV; a design for each, which holds `fixed`."""
    found = load("pgcat_pgbench")
    made = {f"t{number}": of_text(f"t{number}", text) for number, text in enumerate(tables)}
    plain = {"load": "pgbench", "fixed": fixed}
    named = {name: {} if "workload" in table.levels else {"workload": "select_only"} for name, table in made.items()}
    design = [TableDesign(name=name, table=name, **plain, **named[name]) for name in made]
    return Published(found.report.model_copy(update={"design": design}), made)


def of_text(name: str, text: str) -> PublishedTable:
    """A table whose columns are all levels, and its key."""
    frame = pd.read_csv(StringIO(text), sep=" ")
    schema = {
        "fields": [{"name": level, "type": "string", "unit": "", "role": "level"} for level in frame.columns],
        "primaryKey": list(frame.columns),
    }
    meta = ResourceMeta.model_validate(
        {"name": name, "path": f"{name}.csv", "title": name, "where": "", "schema": schema}
    )
    fields = {level: Field(level, "", "level") for level in frame.columns}
    return PublishedTable(name, name, "", frame, pd.DataFrame(index=frame.index), fields, {}, meta)


def parameters(**given: object) -> LoadParameters:
    return LoadParameters(profile="smoke", inventory="lab_postgresql", system="postgresql", **given)  # type: ignore[arg-type]


def points(kind: LoadKind, published: Published, **given: object) -> list[tuple[object, ...]]:
    return [tuple(cell.levels.values()) for cell in kind.cells(published, parameters(**given))]


def test_every_row_of_a_table_is_a_load_of_its_own() -> None:
    """Four rows were two loads: a level beside the threads was left out without a word."""
    published = report("scale threads\n1 2\n1 8\n10 2\n10 8")
    assert [cell.levels for cell in PLAIN.cells(published, parameters())] == [
        {"workload": "select_only", "threads": threads, "scale": scale} for scale in (1, 10) for threads in (2, 8)
    ]
    assert points(PLAIN, published, threads=[5]) == [("select_only", 5, 1), ("select_only", 5, 10)]


def test_rows_may_name_their_workload() -> None:
    published = report("workload threads scale\nselect_only 2 1\nselect_only 8 10\ntpcb_like 8 1")
    assert points(PLAIN, published) == [("select_only", 2, 1), ("select_only", 8, 10), ("tpcb_like", 8, 1)]
    (design,) = published.report.design
    of_one = published.report.model_copy(update={"design": [design.model_copy(update={"workload": "tpcb_like"})]})
    assert points(PLAIN, replace(published, report=of_one)) == [("tpcb_like", 8, 1)]
    of_none = published.report.model_copy(update={"design": [design.model_copy(update={"workload": "tpcb"})]})
    with pytest.raises(BadInput, match=r"design\.t0\.workload.*\(got 'tpcb'\).*tpcb_like"):
        points(PLAIN, replace(published, report=of_none))


def test_what_all_rows_have_in_common_may_be_held_fixed() -> None:
    held = report("scale\n1\n10", threads=8, time_s=60)
    assert points(PLAIN, held) == [("select_only", 8, 1), ("select_only", 8, 10)]
    assert points(PLAIN, report("threads\n8", scale=3)) == [("select_only", 8, 3)]
    with pytest.raises(BadInput, match=r"t0\.schema\.fields: this kind of report needs.*add `threads`"):
        points(PLAIN, report("scale\n1"))


def test_a_row_without_its_level_is_no_load() -> None:
    with pytest.raises(BadInput, match=r"t0\.csv: row 3, scale: a level is empty"):
        points(PLAIN, report("threads scale\n8 1\n16 "))


def test_a_point_that_two_tables_print_is_measured_for_each() -> None:
    """It was refused, although the tables told the two apart; other trials keep their names."""
    published = report("threads\n2\n8", "threads\n8", scale=1)
    cells = PLAIN.cells(published, parameters())
    trials = plan(cells, 1, seed=1, asked={})
    assert sorted(trial.id for trial in trials) == [
        "r01-postgresql-select_only-threads2-scale1",
        "r01-t0-postgresql-select_only-threads8-scale1",
        "r01-t1-postgresql-select_only-threads8-scale1",
    ]
    (more,) = another_block(trials, [cells[1]], seed=1, asked={})
    assert more.id == "r02-t0-postgresql-select_only-threads8-scale1"


def test_the_highest_rate_is_searched_at_each_level_but_the_threads() -> None:
    trials = plan(PLAIN.cells(report("threads scale\n2 1\n2 10\n8 1\n8 10"), parameters()), 2, seed=1, asked={})
    assert sorted(tuple(cell.levels.values()) for cell in searched(trials)) == [
        ("select_only", 8, 1),
        ("select_only", 8, 10),
    ]


@pytest.mark.parametrize(
    ("table", "fixed", "said"),
    [
        ("threads clients\n8 1\n8 2", {}, r"t0\.csv: column clients: pgbench does not vary this level"),
        ("threads server\n8 a", {}, r"column server: .*correct `restaged_by`"),
        ("threads scale\n8 1\n8 --file=/x", {}, r"column scale: cannot be part of a command line \(got '--file"),
        ("threads\n8", {"scale": "/x"}, r"design\.t0\.fixed\.scale: cannot be part of a command line \(got '/x'\)"),
    ],
)
def test_a_level_that_nothing_varies_or_that_is_no_plain_word_is_refused(
    table: str, fixed: dict[str, str], said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        PLAIN.check_load(report(table, **fixed), [])
