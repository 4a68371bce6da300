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
# Smaller numbers are days, minutes and lines of source.
_PORT = re.compile(r"\b\d{4,5}\b")
_HINT = re.compile(r"\bport\W{1,3}(\d{4,5})\b", re.IGNORECASE)
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
    before = [line[: found.start()] for line in said.splitlines() if (found := _TAKEN.search(line))]
    if not before:
        return ""
    try:
        listening = host.run(["ss", "-ltnpH"], check=False, timeout=PORT_USERS_S).stdout.splitlines()
    except BenchbookError:
        # That a server died is what matters; who has its port is only good to know.
        return ""
    # The last one before the words that say so, else one that another line speaks of as a port.
    for port in (*reversed(_PORT.findall(" ".join(before))), *_HINT.findall(said)):
        users = {line.split()[3]: line for line in listening if line.split()[3].endswith(f":{port}")}
        if users:
            # A server that listens on all addresses is kept from it by one on any.
            found = _USER.search(users.get(f"{bracketed(host.address)}:{port}", next(iter(users.values()))))
            who = f"process {found[2]} ({found[1]})" if found else UNKNOWN
            fix = "Fix: stop that process, or give the system another port in the inventory"
            return f"port {port} of {host.name} is taken by {who}. {fix}"
    return ""
