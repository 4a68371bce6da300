"""Checks rows of one table against each other: expressions that are constant, trends, and metrics that go together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations
from statistics import median
from typing import NamedTuple

from benchbook.audit.findings import Outcomes, table_finding
from benchbook.audit.rows import Row
from benchbook.documents.findings import Finding, Passed, figure
from benchbook.published.arithmetic import Number, evaluate, spelled
from benchbook.published.declarations import Companion, Constant, Trend
from benchbook.published.tables import PublishedTable


class Pair(NamedTuple):
    """Two rows that a trend compares: `small` has no larger level than `large`; `excess` is relative, <= 0 if fine."""

    small: Row
    large: Row
    excess: float


def shapes(table: PublishedTable, rows: Sequence[Row]) -> Outcomes:
    """Yield every declared constant, trend and companion of a table."""
    for constant in table.meta.constants:
        yield from _constant(table, rows, constant)
    for trend in table.meta.trends:
        yield from _trend(table, rows, trend)
    for companion in table.meta.companions:
        yield from _companion(table, rows, companion)


def _relative(difference: float, to: float) -> float:
    """Return a difference as a share of a figure's size, whatever its sign; infinite against zero."""
    return difference / abs(to) if to else math.copysign(math.inf, difference) if difference else 0.0


# -- the same in all rows -----------------------------------------------------------------------------------------


def _constant(table: PublishedTable, rows: Sequence[Row], constant: Constant) -> Outcomes:
    values = constant_values(rows, constant)
    if not values:
        return
    middle = median(value.value for _, value in values)
    off = [(row, value) for row, value in values if _distance(value, middle) > constant.tolerance]
    yield Passed("constant", len(values) - len(off))
    if off:
        sentence = (
            f"In {len(off)} of {len(values)} rows {spelled(constant.expression, str)} is off its median by more than "
            f"{constant.tolerance:.2%}, but should be the same in all: {constant.why}."
        )
        lines = [
            f"{row.label}: {spelled(constant.expression, row.words.__getitem__)} = {figure(value.value)}, "
            f"{_relative(value.value - middle, middle):+.1%} off the median {figure(middle)}"
            for row, value in off
        ]
        yield table_finding(table, constant.id, "constant", constant.severity, sentence, lines)


def constant_values(rows: Sequence[Row], constant: Constant) -> list[tuple[Row, Number]]:
    """Return the rows in which a constant's expression can be computed, and what it comes to."""
    return [(row, value) for row in rows if (value := evaluate(constant.expression, row.known)) is not None]


def _distance(value: Number, middle: float) -> float:
    """Relative distance of the nearer end of an interval; 0 inside it."""
    return _relative(max(value.low - middle, middle - value.high, 0.0), middle)


# -- trends -------------------------------------------------------------------------------------------------------


def _trend(table: PublishedTable, rows: Sequence[Row], trend: Trend) -> Outcomes:
    """One finding per row that must be doubted: the fewest, taken by the number of comparisons they spoil."""
    pairs = trend_pairs(rows, trend)
    wrong = [pair for pair in pairs if pair.excess > trend.tolerance]
    yield Passed("trend", len(pairs) - len(wrong))
    while wrong:
        spoiled = Counter(row.number for pair in wrong for row in pair[:2])
        suspect = max(rows, key=lambda row: spoiled[row.number])
        mine = [pair for pair in wrong if suspect in pair[:2]]
        wrong = [pair for pair in wrong if suspect not in pair[:2]]
        yield _doubted(table, trend, suspect, mine, pairs)


def trend_pairs(rows: Sequence[Row], trend: Trend) -> list[Pair]:
    """Return the rows that a trend compares, two by two: no level falls from the one to the other, and some rises."""
    pairs = []
    for small, large in permutations([row for row in rows if row.prints(trend.metric, *trend.over)], 2):
        levels = [(small.cells[name], large.cells[name]) for name in trend.over]
        if all(x <= y for x, y in levels) and any(x < y for x, y in levels):
            # By how much the row that should be the lower one is above the other, relative to that one.
            low, high = (small, large) if trend.direction == "increases" else (large, small)
            below, above = low.cells[trend.metric], high.cells[trend.metric]
            pairs.append(Pair(small, large, _relative(below - above, above)))
    return pairs


