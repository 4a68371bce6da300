"""Products and ratios of columns that are the same in all rows, whole multiples, and two columns that look exchanged."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, permutations, product
from math import ceil, floor, log10
from operator import mul, truediv
from statistics import median

from benchbook.documents.cell_findings import CONSTANT, MOST_ROWS, Outcome, cell_finding
from benchbook.documents.columns import Column
from benchbook.documents.findings import LITTLE_BROKEN, Kind, Passed, Severity
from benchbook.documents.findings import figure as shown
from benchbook.documents.tables import Reading, Table, table_in_sentences
from benchbook.documents.units import SECONDS, factor, is_rate, is_time

# Of 120 errors planted in benchmarks/documents, 100 are found; beside each, what other values find.
SAME = 0.004
"""How far from a constant, beyond rounding, a row may be before it is a finding: 100 from 0.002 to 0.01."""
LITTLE = 0.05
"""The same for Little's law, where clients work between calls: 100 from 0.025 to 0.1."""


def constants(table: Table) -> Iterator[Outcome]:
    """Yield the row in which a product or ratio of columns is not what it is in all others: rate x time, QPS / TPS.

    Where clients and a mean latency are printed, Little's law is tried: clients / (throughput x latency).
    """
    places = sorted(place for role in ("metric", "level") for place in table.places(role))
    places = [place for place in places if table.columns[place].unit != "%"][:16]
    related: set[tuple[int, int]] = set()
    timed = any(column.quantity == "time" for column in table.columns)
    for a, b in combinations(places, 2):
        one, other = table.columns[a], table.columns[b]
        # Cores and memory of machines for sale are a ratio in most of them, and need not be in all.
        if "level" in {one.role, other.role} and not {one.quantity, other.quantity} & _MEASURED:
            continue
        tried = [("{} x {}", mul, _is_of_clients)] if _is_work(one, other) else []
        # A count over a rate is a time: where times are printed, that they differ is no slip.
        if not timed or is_rate(one.unit) == is_rate(other.unit):
            tried.append(("{} / {}", truediv, _is_alike_by_chance))
        for words, of, is_none in tried:
            rows = _products(table, (a, b), of)
            off = _odd_one(rows)
            varies = off is not None and _varies(table, (a, b), [row for row, *_ in rows])
            if off is not None and varies and not is_none(table, (a, b), rows, off):
                related.add((a, b))
                yield from _odd(table, (a, b), words, rows, off, "ratio", "contradiction")
    triples = []
    for triple in _triples(table, places, related):
        rows = _products(table, triple, lambda x, y, z: x / (y * z))
        off = _odd_one(rows)
        if off is None and _is_littles_law(table, *triple):
            off = _odd_one(rows, LITTLE)
        triples.append((triple, rows, off))
    # What is the product of two columns in all rows is not also that of two others in most of them.
    explained = {one[0][0] for one in triples if one[2] == []}
    for (whole, first, second), rows, off in triples:
        if off is not None and not (off and whole in explained):
            law = _is_littles_law(table, whole, first, second)
            said: tuple[Kind, Severity] = ("Little's law", "suspicious") if law else ("ratio", "contradiction")
            yield from _odd(table, (whole, first, second), "{} / ({} x {})", rows, off, *said)


def _is_littles_law(table: Table, clients: int, first: int, second: int) -> bool:
    """Return whether these columns are clients, and a rate and a mean latency in either order."""
    columns = table.columns
    return columns[clients].quantity == "concurrency" and any(
        is_rate(columns[rate].unit) and _is_mean_latency(columns[latency])
        for rate, latency in permutations((first, second))
    )


def _is_mean_latency(column: Column) -> bool:
    return column.quantity in {"mean", "latency"} and is_time(column.unit)


def _is_alike_by_chance(table: Table, places: Sequence[int], rows: list[Product], off: list[Product]) -> bool:
    """Return whether two columns are only close to each other.

    They are alike by design if they are the same counts or rates, or one amount in two units: MB/s and MiB/s.
    """
    columns = [table.columns[place] for place in places]
    held = [one for one in rows if one not in off]
    scale = factor(columns[0].unit, columns[1].unit) or 1.0
    if scale != 1 and all(low * scale <= 1 + SAME and high * scale >= 1 - SAME for _, low, _, high in held):
        return False
    same = all(low <= 1 <= high for _, low, _, high in held)
    counted = all(column.quantity in {"throughput", "count"} for column in columns)
    return all(abs(value - 1) < 0.1 for _, _, value, _ in held) and not (same and counted)


def _is_of_clients(table: Table, places: Sequence[int], rows: list[Product], off: list[Product]) -> bool:
    """Return whether rate x mean latency is odd where other clients ran: another level, or a whole number as elsewhere."""
    rate, time = sorted((table.columns[place] for place in places), key=lambda one: not is_rate(one.unit))
    if not _is_mean_latency(time):
        return False
    levels = [place for place, column in enumerate(table.columns) if column.quantity == "concurrency"]
    others = set(range(len(table.rows))) - {row for row, *_ in off}
    if levels:
        known = {table.rows[row][place].text for row in others for place in levels}
        return any(table.rows[row][place].text not in known for row, *_ in off for place in levels)
    products = (median(value for _, _, value, _ in rows), *(value for _, _, value, _ in off))
    clients = [value * SECONDS[time.unit] for value in products]
    return rate.unit == "1/s" and all(round(n) >= 1 and abs(n - round(n)) < 0.01 for n in clients)


