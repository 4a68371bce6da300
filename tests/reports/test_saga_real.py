"""The DTM report on the real DTM, MySQL 5.7 and ab: one small campaign with failing branches and a killed server."""

from __future__ import annotations

import socket

import pytest
from browser import open_page
from kit import Home

from benchbook.analysis import results
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign

pytestmark = [pytest.mark.real, pytest.mark.slow]

REPORT = "dtm_mysql"
RUNGS = ["-p", "rungs=[no_dtm:0, no_dtm:2, dtm_barrier:2]", "-p", "concurrency=[4, 8]", "-p", "time_s=1"]
SCENARIOS = ["-p", "fail=0.3", "-p", "kill_dtm=true", "-p", "repetitions=1"]


def free_ports(net: str) -> int:
    """The first of three ports that nobody has: DTM takes them on all addresses.

    Below those that Linux gives to connections, which come and go; each test run begins elsewhere.
    """
    own = int(net.rpartition(".")[2]) % 10
    for first in range(26_000 + 100 * own, 32_000, 10):
        doors = [socket.socket() for _ in range(3)]
        try:
            for offset, door in enumerate(doors):
                door.bind(("0.0.0.0", first + offset))
            return first
        except OSError:
            continue
        finally:
            for door in doors:
                door.close()
    pytest.fail("no three free ports between 26000 and 32000")


def lab(net: str) -> dict[str, object]:
    return {
        "lab": True, "ssh": {"port": 2222, "key": ".lab/keys/client", "known_hosts": ".lab/known_hosts"},
        "hosts": {
            "server": {"address": f"{net}.51", "roles": ["mysql", "dtm", "business"]},
            "client": {"address": f"{net}.52", "roles": ["client"]},
        },
        "systems": {"mariadb": {"port": 3306, "password_file": ".lab/secrets/database"},
                    "dtm": {"port": free_ports(net)}, "business": {"port": 8083}},
    }  # fmt: skip


@pytest.fixture(scope="module")
def restaged(tmp_path_factory: pytest.TempPathFactory, net: str) -> tuple[Home, str]:
    home = Home.make(tmp_path_factory.mktemp("saga") / "home", net)
    home.write("env/hosts/lab_saga.yaml", lab(net))
    words = ["report", REPORT, "--profile", "tiny", "--inventory", "lab_saga", *RUNGS, *SCENARIOS]
    status, said = home.run(*words)
    assert status == 0, said
    return home, said


@pytest.fixture(scope="module")
def campaign(restaged: tuple[Home, str]) -> Campaign:
    (folder,) = (path.parent for path in (restaged[0].path / "data" / "runs" / REPORT).glob("*/plan.json"))
    return Campaign(folder)


def of(campaign: Campaign, table: str, **levels: object) -> list[Record]:
    found = [r for r in campaign.records() if r.table == table]
    return [r for r in found if all(r.levels[name] == value for name, value in levels.items())]


def test_every_trial_is_measured_with_its_books_in_order(campaign: Campaign) -> None:
    assert (len(campaign.trials), len(campaign.records()), campaign.failures()) == (10, 10, [])
    for record in of(campaign, "saga"):
        assert all(about["holds"] for about in record.proof["invariants"].values())
        assert record.proof["global"]["committed"] == record.summary["events"].value == record.proof["ab"]["events"]
        assert record.summary["latency_mean_ms"].value > 0


def test_the_server_s_counters_are_those_of_the_load_alone(campaign: Campaign) -> None:
    for record in of(campaign, "saga", mode="no_dtm", sql_per_branch=2):
        assert record.summary["db_tx_per_global"].value == 2, "each branch commits once"
        counted, whole = record.proof["counted"], record.proof["global"]["committed"]
        assert (counted["Com_insert"], counted["Com_update"]) == (2 * whole, 2 * whole + counted["Com_rollback"])
    for record in of(campaign, "saga", mode="no_dtm", sql_per_branch=0):
        assert record.proof["retried"] == 0, "nothing reaches the database, whatever met in the trials before"
    for record in of(campaign, "saga", mode="dtm_barrier"):
        # The business commits twice, DTM at least when it saves and when it closes the transaction.
        assert record.summary["db_tx_per_global"].value >= 4
        assert record.summary["inserts_per_global"].value >= 4, "log rows and barrier rows"


def test_sysbench_alone_is_counted_too(campaign: Campaign) -> None:
    (record,) = of(campaign, "mysql_write_only")
    assert record.summary["db_tps"].value == pytest.approx(record.summary["tps"].value, rel=0.05)
    assert record.summary["ops"].value == record.summary["qps"].value


def test_failing_branches_are_compensated_and_only_the_barrier_keeps_the_books(campaign: Campaign) -> None:
    (bare,) = of(campaign, "saga_failing", mode="dtm")
    (behind,) = of(campaign, "saga_failing", mode="dtm_barrier")
    for record in (bare, behind):
        ends = record.proof["global"]
        assert record.proof["dtm_ends"] == {"succeed": ends["committed"], "failed": ends["rolled_back"]}
        assert ends["rolled_back"] > 0
        assert record.summary["rolled_back_latency_mean_ms"].value > 0
    assert all(about["holds"] for about in behind.proof["invariants"].values())
    assert behind.proof["branches"]["in.compensate"]["skipped"] == behind.proof["global"]["rolled_back"]
    # Without a barrier each compensation of a branch that did nothing takes one unit that never came.
    books = bare.proof["books"]
    assert books["balance_sum"] - books["balance_expected"] == -bare.proof["global"]["rolled_back"]


def test_after_a_killed_server_every_transaction_ends_and_the_sum_holds(campaign: Campaign) -> None:
    (record,) = of(campaign, "saga_killed")
    assert set(record.proof["dtm_ends"]) <= {"succeed", "failed"}
    assert all(about["holds"] for about in record.proof["invariants"].values())
    assert record.proof["ab"]["non_2xx"] > 0, "the load was cut off from DTM"
    assert record.summary["recovery_s"].value >= record.summary["down_s"].value > 0


def test_the_page_and_its_json(restaged: tuple[Home, str]) -> None:
    home, _ = restaged
    page = home.path / "site" / f"{REPORT}.html"
    for width in (390, 1280):
        visit = open_page(page, width)
        assert (visit.console, visit.foreign_requests(page)) == ([], [])
        assert visit.scroll_width <= width
    said = ("DTM v1.19.0", "MySQL 5.7 5.7.22-log", "share_percent", "killed.under_way", "recovery_s", "ops_off_percent")
    for part in said:
        assert part in visit.inner_text, part
    found = results.read(page.with_suffix(".json"))
    assert {row["table"] for row in found.cells if "measured" in row} == {"mysql_write_only", "saga"}
    assert {s.name for s in found.systems} == {"mysql57", "dtm", "business"}


def test_nothing_runs_afterwards_and_no_password_is_left(restaged: tuple[Home, str], campaign: Campaign) -> None:
    home, said = restaged
    assert "stopped the lab" in said
    assert home.processes() == []
    password = (home.path / ".lab" / "secrets" / "database").read_text().strip()
    kept = [*campaign.folder.rglob("*.json"), *campaign.folder.rglob("*.txt")]
    assert [path for path in kept if password in path.read_text()] == []
    left = [path for path in (home.path / ".lab").rglob("*") if path.name in ("store.env", "job.json", "stdout")]
    assert [path for path in left if password in path.read_text(errors="replace")] == []
