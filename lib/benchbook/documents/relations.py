"""Relations between the figures of a document that was read: searched for, for nobody declared any.

A relation counts as meant where it holds, within the rounding of what is printed, in all rows but one or few; the
rows where it does not are the findings. What holds nowhere is no relation, and says nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise, permutations, product
from math import log, log10
from statistics import fmean, geometric_mean, median
from typing import NamedTuple

from benchbook.documents.columns import Column
from benchbook.documents.findings import Finding, Kind, Passed, Severity
from benchbook.documents.findings import figure as shown
from benchbook.documents.numerals import Figure, figures
from benchbook.documents.sentences import split
from benchbook.documents.tables import Reading, Table, together, with_rows_as_columns
from benchbook.documents.units import SECONDS, factor, is_rate

# Of 120 errors planted in benchmarks/documents (`make bench BENCH=planted_errors`), 100 are found; beside each, what other values find.
FEWEST = 3
"""The fewest rows in which a relation must hold, before another row is held against it: 100 with 2 as well, 93 with 5."""
CONSTANT = 4
"""The same where the relation is a constant that nobody named, and not a percentage that is headed as one: 100 with 3, 94 with 6."""
SAME = 0.004
"""How far from a constant a row is, of itself, before it is off it, beyond rounding: 100 from 0.002 to 0.01."""
LITTLE = 0.05
"""The same of Little's law, as clients wait between calls: 100 from 0.025 to 0.1."""
Outcome = Finding | Passed


class Formula(NamedTuple):
    """A way to make a printed change out of two figures: `b` against the base `a`."""

    words: str
    of: Callable[[float, float], float]
    percent: bool


FORMULAS = [
    Formula("({b} / {a} - 1) x 100", lambda a, b: (b / a - 1) * 100, True),
    Formula("(1 - {b} / {a}) x 100", lambda a, b: (1 - b / a) * 100, True),
    Formula("{b} / {a} x 100", lambda a, b: b / a * 100, True),
    Formula("{b} / {a}", lambda a, b: b / a, False),
    Formula("{b} / {a} - 1", lambda a, b: b / a - 1, False),
    Formula("{b} - {a}", lambda a, b: b - a, False),
]
EITHER = Formula("the larger of {a} and {b} over the smaller", lambda a, b: max(a / b, b / a) if b > 0 else 0.0, False)
"""Where rates and times stand in one table, "9x slower" is of both. Only where no other formula holds: columns exchanged fit it."""


def relations(read: Reading) -> Iterator[Outcome]:
    """Yield what every table of a document says of itself, and of the others."""
    for table in read.tables:
        yield from percentages(table)
        if turned := with_rows_as_columns(table):
            yield from percentages(turned)
        yield from totals(table)
        yield from sums(table)
        yield from rates(read, table)
        yield from constants(table)
        yield from multiples(table)
        yield from swapped(table)
        yield from percentiles(table)
        yield from shares(table)
        yield from curves(table)
    for table in together(read.tables):
        yield from _against_others(
            table,
            [
                *percentages(table),
                *sums(table),
                *rates(read, table),
                *constants(table),
                *multiples(table),
            ],
        )
    yield from repeated(read)


def _against_others(table: Table, outcomes: Sequence[Outcome]) -> Iterator[Finding]:
    """Yield the findings among the rows of several tables, without those of a whole table: it is of another set-up.

    Where each table has one row, a row is held against the others all the same.
    """
    rows = Counter(part.name for part, _ in table.parts)
    found = [one for one in outcomes if isinstance(one, Finding)]
    off = Counter((where, kind) for where, kind, _ in {(one.where, one.kind, one.line) for one in found})
    yield from (one for one in found if max(rows.values()) == 1 or off[one.where, one.kind] < rows[one.where])


