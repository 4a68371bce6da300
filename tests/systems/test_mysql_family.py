"""MySQL and MariaDB as data: their options, what a report wants of them, how commits are counted, who may be named."""

from __future__ import annotations

from typing import Any

import pytest
import tabled
from kit import INVENTORY, Home
from records import record

from benchbook import published, systems
from benchbook.campaign.design import plan
from benchbook.campaign.record import Quantity
from benchbook.errors import BadInput
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.hosts.session import Session
from benchbook.parameters import check
from benchbook.probes.remote import mysql_probe
from benchbook.profiles import load_profile
from benchbook.reports.dm import dm_kind
from benchbook.reports.dm.pipeline import UPSTREAM
from benchbook.reports.planning import request_for
from benchbook.systems import mysql
from benchbook.systems.mysql import PLAIN, MysqlServer, Purpose

GTIDS = {
    "": 0,
    "cd6686fe-e67e-11f1-8517-02fc00000001:1-8": 8,
    "cd6686fe-e67e-11f1-8517-02fc00000001:3": 1,
    # Two servers, one of them with a gap: 5 + 1 + 1.
    "cd6686fe-e67e-11f1-8517-02fc00000001:1-5:7,\nda79c6f4-e67e-11f1-b922-02fc00000001:3": 7,
}


@pytest.fixture(autouse=True)
def _password(home: Home) -> None:
    home.write(".lab/secrets/database", "secret\n")


def server(name: str, purpose: Purpose = PLAIN) -> MysqlServer:
    inventory = load_inventory(INVENTORY)
    with Session(inventory, []) as session:
        return mysql.make([name], session, load_profile("tiny"), purpose)[name]


@pytest.mark.parametrize(("said", "count"), GTIDS.items())
def test_a_set_of_gtids_says_how_many_transactions_were_committed(said: str, count: int) -> None:
    assert mysql.transactions(said) == count
    # A probe shows nothing where there are no GTIDs: on MariaDB, on TiDB, before the first commit.
    assert mysql_probe.transactions(said) == (count or None)


def test_a_plain_server_writes_no_binary_log_and_stands_for_nothing() -> None:
    for name in ("mysql57", "mysql8", "mariadb"):
        plain = server(name)
        assert "--skip-log-bin" in plain.options()
        assert not any(option.startswith(("--log-bin", "--gtid")) for option in plain.options())
        assert (plain.stand_in_for, plain.role_name(), plain.port) == (None, "mysql", 3306)


@pytest.mark.parametrize(
    ("name", "title", "stand_in", "flavor", "gtid"),
    [
        ("mysql57", "MySQL 5.7, row binlog", None, "mysql", True),
        ("mysql8", "MySQL 8.0, row binlog", "MySQL 5.7", "mysql", True),
        ("mariadb", "MariaDB, row binlog", "MySQL 5.7", "mariadb", False),
    ],
)
def test_an_upstream_of_dm_says_whom_it_stands_for(
    name: str, title: str, stand_in: str | None, flavor: str, gtid: bool
) -> None:
    upstream = server(name, UPSTREAM)
    assert (upstream.title, upstream.stand_in_for, upstream.flavor) == (title, stand_in, flavor)
    assert ("--gtid-mode=ON" in upstream.options()) == gtid
    wanted = {"--log-bin=mysql-bin", "--binlog-format=ROW", "--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1"}
    assert wanted <= set(upstream.options())
    assert "--skip-log-bin" not in upstream.options()


def test_the_data_of_one_server_or_purpose_is_not_taken_for_anothers() -> None:
    purposes = (PLAIN, UPSTREAM)
    names = {server(name, purpose).identity for name in ("mysql57", "mysql8") for purpose in purposes}
    assert names == {
        "mysql57-5.7.22-32",
        "mysql57-5.7.22-32-row-binlog",
        "mysql8-8.0.15-32",
        "mysql8-8.0.15-32-row-binlog",
    }


def test_a_report_made_on_mysql_runs_on_mysql_57_unless_told() -> None:
    said = {"inventory": INVENTORY, "tables": ["sync_result"]}
    asked = check(dm_kind.DmParameters, "dm_1_0_ga", said)
    data = published.load("dm_1_0_ga")
    assert {cell.system for cell in dm_kind.DmKind().cells(data, asked)} == {"mysql57"}
    assert dm_kind.DmKind().builds(request_for("dm_1_0_ga", said)) == ["tidb", "mysql57", "dm"]
    both = check(dm_kind.DmParameters, "dm_1_0_ga", {**said, "systems": ["mysql57", "mariadb"]})
    assert [cell.system for cell in dm_kind.DmKind().cells(data, both)] == ["mysql57", "mariadb"]


