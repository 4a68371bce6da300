"""Refuses declarations that check nothing, and keys of text facts that match nothing: both look like checks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from benchbook import paths
from benchbook.audit.judgement import cases_of, state
from benchbook.audit.percentiles import bucket_cells
from benchbook.audit.rows import Row, rows_of
from benchbook.audit.shapes import compared, constant_values, trend_pairs
from benchbook.errors import BadInput
from benchbook.published.arithmetic import aggregates, all_names
from benchbook.published.report_file import TextFact
from benchbook.published.tables import Published, PublishedTable

_ADDRESS = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}")
"""Addresses are held against the report's hosts, whatever they are called."""


def refuse_dead(published: Published) -> None:
    """Raise BadInput naming the file, the key and the fix, for the first declaration that checks nothing."""
    folder = paths.published_dir(published.report.name)
    for table in published.tables.values():
        for id, why in _dead(table, rows_of(published, table)):
            fix = "correct the rows or columns that it names, or take it out"
            raise BadInput(why, file=folder / "datapackage.json", key=f"{table.id}.{id}", fix=fix)
    for fact in published.report.text_facts:
        for name in _unmatched(published, fact):
            tables = ", ".join(fact.tables)
            said = f"it is no level and no metric of {tables}, and no identity uses it"
            fix = f"name a column or a fixed level of {tables}, or list it in `unchecked`"
            raise BadInput(said, file=folder / "report.yaml", key=f"text_facts.{fact.id}.values.{name}", fix=fix)


def _dead(table: PublishedTable, rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    for identity in table.identities:
        if all(state(identity, row.known) is None for row in cases_of(table, rows, identity)):
            yield identity.id, "the identity checks nothing: no row has all of its numbers"
        # A condition that no row meets is a slip of its value.
        over_rows = [one for side in (identity.left, identity.right) for one in aggregates(side)]
        for level, relation, value in (condition for one in over_rows for condition in one.conditions):
            if relation != "shared" and not any(row.cells.get(level) == value for row in rows):
                yield identity.id, f"no row has {level} {value!r}, which {identity.id} names"
    for constant in table.meta.constants:
        if len(constant_values(rows, constant)) < 2:
            yield constant.id, "the constant checks nothing: fewer than two rows have its numbers"
    for trend in table.meta.trends:
        if not trend_pairs(rows, trend):
            yield trend.id, "the trend checks nothing: no two rows differ in its levels and print its metric"
    for declared in table.meta.buckets:
        if not bucket_cells(rows, declared):
            yield declared.id, "the buckets check nothing: they lie closer than the printed digits, or no row has one"
    for companion in table.meta.companions:
        if not compared(rows, companion):
            yield companion.id, "the companion checks nothing: no two rows print its metric alike"


def _unmatched(published: Published, fact: TextFact) -> list[str]:
    """Return the values of a fact about tables that no check of the audit looks at."""
    if not fact.tables:
        return []
    tables = [published.tables[id] for id in fact.tables]
    columns = {name for table in tables for name in [*table.levels, *table.fixed, *table.metrics]}
    columns |= {role for host in published.report.hosts for role in host.runs}
    used = _used(published)
    return [
        name
        for name, value in fact.values.items()
        if name not in columns
        and f"{fact.id}.{name}" not in used
        and not _ADDRESS.fullmatch(str(value))
        and name not in fact.unchecked
    ]


def _used(published: Published) -> set[str]:
    """Return every name in an expression of the report."""
    tables = published.tables.values()
    identities = [*published.report.identities, *(one for table in tables for one in table.identities)]
    sides = [side for one in identities for side in (one.left, one.right)]
    sides += [constant.expression for table in tables for constant in table.meta.constants]
    return {name for side in sides for name in all_names(side)}
