"""The way to a host: the jump hosts that a user's ssh_config names, in the order of passing them, then the host.

OpenSSH visits the hosts of a ProxyJump one after the other, and a jump host may have a ProxyJump of its own. Fabric
reads a list the other way round and opens every jump host with settings of its own, so the way is worked out here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import fabric
from fabric.connection import derive_shorthand
from paramiko.config import SSHConfig

from benchbook.errors import BadInput
from benchbook.hosts.ssh_config import ssh_config

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.inventory import Inventory

# More than this is a circle, or a mistake.
MOST_HOPS = 8


@dataclass(frozen=True)
class Hop:
    """One SSH server on the way: what it is called, and who logs in there; None is left to the ssh_config."""

    name: str
    user: str | None = None
    port: int | None = None


def way_to(inventory: Inventory, name: str) -> list[Hop]:
    """The hops to a host of the inventory; the last one is the host. Raises BadInput."""
    ssh, host, config = inventory.ssh, inventory.hosts[name], ssh_config(inventory)
    # Without an ssh.port of its own the inventory leaves the port to an alias of the ssh_config.
    port = host.ssh_port or (ssh.port if "port" in ssh.model_fields_set or not ssh.config else None)
    last = Hop(host.ssh_address or host.address, host.user or ssh.user or None, port)
    return [*_before(config, last, inventory, ()), last]


def _before(config: SSHConfig, hop: Hop, inventory: Inventory, passed: tuple[Hop, ...]) -> Iterator[Hop]:
    """The jump hosts in front of a hop: those in front of the first one it names come first."""
    said = str(config.lookup(hop.name).get("proxyjump", "none"))
    if len(passed) > MOST_HOPS:
        raise BadInput(
            "jump hosts that lead in a circle",
            file=inventory.file,
            key="ssh.config",
            value=" -> ".join(one.name for one in passed),
            fix="correct the ProxyJump lines of this ssh_config",
        )
    if said.lower() == "none":
        return
    jumps = [_parsed(word, inventory) for word in said.split(",")]
    if any(jump.name == hop.name for jump in jumps):
        # A `Host *` with a ProxyJump means the jump host itself as well: it is reached without, as Fabric does.
        return
    yield from _before(config, jumps[0], inventory, (*passed, hop))
    yield from jumps


def _parsed(word: str, inventory: Inventory) -> Hop:
    try:
        parts = derive_shorthand(word.strip().removeprefix("ssh://"))
    except ValueError as problem:
        raise BadInput(
            "no jump host", file=inventory.file, key="ssh.config", value=word, fix="write ProxyJump [user@]host[:port]"
        ) from problem
    return Hop(parts["host"] or "", parts["user"], parts["port"])


def _said_of(hop: Hop) -> list[str]:
    """Lines of an ssh_config, for before all others: of each setting the first one counts."""
    settings = (("Port", hop.port), ("User", hop.user))
    return [f"Host {hop.name}", *(f"{name} {value}" for name, value in settings if value is not None), "Host *"]


def connection_to(hop: Hop, inventory: Inventory, gateway: fabric.Connection | None) -> fabric.Connection:
    """A connection that is not open yet; what a ProxyCommand of the ssh_config starts leads to the first hop."""
    # A ProxyCommand's %p and %r are the hop's own, whoever said what they are.
    config = fabric.Config(ssh_config=ssh_config(inventory, _said_of(hop)))
    # What is not given here Fabric would look up by itself, and open with settings of its own.
    return fabric.Connection(
        hop.name,
        user=hop.user,
        port=hop.port,
        gateway=gateway or config.base_ssh_config.lookup(hop.name).get("proxycommand") or False,
        connect_timeout=inventory.ssh.connect_timeout_s,
        config=config,
    )
