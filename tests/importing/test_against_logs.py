"""A report's printed figures against its own logs: given as what of the runs, not given, or not to be told."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copy

import pytest
from kit import FIXTURES
from test_logs import LEVELS, write
from typer.testing import CliRunner, Result

from benchbook import cli
from benchbook.importing.against_logs import Printed

# Runs of oltp_insert: 100, 110, 120 at 4 threads (mean latencies 40, 36.36, 33.33 ms), 190, 200, 210 at 8.
REPORT = """\
# oltp_insert

| Threads | TPS | Avg latency (ms) | Errors |
|---|---|---|---|
| 4 | 110 | 36.6 | 0 |
| 8 | 210 | 39.1 | 0 |
| 16 | 300 | 40.0 | 0 |
"""


def command(tmp_path: Path, report: str, *options: str, levels: str = LEVELS) -> Result:
    """Run the audit of a report against the logs below tmp_path / "logs", which are written where there are none."""
    (tmp_path / "report.md").write_text(report)
    if not (tmp_path / "logs").exists():
        write(tmp_path / "logs")
    words = ["audit", str(tmp_path / "report.md"), "--logs", str(tmp_path / "logs"), "--levels", levels, *options]
    return CliRunner().invoke(cli.app, words)


def audited(tmp_path: Path, report: str, levels: str = LEVELS) -> tuple[int, list[Printed]]:
    done = command(tmp_path, report, "--json", levels=levels)
    (one,) = json.loads(done.stdout)
    figures = [Printed(**each) for each in one["figures"]]
    assert (one["given"], one["not_given"]) == (sum(bool(f.given_by) for f in figures), sum(f.wrong for f in figures))
    return done.exit_code, figures


def test_a_figure_is_the_mean_the_median_the_best_or_the_last_run(tmp_path: Path) -> None:
    """36.6 is the mean of 40, 36.36 and 33.33 ms; 39.1 is none of 42.11, 40, 38.10 and their mean."""
    status, figures = audited(tmp_path, REPORT)
    by = {(one.row, one.column): one for one in figures}
    assert by["Threads 4", "TPS"].given_by == ["mean", "median"]
    assert by["Threads 4", "Avg latency (ms)"].given_by == ["mean"]
    assert by["Threads 8", "TPS"].given_by == ["best", "last"]
    assert len(by["Threads 8", "TPS"].logs) == 3
    wrong = by["Threads 8", "Avg latency (ms)"]
    assert wrong.wrong
    assert wrong.statistics == pytest.approx({"mean": 40.07, "median": 40.0, "best": 38.1, "last": 38.1})
    assert status == 1


def test_what_cannot_be_matched_is_said_and_is_no_finding(tmp_path: Path) -> None:
    status, figures = audited(tmp_path, REPORT.replace("39.1", "40.0"))
    assert {one.why for one in figures if one.row == "Threads 16"} == {"no log has Threads 16"}
    assert {one.why for one in figures if one.column == "Errors"} >= {"the logs have no figure of this name and unit"}
    assert status == 0
    _, figures = audited(tmp_path, "| Run | TPS |\n|---|---|\n| a | 110 |\n| b | 200 |\n")
    assert {one.why for one in figures} == {"no log has Run a", "no log has Run b"}
    # Eight nodes are not eight threads.
    for heading in ("Nodes", "Hosts", "Table count", "Warehouses", "节点数"):
        _, figures = audited(tmp_path, f"| {heading} | TPS |\n|---|---|\n| 4 | 110 |\n| 8 | 200 |\n")
        assert not any(one.given_by or one.wrong for one in figures)
    _, figures = audited(tmp_path, "| Date | TPS |\n|---|---|\n|  | 110 |\n|  | 200 |\n")
    assert {one.why for one in figures} == {"it does not say which threads its figures are of"}


@pytest.mark.parametrize(
    ("heading", "cells"),
    [
        ("Phase", ("Run 1", "run #3")),
        ("Run", ("1", "3")),
        ("Iteration no.", ("1", "3")),
        ("轮次", ("第1轮", "第 3 轮")),
    ],
)
def test_a_row_may_be_one_of_the_repetitions(tmp_path: Path, heading: str, cells: tuple[str, str]) -> None:
    """As github.com/serverscamp/pgbench-aws-vs-serverscamp prints them; at 4 threads they are 100, 110 and 120."""
    first, third = cells
    status, figures = audited(
        tmp_path, f"| {heading} | Threads | TPS |\n|---|---|---|\n| {first} | 4 | 100 |\n| {third} | 4 | 110 |\n"
    )
    assert [(one.given_by, one.statistics) for one in figures] == [
        (["the only run"], {"the only run": 100}),
        ([], {"the only run": 120}),
    ]
    assert status == 1


def test_a_run_that_does_not_print_a_figure_is_none_of_its_runs(tmp_path: Path) -> None:
    """Without the first of 100, 110 and 120 at 4 threads the mean latency is that of 36.36 and 33.33 ms: 34.845."""
    first = write(tmp_path / "logs") / "insert" / "4-1.txt"
    first.write_text(first.read_text().replace(" avg: ", " gone: "))
    _, figures = audited(tmp_path, REPORT)
    (found,) = [one for one in figures if one.row == "Threads 4" and one.column == "Avg latency (ms)"]
    assert (len(found.logs), found.statistics["mean"]) == (2, pytest.approx(34.845))


def test_columns_may_be_systems_and_digits_may_be_cut_off(tmp_path: Path) -> None:
    """36.36 is printed as 36.3, which is neither rounded nor wrong."""
    write(tmp_path / "logs" / "one", {4: (100,)})
    write(tmp_path / "logs" / "two", {4: (110,)})
    report = "Average latency in ms\n\n| Threads | one | two |\n|---|---|---|\n| 4 | 40.0 | 36.3 |\n"
    _, figures = audited(tmp_path, report, f"{{system}}/{LEVELS}")
    assert [(one.column, one.given_by) for one in figures] == [
        ("one", ["the only run"]),
        ("two", ["the only run (cut off)"]),
    ]


@pytest.mark.parametrize(
    ("head", "rows"),
    [
        # Turned by the reader, and not, for its last column; a heading may say the level, a cell its unit.
        ("# 4 threads\n\n| Metric | one | two |\n|--|--|--|\n",
         ("TPS | 100 | 111 |", "Avg latency (ms) | 40.0 | 36.4 |")),
        ("| Metric (4 threads) | one | two | Change |\n|--|--|--|--|\n",
         ("**Transactions/s** | 100 | 111 | +10% |", "Latency, mean | 40 ms | 36.4 ms | -9% |")),
    ],
)  # fmt: skip
def test_rows_may_be_metrics_and_columns_systems(tmp_path: Path, head: str, rows: tuple[str, str]) -> None:
    """110 are measured at 4 threads of the second system, with 36.36 ms."""
    write(tmp_path / "logs" / "one", {4: (100,)})
    write(tmp_path / "logs" / "two", {4: (110,)})
    _, figures = audited(tmp_path, head + "".join(f"| {row}\n" for row in rows), f"{{system}}/{LEVELS}")
    told = {(one.printed, one.metric, one.wrong) for one in figures if not one.why}
    rates = {("100", "tps", False), ("111", "tps", True)}
    means = ("40 ms", "36.4 ms") if "Change" in head else ("40.0", "36.4")
    assert told == rates | {(mean, "latency_mean_ms", False) for mean in means}
    # What may be said of all rows is none of the metrics.
    _, figures = audited(
        tmp_path, f"{head}| Average | 40 | 36 | 0 |\n| Std dev | 3 | 3 | 0 |\n", f"{{system}}/{LEVELS}"
    )
    assert {one.metric for one in figures if one.column in ("one", "two")} <= {""}


def test_columns_may_be_counts_of_threads(tmp_path: Path) -> None:
    head = "# oltp_insert\n\n| | 4 threads | 8 threads |\n|--|--|--|\n"
    _, figures = audited(tmp_path, f"{head}| TPS | 110 | 201 |\n| Mean latency, ms | 36.6 | 40.1 |\n")
    assert [(one.row, one.metric, one.given_by[:1]) for one in figures] == [
        ("4 threads", "tps", ["mean"]), ("4 threads", "latency_mean_ms", ["mean"]),
        ("8 threads", "tps", []), ("8 threads", "latency_mean_ms", ["mean"]),
    ]  # fmt: skip


def test_a_column_may_be_a_version_that_its_heading_has_as_its_one_number(tmp_path: Path) -> None:
    """As github.com/felipebrgs1/pgbench_13x18beta prints them: files pgbench_13_std_..., a column PostgreSQL 13."""
    write(tmp_path / "logs" / "13", {4: (100,)})
    write(tmp_path / "logs" / "18", {4: (110,)})
    head = "| Threads | PostgreSQL 13 | PostgreSQL 18 | 13 of 18 |\n|---|---|---|---|\n"
    report = f"Throughput (TPS), table 18\n\n{head}| 4 | 100 | 111 | 7 |\n"
    _, figures = audited(tmp_path, report, f"{{system}}/{LEVELS}")
    told = {one.column: (one.given_by, one.statistics, one.why) for one in figures}
    assert told["PostgreSQL 13"] == (["the only run"], {"the only run": 100.0}, "")
    assert told["PostgreSQL 18"] == ([], {"the only run": 110.0}, "")
    assert told.get("13 of 18", ([], {}, "it"))[2].startswith("it")


@pytest.mark.parametrize("heading", ["QPS", "Queries/s"])
def test_queries_a_second_of_sysbench_0_5_are_its_read_and_write_requests(tmp_path: Path, heading: str) -> None:
    (tmp_path / "logs").mkdir()
    copy(FIXTURES / "logs" / "sysbench_0.txt", tmp_path / "logs" / "16.txt")
    status, (one,) = audited(tmp_path, f"| Threads | {heading} |\n|--|--|\n| 16 | 26,923 |\n", levels="{threads}.txt")
    assert (status, one.wrong, len(one.logs)) == (0, False, 1)


def test_a_section_names_a_level_and_a_count_is_of_all_requests_or_of_none_of_theirs(tmp_path: Path) -> None:
    """github.com/dyu/vps-comparison: columns are machines, and runs of a test lie in a file of its name."""
    logs = write(tmp_path / "logs" / "ovh", {4: (100,)}) / "insert"
    (logs / "4-1.txt").rename(logs.parent / "web_ab_4.log")
    write(tmp_path / "logs" / "ovh", {8: (200,)})
    (logs / "8-1.txt").rename(logs.parent / "web_ab_8.log")
    table = "|  | Timeouts (requests) | Total events | Time per request (mean, ms) |\n|---|---|---|---|\n"
    table += "| ovh | 1 | {} | {} |\n"
    report = f"# Web Ab 4\n\n{table.format(1000, 40)}\n# Web Ab 8\n\n{table.format(2000, 41)}"
    status, figures = audited(tmp_path, report, "{system}/{test}.log")
    assert [(one.metric, one.wrong) for one in figures] == [
        ("", False), ("events", False), ("latency_mean_ms", False),
        ("", False), ("events", False), ("latency_mean_ms", True),
    ]  # fmt: skip
    assert status == 1


def test_for_people_a_line_for_each_that_is_not_given(tmp_path: Path) -> None:
    said = command(tmp_path, REPORT).stdout
    assert "3 of 4 figures are what the logs give (mean 2, median 1, best 1, last 1)" in said
    assert "line 6, Threads 8, Avg latency (ms): 39.1 is printed\n      latency_mean_ms of 3 runs: mean 40.07" in said
    assert "no log has Threads 16" in said
