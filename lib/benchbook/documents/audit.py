"""The audit of documents that were only read: no declaration, no host."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.markup import escape

from benchbook.documents.findings import SEVERITIES, Finding, Kind, Passed, by_severity
from benchbook.documents.passages import NotBound
from benchbook.documents.relations import relations
from benchbook.documents.sentences import by_sentence
from benchbook.documents.setups import setups
from benchbook.documents.tables import Reading
from benchbook.errors import BadInput, counted

_LEVELS = {"contradiction": "error", "suspicious": "warning", "note": "note"}
_STYLES = {"contradiction": "bold red", "suspicious": "bold yellow", "note": "bold cyan"}


class DocumentAudit(BaseModel):
    """What the audit of a document came to; `not_bound` are sentences that could not be held against a figure."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    document: str
    tables: int
    figures: int
    findings: list[Finding]
    passed: dict[Kind, int]
    not_bound: list[str]
    not_read: list[str]

    @property
    def wrong(self) -> bool:
        """Whether anything was found that is more than a note."""
        return any(finding.severity != "note" for finding in self.findings)


def audit_document(read: Reading) -> DocumentAudit:
    """Return every finding in a document, gravest first, and how many single checks of each kind passed."""
    said = (one for _, outcomes in by_sentence(read) for one in outcomes)
    outcomes = [*relations(read), *said, *setups(read)]
    passed: Counter[Kind] = Counter()
    for outcome in outcomes:
        if isinstance(outcome, Passed) and outcome.checks:
            passed[outcome.kind] += outcome.checks
    found = [one.model_copy(update={"report": read.document}) for one in outcomes if isinstance(one, Finding)]
    return DocumentAudit(
        document=read.document,
        tables=len(read.tables),
        figures=sum(len(cell.figures) for table in read.tables for row in table.rows for cell in row),
        findings=sorted(_each_once(found), key=lambda one: (SEVERITIES.index(one.severity), one.line)),
        passed=dict(passed),
        not_bound=list(
            dict.fromkeys(
                f"line {one.sentence.line}: {one.sentence.text}" for one in outcomes if isinstance(one, NotBound)
            )
        ),
        not_read=read.notes,
    )


def _each_once(found: list[Finding]) -> list[Finding]:
    """Keep the surest finding about a cell: a wrong figure breaks several relations."""
    best: dict[tuple[object, ...], Finding] = {}
    for one in found:
        key = (one.where, one.line, one.printed, one.column) if one.column else (one.id,)
        if key not in best or one.sure > best[key].sure:
            best[key] = one
    return list(best.values())


def files_of(sources: Sequence[str]) -> list[str]:
    """Return files and addresses as they are, and for a folder all documents in it.

    Raise BadInput for a folder without one: nothing would have been checked, and nothing found.
    """
    kinds = {".md", ".markdown", ".html", ".htm", ".txt", ".csv", ".tsv", ".pdf", ".xlsx"}
    found: list[str] = []
    for source in sources:
        if Path(source).is_dir():
            inside = [path for path in sorted(Path(source).rglob("*")) if path.suffix.lower() in kinds]
            if not (documents := [str(path) for path in inside if path.is_file()]):
                fix = f"name a file, or a folder with files of these kinds: {', '.join(sorted(kinds))}"
                raise BadInput("there is no document in this folder", file=source, fix=fix)
            found += documents
        else:
            found.append(source)
    return found


def show(audits: Sequence[DocumentAudit], console: Console) -> None:
    """Print the audits for people."""
    for audit in audits:
        checks = ", ".join(f"{kind} {count}" for kind, count in audit.passed.items())
        found = by_severity(audit.findings) or "nothing found"
        console.print(f"[bold]{escape(audit.document)}[/bold]: {found}", soft_wrap=True)
        for finding in audit.findings:
            style = _STYLES[finding.severity]
            console.print(
                f"\n  [{style}]{finding.severity}[/{style}] · {finding.kind} · line {finding.line} · {round(100 * finding.sure)}% sure",
                highlight=False,
            )
            console.print(f"  {escape(finding.sentence)}", soft_wrap=True, highlight=False)
            for line in finding.arithmetic:
                console.print(f"      {escape(line)}", soft_wrap=True, highlight=False)
            if finding.printed and not finding.column:
                console.print(f"      “{escape(finding.printed)}”", soft_wrap=True, highlight=False, style="dim")
        console.print(
            f"\nRead: {counted(audit.tables, 'table')}, {counted(audit.figures, 'figure')}. "
            f"Checked and passed: {sum(audit.passed.values())} ({checks or 'nothing to check'}). "
            f"Sentences about figures that could not be bound: {len(audit.not_bound)}.",
            soft_wrap=True,
            highlight=False,
        )
        for note in audit.not_read[:10]:
            console.print(f"  not read: {escape(note)}", soft_wrap=True, highlight=False)
        if len(audit.not_read) > 10:
            console.print(f"  and {len(audit.not_read) - 10} more")


def as_json(audits: Sequence[DocumentAudit]) -> str:
    """Return the audits as a JSON list, an object per document."""
    return json.dumps([audit.model_dump(mode="json") for audit in audits], indent=1, ensure_ascii=False)


def as_sarif(audits: Sequence[DocumentAudit]) -> str:
    """Return the findings in SARIF 2.1.0, which code hosts show beside the lines of a file."""
    kinds = sorted({finding.kind for audit in audits for finding in audit.findings})
    results: list[dict[str, Any]] = [
        {
            "ruleId": finding.kind,
            "level": _LEVELS[finding.severity],
            "message": {"text": "\n".join([finding.sentence, *finding.arithmetic])},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": audit.document},
                        "region": {"startLine": max(1, finding.line)},
                    }
                }
            ],
            "partialFingerprints": {"id": finding.id},
            "rank": round(100 * finding.sure, 1),
        }
        for audit in audits
        for finding in audit.findings
    ]
    driver = {"name": "benchbook audit", "rules": [{"id": kind, "shortDescription": {"text": kind}} for kind in kinds]}
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(log, indent=1, ensure_ascii=False)
