"""Who has a port that a server wants: said in words where a server, or the lab's sshd, could not bind it."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

from benchbook.errors import BenchbookError
from benchbook.hosts.jobs import program_on, remote_program

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost

_TAKEN = re.compile("address already in use", re.IGNORECASE)
# Not of `"id":20568`. Behind colons stand times as well, and, in a trace, lines of source.
_PORT = re.compile(r"(?:\bport[: ]+|(?<!\"):)(\d{2,5})\b", re.IGNORECASE)
_TIME = re.compile(r"\d{1,2}:\d\d:\d\d|[+-]\d\d:\d\d\b")
_HINT = re.compile(r"\bport[: ]+(\d{2,5})\b", re.IGNORECASE)
UNKNOWN = "another program (of another user, who alone can see which)"


def here(address: str, port: int) -> str:
    """The process of this machine that listens on an address and port, in words."""
    command = [sys.executable, str(remote_program("hosts", "who_listens.py")), address, str(port)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() or UNKNOWN


def in_words(host: RemoteHost, said: str) -> str:
    """Which port, of what a server printed before it died, is taken and by whom; empty where none is."""
    port = _port(said)
    if port is None:
        return ""
    fix = "Fix: stop that process, or give the system another port in the inventory"
    return f"port {port} of {host.name} is taken by {_there(host, port)}. {fix}"


def _port(said: str) -> int | None:
    """The port that is taken: the last one before the words that say so, else the one that another line speaks of."""
    before = [line[: found.start()] for line in said.splitlines() if (found := _TAKEN.search(line))]
    named = [port for part in before for port in _PORT.findall(_TIME.sub("", part))]
    named = named or (_HINT.findall(said) if before else [])
    return int(named[-1]) if named else None


def _number(address: str) -> str:
    """A host's name as its IPv4 address, as far as the driver knows it; else the one that stands for all addresses."""
    try:
        return socket.gethostbyname(address)
    except OSError:
        return "0.0.0.0"


def _there(host: RemoteHost, port: int) -> str:
    try:
        program = program_on(host, "hosts", "who_listens.py")
        said = host.run([*program, _number(host.host.address), port], timeout=20).stdout
        return str(said).strip() or UNKNOWN
    except BenchbookError:
        # That a server died is what matters; who has its port is only good to know.
        return UNKNOWN
