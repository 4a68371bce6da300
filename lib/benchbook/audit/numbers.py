"""The numbers of a published table and of a report's text, as intervals and as words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pandas as pd

from benchbook.published.arithmetic import Number, exact, rounded
from benchbook.published.declarations import Scalar
from benchbook.published.reading import resolution
from benchbook.published.report_file import Report
from benchbook.published.tables import Published, PublishedTable

_PLAIN = re.compile(r"-?\d+(\.\d+)?")


def rows(table: PublishedTable) -> range:
    """Return the numbers of a table's rows."""
    return range(len(table.frame))


def raw(table: PublishedTable, row: int, name: str) -> Any:
    """Return a cell as it is stored: a number, a text, or a missing value."""
    return table.cells[row][name]


def has(table: PublishedTable, row: int, *names: str) -> bool:
    """Return whether something is printed in all of these cells of a row."""
    return all(bool(pd.notna(raw(table, row, name))) for name in names)


def text(table: PublishedTable, row: int, metric: str) -> str:
    """Return a metric's cell with the digits that were printed."""
    return table.texts[row][metric]


def of_row(published: Published, table: PublishedTable, row: int) -> dict[str, Number]:
    """Return every number that an expression can name in one row: columns, fixed levels, and facts as `fact.value`.

    Metrics are rounded to their last printed place. Whole numbers elsewhere are exact: they were set or counted.
    """
    cells = {name: _cell(table, row, name) for name in table.numeric if has(table, row, name)}
    fixed = {name: _setting(value) for name, value in table.fixed.items() if isinstance(value, int | float)}
    return {**of_text(published.report), **fixed, **cells}


def of_text(report: Report) -> dict[str, Number]:
    """Return the numbers of all text facts, as `fact.value`."""
    return {
        f"{fact.id}.{name}": _rounded(value) if "percent" in name else _setting(value)
        for fact in report.text_facts
        for name, value in fact.values.items()
        if isinstance(value, int | float)
    }


def words(table: PublishedTable, row: int, numbers: Mapping[str, Number]) -> dict[str, str]:
    """Return each number of a row as it was printed, with thousands apart."""
    return {
        name: _printed(table, row, name) if name in table.texts[row] else plain(number.value)
        for name, number in numbers.items()
    }


def plain(value: float) -> str:
    """Return a number as printed: whole ones without decimals, thousands apart."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.{_places(value)}f}"


def cell(table: PublishedTable, row: int, name: str) -> Scalar:
    """Return a cell of levels or notes, or a metric as its printed text."""
    return _printed(table, row, name) if name in table.texts[row] else shown(raw(table, row, name))


def label(table: PublishedTable, row: int) -> str:
    """Return the key of a row in words: "mode no_dtm, sql_per_branch 10"."""
    keys = table.meta.table_schema.primary_key
    return ", ".join(f"{key} {shown(raw(table, row, key))}" for key in keys)


def shown(value: Scalar) -> str:
    """Return a setting in words: numbers with thousands apart, text as it is."""
    return value if isinstance(value, str) else plain(float(value))


def where(table: PublishedTable) -> str:
    """Return the table and where the report has it."""
    return f"table {table.id} ({table.where})"


def _cell(table: PublishedTable, row: int, name: str) -> Number:
    value = float(raw(table, row, name))
    field = table.fields.get(name)
    if name not in table.texts[row] and field and (field.unit == "%" or (field.role == "note" and field.unit != "1")):
        # A percentage, or a time beside the metrics, was computed, and rounded as it is printed; counts are exact.
        return _rounded(value)
    if name not in table.texts[row]:
        return _setting(int(value) if value == int(value) else value)
    return rounded(value, resolution(value, text(table, row, name)))


def _setting(value: float) -> Number:
    return exact(value) if isinstance(value, int) else rounded(value, 10.0 ** -_places(value))


def _rounded(value: float) -> Number:
    return rounded(value, 10.0 ** -_places(value))


def _places(value: float) -> int:
    """Decimals of the shortest numeral for a value: 2 for 3.78."""
    return len(f"{value:.10f}".rstrip("0").partition(".")[2])


def _printed(table: PublishedTable, row: int, name: str) -> str:
    """Return the printed digits where they are a plain numeral in the column's unit, else the number in that unit."""
    printed = text(table, row, name)
    if not _PLAIN.fullmatch(printed):
        return plain(float(raw(table, row, name)))
    return apart(printed)


def apart(numeral: str) -> str:
    """Return a plain numeral with its thousands apart and its digits as they are: "-12,039.50"."""
    whole, point, decimals = numeral.removeprefix("-").partition(".")
    return f"{'-' * numeral.startswith('-')}{int(whole):,}{point}{decimals}"
