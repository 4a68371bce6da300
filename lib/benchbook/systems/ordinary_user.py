"""Servers that refuse to run as root, started by a driver that logs in as root: an ordinary account runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchbook.errors import HostUnusable

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost

# Debian's packages postgresql-common and pgbouncer bring it.
ACCOUNT = "postgres"


def words(host: RemoteHost) -> list[str]:
    """What stands before a server's command line on this host; nothing where the login is no root.

    The account keeps one right of root, to pass the folders that lead to the kit's own, which are root's alone. Raises
    HostUnusable where there is no such account.
    """
    if not host.is_root:
        return []
    if host.run(["id", "-u", ACCOUNT], check=False).status != 0:
        raise HostUnusable(
            f"a server on host {host.name} refuses to run as root, and there is no account {ACCOUNT} to run it",
            file=host.inventory.file,
            key=f"hosts.{host.name}.user",
            value="root",
            fix=f"log in as another user, or on that host: useradd --system {ACCOUNT}",
        )
    rights = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    return ["setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--clear-groups", *rights, "--"]


def give(host: RemoteHost, folder: str) -> None:
    """A new folder to who runs the server."""
    if host.is_root:
        host.run(["chown", f"{ACCOUNT}:", "--", folder])
