"""The way to a host as an ssh_config describes it; expected is what `ssh -G` and ssh_config(5) say."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchbook.errors import BadInput, HostUnusable
from benchbook.hosts.connection import open_connection
from benchbook.hosts.hops import Hop, connection_to, way_to
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.ssh_config import ssh_config


def described(tmp_path: Path, text: str, address: str = "db.invalid", **ssh: object) -> Inventory:
    (tmp_path / "config").write_text(text)
    hosts = {"db": {"address": address, "roles": ["client"]}}
    return Inventory.model_validate(
        {"name": "a", "hosts": hosts, "ssh": {"config": str(tmp_path / "config"), **ssh}, "file": "a.yaml"}
    )


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("", []),
        ("Host db.invalid\n ProxyJump none\n", []),
        ("Host db.invalid\n ProxyJump a\n", [Hop("a")]),
        ("Host db.invalid\n ProxyJump me@a:2200,b\n", [Hop("a", "me", 2200), Hop("b")]),
        # A jump host with a jump host of its own; only that of the first in a list counts.
        ("Host db.invalid\n ProxyJump b\nHost b\n ProxyJump a\n", [Hop("a"), Hop("b")]),
        ("Host db.invalid\n ProxyJump b,c\nHost b c\n ProxyJump a\n", [Hop("a"), Hop("b"), Hop("c")]),
        # For all hosts, the jump host among them.
        ("Host *\n ProxyJump a\n", [Hop("a")]),
    ],
)
def test_the_way_to_a_host(text: str, way: list[Hop], tmp_path: Path) -> None:
    assert way_to(described(tmp_path, text), "db") == [*way, Hop("db.invalid")]


def test_a_port_of_the_inventory_counts_more_than_that_of_an_alias(tmp_path: Path) -> None:
    alias = "Host db.invalid\n HostName 192.0.2.1\n Port 2200\n"
    assert way_to(described(tmp_path, alias), "db")[-1].port is None, "left to the alias"
    assert way_to(described(tmp_path, alias, port=22), "db")[-1].port == 22


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"port": 2022, "user": "bench"}, "nc -u bench 192.0.2.1 2022"),
        ({"user": "bench"}, "nc -u bench 192.0.2.1 2200"),
        ({}, "nc -u carla 192.0.2.1 2200"),
    ],
)
def test_a_command_on_the_way_leads_to_the_port_and_user_that_count(
    given: dict[str, object], command: str, tmp_path: Path
) -> None:
    """As `ssh -p 2022 -l bench` has it: %p and %r are what the command line says, then what the ssh_config does."""
    text = "Host db.invalid\n HostName 192.0.2.1\n Port 2200\n User carla\n ProxyCommand nc -u %r %h %p\n"
    inventory = described(tmp_path, text, **given)
    assert connection_to(way_to(inventory, "db")[-1], inventory, None).gateway == command


def test_a_command_on_the_way_that_is_not_here_is_named(tmp_path: Path) -> None:
    inventory = described(tmp_path, "Host db.invalid\n ProxyCommand benchbook-no-such-program %h %p\n", port=2022)
    with pytest.raises(HostUnusable, match=r"cannot be run here \(got 'benchbook-no-such-program'\).*ProxyCommand"):
        open_connection(inventory, "db")


def test_included_files_stand_where_they_are_included(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "1.conf").write_text("Host db.invalid\n ProxyJump a\n")
    (tmp_path / "more" / "2 b.conf").write_text("Host *\n User carla\n")
    text = f'Include {tmp_path}/more/1* "{tmp_path}/more/2 b.conf" /nowhere/*\nPort 2200\nHost other\n Port 1\n'
    inventory = described(tmp_path, text)
    assert way_to(inventory, "db")[0] == Hop("a")
    about = ssh_config(inventory).lookup("db.invalid")
    assert (about["user"], about["port"]) == ("carla", "2200")
    assert ssh_config(inventory).lookup("other")["port"] == "2200", "what follows an Include holds for all again"


@pytest.mark.parametrize("line", ["Include\t{}", "Include = {}", "include={}", "  Include \t{}"])
def test_a_file_is_included_however_its_name_is_set_apart(tmp_path: Path, line: str) -> None:
    (tmp_path / "more").write_text("Host db.invalid\n\tProxyJump\ta\n")
    assert way_to(described(tmp_path, line.format(tmp_path / "more")), "db")[0] == Hop("a")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "Host db.invalid\n ProxyJump b\nHost b\n ProxyJump c\nHost c\n ProxyJump b\n",
            "jump hosts that lead in a circle",
        ),
        ("Host db.invalid\n ProxyJump a:port\n", "no jump host"),
        ("this-is-no-line\n", "the ssh config cannot be read"),
        ("Include {config}\n", ""),
    ],
)
def test_an_ssh_config_that_leads_nowhere(text: str, problem: str, tmp_path: Path) -> None:
    inventory = described(tmp_path, text.format(config=tmp_path / "config"))
    if not problem:
        assert way_to(inventory, "db") == [Hop("db.invalid")], "a file that includes itself is read so many times"
        return
    with pytest.raises(BadInput, match=rf"a\.yaml: ssh\.config: {problem} .* Fix: "):
        way_to(inventory, "db")
