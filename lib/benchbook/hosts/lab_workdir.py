"""The folder that a lab's host works in, where its inventory names one: nobody else can put another in its place.

Root makes it and hands it to the account, and every login runs programs in it. Whoever may rename a folder on the way
to it, or has put a link there, could lead both to a folder of their choice at any moment after it was looked at.
"""

from __future__ import annotations

import errno
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from benchbook.errors import BadInput
from benchbook.hosts.inventory import Inventory

# Links in a circle never end: Linux follows this many (path_resolution(7)).
_MOST_LINKS = 40


def check_paths(inventory: Inventory, login: pwd.struct_passwd) -> None:
    """Raise BadInput for a host's folder that users other than root and the `login` could replace."""
    for name, host in inventory.hosts.items():
        if not host.workdir:
            # It lies in the project, whose owner has its notebooks run.
            continue
        work = Path(login.pw_dir, inventory.workdir(name))
        why = ""
        with suppress(OSError):
            why = _changed_by_others(work, login)
        if why:
            raise BadInput(
                "another user of this machine could put a folder of theirs in the place of this one",
                file=inventory.file,
                key=f"hosts.{name}.workdir",
                value=f"{work}: {why}",
                fix="name one whose parents are root's or the login's, and not for others to write, as /srv/benchbook",
            )


def is_only_roots(folder: Path, *, is_parent: bool) -> bool:
    """Return whether the folder exists, and root alone could replace it or any folder or link on its path.

    Others may write to one that `is_parent` where it is sticky, as /tmp is: only its owner can replace what is in it.
    """
    try:
        return not _changed_by_others(folder, pwd.getpwuid(0), is_parent=is_parent)
    except OSError:
        return False


def _changed_by_others(folder: Path, login: pwd.struct_passwd, *, is_parent: bool = False) -> str:
    """Return which step of a folder's path users other than root and the `login` may change; "" for none.

    Raise OSError for a step that does not exist, where those before it are theirs.
    """
    # In a user namespace the machine's own folders belong to the owner of `/`, who is not root there.
    top = Path("/").stat()
    trusted, groups = {0, login.pw_uid, top.st_uid}, {0, login.pw_gid, top.st_gid}
    shared = ""
    for step, found in _steps(folder):
        if found.st_uid not in trusted:
            return f"{step} belongs to user {found.st_uid}"
        for_others = found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and found.st_gid not in groups)
        shared = f"others may write to {step}" if for_others and not stat.S_ISLNK(found.st_mode) else ""
        if shared and not found.st_mode & stat.S_ISVTX:
            return shared
    return "" if is_parent else shared


def _steps(path: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield each folder and link that leads to `path`, and what it leads to. Raise OSError for what is not there."""
    at, left, links = Path("/"), list(path.parts[1:]), 0
    yield at, at.lstat()
    while left:
        step = at / left.pop(0)
        found = step.lstat()
        yield step, found
        if not stat.S_ISLNK(found.st_mode):
            at = step
            continue
        links, target = links + 1, step.readlink()
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        at, parts = (Path("/"), target.parts[1:]) if target.is_absolute() else (at, target.parts)
        left = [*parts, *left]