def _doubted(table: PublishedTable, trend: Trend, row: Row, spoiled: list[Pair], pairs: list[Pair]) -> Finding:
    metric = trend.metric
    others = [pair.large if pair.small is row else pair.small for pair in spoiled]
    above = all(row.cells[metric] > other.cells[metric] for other in others)
    relation, sign = ("above", ">") if above else ("out of line with", "against")
    # On which side the comparisons lie that the row spoils, and how many rows there are on that side.
    larger, smaller = (sum(pair[place] is row for pair in pairs) for place in (0, 1))
    side, compared = "larger or smaller", larger + smaller
    if all(pair.small is row for pair in spoiled):
        side, compared = "larger", larger
    elif all(pair.large is row for pair in spoiled):
        side, compared = "smaller", smaller
    count = f"all {compared}" if len(others) == compared else f"{len(others)} of the {compared}"
    span = " to ".join(dict.fromkeys(f"{end(pair.excess for pair in spoiled):.0%}" for end in (min, max)))
    sentence = (
        f"{metric} of {row.label} is {row.words[metric]}, {relation} {count} rows with {side} settings, by {span}; "
        f"it {trend.direction} with {', '.join(trend.over)}: {trend.why}."
    )
    lines = [
        f"{row.words[metric]} {sign} {other.words[metric]} "
        f"({', '.join(f'{name} {other.words[name]}' for name in trend.over)}): {pair.excess:+.0%}"
        for other, pair in zip(others, spoiled, strict=True)
    ]
    return table_finding(table, f"{trend.id}.{row.key}", "trend", trend.severity, sentence, lines)


# -- one printed value for different conditions ---------------------------------------------------------------------


def _companion(table: PublishedTable, rows: Sequence[Row], companion: Companion) -> Outcomes:
    pairs = compared(rows, companion)
    apart = [(low, high) for low, high in pairs if _rate(low, companion) * companion.factor <= _rate(high, companion)]
    yield Passed("same value", len(pairs) - len(apart))
    for low, high in apart:
        others = [_rate(row, companion) for row in _with_both(rows, companion) if row not in (low, high)]
        yield _alike(table, companion, (low, high), others)


def _with_both(rows: Sequence[Row], companion: Companion) -> list[Row]:
    """Return the rows that print both metrics above 0."""
    return [row for row in rows if min(row.cells.get(name, 0) for name in (companion.metric, companion.beside)) > 0]


def _rate(row: Row, companion: Companion) -> float:
    return float(row.cells[companion.beside] / row.cells[companion.metric])


def compared(rows: Sequence[Row], companion: Companion) -> list[tuple[Row, Row]]:
    """Rows that print the companion's metric alike, two by two: the one with less of `beside` first."""
    pairs = [
        sorted(pair, key=lambda row: float(row.cells[companion.beside]))
        for pair in combinations(_with_both(rows, companion), 2)
        if len({row.texts[companion.metric] for row in pair}) == 1
    ]
    return [(low, high) for low, high in pairs]


def _alike(table: PublishedTable, companion: Companion, rows: tuple[Row, Row], others: list[float]) -> Finding:
    low, high = rows
    metric, beside = companion.metric, companion.beside
    unit = table.fields[metric].unit
    lines = [
        f"{row.label}: {row.words[beside]} / {row.words[metric]} = {figure(_rate(row, companion))} {beside} per {unit}"
        for row in rows
    ]
    if others:
        usual = median(others)
        odd = max(rows, key=lambda row: abs(math.log(_rate(row, companion) / usual)))
        lines.append(
            f"the other rows' median is {figure(usual)} per {unit}; at that, {odd.words[beside]} would take "
            f"{figure(round(odd.cells[beside] / usual))} {unit}"
        )
    sentence = (
        f"{metric} {low.words[metric]} is printed both for {beside} {low.words[beside]} and for {high.words[beside]}, "
        f"{high.cells[beside] / low.cells[beside]:.2f} times as much; {companion.why}."
    )
    id = f"{companion.id}.{low.key}.{high.key}"
    return table_finding(table, id, "same value", companion.severity, sentence, lines)
