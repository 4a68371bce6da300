"""Audits a published report: one function that reads top to bottom."""

from __future__ import annotations

from collections import Counter
from itertools import chain

from benchbook.audit.findings import SEVERITIES, Audit, Finding, Kind, Passed
from benchbook.audit.identities import identities
from benchbook.audit.repeats import repeats
from benchbook.audit.rows import shapes
from benchbook.audit.text import text
from benchbook.audit.topology import topology
from benchbook.published.tables import Published


def audit(published: Published) -> Audit:
    """Every check on one report: what it found, gravest first, and how many single checks of each kind passed."""
    outcomes = list(
        chain(
            identities(published),  # arithmetic within a row, bounds, Little's law
            shapes(published),  # rows of one table against each other
            repeats(published),  # the same figures in two places
            text(published),  # prose and commands against tables
            topology(published),  # hosts, versions, options
        )
    )
    findings = [outcome for outcome in outcomes if isinstance(outcome, Finding)]
    passed: Counter[Kind] = Counter()
    for outcome in outcomes:
        if isinstance(outcome, Passed):
            passed[outcome.kind] += outcome.checks
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    return Audit(report=published.report.name, findings=findings, passed={k: n for k, n in passed.items() if n})
