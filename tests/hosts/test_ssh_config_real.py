"""A user's ssh_config and known_hosts mean what OpenSSH makes of them: each case on a real sshd."""

from __future__ import annotations

import getpass
import shlex
import socket
import subprocess
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psutil
import pytest
from kit import until
from sshd import PORT, Server, Variant, add_keys, full_agent, hello, new_key, refused, serving

from benchbook.errors import BadInput, HostUnusable
from benchbook.hosts.connection import find_route
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import Inventory, load_inventory
from benchbook.hosts.preflight import HostProbe

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("no_agent")]
_numbers = count(60)


@pytest.fixture(scope="module")
def ipv6_port() -> int:
    with socket.socket(socket.AF_INET6) as probe:
        probe.bind(("::1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, net: str, keys: Path, ipv6_port: int) -> Iterator[Server]:
    """An sshd on an address of IPv4 and one of IPv6."""
    lines = ["Subsystem sftp internal-sftp", f"ListenAddress [::1]:{ipv6_port}"]
    with serving(tmp_path_factory.mktemp("sshd") / "one", f"{net}.{next(_numbers)}", keys, Variant(lines)) as one:
        yield one


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory, net: str, keys: Path) -> Iterator[Server]:
    """Another one, to be reached by way of the first."""
    with serving(tmp_path_factory.mktemp("sshd") / "two", f"{net}.{next(_numbers)}", keys, Variant()) as two:
        yield two


def described(server: Server, config: Path, text: str, known: str | None = None, **ssh: object) -> Inventory:
    """The inventory of a host that an ssh_config calls `db`; it says no more of SSH than its key."""
    config.write_text(text)
    inventory = server.inventory(known=known)
    host = inventory.hosts["db"].model_copy(update={"ssh_address": "db"})
    reached: dict[str, object] = {"config": str(config), "key": str(server.keys / "client"), "lease_s": 10, **ssh}
    values = {"name": "variant", "lab": False, "ssh": reached, "hosts": {"db": host.model_dump()}, "file": "a.yaml"}
    return Inventory.model_validate(values)


def alias(server: Server, *lines: str) -> str:
    """An ssh_config of an alias, of whose host the file `known` of the server knows."""
    said = [f"HostName {server.address}", f"Port {PORT}", f'UserKnownHostsFile "{server.folder}/known_hosts"', *lines]
    return "Host db\n" + "".join(f"  {line}\n" for line in said)


# -- Match: what does not apply, or is not known, changes nothing unnoticed --------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "Match localnetwork 9.8.7.6/32",
        "Match exec false",
        "Match originalhost another",
        "Match user nobody-known",
        "Match !host *",
    ],
)
def test_a_jump_host_of_a_match_that_does_not_apply_is_not_passed(line: str, server: Server, tmp_path: Path) -> None:
    """An OpenSSH that does not know a criterion refuses the file, and so does the kit, in its words."""
    inventory = described(server, tmp_path / "config", f"{line}\n  ProxyJump nowhere.invalid\n{alias(server)}")
    known = subprocess.run(["ssh", "-G", "-F", str(tmp_path / "config"), "db"], capture_output=True, check=False)
    if known.returncode:
        assert "ssh.config: ssh refuses this configuration (Unsupported Match attribute localnetwork" in refused(
            inventory
        )
    else:
        assert hello(inventory) == "hello\n"


@pytest.mark.parametrize("line", ["Match final all", "Match all", "Match exec true", "Match originalhost db,other"])
def test_settings_of_a_match_that_applies_count(line: str, server: Server, tmp_path: Path) -> None:
    config = f"Host db\n  HostName {server.address}\n{line}\n  Port {PORT}\n"
    known = f'  UserKnownHostsFile "{server.folder}/known_hosts"\n'
    assert hello(described(server, tmp_path / "config", config + known)) == "hello\n"


