"""How a connection to a host is opened, jump hosts first: every hop must be known, and gets a key and little time."""

from __future__ import annotations

import getpass
import logging
import socket
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Any

import fabric
import paramiko
from paramiko.hostkeys import InvalidHostKey
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from benchbook.errors import BadInput, HostUnusable
from benchbook.given import user_file
from benchbook.hosts import known_hosts
from benchbook.hosts.hang_up import LOST, hang_up
from benchbook.hosts.hops import Hop, connection_to, way_to
from benchbook.hosts.login_keys import KeyOffer, KeysNamed
from benchbook.hosts.refused import no_greeting, why
from benchbook.paths import resolve

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.inventory import Inventory, Ssh

# Linux: milliseconds that sent data may stay unacknowledged (tcp(7)); not every Python names it.
_TCP_USER_TIMEOUT = 18

# A refused tunnel while a server starts is expected, and raised as an error of ours; paramiko would also print it.
logging.getLogger("paramiko").setLevel(logging.CRITICAL)


def silence_s(lease_s: float) -> float:
    """A peer that falls silent is given up within half a lease, so that the other half is left to come back.

    Not before 5 s, though: a host that is merely busy may take some.
    """
    return max(5.0, lease_s / 2)


def open_connection(inventory: Inventory, name: str) -> fabric.Connection:
    """Connect to a host of the inventory, hop by hop; the last connection holds those before it as `gateway`.

    Raises HostUnusable, naming the hop, when one cannot be reached or trusted: then nothing went beyond it.
    """
    inventory.ssh.check_files()
    way = way_to(inventory, name)
    connection: fabric.Connection | None = None
    for number, hop in enumerate(way):
        try:
            connection = _opened(connection_to(hop, inventory, connection), inventory, name, _which(way, number))
        except BaseException:
            hang_up(connection)
            raise
    return connection


def _which(way: list[Hop], number: int) -> str:
    """What a sentence about a hop begins with; nothing for the host itself."""
    return "" if number == len(way) - 1 else f"jump host {way[number].name} ({number + 1} of {len(way) - 1}): "


def _opened(connection: fabric.Connection, inventory: Inventory, name: str, which: str) -> fabric.Connection:
    ssh = inventory.ssh
    login = KeyOffer(connection.user or getpass.getuser(), _keys_for(connection, inventory))
    connection.connect_kwargs = {
        "auth_strategy": login,
        "banner_timeout": ssh.connect_timeout_s,
        "auth_timeout": ssh.connect_timeout_s,
        "channel_timeout": ssh.connect_timeout_s,
        "transport_factory": _quick,
    }
    # Fabric trusts any key by default; here a host must be known before it is spoken to.
    connection.client.set_missing_host_key_policy(paramiko.RejectPolicy())
    _load_known_hosts(connection, inventory)
    try:
        _handshake(connection, ssh)
        _settle(connection, ssh)
    except LOST as problem:
        connection.client.close()
        where, behind = f"{connection.host}:{connection.port}", getattr(connection.gateway, "original_host", "")
        said = why(problem, where, resolve(ssh.known_hosts), login, behind=behind)
        raise HostUnusable(
            f"{which}{said.problem}", file=inventory.file, key=f"hosts.{name}", value=said.value, fix=said.fix
        ) from problem
    except BadInput:
        connection.client.close()
        raise
    return connection


def _keys_for(connection: fabric.Connection, inventory: Inventory) -> KeysNamed:
    """The keys that a hop may be offered: the inventory's on every hop, and what the ssh_config has for this one."""
    ssh, about = inventory.ssh, connection.ssh_config
    return KeysNamed(
        resolve(ssh.key) if ssh.key else None,
        tuple(Path(path).expanduser() for path in about.get("identityfile", [])),
        ssh.passphrase_env,
        agent_too=str(about.get("identitiesonly", "no")).lower() != "yes",
        file=inventory.file,
    )


def _load_known_hosts(connection: fabric.Connection, inventory: Inventory) -> None:
    known = resolve(inventory.ssh.known_hosts)
    if not user_file.is_there(known):
        return  # no host is known then, which the handshake says
    try:
        with NamedTemporaryFile("w", encoding="utf-8") as plain:
            plain.write(known_hosts.plain(known))
            plain.flush()
            connection.client.load_system_host_keys(plain.name)
    except (OSError, ValueError, InvalidHostKey) as problem:
        raise BadInput(
            f"the file of known hosts cannot be read ({problem})",
            file=inventory.file,
            key="ssh.known_hosts",
            value=str(known),
            fix="correct or remove that line; `ssh-keygen -l -f FILE` checks it",
        ) from problem


def _handshake(connection: fabric.Connection, ssh: Ssh) -> None:
    """An sshd that has as many logins under way as MaxStartups allows hangs up on the next, before it says anything."""
    patient = Retrying(
        retry=retry_if_exception(no_greeting),
        stop=stop_after_delay(ssh.connect_timeout_s),
        wait=wait_random_exponential(0.2, max=2),
        reraise=True,
    )
    patient(connection.open)


def _settle(connection: fabric.Connection, ssh: Ssh) -> None:
    """What a login is asked to be once it stands. Raises what LOST lists where it broke meanwhile."""
    connection.transport.set_keepalive(5)
    # Else an hour: an sshd that stands still, as a suspended one does, accepts a channel and never opens it.
    connection.transport.channel_timeout = silence_s(ssh.lease_s)
    # A jump host's pipe has no options.
    if isinstance(connection.transport.sock, socket.socket):
        given_up_ms = int(silence_s(ssh.lease_s) * 1000)
        connection.transport.sock.setsockopt(socket.IPPROTO_TCP, _TCP_USER_TIMEOUT, given_up_ms)


def _quick(sock: Any, **options: Any) -> paramiko.Transport:
    """paramiko leaves Nagle's algorithm on: a delayed acknowledgement (40 ms) at each step of a login and command.

    It would ask for AES-GCM last: with that, which needs no hash of each packet besides, a command takes the driver a
    seventh less CPU, and a file a fifth.
    """
    if isinstance(sock, socket.socket):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    transport = paramiko.Transport(sock, **options)
    wanted = transport.get_security_options()
    wanted.ciphers = sorted(wanted.ciphers, key=lambda name: "-gcm@" not in name)
    return transport
