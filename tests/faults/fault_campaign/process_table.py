"""Which processes belong to a folder, read from /proc; only the standard library, for the checker of a round."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
# What sshd makes of its own command line while it listens.
_LISTENS = "sshd_config"


@dataclass(frozen=True)
class Running:
    """A process: its number, its parent's, and its command line."""

    pid: int
    parent: int
    words: str

    @property
    def is_host(self) -> bool:
        """An sshd that listens stands for a machine: it is no work that a run left there."""
        return "sshd" in self.words.partition(" ")[0] and _LISTENS in self.words


def of_folder(folder: Path) -> list[Running]:
    """Processes that name `folder` in their command line or environment, or stand in it, with all their children."""
    everyone = {one.pid: (one, mentions) for one, mentions in _scan(folder)}
    own = os.getpid()
    mine = {pid for pid, (_, mentions) in everyone.items() if mentions and pid != own}
    grown = True
    while grown:
        more = {pid for pid, (one, _) in everyone.items() if one.parent in mine and pid != own} - mine
        mine |= more
        grown = bool(more)
    return [everyone[pid][0] for pid in sorted(mine)]


def _scan(folder: Path) -> Iterator[tuple[Running, bool]]:
    inside = f"{folder}/"
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (found := _read(entry, inside)):
            yield found


def _read(entry: Path, inside: str) -> tuple[Running, bool] | None:
    """None for a process that has ended, or that nobody has collected yet."""
    try:
        state, parent = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
        if state in "ZX":
            return None
        words = _text(entry / "cmdline")
        mentions = inside in words or inside in f"{_link(entry / 'cwd')}/" or inside in _text(entry / "environ")
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Running(int(entry.name), int(parent), words), mentions


def _text(path: Path) -> str:
    try:
        return path.read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except PermissionError:
        return ""


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except PermissionError:
        return ""
