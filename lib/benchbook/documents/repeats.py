"""The same figures twice: a copy, or one measurement of which one figure was printed wrongly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import isclose
from typing import NamedTuple

from benchbook.documents.cell_findings import cell_finding
from benchbook.documents.findings import Finding, Severity
from benchbook.documents.tables import Reading, Table


def _telling(row: _Row, names: Sequence[str]) -> list[float]:
    """Return the figures that two runs would hardly share: of three digits, and no other figure of the row again."""
    found = list[float]()
    for name in names:
        place, text = row.texts[name]
        value = number.value if (number := row.table.rows[row.row][place].figure) else 0.0
        if len(re.sub(r"\D", "", text).strip("0")) >= 3 and not any(isclose(value, one, rel_tol=1e-3) for one in found):
            found.append(value)
    return found


def _is_other_load(one: _Row, other: _Row) -> bool:
    """Return whether two rows of a table were run differently, and are not two runs: PostgreSQL-1-1 and PostgreSQL-1-2."""
    for place, column in enumerate(one.table.columns):
        texts = [each.table.rows[each.row][place].text for each in (one, other)]
        if column.role == "level" and texts[0] != texts[1]:
            if not _RUNS.search(column.heading) and column.quantity in {"concurrency", "setting"}:
                return True
            first, second = (re.sub(r"\d+", "0", text) for text in texts)
            if first != second or (not _RUNS.search(column.heading) and first == "0"):
                return True
    return False


_RUNS = re.compile(
    r"\brun|run\b|experiment|\bids?\b|_id\b|iteration|trial|repetition|\brep\b|round|轮|次数", re.IGNORECASE
)


class _Row(NamedTuple):
    table: Table
    row: int
    texts: dict[str, tuple[int, str]]
    label: str


def repeated(read: Reading) -> Iterator[Finding]:
    """Yield rows with the same figures in two places, and rows of one configuration of which one figure differs."""
    found = list(_repeated(read))
    # Where many rows are printed twice, that is how the document is made, and no slip.
    if sum(one.severity != "note" for one in found) > 3:
        found = [one.model_copy(update={"severity": "note"}) for one in found]
    alike: dict[tuple[str, str], list[Finding]] = {}
    for one in found:
        # Of rows that two tables share, one note says it.
        key = (one.where, one.sentence.partition(",")[0]) if one.severity == "note" else ("", one.id)
        alike.setdefault(key, []).append(one)
    for first, *more in alike.values():
        told = {
            "sentence": f"{first.sentence} The same holds for {len(more) + 1} rows in all.",
            "arithmetic": [*first.arithmetic, *(f"line {one.line}: {one.arithmetic[0]}" for one in more)],
        }
        yield first.model_copy(update=told if more else {})


def _repeated(read: Reading) -> Iterator[Finding]:
    rows: list[_Row] = []
    for table in read.tables:
        metrics = [
            place
            for place, column in enumerate(table.columns)
            if column.role == "metric" and column.quantity not in {"cost", "size", "count"}
        ]
        for row, cells in enumerate(table.rows):
            texts = {
                table.columns[place].heading: (place, cells[place].text) for place in metrics if cells[place].figure
            }
            rows.append(_Row(table, row, texts, table.label(row)))
    alike: dict[tuple[str, str], list[int]] = {}
    for number, one in enumerate(rows):
        for name, (_, text) in one.texts.items():
            alike.setdefault((name, text), []).append(number)
    # What stands in many rows tells none of them.
    pairs = Counter(pair for numbers in alike.values() if len(numbers) <= 50 for pair in combinations(numbers, 2))
    for a, b in sorted(pair for pair, count in pairs.items() if count >= 2):
        one, other = rows[a], rows[b]
        common = [name for name in one.texts if name in other.texts]
        same = [name for name in common if one.texts[name][1] == other.texts[name][1]]
        digits = sum(len(re.sub(r"\D", "", one.texts[name][1]).strip("0")) for name in same)
        if len(common) < 2 or digits < 8 or len(same) < len(common) - 1:
            continue
        places = f"{one.table.id}, {one.label} and {other.table.id}, {other.label}"
        lines = [f"{name}: {one.texts[name][1]} and {other.texts[name][1]}" for name in common]
        place = other.texts[same[0]][0]
        if len(same) == len(common) and len(same) >= (3 if one.table is other.table else 2):
            severity: Severity = (
                "suspicious" if one.table is other.table and _is_other_load(one, other) and len(same) >= 3 else "note"
            )
            sentence = (
                f"{places} have the same {len(same)} figures: one may be a copy, or one measurement is printed twice."
            )
            yield cell_finding(other.table, other.row, place, "repeated figures", severity, sentence, lines, 0.8)
        elif len(_telling(one, same)) >= 3 and one.label == other.label:
            odd = next(name for name in common if name not in same)
            column = other.table.columns[other.texts[odd][0]]
            if not column.quantity and not column.unit:
                continue  # LS_ID, PORT: what tells the rows apart, and no measurement
            sentence = f"{places} have the same figures but for {odd}: they look like one measurement, of which one figure was printed wrongly."
            yield cell_finding(
                other.table, other.row, other.texts[odd][0], "repeated figures", "suspicious", sentence, lines, 0.75
            )
