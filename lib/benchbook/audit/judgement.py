"""Judges one declared equality or bound on the numbers of one row."""

from __future__ import annotations

from typing import Literal, NamedTuple

from benchbook.audit import numbers
from benchbook.audit.over_rows import over_rows
from benchbook.documents.findings import Kind, figure
from benchbook.published.arithmetic import (
    Number,
    above,
    bare,
    evaluate,
    meet,
    names,
    of_the_table,
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
    """A row's numbers, ready for an identity."""
    known = numbers.of_row(published, table, row)
    more = over_rows(table, row, lambda other: numbers.of_row(published, table, other))
    words = {**numbers.words(table, row, known), **more.words}
    return Case(numbers.label(table, row), {**known, **more.known}, words, row)


def cases_of(published: Published, table: PublishedTable, identity: Identity) -> list[Case]:
    """The rows in which an identity is checked; one case for all where it is about the table as a whole."""
    if of_the_table((identity.left, identity.right), table.fields):
        return [case_of(published, table, 0)._replace(label="all rows", row=None)]
    return [case_of(published, table, row) for row in table.matching(identity.rows)]


def state(identity: Identity, known: dict[str, Number]) -> State | None:
    """Whether an identity holds however its numbers were rounded; None where one of them is not printed.

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
    """The declared kind, or what the relation says."""
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
    """Whether `printed` looks truncated, towards zero; said only where the inputs are sharp enough to tell."""
    if printed.value < 0:
        printed, computed = _mirrored(printed), _mirrored(computed)
    place = printed.high - printed.low
    sharp = computed.high - computed.low < place
    return sharp and computed.value > printed.value + place * (0.5 + 1e-6) and computed.low < printed.value + place
