"""Changes to files that others see whole or not at all: a file replaced in one step, a folder changed in turns."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchbook.errors import writing


def replace_text(path: Path, text: str) -> Path:
    """Put `text` at `path` in one step, in UTF-8; its folder is made where there is none. Raise NotWritten."""
    return replace_bytes(path, text.encode())


def replace_bytes(path: Path, content: bytes) -> Path:
    """The same with bytes. Who may read the file that is replaced may read the new one, and nobody else.

    A link stays one, and a device or a pipe takes what is written: a file in its place would be no device any more.
    """
    with writing(path):
        file = path.resolve() if path.is_symlink() else path
        # Another process may put its own text there at the same time.
        partial = file.with_name(f".{file.name}.{os.getpid()}.partial")
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists() and not (file.is_file() or file.is_dir()):
            file.write_bytes(content)
            return path
        mode = stat.S_IMODE(file.stat().st_mode) if file.is_file() else None
        try:
            if mode is not None:
                partial.touch(mode=0o600)
            partial.write_bytes(content)
            if mode is not None:
                partial.chmod(mode)
            partial.replace(file)
            return path
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
