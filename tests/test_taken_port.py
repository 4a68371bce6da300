"""A port that is taken: one sentence that names the process. And a lab in a folder with an odd name."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from kit import Home, inventory

from benchbook.hosts import lab, taken_port
from benchbook.hosts.inventory import load_inventory
from benchbook.hosts.remote_host import RemoteHost

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
    host = RemoteHost(mine, "db1")
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


def test_a_lab_whose_port_is_taken_names_the_process(spaced: Home, net: str) -> None:
    with (
        socket.create_server((f"{net}.171", 2222)),
        pytest.raises(lab.LabFailed, match=rf"{net}\.171:2222 \(lab host db1\) is taken by process {os.getpid()} \("),
    ):
        lab.up(load_inventory("spaced"))
