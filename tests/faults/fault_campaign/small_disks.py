"""Small file systems of a round's own, to be filled or made read-only while the run writes there. Needs root."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchbook.errors import BenchbookError
from fault_campaign.catalogue import DISK_FULL, DISKS, INODES_FULL, READ_ONLY
from fault_campaign.home import CLIENT, SERVER, RoundHome

# Files beside the few hundred that a run makes there.
_INODES = 4000
# A MariaDB keeps two copies of its data there, each with a log of 256 MiB.
_BYTES = {DISKS[0]: 200 << 20, DISKS[1]: 200 << 20, DISKS[2]: 1200 << 20}
_FILLER = ".filler"


def why_not() -> str:
    """Why this process can make no file system of its own; "" where it can."""
    with tempfile.TemporaryDirectory(prefix="benchbook-disk-") as folder:
        path = Path(folder)
        try:
            mount(path, 1 << 20)
        except BenchbookError as problem:
            return str(problem)
        unmount(path)
    return ""


def place(home: RoundHome, disk: str) -> Path:
    """The folder that stands on this disk."""
    return {DISKS[0]: home.runs, DISKS[1]: home.work(CLIENT), DISKS[2]: home.work(SERVER)}[disk]


def make(home: RoundHome, disk: str) -> Path:
    """Put a small file system where this disk is; returns its folder."""
    folder = place(home, disk)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    mount(folder, _BYTES[disk])
    if disk != DISKS[0]:
        # As a run before left it: what fills the disk would else make the folder somebody else's.
        (folder / ".benchbook").touch()
    return folder


def mount(folder: Path, size: int) -> None:
    _run("mount", "-t", "tmpfs", "-o", f"size={size},nr_inodes={_INODES},mode=700", "benchbook", str(folder))


def unmount(folder: Path) -> None:
    """Whatever is mounted there goes, even while something still has a file of it open."""
    while os.path.ismount(folder):
        _run("umount", "-l", str(folder))


def spoil(kind: str, folder: Path) -> Callable[[], None]:
    """Make the disk unusable in this way; returns what makes it usable again."""
    return {DISK_FULL: _fill, INODES_FULL: _use_up, READ_ONLY: _write_protect}[kind](folder)


def _fill(folder: Path) -> Callable[[], None]:
    filler = folder / _FILLER
    with filler.open("wb") as out:
        size, step = 0, 64 << 20
        while step >= 4096:
            try:
                os.posix_fallocate(out.fileno(), size, step)
                size += step
            except OSError:
                step //= 2
    return filler.unlink


def _use_up(folder: Path) -> Callable[[], None]:
    filler = folder / _FILLER
    filler.mkdir()
    for number in range(_INODES):
        try:
            (filler / str(number)).touch()
        except OSError:
            break
    return lambda: shutil.rmtree(filler)


def _write_protect(folder: Path) -> Callable[[], None]:
    """A read-only view of the folder, put over it: what is open stays so, as the kernel refuses to take it away."""
    with tempfile.TemporaryDirectory(prefix="benchbook-disk-") as aside:
        # Made aside, where nobody opens a file of it for writing before it is read-only.
        _run("mount", "--bind", str(folder), aside)
        try:
            _run("mount", "-o", "remount,bind,ro", aside)
            _run("mount", "--bind", aside, str(folder))
        finally:
            _run("umount", "-l", aside)
    return lambda: _run("umount", "-l", str(folder))


def _run(*words: str) -> None:
    try:
        subprocess.run(words, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        said = getattr(problem, "stderr", None) or str(problem)
        raise BenchbookError(f"`{' '.join(words)}` failed: {said.strip()}") from problem
