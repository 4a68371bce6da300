"""Checks what is printed: trailing zeros that a column keeps, the same figures in two places, and restated tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

from benchbook.audit.findings import Outcomes, table_finding
from benchbook.audit.rows import Row, where
from benchbook.documents.findings import Finding, Kind, Passed, Severity

CELLS = 4
"""The fewest cells from which a habit can be seen."""
ODD = 1 / 3
"""The largest share of cells that are exceptions from a habit; with more there is none. Two thirds are one."""
_NUMERAL = re.compile(r"(\d+)(?:\.(\d+))?")


class Printed(NamedTuple):
    """A cell as printed: decimals, significant digits (trailing zeros of whole numbers may be none), and what follows.

    `least` and `most` bound the significant digits.
    """

    row: Row
    text: str
    decimals: int
    least: int
    most: int
    unit: str


def digits(tables: Sequence[Sequence[Row]]) -> Outcomes:
    """Yield every metric; tables of fewer than four rows are taken together where they have the same metric."""
    groups: dict[tuple[str, ...], list[Printed]] = {}
    for rows in tables:
        table = rows[0].table
        for metric in table.metrics:
            cells = [_printed(row, metric) for row in rows if row.prints(metric)]
            alone = table.id if len(cells) >= CELLS else ""
            for cell in cells:
                groups.setdefault((metric, alone, table.fields[metric].unit, cell.unit), []).append(cell)
    for (metric, *_), cells in groups.items():
        exceptions = _exceptions(cells) if len(cells) >= CELLS else None
        if exceptions is not None:
            yield Passed("printed digits", len(cells) - len(exceptions))
        if exceptions:
            yield _other_digits(metric, cells, exceptions)


def _printed(row: Row, metric: str) -> Printed:
    text = re.sub(r"(?<=\d)[,\u00a0\u2009\u202f '’](?=\d{3}(?!\d))", "", row.texts[metric])
    found = _NUMERAL.search(text)
    whole, decimals = (found[1], found[2] or "") if found else ("", "")
    significant = (whole + decimals).lstrip("0")
    least = significant if decimals else significant.rstrip("0")
    unit = text[found.end() :] if found else text
    return Printed(row, text, len(decimals), len(least), len(significant), unit)


def _exceptions(cells: list[Printed]) -> list[Printed] | None:
    """Return the cells that leave the column's habit, decimals or significant digits; None where there is no habit."""
    (decimals, _), *_ = Counter(cell.decimals for cell in cells).most_common(1)
    (figures, _), *_ = Counter(cell.most for cell in cells).most_common(1)
    other_decimals = [cell for cell in cells if cell.decimals != decimals]
    other_figures = [cell for cell in cells if not cell.least <= figures <= cell.most]
    fewest = min(other_decimals, other_figures, key=len)
    return fewest if len(fewest) <= ODD * len(cells) else None


def _other_digits(metric: str, cells: list[Printed], odd: list[Printed]) -> Finding:
    usual = next(cell.text for cell in cells if cell not in odd)
    return Finding(
        id=f"{odd[0].row.table.id}.{metric}.digits",
        where="; ".join(dict.fromkeys(where(cell.row.table) for cell in odd)),
        kind="printed digits",
        severity="note",
        sentence=f"{metric} is printed with other digits in {len(odd)} of {len(cells)} cells: a digit may have been "
        "lost or added, or the figure comes from another source.",
        arithmetic=[
            f"{cell.row.table.id}, {cell.row.label}: {cell.text}, where others print digits as in {usual}"
            for cell in odd
        ],
    )


# -- printed twice -----------------------------------------------------------------------------------------------------

DIGITS = 8
"""Significant digits that must agree before two rows count as one measurement printed twice, and not as chance."""

ALIKE = 3
"""Figures that must be alike before another one that differs counts as a slip."""


