"""Changes to files that others see whole or not at all: a file replaced in one step, a folder changed in turns."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchbook.errors import writing


def replace_text(path: Path, text: str) -> Path:
    """Put `text` at `path` in one step, in UTF-8; its folder is made where there is none. Raise NotWritten."""
    return replace_bytes(path, text.encode())


def replace_bytes(path: Path, content: bytes) -> Path:
    """The same with bytes."""
    # Another process may put its own text there at the same time.
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            partial.write_bytes(content)
            return partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


# What file systems say that lock no folders (NFS): there it is as if nobody else came.
_NO_LOCKS = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.EOPNOTSUPP)


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
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
