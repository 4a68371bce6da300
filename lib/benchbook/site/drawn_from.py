"""What a campaign's executed notebook was drawn from: as long as all of it is as it was, it need not be drawn again.

What a notebook reads by itself, outside of the project's folders, is not known here: who has such a one says so
(`benchbook site --anew`).
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import distributions
from pathlib import Path

from benchbook import paths, plugins
from benchbook.campaign.record import half_written
from benchbook.campaign.store import Campaign
from benchbook.given.whole_file import replace_text

FILE = "drawn_from.json"
# In a campaign's folder: what a replay makes there.
_FIGURES = "figures"


def sources(report: str, campaign: Campaign) -> str:
    """What a replay of this campaign would draw from now, as a digest."""
    return _digest([_kit(), *_contents(_read_by(report)), *_sizes(campaign.folder)])


def warm_up() -> None:
    """Look once through what is installed, for all copies of this process that ask for `sources`."""
    _kit()


def is_as_drawn(campaign: Campaign, drawn_of: str) -> bool:
    """Whether its notebook, results and figures are those that were drawn from these `sources`."""
    try:
        noted = json.loads((campaign.folder / FILE).read_text())
    except (OSError, ValueError):
        # Never drawn, or not to its end.
        return False
    return bool(noted == _noted(campaign, drawn_of) and noted["drawn"].keys() >= {paths.EXECUTED, paths.RESULTS})


def note(campaign: Campaign, drawn_of: str) -> None:
    """What was drawn just now, from the `sources` as they were before it: they may have changed. Raises NotWritten."""
    replace_text(campaign.folder / FILE, json.dumps(_noted(campaign, drawn_of), indent=1))


def _noted(campaign: Campaign, drawn_of: str) -> dict[str, object]:
    names = {path: path.relative_to(campaign.folder) for path in _files(campaign.folder)}
    return {"from": drawn_of, "drawn": {str(name): _hash(path) for path, name in names.items() if _is_drawn(name)}}


def _is_drawn(path: Path) -> bool:
    return path.parts[0] in (paths.EXECUTED, paths.RESULTS, _FIGURES)


def _read_by(report: str) -> Iterator[Path]:
    """What a replay reads of the project's own folders; settings of all hosts and profiles among them."""
    yield paths.notebook(report)
    yield from _files(paths.published_dir(report))
    yield from _files(paths.env_dir())


def _sizes(folder: Path) -> Iterator[str]:
    """Of every file of the records, which are never changed in place."""
    for path in _files(folder):
        name = path.relative_to(folder)
        # An index of records may be made anew at any time.
        if not _is_drawn(name) and name.name != FILE and ".sqlite" not in name.name:
            about = path.stat()
            yield f"{name} {about.st_size} {about.st_mtime_ns}"


@cache
def _kit() -> str:
    """The kit itself, Python, all that is installed beside it, and the code of packages that bring parts of it."""
    # Whoever asks a distribution for its name, and then for its version, has its metadata read twice.
    installed = sorted(f"{about['Name']} {about['Version']}" for about in (each.metadata for each in distributions()))
    code = (path for roots in plugins.packages().values() for root in roots for path in _files(root))
    return _digest([sys.version, *installed, *_contents(code)])


def _contents(files: Iterable[Path]) -> Iterator[str]:
    return (f"{path} {_hash(path)}" for path in files)


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _files(root: Path) -> list[Path]:
    """All files below a folder, or the file that it is.

    Nothing that Python or an editor keeps beside them, and nothing that is half written: a run may go on meanwhile.
    """
    if root.is_file():
        return [root]
    found: list[Path] = []
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if name != "__pycache__" and not half_written(name)]
        found += [Path(folder, name) for name in names if not name.startswith(".") and not half_written(name)]
    return sorted(path for path in found if path.is_file())


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
