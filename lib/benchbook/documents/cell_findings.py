"""A finding about one cell of a table, and from how many rows on a relation between figures counts as meant."""

from __future__ import annotations

import re

from benchbook.documents.findings import Finding, Kind, Passed, Severity
from benchbook.documents.tables import Table

# Of 120 errors planted in benchmarks/documents (`make bench BENCH=planted_errors`), 100 are found; beside each, what other values find.
FEWEST = 3
"""The fewest rows in which a relation must hold, before another row is held against it: 100 with 2 as well, 93 with 5."""
CONSTANT = 4
"""The same where the relation is a constant that nobody named, and not a percentage that is headed as one: 100 with 3, 94 with 6."""
MOST_ROWS = 200
"""Of a table of more rows none is held against all others one by one: it is a trace over time, and 5,000 rows took over a minute."""
Outcome = Finding | Passed


def cell_finding(
    table: Table,
    row: int,
    place: int,
    kind: Kind,
    severity: Severity,
    sentence: str,
    arithmetic: list[str],
    sure: float,
) -> Finding:
    """Return a finding about one cell of a table."""
    if table.parts:
        table, row = table.parts[row]
    cell = table.rows[row][place]
    return Finding(
        id=f"{table.id.replace(' ', '-')}.row{row + 1}.{re.sub(r'[^0-9A-Za-z]+', '-', table.columns[place].heading).strip('-') or place}.{kind}",
        where=table.name,
        kind=kind,
        severity=severity,
        sentence=sentence,
        arithmetic=arithmetic,
        line=cell.line,
        column=table.columns[place].heading,
        printed=cell.text,
        sure=sure,
    )
