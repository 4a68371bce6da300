"""The real go-tpc against the real PostgreSQL and MySQL 8.0, in a lab of their own: loads, their proof, and a theft."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kit import Home

from benchbook.build import programs
from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.experiment import Measurement
from benchbook.errors import WorkloadFailed
from benchbook.hosts.inventory import Inventory
from benchbook.profiles import load_profile
from benchbook.reports.load.load_trials import LoadTrials
from benchbook.systems import psql, sql
from benchbook.workloads.go_tpc import ACCOUNT, DATABASE, GoTpc, GoTpcSize

pytestmark = [pytest.mark.real, pytest.mark.slow]
Rates = Callable[[float, float], None]


@pytest.fixture
def tpcc_lab(start_lab: Callable[..., Inventory], net: str) -> Inventory:
    """A server with both roles, and a client."""
    if not programs.is_built("gotpc"):
        pytest.fail("run `make build-gotpc` before the tests, as `make test` does")
    hosts = {
        "server": {"address": f"{net}.81", "roles": ["postgresql", "mysql"]},
        "client": {"address": f"{net}.82", "roles": ["client"]},
    }
    secret = {"password_file": ".lab/secrets/database"}
    systems = {"postgresql": {"user": "postgres", **secret}, "mysql8": secret}
    return start_lab("lab_gotpc", hosts, systems=systems)


def trial(system: str) -> Trial:
    cell = Cell(table="tpcc", system=system, levels={"workload": "tpcc", "threads": 2})
    return Trial(id=system, identity="x", cell=cell, repetition=1, order=0)


def test_loads_are_proved_and_what_is_gone_is_a_failed_trial(tpcc_lab: Inventory, lab_home: Home) -> None:
    """PostgreSQL logs in by a password file, MySQL by an account without a password that is there for the load alone.

    MySQL 8.0 makes that one of caching_sha2_password, which go-tpc's driver speaks.
    """
    load = GoTpc(GoTpcSize(warehouses=1, time_s=2), ["--ignore-error"], 1)
    trials = LoadTrials(tpcc_lab, load_profile("tiny"), ["postgresql", "mysql8"], load, time_s=2, rate=0)
    with trials.running() as environment:
        assert environment.load_generator == "go-tpc v1.0.12"
        for system in ("postgresql", "mysql8"):
            about = trials.begin([trial(system)], lambda said: None)[system]
            assert about.dataset == {"generator": "go_tpc", "sizes": {"warehouses": 1}}
            found = trials.measure(trial(system), lambda second, rate: None)
            is_measured(found)
            assert trials._systems[system].endpoints()[0].password not in found.command
            with pytest.raises(WorkloadFailed, match=r"conditions do not hold: .*3\.3\.2\.(8|9|10|12) "):
                trials.measure(trial(system), taking_a_payment_back(trials, system))
        (end,) = trials._systems["mysql8"].endpoints()
        left = sql.query(trials._driver.clients[0], end, f"SELECT user FROM mysql.user WHERE user = '{ACCOUNT}'")
        assert left == []
    assert list(lab_home.path.rglob(".lab/**/pgpass*")) == []


def is_measured(found: Measurement) -> None:
    (conditions,) = found.proof["conditions"].values()
    # All but 3.3.2.11, which holds of a database that was never used.
    assert conditions == [f"3.3.2.{number}" for number in (*range(1, 11), 12)]
    counts, books = found.summary, found.proof["books"]
    assert books["after"]["payments"] - books["before"]["payments"] == counts["payments"].value > 0
    assert 0 < books["after"]["orders"] - books["before"]["orders"] <= counts["new_orders"].value
    assert counts["failed"].value == 0
    told = found.series[(found.series.source == "go_tpc") & (found.series.metric == "tps")]
    assert set(told.unit) == {"1/s"}
    assert 0 < told.value.sum() <= counts["events"].value
    assert found.started <= told.t.min() <= told.t.max() <= found.ended + 1
    assert "failed_probes" not in found.proof


def taking_a_payment_back(trials: LoadTrials, system: str) -> Rates:
    """Once: a few payments are gone, as they are where a commit was acknowledged and not written."""
    done: list[bool] = []
    client, (end,) = trials._driver.clients[0], trials._systems[system].endpoints()

    def take(second: float, rate: float) -> None:
        if not done:
            done.append(True)
            ask = psql.query if end.protocol == "pgsql" else sql.query
            ask(client, end, "DELETE FROM history WHERE h_c_id = 7", database=DATABASE)

    return take
