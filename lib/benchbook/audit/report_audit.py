"""Audits a published report, by one function that reads top to bottom, and prints what came of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain

from rich.console import Console, Group
from rich.padding import Padding
from rich.text import Text

from benchbook import published as reports
from benchbook.audit.findings import Audit, Outcomes, counted
from benchbook.audit.identities import identities, identities_of_text
from benchbook.audit.neighbours import curves
from benchbook.audit.percentiles import buckets, latencies, littles_law
from benchbook.audit.printed import digits, repeats
from benchbook.audit.rows import Row, rows_of
from benchbook.audit.shapes import shapes
from benchbook.audit.text import text
from benchbook.audit.topology import topology
from benchbook.documents.findings import SEVERITIES, Finding, Kind, Passed
from benchbook.published.tables import Published, PublishedTable

_STYLE = {"contradiction": "bold red", "suspicious": "bold yellow", "note": "bold cyan"}


def audit(published: Published) -> Audit:
    """Every check on one report: what it found, gravest first, and how many single checks of each kind passed."""
    tables = {id: rows_of(published, table) for id, table in published.tables.items()}
    every_row = [row for rows in tables.values() for row in rows]

    def each(check: Callable[[PublishedTable, Sequence[Row]], Outcomes]) -> Outcomes:
        return chain.from_iterable(check(published.tables[id], rows) for id, rows in tables.items())

    outcomes = list(
        chain(
            each(identities),  # arithmetic within a row, bounds, Little's law
            identities_of_text(published.report),
            each(latencies),  # percentiles and means
            littles_law(every_row),  # clients, throughput and mean time of a closed loop
            each(buckets),  # percentiles and the histogram that they were read from
            each(shapes),  # rows of one table against each other
            each(curves),  # points that are off their neighbours
            digits(list(tables.values())),  # printed digits of a column
            repeats(every_row),  # the same figures in two places
            text(published, tables),  # prose and commands against tables
            topology(published.report),  # hosts, versions, options
        )
    )
    name = published.report.name
    findings = [one.model_copy(update={"report": name}) for one in outcomes if isinstance(one, Finding)]
    findings.sort(key=lambda finding: SEVERITIES.index(finding.severity))
    passed: Counter[Kind] = Counter()
    for outcome in outcomes:
        if isinstance(outcome, Passed):
            passed[outcome.kind] += outcome.checks
    return Audit(report=name, findings=findings, passed={kind: count for kind, count in passed.items() if count})


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
        console.print()


def show_json(found: Sequence[Audit], console: Console) -> None:
    """Print audits for programs: one JSON list, an object per report."""
    console.print_json(json.dumps([one.model_dump(mode="json") for one in found]), indent=1)


def _paragraph(finding: Finding) -> Group:
    head = Text.assemble((finding.severity, _STYLE[finding.severity]), f" · {finding.kind} · {finding.id}")
    lines = [Padding(Text(line), (0, 0, 0, 4)) for line in finding.arithmetic]
    return Group(head, Text(finding.sentence), *lines, Text(finding.where, style="dim"))
