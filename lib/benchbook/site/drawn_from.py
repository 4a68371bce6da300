"""What a campaign's executed notebook was drawn from: as long as all of it is as it was, it need not be drawn again.

What a notebook reads by itself, outside of the project's folders, is not known here: who has such a one says so
(`benchbook site --anew`).
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import distributions
from importlib.util import find_spec
from pathlib import Path

from benchbook import paths, plugins
from benchbook.campaign.store import Campaign
from benchbook.errors import writing

FILE = "drawn_from.json"
# In a campaign's folder: what a replay makes there, and an index of its records that may be made anew.
_FIGURES, _INDEX = "figures", "trials.sqlite"


def is_as_drawn(report: str, campaign: Campaign) -> bool:
    """Whether its notebook, results and figures are those that were drawn from what is there now."""
    try:
        noted = json.loads((campaign.folder / FILE).read_text())
    except (OSError, ValueError):
        # Never drawn, or not to its end.
        return False
    return bool(noted == _now(report, campaign.folder) and noted["drawn"].keys() >= {paths.EXECUTED, paths.RESULTS})


def note(report: str, campaign: Campaign) -> None:
    """What was drawn just now, and from what. Raises NotWritten."""
    with writing(campaign.folder):
        (campaign.folder / FILE).write_text(json.dumps(_now(report, campaign.folder), indent=1))


def _now(report: str, folder: Path) -> dict[str, object]:
    drawn = [path for path in _files(folder) if _is_drawn(path.relative_to(folder))]
    return {
        "from": _digest([_kit(), *_contents(_read_by(report)), *_sizes(folder)]),
        "drawn": {str(path.relative_to(folder)): _hash(path) for path in drawn},
    }


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
        if not _is_drawn(name) and name.parts[0] != FILE and not name.parts[0].startswith(_INDEX):
            about = path.stat()
            yield f"{name} {about.st_size} {about.st_mtime_ns}"


@cache
def _kit() -> str:
    """The kit itself, Python, all that is installed beside it, and the code of packages that bring parts of it."""
    installed = sorted(f"{each.name} {each.version}" for each in distributions())
    code = (path for package in sorted(plugins.packages()) for root in _roots(package) for path in _files(root))
    return _digest([sys.version, *installed, *_contents(code)])


def _roots(package: str) -> list[Path]:
    found = find_spec(package)
    if found is None:
        return []
    return [Path(each) for each in found.submodule_search_locations or []] or [Path(found.origin or "")]


def _contents(files: Iterable[Path]) -> Iterator[str]:
    return (f"{path} {_hash(path)}" for path in files)


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _files(root: Path) -> list[Path]:
    """All files below a folder, or the file that it is; nothing that Python or an editor keeps beside them."""
    if root.is_file():
        return [root]
    found = (path for path in root.rglob("*") if path.is_file())
    return sorted(p for p in found if "__pycache__" not in p.parts and not p.name.startswith("."))


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