# -- how values are written --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("include", "port"),
    [
        ("Include {}", "Port {} # the second one"),
        ("Include={}", "Port={}"),
        ('Include "{}"', "\tpOrT  {}   "),
        ("include /nowhere/* {}", 'Port "{}"'),
    ],
)
def test_a_file_is_read_as_openssh_reads_it(port: str, include: str, server: Server, tmp_path: Path) -> None:
    """What it says of terminals and forwarding hinders nothing."""
    more = alias(server, "RemoteCommand sudo -i", "RequestTTY force", "LocalForward 1 localhost:1")
    (tmp_path / "more").write_text(more.replace(f"Port {PORT}", port.format(PORT)))
    inventory = described(server, tmp_path / "config", include.format(tmp_path / "more") + "\nHost other\n  Port 1\n")
    assert hello(inventory) == "hello\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Host db\n  this-is-no-line\n", "this-is-no-line"),
        ("Host db\n  Port many\n", "Bad port"),
        ("Host db\n  ProxyJump a:port\n", "Invalid ProxyJump"),
        ("Include {config}\n", "Too many recursive configuration includes"),
    ],
)
def test_what_openssh_does_not_take_is_refused_in_its_words(
    text: str, words: str, server: Server, tmp_path: Path
) -> None:
    said = refused(described(server, tmp_path / "config", text.format(config=tmp_path / "config")))
    assert "a.yaml: ssh.config: ssh refuses this configuration (" in said
    assert words.lower() in said.lower()
    assert "Fix: correct it; `ssh -G -F" in said


def test_jump_hosts_in_a_circle(server: Server, tmp_path: Path) -> None:
    text = "Host db\n ProxyJump b\nHost b\n ProxyJump c\nHost c\n ProxyJump b\n"
    assert "ssh.config: jump hosts that lead in a circle" in refused(described(server, tmp_path / "config", text))


# -- who is trusted ----------------------------------------------------------------------------------------------------


def key_of(server: Server) -> str:
    """The kind and the key of its host key, as in known_hosts."""
    return " ".join((server.folder / "host_key.pub").read_text().split()[:2])


@pytest.mark.parametrize("name", ["*", "127.*", "[127.*]:*", "!other,[127.?*]:{port}", "hashed"])
def test_a_line_of_known_hosts_that_openssh_matches_is_trusted(name: str, server: Server, tmp_path: Path) -> None:
    """OpenSSH asks for `[address]:port`, and after it for the address alone."""
    known = f"{name.format(port=PORT)} {key_of(server)}\n"
    text = alias(server).replace(str(server.folder), str(tmp_path))
    (tmp_path / "known_hosts").write_text(server.known if name == "hashed" else known)
    if name == "hashed":
        subprocess.run(["ssh-keygen", "-H", "-f", tmp_path / "known_hosts"], check=True, capture_output=True)
    assert hello(described(server, tmp_path / "config", text)) == "hello\n"


@pytest.mark.parametrize("name", ["10.*", "!*,*", "[127.*]:1", "db"])
def test_a_line_of_known_hosts_that_openssh_does_not_match_is_not(name: str, server: Server, tmp_path: Path) -> None:
    text = alias(server).replace(str(server.folder), str(tmp_path))
    (tmp_path / "known_hosts").write_text(f"{name} {key_of(server)}\n")
    said = refused(described(server, tmp_path / "config", text))
    assert "hosts.db: the host key is not known (No ED25519 host key is known for" in said


@pytest.mark.parametrize("name", ["db.example.com", "rack7", "the-alias"])
def test_a_host_is_known_by_its_alias(name: str, server: Server, tmp_path: Path) -> None:
    text = alias(server, f"HostKeyAlias {name}").replace(str(server.folder), str(tmp_path))
    (tmp_path / "known_hosts").write_text(f"{name} {key_of(server)}\n")
    assert hello(described(server, tmp_path / "config", text)) == "hello\n"
    (tmp_path / "known_hosts").write_text(server.known)
    assert "the host key is not known" in refused(described(server, tmp_path / "config", text)), "by that name alone"


