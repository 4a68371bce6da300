"""For an equality that fails: which printed number, put in the place of another, would make it hold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from benchbook.audit import numbers
from benchbook.audit.judgement import Case, case_of, side, state
from benchbook.published.arithmetic import Number, aggregates, bare, evaluate, names, rounded, spelled
from benchbook.published.declarations import Identity
from benchbook.published.tables import Published, PublishedTable

HALVINGS = 30
"""How often the last printed place of a shared constant is halved, to find the values that explain all rows."""


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
    """Whether a constant that all rows share, and that was itself rounded, explains what looks truncated."""
    shared = [name for part in (identity.left, identity.right) for name in names(part) if name in table.fixed]
    cases = [case_of(published, table, row) for row in table.matching(identity.rows)]
    return [line for name in shared for line in _range(identity, cases, name)]


def _range(identity: Identity, cases: list[Case], name: str) -> list[str]:
    span = cases[0].known[name]
    good = _good(identity, cases, name, span) if span.low < span.high else None
    if good is None:
        return []
    return [
        f"or {name} was rounded: from {good[0]:.5g} to {good[1]:.5g} it prints as {cases[0].words[name]} too, "
        f"and all {len(cases)} rows come out by rounding"
    ]


def _good(identity: Identity, cases: list[Case], name: str, span: Number) -> tuple[float, float] | None:
    """The values of a shared constant, within its last printed place, with which every row holds; None without any."""
    low, high = span.low, span.high
    for case in cases:
        mine = _good_in(identity, case, name, span)
        if mine is None:
            return None
        low, high = max(low, mine[0]), min(high, mine[1])
    good = low <= high and all(_at(identity, case, name, value) == 0 for case in cases for value in (low, high))
    return (low, high) if good else None


def _good_in(identity: Identity, case: Case, name: str, span: Number) -> tuple[float, float] | None:
    """The same of one row, in which the sides are taken to part on one side only, the further the constant moves."""
    ends = {end: _at(identity, case, name, end) for end in (span.low, span.high)}
    inside = next((end for end, at in ends.items() if at == 0), _inside(identity, case, name, span))
    if inside is None:
        return None
    low, high = (end if at == 0 else _edge(identity, case, name, good=inside, bad=end) for end, at in ends.items())
    return low, high


def _inside(identity: Identity, case: Case, name: str, span: Number) -> float | None:
    """By bisection, a value with which the row holds; None where both ends are on one side."""
    low, high = span.low, span.high
    first = _at(identity, case, name, low)
    if first == _at(identity, case, name, high):
        return None
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        at = _at(identity, case, name, middle)
        if at == 0:
            return middle
        low, high = (middle, high) if at == first else (low, middle)
    return None


def _edge(identity: Identity, case: Case, name: str, *, good: float, bad: float) -> float:
    """By bisection, the last value between `good` and `bad` with which the row holds."""
    for _ in range(HALVINGS):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if _at(identity, case, name, middle) == 0 else (good, middle)
    return good


def _at(identity: Identity, case: Case, name: str, value: float) -> int:
    """0 where the row holds at one exact value of the constant, else on which side the left one is of the right."""
    known = {**case.known, name: Number(value, value, value)}
    if state(identity, known) == "holds":
        return 0
    left, right = evaluate(identity.left, known), evaluate(identity.right, known)
    return 1 if left is None or right is None or left.value > right.value else -1


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
    """Every numeral that differs in one digit, or in the order of two neighbouring ones."""
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
