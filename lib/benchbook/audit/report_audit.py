"""Audits a published report, by one function that reads top to bottom, and prints what came of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from rich.console import Console, Group
from rich.padding import Padding
from rich.text import Text

from benchbook import published as reports
from benchbook.audit import numbers
from benchbook.audit.findings import Audit, Touched, counted, untouched
from benchbook.audit.identities import computed, identities
from benchbook.audit.neighbours import curves
from benchbook.audit.percentiles import buckets, latencies
from benchbook.audit.printed import digits, repeats
from benchbook.audit.rows import shapes
from benchbook.audit.text import text
from benchbook.audit.topology import topology
from benchbook.documents.findings import SEVERITIES, Finding, Kind, Passed
from benchbook.grouping import grouped
from benchbook.published.tables import Published, PublishedTable

_STYLE = {"contradiction": "bold red", "suspicious": "bold yellow", "note": "bold cyan"}


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
    name = published.report.name
    findings = [one.model_copy(update={"report": name}) for one in outcomes if isinstance(one, Finding)]
    passed: Counter[Kind] = Counter()
    for outcome in outcomes:
        if isinstance(outcome, Passed):
            passed[outcome.kind] += outcome.checks
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    touched = {(one.table, *cell) for one in outcomes if isinstance(one, Touched) for cell in one.cells}
    figures = [(table, *cell) for table in published.tables.values() for cell in _figures(table)]
    left = [(table, row, metric) for table, row, metric in figures if (table.id, row, metric) not in touched]
    return Audit(
        report=name,
        findings=findings,
        passed={kind: count for kind, count in passed.items() if count},
        figures=len(figures),
        untouched_figures=len(left),
        untouched=_named(left),
    )


def _figures(table: PublishedTable) -> list[tuple[int, str]]:
    """Return every cell of a metric in which something is printed."""
    return [(row, name) for name in table.metrics for row in numbers.rows(table) if numbers.has(table, row, name)]


def _named(cells: list[tuple[PublishedTable, int, str]]) -> list[str]:
    """Cells by table and metric: "dump.speed_mb_s (2 rows)", or the label of a single row."""
    groups = grouped(cells, lambda cell: (cell[0].id, cell[2]))
    return [
        f"{table}.{metric} ({numbers.label(*mine[0][:2]) if len(mine) == 1 else f'{len(mine)} rows'})"
        for (table, metric), mine in groups.items()
    ]


# -- on the command line ----------------------------------------------------------------------------------------------


def audits(names: Sequence[str] | None) -> list[Audit]:
    """Return the audits of these reports, of all that are known without names. Raise BadInput for one that is not."""
    return [audit(reports.load(name)) for name in names or reports.known_reports()]


def show(found: Sequence[Audit], console: Console) -> None:
    """Print audits for people."""
    for one in found:
        console.print(Text(one.report, style="bold"), Text(counted(one)), sep=": ")
        for finding in one.findings:
            console.print(Padding(_paragraph(finding), (1, 0, 0, 2)), soft_wrap=False)
        console.print(Text(untouched(one)))
        console.print()


def show_json(found: Sequence[Audit], console: Console) -> None:
    """Print audits for programs: one JSON list, an object per report."""
    console.print_json(json.dumps([one.model_dump(mode="json") for one in found]), indent=1)


def _paragraph(finding: Finding) -> Group:
    head = Text.assemble((finding.severity, _STYLE[finding.severity]), f" · {finding.kind} · {finding.id}")
    lines = [Padding(Text(line), (0, 0, 0, 4)) for line in finding.arithmetic]
    return Group(head, Text(finding.sentence), *lines, Text(finding.where, style="dim"))
