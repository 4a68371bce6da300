"""Checks percentiles: in order, against the mean, and against the histogram that they were read from.

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
from itertools import combinations
from typing import NamedTuple

from benchbook.audit import numbers
from benchbook.audit.findings import Outcomes, Touched, table_finding, touched
from benchbook.audit.judgement import case_of
from benchbook.documents.findings import Passed, Severity, figure
from benchbook.documents.units import SECONDS
from benchbook.published.arithmetic import above, evaluate, names, spelled
from benchbook.published.declarations import Buckets
from benchbook.published.reading import resolution
from benchbook.published.tables import Published, PublishedTable
from benchbook.stats.latency import percent_of
from benchbook.stats.rounding import BUCKET_STEP, FIRST_MS

_PERCENTILE = re.compile(r"^(?P<before>(?:.*_)?)p(?P<digits>\d{1,4})(?P<after>(?:_.*)?)$")
_MEAN = re.compile(r"^(?P<before>(?:.*_)?)(?:mean|avg|average)(?P<after>(?:_.*)?)$")
_OPEN = {"rate", "target_rate", "offered_rate"}


class PrintedPercentile(NamedTuple):
    """A column of a percentile: its share in percent, and what else its name says."""

    column: str
    percent: float
    of: tuple[str, str]


class Mean(NamedTuple):
    """Arithmetic that comes to the mean of what a percentile is of, in the rows where it does."""

    expression: str
    rows: list[int]
    severity: Severity
    why: str


def latencies(published: Published) -> Outcomes:
    """Percentiles of every table, by the names of its columns."""
    for table in published.tables.values():
        found = percentiles(table)
        for low, high in combinations(sorted(found, key=lambda one: one.percent), 2):
            if low.of == high.of and low.percent < high.percent:
                yield from _ordered(published, table, low, high)
        for percentile in found:
            for mean in _means(table, percentile):
                yield from _markov(published, table, percentile, mean)


def percentiles(table: PublishedTable) -> list[PrintedPercentile]:
    """Return the metrics that are percentiles: p50_ms, tidb_p99_s, p999_ms (99.9%)."""
    found = ((name, _PERCENTILE.match(name)) for name in table.metrics)
    return [
        PrintedPercentile(name, percent, (m["before"], m["after"]))
        for name, m in found
        if m and (percent := percent_of(name)) is not None
    ]


def _ordered(published: Published, table: PublishedTable, low: PrintedPercentile, high: PrintedPercentile) -> Outcomes:
    columns = (low.column, high.column)
    cases = [case_of(published, table, row) for row in numbers.rows(table) if numbers.has(table, row, *columns)]
    wrong = [case for case in cases if above(case.known[low.column], case.known[high.column])]
    yield Passed("percentiles", len(cases) - len(wrong))
    yield touched(table, [case.row for case in cases], columns)
    if wrong:
        sentence = (
            f"In {len(wrong)} of {len(cases)} rows {low.column} is above {high.column}, which cannot be: a higher "
            "percentile of the same times is never smaller."
        )
        lines = [f"{case.label}: {case.words[low.column]} > {case.words[high.column]}" for case in wrong]
        yield table_finding(table, f"{low.column}.above.{high.column}", "percentiles", "contradiction", sentence, lines)


def _means(table: PublishedTable, percentile: PrintedPercentile) -> list[Mean]:
    """Means by a column's name, by what is declared of Little's law, and else by threads / tps of a closed loop."""
    rows = list(numbers.rows(table))
    found = [
        Mean(name, rows, "contradiction", "both are printed")
        for name in table.metrics
        if (match := _MEAN.match(name)) and (match["before"], match["after"]) == percentile.of
    ]
    declared = [one for one in table.identities if one.kind == "Little's law" and one.right == percentile.column]
    law = "in a closed loop the mean time is the clients over the throughput (Little's law)"
    found += [Mean(one.left, table.matching(one.rows), "suspicious", law) for one in declared if one.relation == "<="]
    return found or _closed_loop(table, percentile, rows, law)


def _closed_loop(table: PublishedTable, percentile: PrintedPercentile, rows: list[int], law: str) -> list[Mean]:
    """A ladder of threads with tps and a latency of nothing but the load is a closed loop, if no rate is offered."""
    scale = {"_ms": "1000", "_s": "1", "_us": "1000000"}.get(percentile.of[1])
    ladder = "threads" in table.meta.table_schema.primary_key and "tps" in table.metrics
    if not ladder or not scale or percentile.of[0] or _OPEN & {*table.levels, *table.fixed}:
        return []
    return [Mean(f"threads / tps * {scale}", rows, "suspicious", law)]


def _markov(published: Published, table: PublishedTable, percentile: PrintedPercentile, mean: Mean) -> Outcomes:
    if percentile.percent >= 100:
        return
    times = 100 / (100 - percentile.percent)
    cases = [case_of(published, table, row) for row in mean.rows if numbers.has(table, row, percentile.column)]
    bounds = [(case, bound) for case in cases if (bound := evaluate(f"({mean.expression}) * {times:g}", case.known))]
    wrong = [(case, bound) for case, bound in bounds if above(case.known[percentile.column], bound)]
    yield Passed("Markov's inequality", len(bounds) - len(wrong))
    yield touched(table, [case.row for case, _ in bounds], [percentile.column, *names(mean.expression)])
    if wrong:
        text = spelled(mean.expression, lambda name: name)
        sentence = (
            f"In {len(wrong)} of {len(bounds)} rows {percentile.column} is more than {times:g} times the mean {text}, "
            f"which no distribution allows: more than {100 - percentile.percent:g}% of the times would have to be that "
            f"long, and they alone would raise the mean above itself; {mean.why}."
        )
        lines = [
            f"{case.label}: {case.words[percentile.column]} > {times:g} x "
            f"{spelled(mean.expression, case.words.__getitem__)} = {figure(bound.value)}"
            for case, bound in wrong
        ]
        id = f"{percentile.column}.far_above_mean"
        yield table_finding(table, id, "Markov's inequality", mean.severity, sentence, lines)


# -- values of a histogram ---------------------------------------------------------------------------------------------

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
    """Yield every percentile that is declared to come from a histogram."""
    for table in published.tables.values():
        for declared in table.meta.buckets:
            yield from _checked(table, declared)


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


def _checked(table: PublishedTable, declared: Buckets) -> Outcomes:
    cells = bucket_cells(table, declared)
    wrong = [cell for cell in cells if not cell.holds]
    yield Passed("buckets", len(cells) - len(wrong))
    yield Touched(table.id, frozenset((cell.row, declared.metric) for cell in cells))
    if wrong:
        severity: Severity = "note" if all(cell.cut for cell in wrong) else declared.severity
        sentence = (
            f"In {len(wrong)} of {len(cells)} rows {declared.metric} is no value that {declared.of} prints: its "
            f"histogram has steps of {math.expm1(BUCKET_STEP):.1%}; {declared.why}."
        )
        lines = [_line(table, declared, cell) for cell in wrong]
        yield table_finding(table, declared.id, "buckets", severity, sentence, lines)


def _line(table: PublishedTable, declared: Buckets, cell: BucketCell) -> str:
    printed = numbers.cell(table, cell.row, declared.metric)
    cut = f"; {cell.above:.2f} with its last digits cut off" if cell.cut else ""
    return (
        f"{numbers.label(table, cell.row)}: {printed} lies between {cell.below:.2f} and {cell.above:.2f} ms, "
        f"the nearest that can be printed{cut}"
    )
