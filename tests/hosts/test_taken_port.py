"""A port that is taken: one sentence that names the process. And a lab in a folder with an odd name, on a full disk."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from fault_campaign import small_disks
from kit import Home, inventory

from benchbook.errors import ConnectionLost, NotWritten
from benchbook.hosts import lab, taken_port
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import Inventory, load_inventory

pytestmark = pytest.mark.real


@pytest.fixture
def spaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, net: str) -> Home:
    """A home whose path has a space, a percent sign, and what sshd writes otherwise into its command line."""
    home = Home.make(tmp_path / "Müllers lab 5% \\ 実験", net)
    monkeypatch.setenv("BENCHBOOK_HOME", str(home.path))
    hosts = {"db1": {"address": f"{net}.171", "roles": ["mysql", "client"]}}
    home.write("env/hosts/spaced.yaml", inventory(net, hosts=hosts, systems={}))
    return home


def test_a_lab_runs_in_a_folder_with_an_odd_name_and_names_who_has_a_server_s_port(spaced: Home, net: str) -> None:
    mine = load_inventory("spaced")
    (started,) = lab.up(mine)
    # It is found again: no second one is started, and it can be stopped.
    assert started.pid is not None
    host = Host(mine, "db1")
    try:
        assert host.run(["echo", "hello"]).stdout == "hello\n"
        with socket.create_server((f"{net}.171", 0)) as server:
            port = server.getsockname()[1]
            said = f"[ERROR] Can't start server: Bind on TCP/IP port: Address already in use\n[ERROR] port: {port} ?"
            found = taken_port.in_words(host, said)
        assert found.startswith(f"port {port} of db1 is taken by process {os.getpid()} (")
        assert "Fix: stop that process" in found
        assert taken_port.in_words(host, "out of memory at :4000") == ""
    finally:
        host.close()
        assert lab.down(mine) == 1


@pytest.mark.parametrize(
    ("said", "port"),
    [
        (  # MySQL 8.0.15: the minutes and seconds are no port.
            "2026-11-26T11:42:41.297121Z 0 [ERROR] [MY-010262] [Server] Can't start server: Bind on TCP/IP port: "
            "Address already in use\n2026-11-26T11:42:41.297132Z 0 [ERROR] [MY-010257] [Server] Do you already have "
            "another mysqld server running on port: 24018 ?",
            24018,
        ),
        (  # MariaDB 10.11.19
            "2026-11-26 11:42:01 0 [Note] Server socket created on IP: '127.0.0.9', port: '24006'.\n"
            "2026-11-26 11:42:01 0 [ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: Address already in "
            "use\n2026-11-26 11:42:01 0 [ERROR] Do you already have another server running on port: 24006 ?\n"
            "2026-11-26 11:42:01 0 [ERROR] Aborting",
            24006,
        ),
        (  # TiDB 6.5: nor is a line of source.
            '[2026/11/26 11:41:47.164 +00:00] [FATAL] [main.go:757] ["failed to create the server"] [error="listen tcp '
            '127.0.0.9:24000: bind: address already in use"] [stack="main.createServer\\n\\tgithub.com/pingcap/tidb@'
            "v1.1.0-beta.0.20221201110602-e307642d9fa5/tidb-server/main.go:757\\nmain.main\\n\\tgithub.com/pingcap/tidb@"
            'v1.1.0-beta.0.20221201110602-e307642d9fa5/tidb-server/main.go:212\\nruntime.main\\n\\truntime/proc.go:290"]',
            24000,
        ),
        (  # etcd 3.5.11
            '{"level":"warn","ts":"2026-11-26T11:41:47.33152Z","caller":"etcdmain/etcd.go:146","msg":"failed to start '
            'etcd","error":"listen tcp 127.0.0.9:24079: bind: address already in use"}\n'
            '{"level":"fatal","ts":"2026-11-26T11:41:47.331614Z","caller":"etcdmain/etcd.go:204","msg":"discovery '
            'failed","error":"listen tcp 127.0.0.9:24079: bind: address already in use","stacktrace":'
            '"go.etcd.io/etcd/server/v3/etcdmain.startEtcdOrProxyV2\\n\\tgo.etcd.io/etcd/server/v3@v3.5.11/etcdmain/'
            "etcd.go:204\\ngo.etcd.io/etcd/server/v3/etcdmain.Main\\n\\tgo.etcd.io/etcd/server/v3@v3.5.11/etcdmain/"
            "main.go:40\\nmain.main\\n\\tgo.etcd.io/etcd/server/v3@v3.5.11/main.go:31\\nruntime.main\\n\\truntime/"
            'proc.go:290"}',
            24079,
        ),
        (  # DTM 1.19.0
            '{"level":"error","ts":"2026-11-26T11:42:02.761Z","caller":"dtmsvr/svr.go:55","msg":"start server err: '
            'listen tcp :24789: bind: address already in use","stacktrace":"github.com/dtm-labs/dtm/dtmsvr.StartSvr.'
            'func2\\n\\tgithub.com/dtm-labs/dtm@v1.19.0/dtmsvr/svr.go:55"}',
            24789,
        ),
        (  # PostgreSQL 15
            '2026-11-26 11:42:02.610 UTC [8482] LOG:  could not bind IPv4 address "127.0.0.9": Address already in use\n'
            "2026-11-26 11:42:02.610 UTC [8482] HINT:  Is another postmaster already running on port 24432? If not, "
            "wait a few seconds and retry.\n2026-11-26 11:42:02.610 UTC [8482] WARNING:  could not create listen "
            'socket for "127.0.0.9"\n2026-11-26 11:42:02.610 UTC [8482] FATAL:  could not create any TCP/IP sockets\n'
            "2026-11-26 11:42:02.613 UTC [8482] LOG:  database system is shut down",
            24432,
        ),
        (  # mongod names none; in its format, by hand: there is none here.
            '{"t":{"$date":"2026-11-26T09:12:30.123+00:00"},"id":20568,"msg":"Error setting up listener","attr":'
            '{"error":{"code":9001,"errmsg":"Address already in use"}}}',
            None,
        ),
    ],
)
def test_the_port_is_read_off_what_servers_print(said: str, port: int | None) -> None:
    """What the real ones printed on 26 November 2026, told to listen where another program did."""

    def away(*_: object, **__: object) -> None:
        raise ConnectionLost("db1")

    told = taken_port.in_words(cast(Host, SimpleNamespace(name="db1", run=away)), said)
    assert told.partition(" is taken")[0] == (f"port {port} of db1" if port else "")


def test_a_lab_whose_port_is_taken_names_the_process(spaced: Home, net: str) -> None:
    with (
        socket.create_server((f"{net}.171", 2222)),
        pytest.raises(lab.LabFailed, match=rf"{net}\.171:2222 \(lab host db1\) is taken by process {os.getpid()} \("),
    ):
        lab.up(load_inventory("spaced"))


@pytest.fixture
def small(spaced: Home) -> Iterator[Path]:
    """The folder of that home's lab, on a disk of its own with 200 kB."""
    if why := small_disks.why_not():
        pytest.skip(why)
    folder = spaced.path / ".lab"
    folder.mkdir(mode=0o700)
    small_disks.mount(folder, 200 << 10)
    yield folder
    small_disks.unmount(folder)


