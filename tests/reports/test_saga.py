"""The DTM report without a server: rungs, command lines, arithmetic, books, tables and figures, by hand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pandas as pd
import pytest
import tabled
from kit import ROOT, Home
from records import record

from benchbook import published
from benchbook.analysis.beside import in_rows
from benchbook.analysis.trials import figures_of, of_records
from benchbook.campaign.design import Cell
from benchbook.campaign.record import Quantity, Record
from benchbook.errors import BadInput
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.profiles import load_profile
from benchbook.reports.kind import RunRequest
from benchbook.reports.saga import saga_kind, saga_summary
from benchbook.reports.saga.ladder import SagaLadder, ab_version
from benchbook.reports.saga.rungs import Rung, figures_at_knee, rung_names
from benchbook.systems import mysql
from benchbook.workloads import ab

PUBLISHED = published.load("dtm_mysql")
KIND = saga_kind.SagaKind()


def parameters(**said: Any) -> saga_kind.SagaParameters:
    return saga_kind.SagaParameters(inventory="lab_dtm", **said)


def request(lab: Inventory, report: published.Published = PUBLISHED) -> RunRequest:
    return RunRequest(KIND, report, parameters(), load_profile("smoke"), lab)


# -- rungs and cells ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rung", "path", "label"),
    [
        (Rung("no_dtm", 2), "/saga?dtm=0&barrier=0&pairs=1", "no DTM, 2 SQL"),
        (Rung("dtm", 0), "/saga?dtm=1&barrier=0&pairs=0", "DTM, empty"),
        (Rung("dtm_barrier", 10, 0.25), "/saga?dtm=1&barrier=1&pairs=5&fail=0.25", "DTM + barrier, 10 SQL, 25% fail"),
    ],
)
def test_a_rung_is_a_request_and_a_label(rung: Rung, path: str, label: str) -> None:
    assert (rung.path, rung.label) == (path, label)


@pytest.mark.parametrize("said", ["dtm", "dtm:x", "xa:2", "dtm:3"])
def test_a_rung_that_does_not_exist_is_refused(said: str) -> None:
    with pytest.raises(BadInput) as caught:
        KIND.cells(PUBLISHED, parameters(rungs=[said]))
    assert caught.value.key == "rungs"
    assert caught.value.fix


def test_the_whole_ladder_is_the_published_one_and_the_ceiling() -> None:
    cells = KIND.cells(PUBLISHED, parameters())
    assert [c.table for c in cells] == ["mysql_write_only", *["saga"] * 8, *["saga_failing"] * 2]
    assert cells[0] == Cell(
        table="mysql_write_only", system="mysql57", levels={"workload": "oltp_write_only", "threads": 10}
    )
    assert cells[1].levels == {"mode": "no_dtm", "sql_per_branch": 0, "concurrency": 10}
    assert [c.levels["mode"] for c in cells[2:9]] == list(PUBLISHED.table("saga").frame["mode"])
    assert cells[-1].levels == {"mode": "dtm_barrier", "sql_per_branch": 2, "concurrency": 10, "fail": 0.2}


def test_sizes_that_are_noted_are_those_that_the_report_states() -> None:
    table = PUBLISHED.table("mysql_write_only")
    stated = replace(table, fixed={**table.fixed, "tables": 16, "threads": 12})
    other = replace(PUBLISHED, tables={**PUBLISHED.tables, table.id: stated})
    asked = request(load_inventory("lab_dtm"), other).asked()
    assert (asked["tables"], asked["threads"], asked["systems"]) == (16, 12, ["mysql57"])


def test_concurrency_is_swept_for_the_ladder_and_the_scenarios_take_the_lowest() -> None:
    said = parameters(rungs=["dtm:2"], concurrency=[8, 4], sysbench=False, kill_dtm=True, fail=0.5)
    levels = [(c.table, c.levels["concurrency"]) for c in KIND.cells(PUBLISHED, said)]
    assert len({c.slug for c in KIND.cells(PUBLISHED, said)}) == 5, "a trial's id is made of its levels"
    assert levels == [("saga", 8), ("saga", 4), ("saga_failing", 4), ("saga_failing", 4), ("saga_killed", 4)]
    assert [c.table for c in KIND.cells(PUBLISHED, parameters(rungs=["dtm:2"], sysbench=False, fail=0))] == ["saga"]


def test_the_lab_of_the_report_can_run_it_and_one_without_a_role_cannot(home: Home) -> None:
    home.write("env/hosts/lab_dtm.yaml", (ROOT / "env" / "hosts" / "lab_dtm.yaml").read_text())
    lab = load_inventory("lab_dtm")
    assert KIND.experiment(request(lab)).generator.dataset.tables == 10
    hosts = {name: host for name, host in lab.hosts.items() if "client" in host.roles}
    with pytest.raises(BadInput, match="no host has a role"):
        request(lab.model_copy(update={"hosts": hosts})).experiment()
    with pytest.raises(BadInput, match="one host of each kind"):
        request(_two_clients(lab)).experiment()


@pytest.mark.parametrize(("server", "port"), [("business", 8083), ("dtm", 36789), ("dtm", 36791)])
def test_a_service_has_not_the_port_of_sshd_even_where_nobody_names_its_own(server: str, port: int) -> None:
    """DTM listens on the two ports above its own as well: 36790 and 36791."""
    lab = load_inventory("lab_dtm")
    lab = lab.model_copy(
        update={"systems": {"mariadb": lab.systems["mariadb"]}, "ssh": lab.ssh.model_copy(update={"port": port})}
    )
    with pytest.raises(BadInput, match=f"systems.{server}.port: {server} and the sshd of host server .*got {port}"):
        request(lab).experiment()


def _two_clients(lab: Inventory) -> Inventory:
    second = lab.hosts["client"].model_copy(update={"address": "127.0.75.10"})
    return lab.model_copy(update={"hosts": {**lab.hosts, "second": second}})


# -- ab -------------------------------------------------------------------------------------------------------------


def test_the_command_line_of_a_load() -> None:
    command = ab.for_requests("/usr/bin/ab", "http://h:1/saga?a=1&b=2", concurrency=10, requests=500, longest_s=60)
    assert ab.shown(command) == "/usr/bin/ab -l -s 90 -n 500 -c 10 http://h:1/saga?a=1&b=2"
    few = ab.for_requests("ab", "u", concurrency=10, requests=3, longest_s=60)
    assert "-n 20 -c 10" in ab.shown(few), "ab refuses fewer requests than clients"
    assert "-t 2 -n 50000000 -c 4" in ab.shown(ab.for_seconds("ab", "u", concurrency=4, seconds=2))


def test_progress_is_the_rate_between_the_tenths_that_ab_announces(monkeypatch: pytest.MonkeyPatch) -> None:
    moments, rates = iter([0.0, 2.0, 2.5, 4.0, 5.0]), []
    monkeypatch.setattr(ab, "time", SimpleNamespace(monotonic=lambda: next(moments)))
    progress = ab.AbProgress(lambda s, rate: rates.append((s, rate)))
    for part in (b"Benchmarking h\nCompleted 100 requests\n", b"Compl", b"eted 300 requests\n"):
        progress(part)
    assert rates == [(2.0, 50.0), (4.0, 100.0)]
    progress(b"Completed 400 requests\nCompleted 500 requests\n")
    assert rates[2:] == [(5.0, 200.0)], "200 in the second since 4.0: what comes at once has one time"
    assert progress.text.endswith("500 requests\n")


def test_the_version_of_ab() -> None:
    assert ab_version("This is ApacheBench, Version 2.3 <$Revision$>\nCopyright") == "ab 2.3"


# -- figures of a trial ---------------------------------------------------------------------------------------------

AB = {"events": 1000.0, "non_2xx": 0.0, "total_time_s": 2.0}
NOTHING = {"count": 0, "mean_ms": 0, "max_ms": 0, "hdr_us": ""}
COUNTED = {
    "Binlog_commits": 4100,
    "Com_insert": 4100,
    "Com_update": 3000,
    "Com_delete": 0,
    "Com_replace": 0,
    "Com_select": 10,
    "Com_commit": 3000,
    "Com_begin": 3000,
    "Com_rollback": 0,
    "Questions": 13000,
}


def stats(**ends: int) -> dict[str, Any]:
    counts = {"started": 1000, "committed": 1000, "rolled_back": 0, "failed": 0, **ends}
    return {"global": counts, "latency": {"committed": NOTHING, "rolled_back": NOTHING}}


def test_rates_and_what_a_global_transaction_costs_are_counted() -> None:
    found = {name: q.value for name, q in saga_summary.summarise(AB, stats(), COUNTED).items()}
    assert (found["global_tps"], found["db_tps"], found["ops"]) == (500, 2050, 3555)
    assert (found["db_tx_per_global"], found["sql_per_global"]) == (4.1, 7.11)
    assert (found["inserts_per_global"], found["updates_per_global"], found["selects_per_global"]) == (4.1, 3.0, 0.01)
    assert found["begins_and_commits_per_global"] == 6
    assert "p95_ms" not in found, "no latency where nothing has one"


def test_answers_without_an_end_are_no_throughput() -> None:
    found = saga_summary.summarise({**AB, "non_2xx": 100.0}, stats(committed=600, rolled_back=300, failed=100), COUNTED)
    assert found["global_tps"].value == 450
    assert found["errors"].value == 100
    assert found["rolled_back_share"].value == pytest.approx(1 / 3)


def test_what_stands_still_keeps_what_it_was_read_as_last() -> None:
    readings = iter([{"Com_update": 4}, {"Com_update": 5}, {"Com_update": 5, "Binlog_commits": 3}])
    ladder_ = cast(Any, SagaLadder.__new__(SagaLadder))
    ladder_._counters = lambda: next(readings)
    assert ladder_._still_counters() == {"Com_update": 5, "Binlog_commits": 3}


def test_counters() -> None:
    assert mysql.counted_between({"a": 1, "b": 2}, {"a": 4, "b": 2}) == {"a": 3, "b": 0}
    assert mysql.statements(COUNTED) == 7110


# -- books ----------------------------------------------------------------------------------------------------------

GOOD = {
    "accounts": 100,
    "balance_sum": 1000,
    "balance_expected": 1000,
    "repeated_steps": 0,
    "bare_compensations": 0,
    "unbalanced_transactions": 0,
    "accounts_not_matching_the_log": 0,
}


def proof(**changes: Any) -> dict[str, Any]:
    """Ten transactions behind DTM, eight committed and two rolled back."""
    return {
        "global": {"started": 10, "committed": 8, "rolled_back": 2, "failed": 0},
        "books": GOOD,
        "branches": {"out.action": {"executed": 10}, "in.action": {"executed": 8}},
        "dtm_ends": {"succeed": 8, "failed": 2},
        **changes,
    }


def wrong(mode: str = "dtm_barrier", **changes: Any) -> list[str]:
    return saga_summary.violated(saga_summary.invariants(Rung(mode, 2), proof(**changes)))


def test_good_books_hold() -> None:
    assert wrong() == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"dtm_ends": {"succeed": 8, "submitted": 2}}, "every global transaction ended: 2 of 10 without an end"),
        ({"dtm_ends": {"succeed": 8}}, "every global transaction ended: 0 of 8 without an end"),
        ({"books": {**GOOD, "balance_sum": 997}}, "sum of balances unchanged: off by -3"),
        ({"books": {**GOOD, "repeated_steps": 1}}, "every branch exactly once: 1 steps repeated"),
        ({"branches": {"out.action": {"executed": 10}}}, "every branch exactly once: 8 actions too few or too many"),
    ],
)
def test_what_is_wrong_with_books_is_said(changes: dict[str, Any], said: str) -> None:
    assert wrong(**changes) == [said]


def test_without_dtm_the_service_alone_knows_what_ended() -> None:
    assert wrong("no_dtm", dtm_ends={}) == []
    cut = {"started": 10, "committed": 7, "rolled_back": 2, "failed": 1}
    assert wrong("no_dtm", **{"global": cut})[0].endswith("1 of 10 without an end")


def test_after_a_kill_dtm_s_own_store_says_what_ended() -> None:
    cut = {"started": 30, "committed": 5, "rolled_back": 0, "failed": 25}
    assert wrong(killed={"under_way": 3}, **{"global": cut}) == []
    assert wrong(killed={"under_way": 3}, dtm_ends={"submitted": 3})[0].endswith("3 of 3 without an end")


def test_dtm_is_not_killed_under_a_load_that_is_over() -> None:
    """Of a load of 45 requests no 50 end, however long that is waited for."""
    ladder_ = cast(Any, SagaLadder.__new__(SagaLadder))
    ladder_._business = SimpleNamespace(stats=lambda: {"global": {"committed": 45, "rolled_back": 0, "failed": 0}})
    over = SimpleNamespace(status=iter([None, None, "ended", "ended"]).__next__)
    # Had it been killed, there would be no `_dtm` to do it to.
    assert ladder_._kill_dtm(over) == {}


def test_dtm_has_recovered_when_those_have_ended_that_it_was_killed_under() -> None:
    """Two were cut off; one of them ends at once, the other after it. Those of the load, which goes on, are others."""
    asked = iter([{"a", "b"}, {"a", "c"}, {"a", "d", "e"}, {"f"}])
    ladder_ = cast(Any, SagaLadder.__new__(SagaLadder))
    ladder_._business = SimpleNamespace(stats=lambda: {"global": {"committed": 60, "rolled_back": 0, "failed": 0}})
    servers = SimpleNamespace(crash=lambda host: None, start=lambda: None, ready=lambda: None)
    ladder_._dtm = SimpleNamespace(servers=servers, host="dtm1", not_ended=lambda: next(asked))
    found = ladder_._kill_dtm(SimpleNamespace(status=lambda: None))
    assert found["under_way"] == 2
    assert found["recovery_s"] >= found["down_s"]
    assert list(asked) == []


# -- tables ---------------------------------------------------------------------------------------------------------


def ladder(tps: dict[int, list[float]], mode: str = "dtm", sql: int = 2, system: str = "mariadb") -> list[Record]:
    return [
        record(
            f"r{n}-{system}-{mode}{sql}-{c}",
            table="saga",
            system=system,
            repetition=n,
            levels={"mode": mode, "sql_per_branch": sql, "concurrency": c},
            summary={"global_tps": Quantity(value=value, unit="1/s"), "db_tps": Quantity(value=4 * value, unit="1/s")},
        )
        for c, values in tps.items()
        for n, value in enumerate(values, 1)
    ]


def at_knee(records: list[Record]) -> set[tuple[str, str]]:
    """The rungs that are compared, each with its number of clients."""
    found = figures_at_knee(figures_of(of_records(records), ["global_tps"]))
    names = found.system.astype(str) + ": " + rung_names(found).astype(str)
    return set(zip(names, found.concurrency, strict=True))


def test_a_rung_is_compared_at_its_knee() -> None:
    records = ladder({10: [80, 82], 20: [97, 99], 40: [100, 102]}) + ladder({10: [50, 50]}, sql=10)
    assert at_knee(records) == {("mariadb: DTM, 2 SQL", 20), ("mariadb: DTM, 10 SQL", 10)}


def test_each_of_several_systems_has_its_own_knee() -> None:
    """One is as fast as it gets with 10 clients, the other with 40; together both would be at 40 with 65."""
    records = ladder({10: [30, 30], 40: [30, 30]}) + ladder({10: [50, 50], 40: [100, 100]}, system="mysql57")
    assert at_knee(records) == {("mariadb: DTM, 2 SQL", 10), ("mysql57: DTM, 2 SQL", 40)}


def test_published_tables_show_the_knee() -> None:
    records = ladder({10: [80, 82], 40: [100, 102]})
    found = tabled.beside(KIND, PUBLISHED, records, [])
    assert {*found.table} == {"saga"}
    (row,) = in_rows(found[found.metric == "global_tps"])
    assert (row["mode"], row["sql_per_branch"], row["measured"], row["n"]) == ("dtm", 2, 101, 2)


def test_rungs_climb_as_the_report_does() -> None:
    rungs = [Rung("dtm_barrier", 10), Rung("dtm", 2), Rung("dtm", 0), Rung("no_dtm", 2), Rung("no_dtm", 0)]
    rows = [{"mode": rung.mode, "sql_per_branch": rung.sql_per_branch} for rung in rungs]
    found = rung_names(pd.DataFrame([*rows, {"mode": "dtm", "sql_per_branch": 2, "fail": 0.2}, {"mode": None}]))
    assert found.sort_values().tolist() == [
        "sysbench alone", "no DTM, empty", "no DTM, 2 SQL", "DTM, empty", "DTM, 2 SQL", "DTM, 2 SQL, 20% fail",
        "DTM + barrier, 10 SQL",
    ]  # fmt: skip
