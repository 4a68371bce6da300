"""Checks declared equalities and bounds row by row: equalities, bounds, Little's law, plausibility.

Little's law: in a closed loop of N clients, N = throughput x mean time (J. D. C. Little, *A Proof for the Queuing
Formula L = lambda W*, Operations Research 9, 1961), so N / throughput is the mean time of a transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from benchbook.audit import numbers
from benchbook.audit.findings import Outcomes, Touched, table_finding
from benchbook.audit.judgement import Case, cases_of, kind_of, rows_of, side, state
from benchbook.audit.suggest import other_rounding, suggestions
from benchbook.documents.findings import Finding, Kind, Passed, Severity, figure
from benchbook.published.arithmetic import Number, aggregates, bare, evaluate, names, spelled
from benchbook.published.declarations import Identity
from benchbook.published.tables import Published, PublishedTable

LINES = 6
"""How many rows' arithmetic a finding spells out; the others are counted."""

ROOM = 2.0
"""How many printed values rounding must leave at least, for a row to say something."""
CHANCE = 1e-3
"""The largest probability, over all rows that could be the odd one, that the others agree by chance."""

_SEVERITY: dict[Kind, Severity] = {"Little's law": "suspicious", "plausibility": "suspicious"}
_BROKEN = {"<=": ("above", ">"), ">=": ("below", "<")}
_VERDICT = {"Little's law": "should not be", "plausibility": "is hard to believe"}


def identities(published: Published) -> Outcomes:
    """Yield every declared identity of every table, and of the text."""
    for table in published.tables.values():
        for identity in table.identities:
            yield from _outcomes(published, identity, cases_of(published, table, identity), table)
    known = numbers.of_text(published.report)
    text = Case("", known, {name: numbers.plain(number.value) for name, number in known.items()})
    for identity in published.report.identities:
        yield from _outcomes(published, identity, [text], None)


def _outcomes(published: Published, identity: Identity, cases: list[Case], table: PublishedTable | None) -> Outcomes:
    states = [(case, state(identity, case.known)) for case in cases]
    yield Passed(kind_of(identity), sum(found == "holds" for _, found in states))
    if table:
        yield _touched(table, identity, [case for case, found in states if found is not None])
    checked = sum(found is not None for _, found in states)
    broken = [case for case, found in states if found == "broken"]
    cut = [case for case, found in states if found == "truncated"]
    if broken:
        yield _broken(published, identity, table, broken, checked)
    if cut and table:
        printed = identity.left if bare(identity.left) else identity.right
        sentence = f"In {len(cut)} of {checked} rows {printed} is truncated, not rounded: {identity.why}."
        lines = [_cut_line(identity, case) for case in cut[:LINES]]
        lines += [*more(cut), *other_rounding(published, table, identity)]
        yield table_finding(table, f"{identity.id}.truncated", "rounding", "note", sentence, lines)


def _touched(table: PublishedTable, identity: Identity, cases: list[Case]) -> Touched:
    sides = (identity.left, identity.right)
    used = {name for expression in sides for name in names(expression)} & set(table.metrics)
    cells = {(case.row, name) for case in cases if case.row is not None for name in used}
    for one in (one for expression in sides for one in aggregates(expression)):
        rows = {row for case in cases for row in rows_of(table, one, case.row or 0)}
        cells |= {(row, name) for row in rows for name in names(one.inner) if name in table.metrics}
    return Touched(table.id, frozenset(cells))


def _broken(
    published: Published, identity: Identity, table: PublishedTable | None, cases: list[Case], checked: int
) -> Finding:
    lines = []
    for case in cases[:LINES]:
        lines.append(_line(identity, case))
        if table and case.row is not None and identity.relation == "=":
            lines += suggestions(published, table, identity, case)
    return Finding(
        id=f"{table.id if table else 'text'}.{identity.id}",
        where=numbers.where(table) if table else _passages(published, identity),
        kind=kind_of(identity),
        severity=identity.severity or _SEVERITY.get(kind_of(identity), "contradiction"),
        sentence=_sentence(identity, _head(cases, checked, table)),
        arithmetic=[*lines, *more(cases)],
    )


