"""Where things stand in a checkout. `BENCHBOOK_HOME` points to another one (tests use this)."""

from __future__ import annotations

import os
from pathlib import Path

from benchbook.errors import BadInput

HOME = "BENCHBOOK_HOME"


def home() -> Path:
    """The project folder: holds env/, data/, notebooks/, .lab/ and site/."""
    return Path(os.environ.get(HOME) or Path(__file__).resolve().parents[2])


def env_dir() -> Path:
    return home() / "env"


def published_dir(report: str) -> Path:
    return home() / "data" / "published" / report


def runs_dir(report: str) -> Path:
    return home() / "data" / "runs" / report


# In a campaign's folder: its notebook with all that it showed, and its verdicts and tables.
EXECUTED, RESULTS = "executed.ipynb", "results.json"


def notebook(report: str) -> Path:
    return home() / "notebooks" / f"{report}.ipynb"


def site_dir() -> Path:
    return home() / "site"


def public_dir() -> Path:
    """The site of measured campaigns, kept in git: the Pages workflow deploys it."""
    return home() / "public"


def lab_dir() -> Path:
    return home() / ".lab"


def cache_dir() -> Path:
    """Built artefacts, by version, outside the work tree: a fresh clone finds what an older one built."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "benchbook"


def resolve(path: str) -> Path:
    """A path of the inventory: `~` is the user's home, a relative one starts at the project folder.

    Raises BadInput for `~NAME` of a user that this machine does not know.
    """
    try:
        expanded = Path(path).expanduser()
    except RuntimeError as problem:
        fix = "write the path in full"
        raise BadInput("whose home that is, is not known here", key="path", value=path, fix=fix) from problem
    return expanded if expanded.is_absolute() else home() / expanded
