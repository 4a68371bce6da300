"""Checks the digits that are printed: a column that keeps its trailing zeros keeps them in every cell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchbook.audit import numbers
from benchbook.audit.findings import Outcomes
from benchbook.documents.findings import Finding, Passed
from benchbook.published.tables import Published, PublishedTable

CELLS = 4
"""The fewest cells from which a habit can be seen."""
ODD = 1 / 3
"""The largest share of cells that are exceptions from a habit; with more there is none. Two thirds are one."""
_NUMERAL = re.compile(r"(\d+)(?:\.(\d+))?")


class Printed(NamedTuple):
    """A cell as printed: decimals, significant digits (trailing zeros of whole numbers may be none), and what follows.

    `least` and `most` bound the significant digits.
    """

    table: PublishedTable
    row: int
    text: str
    decimals: int
    least: int
    most: int
    unit: str


def digits(published: Published) -> Outcomes:
    """Every metric; tables of fewer than four rows are taken together where they have the same metric."""
    for metric, cells in _groups(published):
        exceptions = _exceptions(cells)
        if exceptions is None:
            continue
        yield Passed("printed digits", len(cells) - len(exceptions))
        if exceptions:
            yield _finding(published, metric, cells, exceptions)


def _groups(published: Published) -> Iterator[tuple[str, list[Printed]]]:
    groups: dict[tuple[str, ...], list[Printed]] = {}
    for table in published.tables.values():
        for metric in table.metrics:
            cells = [_printed(table, row, metric) for row in numbers.rows(table) if numbers.has(table, row, metric)]
            alone = table.id if len(cells) >= CELLS else ""
            for cell in cells:
                groups.setdefault((metric, alone, table.fields[metric].unit, cell.unit), []).append(cell)
    yield from ((key[0], cells) for key, cells in groups.items() if len(cells) >= CELLS)


def _printed(table: PublishedTable, row: int, metric: str) -> Printed:
    text = re.sub(r"(?<=\d)[,\u00a0\u2009\u202f '’](?=\d{3}(?!\d))", "", numbers.text(table, row, metric))
    found = _NUMERAL.search(text)
    whole, decimals = (found[1], found[2] or "") if found else ("", "")
    significant = (whole + decimals).lstrip("0")
    least = significant if decimals else significant.rstrip("0")
    unit = text[found.end() :] if found else text
    return Printed(table, row, text, len(decimals), len(least), len(significant), unit)


def _exceptions(cells: list[Printed]) -> list[Printed] | None:
    """The cells that leave the column's habit, decimals or significant digits; None where there is no habit."""
    decimals, _ = Counter(cell.decimals for cell in cells).most_common(1)[0]
    figures, _ = Counter(cell.most for cell in cells).most_common(1)[0]
    habits: list[Callable[[Printed], bool]] = [
        lambda cell: cell.decimals == decimals,
        lambda cell: cell.least <= figures <= cell.most,
    ]
    fewest = min(([cell for cell in cells if not habit(cell)] for habit in habits), key=len)
    return fewest if len(fewest) <= ODD * len(cells) else None


def _finding(published: Published, metric: str, cells: list[Printed], odd: list[Printed]) -> Finding:
    tables = {cell.table.id: cell.table for cell in odd}
    usual = next(cell.text for cell in cells if cell not in odd)
    return Finding(
        id=f"{odd[0].table.id}.{metric}.digits",
        report=published.report.name,
        where="; ".join(numbers.where(table) for table in tables.values()),
        kind="printed digits",
        severity="note",
        sentence=f"{metric} is printed with other digits in {len(odd)} of {len(cells)} cells: a digit may have been "
        "lost or added, or the figure comes from another source.",
        arithmetic=[
            f"{cell.table.id}, {numbers.label(cell.table, cell.row)}: {cell.text}, where others print digits as in "
            f"{usual}"
            for cell in odd
        ],
    )
