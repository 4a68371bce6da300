"""Checks what is printed: trailing zeros that a column keeps, the same figures in two places, and restated tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import NamedTuple

from benchbook.audit import numbers
from benchbook.audit.findings import Outcomes, Touched, table_finding
from benchbook.documents.findings import Finding, Kind, Passed, Severity
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
    """Yield every metric; tables of fewer than four rows are taken together where they have the same metric."""
    for metric, cells in _groups(published):
        exceptions = _exceptions(cells)
        if exceptions is None:
            continue
        yield Passed("printed digits", len(cells) - len(exceptions))
        if exceptions:
            yield _finding(metric, cells, exceptions)


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
    """Return the cells that leave the column's habit, decimals or significant digits; None where there is no habit."""
    decimals, _ = Counter(cell.decimals for cell in cells).most_common(1)[0]
    figures, _ = Counter(cell.most for cell in cells).most_common(1)[0]
    habits: list[Callable[[Printed], bool]] = [
        lambda cell: cell.decimals == decimals,
        lambda cell: cell.least <= figures <= cell.most,
    ]
    fewest = min(([cell for cell in cells if not habit(cell)] for habit in habits), key=len)
    return fewest if len(fewest) <= ODD * len(cells) else None


def _finding(metric: str, cells: list[Printed], odd: list[Printed]) -> Finding:
    tables = {cell.table.id: cell.table for cell in odd}
    usual = next(cell.text for cell in cells if cell not in odd)
    return Finding(
        id=f"{odd[0].table.id}.{metric}.digits",
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


# -- printed twice -----------------------------------------------------------------------------------------------------

DIGITS = 8
"""Significant digits that must agree before two rows count as one measurement printed twice, and not as chance."""

ALIKE = 3
"""Figures that must be alike before another one that differs counts as a slip."""


class Place(NamedTuple):
    """A row of a table: its metrics as printed text, and its levels with those that are constant over the table."""

    table: PublishedTable
    row: int
    metrics: dict[str, str]
    settings: dict[str, object]

    def label(self) -> str:
        return f"{self.table.id}: {numbers.label(self.table, self.row)}"


def repeats(published: Published) -> Outcomes:
    """Rows of any two tables, or of one, with all their common figures alike; and the cells of restated points."""
    places = [_place(table, row) for table in published.tables.values() for row in numbers.rows(table)]
    different = 0
    for one, other in combinations(places, 2):
        if other.table.id in one.table.meta.restates or one.table.id in other.table.meta.restates:
            continue
        common = _common(one, other)
        if _digits(one, common) >= DIGITS and len(common) > 1 and _alike(one, other, common):
            yield _repeated(one, other, common)
        elif _nearly(one, other, common):
            yield _one_apart(one, other, common)
        elif common:
            different += 1
    yield Passed("repeated figures", different)
    yield from _restated(places)


def _place(table: PublishedTable, row: int) -> Place:
    metrics = [name for name in table.metrics if numbers.has(table, row, name)]
    levels = {name: numbers.raw(table, row, name) for name in table.levels if numbers.has(table, row, name)}
    texts = {name: numbers.text(table, row, name) for name in metrics}
    return Place(table, row, texts, {**table.fixed, **levels})


def _common(one: Place, other: Place) -> list[str]:
    """Return the metrics that both rows print, of the same name and unit."""
    theirs = other.metrics
    return [
        name for name in one.metrics if name in theirs and one.table.fields[name].unit == other.table.fields[name].unit
    ]


def _alike(one: Place, other: Place, metrics: list[str]) -> bool:
    return all(one.metrics[name] == other.metrics[name] for name in metrics)


def _digits(place: Place, metrics: list[str]) -> int:
    """Significant digits of the printed metrics; leading zeros carry nothing."""
    texts = ("".join(c for c in place.metrics[name] if c.isdigit()).lstrip("0") for name in metrics)
    return sum(len(text) for text in texts)


def _nearly(one: Place, other: Place, common: list[str]) -> bool:
    """Return whether all common figures but one are alike, at least three of them, with seven digits together."""
    alike = [name for name in common if _alike(one, other, [name])]
    return len(alike) == len(common) - 1 >= ALIKE and _digits(one, alike) >= DIGITS - 1


def _one_apart(one: Place, other: Place, common: list[str]) -> Finding:
    name = next(name for name in common if not _alike(one, other, [name]))
    rest = [alike for alike in common if alike != name]
    sentence = (
        f"{one.label()} and {other.label()} have the same figures but for {name}: they look like one measurement, of "
        "which one figure was printed wrongly."
    )
    lines = [
        f"{name}: {one.metrics[name]}, but {other.metrics[name]}",
        *(f"{alike}: {one.metrics[alike]} = {other.metrics[alike]}" for alike in rest),
    ]
    return _of_two((one, other), f"all_but_{name}", "repeated figures", "suspicious", sentence, lines)


def _repeated(one: Place, other: Place, metrics: list[str]) -> Finding:
    mine, theirs = one.settings, other.settings
    apart = [name for name in mine if name in theirs and mine[name] != theirs[name]]
    said = (
        f"although {', '.join(f'{name} is {mine[name]} and {theirs[name]}' for name in apart)}: one may be a copy"
        if apart
        else "one measurement printed twice, so the two tables are not independent there"
    )
    sentence = f"{one.label()} and {other.label()} have the same {len(metrics)} figures, {said}."
    lines = [f"{name}: {one.metrics[name]} = {other.metrics[name]}" for name in metrics]
    return _of_two((one, other), "same_as", "repeated figures", "suspicious" if apart else "note", sentence, lines)


def _of_two(
    rows: tuple[Place, Place], id: str, kind: Kind, severity: Severity, sentence: str, lines: list[str]
) -> Finding:
    one, other = rows
    return Finding(
        id=f"{one.table.id}.row{one.row + 1}.{id}.{other.table.id}.row{other.row + 1}",
        where="; ".join(dict.fromkeys((numbers.where(one.table), numbers.where(other.table)))),
        kind=kind,
        severity=severity,
        sentence=sentence,
        arithmetic=lines,
    )


def _restated(places: list[Place]) -> Outcomes:
    same = 0
    for one in (place for place in places if place.table.meta.restates):
        twins = [place for place in places if place.table.id in one.table.meta.restates and _one_point(one, place)]
        if not twins:
            sentence = f"{one.label()} restates a point that {' and '.join(one.table.meta.restates)} does not have."
            lines = [f"{name}: {value}" for name, value in one.settings.items()]
            id = f"row{one.row + 1}.restates_nothing"
            yield table_finding(one.table, id, "restated", "contradiction", sentence, lines)
        for twin in twins:
            wrong = [name for name in _common(one, twin) if not _alike(one, twin, [name])]
            same += len(_common(one, twin)) - len(wrong)
            for place in (one, twin):
                yield Touched(place.table.id, frozenset((place.row, name) for name in _common(one, twin)))
            if wrong:
                yield _of_two(
                    (one, twin),
                    "restates",
                    "restated",
                    "contradiction",
                    f"{one.label()} and {twin.label()} are one point with different figures.",
                    [f"{name}: {one.metrics[name]}, but {twin.metrics[name]}" for name in wrong],
                )
    yield Passed("restated", same)


def _one_point(one: Place, other: Place) -> bool:
    """Return whether all settings that both rows print agree, some of those that tell rows apart among them."""
    mine, theirs = one.settings, other.settings
    keys = one.table.meta.table_schema.primary_key
    return all(name in theirs for name in keys) and all(mine[name] == theirs[name] for name in mine if name in theirs)
