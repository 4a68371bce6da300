"""Who has a port that a server wants: said in words where a server, or the lab's sshd, could not bind it."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

from benchbook.errors import BenchbookError
from benchbook.hosts.jobs import remote_program

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost

_TAKEN = re.compile("address already in use", re.IGNORECASE)
_PORT = re.compile(r"(?:\bport[: ]+|:)(\d{2,5})\b", re.IGNORECASE)
UNKNOWN = "another program (of another user, who alone can see which)"


def here(address: str, port: int) -> str:
    """The process of this machine that listens on an address and port, in words."""
    command = [sys.executable, str(remote_program("hosts", "who_listens.py")), address, str(port)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip() or UNKNOWN


def in_words(host: RemoteHost, said: str) -> str:
    """Which port, of what a server printed before it died, is taken and by whom; empty where none is."""
    ports = [int(found) for line in said.splitlines() if _TAKEN.search(line) for found in _PORT.findall(line)]
    ports = ports or [int(found) for found in _PORT.findall(said) if _TAKEN.search(said)]
    if not ports:
        return ""
    fix = "Fix: stop that process, or give the system another port in the inventory"
    return f"port {ports[-1]} of {host.name} is taken by {_there(host, ports[-1])}. {fix}"


def _number(address: str) -> str:
    """A host's name as its IPv4 address, as far as the driver knows it; else the one that stands for all addresses."""
    try:
        return socket.gethostbyname(address)
    except OSError:
        return "0.0.0.0"


def _there(host: RemoteHost, port: int) -> str:
    try:
        program = host.push(remote_program("hosts", "who_listens.py"))
        return (
            str(host.run(["python3", program, _number(host.host.address), port], timeout=20).stdout).strip() or UNKNOWN
        )
    except BenchbookError:
        # That a server died is what matters; who has its port is only good to know.
        return UNKNOWN
