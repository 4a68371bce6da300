"""pgbench: its outputs, its command line, and what its books must say; real outputs, nothing is run."""

from __future__ import annotations

import json
import random
from contextlib import nullcontext
from dataclasses import astuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from kit import FIXTURES, ROOT
from records import record

from benchbook.errors import BadInput, OutputNotParseable
from benchbook.hosts.agent import Command, Ended
from benchbook.hosts.endpoint import Endpoint
from benchbook.published.tables import load
from benchbook.systems import psql
from benchbook.workloads import generator, option_allowlist, pgbench
from benchbook.workloads.base import Load, Ran
from benchbook.workloads.pgbench import Books, Pgbench, PgbenchSize
from benchbook.workloads.remote import pgbench_timed

PRINTED_BY = FIXTURES / "pgbench"
END = Endpoint("127.0.78.1", 5432, "ann", "it's:a\\secret", protocol="pgsql")


def printed(name: str) -> str:
    return (PRINTED_BY / f"{name}.txt").read_text()


# -- what it prints ---------------------------------------------------------------------------------------------------


def made(text: str) -> Any:
    load = Pgbench(PgbenchSize(scale=1, time_s=2), [], 1)
    ended = Ended("exited", 0, None, 1795370000.0, 1795370010.5)
    return load.outcome([Ran("client", Command(["pgbench"], 1), ended, text, "")])


@pytest.mark.parametrize(
    ("name", "figures", "seconds"),
    [
        # As published, by an old version: both rates, and none while it ran.
        ("select_only_13", {"threads": 16, "events": 16000, "latency_mean_ms": 0.115, "tps": 142314.859075,
                            "tps_connecting": 139443.955722, "total_time_s": 16000 / 142314.859075}, []),
        # Two clients through PgBouncer: 15,197 over the seconds with the 25.531 ms of connecting.
        ("select_only_15", {"threads": 2, "events": 15197, "failed": 0, "latency_mean_ms": 0.257, "tps": 7694.461476,
                            "tps_connecting": 15197 / (15197 / 7694.461476 + 0.025531), "latency_max_ms": 9.647,
                            "p50_ms": 0.155}, [6042.5, 9152.8]),
        ("tpcb_rate_15", {"events": 596, "retries": 0, "lag_mean_ms": 0.367, "tps": 199.619049,
                          "latency_mean_ms": 2.488}, [179.0, 208.9]),
        # Connecting for each transaction is part of the rate.
        ("connect_15", {"tps": 153.719078, "reconnect_mean_ms": 6.035, "tps_connecting": 153.719078}, None),
    ],
)  # fmt: skip
def test_its_figures_and_seconds(name: str, figures: dict[str, float], seconds: list[float] | None) -> None:
    found = made(printed(name))
    assert {each: found.summary[each].value for each in figures} == pytest.approx(figures)
    assert seconds is None or list(found.series[found.series.metric == "tps"].value) == seconds


def test_every_transaction_that_was_counted_was_logged() -> None:
    found = made(printed("select_only_15"))
    assert sum(count for _, count in found.histogram) == 15197
    assert max(ms for ms, _ in found.histogram) == 9.647


def test_little_s_law_counts_the_time_of_connecting_again() -> None:
    """154 transactions a second of 6.65 + 6.035 ms keep 1.95 of 2 clients busy; of none of them a time was logged."""
    summary = made(printed("connect_15")).summary
    assert "latency_max_ms" not in summary
    levels = {"workload": "select_only", "threads": 2}
    found = Pgbench.record_checks(record(levels=levels, asked={"time_s": 2, "rate": 0}, summary=summary))
    assert (found[0].ok, found[0].found) == (True, "1.9 of 2 threads busy")


NONE_WAS_DONE = printed("tpcb_rate_15").replace("processed: 596", "processed: 0").partition("latency average")[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (printed("server_died_15"), "terminating connection due to unexpected postmaster exit"),
        (printed("refused_15"), "Connection refused"),
        # pgbench then ends with status 0, and prints no latency.
        (NONE_WAS_DONE, "not one transaction was done: connecting took all of the time"),
        (printed("tpcb_rate_15"), "None"),
    ],
)
def test_what_pgbench_calls_an_error_is_told(text: str, said: str) -> None:
    assert said in str(pgbench.failure(text))


def test_seconds_are_counted_from_when_the_clients_began_to_connect() -> None:
    """And back from when pgbench ended, not from when its log was read (half a second later in `made`)."""
    found = made(printed("select_only_15"))
    told = found.series[found.series.metric == "tps"]
    assert [t - found.ended for t in told.t] == pytest.approx([-1.0, 0.0], abs=0.001)


