"""Every statistic is reached by a report, a claim, a comparison or a command: what nothing calls is not kept."""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from kit import ROOT

LIBRARY = ROOT / "lib" / "benchbook"
STATS = LIBRARY / "stats"
COMMANDS = ("benchbook.book", "benchbook.pipeline", "benchbook.cli")
Name = tuple[str, str]


def _module(path: Path) -> str:
    return ".".join(path.relative_to(LIBRARY.parent).with_suffix("").parts).removesuffix(".__init__")


@cache
def _trees() -> dict[str, ast.Module]:
    """Every module of the library, parsed; not as this file is imported, which each of the workers does."""
    return {_module(path): ast.parse(path.read_text()) for path in LIBRARY.rglob("*.py") if "remote" not in path.parts}


@pytest.fixture(autouse=True, scope="module")
def _forget_the_trees() -> Iterator[None]:
    """They are a million objects."""
    yield
    _trees.cache_clear()


def _imports(tree: ast.AST) -> Iterator[Name]:
    """(module, name) of every import of ours, also of those inside functions; no name where a module is imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def _modules(imports: Iterable[Name]) -> set[str]:
    named = {part for module, name in imports for part in (module, f"{module}.{name}")}
    return named & _trees().keys()


def _entry_points() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["scripts"], *project["entry-points"].values()]
    return {target.split(":")[0] for group in groups for target in group.values()} & _trees().keys()


def _notebooks() -> set[str]:
    cells = [cell for path in (ROOT / "notebooks").glob("*.ipynb") for cell in json.loads(path.read_text())["cells"]]
    code = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    return {module for source in code for module in _modules(_imports(ast.parse(source)))}


def _in_use() -> set[str]:
    """Modules that a command, a notebook or an entry point comes to, import by import."""
    found: set[str] = set()
    left = {*COMMANDS, *_entry_points(), *_notebooks()}
    while left:
        module = left.pop()
        found.add(module)
        left |= _modules(_imports(_trees()[module])) - found
    return found


def _defined() -> dict[Name, ast.AST]:
    """Every function, class and constant at the top of a module of statistics."""
    found: dict[Name, ast.AST] = {}
    for path in STATS.glob("*.py"):
        for node in _trees()[_module(path)].body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found[_module(path), node.name] = node
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found.update({(_module(path), t.id): node for t in targets if isinstance(t, ast.Name)})
    return found


def _names_in(module: str, node: ast.AST) -> set[Name]:
    """What this piece of a module uses, as (module it is defined in, name)."""
    origin = {name: source for source, name in _imports(_trees()[module])}
    used = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    attributes = (part for part in ast.walk(node) if isinstance(part, ast.Attribute))
    through = {(part.value.id, part.attr) for part in attributes if isinstance(part.value, ast.Name)}
    return {(origin.get(name, module), name) for name in used} | {(f"{origin.get(m)}.{m}", name) for m, name in through}


def _reached() -> set[Name]:
    defined, used = _defined(), _in_use()
    outside = {module for module in used if not module.startswith("benchbook.stats")}
    left = {name for module in outside for name in _names_in(module, _trees()[module])} & defined.keys()
    found: set[Name] = set()
    while left:
        at = left.pop()
        found.add(at)
        left |= (_names_in(at[0], defined[at]) & defined.keys()) - found
    return found


def test_every_public_statistic_is_reached() -> None:
    public = {at for at, node in _defined().items() if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    unreached = sorted(f"{module}.{name}" for module, name in public - _reached() if not name.startswith("_"))
    assert not unreached, f"no report, claim, comparison or command comes to: {', '.join(unreached)}"


def test_the_walk_follows_what_it_should() -> None:
    reached = _reached()
    # Imported by a command inside a function, by an entry point's kind, and only by another statistic.
    assert ("benchbook.stats.stopping", "replay") in reached
    assert ("benchbook.stats.latency", "hdr_buckets") in reached
    assert ("benchbook.stats.autocorrelation", "series_spread") in reached


def test_statistics_know_nothing_else_of_benchbook() -> None:
    ours = {
        (module, source)
        for module in _trees()
        if module.startswith("benchbook.stats")
        for source, _ in _imports(_trees()[module])
        if source.startswith("benchbook")
    }
    assert ours
    assert not {pair for pair in ours if not pair[1].startswith("benchbook.stats") and pair[1] != "benchbook.errors"}
