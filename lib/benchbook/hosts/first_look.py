"""The first look at a host: a shell that runs commands, Python, a folder to work in, files by SFTP, jobs that may stay.

Whatever is missing is said in one sentence with its fix, before anything is copied, started or loaded.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from benchbook.errors import HostUnusable
from benchbook.hosts.disk_room import NO_SPACE, READ_ONLY, refused
from benchbook.hosts.logout import kills_at_logout

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.inventory import Inventory

OLDEST_PYTHON = (3, 7)

# What a step of the folder is, and what to do where it fails.
_STEPS = {
    "made": "the folder of the kit cannot be made",
    "ours": "this folder holds files that are not the kit's, which would be mixed with its own and removed with them",
    "written": "the folder of the kit cannot be written to",
    "run": "programs in the folder of the kit may not be run",
}


@dataclass(frozen=True)
class Seen:
    """What `look.sh` said: the kit's folder (an absolute path), the login, lines about Python, folder and logind.

    `place` is where reservations are kept (machine and user), `door` the address:port that the connection came to.
    `interpreter` is Python's own program.
    """

    root: str
    user: str
    place: str
    door: str
    python: str
    folder: str
    step: str
    logind: Sequence[tuple[str, str]]
    interpreter: str = "python3"

    @property
    def boot(self) -> str:
        """The machine's boot id, "" where it has none."""
        return self.place.partition(" ")[0]

    @property
    def own_address(self) -> str:
        """The host's own address that the connection came to."""
        return self.door.rpartition(":")[0]

    @classmethod
    def parse(cls, text: str) -> Seen:
        """Raises KeyError or ValueError where the host said less."""
        lines = [line.split("\t") for line in text.splitlines() if "\t" in line]
        said = {line[0]: line[1:] for line in lines}
        logind = [(line[1], line[2]) for line in lines if line[0] == "logind" and len(line) == 3]
        *folder, step = said["folder"]
        root, python = "\t".join(said["root"]), said["python"][0]
        interpreter = "".join(said["python"][1:]) or "python3"
        # Client's address and port, then the host's own: sshd(8), SSH_CONNECTION.
        door = ":".join(said["door"][0].split()[2:4])
        user, place, said_of_folder = said["user"][0], said["place"][0], "\t".join(folder).strip()
        return cls(root, user, place, door, python, said_of_folder, step, logind, interpreter)


# Variables of the login that the script needs.
NEEDS = ("SSH_CONNECTION",)


def script(root: str, *, shared: bool) -> str:
    """The shell commands that look at a host; `root` is the kit's folder, relative to the login's home or absolute.

    Where it may be `shared` with other machines, theirs are told apart by their names.
    """
    text = resources.files("benchbook.hosts.remote").joinpath("look.sh").read_text()
    return f"root={shlex.quote(root)}\nshared={'yes' if shared else ''}\n{text}"


def check(inventory: Inventory, name: str, seen: Seen) -> None:
    """Raises HostUnusable for the first thing that is missing."""
    for problem in (_python(seen), _folder(seen, name), _logout(seen)):
        if problem:
            said, key, value, fix = problem
            raise HostUnusable(said, file=inventory.file, key=f"hosts.{name}{key}", value=value, fix=fix)


def no_shell(inventory: Inventory, name: str, printed: str) -> HostUnusable:
    """The login shell ended without running the command."""
    return HostUnusable(
        "the login shell runs no commands",
        file=inventory.file,
        key=f"hosts.{name}",
        value=" ".join(printed.split())[:200],
        fix="give the account a shell (on that host: sudo chsh -s /bin/sh USER), or set ssh.user to one that has it",
    )


def no_sessions(inventory: Inventory, name: str) -> HostUnusable:
    """A new connection allows no session at all."""
    return HostUnusable(
        "this login may forward, and run nothing",
        file=inventory.file,
        key=f"hosts.{name}",
        value="no session",
        fix="allow sessions in its sshd_config (MaxSessions 4)",
    )


Problem = tuple[str, str, str, str]


def _python(seen: Seen) -> Problem | None:
    version = re.fullmatch(r"(\d+)\.(\d+)", seen.python)
    oldest = ".".join(map(str, OLDEST_PYTHON))
    if version is None:
        said = "there is no python3, by which jobs are supervised"
        return said, "", seen.python, "on that host: sudo apt-get install python3"
    if tuple(map(int, version.groups())) < OLDEST_PYTHON:
        return f"python3 is older than {oldest}", "", seen.python, f"install Python {oldest} or newer as python3"
    return None


def _folder(seen: Seen, name: str) -> Problem | None:
    if seen.step == "good":
        return None
    if seen.step == "ours":
        fix = (
            f"set hosts.{name}.workdir to an empty or new folder; one that the kit made before holds a file .benchbook"
        )
        return _STEPS[seen.step], ".workdir", seen.root, fix
    value = f"{seen.root}: {_reason(seen.folder)}"
    elsewhere = f"set hosts.{name}.workdir to a folder that {seen.user} may write to"
    disk = refused(seen.folder)
    if disk == NO_SPACE:
        return f"{_STEPS[seen.step]}: its disk is full", ".workdir", value, f"free space there, or {elsewhere}"
    if disk == READ_ONLY:
        return f"{_STEPS[seen.step]}: its disk is read-only", ".workdir", value, f"mount it for writing, or {elsewhere}"
    if seen.step == "run":
        return _STEPS[seen.step], ".workdir", value, f"mount it without noexec, or {elsewhere}"
    return _STEPS[seen.step], ".workdir", value, elsewhere


def _reason(folder: str) -> str:
    """The operating system's own words, which stand last: `mkdir: cannot create directory 'x': Permission denied`."""
    return folder.rpartition(": ")[2].strip()


def _logout(seen: Seen) -> Problem | None:
    if not kills_at_logout(seen.logind, seen.user):
        return None
    file, restart = "/etc/systemd/logind.conf", "sudo systemctl restart systemd-logind"
    fix = f"put `KillExcludeUsers=root {seen.user}` into its {file}, and: {restart}"
    return "this host ends what a login leaves running, so no job would live", "", "KillUserProcesses=yes", fix
