"""Where campaigns are imported from, and which of the files there they take along: what a run recorded, and no more."""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from benchbook.campaign.max_rate import FOLDER
from benchbook.errors import BadInput
from benchbook.hosts.host import Host

# Below a checkout: data/runs/REPORT/CAMPAIGN/knee/SEARCH/trials/TRIAL/record.json.
DEEPEST = 9
_RECORDS = "data/runs"
_TRIAL = r"(?:trials|failed|disturbed)/[^/]+(?<!\.partial)/(?:record\.json|series\.parquet|output\.txt)"
# A search for the knee is a campaign in the folder of the one that it belongs to.
_TAKEN = re.compile(rf"(?:{FOLDER}/[0-9a-f]+/)?(?:plan\.json|environment\.json|{_TRIAL})")


@dataclass(frozen=True)
class ForeignCampaign:
    """Files of one campaign; `below` leads from the source's folder to the campaign's, "" where it is that itself."""

    id: str
    below: str
    files: tuple[str, ...]

    @property
    def begun(self) -> bool:
        """Whether anything was measured: a run that is refused by its hosts leaves a plan alone."""
        return any(PurePosixPath(path).name == "record.json" for path in self.files)


def campaigns_in(folder: FolderHere | FolderOnHost) -> tuple[list[ForeignCampaign], list[str]]:
    """Return every campaign in it, oldest first, and the links there. Raise BadInput where there is no campaign."""
    files, links = folder.files_and_links()
    homes = {path.parent for path in map(PurePosixPath, files) if path.name == "plan.json"}
    found = []
    # What a campaign holds in its own folder, a search for the knee, is none of its own.
    for home in (home for home in homes if homes.isdisjoint(home.parents)):
        below = "" if home == PurePosixPath(".") else f"{home}/"
        mine = tuple(path for path in files if path.startswith(below) and _TAKEN.fullmatch(path[len(below) :]))
        found.append(ForeignCampaign(home.name or folder.name, below, mine))
    if not found:
        fix = "name a campaign's folder, data/runs of another checkout, or that checkout itself"
        if links:
            fix = f"name what its links lead to by itself, as links are not followed: {', '.join(links[:3])}"
        raise BadInput("there is no campaign in it", key="import", value=folder.name, fix=fix)
    return sorted(found, key=lambda one: (one.id, one.below)), links


class FolderHere:
    """A folder on this machine; of a checkout, its records. Raise BadInput where it is none.

    `name` is its own; paths are relative to it, with slashes.
    """

    def __init__(self, path: Path) -> None:
        with _reading(path):
            is_there = path.is_dir()
        if not is_there:
            problem, fix = "no such folder", "name a folder, or HOST:PATH with --inventory"
            if path.is_file() and zipfile.is_zipfile(path):
                problem = "a zip file"
                fix = "unpack it into a folder of its own (`unzip FILE -d FOLDER`), and name that"
            elif path.is_file():
                fix = f"{fix}; what a load generator printed: `benchbook import logs`"
            raise BadInput(problem, key="import", value=str(path), fix=fix)
        inner = path / _RECORDS
        self._path = inner if inner.is_dir() else path
        self.name = self._path.resolve().name

    def files_and_links(self) -> tuple[list[str], list[str]]:
        """Return plain files below it, and links: nobody follows these, for they may lead anywhere."""
        with _reading(self._path):
            found = list(_entries(self._path, ""))
        files = [path for path, entry in found if entry.is_file(follow_symlinks=False)]
        return files, [path for path, entry in found if entry.is_symlink()]

    def copy(self, path: str, to: Path) -> None:
        with _reading(self._path / path, writes=to):
            shutil.copyfile(self._path / path, to, follow_symlinks=False)


@contextmanager
def _reading(path: Path, *, writes: Path | None = None) -> Iterator[None]:
    """Raise BadInput for what cannot be read here; what cannot be written to `writes` is another matter."""
    try:
        yield
    except OSError as problem:
        if writes is not None and problem.filename != str(path):
            raise
        where = str(problem.filename or path)
        fix = "correct the path, or give yourself the right to read all of it"
        raise BadInput(f"cannot be read: {problem.strerror}", key="import", value=where, fix=fix) from problem


def _entries(folder: Path, below: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Everything below it but folders, with its path."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda one: one.name):
            path = f"{below}{entry.name}"
            if entry.is_dir(follow_symlinks=False) and path.count("/") < DEEPEST - 1:
                yield from _entries(Path(entry.path), f"{path}/")
            else:
                yield path, entry


class FolderOnHost:
    """The same on a host of an inventory; a relative one begins at the login's home. Raise BadInput, RemoteFailed."""

    def __init__(self, host: Host, path: str) -> None:
        self._host = host
        found = host.run(["readlink", "-e", "--", path.removeprefix("~/") or "."], check=False).stdout.strip()
        if not found or not self._is_folder(found):
            fix = "name a folder on that host"
            raise BadInput("no such folder on the host", key=f"import {host.name}", value=path, fix=fix)
        inner = f"{found}/{_RECORDS}"
        self._path = inner if self._is_folder(inner) else found
        self.name = PurePosixPath(self._path).name

    def _is_folder(self, path: str) -> bool:
        return self._host.run(["test", "-d", path], check=False).exited == 0

    def files_and_links(self) -> tuple[list[str], list[str]]:
        words = ["find", "-P", self._path, "-maxdepth", DEEPEST, "-printf", "%y %P\\n"]
        found = sorted(self._host.run(words, timeout=600).stdout.splitlines())
        files, links = ([line[2:] for line in found if line.startswith(kind)] for kind in ("f ", "l "))
        return files, links

    def copy(self, path: str, to: Path) -> None:
        self._host.get(f"{self._path}/{path}", to)
