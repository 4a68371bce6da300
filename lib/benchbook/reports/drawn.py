"""What a notebook draws of the published tables: a name that they do not have is found before any load.

Only what is written out is looked at: `plots.levels` of `report.beside_frame()`, or of a part of it, and
`report.scaling`. Whatever else a cell does is its author's.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from benchbook import parameters
from benchbook.given.named import one_of

BESIDE, LEVELS, SCALING = "report.beside_frame()", "plots.levels", "report.scaling"


def check(notebook: Path, metrics: Collection[str], levels: Collection[str]) -> None:
    """Raises BadInput for a drawn metric, or a level along an axis or as a panel, that no table has."""
    trees = list(_parsed(parameters.code_cells(notebook)))
    nodes = [node for tree in trees for node in ast.walk(tree)]
    frames = _frames([node for node in nodes if isinstance(node, ast.Assign)])
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        called = ast.unparse(call.func)
        if called == SCALING or (called == LEVELS and call.args and ast.unparse(call.args[0]) in frames):
            for name in _texts(call.args):
                one_of(name, sorted(metrics), "metric", file=notebook, key=called)
            for name in _texts([word.value for word in call.keywords if word.arg in ("x", "panel")]):
                one_of(name, sorted(levels), "level", file=notebook, key=called)


def _parsed(cells: Sequence[str]) -> Iterator[ast.Module]:
    """Those that are plain Python: one with a magic word says itself what is wrong with it."""
    for cell in cells:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            yield ast.parse(cell)


def _frames(assignments: Sequence[ast.Assign]) -> set[str]:
    """How the frame, or rows of it, are called: by itself, and by names that never hold anything else."""
    held: dict[str, set[str]] = {}
    for each in assignments:
        value = each.value.value if isinstance(each.value, ast.Subscript) else each.value
        for target in each.targets:
            held.setdefault(ast.unparse(target), set()).add(ast.unparse(value))
    found = {BESIDE, *held}
    while others := {name for name in found & held.keys() if not held[name] <= found}:
        found -= others
    return found


def _texts(values: Sequence[ast.expr]) -> list[str]:
    return [value.value for value in values if isinstance(value, ast.Constant) and isinstance(value.value, str)]
