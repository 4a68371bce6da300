"""Which loads a design of a load report asks for: every row of its tables is one, at all of its levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchbook.campaign.design import another_block, plan
from benchbook.campaign.max_rate import cells as searched
from benchbook.errors import BadInput
from benchbook.published import load
from benchbook.published.report_file import TableDesign
from benchbook.published.tables import Published
from benchbook.reports.load.load_kind import LoadKind, LoadParameters
from benchbook.workloads.pgbench import Pgbench

PLAIN = LoadKind()


@pytest.fixture(autouse=True)
def varied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A load generator that varies one more level than its threads."""
    monkeypatch.setattr(Pgbench, "levels", frozenset({"scale"}))


def report(*designs: dict[str, Any]) -> Published:
    """A report of these designs; a table each, unless they say otherwise."""
    found = load("pgcat_pgbench")
    common = {"workload": "select_only", "load": "pgbench"}
    design = [TableDesign(**{"name": f"t{i}", "table": f"t{i}", **common, **each}) for i, each in enumerate(designs)]
    return replace(found, report=found.report.model_copy(update={"design": design}))


def parameters(**given: object) -> LoadParameters:
    return LoadParameters(profile="smoke", inventory="lab_postgresql", system="postgresql", **given)  # type: ignore[arg-type]


def points(kind: LoadKind, published: Published, **given: object) -> list[tuple[object, ...]]:
    return [tuple(cell.levels.values()) for cell in kind.cells(published, parameters(**given))]


def test_every_combination_of_the_factors_is_a_load_of_its_own() -> None:
    """Four rows were two loads: a level beside the threads was left out without a word."""
    published = report({"factors": {"scale": [1, 10], "threads": [2, 8]}})
    assert [cell.levels for cell in PLAIN.cells(published, parameters())] == [
        {"workload": "select_only", "threads": threads, "scale": scale} for scale in (1, 10) for threads in (2, 8)
    ]
    assert points(PLAIN, published, threads=[5]) == [("select_only", 5, 1), ("select_only", 5, 10)]


def test_only_the_pairs_that_were_run_are_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    factors, pairs = {"threads": [2, 8], "scale": [1, 10]}, [[2, 1], [8, 10]]
    assert points(PLAIN, report({"factors": factors, "pairs": pairs})) == [
        ("select_only", 2, 1),
        ("select_only", 8, 10),
    ]
    # Its table is none of the report's: whether its rows say which workload they are of is asked elsewhere.
    monkeypatch.setattr("benchbook.reports.load.load_kind._check_told_apart", lambda _: None)
    three = {"workload": ["select_only", "tpcb_like"], "threads": [2, 8], "scale": [1, 10]}
    run = [["select_only", 2, 1], ["select_only", 8, 10], ["tpcb_like", 8, 1]]
    by_workload = report({"factors": three, "pairs": run})
    assert points(PLAIN, by_workload) == [("select_only", 2, 1), ("select_only", 8, 10), ("tpcb_like", 8, 1)]


def test_what_all_rows_have_in_common_may_be_held_fixed() -> None:
    held = report({"factors": {"scale": [1, 10]}, "fixed": {"threads": 8, "time_s": 60}})
    assert points(PLAIN, held) == [("select_only", 8, 1), ("select_only", 8, 10)]
    assert points(PLAIN, report({"factors": {"threads": [8]}, "fixed": {"scale": 3}})) == [("select_only", 8, 3)]
    with pytest.raises(BadInput, match=r"design\.t0\.factors: this kind of report needs.*add `threads`"):
        points(PLAIN, report({"factors": {"scale": [1]}}))


def test_a_point_that_two_tables_print_is_measured_for_each() -> None:
    """It was refused, although the tables told the two apart; other trials keep their names."""
    fixed = {"scale": 1}
    published = report({"factors": {"threads": [2, 8]}, "fixed": fixed}, {"factors": {"threads": [8]}, "fixed": fixed})
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
    trials = plan(
        PLAIN.cells(report({"factors": {"threads": [2, 8], "scale": [1, 10]}}), parameters()), 2, seed=1, asked={}
    )
    assert sorted(tuple(cell.levels.values()) for cell in searched(trials)) == [
        ("select_only", 8, 1),
        ("select_only", 8, 10),
    ]


@pytest.mark.parametrize(
    ("design", "said"),
    [
        ({"factors": {"threads": [8], "clients": [1, 2]}}, r"factors\.clients: pgbench does not vary this factor"),
        ({"factors": {"threads": [8], "server": ["a"]}}, r"factors\.server: .*correct `restaged_by`"),
        ({"factors": {"threads": [8], "scale": ["1", "--file=/x"]}}, r"cannot be part of a command line \(got '--file"),
        ({"factors": {"threads": [8]}, "fixed": {"scale": "/x"}}, r"cannot be part of a command line \(got '/x'\)"),
    ],
)
def test_a_level_that_nothing_varies_or_that_is_no_plain_word_is_refused(design: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        PLAIN.check_load(report(design), [])
