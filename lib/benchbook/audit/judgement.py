"""Judges one declared equality or bound on the numbers of one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from benchbook.audit.rows import Case, Row, with_levels
from benchbook.documents.findings import figure
from benchbook.published.arithmetic import Number, above, bare, evaluate, meet, names, of_the_table, single, spelled
from benchbook.published.declarations import Identity
from benchbook.published.tables import PublishedTable

State = Literal["holds", "broken", "truncated"]


def cases_of(table: PublishedTable, rows: Sequence[Row], identity: Identity) -> list[Row]:
    """Return the rows in which an identity is checked; one for all where it is about the table as a whole."""
    if of_the_table((identity.left, identity.right), table.fields):
        return [replace(rows[0], label="all rows")]
    return with_levels(rows, identity.rows)


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


def printed_and_computed(identity: Identity) -> tuple[str, str]:
    """Return the sides of an equality: the one that is printed, then the one that is computed."""
    return (identity.left, identity.right) if bare(identity.left) else (identity.right, identity.left)


def side(expression: str, case: Case) -> str:
    """One side in numbers: "10,620", or "551 x 20 = 11,020"."""
    text = spelled(expression, case.words.__getitem__)
    plain = single(expression) or not names(expression)
    computed = evaluate(expression, case.known)
    return text if plain or computed is None else f"{text} = {figure(computed.value)}"


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
