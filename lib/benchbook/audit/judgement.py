"""Judges one declared equality or bound on the numbers of one row."""

from __future__ import annotations

from typing import Literal, NamedTuple

from benchbook.audit import numbers
from benchbook.documents.findings import Kind, figure
from benchbook.published.arithmetic import (
    Aggregate,
    Number,
    RowCondition,
    above,
    aggregates,
    bare,
    evaluate,
    meet,
    names,
    of_the_table,
    over,
    single,
    spelled,
)
from benchbook.published.declarations import Identity
from benchbook.published.tables import Published, PublishedTable

State = Literal["holds", "broken", "truncated"]


class Case(NamedTuple):
    """One row in which an identity was evaluated: its name, its numbers, and how they were printed."""

    label: str
    known: dict[str, Number]
    words: dict[str, str]
    row: int | None = None


def case_of(published: Published, table: PublishedTable, row: int) -> Case:
    """Return a row's numbers, ready for an identity, with what `mean`, `sum`, `min` and `max` over rows come to for it.

    An aggregate takes all rows of the table, or those that its conditions name; what its identity is limited to by
    `rows` is another matter.
    """
    known = numbers.of_row(published, table, row)
    words = numbers.words(table, row, known)
    expressions = [side for one in table.identities for side in (one.left, one.right)]
    expressions += [constant.expression for constant in table.meta.constants]
    for one in (one for expression in expressions for one in aggregates(expression)):
        if (number := _over_rows(published, table, one, row)) is not None:
            known[one.text], words[one.text] = number, f"{figure(number.value)} [{one.text}]"
    return Case(numbers.label(table, row), known, words, row)


def rows_of(table: PublishedTable, aggregate: Aggregate, row: int) -> list[int]:
    """Return the rows that an aggregate takes, as seen from one row."""
    return [
        other
        for other in numbers.rows(table)
        if all(_takes(table, condition, row, other) for condition in aggregate.conditions)
    ]


def _over_rows(published: Published, table: PublishedTable, aggregate: Aggregate, row: int) -> Number | None:
    """Return None where one of its rows does not print a number, as a sum without a part would be."""
    rows = rows_of(table, aggregate, row)
    found = [evaluate(aggregate.inner, numbers.of_row(published, table, other)) for other in rows]
    printed = [number for number in found if number is not None]
    return over(aggregate.function, printed) if printed and len(printed) == len(rows) else None


def _takes(table: PublishedTable, condition: RowCondition, row: int, other: int) -> bool:
    mine, theirs = (_level(table, at, condition.level) for at in (row, other))
    if theirs is None or (mine is None and condition.relation == "shared"):
        return False
    wanted = mine if condition.relation == "shared" else condition.value
    return (theirs != wanted) if condition.relation == "!=" else (theirs == wanted)


def _level(table: PublishedTable, row: int, name: str) -> object:
    if name in table.fixed:
        return table.fixed[name]
    found: object = numbers.raw(table, row, name)
    return found if numbers.has(table, row, name) else None


def cases_of(published: Published, table: PublishedTable, identity: Identity) -> list[Case]:
    """Return the rows in which an identity is checked; one case for all where it is about the table as a whole."""
    if of_the_table((identity.left, identity.right), table.fields):
        return [case_of(published, table, 0)._replace(label="all rows", row=None)]
    return [case_of(published, table, row) for row in table.matching(identity.rows)]


def state(identity: Identity, known: dict[str, Number]) -> State | None:
    """Return whether an identity holds however its numbers were rounded; None where one of them is not printed.

    truncated: the printed side is what is left when the digits of the other are cut off, and not what rounding gives.
    """
    left, right = evaluate(identity.left, known), evaluate(identity.right, known)
    if left is None or right is None:
        return None
    if identity.relation == "=":
        return _equality(identity, left, right)
    small, large = (left, right) if identity.relation == "<=" else (right, left)
    return "broken" if above(small, large) else "holds"


def side(
    expression: str, case: Case, known: dict[str, Number] | None = None, words: dict[str, str] | None = None
) -> str:
    """One side in numbers: "10,620", or "551 x 20 = 11,020"."""
    known, words = known or case.known, words or case.words
    text = spelled(expression, lambda name: words[name])
    plain = single(expression) or not names(expression)
    computed = evaluate(expression, known)
    return text if plain or computed is None else f"{text} = {figure(computed.value)}"


def kind_of(identity: Identity) -> Kind:
    """Return the declared kind, or what the relation says."""
    return identity.kind or ("identity" if identity.relation == "=" else "bound")


def _equality(identity: Identity, left: Number, right: Number) -> State:
    # Where the two are equal but for so much, digits that differ were not cut off.
    cut = (bare(identity.left) and _cut(left, right)) or (bare(identity.right) and _cut(right, left))
    if cut and not identity.tolerance:
        return "truncated"
    room = identity.tolerance * abs(right.value)
    return "holds" if meet(left, Number(right.low - room, right.value, right.high + room)) else "broken"


def _mirrored(number: Number) -> Number:
    return Number(-number.high, -number.value, -number.low)


def _cut(printed: Number, computed: Number) -> bool:
    """Return whether `printed` looks truncated, towards zero; said only where the inputs are sharp enough to tell."""
    if printed.value < 0:
        printed, computed = _mirrored(printed), _mirrored(computed)
    place = printed.high - printed.low
    sharp = computed.high - computed.low < place
    return sharp and computed.value > printed.value + place * (0.5 + 1e-6) and computed.low < printed.value + place