@pytest.mark.parametrize("room", [0, 1, 3, 4, 5, 6, 7])
def test_a_lab_that_a_full_disk_did_not_let_start_leaves_nothing_and_starts_later(
    small: Path, net: str, room: int
) -> None:
    """`room`: pages of 4 kB. Keys, the password of the databases, the configuration and the pid file take one each."""
    mine, filler = load_inventory("spaced"), small / "filler"
    with filler.open("wb") as out, suppress(OSError):
        for page in range(50 - room):
            out.write(bytes(4096))
            out.flush()
            assert page < 50
    with pytest.raises((NotWritten, lab.LabFailed), match=r"No space left on device|is there room on the disk"):
        lab.up(mine)
    assert not lab._answers(lab.lab_hosts(mine)[0])
    filler.unlink()
    check_works(mine, small)


def test_a_lab_makes_anew_what_a_full_disk_left_of_keys_and_passwords(spaced: Home) -> None:
    mine, folder = load_inventory("spaced"), spaced.path / ".lab"
    lab.up(mine)
    lab.down(mine)
    for name in ("secrets/database", "keys/client.pub", "spaced/db1/host_key.pub"):
        (folder / name).write_text("")
    check_works(mine, folder)


def check_works(mine: Inventory, folder: Path) -> None:
    """The lab comes up, lets its client in, and has a password for its databases."""
    lab.up(mine)
    host = Host(mine, "db1")
    try:
        assert host.run(["echo", "hello"]).stdout == "hello\n"
        assert len((folder / "secrets" / "database").read_text().strip()) >= 18
    finally:
        host.close()
        assert lab.down(mine) == 1
