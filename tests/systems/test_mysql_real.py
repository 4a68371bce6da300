"""The real MySQL servers by the kit's verbs: let in, written to, counted, killed, restored."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kit import Home, until, words_of

from benchbook import systems
from benchbook.errors import SystemFailed
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.probes.remote import mysql_probe
from benchbook.probes.remote.run_probe import AskedTwice
from benchbook.probes.watch import watching
from benchbook.profiles import load_profile
from benchbook.systems import mysql
from benchbook.systems.mysql import MySQL, MysqlServer, Purpose
from benchbook.systems.sql import query, try_login
from benchbook.workloads import sysbench

pytestmark = [pytest.mark.real, pytest.mark.slow]

VERSIONS = {"mysql57": "5.7.22-log", "mysql8": "8.0.15"}
ROWS = 200


@contextmanager
def serving(session: Session, name: str) -> Iterator[MysqlServer]:
    """The server of this name as an upstream of DM, new and empty."""
    found = systems.find(name, session.inventory)
    assert issubclass(found, MySQL)
    server = found(session, load_profile("tiny"), Purpose(binlog="mysql-bin", published="MySQL 5.7"))
    server.install()
    server.refresh(None)
    try:
        yield server
    finally:
        server.stop()


@pytest.mark.parametrize("name", VERSIONS)
def test_a_server_is_let_in_written_to_counted_killed_and_restored(lab_home: Home, session: Session, name: str) -> None:
    """One life of a server, for making a new one is what takes long."""
    (client,) = session.with_role("client")
    with serving(session, name) as server:
        is_as_it_should_be(server, client, lab_home)
        sysbench_logs_in(server, client)
        what_is_written_is_counted(server, client)
        a_probe_sees_it(server, client)
        server.stop()
        server.keep("kept")
        server.start()
        server.ready()
        query(client, server.endpoints()[0], "DELETE FROM sbtest.sbtest1")
        (at,) = server.endpoints()
        # A probe has a process of its own: here one before it may have left its connection.
        mysql_probe.connection.cache_clear()
        look = AskedTwice(lambda: mysql_probe.sample(at.address, at.port, at.user, at.password, tls=False))
        assert look()["Questions"] > 0
        (process,) = lab_home.processes("/bin/mysqld", "--datadir")
        process.kill()
        with pytest.raises(SystemFailed, match=rf"{name} on db1 has died \(signal 9\)"):
            until(server.check_alive, "its death is known")
        server.refresh("kept")
        # The connection that the probe has kept is one to the dead server: the first look at the new one tells all.
        assert look()["Questions"] > 0
        assert server.row_counts(client, at, "sbtest", ["sbtest1"]) == {"sbtest1": ROWS + 2}
        # It was filled with zeros when it was made, for commits not to wait for blocks: a restored one is no hole.
        redo = (Path(server.data(server.hosts[0])) / "ib_logfile0").stat()
        assert redo.st_blocks * 512 >= redo.st_size


def is_as_it_should_be(server: MysqlServer, client: Host, home: Home) -> None:
    (at,), about = server.endpoints(), server.about()
    assert (about.version, about.hosts) == (VERSIONS[server.name], ("db1",))
    assert about.stand_in_for == (None if server.name == "mysql57" else "MySQL 5.7")
    durable = ("innodb_flush_log_at_trx_commit", "sync_binlog", "innodb_doublewrite", "gtid_mode", "binlog_format")
    assert [about.config["variables"][key] for key in durable] == ["1", "1", "ON", "ON", "ROW"]
    assert query(client, at, "SELECT user, host FROM mysql.user WHERE account_locked = 'N'") == [("root", "%")]
    assert [line for p in home.processes() if at.password in (line := " ".join(words_of(p)))] == []
    assert try_login(client, Endpoint(at.address, at.port, at.user, "")) == "denied"


def sysbench_logs_in(server: MysqlServer, client: Host) -> None:
    """With its own client library, and the way to authenticate that the server comes with."""
    (at,) = server.endpoints()
    server.make_database(client, "sbtest")
    program = client.require_program("sysbench", package="sysbench")
    command = sysbench.prepare(program, at, sysbench.Dataset(1, ROWS, "sbtest"), threads=1, seed=1)
    with server.session.following(client, "prepare", command) as job:
        assert job.wait().exit == 0, job.stderr()
    assert server.row_counts(client, at, "sbtest", ["sbtest1"]) == {"sbtest1": ROWS}


def what_is_written_is_counted(server: MysqlServer, client: Host) -> None:
    (at,), before = server.endpoints(), mysql.counters(client, server.endpoints()[0])
    query(client, at, "INSERT INTO sbtest.sbtest1 (k, c, pad) VALUES (1, '', ''), (2, '', '')")
    query(client, at, "UPDATE sbtest.sbtest1 SET k = k + 1 WHERE id <= 10")
    query(client, at, "SELECT 1")
    counted = mysql.counted_between(before, mysql.counters(client, at))
    assert {key: counted[key] for key in ("Com_insert", "Com_update", "Com_select", mysql.COMMITS)} == {
        "Com_insert": 1, "Com_update": 1, "Com_select": 1, mysql.COMMITS: 2,
    }  # fmt: skip
    assert mysql.binlog_position(server).offset > 1000
    mysql.begin_binlog_anew(server)
    begun = (mysql.binlog_position(server).file, mysql.counters(client, at)[mysql.COMMITS])
    assert begun == ("mysql-bin.000001", 0)


def a_probe_sees_it(server: MysqlServer, client: Host) -> None:
    """Python there may know no RSA, which a first login by caching_sha2_password takes: the driver's was that."""
    with watching(server.session, server.probes(client)) as watched:
        query(client, server.endpoints()[0], "SELECT SLEEP(3.5)")
    seen = watched.series[watched.series.source == "mysql"]
    assert {"Questions", "answer_ms", "Innodb_row_lock_waits", "Threads_running"} <= set(seen.metric)
