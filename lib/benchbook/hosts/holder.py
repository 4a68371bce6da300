"""Who drives: what a reservation says of its holder, so that another driver can name it."""

from __future__ import annotations

import getpass
import os
import socket
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from benchbook import paths


class Holder(BaseModel):
    """A driver. `boot`, `pid_space` and `started` (clock ticks since the boot) tell its process from every other."""

    model_config = ConfigDict(frozen=True)
    user: str = ""
    host: str = ""
    pid: int = 0
    checkout: str = ""
    boot: str = ""
    pid_space: str = ""
    started: int = 0

    def __str__(self) -> str:
        return f"{self.user}@{self.host} (process {self.pid}, {self.checkout})"

    def has_died_here(self) -> bool:
        """Was it a process of this machine that is no more? False for what runs elsewhere: nobody here can know."""
        here = this_driver()
        seen_from_here = bool(self.boot) and (self.boot, self.pid_space) == (here.boot, here.pid_space)
        return seen_from_here and _started(self.pid) != self.started


def this_driver() -> Holder:
    """This process."""
    return Holder(
        user=_user(),
        host=socket.gethostname(),
        pid=os.getpid(),
        checkout=str(paths.home()),
        boot=boot_id(),
        pid_space=_pid_space(),
        started=_started(os.getpid()),
    )


def since_in_words(when: float) -> str:
    """Seconds since the epoch, by the host's clock, for a reader."""
    return f"{datetime.fromtimestamp(when, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def boot_id() -> str:
    """ "" on a machine that does not say it: then nothing is known of its processes."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return boot.read_text().strip() if boot.exists() else ""


def _pid_space() -> str:
    """Containers on one machine count their processes each for itself."""
    namespace = Path("/proc/self/ns/pid")
    return str(namespace.readlink()) if namespace.is_symlink() else ""


def _started(pid: int) -> int:
    """When a process started, in clock ticks since the boot (proc(5), field 22 of `stat`); -1 if it does not run."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return -1
    return -1 if fields[0] == "Z" else int(fields[19])