def test_what_it_says_of_the_time_in_which_clients_connected_is_none_of_the_load() -> None:
    """128 clients on two busy cores took 1.7 s: the second before the load began stood left of 0 in every figure."""
    text = printed("select_only_15").replace("connection time = 25.531 ms", "connection time = 1025.531 ms")
    assert "1025.531" in text
    found = made(text)
    (line,) = found.series[found.series.metric == "tps"].itertuples()
    assert line.value == 9152.8
    # It ends with the load: what reads the log afterwards is none of it either.
    assert found.ended == made(printed("select_only_15")).ended
    assert 0 < line.t - (found.ended - found.summary["total_time_s"].value) < 1


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1.0 s, 14036.8 tps, lat 0.282 ms stddev 0.113, 0 failed", (14036.8, 0.282, 0, None)),
        ("2.0 s, 995.0 tps, lat 1.3 ms stddev 0.5, lag 0.042 ms", (995.0, 1.3, None, None)),
        ("2.0 s, 9.0 tps, lat 1.7 ms stddev 1.4, 1 failed, lag 0.2 ms, 1 retried, 3 retries", (9.0, 1.7, 1, 3)),
        ("3.0 s, 81.0 tps, lat 9.9 ms stddev 3.1, 2 failed, 5 retried, 7 retries", (81.0, 9.9, 2, 7)),
        ("4.0 s, 0.0 tps, lat -nan ms stddev -nan, 0 failed", (0.0, None, 0, None)),
        ("5.0 s, 99.1 tps, lat 0.2 ms stddev 0.1", (99.1, 0.2, None, None)),
    ],
)
def test_a_line_of_progress(line: str, expected: tuple[float | None, ...]) -> None:
    """Of a second in which nothing was done there is no latency."""
    assert Pgbench(PgbenchSize(scale=1, time_s=2), [], 1).rate_in(f"progress: {line}\n") == (
        float(line[:3]),
        expected[0],
    )
    text = (
        printed("tpcb_rate_15")
        .replace("progress:", "other:")
        .replace("transaction type", f"progress: {line}\ntransaction type")
    )
    series = made(text).series
    assert series.t.nunique() == 1
    seen = dict(zip(series.metric, series.value, strict=True))
    assert tuple(seen.get(name) for name in ("tps", "latency_ms", "failed", "retries")) == expected


def test_what_is_missing_is_named() -> None:
    with pytest.raises(OutputNotParseable, match="is cut: it has no tps, events"):
        made("transaction type: <builtin: select only>\nnumber of clients: 2\n")


# -- how long its transactions took -----------------------------------------------------------------------------------


def test_buckets_are_exact_below_2048_us_and_a_thousandth_wide_above() -> None:
    assert [pgbench_timed.bucket(us) for us in (0, 1, 117, 2047, 2048, 2049, 2050)] == [
        0,
        1,
        117,
        2047,
        2049,
        2049,
        2051,
    ]
    draw = random.Random(1)
    for us in (draw.randrange(2048, 10**9) for _ in range(500)):
        assert us <= pgbench_timed.bucket(us) < us * 1.001


def test_the_times_of_a_log_are_counted_and_failures_are_none(tmp_path: Path) -> None:
    first, second = tmp_path / "log.7", tmp_path / "log.7.1"
    first.write_text("0 1 253 0 1795370000 100\n1 1 300 0 1795370000 200 17\n0 2 failed 0 1795370000 300\n")
    second.write_text("2 1 253 0 1795370000 400\n2 2 5000 0 1795370001 400\n")
    assert sum(pgbench_timed.counted([str(PRINTED_BY / "transactions.log")]).values()) == 6
    assert dict(pgbench_timed.counted([str(first), str(second)])) == {253: 2, 300: 1, 5003: 1}


def test_what_was_counted_there_becomes_percentiles_here() -> None:
    draws = np.arange(1, 1001)
    said = {"ended": 1795370010.0, "buckets_us": [[int(us), 1] for us in draws]}
    output = f"{printed('select_only_13')}benchbook: {json.dumps(said)}\n"
    summary = made(output).summary
    assert [summary[name].value for name in ("p50_ms", "p95_ms", "p99_ms", "latency_max_ms")] == [0.5, 0.95, 0.99, 1.0]
    assert [summary[name].unit for name in ("tps", "p50_ms", "events", "total_time_s")] == ["1/s", "ms", "1", "s"]


# -- its books --------------------------------------------------------------------------------------------------------

