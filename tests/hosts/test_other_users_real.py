"""Another user of this machine, while root's lab runs: comes to no port and no file of it; it is not root's."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from kit import TESTS, Home, inventory, until

from benchbook.errors import ConnectionLost
from benchbook.hosts import lab
from benchbook.hosts.agent import Command
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.hosts.lab_host import ACCOUNT, has_account, why_no_network
from benchbook.hosts.session import Session

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(os.geteuid() != 0 or bool(why_no_network()), reason="root and a network namespace are needed"),
]
OTHER = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "/usr/bin/python3"]


@pytest.fixture
def open_lab(net: str) -> Iterator[Inventory]:
    """The lab of a project where every user may come: pytest's own folders are closed."""
    with tempfile.TemporaryDirectory(prefix="open-") as folder:
        Path(folder).chmod(0o755)
        home = Home.make(Path(folder) / "home", net)
        hosts = {"db1": {"address": f"{net}.81", "roles": ["client"], "tune": ["memory"]}}
        home.write("env/hosts/lab_open.yaml", {**inventory(net), "hosts": hosts, "systems": {}})
        with home.in_force():
            if not has_account():
                pytest.skip("there is no account for it: env/setup makes it")
            asked = load_inventory("lab_open")
            with lab.up_while_used(asked, lambda said: None):
                yield asked


def _listens(host: Host) -> bool:
    try:
        host.check_port(host.address, 8261)
    except ConnectionLost:
        return False
    return True


def test_another_user_comes_to_nothing_and_nothing_runs_as_root(open_lab: Inventory) -> None:
    with Session(open_lab, open_lab.hosts) as session:
        host = session.hosts["db1"]
        door = ["python3", "-m", "http.server", "--bind", host.address, "8261"]
        server = session.start(host, "server", Command(door, timeout_s=60))
        until(lambda: _listens(host), "the server listens")
        doors = [f"{host.address}:{port}" for port in (open_lab.ssh.port, 8261)]
        looked = subprocess.run(
            [*OTHER, str(TESTS / "helpers" / "other_user.py"), str(lab._folder(open_lab).parents[1]), *doors],
            capture_output=True, text=True, check=True, cwd="/",
        )  # fmt: skip
        found = json.loads(looked.stdout)
        assert list(found["ports"]) == sorted(doors)
        assert all("ConnectionRefused" in said for said in found["ports"].values())
        assert found["files"] == []
        mine = [line for line in found["users"] if "http.server" in line or "agent.py" in line]
        pid = json.loads(host.read(f"{server.folder}/pid"))["group"]
        assert psutil.Process(pid).username() == ACCOUNT
        assert all(line.startswith(f"{ACCOUNT}:") for line in mine)
        # What a task of DM names as its dump program runs as this job does.
        for secret in ("keys/client", "secrets/database"):
            assert host.run(["cat", f"{lab._folder(open_lab).parent}/{secret}"], check=False).failed
        assert host.by_root.is_root
    assert not lab.in_use(open_lab)
