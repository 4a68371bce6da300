"""Columns of changes, percentages and ratios, against the figures that they may have been made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise, permutations, product
from math import nan
from typing import NamedTuple

from benchbook.documents.cell_findings import FEWEST, Outcome, cell_finding
from benchbook.documents.findings import Finding, Passed
from benchbook.documents.findings import figure as shown
from benchbook.documents.numerals import Figure
from benchbook.documents.tables import Table
from benchbook.documents.units import factor

MOST_BESIDE = 16
"""A change is tried against pairs of so many columns at most, the nearest ones: pairs of a thousand would take hours."""


class Formula(NamedTuple):
    """A way to make a printed change out of two figures: `b` against the base `a`."""

    words: str
    of: Callable[[float, float], float]
    percent: bool
    alike: float = 0.0
    """What it gives of two figures that are alike."""


FORMULAS = [
    Formula("({b} / {a} - 1) x 100", lambda a, b: (b / a - 1) * 100, True),
    Formula("(1 - {b} / {a}) x 100", lambda a, b: (1 - b / a) * 100, True),
    Formula("{b} / {a} x 100", lambda a, b: b / a * 100, True, 100),
    Formula("{b} / {a}", lambda a, b: b / a, False, 1),
    Formula("{b} / {a} - 1", lambda a, b: b / a - 1, False),
    Formula("{b} - {a}", lambda a, b: b - a, False),
]
EITHER = Formula("the larger of {a} and {b} over the smaller", lambda a, b: max(a / b, b / a) if b > 0 else 0.0, False)
"""Where rates and times stand in one table, "9x slower" is said of both. It is tried last: two exchanged columns fit it too."""


class Broken(NamedTuple):
    """A row in which a formula does not give what is printed: the formula, what it was given, and what it gives."""

    row: int
    formula: Formula
    a: Figure
    b: Figure
    low: float
    value: float
    high: float


Pair = tuple[Figure, Figure]
Pairs = list[tuple[int, Figure, Figure]]
"""Rows, and the two figures that their change may be made of: base and new."""


def percentages(table: Table) -> Iterator[Outcome]:
    """Yield the rows of a column of changes or ratios that do not follow from the figures beside them."""
    for place, column in enumerate(table.columns):
        if column.role != "delta" and column.unit not in {"%", "x"}:
            continue
        printed = table.numbers(place)
        if len(printed) < FEWEST:
            continue
        ways = [one for one in FORMULAS if one.percent or column.unit != "%"]
        pairs = list(_pairs(table, place, printed))
        for formulas in (ways, [EITHER] if column.unit != "%" else []):
            judged = [(*one, rows) for rows in pairs for way in formulas if (one := _judged(way, rows, printed))]
            if judged:
                break
        if not judged:
            yield from _cut_off(table, place, printed, pairs)
            continue
        held, broken, tried = max(judged, key=lambda one: (len(one[0]), -len(one[1])))
        yield Passed("percentage", len(held))
        beside = {row: _beside(table, row, place) for row in printed} if broken else {}
        for row, formula, a, b, low, value, high in broken:
            number = printed[row]
            # Rows of several metrics: a higher rate and a shorter time are both so many times better.
            of_several = column.unit != "%" and len({one[2].unit for one in tried}) > 1
            if of_several and abs(EITHER.of(a.value, b.value) - number.value) <= (number.place or 1.0):
                continue
            if _is_best_of_several(formula, [one for one in tried if one[0] in {row, *held}], beside, row, number):
                continue
            words = formula.words.format(a=a.printed, b=b.printed)
            sentence = (
                f"{column.heading} of {table.label(row)} is printed as {number.printed}, but the figures beside it give {shown(value)}; "
                f"the same formula gives what is printed in {len(held)} other rows."
            )
            lines = [
                f"{words} = {shown(value)} ({shown(low)} to {shown(high)} within rounding); printed {number.printed}"
            ]
            yield cell_finding(
                table, row, place, "percentage", "contradiction", sentence, lines, 0.9 if len(held) >= 4 else 0.8
            )


def _is_best_of_several(formula: Formula, tried: Pairs, rows: dict[int, list[Pair]], odd: int, printed: Figure) -> bool:
    """Return whether what is printed in an odd row is, as in all others, the most or the least of several columns.

    One side of the pair that was tried is kept, and the other is any column's.
    """
    own = {row: formula.of(a.value, b.value) for row, a, b in tried} | {odd: printed.value}
    for side, end in product((0, 1), (0, -1)):
        given = {
            row: sorted(formula.of(a.value, b.value) for a, b in rows[row] if (a, b)[side] == pair[side]) or [nan]
            for row, *pair in tried
        }
        if all(abs(given[row][end] - value) <= (printed.place or 1.0) for row, value in own.items()):
            return True
    return False


def _cut_off(table: Table, place: int, printed: dict[int, Figure], pairs: list[Pairs]) -> Iterator[Finding]:
    """Yield a column of percentages with decimals, each of which is cut to a whole one: -6.00% for -6.76%."""
    whole = {number.value for number in printed.values() if number.place < 1 and number.value == int(number.value) != 0}
    if (
        table.columns[place].role != "delta"
        or len(whole) < 2
        or len(printed) != sum(number.value in whole for number in printed.values())
    ):
        return
    for rows, way in product(pairs, [one for one in FORMULAS if one.percent]):
        values = [(row, a, b, way.of(a.value, b.value)) for row, a, b in rows if a.low > 0]
        if len(values) < FEWEST or any(int(value) != printed[row].value for row, *_, value in values):
            continue
        far = max(values, key=lambda one: abs(one[3] - printed[one[0]].value))
        if abs(far[3] - printed[far[0]].value) > 0.5:
            lines = [
                f"{way.words.format(a=a.printed, b=b.printed)} = {shown(value)}; printed {printed[row].printed}"
                for row, a, b, value in values
            ]
            heading = table.columns[place].heading
            words = f"{heading} is printed with decimals, but in all {len(values)} rows it is cut to a whole percent."
            yield cell_finding(table, far[0], place, "printed digits", "suspicious", words, lines, 0.8)
            return


def _pairs(table: Table, place: int, printed: dict[int, Figure]) -> Iterator[Pairs]:
    """Yield what a column of changes may compare: two columns, two rows."""
    sides = _sides(table, place)
    for a, b in permutations(sides, 2):
        yield [(row, *both) for row in printed if (both := _in_one_unit(table, row, a, b))]
    for side in sides:
        numbers = table.numbers(side)
        if len(numbers) < 2:
            continue
        rows = sorted(numbers)
        best, least = max(rows, key=lambda row: numbers[row].value), min(rows, key=lambda row: numbers[row].value)
        bases_of = [{row: at for row in rows if row != at} for at in dict.fromkeys([rows[0], rows[-1], best, least])]
        for base in [*bases_of, {later: row for row, later in pairwise(rows)}]:
            pairs = [(row, numbers[at], numbers[row]) for row, at in base.items() if row in printed]
            yield pairs
            yield [(row, new, old) for row, old, new in pairs]


def _sides(table: Table, place: int) -> list[int]:
    sides = [
        other
        for other, one in enumerate(table.columns)
        if other != place and one.role in {"metric", "level"} and one.unit != "%"
    ]
    return sorted(sides, key=lambda other: abs(other - place))[:MOST_BESIDE]


def _beside(table: Table, row: int, place: int) -> list[Pair]:
    """Return all pairs of a row's cells of one quantity that a change may compare."""
    quantities = [column.quantity for column in table.columns]
    both = ((a, b) for a, b in permutations(_sides(table, place), 2) if quantities[a] == quantities[b])
    return [pair for a, b in both if (pair := _in_one_unit(table, row, a, b)) and pair[0].low > 0]


