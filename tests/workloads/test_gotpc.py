"""go-tpc: its outputs, its command line, how it logs in, and TPC-C's books; real outputs, nothing is run."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from kit import FIXTURES, ROOT
from records import record

from benchbook.errors import BadInput, OutputNotParseable, WorkloadFailed
from benchbook.hosts.agent import Command, Ended
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.inventory import load_inventory
from benchbook.parameters import check
from benchbook.profiles import load_profile
from benchbook.published.tables import load
from benchbook.reports.kind import RunRequest, kind_of
from benchbook.reports.planning import request_for
from benchbook.workloads import go_tpc
from benchbook.workloads.base import Load, Ran
from benchbook.workloads.go_tpc import GoTpc, GoTpcSize, OrderBooks
from benchbook.workloads.remote import stamped

PRINTED_BY = FIXTURES / "gotpc"
REPORT = "tidb_v7_1_3_tpcc"
MYSQL = Endpoint("127.0.79.11", 4000, "ann", "it's:a\\secret")
POSTGRES = Endpoint("127.0.79.11", 5432, "ann", "it's:a\\secret", protocol="pgsql")


LOAD = GoTpc(GoTpcSize(warehouses=1, time_s=3), [], 1)


def printed(name: str) -> str:
    return (PRINTED_BY / f"{name}.txt").read_text()


def made(text: str) -> Any:
    ended = Ended("exited", 0, None, 1795370000.0, 1795370010.5)
    return LOAD.outcome([Ran("client", Command(["go-tpc"], 1), ended, text, "")])


# -- lines with their times -------------------------------------------------------------------------------------------


def test_every_line_gets_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamped, "time", SimpleNamespace(time=lambda: 7.25))
    assert list(stamped.stamped(["one\n", "[{}]\n"], 5)) == ["7.250 one", "7.250 [{}]"]


def test_of_errors_without_an_end_some_are_kept_and_the_figures_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stamped, "time", SimpleNamespace(time=lambda: 7.0))
    lines = ["error\n"] * 10 + ['[{"a": 1}]\n'] + ["error\n"] * 5
    kept = list(stamped.stamped(lines, 4))
    assert kept == ["7.000 error"] * 4 + ['7.000 [{"a": 1}]', "7.000 and 11 lines more"]


# -- what it prints ---------------------------------------------------------------------------------------------------


def test_a_recorded_load_of_three_threads() -> None:
    """On TiDB: 13 deliveries, 160 new orders, 12 order-status, 150 payments, 14 stock-level."""
    outcome = made(printed("run"))
    summary = {name: quantity.value for name, quantity in outcome.summary.items()}
    assert [summary[name] for name in ("tpmc", "tpm_total", "efficiency_percent")] == [3612.6, 7757.7, 14046.1]
    counts = ("events", "new_orders", "payments", "failed", "new_orders_failed", "payments_failed")
    assert [summary[name] for name in counts] == [349, 160, 150, 0, 0, 0]
    # Its longest-lived kind: 150 payments at 3,154.1 a minute.
    assert summary["total_time_s"] == pytest.approx(150 * 60 / 3154.1)
    assert summary["tps"] == pytest.approx(349 / 2.853429, rel=1e-6)
    # 1,012.5 + 3,622.1 + 146.6 + 2,949.0 + 424.7 ms
    assert summary["latency_mean_ms"] == pytest.approx(8154.9 / 349)
    assert (summary["new_order_p90_ms"], summary["latency_max_ms"]) == (50.3, 469.8)
    units = {name: outcome.summary[name].unit for name in ("tpmc", "tps", "new_order_p90_ms", "efficiency_percent")}
    assert units == {"tpmc": "1/min", "tps": "1/s", "new_order_p90_ms": "ms", "efficiency_percent": "%"}


def as_printed(rows: object) -> str:
    return json.dumps(rows, separators=(",", ":"), sort_keys=True)


def test_a_few_failures_do_not_lengthen_a_load() -> None:
    """18 in two hours are 0.15 a minute, printed as 0.1: by that alone the load would have lasted three hours."""
    every = dict.fromkeys(("50th(ms)", "90th(ms)", "95th(ms)", "99th(ms)", "Max(ms)", "Sum(ms)"), "1.0")
    kinds = {"NEW_ORDER": ("72000", "600.0", "7200.0"), "PAYMENT_ERR": ("18", "0.1", "7199.8")}
    summary = [
        {**every, "Prefix": "[Summary] ", "Operation": kind, "Count": count, "TPM": tpm, "Takes(s)": takes}
        for kind, (count, tpm, takes) in kinds.items()
    ]
    figures = [{"efficiency": "46.7%", "tpmC": "600.0", "tpmTotal": "600.0"}]
    found = made("".join(f"1795370000.000 {as_printed(each)}\n" for each in (summary, figures))).summary
    assert (found["total_time_s"].value, found["tps"].value, found["failed"].value) == (7200.0, 10.0, 18.0)


def test_its_lines_are_a_series_at_the_times_they_came() -> None:
    """Its last second is in the summary alone."""
    series = made(printed("run")).series
    tps = series[series.metric == "tps"]
    assert list(zip(tps.t, tps.value, strict=True)) == [(1795384962.742, 58.0), (1795384963.745, 100.0)]
    assert list(series[series.metric == "tpmc"].value) == [26 * 60.0, 47 * 60.0]
    load = GoTpc(GoTpcSize(warehouses=1, time_s=3), [], 1)
    assert [load.rate_in(line) for line in printed("run").splitlines()][:3] == [
        (1.0, 58.0), (pytest.approx(2.003, abs=1e-6), 100.0), None,
    ]  # fmt: skip


def test_keying_and_think_times_are_no_transactions() -> None:
    """With `--wait` each table is followed by one of these (tpcc/workload.go of v1.0.12: outputWaitTimes...)."""

    def waited(at: str, prefix: str) -> str:
        rows = [{"Avg(s)": "18.0s", "Operation": f"{kind}-NEW_ORDER", "Prefix": f"[{prefix}] "}
                for kind in ("KEYINGTIME", "THINKINGTIME")]  # fmt: skip
        return f"{at} {json.dumps(rows)}\n"

    every = printed("run")
    text = waited("1795384962.743", "Current") + every + waited("1795384964.782", "Summary")
    assert made(text).summary == made(every).summary
    assert made(text).series.equals(made(every).series)
    assert go_tpc.rate_at(waited("1795384962.743", "Current").rstrip()) is None


def test_what_a_record_answers_for() -> None:
    """8,154.9 ms of transactions in 2.853 s keep 2.86 of 3 threads busy."""
    levels, summary = {"workload": "tpcc", "threads": 3}, made(printed("run")).summary
    proof = {"conditions": {"127.0.79.11:4000": ["3.3.2.1", "3.3.2.2"]}}
    asked = {"time_s": 3, "rate": 0}
    checks = GoTpc.record_checks(record(levels=levels, asked=asked, summary=summary, proof=proof))
    assert [(each.ok, each.found) for each in checks] == [
        (True, "2.9 of 3 threads busy"),
        (True, "0 failed (0.00%)"),
        (True, "90% within 50.3 ms, of 5,000"),
        (True, "127.0.79.11:4000: 2 conditions hold"),
    ]
    bare = GoTpc.record_checks(record(levels=levels, asked=asked, summary=summary))
    assert (bare[-1].ok, bare[-1].found) == (False, "were not asked")


def test_errors_that_are_passed_over_are_no_end_and_others_are() -> None:
    """A thread of a load without `--ignore-error` ends at its first error; go-tpc itself then ends with status 0."""
    passed = "1795370000.1 [2026-11-22 21:00:00] execute run failed, err exec UPDATE t failed Error 1213: Deadlock"
    assert LOAD.failure(passed) is None
    ended = "1795370000.1 execute run failed, err exec UPDATE t failed Error 1213: Deadlock"
    assert LOAD.failure(ended) == "execute run failed, err exec UPDATE t failed Error 1213: Deadlock"
    assert LOAD.failure("Error: unknown flag: --warehose\n") == "Error: unknown flag: --warehose"
    wrong = "execute check failed, err check warehouse 1 at condition 3.3.2.8 failed"
    assert LOAD.failure(f"begin to check warehouse 1 at condition 3.3.2.8\n{wrong}\nFinished\n") == wrong


def test_a_server_that_is_gone_is_a_rate_of_nothing() -> None:
    """It prints no line for a second in which nothing was done: so the server is looked at."""
    line = "1795370007.5 [2026-11-22 21:00:00] execute run failed, err ping-based connection refresh failed (thread 1)"
    load = GoTpc(GoTpcSize(warehouses=1, time_s=3), [], 1)
    assert load.rate_in(line) == (1.0, 0.0)
    assert load.rate_in("1795370009.0 Finished") is None


def test_the_conditions_that_were_asked_by_warehouse() -> None:
    said = [f"begin to check warehouse {w} at condition 3.3.2.{n}" for w in (2, 1) for n in (10, 9, 1)]
    assert go_tpc.checked("\n".join(said)) == {w: ["3.3.2.1", "3.3.2.9", "3.3.2.10"] for w in (1, 2)}


def test_a_load_without_a_new_order_has_no_tpmc() -> None:
    with pytest.raises(OutputNotParseable, match="no summary"):
        go_tpc.parse("1795370009.0 Finished\n")


def test_where_no_new_order_was_done_the_error_that_came_most_often_is_told_first() -> None:
    def failed(why: str) -> str:
        return f"1795370000.1 [2026-11-22 21:00:00] execute run failed, err exec SELECT 1 failed {why}\n"

    row = {"Prefix": "[Summary] ", "Operation": "NEW_ORDER_ERR", "Count": 3, "TPM": "60.0", "Sum(ms)": "9.0",
           "Takes(s)": "3.0", "50th(ms)": "1.0", "90th(ms)": "1.0", "95th(ms)": "1.0", "99th(ms)": "1.0",
           "Max(ms)": "1.0"}  # fmt: skip
    text = failed("Error 1205: Lock wait") + failed("Error 1146: Table") * 2 + f"1795370003.0 {json.dumps([row])}\n"
    with pytest.raises(
        WorkloadFailed, match=r"^go-tpc: Error 1146: Table \(2 times\); Error 1205: Lock wait \(1 times\): not one"
    ):
        go_tpc.parse(text)


# -- its books --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "said"),
    [
        # 1,000 new orders, of which 990 stayed; 500 payments.
        (OrderBooks(30_990, 30_500), ""),
        # Two failed new orders and three failed payments may be there, if only the answer was lost.
        (OrderBooks(31_002, 30_503), ""),
        (OrderBooks(31_003, 30_500), "1,003 orders were entered by 1,000 new-order transactions (2 failed)"),
        (OrderBooks(30_949, 30_500), "949 orders were entered by 1,000 new-order transactions (2 failed)"),
        (OrderBooks(30_990, 30_499), "the history has 499 new rows after 500 payments (3 failed)"),
        (OrderBooks(30_990, 30_504), "the history has 504 new rows after 500 payments (3 failed)"),
    ],
)
def test_books_after_a_load(after: OrderBooks, said: str) -> None:
    assert after.wrong(OrderBooks(30_000, 30_000), (1000, 2), (500, 3)) == said


def test_a_few_orders_may_all_be_rolled_back() -> None:
    """Of five, 1% is no number to test by."""
    assert OrderBooks(0, 0).wrong(OrderBooks(0, 0), (5, 0), (0, 0)) == ""
    assert "0 orders" in OrderBooks(0, 0).wrong(OrderBooks(0, 0), (6, 0), (0, 0))


# -- how it is asked --------------------------------------------------------------------------------------------------


# A host that files are pushed to and that nothing is run on.
CLIENT: Any = SimpleNamespace(name="client", python="/usr/bin/python3", push=lambda local: f"/there/{local.name}")


def command(*ends: Endpoint) -> Command:
    load = GoTpc(GoTpcSize(warehouses=7, time_s=3), ["--ignore-error"], 1)
    load.programs["client"] = "/there/go-tpc"
    return load.command(CLIENT, ends, Load({"workload": "tpcc"}, 5, 3))


def test_the_command_line_is_the_published_one_with_a_line_a_second() -> None:
    second = Endpoint("127.0.79.12", 4000, "ann", MYSQL.password)
    assert command(MYSQL, second).typed == (
        "/usr/bin/python3 -S /there/stamped.py 500 /there/go-tpc tpcc run --host=127.0.79.11,127.0.79.12 --port=4000 "
        "--db=tpcc --warehouses=7 --threads=5 --driver=mysql --user=benchbook_tpcc --conn-params=tls=false --time=3s "
        "--ignore-error --interval=1s --output=json"
    )


def test_no_password_is_on_it() -> None:
    """The MySQL protocol has an account without one; PostgreSQL's driver reads a file."""
    assert all(MYSQL.password not in command(end).typed for end in (MYSQL, POSTGRES))
    assert (command(MYSQL).env, command(MYSQL).secrets) == ({}, {})
    asked = command(POSTGRES)
    assert "--driver=postgres --user=ann --conn-params=sslmode=disable" in asked.typed
    assert asked.env == {"PGPASSFILE": "pgpass"}
    assert asked.secrets == {"pgpass": "*:*:*:ann:it's\\:a\\\\secret\n"}


