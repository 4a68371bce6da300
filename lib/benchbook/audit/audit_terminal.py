"""Audits on the command line: a paragraph per finding with its arithmetic, and the counts of what passed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console, Group
from rich.padding import Padding
from rich.text import Text

from benchbook import published
from benchbook.audit.findings import Audit, Finding, counted, untouched
from benchbook.audit.undeclared import FEW, Proposal, undeclared
from benchbook.audit.whole import audit
from benchbook.published.tables import Published

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


def show_undeclared(report: Published, console: Console) -> None:
    """Print what holds in a report's tables and is not declared, a line each, ready to be pasted."""
    found = undeclared(report)
    if not found:
        console.print(f"{report.report.name}: nothing to suggest: no undeclared relation is surer than chance")
        return
    console.print(
        f"# {report.report.name}: these hold and are not declared. Say why in `why`, and put those that must hold"
    )
    console.print("# into `identities` of their table in datapackage.json. What has a # before it may hold by chance.")
    for one in found:
        console.print(f"# table {one.table}, {_sure(one)}", markup=False)
        doubtful = "# " if one.by_chance is not None and one.by_chance > FEW else ""
        text = json.dumps(one.identity.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False)
        console.print(f"{doubtful}{text},", markup=False)


def _sure(one: Proposal) -> str:
    odd = f"; not in {', '.join(one.odd)}, where a figure may be wrong" if one.odd else ""
    rows = f"{one.rows} {'row' if one.rows == 1 else 'rows'}{odd}"
    if one.by_chance is None:
        return f"{rows}: a bound, if the load is a closed loop"
    return f"{rows}: chance alone would give {one.by_chance:.2g} such relations"


def _paragraph(finding: Finding) -> Group:
    head = Text.assemble((finding.severity, _STYLE[finding.severity]), f" · {finding.kind} · {finding.id}")
    lines = [Padding(Text(line), (0, 0, 0, 4)) for line in finding.arithmetic]
    return Group(head, Text(finding.sentence), *lines, Text(finding.where, style="dim"))
