"""Hashes of files on this machine: what is on a host already is not sent again."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path


def file_hash(path: Path) -> str:
    """SHA-256 of a file, computed once as long as it does not change."""
    about = path.stat()
    return _file_hash(path, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=256)
def _file_hash(path: Path, changed: int, size: int) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()