@pytest.mark.parametrize("files", ["{0}/none {0}/mine", '"{0}/mine"', "{0}/mine {0}/none", "{0}/a b/../mine"])
def test_the_files_of_known_hosts_are_those_that_the_ssh_config_names(
    files: str, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "mine").write_text(server.known)
    named = files.format(tmp_path)
    if " b/" in named:
        (tmp_path / "a b").mkdir()
        named = f'"{named}"'
    text = f"Host db\n  HostName {server.address}\n  Port {PORT}\n  UserKnownHostsFile {named}\n"
    assert hello(described(server, tmp_path / "config", text)) == "hello\n"
    (tmp_path / "other").write_text("")
    other = described(server, tmp_path / "config", text, known_hosts=str(tmp_path / "other"))
    assert "the host key is not known" in refused(other), "unless the inventory names its own"


@pytest.mark.parametrize("names", ["*", "127.*,[127.*]:*", "db.example.com,*"])
def test_a_host_is_trusted_that_an_authority_vouches_for(names: str, tmp_path: Path, net: str, keys: Path) -> None:
    host_key, authority = tmp_path / "certified", new_key(tmp_path / "authority")
    # Of another kind than the key that every sshd of a test has.
    subprocess.run(["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-f", str(host_key)], check=True, capture_output=True)
    sign = ["ssh-keygen", "-q", "-s", str(authority), "-I", "a host", "-h", f"{host_key}.pub"]
    subprocess.run(sign, check=True, capture_output=True)
    lines = ["Subsystem sftp internal-sftp", f"HostKey {host_key}", f"HostCertificate {host_key}-cert.pub"]
    with serving(tmp_path / "sshd", f"{net}.{next(_numbers)}", keys, Variant(lines)) as server:
        public = " ".join((tmp_path / "authority.pub").read_text().split()[:2])
        known = f"@cert-authority {names} {public}\n"
        assert hello(server.inventory(known=known)) == "hello\n"
        stranger = " ".join((keys / "client.pub").read_text().split()[:2])
        assert "the host key is not known" in refused(server.inventory(known=f"@cert-authority {names} {stranger}\n"))
        certified = " ".join((tmp_path / "certified.pub").read_text().split()[:2])
        assert "revoked" in refused(server.inventory(known=f"{known}@revoked * {certified}\n"))


def test_a_host_is_not_known_by_a_key_that_is_revoked(server: Server) -> None:
    assert "the host key is revoked" in refused(server.inventory(known=f"{server.known}@revoked * {key_of(server)}\n"))


