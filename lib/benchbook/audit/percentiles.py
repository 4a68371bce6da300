"""Checks latencies: percentiles in order, against the mean and their histogram; means against clients and throughput.

Markov's inequality: of times that are not negative, at most a share of 1/k is k times the mean or more (A. A. Markov,
1884; W. Feller, *An Introduction to Probability Theory and Its Applications* 2, 1971, V.7), so the 95% quantile is at
most 20 means, the 99% quantile at most 100.

sysbench counts latencies in 1,024 buckets, spread evenly over the logarithm of 0.001 to 100,000 ms, and prints a
bucket's value with two decimals (A. Kopytov, sysbench 1.0, src/sb_histogram.c). They lie 1.8% apart, so that a wrong
digit is often a value that sysbench never prints.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from benchbook.audit.findings import Outcomes, table_finding
from benchbook.audit.rows import Row, with_levels
from benchbook.documents.findings import LITTLE_BROKEN, Passed, Severity, figure
from benchbook.documents.units import SECONDS
from benchbook.published.arithmetic import above, evaluate, spelled
from benchbook.published.declarations import Buckets
from benchbook.published.reading import resolution
from benchbook.published.tables import PublishedTable
from benchbook.stats.latency import percent_of
from benchbook.stats.rounding import BUCKET_STEP, FIRST_MS

_PERCENTILE = re.compile(r"^(?P<before>(?:.*_)?)p(?P<digits>\d{1,4})(?P<after>(?:_.*)?)$")
_MEAN = re.compile(r"^(?P<before>(?:.*_)?)(?:mean|avg|average)(?P<after>(?:_.*)?)$")
_OPEN = {"rate", "target_rate", "offered_rate"}
_SCALES = {"_ms": "1000", "_s": "1", "_us": "1000000"}


LITTLE = 0.004
"""The share by which clients may differ from throughput x mean time (Little's law), beyond rounding.

Of 80 public outputs of sysbench none is further off than 0.31%, of 13 of pgbench none at all.
"""
# A row that rounding leaves open by a tenth tells nothing; fewer than four rows that fit do not show a closed loop.
SHARP, OTHERS = 0.1, 4


class PrintedPercentile(NamedTuple):
    """A column of a percentile: its share in percent, and what else its name says."""

    column: str
    percent: float
    of: tuple[str, str]


class Mean(NamedTuple):
    """Arithmetic that comes to the mean of what a percentile is of, in the rows where it does."""

    expression: str
    rows: Sequence[Row]
    severity: Severity
    why: str


def latencies(table: PublishedTable, rows: Sequence[Row]) -> Outcomes:
    """Percentiles of a table, by the names of its columns."""
    found = [
        PrintedPercentile(name, percent, (m["before"], m["after"]))
        for name in table.metrics
        if (m := _PERCENTILE.match(name)) and (percent := percent_of(name)) is not None
    ]
    for low, high in combinations(sorted(found, key=lambda one: one.percent), 2):
        if low.of == high.of and low.percent < high.percent:
            yield from _ordered(table, rows, low.column, high.column)
    for percentile in found:
        for mean in _means(table, rows, percentile):
            yield from _markov(table, percentile, mean)


def _ordered(table: PublishedTable, rows: Sequence[Row], low: str, high: str) -> Outcomes:
    both = [row for row in rows if row.prints(low, high)]
    wrong = [row for row in both if above(row.known[low], row.known[high])]
    yield Passed("percentiles", len(both) - len(wrong))
    if wrong:
        sentence = (
            f"In {len(wrong)} of {len(both)} rows {low} is above {high}, which cannot be: a higher "
            "percentile of the same times is never smaller."
        )
        lines = [f"{row.label}: {row.words[low]} > {row.words[high]}" for row in wrong]
        yield table_finding(table, f"{low}.above.{high}", "percentiles", "contradiction", sentence, lines)


def _means(table: PublishedTable, rows: Sequence[Row], percentile: PrintedPercentile) -> list[Mean]:
    """Means by a column's name, by what is declared of Little's law, and else by threads / tps of a closed loop."""
    found = [
        Mean(name, rows, "contradiction", "both are printed")
        for name in table.metrics
        if (match := _MEAN.match(name)) and (match["before"], match["after"]) == percentile.of
    ]
    law = "in a closed loop the mean time is the clients over the throughput (Little's law)"
    found += [
        Mean(one.left, with_levels(rows, one.rows), "suspicious", law)
        for one in table.identities
        if one.kind == "Little's law" and one.right == percentile.column and one.relation == "<="
    ]
    # A ladder of threads with tps and a latency of nothing but the load is a closed loop, if no rate is offered.
    scale = _SCALES.get(percentile.of[1])
    ladder = "threads" in table.meta.table_schema.primary_key and "tps" in table.metrics
    closed = ladder and scale and not percentile.of[0] and not _OPEN & {*table.levels, *table.fixed}
    return found or ([Mean(f"threads / tps * {scale}", rows, "suspicious", law)] if closed else [])


def littles_law(rows: Sequence[Row]) -> Outcomes:
    """Yield the row of a report whose clients, throughput and mean time do not fit, where those of all others do."""
    laws = [
        (row, expression, law)
        for row in rows
        for name in row.texts
        if (match := _MEAN.match(name)) and not match["before"] and not _OPEN & row.cells.keys()
        and row.prints("threads", "tps") and (scale := _SCALES.get(match["after"]))
        and (law := evaluate(expression := f"threads / (tps * {name}) * {scale}", row.known))
        and law.high - law.low < SHARP
    ]  # fmt: skip
    off = [one for one in laws if one[2].low > 1 + LITTLE or one[2].high < 1 - LITTLE]
    if len(laws) - len(off) < OTHERS or len(off) > 1:
        return
    yield Passed("Little's law", len(laws) - len(off))
    for row, expression, law in off:
        said = (
            f"Clients over throughput and mean time come to {figure(law.value)} with {row.label}, and to 1 in "
            f"{len(laws) - 1} other rows, as they do in a closed loop (Little's law): {LITTLE_BROKEN}."
        )
        line = f"{spelled(expression, row.words.__getitem__)} = {figure(law.value)}"
        yield table_finding(row.table, f"law.{row.key}", "Little's law", "suspicious", said, [line])


def _markov(table: PublishedTable, percentile: PrintedPercentile, mean: Mean) -> Outcomes:
    column, percent = percentile.column, percentile.percent
    if percent >= 100:
        return
    times = f"{100 / (100 - percent):g}"
    bounds = [
        (row, bound)
        for row in mean.rows
        if row.prints(column) and (bound := evaluate(f"({mean.expression}) * {times}", row.known))
    ]
    wrong = [(row, bound) for row, bound in bounds if above(row.known[column], bound)]
    yield Passed("Markov's inequality", len(bounds) - len(wrong))
    if wrong:
        sentence = (
            f"In {len(wrong)} of {len(bounds)} rows {column} is more than {times} times the mean "
            f"{spelled(mean.expression, str)}, which no distribution allows: more than {100 - percent:g}% of the times "
            f"would have to be that long, and they alone would raise the mean above itself; {mean.why}."
        )
        lines = [
            f"{row.label}: {row.words[column]} > {times} x "
            f"{spelled(mean.expression, row.words.__getitem__)} = {figure(bound.value)}"
            for row, bound in wrong
        ]
        yield table_finding(table, f"{column}.far_above_mean", "Markov's inequality", mean.severity, sentence, lines)


# -- values of a histogram ---------------------------------------------------------------------------------------------

PRINTED = 0.01
"""What sysbench itself rounds to, in ms: a shorter figure was rounded twice."""


class BucketCell(NamedTuple):
    """A row's percentile beside the nearest values in ms that can be printed, and whether it is one, or one cut off."""

    row: Row
    below: float
    above: float
    holds: bool
    cut: bool


def buckets(table: PublishedTable, rows: Sequence[Row]) -> Outcomes:
    """Yield every percentile that is declared to come from a histogram."""
    for declared in table.meta.buckets:
        cells = bucket_cells(rows, declared)
        wrong = [cell for cell in cells if not cell.holds]
        yield Passed("buckets", len(cells) - len(wrong))
        if wrong:
            severity: Severity = "note" if all(cell.cut for cell in wrong) else declared.severity
            sentence = (
                f"In {len(wrong)} of {len(cells)} rows {declared.metric} is no value that {declared.of} prints: its "
                f"histogram has steps of {math.expm1(BUCKET_STEP):.1%}; {declared.why}."
            )
            lines = [
                f"{cell.row.label}: {cell.row.words[declared.metric]} lies between {cell.below:.2f} and "
                f"{cell.above:.2f} ms, the nearest that can be printed"
                f"{f'; {cell.above:.2f} with its last digits cut off' if cell.cut else ''}"
                for cell in wrong
            ]
            yield table_finding(table, declared.id, "buckets", severity, sentence, lines)


def bucket_cells(rows: Sequence[Row], declared: Buckets) -> list[BucketCell]:
    """The cells of which one printed otherwise could be told: where buckets lie further apart than printed digits."""
    printed = [row for row in with_levels(rows, declared.rows) if row.cells.get(declared.metric, 0) > 0]
    return [cell for row in printed if (cell := _bucket_cell(row, declared.metric))]


def _bucket_cell(row: Row, metric: str) -> BucketCell | None:
    scale = SECONDS[row.table.fields[metric].unit] * 1000
    value = row.cells[metric] * scale
    place = resolution(row.cells[metric], row.texts[metric]) * scale
    step = math.floor(math.log(value / FIRST_MS) / BUCKET_STEP)
    below, above = (FIRST_MS * math.exp(BUCKET_STEP * at) for at in (step, step + 1))
    twice = PRINTED / 2 if place > PRINTED else 0.0
    room = place / 2 + twice + 1e-9 * value
    if above - below <= 2 * room:
        return None
    holds = value - below <= room or above - value <= room
    return BucketCell(row, below, above, holds, not holds and 0 <= above - value < place + twice)
