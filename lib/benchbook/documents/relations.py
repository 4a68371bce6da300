"""Relations between the figures of a document that was read: searched for, for nobody declared any.

A relation counts as meant where it holds, within the rounding of what is printed, in all rows but one or few; the
rows where it does not are the findings. What holds nowhere is no relation, and says nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from benchbook.documents.cell_findings import Outcome
from benchbook.documents.changes import percentages
from benchbook.documents.curves import curves, percentiles, shares
from benchbook.documents.findings import Finding
from benchbook.documents.ratios import constants, multiples, multiples_in_words, swapped
from benchbook.documents.repeats import repeated
from benchbook.documents.sums import rates, sums, totals
from benchbook.documents.tables import Reading, Table, together, with_rows_as_columns


def relations(read: Reading) -> Iterator[Outcome]:
    """Yield what every table of a document says of itself, and of the others."""
    for table in read.tables:
        yield from percentages(table)
        if turned := with_rows_as_columns(table):
            yield from percentages(turned)
        yield from totals(table)
        yield from sums(table)
        yield from rates(read, table)
        yield from constants(table)
        yield from multiples(table)
        yield from swapped(table)
        yield from percentiles(table)
        yield from shares(table)
        yield from curves(table)
    for table in together(read.tables):
        yield from _against_others(
            table,
            [
                *percentages(table),
                *sums(table),
                *rates(read, table),
                *constants(table),
                *multiples(table),
            ],
        )
    yield from multiples_in_words(read)
    yield from repeated(read)


def _against_others(table: Table, outcomes: Sequence[Outcome]) -> Iterator[Finding]:
    """Yield the findings among the rows of several tables, without those of a whole table: it is of another set-up.

    Where each table has one row, a row is held against the others all the same.
    """
    rows = Counter(part.name for part, _ in table.parts)
    found = [one for one in outcomes if isinstance(one, Finding)]
    off = Counter((where, kind) for where, kind, _ in {(one.where, one.kind, one.line) for one in found})
    yield from (one for one in found if max(rows.values()) == 1 or off[one.where, one.kind] < rows[one.where])
