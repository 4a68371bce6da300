"""Audits on the command line: a paragraph per finding with its arithmetic, and the counts of what passed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console, Group
from rich.padding import Padding
from rich.text import Text

from benchbook import published
from benchbook.audit.findings import Audit, counted, untouched
from benchbook.audit.whole import audit
from benchbook.documents.findings import Finding

_STYLE = {"contradiction": "bold red", "suspicious": "bold yellow", "note": "bold cyan"}


def audits(names: Sequence[str] | None) -> list[Audit]:
    """The audits of these reports, of all that are known without names. Raises BadInput for one that is not."""
    return [audit(published.load(name)) for name in names or published.known_reports()]


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
