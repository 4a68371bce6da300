"""For an equality that fails: which printed number, put in the place of another, would make it hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from benchbook.audit.judgement import printed_and_computed, side, state
from benchbook.audit.rows import Case, Row, apart, with_levels
from benchbook.published.arithmetic import Number, aggregates, bare, names, rounded, spelled
from benchbook.published.declarations import Identity

STEPS = 1000
"""Into so many steps the last printed place of a shared constant is cut, to find the values that explain all rows."""


class Swap(NamedTuple):
    """`name` read as `number`, printed `text`; `source` says where that number comes from."""

    name: str
    number: Number
    text: str
    source: str

    def into(self, row: Row) -> Case:
        return replace(row, known=row.known | {self.name: self.number}, words=row.words | {self.name: self.text})


def suggestions(identity: Identity, row: Row, rows: Sequence[Row]) -> list[str]:
    """Lines such as "531 x 20 = 10,620, with the global_tps of mode dtm_barrier, sql_per_branch 2"; at most three.

    Numbers of the same column in other rows come first, then slips of one digit or of two neighbouring ones; slips
    are given only where few would do, since many say nothing.
    """
    columns = _columns(identity, row)
    others = _working(identity, row, _other_rows(columns, row, rows))
    slips = _working(identity, row, _slips(columns, row))
    fresh = [swap for key, swap in slips.items() if key not in others]
    chosen = [*list(others.values())[:2], *(fresh[:1] if len(fresh) <= 2 else [])]
    _, computed = printed_and_computed(identity)
    return [f"{side(computed, swap.into(row))}, with {swap.source}{_doubt(identity, row, swap)}" for swap in chosen]


def other_rounding(identity: Identity, rows: Sequence[Row]) -> Iterator[str]:
    """Say which constants that all rows share, and that were rounded themselves, explain what looks truncated."""
    cases = with_levels(rows, identity.rows)
    for name in (name for part in (identity.left, identity.right) for name in names(part)):
        if name not in rows[0].table.fixed:
            continue
        span, every = cases[0].known[name], range(STEPS + 1)
        good = [span.low + (span.high - span.low) * step / STEPS for step in every] if span.low < span.high else []
        for case in cases:
            good = [at for at in good if state(identity, {**case.known, name: Number(at, at, at)}) == "holds"]
        if good:
            yield (
                f"or {name} was rounded: from {good[0]:.5g} to {good[-1]:.5g} it prints as {cases[0].words[name]} too, "
                f"and all {len(cases)} rows come out by rounding"
            )


def _working(identity: Identity, row: Row, swaps: Iterable[Swap]) -> dict[tuple[str, str], Swap]:
    """Return the swaps with which the equality holds, by name and text, the first of each."""
    found: dict[tuple[str, str], Swap] = {}
    for swap in swaps:
        if state(identity, row.known | {swap.name: swap.number}) == "holds":
            found.setdefault((swap.name, swap.text), swap)
    return found


def _columns(identity: Identity, row: Row) -> list[str]:
    """The columns of which a number could be another one; not those of functions over rows, which would change too."""
    sides = (identity.left, identity.right)
    inner = {name for side in sides for one in aggregates(side) for name in names(one.inner)}
    return [name for side in sides for name in names(side) if name in row.table.fields and name not in inner]


def _other_rows(columns: Sequence[str], row: Row, rows: Sequence[Row]) -> Iterator[Swap]:
    for name in columns:
        for other in rows:
            if other is not row and other.prints(name):
                yield Swap(name, other.known[name], other.words[name], f"the {name} of {other.label}")


def _slips(columns: Sequence[str], row: Row) -> Iterator[Swap]:
    for name in columns:
        number = row.known[name]
        for slip in _misprints(row.words[name].replace(",", "")) if name in row.texts else ():
            value = rounded(float(slip), number.high - number.low)
            yield Swap(name, value, apart(slip), f"{name} with one slip of a digit")


def _misprints(text: str) -> Iterator[str]:
    """Yield every numeral that differs in one digit, or in the order of two neighbouring ones."""
    places = [place for place, character in enumerate(text) if character.isdigit()]
    for place in places:
        yield from (text[:place] + digit + text[place + 1 :] for digit in "0123456789" if digit != text[place])
    for place, following in pairwise(places):
        swapped = list(text)
        swapped[place], swapped[following] = swapped[following], swapped[place]
        yield "".join(swapped)


def _doubt(identity: Identity, row: Row, swap: Swap) -> str:
    """Says so where another identity of the row confirms the number that the suggestion would replace."""
    replaced = row.known | {swap.name: swap.number}
    for other in row.table.identities:
        uses = swap.name in [*names(other.left), *names(other.right)]
        if other.id == identity.id or not uses or not with_levels([row], other.rows):
            continue
        if state(other, row.known) == "holds" and state(other, replaced) == "broken":
            left, right = (spelled(part, row.words.__getitem__) for part in (other.left, other.right))
            printed = [part for part in (identity.left, identity.right) if bare(part) and part != swap.name]
            likelier = f", so {row.words[printed[0]]} is likelier the slip" if printed else ""
            return f"; but {row.words[swap.name]} itself fits {left} {other.relation} {right}{likelier}"
    return ""
