"""What a claim names against the published tables: each name and level must be printed there, a figure exactly once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from benchbook.claims.terms import Figure, Rows, Term
from benchbook.errors import BadInput
from benchbook.published.reading import known, names_in
from benchbook.published.tables import Published, PublishedTable


def levels_along(figure: Figure, names: Sequence[str], given: Sequence[Any], published: Published) -> list[Rows]:
    """The levels of `names` that a claim goes along: `given`, else all printed; one factor of numbers rises."""
    if not names:
        return [{}]
    if given:
        return [level_named(names, value) for value in given]
    table = published.tables[figure.table]
    rows = _levels_of(names, [table.cells[number] for number in table.matching(figure.rows)])
    ordered = sorted(rows) if len(names) == 1 and names[0] in table.numeric else rows
    return [dict(zip(names, row, strict=True)) for row in ordered]


def _levels_of(names: Sequence[str], cells: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """The levels of these factors that stand in the rows of a table: each combination once, none with a gap."""
    rows = [tuple(row[name] for name in names) for row in cells]
    return [list(row) for row in dict.fromkeys(rows) if not any(map(pd.isna, row))]


def level_named(names: Sequence[str], value: Any) -> Rows:
    """A level as a claim writes it, 8 or [6, 24], by the names of its factors; empty if it has not as many."""
    values = value if isinstance(value, list) else [value]
    return dict(zip(names, values, strict=False)) if len(values) == len(names) else {}


def check_table(name: str, published: Published, file: Path, key: str) -> PublishedTable:
    """The table of this name. Raises BadInput."""
    known(name, list(published.tables), "unknown table", key, file)
    return published.tables[name]


def check_factors(
    figure: Figure, names: Sequence[str], given: Sequence[Any], published: Published, at: str, file: Path
) -> None:
    """Raises BadInput unless the figure's table prints its rows, has these factors and prints the levels `given`."""
    table = check_table(figure.table, published, file, f"{at}.table")
    check_rows(figure.rows, table, f"{at}.rows", file)
    for name in names:
        known(name, table.levels, "unknown level", f"{at}.factor", file)
    for value in given:
        check_level(names, value, table, f"{at}.levels", file)


def check_level(names: Sequence[str], value: Any, table: PublishedTable, key: str, file: Path) -> None:
    """Raises BadInput unless the table prints this combination of levels."""
    printed = _levels_of(names, table.cells)
    values = value if isinstance(value, list) else [value]
    if values not in printed:
        shown = ", ".join(str(row[0] if len(row) == 1 else row) for row in printed)
        problem = f"no such level of {', '.join(names)} in table {table.id}"
        raise BadInput(problem, file=file, key=key, value=value, fix=f"use one of: {shown}")


def check_term(term: Term, published: Published, file: Path, key: str) -> None:
    """Raises BadInput unless exactly one printed row has the term's levels, and a figure in it."""
    table = check_table(term.table, published, file, key)
    check_rows(term.rows, table, key, file)
    check_metric(term.metric, table, file, key)
    rows = table.matching(term.rows)
    if len(rows) != 1:
        problem = f"{len(rows)} rows of table {table.id} have these levels"
        refuse(problem, file, key, term.rows, f"name one row by its levels: {', '.join(table.levels)}")
    if pd.isna(_figure(term.metric, table, rows[0])):
        refuse(f"table {table.id} prints nothing there", file, key, str(term), "claim what is printed")


def _figure(metric: str, table: PublishedTable, row: int) -> Any:
    """A column's cell; only arithmetic over columns needs pandas, which takes a hundred times as long."""
    if metric in table.fields:
        return table.cells[row][metric]
    one = table.frame.loc[[row]]
    return pd.Series(one.eval(metric, engine="python"), index=one.index).iloc[0]


def check_rows(rows: Rows, table: PublishedTable, key: str, file: Path) -> None:
    """Raises BadInput for a level that the table does not have, or not with this value."""
    for name, value in rows.items():
        known(name, table.levels, f"unknown level of table {table.id}", key, file)
        check_level([name], value, table, key, file)


def check_metric(metric: str, table: PublishedTable, file: Path, key: str) -> None:
    """Raises BadInput for what is not arithmetic over the table's numbers."""
    printed = [*table.metrics, *(name for name in table.levels if name in table.numeric)]
    for name in names_in(metric, file, "a metric"):
        known(name, printed, f"unknown metric of table {table.id}", key, file)


def refuse(problem: str, file: Path, key: str, value: Any, fix: str) -> NoReturn:
    raise BadInput(problem, file=file, key=key, value=value, fix=fix)
