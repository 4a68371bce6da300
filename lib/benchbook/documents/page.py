"""One self-contained page: a document as it was read, with its findings in the margin. Everything is escaped."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path, PurePath

import jinja2

from benchbook.documents.audit import DocumentAudit
from benchbook.documents.findings import Finding, by_severity
from benchbook.documents.formats import Block
from benchbook.documents.tables import Reading, Table
from benchbook.errors import counted

_PAGES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
)


@dataclass
class Part:
    """A block of the document with the findings that stand beside it."""

    block: Block
    table: Table | None = None
    findings: list[tuple[int, Finding]] = field(default_factory=list)
    rows: list[list[tuple[str, int, bool]]] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)


def page(read: Reading, audit: DocumentAudit) -> str:
    """Return the document with its findings as HTML that loads nothing."""
    parts = _parts(read)
    for number, finding in enumerate(audit.findings, start=1):
        part = _part_of(parts, finding)
        part.findings.append((number, finding))
        if not part.table:
            part.marks.append(number)
    for part in parts:
        if part.table:
            part.rows = _rows(part.table, part.findings)
    said = by_severity(audit.findings) or "nothing found"
    is_file = "://" not in audit.document
    name = (is_file and PurePath(audit.document).name) or audit.document
    return _PAGES.get_template("document_page.html.j2").render(
        audit=audit, name=name, parts=parts, said=said, counted=counted
    )


def _parts(read: Reading) -> list[Part]:
    tables = {table.line: table for table in read.tables}
    parts = [Part(block, tables.pop(block.line, None) if block.kind == "table" else None) for block in read.blocks]
    for line, table in sorted(tables.items()):
        # A table that was read from text or from a program's output stands behind it.
        behind = max((place for place, part in enumerate(parts) if part.block.line <= line), default=-1)
        parts.insert(behind + 1, Part(Block("table", "", line), table))
    return parts or [Part(Block("paragraph", "", 1))]


def _part_of(parts: list[Part], finding: Finding) -> Part:
    if finding.column:
        for part in parts:
            if part.table and finding.where == part.table.name:
                return part
    before = [part for part in parts if part.block.line <= finding.line]
    return before[-1] if before else parts[0]


def _rows(table: Table, findings: list[tuple[int, Finding]]) -> list[list[tuple[str, int, bool]]]:
    marks = {(finding.line, finding.column, finding.printed): number for number, finding in findings}
    return [
        [
            (
                cell.text,
                marks.get((cell.line, column.heading, cell.text), 0),
                bool(cell.figure) and (column.role in {"metric", "delta"} or column.unit == "1"),
            )
            for column, cell in zip(table.columns, cells, strict=True)
        ]
        for cells in table.rows
    ]