def finding(
    table: Table,
    row: int,
    place: int,
    kind: Kind,
    severity: Severity,
    sentence: str,
    arithmetic: list[str],
    sure: float,
) -> Finding:
    """Return a finding about one cell of a table."""
    if table.parts:
        table, row = table.parts[row]
    cell = table.rows[row][place]
    return Finding(
        id=f"{table.id.replace(' ', '-')}.row{row + 1}.{re.sub(r'[^0-9A-Za-z]+', '-', table.columns[place].heading).strip('-') or place}.{kind}",
        where=table.name,
        kind=kind,
        severity=severity,
        sentence=sentence,
        arithmetic=arithmetic,
        line=cell.line,
        column=table.columns[place].heading,
        printed=cell.text,
        sure=sure,
    )


# -- percentages and ratios ---------------------------------------------------------------------------------------------


class Broken(NamedTuple):
    """A row in which a formula does not give what is printed: the formula, what it was given, and what it gives."""

    row: int
    formula: Formula
    a: Figure
    b: Figure
    low: float
    value: float
    high: float


Pairs = list[tuple[int, Figure, Figure]]
"""Rows, and the two figures that their change may be made of: base and new."""


def percentages(table: Table) -> Iterator[Outcome]:
    """Yield the rows of a column of changes or ratios that do not follow from the figures beside them."""
    for place, column in enumerate(table.columns):
        if column.role != "delta" and column.unit not in {"%", "x"}:
            continue
        printed = {row: number for row in range(len(table.rows)) if (number := table.number(row, place))}
        if len(printed) < FEWEST:
            continue
        ways = [one for one in FORMULAS if one.percent or column.unit != "%"]
        pairs = list(_pairs(table, place, printed))
        for formulas in (ways, [EITHER] if column.unit != "%" else []):
            judged = [one for rows in pairs for way in formulas if (one := _judged(way, rows, printed))]
            if judged:
                break
        if not judged:
            yield from _cut_off(table, place, printed, pairs)
            continue
        held, broken = max(judged, key=lambda one: (len(one[0]), -len(one[1])))
        yield Passed("percentage", len(held))
        for row, formula, a, b, low, value, high in broken:
            number = printed[row]
            words = formula.words.format(a=a.printed, b=b.printed)
            sentence = (
                f"{column.heading} of {table.label(row)} is printed as {number.printed}, but the figures beside it give {shown(value)}; "
                f"the same formula gives what is printed in {len(held)} other rows."
            )
            lines = [
                f"{words} = {shown(value)} ({shown(low)} to {shown(high)} within rounding); printed {number.printed}"
            ]
            yield finding(
                table, row, place, "percentage", "contradiction", sentence, lines, 0.9 if len(held) >= 4 else 0.8
            )


def _cut_off(table: Table, place: int, printed: dict[int, Figure], pairs: list[Pairs]) -> Iterator[Finding]:
    """Yield a column of percentages with decimals, each of which is cut to a whole one: -6.00% for -6.76%."""
    if any(number.place >= 1 or number.value != int(number.value) for number in printed.values()):
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
            yield finding(table, far[0], place, "printed digits", "suspicious", words, lines, 0.8)
            return


def _pairs(table: Table, place: int, printed: dict[int, Figure]) -> Iterator[Pairs]:
    """Yield what a column of changes may compare: two columns, two rows."""
    sides = [
        other
        for other, one in enumerate(table.columns)
        if other != place and one.role in {"metric", "level"} and one.unit != "%"
    ]
    for a, b in permutations(sides, 2):
        yield [(row, *both) for row in printed if (both := _in_one_unit(table, row, a, b))]
    for side in sides:
        numbers = {row: number for row in range(len(table.rows)) if (number := table.number(row, side))}
        if len(numbers) < 2:
            continue
        rows = sorted(numbers)
        best, least = max(rows, key=lambda row: numbers[row].value), min(rows, key=lambda row: numbers[row].value)
        bases_of = [{row: at for row in rows if row != at} for at in dict.fromkeys([rows[0], rows[-1], best, least])]
        for base in [*bases_of, {later: row for row, later in pairwise(rows)}]:
            pairs = [(row, numbers[at], numbers[row]) for row, at in base.items() if row in printed]
            yield pairs
            yield [(row, new, old) for row, old, new in pairs]


