"""Where probes are found: installed ones by entry points (`benchbook.probes`), yours in env/probes/NAME.py."""

from __future__ import annotations

import re
from pathlib import Path

from benchbook import paths, plugins
from benchbook.errors import BadInput
from benchbook.probes import libraries, probe_file
from benchbook.probes.probe_file import ProbeFile

GROUP = "probes"
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")
# Further names that stand as the source of a series: load generators' own, that of a trial's processes, of others', and
# of the documents that a server counts.
_SOURCES = "workloads"
PROCESS, OTHERS, DOCUMENTS = "process", "others", "documents"


def own() -> list[str]:
    """The names of the probes in env/probes, sorted; a file whose name begins with `_` is none."""
    return sorted(path.stem for path in _folder().glob("*.py") if not path.name.startswith("_"))


def find(name: str, *, key: str = "probes", file: object = None) -> ProbeFile:
    """The probe of this name, read and checked. Raises BadInput; `file` and `key` are where an unknown one is named."""
    mine = _folder() / f"{name}.py"
    if name in own():
        _check_name(name, mine)
        return _read(mine, name)
    installed = plugins.names(GROUP)
    if name not in installed:
        known = ", ".join(sorted({*installed, *own()}))
        raise BadInput("no such probe", file=file, key=key, value=name, fix=f"use one of {known}, or write {mine}")
    return _read(plugins.module_file(GROUP, name, key=key), name)


def _read(path: Path, name: str) -> ProbeFile:
    found = probe_file.read(path, name)
    for package in found.needs:
        libraries.check(package, path)
    return found


def _folder() -> Path:
    return paths.env_dir() / "probes"


def _check_name(name: str, path: Path) -> None:
    """A name stands for one source in the series of a record."""
    if not _NAME.fullmatch(name):
        raise BadInput(
            "not a name for a probe", file=path, key="name", value=name, fix="use letters, digits and underscores"
        )
    if name in {*plugins.names(GROUP), *plugins.names(_SOURCES), PROCESS, OTHERS, DOCUMENTS}:
        raise BadInput(
            "something that is installed has this name already",
            file=path,
            key="name",
            value=name,
            fix="rename the file",
        )
