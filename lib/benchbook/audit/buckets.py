"""Checks percentiles against the histogram that they were read from: only the values of its buckets can be printed.

sysbench counts latencies in 1,024 buckets, spread evenly over the logarithm of 0.001 to 100,000 ms, and prints a
bucket's value with two decimals (A. Kopytov, sysbench 1.0, src/sb_histogram.c). They lie 1.8% apart, so that a wrong
digit is often a value that sysbench never prints.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from benchbook.audit import numbers
from benchbook.audit.findings import Outcomes, Touched
from benchbook.documents.findings import Finding, Passed, Severity
from benchbook.documents.units import SECONDS
from benchbook.published.declarations import Buckets
from benchbook.published.reading import resolution
from benchbook.published.tables import Published, PublishedTable
from benchbook.stats.rounding import BUCKET_STEP, FIRST_MS

PRINTED = 0.01
"""What sysbench itself rounds to, in ms: a shorter figure was rounded twice."""


class BucketCell(NamedTuple):
    """A printed percentile in ms, the nearest values below and above that can be printed, and whether it is one."""

    row: int
    value: float
    below: float
    above: float
    holds: bool
    cut: bool


def buckets(published: Published) -> Outcomes:
    """Every percentile that is declared to come from a histogram."""
    for table in published.tables.values():
        for declared in table.meta.buckets:
            yield from _checked(published, table, declared)


def bucket_cells(table: PublishedTable, declared: Buckets) -> list[BucketCell]:
    """The cells of which one printed otherwise could be told: where buckets lie further apart than printed digits."""
    rows = [row for row in table.matching(declared.rows) if numbers.has(table, row, declared.metric)]
    found = (_cell(table, row, declared) for row in rows if float(numbers.raw(table, row, declared.metric)) > 0)
    return [cell for cell in found if cell]


def _cell(table: PublishedTable, row: int, declared: Buckets) -> BucketCell | None:
    scale = SECONDS[table.fields[declared.metric].unit] * 1000
    value = float(numbers.raw(table, row, declared.metric))
    place = resolution(value, numbers.text(table, row, declared.metric)) * scale
    value *= scale
    below, above = _around(value)
    twice = PRINTED / 2 if place > PRINTED else 0.0
    room = place / 2 + twice + 1e-9 * value
    if above - below <= 2 * room:
        return None
    holds = value - below <= room or above - value <= room
    cut = not holds and 0 <= above - value < place + twice
    return BucketCell(row, value, below, above, holds, cut)


def _around(value: float) -> tuple[float, float]:
    place = math.log(value / FIRST_MS) / BUCKET_STEP
    below, above = (FIRST_MS * math.exp(BUCKET_STEP * at) for at in (math.floor(place), math.floor(place) + 1))
    return below, above


def _checked(published: Published, table: PublishedTable, declared: Buckets) -> Outcomes:
    cells = bucket_cells(table, declared)
    wrong = [cell for cell in cells if not cell.holds]
    yield Passed("buckets", len(cells) - len(wrong))
    yield Touched(table.id, frozenset((cell.row, declared.metric) for cell in cells))
    if wrong:
        severity: Severity = "note" if all(cell.cut for cell in wrong) else declared.severity
        yield Finding(
            id=f"{table.id}.{declared.id}",
            report=published.report.name,
            where=numbers.where(table),
            kind="buckets",
            severity=severity,
            sentence=f"In {len(wrong)} of {len(cells)} rows {declared.metric} is no value that {declared.of} prints: "
            f"its histogram has steps of {math.expm1(BUCKET_STEP):.1%}; {declared.why}.",
            arithmetic=[_line(table, declared, cell) for cell in wrong],
        )


def _line(table: PublishedTable, declared: Buckets, cell: BucketCell) -> str:
    printed = numbers.cell(table, cell.row, declared.metric)
    cut = f"; {cell.above:.2f} with its last digits cut off" if cell.cut else ""
    return (
        f"{numbers.label(table, cell.row)}: {printed} lies between {cell.below:.2f} and {cell.above:.2f} ms, "
        f"the nearest that can be printed{cut}"
    )
