"""The rows of a published table as checks read them: what stands in each, as intervals and as words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pandas as pd

from benchbook.documents.findings import figure
from benchbook.published.arithmetic import (
    Aggregate,
    Number,
    RowCondition,
    aggregates,
    evaluate,
    exact,
    over,
    rounded,
)
from benchbook.published.declarations import Scalar
from benchbook.published.reading import resolution
from benchbook.published.report_file import Report
from benchbook.published.tables import Published, PublishedTable

_PLAIN = re.compile(r"-?\d+(\.\d+)?")


@dataclass(frozen=True, eq=False)
class Case:
    """What an expression is evaluated on: its numbers as intervals, and how they were printed, thousands apart."""

    label: str
    known: dict[str, Number]
    words: dict[str, str]


@dataclass(frozen=True, eq=False)
class Row(Case):
    """A printed row, `label` its key in words; what it does not print is in none of its dictionaries.

    `cells` has the stored values, the table's fixed levels among them, `texts` the metrics with the digits that were
    printed. `known` has all that an expression can name: columns, fixed levels, facts as `fact.value`, and functions
    over rows.
    """

    table: PublishedTable
    number: int
    cells: dict[str, Any]
    texts: dict[str, str]

    @property
    def key(self) -> str:
        return ".".join(str(self.cells.get(name)) for name in self.table.meta.table_schema.primary_key)

    def prints(self, *columns: str) -> bool:
        return all(name in self.cells for name in columns)


def rows_of(published: Published, table: PublishedTable) -> list[Row]:
    """Return a table's rows in printed order.

    Metrics are rounded to their last printed place. Whole numbers elsewhere are exact: they were set or counted. A
    function over rows has no value if one of these rows does not print its number: a sum would lack a part.
    """
    facts = of_text(published.report)
    rows = [_row(table, number, facts) for number in range(len(table.frame))]
    expressions = [side for one in table.identities for side in (one.left, one.right)]
    expressions += [constant.expression for constant in table.meta.constants]
    for function in (one for expression in expressions for one in aggregates(expression)):
        for row in rows:
            found = [evaluate(function.inner, other.known) for other in taken(function, row, rows)]
            printed = [number for number in found if number is not None]
            if printed and len(printed) == len(found):
                row.known[function.text] = number = over(function.function, printed)
                row.words[function.text] = f"{figure(number.value)} [{function.text}]"
    return rows


def _row(table: PublishedTable, number: int, facts: dict[str, Number]) -> Row:
    cells = table.fixed | {name: cell for name, cell in table.cells[number].items() if pd.notna(cell)}
    texts = {name: text for name, text in table.texts[number].items() if name in cells}
    numbers = {name: _number(table, name, cell, texts) for name, cell in cells.items() if not isinstance(cell, str)}
    words = {name: plain(one.value) for name, one in (facts | numbers).items()}
    words |= {name: cell for name, cell in cells.items() if isinstance(cell, str)}
    words |= {name: apart(text) for name, text in texts.items() if name in numbers and _PLAIN.fullmatch(text)}
    label = ", ".join(f"{name} {words.get(name, 'none')}" for name in table.meta.table_schema.primary_key)
    return Row(label, facts | numbers, words, table, number, cells, texts)


def _number(table: PublishedTable, name: str, value: float, texts: dict[str, str]) -> Number:
    if name in texts:
        return rounded(value, resolution(value, texts[name]))
    field = table.fields.get(name)
    if field and (field.unit == "%" or (field.role == "note" and field.unit != "1")):
        # A percentage, or a time beside the metrics, was computed, and rounded as it is printed; counts are exact.
        return _as_written(value)
    return _setting(int(value) if field and value == int(value) else value)


def of_text(report: Report) -> dict[str, Number]:
    """Return the numbers of all text facts, as `fact.value`."""
    return {
        f"{fact.id}.{name}": _as_written(value) if "percent" in name else _setting(value)
        for fact in report.text_facts
        for name, value in fact.values.items()
        if isinstance(value, int | float)
    }


def _setting(value: float) -> Number:
    return exact(value) if isinstance(value, int) else _as_written(value)


def _as_written(value: float) -> Number:
    return rounded(value, 10.0 ** -_places(value))


def _places(value: float) -> int:
    """Decimals of the shortest numeral for a value: 2 for 3.78."""
    return len(f"{value:.10f}".rstrip("0").partition(".")[2])


# -- rows of a table among each other ---------------------------------------------------------------------------------


def taken(function: Aggregate, row: Row, rows: Sequence[Row]) -> list[Row]:
    """Return the rows that a function goes over, as seen from one row."""
    return [other for other in rows if all(_meets(condition, row, other) for condition in function.conditions)]


def _meets(condition: RowCondition, row: Row, other: Row) -> bool:
    shared = condition.relation == "shared"
    if not other.prints(condition.level) or (shared and not row.prints(condition.level)):
        return False
    wanted = row.cells[condition.level] if shared else condition.value
    return bool(other.cells[condition.level] == wanted) != (condition.relation == "!=")


def with_levels(rows: Sequence[Row], levels: dict[str, Scalar]) -> list[Row]:
    """Return the rows that have these levels."""
    return [row for row in rows if levels.items() <= row.cells.items()]


def values(table: PublishedTable, name: str) -> list[Scalar]:
    """Return the values of a column or a fixed level, each once, in printed order."""
    return [table.fixed[name]] if name in table.fixed else table.frame[name].dropna().unique().tolist()


# -- in words ---------------------------------------------------------------------------------------------------------


def plain(value: float) -> str:
    """Return a number as printed: whole ones without decimals, thousands apart."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.{_places(value)}f}"


def apart(numeral: str) -> str:
    """Return a plain numeral with its thousands apart and its digits as they are: "-12,039.50"."""
    return f"{Decimal(numeral):,f}"


def listed(values: Iterable[Scalar]) -> str:
    """Return settings in words: numbers with thousands apart, texts as they are."""
    return ", ".join(value if isinstance(value, str) else plain(float(value)) for value in values)


def where(table: PublishedTable) -> str:
    """Return the table and where the report has it."""
    return f"table {table.id} ({table.where})"
