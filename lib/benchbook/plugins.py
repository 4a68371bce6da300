"""Finds what the kit is made of by entry points, its own parts and those of installed packages alike.

    benchbook.systems      name -> class of benchbook.systems.base.System, or of another systems.server.Service
    benchbook.workloads    name -> class of benchbook.workloads.base.LoadGenerator
    benchbook.probes       name -> module of plain Python that is sent to hosts (benchbook.probes.probe_file)
    benchbook.kinds        name -> class of benchbook.reports.kind.Kind
    benchbook.hypotheses   name -> class of benchbook.claims.hypothesis.Hypothesis

A part is loaded when it is asked for by name: what nobody uses costs no start-up time.
"""

from __future__ import annotations

import importlib.util
import sysconfig
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from benchbook.errors import BadInput

KIT = "benchbook"
_PYTHON, _LIBRARIES = sysconfig.get_path("stdlib"), {"site-packages", "dist-packages"}
GROUPS = ("systems", "workloads", "probes", "kinds", "hypotheses")
# What a part of a group derives from, and what its class must give a value; the last is what most parts are made of.
_PARTS: dict[str, dict[str, tuple[str, ...]]] = {
    "systems": {"benchbook.systems.server.Service": ("name",), "benchbook.systems.base.System": ("protocol",)},
    "workloads": {"benchbook.workloads.base.LoadGenerator": ("name", "program", "protocols", "Size")},
    "kinds": {"benchbook.reports.kind.Kind": ("Parameters",)},
    "hypotheses": {"benchbook.claims.hypothesis.Hypothesis": ()},
}


@cache
def _points(group: str) -> dict[str, EntryPoint]:
    points = list(entry_points(group=f"benchbook.{group}"))
    twice = [name for name, count in Counter(point.name for point in points).items() if count > 1]
    if twice:
        givers = sorted(point.value for point in points if point.name == twice[0])
        fix = "uninstall one of them, or have its author rename it"
        raise BadInput(f"two packages give a part of benchbook.{group} this name", key=twice[0], value=givers, fix=fix)
    return {point.name: point for point in sorted(points, key=lambda point: point.name)}


@cache
def packages() -> dict[str, list[Path]]:
    """Return the packages that any part comes from, the kit's own among them, by name: where their code is."""
    points = (point for group in GROUPS for point in entry_points(group=f"benchbook.{group}"))
    return {name: _roots(name) for name in sorted({point.module.partition(".")[0] for point in points})}


def _roots(package: str) -> list[Path]:
    found = importlib.util.find_spec(package)
    if found is None:
        return []
    return [Path(each) for each in found.submodule_search_locations or []] or [Path(found.origin or "")]


def names(group: str) -> list[str]:
    """Return the names of all parts of a group, sorted. Raise BadInput where two packages give the same one."""
    return list(_points(group))


def find(group: str, name: str, *, key: str) -> Any | None:
    """Return the part of this name, None where nobody gives one. Raise BadInput for one that cannot be imported."""
    return load(group, name, key=key) if name in _points(group) else None


def load(group: str, name: str, *, key: str) -> Any:
    """Return the part of this name.

    Raise BadInput, naming `key`, for an unknown one, for one that cannot be imported, and for one that is not what its
    group holds.
    """
    point = _point(group, name, key)
    try:
        part = point.load()
    except (ImportError, AttributeError) as problem:
        raise _broken(point, key, f"cannot be loaded: {problem}") from problem
    except Exception as problem:
        # Whatever its author's code raises: it is no defect of the kit, and costs no other part.
        raise _broken(point, key, f"cannot be loaded: {told(problem)}") from problem
    if lack := _lack(group, part) or _misnamed(part, name):
        raise _broken(point, key, lack)
    return part


def _misnamed(part: type, name: str) -> str:
    """Records keep the `name` of a part, and it is found again by that of its entry point."""
    own = getattr(part, "name", name)
    return "" if own == name else f"has the name {own!r}, which is not that of its entry point"


@dataclass(frozen=True)
class CodePlace:
    """A line of code. `owner`: the package that brings it, "" for other code of a user, None for what is installed."""

    file: str
    line: int
    owner: str | None

    def __str__(self) -> str:
        return f"line {self.line} of {self.file}"


def blamed(stack: Iterable[tuple[str, int]]) -> CodePlace | None:
    """Of a stack of (file, line), outermost first, the place that it is about; None of an empty one.

    What was called with something wrong is not where it is wrong: the last line of a package, else of other code of a
    user, else of the kit's.
    """
    places = [CodePlace(file, line, _owner(Path(file).expanduser())) for file, line in stack]
    packaged = [place for place in places if place.owner and place.owner != KIT]
    theirs = [place for place in places if place.owner == ""]
    own = [place for place in places if place.owner == KIT]
    return next(iter((packaged or theirs or own or places)[-1:]), None)


def _owner(file: Path) -> str | None:
    for package, roots in packages().items():
        if any(file.is_relative_to(root) for root in roots):
            return package
    # Python's own modules, some of which are no files at all, and libraries.
    installed = not file.is_absolute() or file.is_relative_to(_PYTHON) or not _LIBRARIES.isdisjoint(file.parts)
    return None if installed else ""


def told(problem: Exception) -> str:
    """What somebody's code raised: its kind, its words in one line, and the place in the code that they are about."""
    if isinstance(problem, SyntaxError):
        return f"SyntaxError: {problem.msg} (line {problem.lineno} of {problem.filename})"
    stack = traceback.extract_tb(problem.__traceback__)
    place = blamed((frame.filename, frame.lineno or 0) for frame in stack)
    return f"{type(problem).__name__}: {' '.join(str(problem).split())} ({place})"


def _lack(group: str, part: object) -> str:
    """Return what keeps it from being one of its group; empty where nothing does."""
    first, asked = next(iter(_PARTS[group])), list(_PARTS[group])[-1]
    mro = part.__mro__ if isinstance(part, type) else ()
    bases = {name: base for base in mro if (name := f"{base.__module__}.{base.__qualname__}") in _PARTS[group]}
    if first not in bases:
        return f"does not derive from {asked}"
    # Some parts only declare, and what answers for them derives from them: their base asks for no method.
    asks = any(getattr(base, "__abstractmethods__", ()) for base in bases.values())
    unwritten = set(getattr(part, "__abstractmethods__", ())) if asks else set()
    unset = {name for base in bases for name in _PARTS[group][base] if not hasattr(part, name)}
    return f"lacks {', '.join(sorted(unwritten | unset))}, which {asked} asks for" if unwritten | unset else ""


def module_file(group: str, name: str, *, key: str) -> Path:
    """The file of the module that the part of this name is; it is not imported. Raise BadInput as `load` does."""
    point = _point(group, name, key)
    if point.attr:
        raise _broken(point, key, f"names {point.attr}, where this group takes a module")
    try:
        spec = importlib.util.find_spec(point.module)
    except ImportError as problem:
        raise _broken(point, key, f"cannot be found: {problem}") from problem
    if spec is None or spec.origin is None:
        raise _broken(point, key, "cannot be found")
    return Path(spec.origin)


def _point(group: str, name: str, key: str) -> EntryPoint:
    if name not in _points(group):
        raise BadInput(
            f"no such part of benchbook.{group}", key=key, value=name, fix=f"use one of {', '.join(names(group))}"
        )
    return _points(group)[name]


def _broken(point: EntryPoint, key: str, problem: str) -> BadInput:
    return BadInput(
        f"{point.value} {problem}", key=key, value=point.name, fix="mend or reinstall the package that brings it"
    )
