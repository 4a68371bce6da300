"""The end of a connection: what one that broke raises, and how one that stands is given up."""

from __future__ import annotations

import fabric
import paramiko

# What a broken connection raises, depending on which layer notices first.
LOST = (OSError, EOFError, paramiko.SSHException)


def hang_up(connection: fabric.Connection | None) -> None:
    """Close a connection and, after it, the jump hosts that it came by: Fabric leaves those open."""
    while isinstance(connection, fabric.Connection):
        connection.close()
        # Fabric leaves alone what it takes for closed: a transport that broke, a login that was refused.
        connection.client.close()
        connection = connection.gateway
