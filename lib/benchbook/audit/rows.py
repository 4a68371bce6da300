"""Checks rows of one table against each other: expressions that are constant, trends, and metrics that go together."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from statistics import median
from typing import NamedTuple

from benchbook.audit import numbers
from benchbook.audit.findings import Outcomes, table_finding, touched
from benchbook.audit.judgement import Case, case_of
from benchbook.documents.findings import Finding, Passed, figure
from benchbook.published.arithmetic import Number, evaluate, names, spelled
from benchbook.published.declarations import Companion, Constant, Trend
from benchbook.published.tables import Published, PublishedTable


class Pair(NamedTuple):
    """Two rows that a trend compares: `small` has no larger level than `large`; `excess` is relative, <= 0 if fine."""

    small: int
    large: int
    excess: float


def shapes(published: Published) -> Outcomes:
    """Yield every declared constant, trend and companion of every table."""
    for table in published.tables.values():
        for constant in table.meta.constants:
            yield from _constant(published, table, constant)
        for trend in table.meta.trends:
            yield from _trend(table, trend)
        for companion in table.meta.companions:
            yield from _companion(table, companion)


# -- the same in all rows -----------------------------------------------------------------------------------------


def _constant(published: Published, table: PublishedTable, constant: Constant) -> Outcomes:
    values = constant_values(published, table, constant)
    if not values:
        return
    middle = median(value.value for _, value in values)
    off = [(case, value) for case, value in values if _distance(value, middle) > constant.tolerance]
    yield Passed("constant", len(values) - len(off))
    yield touched(table, [case.row for case, _ in values], names(constant.expression))
    if off:
        text = spelled(constant.expression, lambda name: name)
        sentence = (
            f"In {len(off)} of {len(values)} rows {text} is off its median by more than {constant.tolerance:.2%}, but "
            f"should be the same in all: {constant.why}."
        )
        lines = [_off(constant, case, value, middle) for case, value in off]
        yield table_finding(table, constant.id, "constant", constant.severity, sentence, lines)


def constant_values(published: Published, table: PublishedTable, constant: Constant) -> list[tuple[Case, Number]]:
    """Return the rows in which a constant's expression can be computed, and what it comes to."""
    cases = [case_of(published, table, row) for row in numbers.rows(table)]
    return [(case, value) for case in cases if (value := evaluate(constant.expression, case.known)) is not None]


def _distance(value: Number, middle: float) -> float:
    """Relative distance of the nearer end of an interval; 0 inside it."""
    return _relative(max(value.low - middle, middle - value.high, 0.0), middle)


def _relative(difference: float, to: float) -> float:
    """Return a difference as a share of a figure's size, whatever its sign; infinite against zero."""
    return difference / abs(to) if to else math.copysign(math.inf, difference) if difference else 0.0


def _off(constant: Constant, case: Case, value: Number, middle: float) -> str:
    text = spelled(constant.expression, lambda name: case.words[name])
    off = f"{_relative(value.value - middle, middle):+.1%} off the median {figure(middle)}"
    return f"{case.label}: {text} = {figure(value.value)}, {off}"


# -- trends -------------------------------------------------------------------------------------------------------


def _trend(table: PublishedTable, trend: Trend) -> Outcomes:
    """One finding per row that must be doubted: the fewest, taken by the number of comparisons they spoil."""
    pairs = trend_pairs(table, trend)
    wrong = [pair for pair in pairs if pair.excess > trend.tolerance]
    yield Passed("trend", len(pairs) - len(wrong))
    yield touched(table, [row for pair in pairs for row in pair[:2]], [trend.metric])
    while wrong:
        suspect = max(numbers.rows(table), key=lambda row: sum(row in pair[:2] for pair in wrong))
        mine = [pair for pair in wrong if suspect in pair[:2]]
        wrong = [pair for pair in wrong if suspect not in pair[:2]]
        yield _outlier(table, trend, suspect, mine)


def trend_pairs(table: PublishedTable, trend: Trend) -> list[Pair]:
    """Return the rows that a trend compares, two by two."""
    rows = [row for row in numbers.rows(table) if numbers.has(table, row, trend.metric, *trend.over)]
    return [
        Pair(small, large, _excess(table, trend, small, large))
        for small, large in permutations(rows, 2)
        if _larger(table, trend.over, small, large)
    ]


def _larger(table: PublishedTable, levels: list[str], small: int, large: int) -> bool:
    """Return whether no level falls from the one row to the other, and some rises."""
    both = [(numbers.raw(table, small, name), numbers.raw(table, large, name)) for name in levels]
    return all(x <= y for x, y in both) and any(x < y for x, y in both)


def _excess(table: PublishedTable, trend: Trend, small: int, large: int) -> float:
    """By how much the row that should be the lower one is above the other, relative to that one."""
    low, high = (small, large) if trend.direction == "increases" else (large, small)
    below, above = _value(table, low, trend.metric), _value(table, high, trend.metric)
    return _relative(below - above, above)


def _value(table: PublishedTable, row: int, metric: str) -> float:
    return float(numbers.raw(table, row, metric))


