"""Pure-Python packages that are sent to hosts along with a probe, each as a zip that python3 imports from."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import zipfile
from functools import cache
from pathlib import Path

from benchbook import paths
from benchbook.errors import BadInput

_COMPILED = (".so", ".pyd")


def check(package: str, asked_by: Path) -> None:
    """Raises BadInput, naming the probe's file, for a package that is not here or not pure Python."""
    folder = _folder(package)
    if folder is None:
        raise BadInput(
            "no such package is installed here",
            file=asked_by,
            key="NEEDS",
            value=package,
            fix="install it beside the kit; it is sent to the hosts from here",
        )
    compiled = next((path.name for path in sorted(folder.rglob("*")) if path.suffix in _COMPILED), None)
    if compiled:
        raise BadInput(
            f"not pure Python ({compiled}): it may not run on the hosts",
            file=asked_by,
            key="NEEDS",
            value=package,
            fix="use a pure-Python package, or a program that the hosts have",
        )


def _folder(package: str) -> Path | None:
    """Where a package (not a module of one file) is installed."""
    spec = importlib.util.find_spec(package) if package.isidentifier() else None
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None


@cache
def zipped(package: str) -> Path:
    """The package as a zip to push; its name carries a hash of what is in it."""
    source = _folder(package)
    if source is None:
        raise BadInput("no such package is installed here", key="NEEDS", value=package, fix="install it")
    files = sorted(source.rglob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:12]
    target = paths.cache_dir() / f"{package}-{digest}.zip"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}")
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files:
                archive.writestr(zipfile.ZipInfo(f"{package}/{path.relative_to(source)}"), path.read_bytes())
        partial.rename(target)
    return target