def _in_one_unit(table: Table, row: int, a: int, b: int) -> tuple[Figure, Figure] | None:
    """Return two cells of a row, the first in the unit of the second: a row may have a unit of its own in all its cells."""
    one, other = table.rows[row][a].figure, table.rows[row][b].figure
    if one is None or other is None:
        return None
    scale = factor(one.unit or table.columns[a].unit, other.unit or table.columns[b].unit)
    if scale is None or scale == 1:
        return (one, other) if scale else None
    return one._replace(value=one.value * scale, low=one.low * scale, high=one.high * scale), other


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
            # What is as wide as the figure itself, or is 0 or 1 for all formulas, shows nothing.
            if high - low + place < 0.5 * abs(value) + 1e-12 and number.value not in {0, 1, 100}:
                held.append(row)
        elif abs(number.value) != abs(value) and not low - place <= -number.value <= high + place:
            broken.append(Broken(row, formula, a, b, low, value, high))
            if len(broken) > most:
                return None
    if len(held) < FEWEST and (len(held) < 2 or broken):
        return None
    return (held, broken) if len(broken) <= max(1, len(held) // 4) else None


# -- sums and means -------------------------------------------------------------------------------------------------------

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
                f"{label} of {table.columns[place].heading} is printed as {printed.printed}; {name} of the {len(parts)} rows above is {shown(value)}, "
                f"and {held} other columns come out."
            )
            lines = [
                f"{' + '.join(part.printed for part in parts[:12])}{' + ...' if len(parts) > 12 else ''}: {name} is {shown(value)}; printed {printed.printed}"
            ]
            yield finding(table, row, place, "sum", "contradiction", sentence, lines, 0.85)


def _over(of: Callable[[Sequence[float]], float], parts: Sequence[Figure]) -> tuple[float, float, float]:
    return of([part.low for part in parts]), of([part.value for part in parts]), of([part.high for part in parts])


def sums(table: Table) -> Iterator[Outcome]:
    """Yield the rows in which a column is not the sum of others, though it is in the other rows."""
    places = [place for place, column in enumerate(table.columns) if column.role == "metric" and column.unit != "%"]
    for total in places:
        others = [
            place for place in places if place != total and table.columns[place].unit == table.columns[total].unit
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
                        f"{table.columns[total].heading} of {table.label(row)} is printed as {printed.printed}, the sum of "
                        f"{', '.join(table.columns[place].heading for place in group)} is {shown(value)}; in {held} other rows it is the sum."
                    )
                    lines = [
                        f"{' + '.join(number.printed for number in numbers)} = {shown(value)}; printed {printed.printed}"
                    ]
                    yield finding(table, row, total, "sum", "contradiction", sentence, lines, 0.85)


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
        yield finding(table, row, rate, "rate", "contradiction", sentence, lines, 0.85)
    if cut:
        row, printed = cut[0][:2]
        lines = [f"{words} = {shown(value)}; printed {one.printed}" for _, one, value, words in cut]
        sentence = f"In {len(cut)} rows {head} is truncated, not rounded."
        yield finding(table, row, rate, "rounding", "note", sentence, lines, 0.7)


# -- products and ratios that are the same in all rows ---------------------------------------------------------------------


