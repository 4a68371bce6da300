"""Reads a file that a user gives. A folder, a FIFO, a loop of links, 100 MB, Latin-1: each is told, none hangs."""

from __future__ import annotations

import os
from pathlib import Path

from benchbook.errors import BadInput

# The largest file of the kit's own has 40 kB.
MOST_BYTES = 1_000_000
_WHOLE = "the file"


def content(path: Path, *, most: int = MOST_BYTES, key: str = _WHOLE) -> bytes:
    """Return the bytes of a plain file of at most `most` bytes. Raise BadInput, with `key`, for anything else."""
    try:
        size = path.stat().st_size
        # To open a FIFO waits until somebody writes into it.
        if not path.is_file():
            raise BadInput("is not a plain file", file=path, key=key, fix="name a plain file, or put one there")
        with path.open("rb") as source:
            # By what comes and not by what was announced: files in /proc announce nothing.
            found = source.read(most + 1)
    except (OSError, ValueError) as problem:
        raise _unreadable(path, problem, key) from problem
    if len(found) > most:
        said, fix = f"{max(size, len(found)) / 1e6:.1f} MB", f"give a file of at most {most / 1e6:g} MB"
        raise BadInput("is too large for what it is", file=path, key=key, value=said, fix=fix)
    return found


def text(path: Path, *, most: int = MOST_BYTES, key: str = _WHOLE) -> str:
    """Return the text of a plain file in UTF-8, without its byte order mark. Raise BadInput as `content` does."""
    raw = content(path, most=most, key=key)
    end = raw.find(b"\0")
    try:
        found = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        end = problem.start
    if end >= 0:
        line, byte = raw.count(b"\n", 0, end) + 1, f"byte 0x{raw[end]:02x}"
        raise BadInput("is not UTF-8 text", file=path, key=f"line {line}", value=byte, fix="save it as UTF-8")
    return found


def is_there(path: Path) -> bool:
    """Return whether something has this name, a broken link too: what it is, is said when it is read."""
    return os.path.lexists(path)


def _unreadable(path: Path, problem: OSError | ValueError, key: str) -> BadInput:
    if isinstance(problem, FileNotFoundError | NotADirectoryError):
        said, fix = "does not exist", "restore it, or correct the path"
    elif isinstance(problem, PermissionError):
        said, fix = "may not be read", "give yourself the right to read it (chmod u+r)"
    else:
        said, fix = f"cannot be read: {getattr(problem, 'strerror', None) or problem}", "correct the path"
    return BadInput(said, file=path, key=key, value=str(path), fix=fix)
