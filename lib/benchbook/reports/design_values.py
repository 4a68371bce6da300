"""What a kind of report needs its report to state, with bounds; what is missing or no number is named with its fix."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from benchbook import paths
from benchbook.errors import BadInput
from benchbook.published.report_file import TableDesign
from benchbook.published.tables import Published, PublishedTable

MOST = 1_000_000
DESIGN, TABLES = "report.yaml", "datapackage.json"


def design(published: Published) -> list[TableDesign]:
    """Return the published designs, at least one. Raise BadInput."""
    if not published.report.design:
        fix = "add what was run, see data/published/README.md"
        raise BadInput("there is nothing to run", file=_file(published, DESIGN), key="design", value=[], fix=fix)
    return published.report.design


def fixed(published: Published, experiment: TableDesign, name: str) -> int:
    """Return a whole number that a design holds fixed. Raise BadInput."""
    key, file = f"design.{experiment.name}.fixed", _file(published, DESIGN)
    return _one(experiment.fixed, name, key, file)


def anywhere_fixed(published: Published, name: str) -> int:
    """The same, of the first design that states it. Raise BadInput where none does."""
    for experiment in design(published):
        if name in experiment.fixed:
            return fixed(published, experiment, name)
    fix = f"state `{name}` under `fixed` of the design that it belongs to"
    problem = "this kind of report needs it, and no design states it"
    raise BadInput(problem, file=_file(published, DESIGN), key=f"design.*.fixed.{name}", value=None, fix=fix)


def of_table(published: Published, table: PublishedTable, name: str) -> int:
    """Return a whole number that is constant over a table. Raise BadInput."""
    return _one(table.fixed, name, f"{table.id}.fixed", _file(published, TABLES))


def column(published: Published, table: PublishedTable, name: str) -> list[Any]:
    """Return a level in each row of a table, from top to bottom. Raise BadInput for a missing one, or an empty cell."""
    _needed(name, table.levels, f"{table.id}.schema.fields", _file(published, TABLES))
    for number, cell in enumerate(table.frame[name], start=2):
        if pd.isna(cell):
            file, fix = _file(published, TABLES).with_name(table.meta.path), "fill it in, or take the row out"
            raise BadInput("a level is empty", file=file, key=f"row {number}, {name}", fix=fix)
    return list(table.frame[name])


def numbers(published: Published, table: PublishedTable, name: str, *, least: int = 1, most: int = MOST) -> list[int]:
    """The same, of a column of whole numbers. Raise BadInput."""
    cells = column(published, table, name)
    file = _file(published, TABLES).with_name(table.meta.path)
    return _whole(cells, f"column {name}", file, least=least, most=most)


def _file(published: Published, name: str) -> Path:
    return paths.published_dir(published.report.name) / name


def _needed(name: str, known: Iterable[str], key: str, file: Path) -> None:
    if name not in known:
        said = f"this kind of report needs `{name}`, which is not there"
        raise BadInput(said, file=file, key=key, value=list(known), fix=f"add `{name}`, or correct `restaged_by`")


def _one(stated: Mapping[str, object], name: str, key: str, file: Path) -> int:
    _needed(name, stated, key, file)
    return _whole([stated[name]], f"{key}.{name}", file, least=1, most=MOST)[0]


def _whole(values: Iterable[Any], key: str, file: Path, *, least: int, most: int) -> list[int]:
    found = []
    for value in values:
        number = None if isinstance(value, str) or pd.isna(value) else int(value)
        if number is None or number != value or not least <= number <= most:
            fix = f"write one from {least} to {most:,}"
            raise BadInput("must be a whole number here", file=file, key=key, value=value, fix=fix)
        found.append(number)
    return found
