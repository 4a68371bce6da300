"""For an equality that fails: which printed number, put in the place of another, would make it hold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from benchbook.audit import numbers
from benchbook.audit.judgement import Case, case_of, side, state
from benchbook.published.arithmetic import Number, aggregates, bare, names, rounded, spelled
from benchbook.published.declarations import Identity
from benchbook.published.tables import Published, PublishedTable

STEPS = 1000
"""Into so many steps the last printed place of a shared constant is cut, to find the values that explain all rows."""


class Swap(NamedTuple):
    """`name` read as `number`, printed `text`; `source` says where that number comes from."""

    name: str
    number: Number
    text: str
    source: str


def suggestions(published: Published, table: PublishedTable, identity: Identity, case: Case) -> list[str]:
    """Lines such as "531 x 20 = 10,620, with the global_tps of mode dtm_barrier, sql_per_branch 2"; at most three.

    Numbers of the same column in other rows come first, then slips of one digit or of two neighbouring ones; slips
    are given only where few would do, since many say nothing.
    """
    rows = _working(identity, case, _other_rows(published, table, identity, case))
    slips = _working(identity, case, _slips(table, identity, case))
    fresh = [swap for swap in slips if (swap.name, swap.text) not in {(row.name, row.text) for row in rows}]
    chosen = [*rows[:2], *(fresh[:1] if len(fresh) <= 2 else [])]
    return [f"{_spelled(identity, case, swap)}{_doubt(table, identity, case, swap)}" for swap in chosen]


def other_rounding(published: Published, table: PublishedTable, identity: Identity) -> list[str]:
    """Say which constants that all rows share, and that were rounded themselves, explain what looks truncated."""
    shared = [name for part in (identity.left, identity.right) for name in names(part) if name in table.fixed]
    cases = [case_of(published, table, row) for row in table.matching(identity.rows)]
    return [line for name in shared for line in _range(identity, cases, name)]


def _range(identity: Identity, cases: list[Case], name: str) -> list[str]:
    span, every = cases[0].known[name], range(STEPS + 1)
    good = [span.low + (span.high - span.low) * step / STEPS for step in every] if span.low < span.high else []
    for case in cases:
        good = [at for at in good if state(identity, {**case.known, name: Number(at, at, at)}) == "holds"]
    if not good:
        return []
    return [
        f"or {name} was rounded: from {good[0]:.5g} to {good[-1]:.5g} it prints as {cases[0].words[name]} too, "
        f"and all {len(cases)} rows come out by rounding"
    ]


def _working(identity: Identity, case: Case, swaps: Iterator[Swap]) -> list[Swap]:
    found = [swap for swap in swaps if state(identity, {**case.known, swap.name: swap.number}) == "holds"]
    return list({(swap.name, swap.text): swap for swap in reversed(found)}.values())[::-1]


def _columns(table: PublishedTable, identity: Identity) -> list[str]:
    """The columns of which a number could be another one; not those of functions over rows, which would change too."""
    sides = (identity.left, identity.right)
    inner = {name for side in sides for one in aggregates(side) for name in names(one.inner)}
    return [name for side in sides for name in names(side) if name in table.fields and name not in inner]


def _other_rows(published: Published, table: PublishedTable, identity: Identity, case: Case) -> Iterator[Swap]:
    for name in _columns(table, identity):
        for row in numbers.rows(table):
            if row != case.row and numbers.has(table, row, name):
                other = case_of(published, table, row)
                yield Swap(name, other.known[name], other.words[name], f"the {name} of {other.label}")


def _slips(table: PublishedTable, identity: Identity, case: Case) -> Iterator[Swap]:
    for name in _columns(table, identity):
        number = case.known[name]
        text = case.words[name].replace(",", "")
        for slip in _misprints(text) if name in table.metrics else ():
            value = float(slip)
            yield Swap(
                name, rounded(value, number.high - number.low), numbers.apart(slip), f"{name} with one slip of a digit"
            )


def _misprints(text: str) -> Iterator[str]:
    """Yield every numeral that differs in one digit, or in the order of two neighbouring ones."""
    places = [place for place, character in enumerate(text) if character.isdigit()]
    for place in places:
        yield from (text[:place] + digit + text[place + 1 :] for digit in "0123456789" if digit != text[place])
    for place, following in pairwise(places):
        swapped = list(text)
        swapped[place], swapped[following] = swapped[following], swapped[place]
        yield "".join(swapped)


def _spelled(identity: Identity, case: Case, swap: Swap) -> str:
    known = {**case.known, swap.name: swap.number}
    words = {**case.words, swap.name: swap.text}
    computed = identity.right if bare(identity.left) else identity.left
    return f"{side(computed, case, known, words)}, with {swap.source}"


def _slip(identity: Identity, case: Case, swap: Swap) -> str:
    printed = [part for part in (identity.left, identity.right) if bare(part) and part != swap.name]
    return f", so {case.words[printed[0]]} is likelier the slip" if printed else ""


def _doubt(table: PublishedTable, identity: Identity, case: Case, swap: Swap) -> str:
    """Says so where another identity of the row confirms the number that the suggestion would replace."""
    for other in table.identities:
        uses = swap.name in [*names(other.left), *names(other.right)]
        if other.id == identity.id or not uses or case.row not in table.matching(other.rows):
            continue
        replaced = {**case.known, swap.name: swap.number}
        if state(other, case.known) == "holds" and state(other, replaced) == "broken":
            left, right = (spelled(part, lambda name: case.words[name]) for part in (other.left, other.right))
            sides = f"{left} {other.relation} {right}"
            return f"; but {case.words[swap.name]} itself fits {sides}{_slip(identity, case, swap)}"
    return ""
