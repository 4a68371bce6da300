"""A probe's one file: where it is found, what it says of itself, and what is sent to hosts along with it.

    METRICS = {"used_memory": ("level", "B"), "commands": ("counter", "1/s"), "cpu.*": ("counter", "cores")}
    NEEDS = ["pymysql"]                        # if it imports pure-Python packages that hosts lack

    def sample(address, port): ...             # -> {metric: number}

Installed ones are entry points (`benchbook.probes`), yours stand in env/probes/NAME.py. What a file says is asked of it
by the program that runs it on hosts (remote/run_probe.py --describe), in a process of its own.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from benchbook import paths, plugins
from benchbook.errors import BadInput, writing
from benchbook.hosts.agent import remote_program
from benchbook.probes.samples import Metric
from benchbook.user_input import user_file

GROUP = "probes"
# Further names that stand as the source of a series, beside load generators' own: of a trial's processes, of others',
# and of the documents that a server counts.
PROCESS, OTHERS, DOCUMENTS = "process", "others", "documents"
# What `sample` is given of the server that it watches, by the names of its parameters. `tls` is False for one that is
# spoken to in the open, else the certificates of who may vouch for it, "" for those that the machine trusts.
SERVER = ("address", "port", "user", "password", "tls")
# What it is given of the machine that it runs on: the addresses by which others know that.
MACHINE = ("reached_at",)
_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")
_EXAMPLE = 'METRICS = {"used_memory": ("level", "B"), "commands": ("counter", "1/s")}'
# Seconds that a file may take to be loaded.
_LOADED_WITHIN_S = 60.0


@dataclass(frozen=True)
class ProbeFile:
    """What a probe says of itself.

    `metrics` says what each number is, where a name that ends in `*` stands for all that begin like it; `takes` are the
    parameters that its `sample` is called with; `needs` the packages that are sent along.
    """

    name: str
    path: Path
    metrics: Mapping[str, Metric]
    takes: tuple[str, ...]
    needs: tuple[str, ...]

    @property
    def of_server(self) -> bool:
        """Whether it watches a server. One that is given nothing of a server watches the machine."""
        return not set(SERVER).isdisjoint(self.takes)


# -- where it is ----------------------------------------------------------------------------------------------------


def own() -> list[str]:
    """Return the names of the probes in env/probes, sorted; a file whose name begins with `_` is none."""
    return sorted(path.stem for path in _folder().glob("*.py") if not path.name.startswith("_"))


def find(name: str, *, key: str = "probes", file: object = None) -> ProbeFile:
    """Return the probe of this name. Raise BadInput; `file` and `key` are where an unknown one is named."""
    mine = _folder() / f"{name}.py"
    if name in own():
        _check_name(name, mine)
        return read(mine, name)
    installed = plugins.names(GROUP)
    if name not in installed:
        known = ", ".join(sorted({*installed, *own()}))
        raise BadInput("no such probe", file=file, key=key, value=name, fix=f"use one of {known}, or write {mine}")
    return read(plugins.module_file(GROUP, name, key=key), name)


def _folder() -> Path:
    return paths.env_dir() / "probes"


def _check_name(name: str, path: Path) -> None:
    """A name stands for one source in the series of a record."""
    if not _NAME.fullmatch(name):
        raise BadInput(
            "not a name for a probe", file=path, key="name", value=name, fix="use letters, digits and underscores"
        )
    if name in {*plugins.names(GROUP), *plugins.names("workloads"), PROCESS, OTHERS, DOCUMENTS}:
        fix = "rename the file"
        raise BadInput("something that is installed has this name already", file=path, key="name", value=name, fix=fix)


# -- what it says ---------------------------------------------------------------------------------------------------


def read(path: Path, name: str, gives: Sequence[str] = (*SERVER, *MACHINE)) -> ProbeFile:
    """Return the probe in this file; `gives` are the parameters that it may ask for. Raise BadInput for what is wrong.

    A file is asked once as long as it does not change: every trial wants its probes.
    """
    user_file.content(path)  # raises BadInput where it cannot be read
    about = path.stat()
    said = json.loads(_described(path, about.st_mtime_ns, about.st_size))
    if "error" in said:
        fix = "mend it at this place; what only hosts have is imported in `sample`"
        raise BadInput("cannot be loaded", file=path, key=said["place"], value=said["error"], fix=fix)
    found = ProbeFile(
        name, path, _metrics(said["metrics"], path), _takes(said["takes"], path, gives), _needs(said, path)
    )
    for package in found.needs:
        _check_library(package, path)
    return found


@lru_cache(maxsize=64)
def _described(path: Path, changed_ns: int, size: int) -> str:
    """Return what the file says of itself, as JSON: of this state of it, known by when it was changed."""
    asked = [sys.executable, str(remote_program("probes", "run_probe.py")), "--describe", str(path)]
    try:
        done = subprocess.run(
            asked, capture_output=True, text=True, timeout=_LOADED_WITHIN_S, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as problem:
        fix = "have it wait for nothing but in `sample`"
        raise BadInput(f"is not loaded within {_LOADED_WITHIN_S:g} s", file=path, fix=fix) from problem
    lines = done.stdout.splitlines()
    if done.returncode != 0 or not lines:
        ending = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise BadInput(
            "Python cannot load the file",
            file=path,
            value=ending,
            fix="mend what fails there; only `sample` may exit",
        )
    # Before it stands what the file itself prints.
    return lines[-1]


def _metrics(said: Any, path: Path) -> dict[str, Metric]:
    """`said` is a list of (name, what the file says of it), or what stands in place of a dict."""
    if said is None:
        raise BadInput("the probe declares no metrics", file=path, key="METRICS", fix=f"add {_EXAMPLE}")
    if not isinstance(said, list) or not said:
        value = said if isinstance(said, str) else {}
        raise BadInput("not a dict of metrics", file=path, key="METRICS", value=value, fix=f"write it like {_EXAMPLE}")
    return {str(name): _metric(path, name, value) for name, value in said}


def _metric(path: Path, name: object, said: object) -> Metric:
    match said:
        case ["level" | "counter" as kind, str(unit)] if unit and isinstance(name, str):
            return Metric(unit, kind == "counter")
    raise BadInput(
        "not a kind and a unit",
        file=path,
        key=f"METRICS.{name}",
        value=tuple(said) if isinstance(said, list) else said,
        fix='write ("level", unit), or ("counter", unit of its rate per second)',
    )


def _takes(said: Mapping[str, bool] | None, path: Path, gives: Sequence[str]) -> tuple[str, ...]:
    """`said`: the parameters of `sample`, and whether each has a default; one that has may be any."""
    if said is None:
        raise BadInput(
            "has no function that samples",
            file=path,
            key="sample",
            fix="add `def sample():` that returns {metric: number}; "
            f"of a server it may ask for {', '.join(gives)}, by these names",
        )
    for name, optional in said.items():
        if name not in gives and not optional:
            fix = f"ask for some of {', '.join(gives)}, or give it a default"
            raise BadInput("sample asks for what nobody gives it", file=path, key="sample", value=name, fix=fix)
    return tuple(name for name in said if name in gives)


def _needs(said: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    needs = said["needs"]
    if not isinstance(needs, list) or not all(isinstance(name, str) for name in needs):
        fix = 'name packages, like NEEDS = ["pymysql"]'
        raise BadInput("not a list of packages", file=path, key="NEEDS", value=needs, fix=fix)
    return tuple(needs)


# -- what is sent along ---------------------------------------------------------------------------------------------


def zipped(name: str, probe: Path) -> Path:
    """Return a zip that python3 imports from: of a pure-Python package that is installed here, or a module beside it.

    Its name carries a hash of what is in it: an author changes her helpers. Raise NotWritten.
    """
    files = _check_library(name, probe)
    sources = {place: path.read_bytes() for place, path in files.items() if path.suffix == ".py"}
    inside = [part for place, source in sources.items() for part in (place.encode(), source)]
    target = paths.cache_dir() / f"{name}-{hashlib.sha256(bytes(1).join(inside)).hexdigest()[:12]}.zip"
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


def _check_library(name: str, probe: Path) -> dict[str, Path]:
    """Return every file of the module or package, by its path as it is imported.

    Raise BadInput, naming the probe's file, for what is not here or not pure Python.
    """
    files = _library(name, probe)
    compiled = next((path.name for path in files.values() if path.suffix in (".so", ".pyd")), None)
    if not files or compiled:
        raise BadInput(
            f"not pure Python ({compiled}): it may not run on the hosts"
            if files
            else "no such package is installed here",
            file=probe,
            key="NEEDS",
            value=name,
            fix="use a pure-Python package, or a program that the hosts have"
            if files
            else "install it beside the kit; it is sent to the hosts from here.",
        )
    return files


def _library(name: str, probe: Path) -> dict[str, Path]:
    if not name.isidentifier():
        return {}
    module = probe.parent / f"{name}.py"
    if module.is_file():
        return {module.name: module}
    spec = importlib.util.find_spec(name)
    if spec and spec.submodule_search_locations:
        (root, *_) = spec.submodule_search_locations
        return {f"{name}/{path.relative_to(root)}": path for path in sorted(Path(root).rglob("*"))}
    # A package of one module (six): its file is all of it. What is built into Python has none.
    alone = Path(spec.origin) if spec and spec.has_location and spec.origin else None
    return {alone.name: alone} if alone else {}
