"""Finds what the kit is made of by entry points, its own parts and those of installed packages alike.

    benchbook.systems      name -> class of benchbook.systems.base.System, or of another NamedServer
    benchbook.workloads    name -> class of benchbook.workloads.generator.LoadGenerator
    benchbook.probes       name -> module of plain Python that is sent to hosts (benchbook.probes.probe_file)
    benchbook.kinds        name -> class of benchbook.reports.kind.Kind
    benchbook.hypotheses   name -> class of benchbook.claims.hypothesis.Hypothesis

A part is loaded when it is asked for by name: what nobody uses costs no start-up time.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from benchbook.errors import BadInput

GROUPS = ("systems", "workloads", "probes", "kinds", "hypotheses")


@cache
def _points(group: str) -> dict[str, EntryPoint]:
    points = list(entry_points(group=f"benchbook.{group}"))
    twice = [name for name, count in Counter(point.name for point in points).items() if count > 1]
    if twice:
        givers = sorted(point.value for point in points if point.name == twice[0])
        raise BadInput(
            f"two packages give a part of benchbook.{group} this name",
            key=twice[0],
            value=givers,
            fix="uninstall one of them, or have its author rename it",
        )
    return {point.name: point for point in sorted(points, key=lambda point: point.name)}


def packages() -> set[str]:
    """The packages that any part comes from, the kit's own among them."""
    return {point.module.partition(".")[0] for group in GROUPS for point in _points(group).values()}


def names(group: str) -> list[str]:
    """The names of all parts of a group, sorted. Raises BadInput where two packages give the same one."""
    return list(_points(group))


def find(group: str, name: str, *, key: str) -> Any | None:
    """The part of this name, None where nobody gives one. Raises BadInput for one that cannot be imported."""
    return load(group, name, key=key) if name in _points(group) else None


def load(group: str, name: str, *, key: str) -> Any:
    """The part of this name. Raises BadInput, naming `key`, for an unknown one and for one that cannot be imported."""
    point = _point(group, name, key)
    try:
        return point.load()
    except (ImportError, AttributeError) as problem:
        raise _broken(point, key, f"cannot be loaded: {problem}") from problem


def module_file(group: str, name: str, *, key: str) -> Path:
    """The file of the module that the part of this name is; it is not imported. Raises BadInput as `load` does."""
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
