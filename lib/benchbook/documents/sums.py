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
    of_rate = [place for place in table.places("metric") if is_rate(table.columns[place].unit)]
    of_time = [place for place, one in columns if one.quantity == "time" and factor(one.unit, "s") is not None]
    for rate, time in product(of_rate, of_time):
        what, _, per = table.columns[rate].unit.rpartition("/")
        unit, seconds = what.removeprefix("1"), SECONDS[per] / (factor(table.columns[time].unit, "s") or 1)
        amounts = [
            (column.heading, table.numbers(place), scale)
            for place, column in columns
            if place not in {rate, time} and (scale := _amount_scale(column.unit, unit))
        ]
        if (told := _told(read, table)) and (scale := _amount_scale(told.unit, unit)):
            amounts.append((told.printed, dict.fromkeys(range(len(table.rows)), told), scale))
        for name, amount, scale in amounts:
            yield from _rate(table, rate, time, name, amount, scale * seconds, _BINARY if unit else (1.0,))


def _amount_scale(unit: str, wanted: str) -> float | None:
    if not wanted:
        return 1.0 if unit in {"", "1"} else None
    return factor(unit, wanted)


def _told(read: Reading, table: Table) -> Figure | None:
    """Return the one amount that the text of a table's section tells, if there is one alone."""
    if table.parts:  # tables of several sections, each with a text of its own
        return None
    text = " ".join(sentence.text for sentence in split(read) if sentence.section == table.section)
    found = set(_AMOUNT.findall(text))
    told = figures(found.pop()) if len(found) == 1 else []
    return told[0] if len(told) == 1 else None


def _rate(
    table: Table,
    rate: int,
    time: int,
    name: str,
    amount: dict[int, Figure],
    scale: float,
    shares: Sequence[float],
) -> Iterator[Outcome]:
    seconds = {row: number for row, number in table.numbers(time).items() if number.low > 0}

    def judged(share: float) -> tuple[int, list[_Off], list[_Off]]:
        held, cut, broken = 0, list[_Off](), list[_Off]()
        for row, printed in table.numbers(rate).items():
            if row not in seconds or row not in amount or amount[row].low <= 0:
                continue
            a, t = amount[row], seconds[row]
            low, value, high = (x * scale * share for x in (a.low / t.high, a.value / t.value, a.high / t.low))
            off = (row, printed, value, f"{a.printed} / {t.printed} = {shown(value)}; printed {printed.printed}")
            fits, sharp = low <= printed.high and printed.low <= high, high - low < printed.place
            held += fits
            if sharp and (value > printed.high if fits else printed.value <= value < printed.value + printed.place):
                cut.append(off)
            elif not fits:
                broken.append(off)
        return held, cut, broken

    held, cut, broken = max(map(judged, shares), key=lambda one: one[0] + len(one[1]))
    if held < FEWEST or len(broken) > max(1, held // 4):
        return
    yield Passed("rate", held)
    head = table.columns[rate].heading
    for row, printed, value, line in broken:
        sentence = f"{head} of {table.label(row)} is printed as {printed.printed}, but {name} over {table.columns[time].heading} is {shown(value)}; in {held} other rows the two are the same."
        yield cell_finding(table, row, rate, "rate", "contradiction", sentence, [line], 0.85)
    if cut:
        sentence = f"In {counted(len(cut), 'row')} {head} is truncated, not rounded."
        yield cell_finding(table, cut[0][0], rate, "rounding", "note", sentence, [line for *_, line in cut], 0.7)


_Off = tuple[int, Figure, float, str]
