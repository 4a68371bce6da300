"""A real tidb-server under lock waits: without the setting that it is started with, it dies of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event

import pymysql
import pytest
from kit import Home

from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.session import Session
from benchbook.profiles import load_profile
from benchbook.systems.sql import queries, query
from benchbook.systems.statements import identifier
from benchbook.systems.tidb import TiDB

pytestmark = [pytest.mark.real, pytest.mark.slow]

# Without the setting it died in 5 of 8 runs of 40,000 or more such transactions: too many for a test to wait for,
# so that the setting is looked for in the running process as well.
CLIENTS, TRANSACTIONS, ROWS = 40, 250, 5


def test_a_tidb_server_outlives_hot_rows(lab_home: Home, session: Session) -> None:
    system = TiDB(session, load_profile("smoke"))
    system.install()
    system.reset(None)
    (endpoint,), client = system.endpoints(), session.with_role("client")[0]
    over = Event()
    stranger = ThreadPoolExecutor(1).submit(strangers_logins, endpoint, over)
    system.start()
    try:
        system.ready()
        over.set()
        assert stranger.result() == 0, "a new server has let somebody in without a password"
        (server,) = lab_home.processes("/tidb-server", "unistore")
        assert server.environ()["GODEBUG"] == "tracefpunwindoff=1"
        assert query(client, endpoint, "SELECT @@GLOBAL.tidb_enable_auto_analyze") == [(0,)]
        # Its store imports no sorted files: indexes that it is asked to make of them take twice as long.
        assert query(client, endpoint, "SELECT @@GLOBAL.tidb_ddl_enable_fast_reorg") == [(0,)]
        query(client, endpoint, "CREATE DATABASE hot")
        query(client, endpoint, "CREATE TABLE hot.rows_ (id INT PRIMARY KEY, n INT)")
        query(client, endpoint, f"INSERT INTO hot.rows_ VALUES {', '.join(f'({i}, 0)' for i in range(ROWS))}")
        with ThreadPoolExecutor(CLIENTS) as pool:
            committed = sum(pool.map(lambda client: increments(endpoint, client), range(CLIENTS)))
        system.check_alive()
        assert query(client, endpoint, "SELECT SUM(n) FROM hot.rows_") == [(committed,)]
        assert committed > CLIENTS * TRANSACTIONS * 0.9
    finally:
        over.set()
        system.stop()


def strangers_logins(endpoint: Endpoint, over: Event) -> int:
    """Try to log in as root without a password until it is `over`; return how often that went."""
    count = 0
    while not over.wait(0.02):
        with suppress(pymysql.MySQLError):
            pymysql.connect(host=endpoint.address, port=endpoint.port, user="root", password="").close()
            count += 1
    return count


def test_rows_and_their_index_stay_in_regions_of_their_own_when_the_data_is_restored(session: Session) -> None:
    system = TiDB(session, load_profile("smoke"))
    system.install()
    system.refresh(None)
    try:
        (end,), client = system.endpoints(), session.with_role("client")[0]
        tables = ["one", "odd`name"]
        named = [identifier(table) for table in tables]
        made = [f"CREATE TABLE {table} (id INT PRIMARY KEY, k INT, KEY (k))" for table in named]
        filled = [f"INSERT INTO {table} VALUES (1, 1), (2, 2)" for table in named]
        shown = [f"SHOW TABLE {table} REGIONS" for table in named]
        query(client, end, "CREATE DATABASE small")
        queries(client, end, [*made, *filled], database="small")
        assert [len(rows) for rows in queries(client, end, shown, database="small")] == [1, 1]
        system.lay_out(client, "small", tables)
        # Asked again, it leaves what is split as it is.
        system.lay_out(client, "small", tables)
        system.stop()
        system.keep("split")
        system.refresh("split")
        ends = [[str(row[2]) for row in rows] for rows in queries(client, end, shown, database="small")]
        # A Region ends where the first row's key may stand; the next one goes on to the table after it.
        assert [(len(each), each[0].endswith("_r_0")) for each in ends] == [(2, True), (2, True)]
        counts = system.row_counts(client, end, "small", tables)
        assert counts == {"one": 2, "odd`name": 2}
    finally:
        system.stop()


def test_it_serves_from_a_folder_whose_name_means_something_in_an_address(
    lab_home: Home, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It died of a checkout below a folder with a percent sign: "invalid URL escape"."""
    system = TiDB(session, load_profile("smoke"))
    monkeypatch.setattr(system, "data", lambda host: host.path("odd 5%d ?a#b", "data"))
    system.install()
    system.start()
    try:
        system.ready()
        (host,) = system.hosts
        assert (Path(host.root) / "odd 5%d ?a#b" / "data").is_dir()
    finally:
        system.stop()


def increments(endpoint: Endpoint, client: int) -> int:
    """Pessimistic transactions, each of which waits for the others at one of a few rows; how many were committed."""
    done = 0
    with pymysql.connect(
        host=endpoint.address, port=endpoint.port, user=endpoint.user, password=endpoint.password
    ) as link, link.cursor() as cursor:  # fmt: skip
        for n in range(TRANSACTIONS):
            # A conflict is this transaction's end, not the server's.
            with suppress(pymysql.err.InternalError):
                cursor.execute("BEGIN PESSIMISTIC")
                cursor.execute("UPDATE hot.rows_ SET n = n + 1 WHERE id = %s", ((client + n) % ROWS,))
                cursor.execute("COMMIT")
                done += 1
    return done
