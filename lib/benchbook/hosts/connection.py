"""How a connection to a host is opened: who is trusted, with which key, and what a refusal means for the user."""

from __future__ import annotations

import io
import logging
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import fabric
import paramiko
from paramiko.config import SSHConfig

from benchbook.errors import BadInput, HostUnusable
from benchbook.paths import resolve

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.inventory import Inventory, Ssh

# What a broken connection raises, depending on which layer notices first.
LOST = (OSError, EOFError, paramiko.SSHException)

# Linux: milliseconds that sent data may stay unacknowledged (tcp(7)); not every Python names it.
_TCP_USER_TIMEOUT = 18

# A refused tunnel while a server starts is expected, and raised as an error of ours; paramiko would also print it.
logging.getLogger("paramiko").setLevel(logging.CRITICAL)


def open_connection(inventory: Inventory, name: str) -> fabric.Connection:
    """Connect to a host of the inventory. Raises HostUnusable when it cannot be reached or trusted."""
    ssh, host, known = inventory.ssh, inventory.hosts[name], resolve(inventory.ssh.known_hosts)
    ssh.check_files()
    keys = {"key_filename": str(resolve(ssh.key)), "look_for_keys": False, "allow_agent": False} if ssh.key else {}
    connection = fabric.Connection(
        host.ssh_address or host.address,
        user=host.user or ssh.user or None,
        port=host.ssh_port or ssh.port,
        connect_timeout=ssh.connect_timeout_s,
        connect_kwargs={**keys, "banner_timeout": ssh.connect_timeout_s, "auth_timeout": ssh.connect_timeout_s},
        config=_ssh_config(ssh),
    )
    # Fabric trusts any key by default; here a host must be known before it is spoken to.
    connection.client.set_missing_host_key_policy(paramiko.RejectPolicy())
    if known.exists():
        connection.client.load_host_keys(str(known))
    _handshake(connection, inventory, name)
    connection.transport.set_keepalive(5)
    _tune(connection.transport.sock, ssh.lease_s)
    return connection


def _handshake(connection: fabric.Connection, inventory: Inventory, name: str) -> None:
    known, where = resolve(inventory.ssh.known_hosts), f"{connection.host}:{connection.port}"
    try:
        connection.open()
    except paramiko.BadHostKeyException as problem:
        raise _unusable(
            inventory,
            name,
            "the host key is not the one that is known",
            f"{where} sent {problem.key.get_name()}",
            f"if the host was reinstalled, replace its line in {known}; otherwise somebody is in between",
        ) from problem
    except paramiko.AuthenticationException as problem:
        raise _unusable(
            inventory,
            name,
            "SSH login refused",
            f"{connection.user}@{where}",
            "set ssh.user and ssh.key to an account that may log in",
        ) from problem
    except LOST as problem:
        raise _unusable(inventory, name, *_why_unreachable(problem, where, known)) from problem


def _unusable(inventory: Inventory, name: str, problem: str, value: str, fix: str) -> HostUnusable:
    return HostUnusable(problem, file=inventory.file, key=f"hosts.{name}", value=value, fix=fix)


def _tune(sock: object, lease_s: float) -> None:
    """Socket options; a jump host's pipe has none."""
    if not isinstance(sock, socket.socket):
        return
    # paramiko leaves Nagle's algorithm on, which costs a delayed acknowledgement (40 ms) on every command.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # A peer that falls silent is given up within half a lease, so that the other half is left to come back.
    sock.setsockopt(socket.IPPROTO_TCP, _TCP_USER_TIMEOUT, int(lease_s * 500))


def _ssh_config(ssh: Ssh) -> fabric.Config:
    """A user's ssh_config (jump hosts, aliases) counts only where the inventory names it."""
    try:
        return fabric.Config(ssh_config=SSHConfig.from_file(io.StringIO(ssh.config_text())))
    except paramiko.ConfigParseError as problem:
        fix = "mend this line of it, see ssh_config(5)"
        raise BadInput(
            "the ssh config cannot be read", file=ssh.config, key="a line", value=str(problem), fix=fix
        ) from problem


def _why_unreachable(problem: BaseException, where: str, known: Path) -> tuple[str, str, str]:
    """(problem, value, fix) for a connection that did not come to be."""
    if isinstance(problem, paramiko.SSHException) and "not found in known_hosts" in str(problem):
        return "the host key is not known", where, f"check it, then `ssh-keyscan -p PORT HOST >> {known}`"
    return (
        f"the host cannot be reached by SSH ({problem})",
        where,
        "start it (a lab: `make lab`), or correct address and port",
    )
