"""Temporary folders of a run, locked while it goes on: what a killed run left is found, and no other's."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# A folder that is not locked yet; it is within this time (s), even by a process that waits for a CPU.
_NEW, _LOCKED_WITHIN_S = "benchbook-new-", 60.0


@contextmanager
def locked_folder() -> Iterator[Path]:
    """Yield a temporary folder, locked while we run; another container does not see our process, but sees the lock.

    It is given the name that `left_by_killed_runs` looks for once it is locked.
    """
    folder = Path(tempfile.mkdtemp(prefix=_NEW))
    held = os.open(folder, os.O_RDONLY)
    try:
        # Where a file system has no locks nobody else gets one either, and the folder stays.
        with suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_SH)
        folder = folder.rename(folder.with_name(folder.name.replace(_NEW, f"benchbook-{os.getpid()}-", 1)))
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def keep(folder: Path) -> Path:
    """Return where a locked folder stays when its run ends: no later run removes it."""
    return folder.rename(folder.with_name(folder.name.replace("benchbook-", "benchbook-kept-", 1)))


def folder_like() -> str:
    """Return a path as long as that of every folder that this process locks."""
    return f"{tempfile.gettempdir()}/benchbook-{os.getpid()}-12345678"


def is_in_use(folder: Path) -> bool:
    """Return whether a run may be at work in it: one holds its lock, or is about to take it, or nobody can tell."""
    try:
        held = os.open(folder, os.O_RDONLY)
    except OSError:
        return True
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return folder.name.startswith(_NEW) and time.time() - os.fstat(held).st_mtime < _LOCKED_WITHIN_S
    except OSError:
        return True
    finally:
        os.close(held)


def left_by_killed_runs() -> list[Path]:
    """Return the temporary folders that killed runs of this user left. A folder that a run kept and named is none."""
    found = []
    for folder in Path(tempfile.gettempdir()).glob("benchbook-*-*"):
        with suppress(FileNotFoundError):
            own = folder.lstat().st_uid == os.geteuid() and folder.is_dir() and not folder.is_symlink()
            if own and re.match(r"benchbook-(\d+|new)-", folder.name) and not is_in_use(folder):
                found.append(folder)
    return found