NONE = Books(0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("workload", "moved", "events", "said"),
    [
        ("tpcb_like", Books(70, 70, 70, 70, 3), 3, ""),
        ("simple_update", Books(70, 0, 0, 70, 3), 3, ""),
        ("select_only", NONE, 900, ""),
        ("tpcb_like", Books(70, 70, 69, 70, 3), 3, "branches changed by 69, not by 70"),
        ("tpcb_like", Books(70, 70, 70, 70, 2), 3, "the history has 2 new rows after 3 transactions that wrote"),
        ("simple_update", Books(70, 70, 0, 70, 3), 3, "tellers changed by 70, not by 0"),
        ("select_only", Books(0, 0, 0, 0, 1), 9, "the history has 1 new rows after 0 transactions that wrote"),
    ],
)
def test_books_are_compared_with_those_before_the_load(workload: str, moved: Books, events: int, said: str) -> None:
    before = Books(100, 60, 61, 99, 5)
    after = Books(*(astuple(before)[i] + more for i, more in enumerate(astuple(moved))))
    assert after.wrong(before, workload, events) == said


# -- how it is asked ---------------------------------------------------------------------------------------------------


def test_a_password_is_on_no_command_line_and_survives_its_file() -> None:
    where = psql.reached(END, "bench", "a folder/pgpass")
    assert where == (
        "host='127.0.78.1' port='5432' user='ann' dbname='bench' sslmode='disable' passfile='a folder/pgpass' "
        "connect_timeout='10'"
    )
    assert psql.pass_line(END) == "*:*:*:ann:it's\\:a\\\\secret\n"


@pytest.mark.parametrize(
    ("report", "option", "ok"),
    [
        ("pgcat_pgbench", "--protocol=prepared", True),
        ("pgcat_pgbench", "--file=/etc/passwd", False),
        ("tidb_v7_1_3_tpcc", "--weight=45,43,4,4,4", True),
        ("tidb_v7_1_3_tpcc", "--pprof=:80", False),
    ],
)
def test_a_report_may_choose_what_its_generator_knows(report: str, option: str, ok: bool) -> None:
    published = load(report, ROOT / "data" / "published")
    design = [each.model_copy(update={"options": [option]}) for each in published.report.design]
    chosen = generator(design[0].load)
    refused = pytest.raises(BadInput, match=f"{chosen.name} does not know this option")
    with nullcontext() if ok else refused:
        option_allowlist.check(chosen, design, [], Path("report.yaml"))


# A host that files are pushed to and that nothing is run on.
CLIENT: Any = SimpleNamespace(name="client", python="/usr/bin/python3", push=lambda local: f"/there/{local.name}")


@pytest.mark.parametrize(
    ("workload", "threads", "rate", "logged", "words"),
    [
        # Two seconds more, in which 128 clients connect.
        ("select_only", 128, 0, 1.0, {"--client=128", "--time=4"}),
        ("select_only", 8, 0, 1.0, {"--builtin=select-only", "--client=8", "--time=2", "--protocol=extended"}),
        ("tpcb_like", 8, 500, 0.1, {"--builtin=tpcb-like", "--rate=500", "--sampling-rate=0.1"}),
    ],
)
def test_the_command_line(workload: str, threads: int, rate: int, logged: float, words: set[str]) -> None:
    load = Pgbench(PgbenchSize(scale=1, time_s=2, logged=logged), ["--protocol=extended", "--jobs=2"], 7)
    load.programs["client"] = "/bin/pgbench"
    command = load.command(CLIENT, [END], Load({"workload": workload}, threads, 2, rate))
    told = {"--no-vacuum", "--progress=1", "--log", "--log-prefix=log", "--random-seed=7", "--jobs=2"}
    assert words | told <= set(map(str, command.argv))
    assert command.argv[:4] == ["/usr/bin/python3", "-S", "/there/pgbench_timed.py", "/bin/pgbench"]
    assert END.password not in command.typed
    assert ("--rate=0" in command.typed) is False


# -- what declares it --------------------------------------------------------------------------------------------------


def test_the_failure_that_came_most_often_is_told_first_where_nothing_was_done() -> None:
    """As pgbench 15 prints it with --failures-detailed; of aborted clients, the words that most of them had."""
    none = (
        "number of transactions actually processed: 0\nnumber of failed transactions: 312 (100.000%)\n"
        "number of serialization failures: 300 (96.154%)\nnumber of deadlock failures: 12 (3.846%)\n"
    )
    assert pgbench.failure(none) == "300 serialization failures, 12 deadlock failures: not one transaction was done"
    aborted = [
        f'pgbench: error: client {n} script 0 aborted in command 4 query 0: ERROR:  relation "{name}" does not exist'
        for n, name in enumerate(["x", "pgbench_history", "pgbench_history"])
    ]
    said = 'pgbench: error: aborted in command 4 query 0: ERROR:  relation "pgbench_history" does not exist (2 times); '
    assert str(pgbench.failure("\n".join(aborted))).startswith(said)
