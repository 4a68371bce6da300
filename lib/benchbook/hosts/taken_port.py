"""Who has a port that a server wants: said in words where a server, or the lab's sshd, could not bind it."""

from __future__ import annotations

import re
from contextlib import suppress

import psutil

from benchbook.errors import BenchbookError
from benchbook.hosts.host import Host
from benchbook.hosts.timeouts import PORT_USERS_S

_TAKEN = re.compile("address already in use", re.IGNORECASE)
# Not of `"id":20568`. Behind colons stand times as well, and, in a trace, lines of source.
_PORT = re.compile(r"(?:\bport[: ]+|(?<!\"):)(\d{2,5})\b", re.IGNORECASE)
_TIME = re.compile(r"\d{1,2}:\d\d:\d\d|[+-]\d\d:\d\d\b")
_HINT = re.compile(r"\bport[: ]+(\d{2,5})\b", re.IGNORECASE)
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
    """Return which port, of what a server printed before it died, is taken and by whom; empty where none is."""
    port = _port(said)
    if port is None:
        return ""
    fix = "Fix: stop that process, or give the system another port in the inventory"
    return f"port {port} of {host.name} is taken by {_there(host, port)}. {fix}"


def _port(said: str) -> int | None:
    """Return the port that is taken: the last one before the words that say so, else the one another line speaks of."""
    before = [line[: found.start()] for line in said.splitlines() if (found := _TAKEN.search(line))]
    named = [port for part in before for port in _PORT.findall(_TIME.sub("", part))]
    named = named or (_HINT.findall(said) if before else [])
    return int(named[-1]) if named else None


def _there(host: Host, port: int) -> str:
    try:
        said = host.run(["ss", "-ltnpH", f"sport = :{port}"], check=False, timeout=PORT_USERS_S).stdout
    except BenchbookError:
        # That a server died is what matters; who has its port is only good to know.
        return UNKNOWN
    users = [
        line for line in said.splitlines() if f"{host.address}:{port} " in line or "*:" in line or "0.0.0.0:" in line
    ]
    found = _USER.search("\n".join(users or said.splitlines()))
    return f"process {found.group(2)} ({found.group(1)})" if found else UNKNOWN
