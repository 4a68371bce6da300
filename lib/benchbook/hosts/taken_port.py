"""Who has a port that a server wants: said in words where a server, or the lab's sshd, could not bind it."""

from __future__ import annotations

import re
from contextlib import suppress

import psutil

from benchbook.errors import BenchbookError
from benchbook.hosts.endpoint import bracketed
from benchbook.hosts.host import Host
from benchbook.hosts.timeouts import PORT_USERS_S

_TAKEN = re.compile("address already in use", re.IGNORECASE)
# How `ss` writes all addresses.
_ANY = ("*", "0.0.0.0", "[::]")
# What `ss -p` says of a socket: users:(("redis-server",pid=123,fd=6)).
_USER = re.compile(r'\(\("([^"]*)",pid=(\d+)')
UNKNOWN = "another program (of another user, who alone can see which)"


def here(address: str, port: int) -> str:
    """Return the process of this machine that listens on an address and port, in words."""
    with suppress(psutil.AccessDenied):
        for one in psutil.net_connections("tcp"):
            bound = one.status == psutil.CONN_LISTEN and one.pid and tuple(one.laddr)
            if bound in [(each, port) for each in (address, "0.0.0.0", "::")]:
                with suppress(psutil.NoSuchProcess):
                    return f"process {one.pid} ({' '.join(psutil.Process(one.pid).cmdline())[:120]})"
    return UNKNOWN


def in_words(host: Host, said: str) -> str:
    """Return which port that a server named before it died is taken, and by whom; "" where none is."""
    if not _TAKEN.search(said):
        return ""
    try:
        listening = host.run(["ss", "-ltnpH"], check=False, timeout=PORT_USERS_S).stdout
    except BenchbookError:
        # That a server died is what matters; who has its port is only good to know.
        return ""
    for line in listening.splitlines():
        address, _, port = line.split()[3].rpartition(":")
        if address in (bracketed(host.address), *_ANY) and re.search(rf"\b{port}\b", said):
            found = _USER.search(line)
            who = f"process {found[2]} ({found[1]})" if found else UNKNOWN
            fix = "Fix: stop that process, or give the system another port in the inventory"
            return f"port {port} of {host.name} is taken by {who}. {fix}"
    return ""
