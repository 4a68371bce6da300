"""Errors planted in documents, one at a time: how many does `benchbook audit` find, and what does it find unplanted?"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from rich.console import Console

from benchbook.documents.audit import audit_document
from benchbook.documents.tables import Reading, Table, reading

DOCUMENTS = Path(__file__).parent / "documents"
# Another folder of Markdown files is read as well.
OTHERS = "BENCHBOOK_DOCUMENTS"


class Planted(NamedTuple):
    """A document with one error in it, and the lines at which a finding counts as it."""

    text: str
    lines: set[int]


def measure(console: Console, errors: int = 500, seed: int = 1) -> dict[str, Any]:
    """the share of planted digits, swapped cells, percentages and overstated sentences that an audit finds"""
    folders = [DOCUMENTS, *([Path(os.environ[OTHERS])] if os.environ.get(OTHERS) else [])]
    files = [file for folder in folders for file in sorted(folder.glob("*.md"))]
    rng = random.Random(seed)
    tried, found, elsewhere = Counter[str](), Counter[str](), 0
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "document.md"
        before = {file: _found(file) for file in files}
        read = {file: reading(str(file)) for file in files}
        for number in range(50 * errors):
            kind = list(KINDS)[number % len(KINDS)]
            file = rng.choice(files)
            planted = KINDS[kind](read[file], rng)
            if planted is None or tried.total() == errors:
                continue
            copy.write_text(planted.text)
            new = _found(copy) - before[file]
            tried[kind] += 1
            found[kind] += any(line in planted.lines for line, _ in new)
            elsewhere += any(line not in planted.lines for line, _ in new)
    for kind in KINDS:
        console.print(f"{kind}: {found[kind]} of {tried[kind]} found")
    unchanged = sum(map(len, before.values()))
    console.print(
        f"{len(files)} documents; findings in the unchanged ones: {unchanged}; at other lines than planted: {elsewhere}"
    )
    return {
        "documents": len(files), "unchanged": unchanged, "elsewhere": elsewhere,
        **{kind: {"planted": tried[kind], "found": found[kind]} for kind in KINDS},
    }  # fmt: skip


def _found(file: Path) -> set[tuple[int, str]]:
    return {(one.line, one.kind) for one in audit_document(reading(str(file))).findings if one.severity != "note"}


def _cells(read: Reading, wanted: Callable[[Table, int, int], bool]) -> list[tuple[Table, int, int]]:
    """Return the table, row and column of cells whose text stands once in its line of the document."""
    lines = read.text.split("\n")
    return [
        (table, row, place)
        for table in read.tables
        for row, cells in enumerate(table.rows)
        for place, cell in enumerate(cells)
        if cell.figure and wanted(table, row, place) and lines[cell.line - 1].count(cell.text) == 1
    ]


def _replaced(read: Reading, table: Table, row: int, texts: dict[str, str]) -> Planted:
    lines = read.text.split("\n")
    line = table.rows[row][0].line
    pattern = "|".join(re.escape(old) for old in texts)
    lines[line - 1] = re.sub(pattern, lambda match: texts[match[0]], lines[line - 1])
    # A wrong figure breaks what stands below, beside and above it: the finding may be told of any row of its table.
    return Planted("\n".join(lines), {cells[0].line for cells in table.rows})


def _digit(read: Reading, rng: random.Random) -> Planted | None:
    cells = _cells(read, lambda table, row, place: table.columns[place].role in {"metric", "delta"})
    if not cells:
        return None
    table, row, place = rng.choice(cells)
    text = table.rows[row][place].text
    at = rng.choice([match.start() for match in re.finditer(r"\d", text)])
    other = rng.choice([digit for digit in "123456789" if digit != text[at]])
    return _replaced(read, table, row, {text: text[:at] + other + text[at + 1 :]})


def _swapped(read: Reading, rng: random.Random) -> Planted | None:
    pairs = [
        (table, row, place)
        for table, row, place in _cells(read, lambda table, row, place: table.columns[place].role == "metric")
        if place + 1 < len(table.columns)
        and table.columns[place + 1].role == "metric"
        and table.rows[row][place + 1].figure
        and table.rows[row][place].text != table.rows[row][place + 1].text
    ]
    if not pairs:
        return None
    table, row, place = rng.choice(pairs)
    one, other = (table.rows[row][at].text for at in (place, place + 1))
    return _replaced(read, table, row, {one: other, other: one})


def _percentage(read: Reading, rng: random.Random) -> Planted | None:
    cells = _cells(read, lambda table, row, place: table.columns[place].role == "delta")
    if not cells:
        return None
    table, row, place = rng.choice(cells)
    cell = table.rows[row][place]
    number = cell.figures[0].value
    wrong = number * rng.choice([0.5, 1.5, 2]) + 1
    decimals = len(re.sub(r"\D*$", "", cell.figures[0].printed).partition(".")[2])
    printed = re.sub(r"\d[\d,.]*", f"{abs(wrong):.{decimals}f}", cell.text, count=1)
    return _replaced(read, table, row, {cell.text: printed})


def _overstated(read: Reading, rng: random.Random) -> Planted | None:
    """A sentence below a table that says more than its first and last row, or more than all of its rows, show."""
    columns = [
        (table, place)
        for table in read.tables
        for place, column in enumerate(table.columns)
        if column.role == "metric" and column.quantity == "throughput" and len(table.rows) > 2
    ]
    if not columns:
        return None
    table, place = rng.choice(columns)
    first, last = table.number(0, place), table.number(len(table.rows) - 1, place)
    if not first or not last or first.value <= 0 or last.value <= first.value:
        return None
    heading = table.columns[place].heading
    level = next((one.heading for one in table.columns if one.role == "level"), "load")
    change = (last.value / first.value - 1) * 100
    words = [
        f"{heading} rises from {first.printed} to {last.printed}, an improvement of {change * 1.4 + 5:.0f}%.",
        f"{heading} scales linearly with the number of {level.lower()}.",
        f"{heading} peaks at {first.printed} {'TPS' if 'tps' in heading.lower() else 'QPS'}.",
    ]
    x = [number.value if (number := table.number(row, 0)) else 0.0 for row in (0, -1)]
    if not x[0] or not x[1] or 0.6 <= (last.value / first.value) / (x[1] / x[0]) <= 1.7:
        words.pop(1)
    lines = read.text.split("\n")
    end = max(cells[0].line for cells in table.rows)
    while end < len(lines) and lines[end].strip():
        end += 1
    return Planted("\n".join([*lines[:end], "", rng.choice(words), "", *lines[end:]]), {end + 2})


KINDS: dict[str, Callable[[Reading, random.Random], Planted | None]] = {
    "digit": _digit, "swapped cells": _swapped, "percentage": _percentage, "overstated sentence": _overstated,
}  # fmt: skip
