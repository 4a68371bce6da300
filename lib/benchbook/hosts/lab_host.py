"""A host of the lab: its sshd, and the way to it.

A lab has a network namespace of its own where its user may make one: no other user of the machine reaches a port in it.
It lasts as long as a process in it runs, so the sshd that runs leads there.

Where root starts a lab, the account `benchbook` (env/setup makes it) logs in and runs all that is loaded and measured;
only what `tune` sets is set by root.
"""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import psutil

from benchbook import paths
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.remote import agent

# unshare(1) grants the capability that brings up `lo`; sshd runs without it.
_BEGIN = 'ip link set lo up && exec setpriv --inh-caps=-all --ambient-caps=-all "$@"'
# A socket stays in the network namespace where it was made, also in the process that it is sent to: unix(7).
_CONNECT = """\
import socket, sys
address, port, timeout = sys.argv[1:]
there = socket.create_connection((address, int(port)), float(timeout))
socket.send_fds(socket.socket(fileno=0), [b"."], [there.fileno()])
"""

ACCOUNT = "benchbook"
MAKE_ACCOUNT = f"useradd --system --user-group --no-create-home --home-dir / --shell /bin/sh --password '*' {ACCOUNT}"


@dataclass(frozen=True)
class LabHost:
    """One host of the lab: where its sshd listens, and the folder with its state."""

    name: str
    address: str
    port: int
    folder: Path

    @property
    def pid(self) -> int | None:
        """Process of its sshd, if that runs. A pid file may outlive its process, so the command line is compared."""
        file = self.folder / "sshd.pid"
        try:
            process = psutil.Process(int(file.read_text()))
            # sshd writes its command line anew, as one text: a path with a space is no word of it.
            return process.pid if is_sshd_of(self.folder / "sshd_config", " ".join(process.cmdline())) else None
        except (OSError, ValueError, psutil.NoSuchProcess):
            return None

    @property
    def user(self) -> str | None:
        """Account that logs in there; None where it was never started."""
        config = self.folder / "sshd_config"
        lines = config.read_text().splitlines() if config.exists() else []
        return next((line.split()[1] for line in lines if line.startswith("AllowUsers ")), None)

    def enter(self) -> list[str]:
        """Return the nsenter command line that enters its network; [] where that is ours, or its sshd does not run."""
        pid = self.pid
        try:
            if pid is None or Path(f"/proc/{pid}/ns/net").samefile("/proc/self/ns/net"):
                return []
        except OSError:
            return []
        return ["nsenter", f"--target={pid}", *(["--user", "--preserve-credentials"] if os.geteuid() else []), "--net"]

    def connect(self, timeout_s: float) -> socket.socket:
        """Return a connection to its sshd. Raise OSError."""
        way = self.enter()
        if not way:
            return socket.create_connection((self.address, self.port), timeout_s)
        mine, theirs = socket.socketpair()
        with mine, theirs:
            words = [*way, sys.executable, "-ISc", _CONNECT, self.address, str(self.port), str(timeout_s)]
            ran = subprocess.run(words, stdin=theirs.fileno(), stderr=subprocess.PIPE, text=True, check=False)
            if ran.returncode:
                raise ConnectionError((ran.stderr.splitlines() or ["no answer"])[-1])
            connected = socket.socket(fileno=socket.recv_fds(mine, 1, 1)[1][0])
        connected.settimeout(timeout_s)
        return connected


def lab_host(inventory: Inventory, name: str) -> LabHost:
    host = inventory.hosts[name]
    folder = paths.lab_dir() / inventory.name / name
    return LabHost(name, host.ssh_address or host.address, host.ssh_port or inventory.ssh.port, folder)


def in_new_network(words: list[str]) -> list[str]:
    """Return the command that runs `words` in a new, empty network namespace."""
    user = ["--user", "--map-current-user", "--keep-caps"] if os.geteuid() else []
    return ["unshare", *user, "--net", "sh", "-ec", _BEGIN, "sh", *words]


@lru_cache
def why_no_network() -> str:
    """Return why this user cannot make a network namespace here; "" if it works."""
    try:
        ran = subprocess.run(in_new_network(["true"]), capture_output=True, text=True, check=False)
    except FileNotFoundError as problem:
        return str(problem)
    return (ran.stderr.splitlines() or ["unshare fails"])[-1] if ran.returncode else ""


def has_own_network(inventory: Inventory) -> bool:
    """Return whether its lab, as it runs, has a network namespace of its own; of one that is down, whether it would.

    What `endpoints` name is in the network of this machine.
    """
    running = next((host for name in inventory.hosts if (host := lab_host(inventory, name)).pid is not None), None)
    return bool(running.enter()) if running else not inventory.endpoints and not why_no_network()


def ask_agent(*words: str, as_root: bool = False) -> str:
    """Run the agent on this machine as the account that logs in to this user's labs, or as root; return its output.

    In a session of its own, for a Ctrl-C is ours to answer.
    """
    account = has_account() and not as_root
    # Root's own Python may lie where only root can reach it.
    argv = ["python3" if account else sys.executable, "-S", "-", *words]
    with Path(agent.__file__).open() as program:
        ran = subprocess.run(
            argv, stdin=program, check=True, text=True, stdout=subprocess.PIPE, start_new_session=True,
            **(as_account() if account else {}),
        )  # fmt: skip
    return str(ran.stdout)


def has_account() -> bool:
    """Return whether the account `benchbook` logs in to the labs that this user starts."""
    return os.geteuid() == 0 and not why_root()


def as_account() -> dict[str, Any]:
    login = pwd.getpwnam(ACCOUNT)
    return {"user": login.pw_uid, "group": login.pw_gid, "extra_groups": [], "cwd": "/"}


def why_root() -> str:
    """Return why root runs all that is in this project's labs; "" where the account does, or this user is not root."""
    return "" if os.geteuid() else _why_root(paths.home())


@lru_cache
def _why_root(project: Path) -> str:
    words = ["python3", "-ISc", "import os, sys; os.stat(sys.argv[1])", f"{project.resolve()}/."]
    try:
        ran = subprocess.run(words, capture_output=True, check=False, **as_account())
    except KeyError:
        return f"there is no account {ACCOUNT}; make it: {MAKE_ACCOUNT}"
    except OSError as problem:
        return f"the account {ACCOUNT} finds no python3 ({problem})"
    return f"the account {ACCOUNT} cannot reach {project}: move it, to /srv for example" if ran.returncode else ""


def is_sshd_of(config: Path, words: str) -> bool:
    """Return whether this is the command line of an sshd with that configuration."""
    return str(config) in words or _in_title(config) in words


def _in_title(path: Path) -> str:
    """A path as sshd writes it into its command line: strnvis(3) of its bytes, which for `ü` says `\\303\\274`."""
    plain = (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}" for byte in os.fsencode(path))
    return "".join("\\\\" if each == "\\" else each for each in plain)
