"""What an audit says: findings about the published report, and how many checks passed."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

from benchbook.audit.rows import where
from benchbook.documents.findings import Finding, Kind, Passed, Severity, by_severity
from benchbook.published.tables import PublishedTable

Outcomes = Iterator[Finding | Passed]


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
    """All that the audit of one report came to; `passed` counts checks by kind, so that silence says something."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    report: str
    findings: list[Finding]
    passed: dict[Kind, int]


def counted(audit: Audit) -> str:
    """The audit in a sentence: findings by severity, and passed checks by kind, so that silence says something."""
    found = by_severity(audit.findings)
    passed = ", ".join(f"{kind} {count}" for kind, count in audit.passed.items())
    return f"{found or 'Nothing found'}. Passed: {sum(audit.passed.values())} checks ({passed or 'none declared'})."
