"""Relations that are suggested: those that hold and are not declared, and hardly one that holds by chance."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from kit import ROOT
from packages import column, package, write
from rich.console import Console

from benchbook.audit import audit_terminal
from benchbook.audit.undeclared import FEW, Proposal, undeclared
from benchbook.published.declarations import Identity
from benchbook.published.tables import Published, load

DATA = ROOT / "data" / "published"
RATE, TIME, COUNT = {"unit": "1/s"}, {"unit": "ms"}, {"unit": "1"}


def sure(published: Published) -> list[tuple[str, str, str, str]]:
    return [
        (one.table, one.identity.left, one.identity.relation, one.identity.right)
        for one in undeclared(published)
        if one.by_chance is None or one.by_chance <= FEW
    ]


def without(published: Published) -> Published:
    """The report with no identity declared."""
    bare = {id: replace(t, meta=t.meta.model_copy(update={"identities": []})) for id, t in published.tables.items()}
    return replace(published, tables=bare)


def mine(root: Path, columns: list[dict[str, object]], rows: list[list[str]], **more: object) -> Published:
    return load("mine", write(root, package(columns, **more), rows))


# Declared equalities over columns, and Little's law: suggested when they are taken out.
DECLARED = {
    "dtm_mysql": [
        ("mysql_write_only", "ops", "=", "sql_per_tx * db_tps"),
        ("saga", "db_tps", "=", "global_tps * db_tx_per_global"),
        ("saga", "ops", "=", "global_tps * sql_per_global"),
    ],
    "dm_1_0_ga": [
        ("load", "speed_mb_s", "=", "data_gb * 1024 / load_time_s"),
        ("load_pool_size", "speed_mb_s", "=", "data_gb * 1024 / load_time_s"),
        ("load_rows_per_statement", "speed_mb_s", "=", "data_gb * 1024 / load_time_s"),
        ("sync_result", "tps", "=", "qps"),
        ("sync_result", "threads / tps * 1000", "<=", "p95_ms"),
        ("sync_result", "qps", "<=", "worker_count * batch * 1000 / p95_ms"),
    ],
    "dm_1_0_alpha": [
        ("result", "tps", "=", "qps"),
        ("result", "threads / tps * 1000", "<=", "p95_ms"),
        ("result", "qps", "<=", "worker_count * batch * 1000 / p95_ms"),
    ],
    "tidb_v7_1_3_sysbench": [("oltp_insert", "threads / tps * 1000", "<=", "p95_ms")],
    "ddt_full_scale": [],
}


@pytest.mark.parametrize("report", DECLARED)
def test_what_is_declared_is_suggested_when_it_is_taken_out(report: str) -> None:
    found = sure(without(load(report, DATA)))
    assert [one for one in DECLARED[report] if one not in found] == []


def test_a_declared_relation_is_not_suggested_nor_what_follows_from_it() -> None:
    found = sure(load("dtm_mysql", DATA))
    # What is left is true, and of the two rows without DTM: each branch is a transaction there.
    assert {(table, left) for table, left, _, _ in found} == {("saga", "db_tps")}
    assert sure(load("dm_1_0_ga", DATA)) == []


def test_a_row_in_which_the_relation_fails_is_named() -> None:
    found = {one.identity.right: one for one in undeclared(without(load("dtm_mysql", DATA)))}
    ops = found["global_tps * sql_per_global"]
    assert (ops.rows, ops.odd) == (6, ["mode no_dtm, sql_per_branch 10"])


def test_two_digits_are_too_few() -> None:
    """18.53k = 13.80k + 2 x 2.4k, in one row: so many sums of four figures come as near by chance."""
    sums = [one for one in undeclared(without(load("dm_1_0_alpha", DATA))) if "+" in one.identity.right]
    assert [one.identity.right for one in sums if one.identity.right.startswith("qps_replace")] == [
        "qps_replace + 2 * qps_begin_commit"
    ]
    assert all(one.by_chance is not None and one.by_chance > FEW for one in sums)


def test_the_share_of_chance_by_hand(tmp_path: Path) -> None:
    """qps / tps of 1,000 and 1,000 lies in 999.5 / 1000.5 to 1,001 / 999.5: ln(1.0025) / ln 10 = 0.0011 of a decade.

    Of whole multiples 49 are tried each way, of equalities one.
    """
    columns = [
        column("run", "string", "level", required=True),
        column("tps", "number", "metric", **RATE),
        column("qps", "number", "metric", **RATE),
    ]
    one, *_ = undeclared(mine(tmp_path, columns, [["a", "1000", "1000"]]))
    assert (one.identity.left, one.identity.right) == ("qps", "tps")
    assert one.by_chance == pytest.approx(0.00108, abs=0.0001)


def test_units_decide_what_is_tried(tmp_path: Path) -> None:
    columns = [
        column("run", "string", "level", required=True),
        column("size_gb", "number", "metric", unit="GB"),
        column("time_s", "number", "metric", unit="s"),
        column("mb_s", "number", "metric", unit="MB/s"),
    ]
    rows = [["a", "4.000", "64.00", "64.00"], ["b", "5.000", "80.00", "64.00"]]
    assert sure(mine(tmp_path, columns, rows)) == [("t", "mb_s", "=", "size_gb * 1024 / time_s")]


def chance_tables(count: int) -> list[tuple[list[dict[str, object]], list[list[str]]]]:
    """The worst case: columns whose ratio is the same in all rows, and any number at all."""
    chance, found = random.Random(5), []
    columns = [
        column("run", "string", "level", required=True),
        column("n", "integer", "note", **COUNT),
        column("tps", "number", "metric", **RATE),
        column("qps", "number", "metric", **RATE),
        column("jobs", "number", "metric", **RATE),
        column("time_ms", "number", "metric", **TIME),
    ]
    for _ in range(count):
        one, other, third = (10 ** chance.uniform(-1, 1) for _ in range(3))
        rows = []
        for run in "abcd":
            tps = 10 ** chance.uniform(3, 4)
            figures = [tps, tps * one, tps * other, third * 1e5 / tps]
            rows.append([run, str(chance.randrange(1, 65)), *(f"{figure:.4g}" for figure in figures)])
        found.append((columns, [[f"{float(c):.10g}" if c[0].isdigit() else c for c in row] for row in rows]))
    return found


def test_columns_in_a_constant_ratio_are_hardly_ever_suggested(tmp_path: Path) -> None:
    """Of 500 such tables 6 had a suggestion; `FEW` would allow one in 20 of each class of relation."""
    suggested = [sure(mine(tmp_path, columns, rows)) for columns, rows in chance_tables(30)]
    assert sum(map(len, suggested)) <= 1


def test_what_is_printed_can_be_pasted(tmp_path: Path) -> None:
    out = StringIO()
    report = without(load("dtm_mysql", DATA))
    audit_terminal.show_undeclared(report, Console(file=out, soft_wrap=True, highlight=False))
    lines = [line for line in out.getvalue().splitlines() if not line.startswith("#")]
    read = [Identity.model_validate(json.loads(line.rstrip(","))) for line in lines]
    assert [one.identity for one in _pasted(report)] == read
    assert len({one.id for one in read}) == len(read)


def _pasted(report: Published) -> list[Proposal]:
    return [one for one in undeclared(report) if one.by_chance is None or one.by_chance <= FEW]