@pytest.fixture
def agent(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An ssh-agent that holds the key last of all, of which `tmp_path` has the public half alone."""
    with full_agent(tmp_path) as path:
        add_keys(path, server.keys / "client")
        monkeypatch.setenv("MY_AGENT", str(path))
        (tmp_path / "client.pub").write_text((server.keys / "client.pub").read_text())
        yield path


@pytest.mark.parametrize(
    "lines",
    [
        ["IdentityAgent {0}/agent", "IdentityFile {0}/client.pub"],
        ["IdentityAgent {0}/agent", "IdentityFile {0}/client"],
        ["IdentityAgent $MY_AGENT", "IdentityFile {0}/client", "IdentitiesOnly yes"],
        ['IdentityAgent "{0}/agent"', "IdentityFile {0}/none", "IdentityFile {0}/client.pub", "IdentitiesOnly yes"],
    ],
)
def test_a_key_comes_from_the_agent_that_the_ssh_config_names(
    lines: list[str], server: Server, agent: Path, tmp_path: Path
) -> None:
    """Of its eight keys the one whose public half is named is offered first: sshd lets nobody try seven others."""
    text = alias(server, f"User {getpass.getuser()}", *(line.format(tmp_path) for line in lines))
    assert hello(described(server, tmp_path / "config", text, key=None)) == "hello\n"
    none = text.replace("  IdentityAgent", "  IdentityAgent none\n  IdentityAgent")
    assert "SSH login refused" in refused(described(server, tmp_path / "config", none, key=None))
    if "IdentitiesOnly" in text:
        (tmp_path / "client.pub").write_text("")
        assert "SSH login refused" in refused(described(server, tmp_path / "config", text, key=None))


def test_an_ssh_config_that_keeps_no_host_keys_is_told_so(server: Server, tmp_path: Path) -> None:
    lines = f"Host db\n  HostName {server.address}\n  Port {PORT}\n  StrictHostKeyChecking no\n"
    said = refused(described(server, tmp_path / "config", f"{lines}  UserKnownHostsFile /dev/null\n"))
    assert "the host key is not known" in said
    assert "if this ssh_config keeps no keys (UserKnownHostsFile /dev/null), name a file as ssh.known_hosts" in said
    command = refused(described(server, tmp_path / "config", alias(server, "KnownHostsCommand /bin/false")))
    assert "(KnownHostsCommand failed)" in command
    assert "Fix: find out by `ssh -F " in command


# -- the way there -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jump", ["{user}@[::1]:{port}", "[::1]:{port}", "gate"])
def test_a_jump_host_with_an_address_of_ipv6(
    jump: str, server: Server, target: Server, ipv6_port: int, tmp_path: Path
) -> None:
    way = jump.format(user=getpass.getuser(), port=ipv6_port)
    (target.folder / "known_hosts").write_text(f"{target.known}[::1]:{ipv6_port} {key_of(server)}\n")
    known = (target.folder / "known_hosts").read_text()
    gate = f"Host gate\n  HostName ::1\n  Port {ipv6_port}\n"
    inventory = described(target, tmp_path / "config", gate + alias(target, f"ProxyJump {way}"), known,
                          known_hosts=str(target.folder / "known_hosts"))  # fmt: skip
    before = len(server.log)
    assert hello(inventory) == "hello\n"
    assert "Accepted publickey" in server.log[before:], "it was passed"


def test_a_way_by_a_command(server: Server, tmp_path: Path) -> None:
    program = shlex.join(["python3", "-c", RELAY])
    (tmp_path / "relay").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/said\nexec {program} "$@"\n')
    (tmp_path / "relay").chmod(0o700)
    text = alias(server, f"User {getpass.getuser()}", f"ProxyCommand {tmp_path}/relay %h %p %r %n")
    assert hello(described(server, tmp_path / "config", text)) == "hello\n"
    last = (tmp_path / "said").read_text().splitlines()[-1]
    assert last == f"{server.address} {PORT} {getpass.getuser()} db"


RELAY = """
import os, socket, sys, threading
there = socket.create_connection((sys.argv[1], int(sys.argv[2])))
def out():
    while data := there.recv(65536):
        os.write(1, data)
    os._exit(0)
threading.Thread(target=out, daemon=True).start()
while data := os.read(0, 65536):
    there.sendall(data)
"""


def test_a_command_on_the_way_that_is_not_here_is_named(server: Server, tmp_path: Path) -> None:
    said = refused(described(server, tmp_path / "config", alias(server, "ProxyCommand benchbook-no-such-program %h")))
    assert "the program that should lead there cannot be run here" in said
    assert "benchbook-no-such-program" in said


@pytest.mark.parametrize(
    ("inventory_says", "expected"),
    [({}, ("carla", 2200)), ({"port": 22}, ("carla", 22)), ({"user": "bench", "port": 2022}, ("bench", 2022))],
)
def test_what_the_inventory_says_counts_more_than_the_ssh_config(
    inventory_says: dict[str, object], expected: tuple[str, int], server: Server, tmp_path: Path
) -> None:
    text = "Host db\n  HostName 192.0.2.1\n  Port 2200\n  User carla\n"
    route = find_route(described(server, tmp_path / "config", text, **inventory_says), "db")
    assert (route.hostname, route.user, route.port) == ("192.0.2.1", *expected)


def test_an_alias_is_no_address_that_servers_listen_on(server: Server, tmp_path: Path) -> None:
    inventory = described(server, tmp_path / "config", alias(server))
    host = inventory.hosts["db"].model_copy(update={"address": "db", "ssh_address": None})
    with pytest.raises(BadInput, match=r"hosts\.db\.address: this address is an alias .*ssh_address: db` beside it"):
        Host(inventory.model_copy(update={"hosts": {"db": host}}), "db").connect()


def test_a_host_of_the_ssh_config_needs_no_more_than_its_name(server: Server, tmp_path: Path) -> None:
    """Its HostName is what servers listen on; port, user, key and known_hosts count as the ssh_config has them."""
    (server.folder / "known_hosts").write_text(server.known)
    lines = (f"IdentityFile {server.keys}/client", f"User {getpass.getuser()}")
    (tmp_path / "config").write_text(alias(server, *lines))
    (tmp_path / "mine.yaml").write_text(f"ssh: {{config: {tmp_path}/config}}\nhosts: {{db: {{roles: [tidb]}}}}\n")
    inventory = load_inventory(str(tmp_path / "mine.yaml"))
    assert (inventory.hosts["db"].address, inventory.hosts["db"].ssh_address) == (server.address, "db")
    assert hello(inventory) == "hello\n"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("hosts.ini", "[stores]\ndb ansible_host={0} ansible_port={1} ansible_user={2}\n[stores:vars]\n{3}={4}\n"),
        (
            "hosts.yml",
            "stores:\n hosts: {{db: {{ansible_host: {0}, ansible_port: {1}, ansible_user: {2}}}}}\n vars: {{{3}: {4}}}",
        ),
    ],
)
def test_a_host_of_an_ansible_inventory_is_reached(file: str, text: str, server: Server, tmp_path: Path) -> None:
    said = (server.address, PORT, getpass.getuser(), "ansible_ssh_private_key_file", server.keys / "client")
    (tmp_path / file).write_text(text.format(*said))
    (tmp_path / "known").write_text(server.known)
    lines = (
        f"ssh: {{known_hosts: {tmp_path}/known}}\nansible: {{inventory: {tmp_path}/{file}, roles: {{stores: tidb}}}}\n"
    )
    (tmp_path / "mine.yaml").write_text(lines)
    inventory = load_inventory(str(tmp_path / "mine.yaml"))
    assert (inventory.with_role("tidb"), inventory.hosts["db"].address) == (["db"], server.address)
    assert hello(inventory) == "hello\n"


# -- a login shell that waits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shell", "words"),
    [
        ('printf "Which environment? "; read answer; exec sh -c "$1"', "Which environment?"),
        ('echo "1) dev"; echo "2) prod"; printf "#? "; read choice; exec sh -c "$1"', "#?"),
        ('read -r silent; exec sh -c "$1"', ""),
        ('echo "Press ENTER to accept the terms"; read -r enter; exec sh -c "$1"', "Press ENTER"),
        ('seq 3000; printf "Vault passphrase: "; read -r p; exec sh -c "$1"', "it says: Vault passphrase:"),
        ('echo "mounting home"; sleep 20; exec sh -c "$1"', "mounting home"),
    ],
)
def test_a_login_shell_that_waits_for_an_answer_is_named(
    shell: str, words: str, tmp_path: Path, net: str, keys: Path
) -> None:
    with serving(tmp_path / "sshd", f"{net}.{next(_numbers)}", keys, Variant(shell=shell)) as server:
        host = Host(server.inventory(connect_timeout_s=4), "db")
        with pytest.raises(HostUnusable) as caught:
            host.connect()
        said = str(caught.value)
        assert "hosts.db: the login shell of this host waits, and has run nothing within 4 s" in said
        assert words in said
        assert "Fix: let its profile ask in interactive shells only" in said
        shells = psutil.Process(server.process.pid).children(recursive=True)
        until(lambda: not any(map(psutil.Process.is_running, shells)), "its shell has ended", within_s=30)
        assert not (server.folder / "work").exists(), "nothing of ours ran there"


# -- SFTP that sees another tree than commands do ----------------------------------------------------------------------


def test_files_that_are_not_those_of_commands_are_named(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    parse = HostProbe.parse
    monkeypatch.setattr(HostProbe, "parse", lambda text: parse(text.replace("root\t", "root\t/elsewhere", 1)))
    with pytest.raises(HostUnusable, match=r"hosts\.db: SFTP shows other folders than .*Fix: take ChrootDirectory"):
        Host(server.inventory(), "db").connect()
