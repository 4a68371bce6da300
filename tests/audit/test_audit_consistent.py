"""Consistent tables give no finding: the five reports with what is wrong corrected, and generated ones. A slip does."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from kit import ROOT
from packages import column, package, write

from benchbook.audit.report_audit import audit
from benchbook.published.tables import load

DATA = ROOT / "data" / "published"

RUNS = "runs: [PD, MySQL, DM-worker]"
CORRECTED = {
    "tidb_v7_1_3_sysbench": {
        "report.yaml": [
            ("values: {threads: [100, 200, 400], time_s: 1200}\n    tables: [oltp_point_select, oltp_read_write, ",
             "values: {threads: [100, 200, 400], time_s: 1200}\n    tables: ["),
            ("rows: 10000000", "rows: 320000000"),
        ],
        "datapackage.json": [('"statements": 20', '"statements": 1')],
    },
    "dm_1_0_alpha": {
        "report.yaml": [
            (f"{RUNS}\n  - address: 192.168.0.7", "runs: [PD, DM-worker]\n  - address: 192.168.0.7"),
            (f"{RUNS}\n  - address: 192.168.0.9", "runs: [PD, MySQL]\n  - address: 192.168.0.9"),
            ("--test=oltp_insert --tables=2 --num-threads", "oltp_insert --tables=2 --threads"),
        ],
    },
    "dm_1_0_ga": {
        "report.yaml": [("--test=oltp_insert", "oltp_insert"), ("--num-threads=32", "--threads=32"),
                        ("172.17.4.40", "172.16.4.40")],
        "sync_worker_count.csv": [("7074,63", "7074,56"), ("14684,64", "14684,54")],
        "load_pool_size.csv": [("265.9,14.5", "265.9,14.6"), ("262.3,14.7", "262.3,14.8")],
        "load_rows_per_statement.csv": [("3.778,262.3,14.7,6.39", "3.779,262.3,14.8,6.38"), ("271.36", "271.4")],
        "sync_distribution.csv": [("23345,28", "23347,29")],
    },
    "ddt_full_scale": {
        "report.yaml": [('version: "0.1"', 'version: "4.0"'), ("averaging_s: 10", "averaging_s: 60"),
                        ("document_bytes: 140}\n    note", "document_bytes: 14000}\n    note")],
        "single_tests.csv": [("OPLOG ", ""), ("1,,,5", "1,32,128,5"), ("2,,,6", "2,32,128,6"), ("3,,,6", "3,32,128,6"),
                             ("315702,400,31326", "315702,870,23100")],
        "cache_48.csv": [("315702,31326,400", "315702,23100,870")],
    },
    "dtm_mysql": {"report.yaml": [("ops: 10620", "ops: 11020")], "saga.csv": [("10620", "11020")]},
}  # fmt: skip


def corrected(report: str, root: Path) -> Path:
    shutil.copytree(DATA / report, root / report)
    for name, changes in CORRECTED[report].items():
        file = root / report / name
        text = file.read_text(encoding="utf-8")
        for old, new in changes:
            assert old in text, (name, old)
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")
    return root


@pytest.mark.parametrize("report", CORRECTED)
def test_a_report_made_consistent_has_no_finding(report: str, tmp_path: Path) -> None:
    found = audit(load(report, corrected(report, tmp_path)))
    assert [(finding.id, finding.arithmetic) for finding in found.findings] == []
    before = audit(load(report, DATA))
    assert sum(found.passed.values()) >= sum(before.passed.values()), "the same checks were made, and all passed"


# -- generated tables -------------------------------------------------------------------------------------------------

COLUMNS = [
    column("threads", "integer", "level", required=True), column("statements", "integer", "note"),
    column("tps", "number", "metric"), column("qps", "number", "metric"), column("mean_ms", "number", "metric"),
    column("p95_ms", "number", "metric"), column("volume_mb", "number", "metric"), column("mb_s", "number", "metric"),
]  # fmt: skip
CHECKS = {
    "fixed": {"time_s": 60, "row_kb": 0.21},
    "identities": [
        {"id": "parts", "left": "qps", "relation": "=", "right": "tps * statements", "why": "counted"},
        {"id": "volume", "left": "volume_mb / time_s", "relation": "=", "right": "mb_s", "why": "rate"},
        {"id": "rows", "left": "volume_mb", "relation": "=", "right": "qps * time_s * row_kb / 1024", "tolerance": 0.05,
         "why": "rows"},
        {"id": "law", "left": "threads / tps * 1000", "relation": "<=", "right": "p95_ms", "why": "closed loop",
         "kind": "Little's law"},
        {"id": "mean", "left": "mean_ms", "relation": "=", "right": "threads / tps * 1000", "why": "Little's law"},
    ],
    "constants": [{"id": "row", "expression": "volume_mb / qps", "tolerance": 0.02, "why": "equal rows"}],
    "trends": [{"id": "up", "metric": "tps", "over": ["threads"], "direction": "increases", "why": "scales"},
               {"id": "slow", "metric": "p95_ms", "over": ["threads"], "direction": "increases", "why": "queues"}],
    "companions": [{"id": "go", "metric": "mb_s", "beside": "qps", "why": "rows"}],
}  # fmt: skip


def generated(seed: int) -> list[list[str]]:
    """Rows whose derived figures are computed from the printed ones, and rounded to what is printed."""
    chance, rows, tps, p95 = random.Random(seed), [], 900.0 + seed, 0.0
    for threads in (8, 16, 32, 64):
        tps *= chance.uniform(1.2, 1.9)
        printed, statements = round(tps), chance.choice([1, 4, 20])
        mean = threads / printed * 1000
        p95 = max(p95, mean) * chance.uniform(1.2, 1.5)
        qps = printed * statements
        volume = round(qps * 60 * 0.21 / 1024, 1)
        figures = [f"{qps}", f"{mean:.2f}", f"{p95:.2f}", f"{volume:.1f}", f"{volume / 60:.2f}"]
        rows.append([str(threads), str(statements), str(printed), *figures])
    return rows


@pytest.mark.parametrize("seed", range(25))
def test_a_generated_consistent_table_passes_every_declared_check(seed: int, tmp_path: Path) -> None:
    write(tmp_path, package(COLUMNS, **CHECKS), generated(seed))
    found = audit(load("mine", tmp_path))
    assert [(finding.id, finding.arithmetic) for finding in found.findings] == []
    assert found.passed["identity"] == 4 * 4
    assert found.passed["Little's law"] == 4 + 4  # declared, and of the printed mean in each row
    assert found.passed["trend"] == 2 * 6


@pytest.mark.parametrize("seed", range(25))
def test_a_slip_in_the_first_digit_of_a_generated_table_is_found_in_its_row(seed: int, tmp_path: Path) -> None:
    chance, rows = random.Random(seed), generated(seed)
    row, place = chance.randrange(4), chance.choice([2, 3, 4, 6, 7])
    right = rows[row][place]
    rows[row][place] = f"{int(right[0]) % 9 + 1}{right[1:]}"
    write(tmp_path, package(COLUMNS, **CHECKS), rows)
    broken = [f for f in audit(load("mine", tmp_path)).findings if f.kind == "identity"]
    assert broken, (right, rows[row][place])
    lines = [line for finding in broken for line in finding.arithmetic]
    assert any(line.startswith(f"threads {rows[row][0]}: ") for line in lines)
    assert not any(line.startswith(f"threads {other[0]}: ") for other in rows if other != rows[row] for line in lines)


def test_inputs_rounded_after_the_computation_are_no_contradiction(tmp_path: Path) -> None:
    """Volume and rate both rounded from the true ones: at most a note that the rate looks truncated."""
    chance = random.Random(7)
    columns = [column("threads", "integer", "level", required=True), column("volume_mb", "number", "metric"),
               column("mb_s", "number", "metric")]  # fmt: skip
    rows = [[str(n), f"{true:.1f}", f"{true / 60:.2f}"] for n in range(1, 200) for true in [chance.uniform(50, 999)]]
    write(tmp_path, package(columns, fixed={"time_s": 60}, identities=[CHECKS["identities"][1]]), rows)
    assert {finding.severity for finding in audit(load("mine", tmp_path)).findings} <= {"note"}


def test_the_printed_digits_decide_and_not_the_value(tmp_path: Path) -> None:
    """10 x 6 = 60 against 62: within rounding where 10 may be 10.4, not where it is 10.0."""
    columns = [column("n", "integer", "level", required=True), column("tps", "number", "metric"),
               column("qps", "number", "metric")]  # fmt: skip
    check = {"id": "c", "left": "qps", "relation": "=", "right": "tps * 6", "why": "counted"}
    write(tmp_path, package(columns, identities=[check]), [["1", "10", "62"], ["2", "10.0", "62"]])
    (finding,) = audit(load("mine", tmp_path)).findings
    assert finding.arithmetic[0] == "n 2: 10.0 x 6 = 60; printed 62"
    assert "In 1 of 2 rows" in finding.sentence