def constants(table: Table) -> Iterator[Outcome]:
    """Yield the row in which a product or ratio of columns is not what it is in all others: rate x time, QPS / TPS.

    Where clients and a mean latency are printed, Little's law is tried: clients / (throughput x latency).
    """
    places = [
        place for place, column in enumerate(table.columns) if column.role in {"metric", "level"} and column.unit != "%"
    ]
    places = places[:16]
    related: set[tuple[int, int]] = set()
    timed = any(column.quantity == "time" for column in table.columns)
    for a, b in combinations(places, 2):
        one, other = table.columns[a], table.columns[b]
        # Cores and memory of machines for sale are a ratio in most of them, and need not be in all.
        if "level" in {one.role, other.role} and not {one.quantity, other.quantity} & _MEASURED:
            continue
        for words, of in (("{} x {}", lambda x, y: x * y), ("{} / {}", lambda x, y: x / y)):
            if words == "{} x {}" and not _is_work(table.columns[a], table.columns[b]):
                continue
            # A count over a rate is a time: where times are printed, that they differ is no slip.
            if words == "{} / {}" and timed and is_rate(one.unit) != is_rate(other.unit):
                continue
            rows = _products(table, (a, b), of)
            off = _odd_one(rows, SAME)
            if off is None or not _varies(table, (a, b), [row for row, *_ in rows]):
                continue
            related.add((a, b))
            yield from _odd(table, (a, b), words, rows, off, "ratio", "contradiction")
    for whole, first, second in _triples(table, places, related):
        rows = _products(table, (whole, first, second), lambda x, y, z: x / (y * z))
        off = _odd_one(rows, SAME)
        if off is not None:
            yield from _odd(table, (whole, first, second), "{} / ({} x {})", rows, off, "ratio", "contradiction")
    for clients, rate, latency in permutations(places, 3):
        law = table.columns[clients].quantity == "concurrency" and is_rate(table.columns[rate].unit)
        scale = factor(table.columns[latency].unit, "s")
        if (
            not law
            or scale is None
            or table.columns[latency].quantity not in {"mean", "latency"}
            or (min(rate, latency), max(rate, latency)) in related
        ):
            continue
        rows = _products(table, (clients, rate, latency), lambda n, x, t, s=scale: n / (x * t * s))
        off = _odd_one(rows, LITTLE)
        if off is not None and len({table.rows[row][clients].text for row, *_ in rows}) > 1:
            words = "{} against {} against {}"
            yield from _odd(table, (clients, rate, latency), words, rows, off, "Little's law", "suspicious")