def test_tls_is_what_the_inventory_says() -> None:
    """Of itself go-tpc has it wherever the server offers it, and never for PostgreSQL."""
    safe = [Endpoint(end.address, end.port, end.user, tls=True, protocol=end.protocol) for end in (MYSQL, POSTGRES)]
    said = [go_tpc._login(end).words[-1] for end in safe]
    assert said == ["--conn-params=tls=true", "--conn-params=sslmode=require"]


def test_an_authority_of_the_inventory_s_vouches_in_place_of_the_machine_s() -> None:
    asked = go_tpc._login(Endpoint(MYSQL.address, MYSQL.port, MYSQL.user, tls=True, tls_ca="a certificate"))
    assert (asked.env, asked.secrets) == ({"SSL_CERT_FILE": "ca.pem"}, {"ca.pem": "a certificate"})


def test_servers_on_two_ports_are_refused() -> None:
    with pytest.raises(BadInput, match="one port on all servers"):
        command(MYSQL, POSTGRES)


# -- what declares it --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "said"),
    [
        ("etcd", "go_tpc cannot drive this system, which speaks etcd"),
        # Neither etcd nor redis: go-tpc would not drive them either.
        (
            "mongo",
            "unknown system .*use one of dolt, mariadb, mysql57, mysql8, pgbouncer, postgresql, tidb, tidb_cluster$",
        ),
        ("tidb_cluster", r"lab_tpcc\.yaml: hosts\.\*\.roles: no host has a role that this run needs \(got 'tikv'\)"),
    ],
)
def test_a_system_that_cannot_be_driven_or_has_no_host_is_refused_before_any_is_touched(system: str, said: str) -> None:
    """What speaks another protocol is told so, and not to be given a role."""
    published, kind = load(REPORT, ROOT / "data" / "published"), kind_of(REPORT)
    asked = check(kind.Parameters, REPORT, {"inventory": "lab_tpcc", "systems": ["mysql8", system]})
    with pytest.raises(BadInput, match=said):
        RunRequest(kind, published, asked, load_profile("smoke"), load_inventory("lab_tpcc")).experiment()


