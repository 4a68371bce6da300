"""How many single slips in published tables the audit finds: part of `make bench`. Plants one at a time, and audits."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from rich.console import Console

from benchbook import published
from benchbook.audit import numbers
from benchbook.audit.findings import Finding
from benchbook.audit.whole import audit
from benchbook.published.tables import Published, PublishedTable

SEED = 13
_NUMERAL = re.compile(r"\d+(?:\.\d+)?")
_FACTORS = {"unit slip": (1000.0, 0.001, 60.0, 1 / 60), "decimal shift": (10.0, 0.1)}


class Plant(NamedTuple):
    """One slip: the cells of a table's metric that it changes, as row and printed text."""

    kind: str
    table: str
    metric: str
    cells: tuple[tuple[int, str], ...]


def planted_errors(console: Console) -> dict[str, Any]:
    """the share of single planted slips that the audit finds, by kind and by table of the five reports"""
    found = measure(published.known_reports())
    for key in ("kind", "table"):
        console.print(recall(found, key).to_string(), markup=False)
    return {
        "recall": float(found.found.mean()),
        "planted": len(found),
        "by_kind": recall(found, "kind").reset_index().to_dict("records"),
        "by_table": recall(found, "table").reset_index().to_dict("records"),
    }


def measure(reports: Sequence[str], root: Path | None = None, *, share: float = 1.0, seed: int = SEED) -> pd.DataFrame:
    """A row per planted slip: report, table (report/table), kind, metric, row, printed, found.

    `share` of the slips are planted, drawn with `seed`; the audit of the unchanged report is what they are held
    against.
    """
    rows = []
    for name in reports:
        report, chance = published.load(name, root), random.Random(f"{seed} {name}")
        before = _said(audit(report).findings)
        for plant in plants(report, chance):
            if chance.random() < share:
                rows.append(_row(report, plant, before))
    return pd.DataFrame(rows)


def recall(found: pd.DataFrame, by: str) -> pd.DataFrame:
    """Found slips, planted ones and their ratio, a row per value of the column `by`."""
    table = found.groupby(by, sort=False).found.agg(["sum", "count", "mean"])
    return table.set_axis(["found", "planted", "recall"], axis=1)


def plants(report: Published, chance: random.Random) -> Iterator[Plant]:
    """Every slip that is planted into a report, one after the other, each on its own."""
    for table in report.tables.values():
        for metric in table.metrics:
            rows = [row for row in numbers.rows(table) if numbers.has(table, row, metric)]
            for row in rows:
                text = numbers.text(table, row, metric)
                for kind, slip in _slips(text, chance):
                    yield Plant(kind, table.id, metric, ((row, slip),))
            for one, other in pairwise(rows):
                texts = [numbers.text(table, row, metric) for row in (one, other)]
                if texts[0] != texts[1]:
                    yield Plant("swapped rows", table.id, metric, ((one, texts[1]), (other, texts[0])))


def planted(report: Published, plant: Plant) -> Published:
    """The report with the slip in it."""
    table = report.table(plant.table)
    frame, printed = table.frame.copy(), table.printed.copy()
    frame[plant.metric] = frame[plant.metric].astype("float64")
    for row, text in plant.cells:
        frame.loc[row, plant.metric] = _value(table, plant, text)
        printed.loc[row, plant.metric] = text
    return replace(report, tables={**report.tables, table.id: replace(table, frame=frame, printed=printed)})


def _value(table: PublishedTable, plant: Plant, text: str) -> float:
    """The number of a printed text, in the unit of the column: the unit of the print is that of the first cell."""
    row = plant.cells[0][0]
    value = float(numbers.raw(table, row, plant.metric))
    return _numeral(text) * value / _numeral(numbers.text(table, row, plant.metric))


def _numeral(text: str) -> float:
    found = _NUMERAL.search(text)
    return float(found[0]) if found else float("nan")


def _slips(text: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    found = _NUMERAL.search(text)
    digits = found[0] if found else ""
    for kind, slip in _digit_slips(digits, chance):
        if float(slip) > 0:
            yield kind, text.replace(digits, slip, 1)
    for kind, factors in _FACTORS.items():
        for factor in factors:
            yield kind, text.replace(digits, _times(digits, factor), 1)


def _digit_slips(digits: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    others = [digit for digit in "0123456789" if digit != digits[-1]]
    for digit in chance.sample(others, 2):
        yield "trailing digit", digits[:-1] + digit
    if "." in digits:
        yield "dropped digit", digits[:-1].rstrip(".")
    places = [
        place
        for place in range(len(digits) - 1)
        if digits[place] != digits[place + 1] and "." not in digits[place:][:2]
    ]
    if places:
        place = chance.choice(places)
        yield "swapped digits", digits[:place] + digits[place + 1] + digits[place] + digits[place + 2 :]


def _times(digits: str, factor: float) -> str:
    """A numeral with its digits kept, the point moved; for a factor that is no power of ten, as many digits."""
    count = len(digits.replace(".", "").lstrip("0"))
    value = float(digits) * factor
    places = max(0, count - 1 - _exponent(value))
    return f"{value:.{places}f}"


def _exponent(value: float) -> int:
    return int(f"{value:e}".partition("e")[2])


Said = dict[str, tuple[str, tuple[str, ...]]]


def _said(findings: Sequence[Finding]) -> Said:
    return {finding.id: (finding.sentence, tuple(finding.arithmetic)) for finding in findings}


def _row(report: Published, plant: Plant, before: Said) -> dict[str, Any]:
    changed = planted(report, plant)
    table = changed.table(plant.table)
    labels = [numbers.label(table, row) for row, _ in plant.cells]
    found = any(_new(id, said, before, labels) for id, said in _said(audit(changed).findings).items())
    row, text = plant.cells[0]
    return {
        "report": report.report.name,
        "table": f"{report.report.name}/{plant.table}",
        "kind": plant.kind,
        "metric": plant.metric,
        "row": row,
        "printed": text,
        "found": found,
    }


def _new(id: str, said: tuple[str, tuple[str, ...]], before: Said, labels: list[str]) -> bool:
    """Whether a finding was not there before, or now speaks of other figures of a row with a slip."""
    if id not in before:
        return True
    sentence, lines = before[id]
    fresh = [line for line in said[1] if line not in lines and any(label in line for label in labels)]
    return said[0] != sentence or bool(fresh)