def repeats(rows: Sequence[Row]) -> Outcomes:
    """Rows of any two tables, or of one, with all their common figures alike; and the cells of restated points."""
    different = 0
    for one, other in combinations(rows, 2):
        if other.table.id in one.table.meta.restates or one.table.id in other.table.meta.restates:
            continue
        alike, unlike = _compared(one, other)
        # Leading zeros carry nothing.
        shared_digits = sum(len("".join(filter(str.isdigit, one.texts[name])).lstrip("0")) for name in alike)
        if not unlike and len(alike) > 1 and shared_digits >= DIGITS:
            yield _repeated(one, other, alike)
        elif len(unlike) == 1 and len(alike) >= ALIKE and shared_digits >= DIGITS - 1:
            sentence = (
                f"{_label(one)} and {_label(other)} have the same figures but for {unlike[0]}: they look like one "
                "measurement, of which one figure was printed wrongly."
            )
            lines = [*_lines(one, other, unlike), *_lines(one, other, alike)]
            yield _of_two(one, other, f"all_but_{unlike[0]}", "repeated figures", "suspicious", sentence, lines)
        elif alike or unlike:
            different += 1
    yield Passed("repeated figures", different)
    yield from _restated(rows)


def _compared(one: Row, other: Row) -> tuple[list[str], list[str]]:
    """Return the metrics of the same name and unit that both rows print: those printed alike, and the others."""
    fields, theirs = one.table.fields, other.table.fields
    common = [name for name in one.texts if name in other.texts and fields[name].unit == theirs[name].unit]
    alike = [name for name in common if one.texts[name] == other.texts[name]]
    return alike, [name for name in common if name not in alike]


def _label(row: Row) -> str:
    return f"{row.table.id}: {row.label}"


def _settings(row: Row) -> dict[str, Any]:
    return {name: row.cells[name] for name in [*row.table.fixed, *row.table.levels] if row.prints(name)}


def _lines(one: Row, other: Row, metrics: Sequence[str]) -> list[str]:
    return [
        f"{name}: {one.texts[name]}{' = ' if one.texts[name] == other.texts[name] else ', but '}{other.texts[name]}"
        for name in metrics
    ]


def _repeated(one: Row, other: Row, metrics: list[str]) -> Finding:
    mine, theirs = _settings(one), _settings(other)
    apart = [name for name in mine if name in theirs and mine[name] != theirs[name]]
    said = (
        f"although {', '.join(f'{name} is {mine[name]} and {theirs[name]}' for name in apart)}: one may be a copy"
        if apart
        else "one measurement printed twice, so the two tables are not independent there"
    )
    sentence = f"{_label(one)} and {_label(other)} have the same {len(metrics)} figures, {said}."
    severity: Severity = "suspicious" if apart else "note"
    return _of_two(one, other, "same_as", "repeated figures", severity, sentence, _lines(one, other, metrics))


def _of_two(one: Row, other: Row, id: str, kind: Kind, severity: Severity, sentence: str, lines: list[str]) -> Finding:
    return Finding(
        id=f"{one.table.id}.row{one.number + 1}.{id}.{other.table.id}.row{other.number + 1}",
        where="; ".join(dict.fromkeys((where(one.table), where(other.table)))),
        kind=kind,
        severity=severity,
        sentence=sentence,
        arithmetic=lines,
    )


def _restated(rows: Sequence[Row]) -> Outcomes:
    same = 0
    for one in (row for row in rows if row.table.meta.restates):
        restates = one.table.meta.restates
        twins = [row for row in rows if row.table.id in restates and _is_one_point(one, row)]
        if not twins:
            sentence = f"{_label(one)} restates a point that {' and '.join(restates)} does not have."
            lines = [f"{name}: {value}" for name, value in _settings(one).items()]
            id = f"row{one.number + 1}.restates_nothing"
            yield table_finding(one.table, id, "restated", "contradiction", sentence, lines)
        for twin in twins:
            alike, unlike = _compared(one, twin)
            same += len(alike)
            if unlike:
                sentence = f"{_label(one)} and {_label(twin)} are one point with different figures."
                lines = _lines(one, twin, unlike)
                yield _of_two(one, twin, "restates", "restated", "contradiction", sentence, lines)
    yield Passed("restated", same)


def _is_one_point(one: Row, other: Row) -> bool:
    """Return whether all settings that both rows print agree, some of those that tell rows apart among them."""
    mine, theirs = _settings(one), _settings(other)
    keys = one.table.meta.table_schema.primary_key
    return all(name in theirs for name in keys) and all(mine[name] == theirs[name] for name in mine if name in theirs)
