"""A batch on workers over SSH: Dask's SSHCluster on two sshd of the lab, whose keys are checked."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import asyncssh
import pytest
from distributed import Security
from kit import INVENTORY, TESTS, Home
from rich.console import Console
from sshd import new_key

from benchbook.batch import cluster, command
from benchbook.batch.plan import BatchCell, BatchPlan
from benchbook.errors import BadInput, BenchbookError
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import Inventory, load_inventory

FAKE = str(TESTS / "helpers" / "fake_report.py")


def run(home: Home, names: dict[str, str]) -> int:
    """The exit status of a batch over SSH of these reports, by inventory."""
    cells = [BatchCell(n, name, where, "smoke", (), where) for n, (where, name) in enumerate(names.items(), 1)]
    program = (sys.executable, FAKE, str(home.path))
    console = Console(file=io.StringIO())
    return command.run_cells(BatchPlan(reports=["x"]), cells, console, cluster.opened(f"ssh://{INVENTORY}", 2), program)


@pytest.mark.real
def test_cells_run_side_by_side_over_ssh_and_their_records_are_here(lab_home: Home, lab: Inventory) -> None:
    batches = lab_home.path / "data" / "runs" / "batches"
    before = set(batches.glob("*.json"))
    # Two of them end only beside each other: two workers run them, one on each host.
    assert run(lab_home, {"a": "meets", "b": "is_met", "c": "looks_for_keys"}) == 0
    [path] = set(batches.glob("*.json")) - before
    cells = json.loads(path.read_text())["cells"]
    assert {one["home"] for one in cells} == {str(lab_home.path)}, "the lab's workers share the checkout's folder"
    for name in lab.hosts:
        host = Host(lab, name)
        assert host.run(["test", "-e", host.path("dask")], check=False).exited == 1, "the cluster's key is gone"
        host.close()


@pytest.fixture
def strange(lab_home: Home, lab: Inventory, tmp_path: Path) -> Inventory:
    """The lab's hosts as somebody describes them who never was there."""
    (tmp_path / "known_hosts").touch()
    key = str(lab_home.path / ".lab" / "keys" / "client")
    described = lab.model_dump(mode="json", include={"hosts"}, exclude_none=True, exclude_defaults=True)
    for name, host in described["hosts"].items():
        host["workdir"] = str(tmp_path / name)
    ssh = {"port": lab.ssh.port, "key": key, "known_hosts": str(tmp_path / "known_hosts")}
    return load_inventory(str(lab_home.write("env/hosts/strange.yaml", {"ssh": ssh, **described})))


@pytest.mark.real
def test_hosts_that_are_not_known_get_no_worker(strange: Inventory, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BenchbookError, match="known_hosts"), cluster.opened_over_ssh(strange.name):
        pass
    # The kit has looked first; neither does Dask's own SSH connect. (Where the files of its key are, hosts would say.)
    monkeypatch.setattr(cluster, "_encrypted", lambda host: {})
    hosts = [Host(strange, name) for name in strange.hosts]
    with pytest.raises(BadInput, match="not trusted"), cluster._cluster(strange, hosts, Security.temporary()):
        pass


def test_asyncssh_is_told_what_the_inventory_says_and_reads_no_file_of_the_user_s(home: Home) -> None:
    inventory = load_inventory(INVENTORY)
    host = Host(inventory, "db1")
    keys = [str(home.path / ".lab" / "keys" / "client")]
    assert cluster._login(host) == {
        "port": 2222, "known_hosts": str(home.path / ".lab" / "known_hosts"), "config": None, "connect_timeout": 10.0,
        "client_keys": keys, "agent_identities": keys, "ignore_encrypted": True,
    }  # fmt: skip


@pytest.mark.parametrize("kind", [(), ("-t", "rsa", "-m", "PEM")])
@pytest.mark.parametrize("named", ["client", "client.pub"])
def test_a_key_with_a_passphrase_is_asked_of_the_agent_and_no_other(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: tuple[str, ...], named: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    key = new_key(tmp_path / "client", "open sesame", *kind)
    described = {"ssh": {"key": str(tmp_path / named)}, "hosts": {"db1": {"address": "127.0.0.1", "roles": ["server"]}}}
    host = Host(load_inventory(str(home.write("env/hosts/locked.yaml", described))), "db1")
    asked = cluster._login(host) | {"known_hosts": None}
    options = asyncssh.SSHClientConnectionOptions(**asked)
    public = asyncssh.read_public_key(f"{key}.pub").public_data
    assert (options.client_keys, options.agent_identities) == ([], [public])


def test_asyncssh_is_told_what_the_ssh_config_says_of_a_host_known_by_name(home: Home, tmp_path: Path) -> None:
    (tmp_path / "known").write_text("")
    config = tmp_path / "config"
    config.write_text(f"Host db\n  HostName 127.0.0.1\n  Port 2301\n  UserKnownHostsFile {tmp_path}/known /nowhere\n")
    said = {"ssh": {"config": str(config)}, "hosts": {"db": {"roles": ["server"]}}}
    host = Host(load_inventory(str(home.write("mine.yaml", said))), "db")
    told = cluster._login(host)
    assert (cluster._address(host), told["port"], told["config"]) == ("db", 2301, str(config))
    assert told["known_hosts"][0] == str(tmp_path / "known")
    assert "/nowhere" not in told["known_hosts"]