def _triples(table: Table, places: Sequence[int], related: set[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield columns of which one may be the product of two others, times a constant: work, rate and time; sum, count and mean."""
    values = {
        place: [
            number.value if (number := table.number(row, place)) and number.low > 0 else None
            for row in range(len(table.rows))
        ]
        for place in places
        if _varies(table, (place,), range(len(table.rows)))
    }
    for whole, wholes in values.items():
        for one, other in combinations([place for place in values if place != whole], 2):
            if any((min(pair), max(pair)) in related for pair in combinations((whole, one, other), 2)):
                continue
            found = [x / (y * z) for x, y, z in zip(wholes, values[one], values[other], strict=True) if x and y and z]
            if len(found) <= CONSTANT:
                continue
            middle = median(found)
            meant = any(abs(middle / unit / 10 ** round(log10(middle / unit)) - 1) < 0.005 for unit in _UNITY)
            if meant and sum(abs(ratio / middle - 1) < 0.02 for ratio in found) >= 0.8 * len(found):
                yield whole, one, other


_UNITY = (1.0, 6.0, 1 / 6, 3.6, 1 / 3.6, *(1.024**power for power in (-3, -2, -1, 1, 2, 3)))
"""What units make of 1, but for powers of ten: minutes, hours, KiB, MiB and GiB."""
_MEASURED = {"throughput", "time", "latency", "mean", "percentile"}


def _is_work(one: Column, other: Column) -> bool:
    """Return whether the product of two columns is an amount of work: a rate over a time."""
    return any(is_rate(rate.unit) and factor(time.unit, "s") is not None for rate, time in ((one, other), (other, one)))


Product = tuple[int, float, float, float]


def _products(table: Table, places: Sequence[int], of: Callable[..., float]) -> list[Product]:
    rows = []
    for row in range(len(table.rows)):
        numbers = [number for place in places if (number := table.number(row, place)) and number.low > 0]
        if len(numbers) == len(places):
            # A level was set: 1 client is no 0.5 to 1.5 of them.
            ends = [
                (number.value,) if table.columns[place].role == "level" else (number.low, number.high)
                for place, number in zip(places, numbers, strict=True)
            ]
            corners = [of(*values) for values in product(*ends)]
            rows.append((row, min(corners), of(*(number.value for number in numbers)), max(corners)))
    return rows


def _odd_one(rows: list[Product], room: float) -> list[Product] | None:
    """Return the rows that are off what all others share, at most one in five; None where nothing is shared."""
    if len(rows) < CONSTANT + 1:
        return None
    middle = median(value for _, _, value, _ in rows)
    sharp = [one for one in rows if one[3] - one[1] < 0.1 * abs(middle)]
    if len(sharp) < CONSTANT + 1:
        return None
    middle = median(value for _, _, value, _ in sharp)
    off = [one for one in sharp if one[1] > middle * (1 + room) or one[3] < middle * (1 - room)]
    far = [one for one in off if not middle * (1 - 4 * room) <= one[2] <= middle * (1 + 4 * room)]
    if len(off) != len(far) or len(off) > max(1, len(sharp) // 8):
        return None
    # Eight times what it is elsewhere is another set-up: all of a run beside its eight parts.
    if any(
        abs(times / round(times) - 1) < 0.005 for one in off if (times := max(one[2] / middle, middle / one[2])) > 1.9
    ):
        return None
    return off if len(sharp) - len(off) >= CONSTANT else None


def _varies(table: Table, places: Sequence[int], rows: Sequence[int]) -> bool:
    """Return whether both columns take several values, so that a constant of them is a relation."""
    for place in places:
        values = [number.value for row in rows if (number := table.number(row, place))]
        counted = sorted(values)
        if len(set(values)) < CONSTANT or counted[-2] < 1.3 * counted[1]:
            return False
    return True


def _odd(
    table: Table,
    places: Sequence[int],
    words: str,
    rows: list[Product],
    off: list[Product],
    kind: Kind,
    severity: Severity,
) -> Iterator[Outcome]:
    yield Passed(kind, len(rows) - len(off))
    middle = median(value for _, _, value, _ in rows)
    heads = words.format(*(table.columns[place].heading for place in places))
    for row, low, value, high in off:
        printed = words.format(*(table.rows[row][place].text for place in places))
        sentence = f"{heads} is {shown(middle)} in {len(rows) - len(off)} rows, but {shown(value)} for {table.label(row)}: one of its figures is wrong."
        lines = [
            f"{printed} = {shown(value)} ({shown(low)} to {shown(high)} within rounding); elsewhere {shown(middle)}"
        ]
        yield finding(table, row, places[-1], kind, severity, sentence, lines, 0.8)


def multiples(table: Table) -> Iterator[Outcome]:
    """Yield the rows in which QPS is not a whole multiple of TPS, as it is where each transaction has its statements."""
    qps, tps = (
        [
            place
            for place, column in enumerate(table.columns)
            if re.search(rf"\b{name}\b", column.heading, re.IGNORECASE)
        ]
        for name in ("qps", "tps")
    )
    if len(qps) != 1 or len(tps) != 1:
        return
    rows = _products(table, (qps[0], tps[0]), lambda x, y: x / y)
    sharp = [one for one in rows if one[3] - one[1] < 0.1 and one[2] > 1.5]
    off = [one for one in sharp if abs(one[2] - round(one[2])) > max(0.01 * one[2], (one[3] - one[1]) / 2)]
    if len(sharp) - len(off) < CONSTANT - 1 or len(off) > max(1, len(sharp) // 5) or len(sharp) < len(rows):
        return
    yield Passed("ratio", len(sharp) - len(off))
    for row, _, value, _ in off:
        sentence = f"{table.columns[qps[0]].heading} is a whole multiple of {table.columns[tps[0]].heading} in {len(sharp) - len(off)} rows, but {shown(value)} times it for {table.label(row)}."
        lines = [f"{table.rows[row][qps[0]].text} / {table.rows[row][tps[0]].text} = {shown(value)}"]
        yield finding(table, row, qps[0], "ratio", "suspicious", sentence, lines, 0.75)


def swapped(table: Table) -> Iterator[Outcome]:
    """Yield the row in which two columns look exchanged: both figures are as the other column's are in all other rows."""
    places = [
        place
        for place, column in enumerate(table.columns)
        if column.role == "metric" and column.quantity and column.unit
    ]
    for a, b in combinations(places[:16], 2):
        rows = [
            (row, mine.value, theirs.value)
            for row in range(len(table.rows))
            if (mine := table.number(row, a)) and (theirs := table.number(row, b))
        ]
        if len(rows) < CONSTANT or any(x <= 0 or y <= 0 for _, x, y in rows):
            continue
        alike = factor(table.columns[a].unit, table.columns[b].unit) is not None
        for at, (row, x, y) in enumerate(rows):
            rest = [(one, other) for place, (_, one, other) in enumerate(rows) if place != at]
            ratios = [one / other for one, other in rest]
            near = [one for place, one in enumerate(rows) if abs(place - at) == 1]
            # Exchanged back, the row has the ratio of all the others, which are alike; or lies between its neighbours on a ladder.
            fits = min(ratios) / 1.05 <= y / x <= max(ratios) * 1.05 and max(ratios) < 1.15 * min(ratios)
            beside = (
                not alike
                and len(near) == 2
                and _is_ladder(table)
                and _between(y, [one for _, one, _ in near])
                and _between(x, [other for *_, other in near])
            )
            more = all(ratio > 1.5 for ratio in ratios) and x / y < 1 / 1.5
            less = all(ratio < 1 / 1.5 for ratio in ratios) and x / y > 1.5
            strange = _outside(x, [one for one, _ in rest]) and _outside(y, [other for _, other in rest])
            if (more or less) and (fits or beside) and (alike or strange):
                heads = f"{table.columns[a].heading} and {table.columns[b].heading}"
                sentence = f"{heads} of {table.label(row)} look exchanged: in the {len(rest)} other rows the first is {'more' if more else 'less'} than the second by far."
                lines = [f"{x:g} and {y:g}; elsewhere {shown(rest[0][0])} and {shown(rest[0][1])}"]
                yield finding(table, row, a, "ratio", "suspicious", sentence, lines, 0.75)


def _outside(value: float, others: Sequence[float]) -> bool:
    return value < min(others) / 1.5 or value > max(others) * 1.5


def _between(value: float, others: Sequence[float]) -> bool:
    return min(others) / 1.3 <= value <= max(others) * 1.3


def _is_ladder(table: Table) -> bool:
    levels = [place for place, column in enumerate(table.columns) if column.role == "level"]
    x = [number.value for row in range(len(table.rows)) if levels and (number := table.number(row, levels[-1]))]
    return len(levels) == 1 and len(x) == len(table.rows) and x in (sorted(set(x)), sorted(set(x), reverse=True))


# -- latencies, shares, curves --------------------------------------------------------------------------------------------

_RANK_WORDS = re.compile(
    r"(?:p|tp)\s?\d+(?:\.\d+)?|\d+(?:\.\d+)?\s?(?:th|%|rd)?(?:\s?percentile)?|\b(?:avg|average|mean|median|min(?:imum)?|max(?:imum)?|slowest|fastest|"
    r"latency|lat|percentile|response|time|pct)\b|平均|最大|最小|延迟|[()\[\]_,.:/%-]|\b(?:us|ms|s|ns|sec)\b",
    re.IGNORECASE,
)


def _rank(quantity: str, percent: float | None, heading: str) -> float | None:
    if quantity == "percentile":
        return percent
    return {"min": 0.0, "max": 100.0}.get(quantity)


def percentiles(table: Table) -> Iterator[Outcome]:
    """Yield the rows (or columns) in which a higher percentile is the smaller one, or a mean lies above the maximum."""
    stems: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for place, column in enumerate(table.columns):
        rank = _rank(column.quantity, column.percent, column.heading)
        if rank is not None:
            stem = (" ".join(_RANK_WORDS.sub(" ", column.heading).lower().split()), column.unit)
            stems.setdefault(stem, []).append((rank, place))
    for group in stems.values():
        for (low, one), (high, other) in combinations(sorted(group), 2):
            if low < high:
                for row in range(len(table.rows)):
                    yield from _ordered(table, (row, one), (row, other))
    ranked = table.columns[0].quantity == "rank"
    ranks = [(_row_rank(cells[0].text, bare=ranked), row) for row, cells in enumerate(table.rows)]
    known = [(rank, row) for rank, row in ranks if rank is not None]
    if len(known) >= 2 and len(known) == len({rank for rank, _ in known}) and len(known) >= 0.6 * len(table.rows):
        for place in range(1, len(table.columns)):
            for (_, one), (_, other) in pairwise(sorted(known)):
                yield from _ordered(table, (one, place), (other, place))


def _row_rank(text: str, *, bare: bool) -> float | None:
    found = re.fullmatch(
        r"\W*(?:p|tp)?\s?(50|75|80|90|95|99(?:\.\d+)?)(?:th|%|\s?(?:th )?percentile|%?-tile)?(?:\s?latency)?\s?(?:\(\w+\))?\W*",
        text.strip(),
        re.IGNORECASE,
    )
    return float(found[1]) if found and (bare or not text.strip().isdigit()) else None


def _ordered(table: Table, small: tuple[int, int], large: tuple[int, int]) -> Iterator[Outcome]:
    one, other = table.number(*small), table.number(*large)
    if one is None or other is None or one.unit != other.unit:
        return
    if one.low <= other.high:
        yield Passed("percentiles", 1)
        return
    names = [
        table.columns[place].heading if small[0] == large[0] else table.rows[row][0].text
        for row, place in (small, large)
    ]
    sentence = [f"{names[0]} {one.printed} > {names[1]} {other.printed}"]
    lines = 0.85
    yield finding(
        table,
        *small,
        "percentiles",
        "contradiction",
        f"{names[0]} is above {names[1]} for {table.label(small[0]) if small[0] == large[0] else table.columns[small[1]].heading}, which cannot be.",
        sentence,
        lines,
    )


_SHARE = re.compile(
    r"hit (?:ratio|rate)|success\w* ?(?:rate|ratio|share|\(?%)|命中率|成功率|error rate|availability|accuracy",
    re.IGNORECASE,
)


def shares(table: Table) -> Iterator[Outcome]:
    """Yield shares of a whole that are above 100% (CPU in percent of one core may be), and those below 0."""
    for place, column in enumerate(table.columns):
        if column.unit == "%" and _SHARE.search(column.heading):
            for row in range(len(table.rows)):
                number = table.number(row, place)
                if number and (number.low > 100 or number.high < 0):
                    sentence = (
                        f"{column.heading} of {table.label(row)} is {number.printed}: a share is between 0 and 100%."
                    )
                    lines = [f"{number.printed} of a whole"]
                    yield finding(table, row, place, "impossible", "contradiction", sentence, lines, 0.9)
                elif number:
                    yield Passed("impossible", 1)


def curves(table: Table) -> Iterator[Outcome]:
    """Yield a point that lies far off both of its neighbours along a ladder of levels, where these are alike."""
    if len(table.rows) < 4 or not _is_ladder(table):
        return
    level = next(place for place, column in enumerate(table.columns) if column.role == "level")
    x = [number.value if (number := table.number(row, level)) else 0.0 for row in range(len(table.rows))]
    if x == list(range(1, len(x) + 1)) and table.columns[level].quantity != "concurrency":
        return  # batch 1, 2, 3: numbers of parts, along which nothing need be smooth
    for place, column in enumerate(table.columns):
        y = [table.number(row, place) for row in range(len(table.rows))]
        numbers = [one for one in y if one and one.low > 0]
        if column.role != "metric" or column.unit == "%" or len(numbers) < len(y):
            continue
        for row in range(1, len(y) - 1):
            before, here, after = numbers[row - 1 : row + 2]
            off, others = _off_curve(x, [one.value for one in numbers], row)
            if off > (5 if len(y) == 4 else max(2 if len(y) < 8 else 1.5, others**5)):
                sentence = (
                    f"{column.heading} of {table.label(row)} is {here.printed}, {off:.1f} times off what its neighbours let expect; "
                    f"no other point is by more than {others:.2f}: a digit or a unit may have slipped."
                )
                lines = [f"{here.printed} between {before.printed} and {after.printed}"]
                yield finding(table, row, place, "outlier", "suspicious", sentence, lines, 0.75)
        yield Passed("outlier", len(y) - 2)


def _off_curve(x: Sequence[float], y: Sequence[float], row: int) -> tuple[float, float]:
    """Return how many times a point is off the line between its neighbours, and the most that any other point is, without it."""

    def off(rows: Sequence[int], at: int) -> float:
        before, here, after = rows[at - 1 : at + 2]
        share = (x[here] - x[before]) / (x[after] - x[before])
        share = log(x[here] / x[before]) / log(x[after] / x[before]) if min(x) > 0 else share
        expected = float(y[before] ** (1 - share) * y[after] ** share)
        return max(y[here] / expected, expected / y[here])

    others = [one for one in range(len(y)) if one != row]
    return off(range(len(y)), row), max(off(others, at) for at in range(1, len(others) - 1))


# -- the same figures twice ---------------------------------------------------------------------------------------------------


class _Row(NamedTuple):
    table: Table
    row: int
    texts: dict[str, tuple[int, str]]
    label: str


def repeated(read: Reading) -> Iterator[Finding]:
    """Yield rows with the same figures in two places, and rows of one configuration of which one figure differs."""
    found = list(_repeated(read))
    # Where many rows are printed twice, that is how the document is made, and no slip.
    if sum(one.severity != "note" for one in found) > 3:
        found = [one.model_copy(update={"severity": "note"}) for one in found]
    alike: dict[tuple[str, str], list[Finding]] = {}
    for one in found:
        # Of rows that two tables share, one note says it.
        key = (one.where, one.sentence.partition(",")[0]) if one.severity == "note" else ("", one.id)
        alike.setdefault(key, []).append(one)
    for first, *more in alike.values():
        told = {
            "sentence": f"{first.sentence} So it is of {len(more) + 1} rows.",
            "arithmetic": [*first.arithmetic, *(f"line {one.line}: {one.arithmetic[0]}" for one in more)],
        }
        yield first.model_copy(update=told if more else {})


def _repeated(read: Reading) -> Iterator[Finding]:
    rows: list[_Row] = []
    for table in read.tables:
        metrics = [
            place
            for place, column in enumerate(table.columns)
            if column.role == "metric" and column.quantity not in {"cost", "size", "count"}
        ]
        for row, cells in enumerate(table.rows):
            texts = {
                table.columns[place].heading: (place, cells[place].text) for place in metrics if cells[place].figure
            }
            rows.append(_Row(table, row, texts, table.label(row)))
    alike: dict[tuple[str, str], list[int]] = {}
    for number, one in enumerate(rows):
        for name, (_, text) in one.texts.items():
            alike.setdefault((name, text), []).append(number)
    # What stands in many rows tells none of them.
    pairs = Counter(pair for numbers in alike.values() if len(numbers) <= 50 for pair in combinations(numbers, 2))
    for a, b in sorted(pair for pair, count in pairs.items() if count >= 2):
        one, other = rows[a], rows[b]
        common = [name for name in one.texts if name in other.texts]
        same = [name for name in common if one.texts[name][1] == other.texts[name][1]]
        digits = sum(len(re.sub(r"\D", "", one.texts[name][1]).strip("0")) for name in same)
        if len(common) < 2 or digits < 8 or len(same) < len(common) - 1:
            continue
        places = f"{one.table.id}, {one.label} and {other.table.id}, {other.label}"
        lines = [f"{name}: {one.texts[name][1]} and {other.texts[name][1]}" for name in common]
        place = other.texts[same[0]][0]
        if len(same) == len(common) and len(same) >= (3 if one.table is other.table else 2):
            severity: Severity = (
                "suspicious" if one.table is other.table and one.label != other.label and len(same) >= 3 else "note"
            )
            sentence = (
                f"{places} have the same {len(same)} figures: one may be a copy, or one measurement is printed twice."
            )
            yield finding(other.table, other.row, place, "repeated figures", severity, sentence, lines, 0.8)
        elif len(same) >= 3 and one.label == other.label:
            odd = next(name for name in common if name not in same)
            column = other.table.columns[other.texts[odd][0]]
            if not column.quantity and not column.unit:
                continue  # LS_ID, PORT: what tells the rows apart, and no measurement
            sentence = f"{places} have the same figures but for {odd}: they look like one measurement, of which one figure was printed wrongly."
            yield finding(
                other.table, other.row, other.texts[odd][0], "repeated figures", "suspicious", sentence, lines, 0.75
            )
