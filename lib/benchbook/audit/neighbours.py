"""Checks every metric along a level of numbers for a point that is off its neighbours: a unit slip, a decimal shift.

Nothing is declared for it. The table's own steps from row to row say how much a curve varies; a point counts only
where it is further off than the largest step between the other points, and a factor more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from benchbook.audit.findings import Outcomes, table_finding
from benchbook.audit.judgement import state
from benchbook.audit.rows import Row, with_levels
from benchbook.documents.findings import Finding, Passed
from benchbook.documents.units import is_time
from benchbook.grouping import grouped
from benchbook.published.arithmetic import names
from benchbook.published.tables import PublishedTable

POINTS = 3
"""The fewest points of a curve that is looked at."""
# Each of the 290 points of the 77 curves in data/published was taken times 10, 1,000, 1/10 and 1/1,000; beside each
# constant, what share of these slips other values find. None of the values accuses an unchanged curve. Of curves of
# noise (log-normal, deviation 0.3, 3 to 8 points) the values that are set accuse one in 1,000 at most.
INSIDE = 4.0
"""A point between two others must be beyond both by this factor at least, and by twice the largest other step.

Rates 95% (2 to 4), 93% (6), 85% (8); times 73%, 71%, 60%. At 2, one curve of noise in 100 is accused.
"""
END = 5.0
"""A first or last point must be this factor beyond what goes on from its neighbours, and 2.5 times that step.

Rates 97% (2.5 and 4), 95% (5), 89% (7), 66% (10); times 67%, 66%, 64%, 52%.
"""
QUEUE = 40.0
"""The same for a time that rises at an end: latencies of an overloaded server explode.

Times 85% (5), 75% (10), 67% (20), 66% (40 and 80): what it gives away are slips of one digit at the last level.
"""


class LevelCurve(NamedTuple):
    """A metric along a level: the rows in the order of the level, the level's and the metric's numbers."""

    level: str
    metric: str
    rows: list[Row]
    x: list[float]
    y: list[float]


class Off(NamedTuple):
    """How far a point is from what its neighbours say, and how far it may be; logarithms."""

    distance: float
    limit: float


def curves(table: PublishedTable, rows: Sequence[Row]) -> Outcomes:
    """Yield every metric of a table along each of its levels that are numbers."""
    for curve in chain.from_iterable(_curves(rows, level) for level in table.meta.table_schema.primary_key):
        time = is_time(table.fields[curve.metric].unit)
        off = {place: _off(curve, place, time=time) for place in range(len(curve.rows))}
        far = {place: it for place, it in off.items() if it.distance > it.limit}
        wrong = {place: it for place, it in far.items() if not _confirmed(curve.rows[place], curve.metric)}
        # One slip spoils what is expected of its neighbours too: only one is named, and one inside before an end.
        inside = range(1, len(curve.rows) - 1)
        worst = max(wrong, key=lambda at: (at in inside, wrong[at].distance - wrong[at].limit), default=None)
        yield Passed("outlier", len(curve.rows) - (worst is not None))
        if worst is not None:
            yield _finding(table, curve, worst)


def _curves(rows: Sequence[Row], level: str) -> Iterator[LevelCurve]:
    table = rows[0].table
    others = [key for key in table.meta.table_schema.primary_key if key != level]
    numeric = [row for row in rows if isinstance(row.cells.get(level), int | float)]
    for group in grouped(numeric, lambda row: tuple(row.cells.get(key) for key in others)).values():
        ordered = sorted(group, key=lambda row: float(row.cells[level]))
        for metric in table.metrics:
            printed = [row for row in ordered if row.prints(metric)]
            x = [float(row.cells[level]) for row in printed]
            y = [float(row.cells[metric]) for row in printed]
            if len(y) >= POINTS and len(set(x)) == len(x) and min(y) > 0:
                yield LevelCurve(level, metric, printed, x, y)


def _confirmed(row: Row, metric: str) -> bool:
    """Return whether a declared equality holds in the row, so that other printed figures confirm this one."""
    return any(
        one.relation == "="
        and metric in {*names(one.left), *names(one.right)}
        and with_levels([row], one.rows)
        and state(one, row.known) in {"holds", "truncated"}
        for one in row.table.identities
    )


def _off(curve: LevelCurve, place: int, *, time: bool) -> Off:
    y = [math.log(value) for value in curve.y]
    others = [value for other, value in enumerate(y) if other != place]
    step = max(abs(b - a) for a, b in pairwise(others))
    if 0 < place < len(y) - 1:
        return Off(_beyond(y[place], y[place - 1], y[place + 1]), max(math.log(INSIDE), step + math.log(2)))
    near, far = (1, 2) if place == 0 else (-2, -3)
    expected = y[near] + (y[near] - y[far]) * _steps_on(curve.x, place, near, far)
    distance = _beyond(y[place], y[near], expected)
    limit = max(math.log(END), step + math.log(2.5))
    if min(curve.x) > 0:  # a longer step of the level explains a larger change
        limit += max(0.0, abs(math.log(curve.x[place] / curve.x[near])) - math.log(2))
    rises = y[place] > max(y[near], expected)
    return Off(distance, max(limit, math.log(QUEUE)) if time and rises else limit)


def _steps_on(x: list[float], place: int, near: int, far: int) -> float:
    """Return how many of the steps between the two nearest points lie before an end, in logarithms of the level.

    One, by rows, where a level is not above 0.
    """
    if min(x) <= 0:
        return 1.0
    here, first, second = (math.log(x[at]) for at in (place, near, far))
    return (here - first) / (first - second)


def _beyond(value: float, one: float, other: float) -> float:
    """Return how far a value lies outside two others; 0 between them."""
    return max(value - max(one, other), min(one, other) - value, 0.0)


def _finding(table: PublishedTable, curve: LevelCurve, place: int) -> Finding:
    row, metric, level = curve.rows[place], curve.metric, curve.level
    near = [other for other in (place - 1, place + 1) if 0 <= other < len(curve.rows)]
    factor = min(max(curve.y[place] / curve.y[other], curve.y[other] / curve.y[place]) for other in near)
    side = "above" if curve.y[place] > curve.y[near[0]] else "below"
    sentence = (
        f"{metric} of {row.label} is {row.words[metric]}, {factor:.1f} times {side} its "
        f"{'neighbours' if len(near) > 1 else 'neighbour'} along {level}; the other rows do not vary like this: "
        "a digit, a unit or a decimal point may have slipped."
    )
    lines = [
        f"{row.words[metric]} against {other.words[metric]} ({level} {other.words[level]})"
        for other in (curve.rows[at] for at in near)
    ]
    return table_finding(table, f"{metric}.outlier.{row.key}", "outlier", "suspicious", sentence, lines)
