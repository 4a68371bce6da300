"""The preflight of a host: a shell that runs commands, Python, a folder to work in, files by SFTP, jobs that may stay.

Whatever is missing is said in one sentence with its fix, before anything is copied, started or loaded.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from benchbook.errors import HostUnusable
from benchbook.hosts.inventory import Inventory

OLDEST_PYTHON = (3, 7)
# What a disk may lack, and the words by which programs say so.
NO_SPACE, READ_ONLY = "no space", "read-only"
_DISK_WORDS = {"No space left": NO_SPACE, "quota": NO_SPACE, "Read-only": READ_ONLY}
_DISKS = {NO_SPACE: ("full", "free space there"), READ_ONLY: ("read-only", "mount it for writing")}

# What a step of the folder is, and what to do where it fails.
_STEPS = {
    "made": "Benchbook's folder cannot be created",
    "ours": "this folder holds other files, which Benchbook would remove with its own",
    "written": "Benchbook's folder cannot be written to",
    "run": "programs in Benchbook's folder cannot be run",
}


@dataclass(frozen=True)
class HostProbe:
    """What `preflight.sh` said: the kit's folder (an absolute path), the login, lines about Python, folder and logind.

    `place` is where reservations are kept (machine and user), `sshd_address` the address:port of its sshd.
    `interpreter` is Python's own program.
    """

    root: str
    user: str
    place: str
    sshd_address: str
    python: str
    folder: str
    step: str
    logind: Mapping[str, str]
    interpreter: str = "python3"

    @property
    def boot(self) -> str:
        """The machine's boot id, "" where it has none."""
        return self.place.partition(" ")[0]

    @property
    def own_address(self) -> str:
        """The host's own address that the connection came to."""
        return self.sshd_address.rpartition(":")[0]

    @classmethod
    def parse(cls, text: str) -> HostProbe:
        """Raise KeyError or ValueError where the host said less."""
        lines = [line.split("\t") for line in text.splitlines() if "\t" in line]
        said = {line[0]: line[1:] for line in lines}
        logind = dict(line[1].split("=", 1) for line in lines if line[0] == "logind")
        *folder, step = said["folder"]
        root, python = "\t".join(said["root"]), said["python"][0]
        interpreter = "".join(said["python"][1:]) or "python3"
        # Client's address and port, then the host's own: sshd(8), SSH_CONNECTION.
        sshd_address = ":".join(said["sshd_address"][0].split()[2:4])
        user, place, said_of_folder = said["user"][0], said["place"][0], "\t".join(folder).strip()
        return cls(root, user, place, sshd_address, python, said_of_folder, step, logind, interpreter)


# Variables of the login that the script needs.
NEEDS = ("SSH_CONNECTION",)


def script(root: str, *, shared: bool) -> str:
    """The shell commands that look at a host; `root` is the kit's folder, relative to the login's home or absolute.

    Where it may be `shared` with other machines, theirs are told apart by their names.
    """
    text = resources.files("benchbook.hosts.remote").joinpath("preflight.sh").read_text()
    return f"root={shlex.quote(root)}\nshared={'yes' if shared else ''}\n{text}"


def check(inventory: Inventory, name: str, probe: HostProbe) -> None:
    """Raise HostUnusable for the first thing that is missing."""
    _check_python(inventory, name, probe)
    if probe.step != "good":
        raise _no_folder(inventory, name, probe)
    if kills_at_logout(probe.logind, probe.user):
        said = "this host ends all processes of a login when it logs out, so no job can run"
        file, restart = "/etc/systemd/logind.conf", "sudo systemctl restart systemd-logind"
        fix = f"put `KillExcludeUsers=root {probe.user}` into its {file}, and: {restart}"
        raise inventory.unusable(name, said, value="KillUserProcesses=yes", fix=fix)


def disk_refusal(words: str) -> str | None:
    """Return NO_SPACE or READ_ONLY, where that is what a program's words say of a disk; else None."""
    return next((what for text, what in _DISK_WORDS.items() if text in words), None)


# Why a login is of no use, and what to do about it; {} stands for how long a shell was waited for.
REFUSALS = {
    "waits": (
        "the login shell of this host waits, and has run nothing within {}",
        "let its profile ask in interactive shells only (~/.bashrc: case $- in *i*) ;; *) return ;; esac)",
    ),
    "runs no commands": (
        "the login shell runs no commands",
        "give the account a shell (on that host: sudo chsh -s /bin/sh USER), or set ssh.user to one that has it; a "
        "forced command (ForceCommand in sshd_config, command= in authorized_keys) runs in place of all others",
    ),
    "opens no session": (
        "this login may not open a session, or not several at once",
        "allow sessions in its sshd_config (MaxSessions 10)",
    ),
    "shows other files": (
        "SFTP shows other folders than commands see, and Benchbook copies files by SFTP",
        "take ChrootDirectory out of its /etc/ssh/sshd_config, or set ssh.user to an account that it is not for",
    ),
    "has no SFTP": (
        "SFTP is switched off on this host, and Benchbook copies files by SFTP",
        "put `Subsystem sftp internal-sftp` into its /etc/ssh/sshd_config, and: sudo systemctl reload ssh",
    ),
    "spoils SFTP": (
        "the login shell prints something, which spoils SFTP",
        "print in interactive shells only (in ~/.bashrc, first: case $- in *i*) ;; *) return ;; esac), "
        "or put `Subsystem sftp internal-sftp` into its sshd_config",
    ),
}


def _check_python(inventory: Inventory, name: str, probe: HostProbe) -> None:
    version = re.fullmatch(r"(\d+)\.(\d+)", probe.python)
    oldest = ".".join(map(str, OLDEST_PYTHON))
    if version is None:
        said, fix = "python3 is missing, which supervises jobs", "on that host: sudo apt-get install python3"
    elif tuple(map(int, version.groups())) < OLDEST_PYTHON:
        said, fix = f"python3 is older than {oldest}", f"install Python {oldest} or newer as python3"
    else:
        return
    raise inventory.unusable(name, said, value=probe.python, fix=fix)


def _no_folder(inventory: Inventory, name: str, probe: HostProbe) -> HostUnusable:
    # The operating system's own words stand last: `mkdir: cannot create directory 'x': Permission denied`.
    said, value = _STEPS[probe.step], f"{probe.root}: {probe.folder.rpartition(': ')[2].strip()}"
    fix = inventory.elsewhere(name, f"a folder that {probe.user} may write to")
    disk = disk_refusal(probe.folder)
    if probe.step == "ours":
        value = probe.root
        fix = inventory.elsewhere(name, "an empty or new folder")
        fix += "; an existing one of Benchbook holds a file .benchbook"
    elif disk:
        full, mended = _DISKS[disk]
        said, fix = f"{said}: its disk is {full}", f"{mended}, or {fix}"
    elif probe.step == "run":
        fix = f"mount it without noexec, or {fix}"
    return inventory.unusable(name, said, key="workdir", value=value, fix=fix)


def kills_at_logout(logind: Mapping[str, str], user: str) -> bool:
    """Is what `user` leaves running ended at logout, as logind says of its own settings?

    Jobs are left behind by a login that ends, so they die then. Lingering does not save them: it keeps the user's own
    service manager, and not the scope of a session. Where logind says nothing, no: so distributions build it.
    """
    only, never = logind.get("KillOnlyUsers", "").split(), logind.get("KillExcludeUsers", "").split()
    return logind.get("KillUserProcesses") == "yes" and user not in never and (not only or user in only)
