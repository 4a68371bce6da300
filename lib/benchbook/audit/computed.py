"""Checks products and sums that were computed from the printed figures: the one row that was not is told.

Where rounding leaves room for many printed values, and yet all rows but one print just what comes out of the printed
inputs, the column was computed from them; in the one row a digit may have slipped within the room.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from benchbook.audit import numbers
from benchbook.audit.findings import Outcomes
from benchbook.audit.judgement import Case, cases_of, side, state
from benchbook.documents.findings import Finding, Passed
from benchbook.published.arithmetic import Number, bare, evaluate
from benchbook.published.declarations import Identity
from benchbook.published.tables import Published, PublishedTable

ROOM = 2.0
"""How many printed values rounding must leave at least, for a row to say something."""
CHANCE = 1e-3
"""The largest probability, over all rows that could be the odd one, that the others agree by chance."""


class ComputedRow(NamedTuple):
    """A row in which an equality holds within rounding: how many printed values would, and whether it is computed."""

    case: Case
    room: float
    exact: bool


def computed(published: Published) -> Outcomes:
    """Every declared equality of a printed column, without a tolerance."""
    for table in published.tables.values():
        for identity in table.identities:
            if identity.relation == "=" and not identity.tolerance and bare(identity.left) != bare(identity.right):
                yield from _checked(published, table, identity)


def _checked(published: Published, table: PublishedTable, identity: Identity) -> Outcomes:
    found = [row for case in cases_of(published, table, identity) if (row := _row(identity, case))]
    told = [row for row in found if row.room >= ROOM]
    odd = [row for row in told if not row.exact]
    agree = [row for row in told if row.exact]
    # Of so many values that rounding allows, each row of `agree` has the one that is computed.
    by_chance = len(told) * prod(1 / row.room for row in agree)
    if not agree or by_chance > CHANCE or len(odd) > 1:
        return
    yield Passed("rounding", len(agree))
    if odd:
        yield _finding(published, table, identity, (odd[0], agree))


def _row(identity: Identity, case: Case) -> ComputedRow | None:
    printed, expression = _sides(identity)
    number, result = case.known.get(printed), evaluate(expression, case.known)
    if number is None or result is None or state(identity, case.known) != "holds":
        return None
    place = number.high - number.low
    if place <= 0:
        return None
    return ComputedRow(case, (result.high - result.low) / place, _is(number, result.value))


def _is(number: Number, value: float) -> bool:
    return number.low - 1e-9 * abs(value) <= value <= number.high + 1e-9 * abs(value)


def _sides(identity: Identity) -> tuple[str, str]:
    """The printed side, then the computed one."""
    return (identity.left, identity.right) if bare(identity.left) else (identity.right, identity.left)


def _finding(
    published: Published, table: PublishedTable, identity: Identity, rows: tuple[ComputedRow, list[ComputedRow]]
) -> Finding:
    odd, agree = rows
    printed, expression = _sides(identity)
    return Finding(
        id=f"{table.id}.{identity.id}.computed",
        report=published.report.name,
        where=numbers.where(table),
        kind="rounding",
        severity="note",
        sentence=f"{printed} is just what the printed figures give in {len(agree)} rows; in one it is not, although it "
        "is within rounding: a digit may have slipped.",
        arithmetic=[f"{odd.case.label}: {side(expression, odd.case)}; printed {odd.case.words[printed]}"],
    )
