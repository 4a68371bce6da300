"""What is written outlasts a loss of power: a rename alone may reach the disk long before what the file holds.

On ext4 and XFS a file that was written, closed and renamed may be there with 0 bytes after the power was lost: data are
written back within 30 s, names within 5 s. See fsync(2), and for folders "Calling fsync() does not necessarily ensure
that the entry in the directory containing the file has also reached disk" there.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

# What file systems say that flush no folders.
_NO_FLUSH = (errno.EBADF, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)


def flush(path: Path) -> None:
    """Have the disk take what stands in a file, or the names in a folder. Raises OSError where it does not."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as problem:
        if not (path.is_dir() and problem.errno in _NO_FLUSH):
            raise
    finally:
        os.close(handle)


def flush_all(folder: Path) -> None:
    """The files in a folder, then their names in it. Raises OSError."""
    for path in (*sorted(folder.iterdir()), folder):
        flush(path)
