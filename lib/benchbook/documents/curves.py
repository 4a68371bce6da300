"""Percentiles in their order, shares within their whole, and points along a curve."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from math import log

from scipy.special import stdtrit

from benchbook.documents.cell_findings import FEWEST, MOST_ROWS, Outcome, cell_finding
from benchbook.documents.findings import Passed
from benchbook.documents.tables import Table

_RANK_WORDS = re.compile(
    r"(?:p|tp)\s?\d+(?:\.\d+)?|\d+(?:\.\d+)?\s?(?:th|%|rd)?(?:\s?percentile)?|\b(?:avg|average|mean|median|min(?:imum)?|max(?:imum)?|slowest|fastest|"
    r"latency|lat|percentile|response|time|pct)\b|平均|最大|最小|延迟|[()\[\]_,.:/%-]|\b(?:us|ms|s|ns|sec)\b",
    re.IGNORECASE,
)


# A percentile may be the end of a bucket in which a minimum or maximum lies: sysbench's are 1.8% wide, fio's 1.6%
# (stat.h: 64 for each power of two).
_BUCKET = 0.02


def _rank(quantity: str, percent: float | None) -> float | None:
    if quantity == "percentile":
        return percent
    return {"min": 0.0, "max": 100.0}.get(quantity)


def percentiles(table: Table) -> Iterator[Outcome]:
    """Yield the rows (or columns) in which a higher percentile is the smaller one, or a minimum lies above the maximum."""
    stems: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for place, column in enumerate(table.columns):
        rank = _rank(column.quantity, column.percent)
        if rank is not None:
            stem = (" ".join(_RANK_WORDS.sub(" ", column.heading).lower().split()), column.unit)
            stems.setdefault(stem, []).append((rank, place))
    for group in stems.values():
        for (low, one), (high, other) in combinations(sorted(group), 2):
            if low < high:
                room = _BUCKET if (low == 0.0) != (high == 100.0) else 0.0
                for row in range(len(table.rows)):
                    yield from _ordered(table, (row, one), (row, other), room)
    ranked = table.columns[0].quantity == "rank"
    ranks = [(_row_rank(cells[0].text, bare=ranked), row) for row, cells in enumerate(table.rows)]
    known = [(rank, row) for rank, row in ranks if rank is not None]
    if len(known) >= 2 and len(known) == len({rank for rank, _ in known}) and len(known) >= 0.6 * len(table.rows):
        for place in range(1, len(table.columns)):
            for (_, one), (_, other) in pairwise(sorted(known)):
                yield from _ordered(table, (one, place), (other, place))


def _row_rank(text: str, *, bare: bool) -> float | None:
    found = re.fullmatch(
        r"\W*(?:(?:p|tp)?\s?(50|75|80|90|95|99(?:\.\d+)?)|p(0\.1|1|10|25))(?:th|%|\s?(?:th )?percentile|%?-tile)?(?:\s?latency)?\s?(?:\(\w+\))?\W*",
        text.strip(),
        re.IGNORECASE,
    )
    return float(found[1] or found[2]) if found and (bare or not text.strip().isdigit()) else None


def _largest_power_of_ten_in(value: float) -> float:
    """Return the largest power of ten, from 10 up, that a figure is a whole multiple of; 0 for none."""
    return max((10.0**power for power in range(1, 7) if value and value % 10**power == 0), default=0.0)


def _step(table: Table, place: int) -> float:
    """Return the power of ten, from 10 up, that all figures of a column are whole multiples of; 0 for none."""
    values = {number.value for number in table.numbers(place).values()} - {0.0}
    return min(map(_largest_power_of_ten_in, values)) if len(values) >= FEWEST else 0.0


def _ordered(table: Table, small: tuple[int, int], large: tuple[int, int], room: float = 0.0) -> Iterator[Outcome]:
    one, other = table.number(*small), table.number(*large)
    if one is None or other is None or one.unit != other.unit:
        return
    if one.low > other.high and small[0] == large[0]:
        # Rounded up to whole buckets: 13,000 us of a column of whole milliseconds, 17,000 above a maximum of 16,460.
        steps = [_step(table, small[1]), _step(table, large[1])]
        maximum = table.columns[large[1]]
        if maximum.quantity == "max" and maximum.unit == "us" and one.value % 1000 == 0:
            steps.append(1000.0)
        room = max(room, max(steps) / max(other.high, 1e-9))
    if one.low <= other.high * (1 + room):
        yield Passed("percentiles", 1)
        return
    names = [
        table.columns[place].heading if small[0] == large[0] else table.rows[row][0].text
        for row, place in (small, large)
    ]
    what = table.label(small[0]) if small[0] == large[0] else table.columns[small[1]].heading
    sentence = f"{names[0]} is above {names[1]} for {what}, which cannot be."
    lines = [f"{names[0]} {one.printed} > {names[1]} {other.printed}"]
    yield cell_finding(table, *small, "percentiles", "contradiction", sentence, lines, 0.85)


_SHARE = re.compile(
    r"hit (?:ratio|rate)|success\w* ?(?:rate|ratio|share|\(?%)|命中率|成功率|error rate|availability|accuracy",
    re.IGNORECASE,
)


def shares(table: Table) -> Iterator[Outcome]:
    """Yield shares of a whole that are above 100% (CPU in percent of one core may be), and those below 0."""
    for place, column in enumerate(table.columns):
        if column.unit == "%" and _SHARE.search(column.heading):
            for row, number in table.numbers(place).items():
                if number.low > 100 or number.high < 0:
                    sentence = (
                        f"{column.heading} of {table.label(row)} is {number.printed}: a share is between 0 and 100%."
                    )
                    lines = [f"{number.printed} of a whole"]
                    yield cell_finding(table, row, place, "impossible", "contradiction", sentence, lines, 0.9)
                else:
                    yield Passed("impossible", 1)


# What there are 1, 2, 3 of; anything else so numbered is a first, a second, a third one.
_COUNTED = re.compile(
    r"threads|clients|connections|workers|users|sessions|nodes|servers|machines|hosts|replicas|shards|partitions|instances|brokers|(?:v?cpu|core)s"
    r"|^\W*(?:number|count|no\.?|#) |concurren|线程|并发|节点|客户端|副本|分片|核数?|机器",
    re.IGNORECASE,
)


def curves(table: Table) -> Iterator[Outcome]:
    """Yield a point that lies far off both of its neighbours along a ladder of levels, where these are alike."""
    x = table.ladder
    if not 4 <= len(x) <= MOST_ROWS:
        return
    (level,) = table.places("level")
    if x == list(range(1, len(x) + 1)) and not _COUNTED.search(table.columns[level].heading):
        return  # batch 1, 2, 3: numbers of parts, along which nothing need be smooth
    for place, column in enumerate(table.columns):
        numbers = [one for one in table.numbers(place).values() if one.low > 0]
        # The largest of all, and errors, jump as they like.
        rough = column.unit == "%" or column.quantity in {"max", "errors", "spread"}
        if column.role != "metric" or rough or len(numbers) < len(x):
            continue
        for row in range(1, len(x) - 1):
            before, here, after = numbers[row - 1 : row + 2]
            ratio, others = _off_curve(x, [one.value for one in numbers], row)
            coarse = max(one.high / one.value for one in (before, after))
            if _has_slipped(ratio, max(others, coarse), len(x)):
                sentence = (
                    f"{column.heading} of {table.label(row)} is {here.printed}, {max(ratio, 1 / ratio):.1f} times off what its neighbours suggest; "
                    f"no other point is off by more than {others:.2f} times: a digit or a unit may have slipped."
                )
                lines = [f"{here.printed} between {before.printed} and {after.printed}"]
                yield cell_finding(table, row, place, "outlier", "suspicious", sentence, lines, 0.75)
        yield Passed("outlier", len(x) - 2)


# Of made-up ladders that are nothing but noise (log-normal with deviations of 0.3 to 1, uniform from 1 or 100 to 1,000,
# log-uniform, exponential) 1.0% at most are accused with 4 and 5 levels, 0.5% with 6, 0.2% with 8. A decimal point that
# slipped in throughput that scatters by 3% is found in 94% with 4 levels, in 95 to 99% with more; by 8%, in 60 and 74 to 81%.
CHANCE = 0.005
"""How often a ladder of noise may be accused. At 0.01, 1.2% of ladders with 5 levels are."""
LONGEST = 12
"""A longer ladder is held to the bound of one with so many points: none was tried."""
_SHIFTED = 10
"""So many times as far off as any other is a point that a shift of its decimal point puts back: with 8, 1.3% of these."""


def _has_slipped(ratio: float, others: float, points: int) -> bool:
    """Return whether a point is further off its curve than others that are off by `others` times at most suggest."""
    far, scale = abs(log(ratio)), log(others)
    shift = max(round(far / log(10)), 1) * log(10)
    if abs(far - shift) < (0.1 if points == 4 else 0.2) and far > _SHIFTED * scale:
        return True
    if points == 4 or far <= log(2 if points < 8 else 1.5):
        return False
    # A figure near 0 is far off by its logarithm alone: what counts is the share that it lacks.
    away = far if ratio > 1 else 1 - ratio
    return away > scale * times_by_chance(points)


def times_by_chance(points: int) -> float:
    """Return how many times as far off as any other a point may be by chance: Student's t, two-sided, for all inside."""
    points = min(points, LONGEST)
    return float(stdtrit(points - 3, 1 - CHANCE / (points - 2) / 2))


def _off_curve(x: Sequence[float], y: Sequence[float], row: int) -> tuple[float, float]:
    """Return a point over what the line between its neighbours gives, and the most times any other is off, without it."""

    def off(rows: Sequence[int], at: int) -> float:
        before, here, after = rows[at - 1 : at + 2]
        share = (x[here] - x[before]) / (x[after] - x[before])
        share = log(x[here] / x[before]) / log(x[after] / x[before]) if min(x) > 0 else share
        return float(y[here] / (y[before] ** (1 - share) * y[after] ** share))

    others = [one for one in range(len(y)) if one != row]
    rest = [off(others, at) for at in range(1, len(others) - 1)]
    return off(range(len(y)), row), max(max(one, 1 / one) for one in rest)
