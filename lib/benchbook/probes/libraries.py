"""What a probe imports and is sent to hosts along with it, each as a zip that python3 imports from.

A pure-Python package that is installed here, or a module beside the probe.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
import zipfile
from functools import lru_cache
from pathlib import Path

from benchbook import paths
from benchbook.errors import BadInput, writing

_COMPILED = (".so", ".pyd")


def check(name: str, asked_by: Path) -> None:
    """Raises BadInput, naming the probe's file, for what is not here or not pure Python."""
    files = _files(name, asked_by)
    if files is None:
        raise BadInput(
            "no such package is installed here",
            file=asked_by,
            key="NEEDS",
            value=name,
            fix="install it beside the kit; it is sent to the hosts from here.",
        )
    compiled = next((path.name for path in files.values() if path.suffix in _COMPILED), None)
    if compiled:
        raise BadInput(
            f"not pure Python ({compiled}): it may not run on the hosts",
            file=asked_by,
            key="NEEDS",
            value=name,
            fix="use a pure-Python package, or a program that the hosts have",
        )


def _files(name: str, asked_by: Path) -> dict[str, Path] | None:
    """Every file of a module beside the probe, or of an installed package or module, by its path as it is imported."""
    if not name.isidentifier():
        return None
    module = asked_by.parent / f"{name}.py"
    if module.is_file():
        return {module.name: module}
    spec = importlib.util.find_spec(name)
    places = list(spec.submodule_search_locations or ()) if spec else []
    if places:
        return {f"{name}/{path.relative_to(places[0])}": path for path in sorted(Path(places[0]).rglob("*"))}
    # A package of one module (six): its file is all of it. What is built into Python has none.
    alone = Path(spec.origin) if spec and spec.has_location and spec.origin else None
    return {alone.name: alone} if alone else None


def zipped(name: str, asked_by: Path) -> Path:
    """The module or package as a zip to push; its name carries a hash of what is in it. Raises NotWritten.

    Made once as long as no file of it changes: every trial asks for it, and an author changes her helpers.
    """
    files = _files(name, asked_by)
    if files is None:
        raise BadInput("no such package is installed here", file=asked_by, key="NEEDS", value=name, fix="install it")
    sources = [(place, path) for place, path in files.items() if path.suffix == ".py"]
    return _zipped(name, tuple((place, path, path.stat().st_mtime_ns) for place, path in sources))


@lru_cache(maxsize=64)
def _zipped(name: str, files: tuple[tuple[str, Path, int], ...]) -> Path:
    sources = {place: path.read_bytes() for place, path, _ in files}
    inside = [part for place, source in sources.items() for part in (place.encode(), source)]
    digest = hashlib.sha256(b"\0".join(inside)).hexdigest()[:12]
    target = paths.cache_dir() / f"{name}-{digest}.zip"
    if not target.exists():
        # Probes of several hosts start side by side, each on a thread.
        partial = target.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
        with writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
                for place, source in sources.items():
                    archive.writestr(zipfile.ZipInfo(place), source)
            partial.rename(target)
    return target