def _outlier(table: PublishedTable, trend: Trend, row: int, pairs: list[Pair]) -> Finding:
    others = [pair.large if pair.small == row else pair.small for pair in pairs]
    value = numbers.cell(table, row, trend.metric)
    above = all(_value(table, row, trend.metric) > _value(table, other, trend.metric) for other in others)
    side, compared = _compared(table, trend, row, pairs)
    relation, sign = ("above", ">") if above else ("out of line with", "against")
    sentence = (
        f"{trend.metric} of {numbers.label(table, row)} is {value}, {relation} {_all(len(others), compared)} rows with "
        f"{side} settings, by {_span(pairs)}; it {trend.direction} with {', '.join(trend.over)}: {trend.why}."
    )
    lines = [
        f"{value} {sign} {numbers.cell(table, other, trend.metric)} ({_levels(table, trend, other)}): "
        f"{pair.excess:+.0%}"
        for other, pair in zip(others, pairs, strict=True)
    ]
    return table_finding(table, f"{trend.id}.{'.'.join(_key(table, row))}", "trend", trend.severity, sentence, lines)


def _compared(table: PublishedTable, trend: Trend, row: int, pairs: list[Pair]) -> tuple[str, int]:
    """On which side the comparisons lie that a row spoils, and how many rows there are on that side."""
    all_pairs = trend_pairs(table, trend)
    larger, smaller = ([pair for pair in all_pairs if pair[side] == row] for side in (0, 1))
    if all(pair.small == row for pair in pairs):
        return "larger", len(larger)
    if all(pair.large == row for pair in pairs):
        return "smaller", len(smaller)
    return "larger or smaller", len(larger) + len(smaller)


def _all(count: int, of: int) -> str:
    return f"all {of}" if count == of else f"{count} of the {of}"


def _span(pairs: list[Pair]) -> str:
    low, high = min(pair.excess for pair in pairs), max(pair.excess for pair in pairs)
    return f"{low:.0%}" if f"{low:.0%}" == f"{high:.0%}" else f"{low:.0%} to {high:.0%}"


def _key(table: PublishedTable, row: int) -> list[str]:
    return [str(numbers.raw(table, row, key)) for key in table.meta.table_schema.primary_key]


def _levels(table: PublishedTable, trend: Trend, row: int) -> str:
    return ", ".join(f"{name} {numbers.cell(table, row, name)}" for name in trend.over)


# -- one printed value for different conditions ---------------------------------------------------------------------


def _companion(table: PublishedTable, companion: Companion) -> Outcomes:
    rates, pairs = _rates(table, companion), compared(table, companion)
    apart = [(low, high) for low, high in pairs if rates[low] * companion.factor <= rates[high]]
    yield Passed("same value", len(pairs) - len(apart))
    yield touched(table, [row for pair in pairs for row in pair], [companion.metric, companion.beside])
    for pair in apart:
        yield _alike(table, companion, rates, pair)


def _rates(table: PublishedTable, companion: Companion) -> dict[int, float]:
    """`beside` per `metric` in every row that prints both above 0."""
    both = (companion.metric, companion.beside)
    rows = [row for row in numbers.rows(table) if numbers.has(table, row, *both)]
    positive = [row for row in rows if min(_value(table, row, name) for name in both) > 0]
    return {row: _value(table, row, companion.beside) / _value(table, row, companion.metric) for row in positive}


def compared(table: PublishedTable, companion: Companion) -> list[tuple[int, int]]:
    """Rows that print the companion's metric alike, two by two: the one with less of `beside` first."""
    pairs = [
        sorted(pair, key=lambda row: _value(table, row, companion.beside))
        for pair in combinations(_rates(table, companion), 2)
        if len({numbers.text(table, row, companion.metric) for row in pair}) == 1
    ]
    return [(low, high) for low, high in pairs]


def _alike(table: PublishedTable, companion: Companion, rates: dict[int, float], rows: tuple[int, int]) -> Finding:
    low, high = rows
    metric, beside = companion.metric, companion.beside
    unit = table.fields[metric].unit
    factor = _value(table, high, beside) / _value(table, low, beside)
    rest = [rate for row, rate in rates.items() if row not in rows]
    others = median(rest) if rest else None
    lines = [
        f"{numbers.label(table, row)}: {numbers.cell(table, row, beside)} / {numbers.cell(table, row, metric)} "
        f"= {figure(rates[row])} {beside} per {unit}"
        for row in rows
    ]
    if others:
        odd = max(rows, key=lambda row: abs(math.log(rates[row] / others)))
        usual = figure(round(_value(table, odd, beside) / others))
        lines.append(
            f"the other rows' median is {figure(others)} per {unit}; at that, "
            f"{numbers.cell(table, odd, beside)} would take {usual} {unit}"
        )
    sentence = (
        f"{metric} {numbers.cell(table, low, metric)} is printed both for {beside} {numbers.cell(table, low, beside)} "
        f"and for {numbers.cell(table, high, beside)}, {factor:.2f} times as much; {companion.why}."
    )
    id = ".".join([companion.id, *_key(table, low), *_key(table, high)])
    return table_finding(table, id, "same value", companion.severity, sentence, lines)