def _triples(table: Table, places: Sequence[int], related: set[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield columns of which one may be the product of two others, times a constant: work, rate and time; sum, count and mean."""
    values = {place: table.numbers(place) for place in places if _varies(table, (place,), range(len(table.rows)))}
    for whole, wholes in values.items():
        for one, other in combinations([place for place in values if place != whole], 2):
            if any((min(pair), max(pair)) in related for pair in combinations((whole, one, other), 2)):
                continue
            rows = [(x, values[one].get(row), values[other].get(row)) for row, x in wholes.items()]
            found = [x.value / (y.value * z.value) for x, y, z in rows if y and z and min(x.low, y.low, z.low) > 0]
            if len(found) <= CONSTANT:
                continue
            middle = median(found)
            law = _is_littles_law(table, whole, one, other)
            # Of clients that are printed once for several machines, any constant.
            meant = law or any(abs(middle / unit / 10 ** round(log10(middle / unit)) - 1) < 0.005 for unit in _UNITY)
            near = sum(abs(ratio / middle - 1) < (LITTLE if law else 0.02) for ratio in found)
            if meant and near >= 0.8 * len(found):
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


def _odd_one(rows: list[Product], room: float = SAME) -> list[Product] | None:
    """Return the rows that are off what all others share, one or at most one in eight; None where nothing is shared."""
    if len(rows) < CONSTANT + 1:
        return None
    # Of 5 allocations, which may be 4.5 to 5.5, nothing is known to a tenth.
    sharp = [one for one in rows if one[3] - one[1] < 0.1 * abs(one[2])]
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
    """Return whether each of these columns takes several values, so that a constant of them is a relation."""
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
        why = LITTLE_BROKEN if kind == "Little's law" else "one of its figures is wrong"
        sentence = f"{heads} is {shown(middle)} in {len(rows) - len(off)} rows, but {shown(value)} for {table.label(row)}: {why}."
        lines = [
            f"{printed} = {shown(value)} ({shown(low)} to {shown(high)} within rounding); elsewhere {shown(middle)}"
        ]
        yield cell_finding(table, row, places[-1], kind, severity, sentence, lines, 0.8)


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
    if len(qps) == len(tps) == 1:
        yield from _multiples(table, qps[0], tps[0], 0.01, "ratio", "suspicious")


def multiples_in_words(read: Reading) -> Iterator[Outcome]:
    """Yield the passages in which one figure is not a whole multiple of another, as it is in all passages like it."""
    if table := table_in_sentences(read):
        for whole, part in permutations(range(1, len(table.columns)), 2):
            yield from _multiples(table, whole, part, 0.0, "identity", "contradiction")


def _multiples(table: Table, whole: int, part: int, room: float, kind: Kind, severity: Severity) -> Iterator[Outcome]:
    rows = _products(table, (whole, part), truediv)
    sharp = [one for one in rows if one[3] - one[1] < 0.1 and one[2] > 1.5]
    off = [one for one in sharp if abs(one[2] - round(one[2])) > max(room * one[2], (one[3] - one[1]) / 2)]
    if len(sharp) - len(off) < CONSTANT - 1 or len(off) > max(1, len(sharp) // 5) or len(sharp) < len(rows):
        return
    yield Passed(kind, len(sharp) - len(off))
    one, other = table.columns[whole].heading, table.columns[part].heading
    for row, _, value, _ in off:
        sentence = f"{one} is a whole multiple of {other} in {len(sharp) - len(off)} rows, but {shown(value)} times it for {table.label(row)}."
        numbers = [number for place in (whole, part) if (number := table.number(row, place))]
        near = [f"{n} x {numbers[-1].printed} = {shown(n * numbers[-1].value)}" for n in (floor(value), ceil(value))]
        lines = [f"{' / '.join(one.printed for one in numbers)} = {shown(value)}; {', '.join(near)}"]
        yield cell_finding(table, row, whole, kind, severity, sentence, lines, 0.75)


def swapped(table: Table) -> Iterator[Outcome]:
    """Yield the row in which two columns look exchanged: both figures are as the other column's are in all other rows."""
    places = [
        place
        for place, column in enumerate(table.columns)
        if column.role == "metric" and column.quantity and column.unit
    ]
    if len(table.rows) > MOST_ROWS:
        return
    for a, b in combinations(places[:16], 2):
        theirs = table.numbers(b)
        rows = [(row, mine.value, theirs[row].value) for row, mine in table.numbers(a).items() if row in theirs]
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
                and table.ladder
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
                yield cell_finding(table, row, a, "ratio", "suspicious", sentence, lines, 0.75)


def _outside(value: float, others: Sequence[float]) -> bool:
    return value < min(others) / 1.5 or value > max(others) * 1.5


def _between(value: float, others: Sequence[float]) -> bool:
    return min(others) / 1.3 <= value <= max(others) * 1.3
