"""Files of a host: SFTP on a connection, and what to do where a host has none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fabric
import paramiko

from benchbook.errors import BenchbookError, ConnectionLost, HostUnusable

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.inventory import Inventory


class NoSession(BenchbookError):
    """The connection has no session to spare (MaxSessions): nothing was run, and another connection may have one."""


def no_session(problem: BaseException, connection: fabric.Connection) -> bool:
    """Was a session refused, on a connection that stands? Of two that are refused at once paramiko names one only."""
    said = isinstance(problem, paramiko.ChannelException) or "Unable to open channel" in str(problem)
    return said and connection.is_connected


def open_sftp(connection: fabric.Connection, inventory: Inventory, name: str) -> paramiko.SFTPClient:
    """Raises HostUnusable where there is no SFTP, ConnectionLost where there is no connection, and NoSession."""
    try:
        opened = paramiko.SFTPClient.from_transport(connection.transport)
    except paramiko.SFTPError as problem:
        raise _printing(inventory, name) from problem
    except (OSError, EOFError, paramiko.SSHException) as problem:
        if no_session(problem, connection):
            raise NoSession(name) from problem
        if not connection.is_connected or isinstance(problem, TimeoutError) or "Timeout" in str(problem):
            raise ConnectionLost(f"{name}: SFTP did not open: {problem!r}") from problem
        raise _switched_off(inventory, name) from problem
    if opened is None:
        raise ConnectionLost(f"{name}: SFTP did not open")
    return opened


def other_files(inventory: Inventory, name: str, root: str) -> HostUnusable:
    """What a command has just made cannot be seen by SFTP."""
    return HostUnusable(
        "SFTP does not show the folder that commands see, and the kit moves files by it",
        file=inventory.file,
        key=f"hosts.{name}",
        value=root,
        fix="take ChrootDirectory out of its /etc/ssh/sshd_config, or set ssh.user to an account that it is not for",
    )


def _switched_off(inventory: Inventory, name: str) -> HostUnusable:
    return HostUnusable(
        "SFTP is switched off on this host, and the kit moves files by it",
        file=inventory.file,
        key=f"hosts.{name}",
        value="no subsystem sftp",
        fix="put `Subsystem sftp internal-sftp` into its /etc/ssh/sshd_config, and: sudo systemctl reload ssh",
    )


def _printing(inventory: Inventory, name: str) -> HostUnusable:
    return HostUnusable(
        "the login shell prints something, which spoils SFTP",
        file=inventory.file,
        key=f"hosts.{name}",
        value="text in place of SFTP's answer",
        fix="print in interactive shells only (in ~/.bashrc, first: case $- in *i*) ;; *) return ;; esac), "
        "or put `Subsystem sftp internal-sftp` into its sshd_config",
    )
