"""Totals, means and sums, and rates: an amount over a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from statistics import fmean, geometric_mean, median

from benchbook.documents.cell_findings import CONSTANT, FEWEST, Outcome, cell_finding
from benchbook.documents.columns import Column
from benchbook.documents.findings import Passed
from benchbook.documents.findings import figure as shown
from benchbook.documents.numerals import Figure, figures
from benchbook.documents.passages import split
from benchbook.documents.tables import Reading, Table
from benchbook.documents.units import SECONDS, factor, is_rate
from benchbook.errors import counted

_TOTAL = re.compile(r"^\W*(?:grand\s+)?(?:total|sum|overall|合计|总计|总和|all)\b\W*(?:time)?\W*$", re.IGNORECASE)
_MEAN = re.compile(r"^\W*(?:average|mean|avg\.?|geo(?:metric)?[ -]?mean|平均值?|几何平均)\W*$", re.IGNORECASE)
_MEANS: list[tuple[str, Callable[[Sequence[float]], float]]] = [
    ("the mean", fmean),
    ("the geometric mean", geometric_mean),
    ("the median", median),
    ("the sum", sum),
]


def totals(table: Table) -> Iterator[Outcome]:
    """Yield the cells of a row that is called a total or a mean, where they are not that of the rows above."""
    for row, cells in enumerate(table.rows):
        label = cells[0].text
        total, mean = _TOTAL.match(label), _MEAN.match(label)
        if not (total or mean) or row < 2:
            continue
        above = [
            other
            for other in range(row)
            if not (_TOTAL.match(table.rows[other][0].text) or _MEAN.match(table.rows[other][0].text))
        ]
        held, broken = 0, []
        for place in range(1, len(table.columns)):
            if total and (table.columns[place].role == "delta" or table.columns[place].unit in {"%", "x"}):
                continue
            printed = table.rows[row][place].figure
            parts = [number for other in above if (number := table.rows[other][place].figure)]
            units = {one.unit for one in [*parts, *([printed] if printed else [])]} - {""}
            if printed is None or len(units) > 1 or len(parts) < 2 or len(parts) < len(above):
                continue
            results = [
                (name, _over(of, parts))
                for name, of in (_MEANS if mean else _MEANS[-1:])
                if name != "the geometric mean" or min(p.low for p in parts) > 0
            ]
            if any(low - printed.place <= printed.value <= high + printed.place for _, (low, _, high) in results):
                held += 1
            else:
                name, (_, value, _) = min(results, key=lambda one, target=printed.value: abs(one[1][1] - target))  # type: ignore[misc]
                broken.append((place, printed, name, value, parts))
        yield Passed("sum", held)
        for place, printed, name, value, parts in broken if held > len(broken) or (held and len(broken) == 1) else []:
            sentence = (
                f"{label} of {table.columns[place].heading} is printed as {printed.printed}; {name} of the {len(parts)} rows above is {shown(value)}; "
                f"in {counted(held, 'other column')} the two are the same."
            )
            lines = [
                f"{' + '.join(part.printed for part in parts[:12])}{' + ...' if len(parts) > 12 else ''}: {name} is {shown(value)}; printed {printed.printed}"
            ]
            yield cell_finding(table, row, place, "sum", "contradiction", sentence, lines, 0.85)


def _over(of: Callable[[Sequence[float]], float], parts: Sequence[Figure]) -> tuple[float, float, float]:
    return of([part.low for part in parts]), of([part.value for part in parts]), of([part.high for part in parts])


def sums(table: Table) -> Iterator[Outcome]:
    """Yield the rows in which a column is not the sum of others, though it is in the other rows."""
    places = [
        place
        for place, column in enumerate(table.columns)
        # What lies at a rank of times is no part of a sum.
        if column.role == "metric" and column.unit != "%" and column.quantity not in {"percentile", "min", "max"}
    ]
    for total in places:
        others = [
            place
            for place in places
            if place != total
            and table.columns[place].unit == table.columns[total].unit
            and (table.columns[total].unit or _is_countlike(table.columns[place], table.columns[total]))
        ]
        if len(others) > 12:
            continue
        groups = [list(pair) for pair in combinations(others, 2)] + ([others] if len(others) > 2 else [])
        for group in groups:
            held, broken = 0, []
            for row in range(len(table.rows)):
                printed, parts = table.number(row, total), [table.number(row, place) for place in group]
                numbers = [part for part in parts if part]
                if printed is None or len(numbers) < len(group):
                    continue
                low, value, high = _over(sum, numbers)
                if low - printed.place / 2 <= printed.value <= high + printed.place / 2:
                    held += all(number.value != 0 for number in numbers) and printed.value >= 10 * printed.place
                else:
                    broken.append((row, printed, value, numbers))
            if held >= CONSTANT and len(broken) <= max(1, held // 5):
                yield Passed("sum", held)
                for row, printed, value, numbers in broken:
                    sentence = (
                        f"{table.columns[total].heading} of {table.label(row)} is printed as {printed.printed}, but "
                        f"{' + '.join(table.columns[place].heading for place in group)} is {shown(value)}; in {held} other rows the two are the same."
                    )
                    lines = [
                        f"{' + '.join(number.printed for number in numbers)} = {shown(value)}; printed {printed.printed}"
                    ]
                    yield cell_finding(table, row, total, "sum", "contradiction", sentence, lines, 0.85)


def _is_countlike(one: Column, other: Column) -> bool:
    """Return whether columns without a unit may be added: of one quantity, or counts."""
    return one.quantity == other.quantity or {one.quantity, other.quantity} <= {"", "count", "errors"}


# -- amount / time = rate -----------------------------------------------------------------------------------------------

_AMOUNT = re.compile(r"\d[\d,.]*\s?(?:[KMGT]i?B)\b")
_BINARY = (1.0, 1024 / 1000, 1000 / 1024, (1024 / 1000) ** 2, (1000 / 1024) ** 2, (1024 / 1000) ** 3)
"""A printed GB may be one of 1,000 or of 1,024 MB: whichever fits all rows is meant."""


def rates(read: Reading, table: Table) -> Iterator[Outcome]:
    """Yield the rows in which a rate is not the amount (of a column, or told in the section's text) over the time."""
    columns = list(enumerate(table.columns))
    times = [
        (place, scale)
        for place, column in columns
        if (scale := factor(column.unit, "s")) is not None and column.quantity == "time"
    ]
    for rate, (time, seconds) in product(
        [place for place, column in columns if is_rate(column.unit) and column.role == "metric"], times
    ):
        of_rate, _, per = table.columns[rate].unit.rpartition("/")
        unit, per_s = of_rate.removeprefix("1"), SECONDS[per]
        amounts: list[tuple[str, Callable[[int], Figure | None], float]] = [
            (column.heading, lambda row, place=place: table.number(row, place), scale)  # type: ignore[misc]
            for place, column in columns
            if place not in {rate, time}
            and column.unit != "%"
            and (scale := _amount_scale(column.unit, unit)) is not None
        ]
        amounts += [(told.printed, lambda row, told=told: told, scale) for told, scale in _told(read, table, unit)]  # type: ignore[misc]
        for name, amount, scale in amounts:
            yield from _rate(table, (rate, time), (name, amount, scale * per_s / seconds), binary=bool(unit))


def _amount_scale(unit: str, wanted: str) -> float | None:
    if not wanted:
        return 1.0 if unit in {"", "1"} else None
    return factor(unit, wanted) if unit not in {"", "1"} else None


def _told(read: Reading, table: Table, unit: str) -> Iterator[tuple[Figure, float]]:
    """Yield the one amount that the text of a table's section tells, if there is one alone."""
    if not unit or table.parts:  # tables of several sections, each with a text of its own
        return
    text = " ".join(sentence.text for sentence in split(read) if sentence.section == table.section)
    found = {match[0]: figures(match[0]) for match in _AMOUNT.finditer(text)}
    if len(found) == 1 and len(one := next(iter(found.values()))) == 1:
        scale = factor(one[0].unit, unit)
        if scale is not None:
            yield one[0], scale


def _rate(
    table: Table,
    places: tuple[int, int],
    amount: tuple[str, Callable[[int], Figure | None], float],
    *,
    binary: bool,
) -> Iterator[Outcome]:
    rate, time = places
    name, of, scale = amount
    best: tuple[list[int], list[tuple[int, Figure, float, str]], list[tuple[int, Figure, float, str]]] = ([], [], [])
    for share in _BINARY if binary else (1.0,):
        held, cut, broken = list[int](), [], []
        for row in range(len(table.rows)):
            printed, seconds, total = table.number(row, rate), table.number(row, time), of(row)
            if printed is None or seconds is None or total is None or seconds.low <= 0 or total.low <= 0:
                continue
            low, value, high = (
                a / t * scale * share
                for a, t in ((total.low, seconds.high), (total.value, seconds.value), (total.high, seconds.low))
            )
            words = f"{total.printed} / {seconds.printed}"
            if low <= printed.high and printed.low <= high:
                held.append(row)
                if high - low < printed.place and value > printed.high:
                    cut.append((row, printed, value, words))
            elif high - low < printed.place and printed.value <= value < printed.value + printed.place:
                cut.append((row, printed, value, words))
            else:
                broken.append((row, printed, value, words))
        if len(held) + len(cut) > len(best[0]) + len(best[1]):
            best = held, cut, broken
    held, cut, broken = best
    if len(held) < FEWEST or len(broken) > max(1, len(held) // 4):
        return
    yield Passed("rate", len(held))
    head = table.columns[rate].heading
    for row, printed, value, words in broken:
        sentence = f"{head} of {table.label(row)} is printed as {printed.printed}; {name} over {table.columns[time].heading} is {shown(value)}, and this fits in {len(held)} other rows."
        lines = [f"{words} = {shown(value)}; printed {printed.printed}"]
        yield cell_finding(table, row, rate, "rate", "contradiction", sentence, lines, 0.85)
    if cut:
        row, printed = cut[0][:2]
        lines = [f"{words} = {shown(value)}; printed {one.printed}" for _, one, value, words in cut]
        sentence = f"In {counted(len(cut), 'row')} {head} is truncated, not rounded."
        yield cell_finding(table, row, rate, "rounding", "note", sentence, lines, 0.7)
