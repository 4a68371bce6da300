"""What a server takes at once is asked, raised where the kit sets it, and else refused before it is filled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from kit import INVENTORY, Home

from benchbook.errors import BadInput
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.inventory import load_inventory
from benchbook.hosts.session import Session
from benchbook.profiles import SysbenchSize, load_profile
from benchbook.reports.driving import Driver
from benchbook.systems import psql, sql
from benchbook.systems.base import CONNECTIONS, STATEMENTS, Limit
from benchbook.systems.mysql import MariaDB
from benchbook.systems.pgbouncer import PgBouncer
from benchbook.systems.postgresql import PostgreSQL
from benchbook.workloads.base import Load, LoadGenerator
from benchbook.workloads.pgbench import Pgbench, PgbenchSize
from benchbook.workloads.sysbench import Sysbench

NOBODY: Any = None
END = Endpoint("192.0.2.1", 3306, "root", "")
SIZE = SysbenchSize(tables=32, table_size=1000, time_s=1)


@pytest.fixture(autouse=True)
def _password(home: Home) -> None:
    home.write(".lab/secrets/database", "secret\n")


def mariadb() -> MariaDB:
    with Session(load_inventory(INVENTORY), []) as session:
        return MariaDB(session, load_profile("tiny"))


def told(monkeypatch: pytest.MonkeyPatch, **variables: object) -> list[tuple[str, int]]:
    """(setting, most) of each limit of a server with these variables."""
    rows = [(name, str(value)) for name, value in variables.items()]
    monkeypatch.setattr(sql, "query", lambda *_, **__: rows)
    monkeypatch.setattr(MariaDB, "endpoints", lambda self: [END])
    return [(limit.setting, limit.most) for limit in mariadb().limits(NOBODY)]


@pytest.mark.parametrize(
    ("variables", "limits"),
    [
        (
            {"version": "8.0.36", "max_connections": 151, "max_user_connections": 0, "max_prepared_stmt_count": 16382},
            [("max_connections", 151), ("max_prepared_stmt_count", 16382)],
        ),
        ({"version": "10.11.6-MariaDB", "max_user_connections": 50}, [("max_user_connections", 50)]),
        # TiDB has none unless it is given one; before 6.2 it tells MySQL's default and does not heed it.
        ({"version": "8.0.11-TiDB-v7.5.0", "max_connections": 0, "max_prepared_stmt_count": -1}, []),
        ({"version": "8.0.11-TiDB-v7.5.0", "max_connections": 100}, [("max_connections", 100)]),
        ({"version": "5.7.25-TiDB-v6.1.0", "max_connections": 151}, []),
    ],
)
def test_a_server_tells_its_limits(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, object], limits: list[tuple[str, int]]
) -> None:
    assert told(monkeypatch, **variables) == limits


def test_more_than_a_server_takes_is_refused_with_the_key_the_value_and_the_fix() -> None:
    limit = Limit(CONNECTIONS, str(END), "max_connections", 151, "endpoints.cloud", "set it to {needed} or more", own=1)
    limit.check({CONNECTIONS: 150, STATEMENTS: 10**9}, file="mine.yaml")
    with pytest.raises(BadInput) as caught:
        limit.check({CONNECTIONS: 200}, file="mine.yaml")
    assert str(caught.value) == (
        "mine.yaml: endpoints.cloud: 201 connections, 1 of them the kit's own, are more than 192.0.2.1:3306 takes at "
        "once by its max_connections (got 151). Fix: set it to 201 or more, or name fewer `threads`"
    )


def test_the_kit_s_own_servers_are_given_as_many_as_the_loads_need() -> None:
    server = mariadb()
    assert "--max-connections=4000" in server.options()
    server.expect(5000)
    server.expect(10)
    assert "--max-connections=5100" in server.options()


def test_sysbench_holds_a_connection_a_thread_and_statements_for_each_table() -> None:
    def held(workload: str, *options: str, servers: int = 1) -> dict[str, int]:
        return Sysbench(SIZE, options, 1).holds(Load({"workload": workload}, 57, 1), servers)

    # As MySQL's default of 16,382 was found to be too low for.
    assert held("oltp_read_write") == {CONNECTIONS: 57, STATEMENTS: 57 * 32 * 9}
    assert held("oltp_read_write", "--range-selects=off")[STATEMENTS] == 57 * 32 * 5
    assert held("oltp_point_select", servers=2) == {CONNECTIONS: 29, STATEMENTS: 29 * 32}
    assert held("oltp_read_write", "--db-ps-mode=disable")[STATEMENTS] == held("oltp_insert")[STATEMENTS] == 0


def test_a_load_of_several_clients_holds_what_all_of_them_hold() -> None:
    clients: Any = [SimpleNamespace(name=name) for name in "abc"]

    def held(load: LoadGenerator[Any], servers: int) -> int:
        system: Any = SimpleNamespace(endpoints=lambda: [END] * servers, retried_errors=())
        return Driver(NOBODY, load, clients, 1).holds(system, {"workload": "oltp_insert", "threads": 10})[CONNECTIONS]

    # 4, 3 and 3 threads; each client begins with the first server.
    assert [held(Sysbench(SIZE, [], 1), servers) for servers in (1, 2, 4)] == [10, 6, 3]
    # pgbench knows one server.
    assert held(Pgbench(PgbenchSize(scale=1, time_s=1), [], 1), 2) == 10


def pooler(home: Home, monkeypatch: pytest.MonkeyPatch, most: int, **config: object) -> PgBouncer:
    """PgBouncer with this configuration, before a PostgreSQL that takes `most` connections."""
    hosts = {"server": {"address": "127.0.0.1", "roles": ["postgresql", "pgbouncer"]}}
    settings = {"pool_mode": "transaction", "max_client_conn": 1000, "default_pool_size": 20, "reserve_pool_size": 0}
    home.write("env/hosts/pg.yaml", {"hosts": hosts, "systems": {"pgbouncer": {"settings": config}}})
    shown = [[name, str(value)] for name, value in {**settings, **config}.items()]
    answers = {"SHOW CONFIG": shown, "SHOW max_connections": [[str(most)]]}
    monkeypatch.setattr(psql, "query", lambda via, end, asked, **_: answers[asked])
    with Session(load_inventory("pg"), []) as session:
        found = PgBouncer(session, load_profile("tiny"))
    monkeypatch.setattr(PgBouncer, "own_hosts", [NOBODY])
    ends = {PgBouncer: 6432, PostgreSQL: 5432}
    for system, port in ends.items():
        end = Endpoint("127.0.0.1", port, "postgres", "")
        monkeypatch.setattr(system, "endpoints", lambda self, end=end: [end])
        monkeypatch.setattr(system, "endpoint", lambda self, host, end=end: end)
    return found


def refused(system: PgBouncer, clients: int) -> list[str]:
    """Keys of the limits that so many clients break."""
    held, broken = {CONNECTIONS: clients}, []
    for limit in system.limits(NOBODY):
        try:
            limit.check(held, file="")
        except BadInput as problem:
            broken.append(cast(str, problem.key))
    return broken


@pytest.mark.parametrize(
    ("config", "most", "clients", "broken"),
    [
        # Clients wait for one of the pool.
        ({}, 1100, 900, []),
        ({"max_client_conn": 100}, 1100, 128, ["systems.pgbouncer.settings.max_client_conn"]),
        # They keep it for as long as they are connected.
        ({"pool_mode": "session"}, 1100, 21, ["systems.pgbouncer.settings.default_pool_size"]),
        ({"pool_mode": "session", "reserve_pool_size": 5}, 1100, 25, []),
        # No more than the pool reach the server, and one of the kit's own.
        ({}, 21, 900, []),
        ({"default_pool_size": 50}, 50, 900, ["systems.postgresql.settings.max_connections"]),
        ({"default_pool_size": 50}, 50, 49, []),
    ],
)
def test_a_pooler_has_its_clients_and_the_server_behind_it_its_pool(
    home: Home, monkeypatch: pytest.MonkeyPatch, config: dict[str, object], most: int, clients: int, broken: list[str]
) -> None:
    assert refused(pooler(home, monkeypatch, most, **config), clients) == broken
