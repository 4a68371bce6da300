"""A folder of the cache is whole or absent: made beside its place by one process at a time, then renamed into it."""

from __future__ import annotations

import fcntl
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchbook.errors import writing

Say = Callable[[str], None]
# Written last; a folder without it was never whole.
MANIFEST = "build.json"


@contextmanager
def only_one(folder: Path, say: Say) -> Iterator[None]:
    """Of several processes that make something below `folder`, one goes on and the others wait. Raises NotWritten."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another process is building {folder.name}; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def made_whole(folder: Path) -> Iterator[Path]:
    """A scratch folder that becomes `folder` if all goes well, and goes if not. To be used under `only_one`.

    Raises NotWritten for a disk that does not take it.
    """
    with writing(folder):
        for left_by_a_killed_process in folder.parent.glob(f".{folder.name}-*"):
            shutil.rmtree(left_by_a_killed_process)
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
        try:
            yield scratch
            scratch.chmod(0o755)
            scratch.rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
