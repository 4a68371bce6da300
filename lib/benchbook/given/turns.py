"""Of several processes of this machine that change what is in a folder, one at a time."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What file systems say that lock no folders (NFS): there it is as if nobody else came.
_NO_LOCKS = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP)


@contextmanager
def own_turn(folder: Path) -> Iterator[None]:
    """Alone in a folder that is there, once all who came before have left; a process that ends leaves, too.

    The folder itself is locked: no file is left in it.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as problem:
            if problem.errno not in _NO_LOCKS:
                raise
        yield
    finally:
        os.close(handle)
