"""The real PostgreSQL, PgBouncer before it and pgbench, in a lab of their own, for one life."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kit import Home, words_of

from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.experiment import Measurement
from benchbook.errors import BadInput, SystemFailed
from benchbook.hosts.inventory import Inventory
from benchbook.profiles import load_profile
from benchbook.reports.load.load_trials import LoadTrials
from benchbook.systems import psql
from benchbook.workloads.pgbench import DATABASE, Pgbench, PgbenchSize

pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.fixture
def pg_lab(start_lab: Callable[..., Inventory], net: str) -> Inventory:
    """A server with both roles, and a client."""
    hosts = {
        "server": {"address": f"{net}.71", "roles": ["postgresql", "pgbouncer"]},
        "client": {"address": f"{net}.72", "roles": ["client"]},
    }
    account = {"user": "postgres", "password_file": ".lab/secrets/database"}
    return start_lab("lab_pg", hosts, systems={"postgresql": account})


def trial(system: str, workload: str) -> Trial:
    levels: dict[str, str | int | float] = {"workload": workload, "threads": 2}
    cell = Cell(table="select_only", system=system, levels=levels)
    return Trial(id=f"{system}-{workload}", identity="x", cell=cell, repetition=1, order=0)


def run(trials: LoadTrials, system: str, workload: str) -> Measurement:
    trials.begin([trial(system, workload)], lambda said: None)
    return trials.measure(trial(system, workload), lambda second, rate: None)


def test_loads_are_measured_and_proved_and_a_killed_server_is_a_failed_trial(pg_lab: Inventory, lab_home: Home) -> None:
    load = Pgbench(PgbenchSize(scale=1, time_s=2), ["--protocol=extended", "--jobs=2"], 1)
    trials = LoadTrials(pg_lab, load_profile("tiny"), ["pgbouncer", "postgresql"], load, time_s=2, rate=0)
    with trials.running() as environment:
        assert environment.load_generator.startswith("pgbench (PostgreSQL) ")
        about = trials.begin([trial("pgbouncer", "tpcb_like")], lambda said: None)["pgbouncer"]
        assert about.config["variables"]["pool_mode"] == "transaction"
        durable = [about.config["postgresql"]["variables"][name] for name in ("fsync", "synchronous_commit")]
        assert durable == ["on", "on"]
        assert about.dataset == {"generator": "pgbench", "sizes": {"scale": 1}}
        is_measured(trials.measure(trial("pgbouncer", "tpcb_like"), lambda second, rate: None), "pgbouncer")
        password = trials._systems["postgresql"].endpoints()[0].password
        assert [line for p in lab_home.processes() if password in (line := " ".join(words_of(p)))] == []
        is_measured(run(trials, "postgresql", "simple_update"), "postgresql")
        is_killed(trials, lab_home)
        what_was_kept_comes_back(trials)
    assert lab_home.processes("postgres", "-D") == lab_home.processes("pgbouncer.ini") == []
    assert list(lab_home.path.rglob(".lab/**/pgpass*")) == []


def is_measured(found: Measurement, system: str) -> None:
    events = found.summary["events"].value
    assert events == sum(count for _, count in found.histogram) > 10
    assert found.summary["p50_ms"].value <= found.summary["p99_ms"].value <= found.summary["latency_max_ms"].value
    assert found.summary["failed"].value == 0
    ((books,),) = [found.proof["books"].values()]
    # Restored before this load: what the history holds is what the load has written.
    assert (books["before"]["rows"], books["after"]["rows"]) == (0, events)
    assert "failed_probes" not in found.proof
    seen = found.series
    assert {"host", "pgbench", "postgresql", system} <= set(seen.source)
    committed = seen[(seen.source == "postgresql") & (seen.metric == "xact_commit")]
    assert set(committed.unit) == {"1/s"}
    assert committed.value.max() > 10
    if system == "pgbouncer":
        assert seen[(seen.source == "pgbouncer") & (seen.metric == "cl_active")].value.max() >= 1


def is_killed(trials: LoadTrials, home: Home) -> None:
    """In mid-load: the server is named, not the load generator."""

    def kill(second: float, rate: float) -> None:
        for process in home.processes("/postgres", "-D"):
            process.kill()

    with pytest.raises(SystemFailed, match=r"postgresql on server has died \(signal 9\)"):
        trials.measure(trial("postgresql", "select_only"), kill)


def what_was_kept_comes_back(trials: LoadTrials) -> None:
    trials.begin([trial("postgresql", "select_only")], lambda said: None)
    server = trials._systems["postgresql"]
    host, (end,) = trials._driver.clients[0], server.endpoints()
    assert psql.query(host, end, "SELECT count(*) FROM pgbench_history", database=DATABASE) == [["0"]]
    assert server.row_counts(host, end, DATABASE, ["pgbench_accounts"]) == {"pgbench_accounts": 100_000}
    assert psql.try_login(host, end.__class__(end.address, end.port, end.user, "wrong")) == "denied"


def test_more_clients_than_a_server_is_set_to_take_are_refused_before_it_is_filled(
    pg_lab: Inventory, lab_home: Home
) -> None:
    settings = pg_lab.systems["postgresql"].model_copy(update={"settings": {"max_connections": 20}})
    narrow = pg_lab.model_copy(update={"systems": {"postgresql": settings}})
    load = Pgbench(PgbenchSize(scale=1, time_s=2), [], 1)
    many = trial("postgresql", "select_only").model_copy(
        update={"cell": Cell(table="t", system="postgresql", levels={"workload": "select_only", "threads": 20})}
    )
    trials = LoadTrials(narrow, load_profile("tiny"), ["postgresql"], load, time_s=2, rate=0)
    with trials.running():
        with pytest.raises(
            BadInput, match=r"systems.postgresql.settings.max_connections: 21 connections, .* \(got 20\)"
        ):
            trials.begin([many], lambda said: None)
        assert not [*lab_home.path.glob(".lab/**/jobs/prepare-*")]