def test_a_rate_is_refused_before_any_host_is_touched_and_not_after_the_data_is_there() -> None:
    published, kind = load(REPORT, ROOT / "data" / "published"), kind_of(REPORT)
    given = {"inventory": "lab_tpcc", "system": "mysql8"}
    smoke, hosts = load_profile("smoke"), load_inventory("lab_tpcc")
    with pytest.raises(BadInput, match=r"^rate: go_tpc keeps to no rate \(got 100\)"):
        RunRequest(kind, published, check(kind.Parameters, REPORT, {**given, "rate": 100}), smoke, hosts).experiment()
    paced = smoke.model_copy(update={"loads": {"go_tpc": {**smoke.loads["go_tpc"], "rate": 7}}})
    with pytest.raises(BadInput, match=r"smoke\.yaml: loads\.go_tpc\.rate: go_tpc keeps to no rate \(got 7\)"):
        RunRequest(kind, published, check(kind.Parameters, REPORT, given), paced, hosts).experiment()


def test_a_run_builds_its_load_generator_and_no_other_run_does() -> None:
    kind = kind_of(REPORT)
    assert kind.builds(request_for(REPORT, {"inventory": "lab_tpcc"})) == ["tidb", "gotpc"]
    beside = {"inventory": "lab_tpcc", "systems": ["mariadb", "postgresql"]}
    assert kind.builds(request_for(REPORT, beside)) == ["gotpc"]
    other = replace(request_for(REPORT, beside), published=load("pgcat_pgbench", ROOT / "data" / "published"))
    assert kind.builds(other) == []


def test_a_program_that_the_inventory_names_is_not_built() -> None:
    own = load_inventory("lab_tpcc").model_copy(update={"programs": {"go-tpc": "/opt/go-tpc"}})
    assert (GoTpc.builds_for(load_inventory("lab_tpcc")), GoTpc.builds_for(own)) == (("gotpc",), ())
