"""A real Dolt: let in, filled and driven by sysbench, restored; where `benchbook build dolt` has been run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import gettempdir

import pytest
from kit import Home, words_of

from benchbook.build import programs
from benchbook.campaign.design import Cell, Trial
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.inventory import Inventory
from benchbook.profiles import load_profile
from benchbook.reports.load.load_trials import LoadTrials
from benchbook.systems.sql import query, try_login
from benchbook.workloads.sysbench import Sysbench

pytestmark = [pytest.mark.real, pytest.mark.slow]
PASSWORD = "with 'quotes' and blanks"


@pytest.fixture
def dolt_lab(start_lab: Callable[..., Inventory], lab_home: Home, net: str) -> Inventory:
    if not programs.is_built("dolt"):
        pytest.skip("Dolt is not built, which takes up to half an hour: benchbook build dolt")
    hosts = {
        "server": {"address": f"{net}.81", "roles": ["dolt"]},
        "client": {"address": f"{net}.89", "roles": ["client"]},
    }
    lab_home.write("password", PASSWORD).chmod(0o600)
    systems = {"dolt": {"password_file": "password", "settings": {"max_connections": 77}}}
    return start_lab("lab_dolt", hosts, systems=systems)


def trial(workload: str) -> Trial:
    cell = Cell(table="t", system="dolt", levels={"workload": workload, "threads": 2})
    return Trial(id=workload, identity="x", cell=cell, repetition=1, order=0)


def left_by_dolt() -> set[Path]:
    """Return what dolt 1.59 leaves in the temporary folder at each start: an empty file, named by a UUID."""
    return {path for path in Path(gettempdir()).glob("*-*-*-*-*") if len(path.name) == 36}


def test_loads_of_dolt_begin_from_the_same_rows(dolt_lab: Inventory, lab_home: Home) -> None:
    before = left_by_dolt()
    profile = load_profile("tiny").model_copy(update={"reset": "restore"})
    generator = Sysbench(profile.sysbench, ["--db-ps-mode=disable", "--percentile=50"], 1)
    trials = LoadTrials(dolt_lab, profile, ["dolt"], generator, time_s=1, rate=0)
    with trials.running():
        (about,) = trials.begin([trial("oltp_insert")], print).values()
        assert about.version == "1.59.10"
        assert about.config["variables"]["max_connections"] == "77"
        server = trials._systems["dolt"]
        (at,), (client,) = server.endpoints(), trials._driver.clients
        assert try_login(client, Endpoint(at.address, at.port, at.user, "")) == "denied"
        assert [line for p in lab_home.processes() if PASSWORD in (line := " ".join(words_of(p)))] == []
        done = trials.measure(trial("oltp_insert"), lambda *_: None)
        assert done.summary["p50_ms"].value > 0
        count = "SELECT COUNT(*) FROM sbtest.sbtest1"
        assert query(client, at, count)[0][0] > profile.sysbench.table_size
        trials.begin([trial("oltp_insert")], print)
        assert query(client, at, count)[0][0] == profile.sysbench.table_size
        assert [line for p in lab_home.processes() if "send-metrics" in (line := " ".join(words_of(p)))] == []
    assert left_by_dolt() <= before
