"""Reads a file that a user gives. A folder, a FIFO, a loop of links, 100 MB, Latin-1: each is told, none hangs."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from benchbook.errors import BadInput

# The largest file of the kit's own has 40 kB.
MOST_BYTES = 1_000_000
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_REFUSED = {
    errno.ENOENT: ("does not exist", "restore it, or correct the path"),
    errno.ENOTDIR: ("does not exist", "restore it, or correct the path"),
    errno.ELOOP: ("is a loop of symbolic links", "put the file itself there"),
    errno.EACCES: ("may not be read", "give yourself the right to read it (chmod u+r)"),
    errno.ENAMETOOLONG: ("has a name that is too long", "give a shorter path"),
    errno.ENXIO: ("is not a plain file", "name a plain file, or put one there"),
}
_WHOLE = "the file"


def content(path: Path, *, most: int = MOST_BYTES, key: str = _WHOLE) -> bytes:
    """Return the bytes of a plain file of at most `most` bytes. Raise BadInput, with `key`, for anything else."""
    try:
        # Without waiting: to open a FIFO for reading would last until somebody writes into it.
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as problem:
        raise _unreadable(path, problem, key) from problem
    try:
        about = os.fstat(opened)
        if not stat.S_ISREG(about.st_mode):
            kind = _KINDS.get(stat.S_IFMT(about.st_mode), "something else")
            raise BadInput(
                f"is {kind}, and not a plain file", file=path, key=key, fix="name a plain file, or put one there"
            )
        with os.fdopen(opened, "rb", closefd=False) as source:
            # By what comes and not by what was announced: files in /proc announce nothing.
            found = source.read(most + 1)
    except OSError as problem:
        raise _unreadable(path, problem, key) from problem
    finally:
        os.close(opened)
    if len(found) > most:
        size, fix = max(about.st_size, len(found)) / 1e6, f"give a file of at most {most / 1e6:g} MB"
        raise BadInput("is too large for what it is", file=path, key=key, value=f"{size:.1f} MB", fix=fix)
    return found


def text(path: Path, *, most: int = MOST_BYTES, key: str = _WHOLE) -> str:
    """Return the text of a plain file in UTF-8, without its byte order mark. Raise BadInput as `content` does."""
    raw = content(path, most=most, key=key)
    fix = "save it as UTF-8"
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadInput("is not UTF-8 text", file=path, key=key, value="UTF-16", fix=fix)
    try:
        found = raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line, byte = raw.count(b"\n", 0, problem.start) + 1, f"byte 0x{raw[problem.start]:02x}"
        raise BadInput("is not UTF-8 text", file=path, key=f"line {line}", value=byte, fix=fix) from None
    if "\0" in found:
        line = found.count("\n", 0, found.index("\0")) + 1
        raise BadInput("is not UTF-8 text", file=path, key=f"line {line}", value="a NUL byte", fix=fix)
    return found


def is_there(path: Path) -> bool:
    """Return whether something has this name, a broken link too: what it is, is said when it is read."""
    try:
        os.lstat(path)
    except (OSError, ValueError):
        return False
    return True


def _unreadable(path: Path, problem: OSError | ValueError, key: str) -> BadInput:
    code = problem.errno if isinstance(problem, OSError) else None
    what = problem.strerror if isinstance(problem, OSError) else str(problem)
    said, fix = _REFUSED.get(code or 0, (f"cannot be read: {what}", "correct the path"))
    return BadInput(said, file=path, key=key, value=str(path), fix=fix)
