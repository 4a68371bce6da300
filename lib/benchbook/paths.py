"""Where things stand: your project folder, and below it what comes with an installed Benchbook.

The project folder is, in this order: the one that `BENCHBOOK_HOME` names; the nearest folder, from the current one
upwards, that holds `env/` and `notebooks/` (`benchbook init` lays one down); the checkout that the kit runs from.
A wheel brings reports, inventories, profiles, pins and notebooks of its own: what your folder has goes before them.
"""

from __future__ import annotations

import os
from pathlib import Path

from benchbook.errors import BadInput

HOME = "BENCHBOOK_HOME"
_PACKAGE = Path(__file__).resolve().parent
CHECKOUT = _PACKAGE.parents[1]
# What the wheel carries beside its code; not there in a checkout.
SHARE = _PACKAGE / "share"


def home() -> Path:
    """Return the project folder: env/, data/, notebooks/, .lab/ and site/. Raise BadInput where there is none."""
    named = os.environ.get(HOME)
    if named and not Path(named).is_dir():
        raise BadInput("no such folder", key=HOME, value=named, fix="name a project folder, or unset it")
    if named:
        return Path(named)
    here = Path.cwd()
    for folder in (here, *here.parents):
        if is_project(folder):
            return folder
    if is_project(CHECKOUT):
        return CHECKOUT
    fix = f"lay one down (`benchbook init`), go to yours, or name it in {HOME}"
    raise BadInput("this is no project folder of Benchbook", key="folder", value=str(here), fix=fix)


def is_project(folder: Path) -> bool:
    return (folder / "env").is_dir() and (folder / "notebooks").is_dir()


def find(*parts: str) -> Path:
    """Return a path below the project folder, or below what the wheel brings where the project lacks it."""
    mine = home().joinpath(*parts)
    brought = SHARE.joinpath(*parts)
    return brought if not mine.exists() and brought.exists() else mine


def names(folder: str, pattern: str) -> list[Path]:
    """Return the paths that match a glob below a folder of the project and of the wheel; yours go before its own."""
    found: dict[Path, Path] = {}
    for root in (SHARE / folder, home() / folder):
        found |= {path.relative_to(root): path for path in root.glob(pattern)}
    return [found[name] for name in sorted(found)]


def env_dir() -> Path:
    return home() / "env"


def published_dir(report: str) -> Path:
    return find("data", "published", report)


def runs_dir(report: str) -> Path:
    return home() / "data" / "runs" / report


# In a campaign's folder: its notebook with all that it showed, and its verdicts and tables.
EXECUTED, RESULTS = "executed.ipynb", "results.json"


def notebook(report: str) -> Path:
    return find("notebooks", f"{report}.ipynb")


def site_dir() -> Path:
    return home() / "site"


def public_dir() -> Path:
    """Return the site of measured campaigns, kept in git: the Pages workflow deploys it."""
    return home() / "public"


def lab_dir() -> Path:
    return home() / ".lab"


def cache_dir() -> Path:
    """Built artefacts, by version, outside the work tree: a fresh clone finds what an older one built."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "benchbook"


def resolve(path: str) -> Path:
    """A path of the inventory: `~` is the user's home, a relative one starts at the project folder.

    Raise BadInput for `~NAME` of a user that this machine does not know.
    """
    try:
        expanded = Path(path).expanduser()
    except RuntimeError as problem:
        fix = "write the path in full"
        raise BadInput("whose home that is, is not known here", key="path", value=path, fix=fix) from problem
    return expanded if expanded.is_absolute() else home() / expanded
