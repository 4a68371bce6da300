"""A host of an inventory, for who is about to talk to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.inventory import Inventory
    from benchbook.hosts.remote_host import RemoteHost


def host_of(inventory: Inventory, name: str) -> RemoteHost:
    """Not connected yet."""
    # Fabric takes half a second to import. Systems, loads and sessions are named in many places that talk to nobody: a
    # command that refuses its parameters, a page that is made of records.
    from benchbook.hosts.remote_host import RemoteHost  # noqa: PLC0415

    return RemoteHost(inventory, name)


def connect(host: RemoteHost) -> None:
    """As a step for every host of a session."""
    host.connect()