def test_another_system_than_one_of_mysqls_family_is_refused() -> None:
    with pytest.raises(BadInput, match="MySQL or MariaDB") as caught:
        mysql.check(["tidb"], load_inventory(INVENTORY))
    assert caught.value.fix == "use one of mariadb, mysql57, mysql8"


def test_dms_tables_keep_systems_apart() -> None:
    made = [
        record(name, table="dump", system=name, levels={"table_split": "off", "dump_threads": 4},
               summary={"dump_mb_s": Quantity(value=value, unit="MB/s")})
        for name, value in (("mysql57", 10.0), ("mariadb", 20.0))
    ]  # fmt: skip
    kind, data = dm_kind.DmKind(), published.load("dm_1_0_ga")
    found = tabled.figures(kind, data, made)
    assert [*zip(found.system, found.metric, found.value, strict=True)] == [
        ("mysql57", "speed_mb_s", 10.0), ("mariadb", "speed_mb_s", 20.0),
    ]  # fmt: skip


def test_what_is_planned_is_judged_and_nothing_else() -> None:
    data = published.load("dm_1_0_ga")
    asked = check(dm_kind.DmParameters, "dm_1_0_ga", {"inventory": INVENTORY, "tables": ["sync_result"]})
    trials = plan(dm_kind.DmKind().cells(data, asked), 2, seed=1, asked={})
    assert tabled.measured(dm_kind.DmKind(), data, [], trials).systems == ["mysql57"]


# -- settings of the inventory, and variants ------------------------------------------------------------------------

POOL = {
    "mariadb": {"port": 3307, "settings": {"innodb_flush_log_at_trx_commit": 2, "slow_query_log": False}},
    "mariadb:pool": {"settings": {"thread_handling": "pool-of-threads"}},
}


def with_systems(home: Home, settings: dict[str, Any]) -> Inventory:
    written = load_inventory(INVENTORY).model_dump(mode="json", exclude={"name", "file", "lab"}, exclude_defaults=True)
    return load_inventory(str(home.write("mine.yaml", {**written, "systems": {**written["systems"], **settings}})))


def made(name: str, inventory: Inventory) -> MysqlServer:
    with Session(inventory, []) as session:
        found = systems.make(name, session, load_profile("tiny"))
    assert isinstance(found, MysqlServer)
    return found


def test_a_variant_has_the_settings_of_its_section_over_those_of_its_system(home: Home) -> None:
    inventory = with_systems(home, POOL)
    plain, pool = made("mariadb", inventory), made("mariadb:pool", inventory)
    # The last one of a name counts, of the kit's own options too.
    assert plain.options()[-2:] == ("--innodb-flush-log-at-trx-commit=2", "--slow-query-log=OFF")
    assert pool.options()[-3:] == (*plain.options()[-2:], "--thread-handling=pool-of-threads")
    assert (plain.title, pool.title, pool.port, pool.role_name()) == ("MariaDB", "MariaDB (pool)", 3307, "mysql")
    assert plain.folder != pool.folder
    assert len({plain.identity, pool.identity, server("mariadb").identity}) == 3
    assert pool.notes()[-1].endswith("slow-query-log=OFF, thread-handling=pool-of-threads")
    assert not any("set by the inventory" in note for note in server("mariadb").notes())


def test_one_server_s_settings_are_not_given_to_another_of_its_role(home: Home) -> None:
    assert dict(made("mysql8", with_systems(home, {"mariadb": POOL["mariadb"]})).server_settings) == {}


@pytest.mark.parametrize(
    ("settings", "name", "said"),
    [
        (
            {"mariadb": {"settings": {"port": 1}}},
            "mariadb",
            r"systems\.mariadb\.settings\.port: the kit itself gives mariadb this setting \(got 1\)",
        ),
        (
            {"mariadb:pool": {"settings": {"bind-address": "x"}}},
            "mariadb:pool",
            r"systems\.mariadb:pool\.settings\.bind-address: the kit itself gives mariadb:pool this setting",
        ),
        (
            {"mariadb": {"settings": {"plugin-load": [{"name": "x"}]}}},
            "mariadb",
            r"systems\.mariadb\.settings\.plugin-load: mariadb takes no list of tables .* Fix: write a text, a number",
        ),
        ({}, "mariadb:pool", r"add a section `mariadb:pool` to `systems` of the inventory"),
    ],
)
def test_what_cannot_be_set_is_refused_before_any_host(
    home: Home, settings: dict[str, Any], name: str, said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        systems.find(name, with_systems(home, settings))
