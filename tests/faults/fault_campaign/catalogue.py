"""What is broken, where and when: the faults, what each is done to, and the phases of a run in which that is there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

Phase = Literal["connect", "prepare", "reset", "load", "write"]
PHASES: tuple[Phase, ...] = get_args(Phase)
KILL, STOP, KEY_SWAP, SECOND = "kill", "stop", "key swap", "second driver"
DISK_FULL, INODES_FULL, READ_ONLY = "disk full", "inodes full", "read-only"
ON_DISKS = (DISK_FULL, INODES_FULL, READ_ONLY)
# What others do to the lab: to its network, which no link of a host shows, and to its machine; and who tries each port.
LO_DOWN, NO_ROUTE, HOG, OTHER_USER = "lo down", "route gone", "CPU hog in another namespace", "another user"
ON_NETWORK = (LO_DOWN, NO_ROUTE)
DRIVER, KERNEL, GENERATOR, SUPERVISOR = "driver", "kernel", "load generator", "supervisor"
PROBE, SERVER, SSHD, SSHD_SESSION = "probe", "server", "sshd", "sshd session"
# Where a disk can be full: under what the driver records, and under the hosts' folders.
DISKS = ("driver's disk", "client's disk", "server's disk")
HOSTS = ("client", "server")

# The phases in which a process is there to be hit.
_ALIVE: dict[str, tuple[Phase, ...]] = {
    DRIVER: PHASES,
    KERNEL: PHASES,
    SSHD: PHASES,
    SSHD_SESSION: PHASES,
    SUPERVISOR: ("prepare", "reset", "load", "write"),
    SERVER: ("prepare", "reset", "load", "write"),
    PROBE: ("reset", "load", "write"),
    GENERATOR: ("prepare", "load"),
}
_SSH = r"unreachable|out of reach|cannot be reached|connection|ssh"
_NAMED = {
    DRIVER: r"\bdriver (was|stood|had)|no driver|lease",
    KERNEL: r"kernel|\bdriver (was|stood|had)|no driver|lease",
    SSHD: _SSH,
    SSHD_SESSION: _SSH,
    SUPERVISOR: r"supervisor",
    # Trials and reports have these names, too: what counts is a sentence about the program.
    SERVER: r"mariadb\S* on \w+",
    PROBE: r"\bprobe\b|no sample",
    GENERATOR: r"(?<![/\w])sysbench\S* (prepare |on |killed|ended|could)|load generator",
    DISK_FULL: r"disk|space",
    INODES_FULL: r"disk|space|inode",
    READ_ONLY: r"read-only",
    KEY_SWAP: r"host key",
    LO_DOWN: rf"network|{_SSH}",
    NO_ROUTE: rf"network|{_SSH}",
    SECOND: r"another|held|holds|reserv|in use",
}


@dataclass(frozen=True)
class Fault:
    """A kind of fault, and what it is done to: a process, a disk, a host."""

    kind: str
    target: str

    def __str__(self) -> str:
        return f"{self.kind} {self.target}".strip()

    @property
    def on_hosts(self) -> bool:
        """Is it done to what runs, or lies, on a host? Not to what drives them, which times no load itself."""
        return self.target not in (DRIVER, KERNEL)

    @property
    def named_by(self) -> str:
        """What a reason must hold that names what failed; "" where nothing fails, or nobody is left to give one."""
        if self == Fault(KILL, DRIVER) or self.kind in (HOG, OTHER_USER):
            return ""
        return _NAMED[self.kind if self.kind in _NAMED else self.target]


def of_phase(phase: Phase) -> list[Fault]:
    """Every fault that can be made in a phase; where there are several places for one, the draw chooses."""
    return list(_of_phase(phase))


def _of_phase(phase: Phase) -> Iterator[Fault]:
    for target, phases in _ALIVE.items():
        if phase in phases:
            yield from (Fault(KILL, target), Fault(STOP, target))
    yield from (Fault(kind, "") for kind in (*ON_DISKS, KEY_SWAP, SECOND))
    if phase in ("prepare", "load"):
        yield from (Fault(kind, "") for kind in (*ON_NETWORK, HOG, OTHER_USER))
