"""Checks declared equalities and bounds row by row: equalities, bounds, Little's law, plausibility.

Little's law: in a closed loop of N clients, N = throughput x mean time (J. D. C. Little, *A Proof for the Queuing
Formula L = lambda W*, Operations Research 9, 1961), so N / throughput is the mean time of a transaction.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchbook.audit.findings import Outcomes, table_finding
from benchbook.audit.judgement import cases_of, printed_and_computed, side, state
from benchbook.audit.rows import Case, Row, of_text, plain, where
from benchbook.audit.suggest import other_rounding, suggestions
from benchbook.documents.findings import Finding, Kind, Passed, Severity, figure
from benchbook.published.arithmetic import bare, evaluate, names, spelled
from benchbook.published.declarations import Identity
from benchbook.published.report_file import Report
from benchbook.published.tables import PublishedTable

LINES = 6
"""How many rows' arithmetic a finding spells out; the others are counted."""

_SEVERITY: dict[Kind, Severity] = {"Little's law": "suspicious", "plausibility": "suspicious"}
_BROKEN = {"<=": ("above", ">"), ">=": ("below", "<")}
_VERDICT = {"Little's law": "should not be", "plausibility": "is hard to believe"}


def identities(table: PublishedTable, rows: Sequence[Row]) -> Outcomes:
    """Yield every declared identity of a table."""
    for identity in table.identities:
        states = [(row, found) for row in cases_of(table, rows, identity) if (found := state(identity, row.known))]
        broken = [row for row, found in states if found == "broken"]
        cut = [row for row, found in states if found == "truncated"]
        yield Passed(kind_of(identity), len(states) - len(broken) - len(cut))
        if broken:
            whole = broken[0].label == "all rows"
            head = "Over all rows " if whole else f"In {len(broken)} of {len(states)} rows "
            lines = []
            for row in broken[:LINES]:
                lines.append(_line(identity, row))
                if identity.relation == "=" and not whole:
                    lines += suggestions(identity, row, rows)
            yield _broken(identity, f"{table.id}.{identity.id}", where(table), head, [*lines, *_more(broken)])
        if cut:
            printed, _ = printed_and_computed(identity)
            sentence = f"In {len(cut)} of {len(states)} rows {printed} is truncated, not rounded: {identity.why}."
            lines = [_cut_line(identity, row) for row in cut[:LINES]]
            lines += [*_more(cut), *other_rounding(identity, rows)]
            yield table_finding(table, f"{identity.id}.truncated", "rounding", "note", sentence, lines)


def identities_of_text(report: Report) -> Outcomes:
    """Yield every declared identity between numbers of the text."""
    known = of_text(report)
    text = Case("", known, {name: plain(number.value) for name, number in known.items()})
    for identity in report.identities:
        found = state(identity, known)
        yield Passed(kind_of(identity), int(found == "holds"))
        if found == "broken":
            facts = dict.fromkeys(
                name.partition(".")[0] for part in (identity.left, identity.right) for name in names(part)
            )
            passages = "; ".join(dict.fromkeys(f"text ({report.fact(fact).where})" for fact in facts))
            yield _broken(identity, f"text.{identity.id}", passages, "In the text ", [_line(identity, text)])


def kind_of(identity: Identity) -> Kind:
    """Return the declared kind, or what the relation says."""
    return identity.kind or ("identity" if identity.relation == "=" else "bound")


def _broken(identity: Identity, id: str, place: str, head: str, lines: list[str]) -> Finding:
    kind = kind_of(identity)
    left, right = (spelled(side, lambda name: name) for side in (identity.left, identity.right))
    if identity.relation == "=":
        said = f"{left} and {right} differ by more than rounding allows, but should be equal"
    else:
        verdict = "" if identity.severity == "note" else f", which {_VERDICT.get(kind, 'cannot be')}"
        said = f"{left} is {_BROKEN[identity.relation][0]} {right}{verdict}"
    return Finding(
        id=id,
        where=place,
        kind=kind,
        severity=identity.severity or _SEVERITY.get(kind, "contradiction"),
        sentence=f"{head}{said}: {identity.why}.",
        arithmetic=lines,
    )


def _more(cases: Sequence[Row]) -> list[str]:
    """Return a line that counts what LINES leaves out."""
    return [f"and {len(cases) - LINES} more rows like these"] if len(cases) > LINES else []


def _line(identity: Identity, case: Case) -> str:
    head = f"{case.label}: " if case.label else ""
    left, right = side(identity.left, case), side(identity.right, case)
    if identity.relation != "=":
        return f"{head}{left} {_BROKEN[identity.relation][1]} {right}{_at_most(identity, case)}"
    if bare(identity.left) == bare(identity.right):
        return f"{head}{left}; but {right}"
    printed, computed = (left, right) if bare(identity.left) else (right, left)
    return f"{head}{computed}; printed {printed}"


def _at_most(identity: Identity, case: Case) -> str:
    limit = evaluate(identity.right, case.known)
    if limit is None:
        return ""
    word, end = ("at most", limit.high) if identity.relation == "<=" else ("at least", limit.low)
    same = f"{end:.3g}" == f"{limit.value:.3g}"
    return "" if same else f" ({figure(end)} {word}, within rounding)"


def _cut_line(identity: Identity, case: Case) -> str:
    printed, computed = printed_and_computed(identity)
    number, result = case.known[printed], evaluate(computed, case.known)
    place = number.high - number.low
    nearest = round(result.value / place) * place if result else number.value
    decimals = len(case.words[printed].partition(".")[2])
    return f"{_line(identity, case)}, where rounding gives {nearest:,.{decimals}f}"
