"""Audits a published report: one function that reads top to bottom."""

from __future__ import annotations

from collections import Counter
from itertools import chain

from benchbook.audit import numbers
from benchbook.audit.buckets import buckets
from benchbook.audit.computed import computed
from benchbook.audit.digits import digits
from benchbook.audit.findings import Audit, Touched
from benchbook.audit.identities import identities
from benchbook.audit.latencies import latencies
from benchbook.audit.neighbours import curves
from benchbook.audit.repeats import repeats
from benchbook.audit.rows import shapes
from benchbook.audit.text import text
from benchbook.audit.topology import topology
from benchbook.documents.findings import SEVERITIES, Finding, Kind, Passed
from benchbook.grouping import grouped
from benchbook.published.tables import Published, PublishedTable


def audit(published: Published) -> Audit:
    """Every check on one report: what it found, gravest first, and how many single checks of each kind passed."""
    outcomes = list(
        chain(
            identities(published),  # arithmetic within a row, bounds, Little's law
            computed(published),  # products that were computed from printed figures
            latencies(published),  # percentiles and means
            buckets(published),  # percentiles and the histogram that they were read from
            shapes(published),  # rows of one table against each other
            curves(published),  # points that are off their neighbours
            digits(published),  # printed digits of a column
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
    touched = {(one.table, *cell) for one in outcomes if isinstance(one, Touched) for cell in one.cells}
    figures = [(table, *cell) for table in published.tables.values() for cell in _figures(table)]
    left = [(table, row, metric) for table, row, metric in figures if (table.id, row, metric) not in touched]
    return Audit(
        report=published.report.name,
        findings=findings,
        passed={kind: count for kind, count in passed.items() if count},
        figures=len(figures),
        untouched_figures=len(left),
        untouched=_named(left),
    )


def _figures(table: PublishedTable) -> list[tuple[int, str]]:
    """Every cell of a metric in which something is printed."""
    return [(row, name) for name in table.metrics for row in numbers.rows(table) if numbers.has(table, row, name)]


def _named(cells: list[tuple[PublishedTable, int, str]]) -> list[str]:
    """Cells by table and metric: "dump.speed_mb_s (2 rows)", or the label of a single row."""
    groups = grouped(cells, lambda cell: (cell[0].id, cell[2]))
    return [
        f"{table}.{metric} ({numbers.label(*mine[0][:2]) if len(mine) == 1 else f'{len(mine)} rows'})"
        for (table, metric), mine in groups.items()
    ]
