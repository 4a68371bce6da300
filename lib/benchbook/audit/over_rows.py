"""What `mean`, `sum`, `min` and `max` over rows come to for one row of a table.

An aggregate takes all rows of the table, or those that its conditions name; what its identity is limited to by `rows`
is another matter. Where one of its rows does not print a number, it comes to nothing, as a sum without a part would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import pandas as pd

from benchbook.documents.findings import figure
from benchbook.published.arithmetic import Aggregate, Number, RowCondition, aggregates, evaluate, over
from benchbook.published.tables import PublishedTable


class OverRows(NamedTuple):
    """The aggregates of one row, by their texts: numbers, and words such as "2,270 [max(tps)]"."""

    known: dict[str, Number]
    words: dict[str, str]


def over_rows(table: PublishedTable, row: int, of_row: Callable[[int], Mapping[str, Number]]) -> OverRows:
    """Every aggregate in the identities and constants of a table, as one row sees it; `of_row` has a row's numbers."""
    found = {one.text: _value(table, one, row, of_row) for one in table_aggregates(table)}
    known = {text: number for text, number in found.items() if number is not None}
    return OverRows(known, {text: f"{figure(number.value)} [{text}]" for text, number in known.items()})


def table_aggregates(table: PublishedTable) -> list[Aggregate]:
    """Every aggregate in the identities and constants of a table."""
    return [one for side in _expressions(table) for one in aggregates(side)]


def rows_of(table: PublishedTable, aggregate: Aggregate, row: int) -> list[int]:
    """The rows that an aggregate takes, as seen from one row."""
    return [
        other
        for other in range(len(table.cells))
        if all(_takes(table, condition, row, other) for condition in aggregate.conditions)
    ]


def _expressions(table: PublishedTable) -> Iterator[str]:
    for identity in table.identities:
        yield from (identity.left, identity.right)
    yield from (constant.expression for constant in table.meta.constants)


def _value(
    table: PublishedTable, aggregate: Aggregate, row: int, of_row: Callable[[int], Mapping[str, Number]]
) -> Number | None:
    rows = rows_of(table, aggregate, row)
    found = [evaluate(aggregate.inner, of_row(other)) for other in rows]
    printed = [number for number in found if number is not None]
    return over(aggregate.function, printed) if printed and len(printed) == len(rows) else None


def _takes(table: PublishedTable, condition: RowCondition, row: int, other: int) -> bool:
    mine, theirs = (_level(table, at, condition.level) for at in (row, other))
    if theirs is None or (mine is None and condition.relation == "shared"):
        return False
    wanted = mine if condition.relation == "shared" else condition.value
    return (theirs != wanted) if condition.relation == "!=" else (theirs == wanted)


def _level(table: PublishedTable, row: int, name: str) -> object:
    if name in table.fixed:
        return table.fixed[name]
    cell: object = table.cells[row][name]
    return None if pd.isna(table.cells[row][name]) else cell
