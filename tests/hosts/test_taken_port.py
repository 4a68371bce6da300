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
            # MySQL 8.0.15
            said = f"11:42:41 0 [ERROR] Bind on TCP/IP port: Address already in use\n[ERROR] running on port: {port} ?"
            found = taken_port.in_words(host, said)
            assert taken_port.in_words(host, said.replace(str(port), "1")) == "", "it names another one"
            assert taken_port.in_words(host, f"out of memory at :{port}") == ""
        assert found.startswith(f"port {port} of db1 is taken by process {os.getpid()} (")
        assert "Fix: stop that process" in found
    finally:
        host.close()
        assert lab.down(mine) == 1


# What `ss -ltnpH` prints of a host.
LISTENING = """\
LISTEN 0 128 0.0.0.0:22 0.0.0.0:* users:(("sshd",pid=22,fd=3))
LISTEN 0 4096 10.0.0.4:2379 0.0.0.0:* users:(("pd-server",pid=79,fd=7))
LISTEN 0 4096 127.0.0.1:4000 0.0.0.0:* users:(("other",pid=4,fd=3))
LISTEN 0 4096 10.0.0.4:4000 0.0.0.0:* users:(("tidb-server",pid=40,fd=7))
LISTEN 0 80 *:3306 *:* users:(("mariadbd",pid=33,fd=21))
LISTEN 0 80 [::1]:36789 [::]:*
"""


@pytest.mark.parametrize(
    ("said", "who"),
    [
        (  # MariaDB 10.11, on a day that is the port of sshd
            "2026-11-22 11:42:01 0 [ERROR] Bind on TCP/IP port. Got error: 98: Address already in use\n"
            "2026-11-22 11:42:01 0 [ERROR] Do you already have another server running on port: 3306 ?",
            "port 3306 of db1 is taken by process 33 (mariadbd)",
        ),
        (  # TiDB 6.5, which names its PD as well
            '[2026/11/22 11:41:47.100 +00:00] [INFO] [printer.go:48] [config="{path: 10.0.0.4:2379}"]\n'
            '[2026/11/22 11:41:47.164 +00:00] [FATAL] [main.go:757] [error="listen tcp 10.0.0.4:4000: bind: address '
            'already in use"] [stack="tidb-server/main.go:2379"]',
            "port 4000 of db1 is taken by process 40 (tidb-server)",
        ),
        (  # DTM 1.19 listens on all addresses, and one of another user's has the port on one of them.
            '{"ts":"2026-11-22T11:42:02.761Z","msg":"listen tcp :36789: bind: address already in use"}',
            f"port 36789 of db1 is taken by {taken_port.UNKNOWN}",
        ),
        ("listen tcp 10.0.0.4:8261: bind: address already in use", ""),  # whoever it was has gone
        ("2026-11-22 11:42:02 LOG: out of memory at 10.0.0.4:4000", ""),
    ],
)
def test_the_port_that_is_taken_is_the_one_that_the_server_wanted(said: str, who: str) -> None:
    told = SimpleNamespace(stdout=LISTENING)
    host = cast(Host, SimpleNamespace(name="db1", address="10.0.0.4", run=lambda *_, **__: told))
    assert taken_port.in_words(host, said).partition(". Fix")[0] == who


def test_a_host_that_is_away_leaves_a_server_its_own_words() -> None:
    def away(*_: object, **__: object) -> None:
        raise ConnectionLost("db1")

    host = cast(Host, SimpleNamespace(name="db1", address="127.0.0.1", run=away))
    assert taken_port.in_words(host, "listen tcp :4000: bind: address already in use") == ""


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
    for name in ("secrets/database", "keys/client.pub", "keys/host.pub"):
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