def _in_one_unit(table: Table, row: int, a: int, b: int) -> Pair | None:
    """Return two cells of a row, the first in the unit of the second: a row may have a unit of its own in all its cells."""
    one, other = table.rows[row][a].figure, table.rows[row][b].figure
    if one is None or other is None:
        return None
    scale = factor(one.unit or table.columns[a].unit, other.unit or table.columns[b].unit)
    return (one.times(scale), other) if scale else None


def _judged(formula: Formula, pairs: Pairs, printed: dict[int, Figure]) -> tuple[list[int], list[Broken]] | None:
    """Return the rows in which what is printed says something and fits, and the few that do not fit; None if they are many."""
    held, broken = list[int](), list[Broken]()
    most = max(1, len(pairs) // 5)
    for row, a, b in pairs:
        if a.low <= 0:
            continue
        number, value = printed[row], formula.of(a.value, b.value)
        corners = [formula.of(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        low, high, place = min(corners), max(corners), number.place or 1.0
        if low - place <= number.value <= high + place:
            # What is as wide as the figure itself, or as how far a ratio is from that of like figures, shows nothing.
            apart = min(abs(value), abs(value - formula.alike)) if formula.alike else abs(value)
            if high - low + place < 0.5 * apart + 1e-12 and number.value not in {0, 1, 100}:
                held.append(row)
        elif abs(number.value) != abs(value) and not low - place <= -number.value <= high + place:
            broken.append(Broken(row, formula, a, b, low, value, high))
            if len(broken) > most:
                return None
    if len(held) < FEWEST and (len(held) < 2 or broken):
        return None
    return (held, broken) if len(broken) <= max(1, len(held) // 4) else None
