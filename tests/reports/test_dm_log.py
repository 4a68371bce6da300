"""dm-worker's log and mydumper's files: real lines of DM 1.0.7, and statements counted by hand."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest
from kit import FIXTURES
from scraped import long_table

from benchbook.errors import OutputNotParseable
from benchbook.hosts.endpoint import Endpoint
from benchbook.probes.watch import Watched
from benchbook.reports.dm import dm_log
from benchbook.reports.dm.outcome import DmOutcome
from benchbook.reports.dm.task import TASK
from benchbook.systems.dm_config import Task

LOG = (FIXTURES / "dm" / "dm-worker.log").read_text()


def test_every_line_is_read() -> None:
    found = list(dm_log.lines(LOG))
    assert len(found) == len(LOG.splitlines())
    slow = next(line for line in found if line.message == "execute transaction")
    assert slow.level == "WARN"
    assert slow.fields["worker ID"] == "4"
    assert slow.fields["query"].startswith('[USE `dm_benchmark`; INSERT INTO `sbtest2` VALUES\n(22067,4985,"9065')
    assert dm_log.seconds(slow.fields["cost time"]) > 1


def test_units_of_a_task_with_dms_own_times() -> None:
    runs = dm_log.unit_runs(LOG, "bench")
    assert [run.unit for run in runs][:3] == ["Dump", "Load", "Sync"]
    dump, load, sync = runs[:3]
    assert (dump.seconds, dump.stage) == (pytest.approx(0.222293408), "Finished")
    assert (load.seconds, load.stage) == (pytest.approx(4.595069993), "Finished")
    # 03:38:16.126, 03:38:16.349 and 03:38:20.947 UTC on 21 November 2026
    assert (dump.began, dump.ended) == (pytest.approx(1795232296.126), pytest.approx(1795232296.349))
    assert load.ended == pytest.approx(1795232300.947)
    assert (sync.seconds, sync.ended) == (None, None)
    assert dm_log.unit_runs(LOG, "other") == []


def test_the_last_finished_run_is_the_one_that_counts() -> None:
    assert dm_log.finished(dm_log.unit_runs(LOG, "bench"), "bench", "Dump").seconds == pytest.approx(3.564344623)
    with pytest.raises(OutputNotParseable, match=r"no finished Sync of task bench"):
        dm_log.finished(dm_log.unit_runs(LOG, "bench"), "bench", "Sync")


def test_what_is_no_log_line_is_left_out() -> None:
    head = "[2026/11/21 03:38:16.126 +01:00] [INFO] [a.go:1]"
    (line,) = dm_log.lines(f'panic: runtime error\n{head} [event=rotate] [payload=] ["k \\"x"="y]"]\n')
    assert (line.message, line.fields) == ("", {"event": "rotate", "payload": "", 'k "x': "y]"})
    assert line.t == pytest.approx(1795232296.126 - 3600)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("235.169255ms", 0.235169255), ("1m2.5s", 62.5), ("312.376µs", 312.376e-6), ("1h0m0.5s", 3600.5), ("0s", 0.0)],
)
def test_durations(text: str, expected: float) -> None:
    assert dm_log.seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "5", "5 s", "x5s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(OutputNotParseable):
        dm_log.seconds(text)


def dump(folder: Path, statements: dict[str, list[int]]) -> str:
    """Files of a dump with these numbers of rows per statement, counted by the real awk."""
    for name, sizes in statements.items():
        inserts = ["INSERT INTO `t` VALUES\n" + ",\n".join(['(1,"a (b")'] * rows) + ";\n" for rows in sizes]
        (folder / name).write_text("/*!40101 SET NAMES binary*/;\n" + "".join(inserts))
    command = dm_log.count_command(shlex.quote(str(folder)))
    return subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True).stdout


def test_rows_per_statement_leaves_out_the_rest_of_each_file(tmp_path: Path) -> None:
    printed = dump(tmp_path, {"d.t.00000.sql": [4, 4, 1], "d.t.00001.sql": [5, 2], "d.t-schema.sql": [9, 9]})
    assert dm_log.rows_per_statement(printed) == pytest.approx((4 + 4 + 5) / 3)


def test_files_with_one_statement_each_count_whole(tmp_path: Path) -> None:
    assert dm_log.rows_per_statement(dump(tmp_path, {"d.t.00000.sql": [3], "d.t.00001.sql": [2]})) == 2.5


def test_an_empty_dump_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OutputNotParseable, match="no INSERT statement"):
        dm_log.rows_per_statement(dump(tmp_path, {}))


def test_a_dump_and_load_is_measured_over_its_own_time_and_not_over_the_waiting_around_it() -> None:
    # The first task of the log, whose load was finished.
    second = LOG.index("[unit=Dump]", LOG.index("[unit=Sync]"))
    first = LOG[: LOG.rindex("\n", 0, second) + 1]
    log = first.replace("task=bench]", f"task={TASK}]")
    runs = dm_log.unit_runs(log, TASK)
    dump, load = (dm_log.finished(runs, TASK, unit) for unit in ("Dump", "Load"))
    account = Endpoint("127.0.0.1", 4000, "root", "secret")
    task = Task(mode="full", database="d", target=account, folder="/dm")
    samples = long_table(list(map(json.loads, (FIXTURES / "dm" / "samples.jsonl").read_text().splitlines())))
    hosts = {"client": "c", "dm": "w", "tidb": "t"}
    watched = Watched(samples, {"host@c": 0.01})
    assert load.ended
    trial = DmOutcome(task, hosts, dump.began - 9, load.ended + 9, watched)
    found = trial.full(
        sample_s=0.5, load_bytes=8 * 2**20, progress=[(dump.began, 1.0)], log=log, statements="full 500 4"
    )
    assert (found.started, found.ended) == (dump.began, load.ended)
    assert found.summary["load_mb_s"].value == pytest.approx(8 / (load.seconds or 0))
    assert found.summary["rows_per_statement"].value == 500
    assert found.proof == {"probe_cores": {"host@c": 0.01}}
    assert "secret" not in found.output