def more(cases: Sequence[object]) -> list[str]:
    """Return a line that counts what LINES leaves out."""
    return [f"and {len(cases) - LINES} more rows like these"] if len(cases) > LINES else []


def _line(identity: Identity, case: Case) -> str:
    head = f"{case.label}: " if case.label else ""
    left, right = side(identity.left, case), side(identity.right, case)
    if identity.relation == "=":
        computed, printed = (right, left) if bare(identity.left) else (left, right)
        one_printed = bare(identity.left) != bare(identity.right)
        return f"{head}{computed}; printed {printed}" if one_printed else f"{head}{left}; but {right}"
    return f"{head}{left} {_BROKEN[identity.relation][1]} {right}{_at_most(identity, case)}"


def _at_most(identity: Identity, case: Case) -> str:
    limit = evaluate(identity.right, case.known)
    if limit is None:
        return ""
    word, end = ("at most", limit.high) if identity.relation == "<=" else ("at least", limit.low)
    same = f"{end:.3g}" == f"{limit.value:.3g}"
    return "" if same else f" ({figure(end)} {word}, within rounding)"


def _head(cases: list[Case], checked: int, table: PublishedTable | None) -> str:
    if table is None:
        return "In the text "
    return "Over all rows " if cases[0].row is None else f"In {len(cases)} of {checked} rows "


def _sentence(identity: Identity, head: str) -> str:
    left, right = (spelled(side, lambda name: name) for side in (identity.left, identity.right))
    if identity.relation == "=":
        return f"{head}{left} and {right} differ by more than rounding allows, but should be equal: {identity.why}."
    verdict = "" if identity.severity == "note" else f", which {_VERDICT.get(kind_of(identity), 'cannot be')}"
    return f"{head}{left} is {_BROKEN[identity.relation][0]} {right}{verdict}: {identity.why}."


def _cut_line(identity: Identity, case: Case) -> str:
    printed, computed = (identity.left, identity.right) if bare(identity.left) else (identity.right, identity.left)
    number, result = case.known[printed], evaluate(computed, case.known)
    place = number.high - number.low
    nearest = round(result.value / place) * place if result else number.value
    decimals = len(case.words[printed].partition(".")[2])
    return f"{_line(identity, case)}, where rounding gives {nearest:,.{decimals}f}"


def _passages(published: Published, identity: Identity) -> str:
    facts = dict.fromkeys(name.partition(".")[0] for part in (identity.left, identity.right) for name in names(part))
    return "; ".join(dict.fromkeys(f"text ({published.report.fact(fact).where})" for fact in facts))


# -- computed from printed figures -------------------------------------------------------------------------------------


class ComputedRow(NamedTuple):
    """A row in which an equality holds within rounding: how many printed values would, and whether it is computed."""

    case: Case
    room: float
    exact: bool


def computed(published: Published) -> Outcomes:
    """Look for the one row of a declared equality in which the printed figure was not computed from the printed others.

    Where rounding leaves room for many printed values, and yet all rows but one print just what comes out of the
    printed inputs, the column was computed from them; in the one row a digit may have slipped within the room.
    """
    for table in published.tables.values():
        for identity in table.identities:
            if identity.relation == "=" and not identity.tolerance and bare(identity.left) != bare(identity.right):
                yield from _computed(published, table, identity)


def _computed(published: Published, table: PublishedTable, identity: Identity) -> Outcomes:
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
        printed, expression = _sides(identity)
        case = odd[0].case
        sentence = (
            f"{printed} is just what the printed figures give in {len(agree)} rows; in one it is not, although it is "
            "within rounding: a digit may have slipped."
        )
        lines = [f"{case.label}: {side(expression, case)}; printed {case.words[printed]}"]
        yield table_finding(table, f"{identity.id}.computed", "rounding", "note", sentence, lines)


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
    """Return the printed side, then the computed one."""
    return (identity.left, identity.right) if bare(identity.left) else (identity.right, identity.left)
