"""What an audit says: findings about the published report, and how many checks passed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from benchbook.audit.rows import Row, where
from benchbook.documents.findings import Finding, Kind, Passed, Severity, by_severity
from benchbook.published.tables import PublishedTable


class Touched(NamedTuple):
    """Printed figures that a check has used, as table, row and metric: what no check touches can hold any slip."""

    figures: frozenset[tuple[str, int, str]]


def touched(rows: Iterable[Row], columns: Iterable[str]) -> Touched:
    """Return the metrics among these columns that these rows print."""
    names = set(columns)
    return Touched(frozenset((row.table.id, row.number, name) for row in rows for name in names & row.texts.keys()))


Outcomes = Iterator[Finding | Passed | Touched]


def table_finding(
    table: PublishedTable, id: str, kind: Kind, severity: Severity, sentence: str, arithmetic: list[str]
) -> Finding:
    """Return a finding about one table; its id goes on behind the table's."""
    return Finding(
        id=f"{table.id}.{id}",
        where=where(table),
        kind=kind,
        severity=severity,
        sentence=sentence,
        arithmetic=arithmetic,
    )


class Audit(BaseModel):
    """All that the audit of one report came to; `passed` counts checks by kind, so that silence says something.

    `figures` counts the printed figures of its tables, `untouched_figures` those that no check used; `untouched` says
    which these are, a text per metric.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    report: str
    findings: list[Finding]
    passed: dict[Kind, int]
    figures: int = 0
    untouched_figures: int = 0
    untouched: list[str] = []


def counted(audit: Audit) -> str:
    """The audit in a sentence: findings by severity, and passed checks by kind, so that silence says something."""
    found = by_severity(audit.findings)
    passed = ", ".join(f"{kind} {count}" for kind, count in audit.passed.items())
    return f"{found or 'Nothing found'}. Passed: {sum(audit.passed.values())} checks ({passed or 'none declared'})."


def untouched(audit: Audit) -> str:
    """Return the figures that no check touches, in a sentence."""
    if not audit.untouched:
        return f"Each of the {audit.figures} figures is touched by a check."
    return (
        f"{audit.untouched_figures} of {audit.figures} figures are touched by no check: {'; '.join(audit.untouched)}."
    )
