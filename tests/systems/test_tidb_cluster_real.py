"""A real cluster: PD, one store and two tidb-servers on hosts of one lab, which the tests of this module share."""

from __future__ import annotations

import getpass
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from faulty import Victims, loses_what_was_killed, planned
from kit import LAB_SSH, OFFERED, PROFILE, Home, words_of

from benchbook.build import programs
from benchbook.campaign import run as campaign_run
from benchbook.errors import HostUnusable
from benchbook.hosts import lab as labs
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.hosts.session import Session
from benchbook.profiles import load_profile
from benchbook.reports.load.load_kind import LoadParameters
from benchbook.systems.sql import queries, query
from benchbook.systems.tidb_cluster import TiDBCluster

pytestmark = [pytest.mark.real, pytest.mark.slow]

NAME = "lab_cluster"
ROWS = 300
# What is killed is a server, whatever it holds; a cluster in one store takes a second for a few hundred rows.
DATA = {"tables": 1, "table_size": 200}


def topology(home: Home, net: str) -> dict[str, Any]:
    """As TiUP writes it, with programs where TiUP puts them: the store's has another name than it was built by."""
    deployed = home.path / "deploy"
    for program, folder, built in (
        ("pd-server", "pd-2379", "pd"),
        ("tikv-server", "tikv-20160", "unistore"),
        ("tidb-server", "tidb-4000", "tidb"),
    ):
        target = deployed / folder / "bin" / program
        target.parent.mkdir(parents=True)
        shutil.copy(programs.artefact(built) / program.replace("tikv", "unistore"), target)
    return {
        "global": {"user": getpass.getuser(), "deploy_dir": str(deployed)},
        "pd_servers": [{"host": f"{net}.51"}],
        "tikv_servers": [{"host": f"{net}.52"}],
        "tidb_servers": [{"host": f"{net}.53"}, {"host": f"{net}.54"}],
    }


@pytest.fixture(scope="module")
def cluster_home(tmp_path_factory: pytest.TempPathFactory, net: str) -> Iterator[Home]:
    with Home.make(tmp_path_factory.mktemp("cluster") / "home", net).in_force() as home:
        yield home


@pytest.fixture(scope="module")
def deployed(cluster_home: Home, net: str) -> Iterator[Inventory]:
    """The inventory of a running lab, imported from a topology.yaml."""
    if missing := [name for name in TiDBCluster.builds if not programs.is_built(name)]:
        pytest.fail(f"build first: make {' '.join(f'build-{name}' for name in missing)}")
    cluster_home.write("topology.yaml", topology(cluster_home, net))
    systems = {"tidb_cluster": {"password_file": ".lab/secrets/database"}}
    hosts = {"executor": {"address": f"{net}.50", "roles": ["client"]}}
    own = {"lab": True, "ssh": LAB_SSH, "topology": "topology.yaml", "hosts": hosts, "systems": systems}
    cluster_home.write(f"env/hosts/{NAME}.yaml", own)
    cluster_home.write("env/profiles/tiny.yaml", {**PROFILE, "sysbench": {**PROFILE["sysbench"], **DATA}})
    inventory = load_inventory(NAME)
    labs.up(inventory, by_hand=True)
    yield inventory
    labs.down(inventory)


@contextmanager
def running(inventory: Inventory) -> Iterator[TiDBCluster]:
    with Session(inventory, inventory.hosts) as session:
        cluster = TiDBCluster(session, load_profile("tiny"))
        cluster.install()
        yield cluster
        cluster.stop()


def content(cluster: TiDBCluster) -> list[list[Sequence[Any]]]:
    """Rows and checksum of the table as each tidb-server sees them; the index must agree with the rows."""
    asked = ["ADMIN CHECK TABLE kit.t", "SELECT COUNT(*), SUM(CRC32(CONCAT(id, v))) FROM kit.t"]
    servers = zip(cluster.own_hosts, cluster.endpoints(), strict=True)
    return [list(queries(host, end, asked)[1]) for host, end in servers]


def test_a_cluster_from_a_topology_shares_its_data_and_restores_it(deployed: Inventory, cluster_home: Home) -> None:
    with running(deployed) as cluster:
        cluster.refresh(None)
        (store,) = [p for p in cluster_home.processes("--status-addr=") if "agent.py" not in " ".join(words_of(p))]
        assert store.cmdline()[0] == str(cluster_home.path / "deploy" / "tikv-20160" / "bin" / "tikv-server")
        one, two = cluster.endpoints()
        via = cluster.own_hosts[0]
        commits = "SELECT @@GLOBAL.tidb_enable_1pc, @@GLOBAL.tidb_enable_async_commit"
        assert query(via, one, commits) == [(0, 0)], "unistore cannot keep transactions apart with them"
        assert query(via, two, "SELECT @@GLOBAL.tidb_enable_auto_analyze") == [(0,)]
        rows = ", ".join(f"({i}, {i * i})" for i in range(ROWS))
        made = ["CREATE DATABASE kit", "CREATE TABLE kit.t (id INT PRIMARY KEY, v INT, KEY (v))"]
        queries(via, one, [*made, f"INSERT INTO kit.t VALUES {rows}"])
        assert query(via, two, f"SELECT v FROM kit.t WHERE id = {ROWS - 1}") == [((ROWS - 1) ** 2,)]
        before = content(cluster)
        assert before[0] == before[1]

        told = cluster.about().config
        kinds = sorted(part["type"] for part in told["cluster_info"])
        assert kinds == ["pd", "tidb", "tidb", "tikv"]
        (settings,) = [found for part, found in told["cluster_config"].items() if part.startswith("pd ")]
        assert settings["replication.max-replicas"] == "1"

        cluster.stop()
        cluster.keep("kept")
        cluster.start()
        cluster.ready()
        assert content(cluster) == before, "restarted on its own data"
        query(via, two, "DELETE FROM kit.t WHERE id % 2 = 0")
        assert content(cluster) != before
        cluster.refresh("kept")
        assert content(cluster) == before, "restored"


def test_a_program_that_is_not_there_is_named(deployed: Inventory) -> None:
    wrong = {"tikv": deployed.systems["tikv"].model_copy(update={"binary": "/nowhere/tikv-server"})}
    inventory = deployed.model_copy(update={"systems": {**deployed.systems, **wrong}})
    with (
        Session(inventory, inventory.hosts) as session,
        pytest.raises(HostUnusable, match=r"systems\.tikv\.binary.*/nowhere/tikv-server"),
    ):
        TiDBCluster(session, load_profile("tiny")).install()


def test_each_kind_of_server_that_is_killed_in_a_load_costs_its_trial_and_no_other(
    deployed: Inventory, cluster_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(campaign_run, "BEGIN_WAITS_S", (1.0, 5.0))
    built = {name: found.model_copy(update={"binary": None}) for name, found in deployed.systems.items()}
    inventory = deployed.model_copy(update={"systems": built})
    what = LoadParameters(
        inventory=NAME, profile="tiny", system="tidb_cluster", workloads=["oltp_point_select"], threads=[2], time_s=8,
        rate=OFFERED,
    )  # fmt: skip
    victims = Victims(cluster_home, inventory)
    killed = {
        1: (victims.kill("pd-server", "--initial-cluster"), "pd on pd1 has died (signal 9)"),
        2: (victims.kill("unistore-server", "--status-addr"), "tikv on tikv1 has died (signal 9)"),
        3: (victims.kill("tidb-server", "/tidb2/"), "tidb_cluster on tidb2 has died (signal 9)"),
    }
    experiment, campaign = planned(inventory, what, len(killed) + 1)
    loses_what_was_killed(campaign, experiment, killed)
