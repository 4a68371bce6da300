"""The same figures twice: a copy, or one measurement in two places, of which one figure may be printed wrongly."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from benchbook.documents.cell_findings import cell_finding
from benchbook.documents.findings import Finding, Severity
from benchbook.documents.tables import Reading, Table
from benchbook.documents.units import factor


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


SHARED = 20
"""A figure that stands in more rows under one heading tells none of them from others.

240 public documents have the same findings with 4 to 50; with 3 one that is right is lost, without it come 5 by chance.
"""
_RUNS = re.compile(
    r"\brun|run\b|experiment|\bids?\b|_id\b|iteration|trial|repetition|\brep\b|round|轮|次数", re.IGNORECASE
)


class _Row(NamedTuple):
    table: Table
    row: int
    places: dict[str, int]
    texts: dict[str, str]

    @property
    def label(self) -> str:
        return self.table.label(self.row)


def repeated(read: Reading) -> Iterator[Finding]:
    """Yield rows with the same figures in two places, and those with the same but for one."""
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
        # Sizes are alike where nothing was copied.
        metrics = [
            place
            for place in table.places("metric")
            if table.columns[place].quantity not in {"cost", "size", "count"}
            and not factor(table.columns[place].unit, "B")
        ]
        for row, cells in enumerate(table.rows):
            places = {table.columns[place].heading: place for place in metrics if cells[place].figure}
            rows.append(_Row(table, row, places, {name: cells[place].text for name, place in places.items()}))
    alike: dict[tuple[str, str], list[int]] = {}
    for number, one in enumerate(rows):
        for printed in one.texts.items():
            alike.setdefault(printed, []).append(number)
    pairs = Counter(pair for numbers in alike.values() if len(numbers) <= SHARED for pair in combinations(numbers, 2))
    for a, b in sorted(pair for pair, count in pairs.items() if count >= 2):
        one, other = rows[a], rows[b]
        common = [name for name in one.texts if name in other.texts]
        same = [name for name in common if one.texts[name] == other.texts[name]]
        # One figure under two headings is one: TPS and QPS.
        told = {one.texts[name] for name in same if len(alike[name, one.texts[name]]) <= SHARED}
        digits = [len(re.sub(r"\D", "", text).strip("0")) for text in told]
        odd = [name for name in common if name not in same]
        if sum(digits) < 8 or len(odd) > 1:
            continue
        if odd:
            # Two runs hardly share three figures of three digits; LS_ID, PORT tell rows apart and are no measurement.
            alike_by_chance = sum(count >= 3 for count in digits) < 3
            column = other.table.columns[other.places[odd[0]]]
            if alike_by_chance or one.label != other.label or not (column.quantity or column.unit):
                continue
        elif len(same) < (3 if one.table is other.table else 2):
            continue
        is_slip = odd or (one.table is other.table and _is_other_load(one, other))
        severity: Severity = "suspicious" if is_slip else "note"
        both = f"{one.table.id}, {one.label} and {other.table.id}, {other.label}"
        sentence = f"{both} have the same {len(same)} figures: one may be a copy, or one measurement is printed twice."
        if odd:
            sentence = f"{both} have the same figures but for {odd[0]}: they look like one measurement, of which one figure was printed wrongly."
        lines = [f"{name}: {one.texts[name]} and {other.texts[name]}" for name in [*odd, *same]]
        place = other.places[[*odd, *same][0]]
        yield cell_finding(other.table, other.row, place, "repeated figures", severity, sentence, lines, 0.8)
