"""Checks text against tables, levels that are not printed, wording that changes, and what a metric counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from benchbook.audit.findings import Outcomes, table_finding
from benchbook.audit.rows import Row, listed, plain, values, where
from benchbook.documents.findings import Finding, Passed
from benchbook.errors import counted
from benchbook.published.report_file import TextFact
from benchbook.published.tables import Published, PublishedTable


def text(published: Published, tables: Mapping[str, Sequence[Row]]) -> Outcomes:
    """Facts of the text against the tables that they are about, then what each table leaves out or words otherwise."""
    for fact in published.report.text_facts:
        for id in fact.tables:
            yield from _settings(fact, published.tables[id])
            yield from _results(fact, published.tables[id], tables[id])
    for table in published.tables.values():
        yield from _missing_levels(published, table, tables[table.id])
        yield from _wording(table, tables[table.id])
    yield from _meaning(tables)


# -- text against tables ------------------------------------------------------------------------------------------


def _settings(fact: TextFact, table: PublishedTable) -> Outcomes:
    """A list in the text must be the table's levels, no more and no fewer; a single value must be one of them."""
    for name, value in fact.values.items():
        if name not in [*table.levels, *table.fixed]:
            continue
        printed = values(table, name)
        said = list(value) if isinstance(value, list) else [value]
        unprinted = [one for one in said if one not in printed]
        unsaid = [one for one in printed if one not in said] if isinstance(value, list) else []
        if not unprinted and not unsaid:
            yield Passed("text against table", 1)
            continue
        lines = [f"{name} in the text: {listed(said)}; in the table: {listed(printed)}"]
        lines += [f"{listed(unprinted)} is not in the table"] if unprinted else []
        lines += [f"{listed(unsaid)} is not in the text"] if unsaid else []
        sentence = f"The text says {name} {listed(said)}, table {table.id} has {listed(printed)}."
        yield _against(fact, table, f".{name}", sentence, lines)


def _results(fact: TextFact, table: PublishedTable, rows: Sequence[Row]) -> Outcomes:
    """Results that the text gives must stand together in one row of the table."""
    said = {name: value for name, value in fact.values.items() if name in table.metrics}
    if not said:
        return
    if any(said.items() <= row.cells.items() for row in rows):
        yield Passed("text against table", 1)
        return
    lines = [f"{name} {value} in the text; {listed(values(table, name))} in the table" for name, value in said.items()]
    yield _against(fact, table, "", f"No row of table {table.id} has the figures of the text.", lines)


def _against(fact: TextFact, table: PublishedTable, id: str, sentence: str, lines: list[str]) -> Finding:
    return Finding(
        id=f"{table.id}.{fact.id}{id}",
        where=f"text ({fact.where}); {where(table)}",
        kind="text against table",
        severity="contradiction",
        sentence=sentence,
        arithmetic=lines,
    )


# -- what a table leaves out, and words differently -------------------------------------------------------------------


def _missing_levels(published: Published, table: PublishedTable, rows: Sequence[Row]) -> Outcomes:
    for field in (field for field in table.meta.table_schema.fields if field.role == "level"):
        name = field.name
        applies = [row for row in rows if all(row.cells.get(at) in some for at, some in field.applies_to.items())]
        empty = [row for row in applies if not row.prints(name)]
        yield Passed("missing level", len(applies) - len(empty))
        if empty:
            sentence = f"{name} is not printed in {len(empty)} of {len(applies)} rows."
            lines = [f"{row.label}: none; {_elsewhere(published, row, name)}" for row in empty]
            yield table_finding(table, f"{name}.missing", "missing level", "note", sentence, lines)


def _elsewhere(published: Published, row: Row, name: str) -> str:
    """Return what a table that restates this row prints there, or else what other rows have."""
    for other in published.tables.values():
        same = all(value == row.cells[level] for level, value in other.fixed.items() if row.prints(level))
        if row.table.id in other.meta.restates and name in other.fixed and same:
            return f"table {other.id} has {listed([other.fixed[name]])}"
    printed = values(row.table, name)
    return f"other rows have {listed(printed)}" if printed else "no row has it"


def _wording(table: PublishedTable, rows: Sequence[Row]) -> Outcomes:
    for field in (field for field in table.meta.table_schema.fields if field.uniform):
        printed = [row for row in rows if row.prints(field.name)]
        (usual, count), *_ = Counter(row.cells[field.name] for row in printed).most_common(1) or [("", 0)]
        other = [row for row in printed if row.cells[field.name] != usual]
        yield Passed("wording", count)
        if other:
            sentence = (
                f"{field.name} is worded differently in {len(other)} of {len(printed)} rows: what is counted may not "
                "be the same."
            )
            lines = [f"{row.label}: “{row.cells[field.name]}”; {count} rows: “{usual}”" for row in other]
            yield table_finding(table, f"{field.name}.wording", "wording", "note", sentence, lines)


# -- what is counted ------------------------------------------------------------------------------------------------


def _meaning(tables: Mapping[str, Sequence[Row]]) -> Outcomes:
    """Yield a metric of one name whose transactions hold different numbers of statements in different tables."""
    found: dict[str, list[tuple[int, Row]]] = {}
    for rows in tables.values():
        for field in rows[0].table.meta.table_schema.fields:
            name, printed = field.name, [row for row in rows if row.prints(field.name)]
            if field.statements and printed:
                best = max(printed, key=lambda row: float(row.cells[name]))
                found.setdefault(name, []).append((field.statements, best))
    for name, mine in found.items():
        statements = Counter(count for count, _ in mine)
        if len(statements) == 1:
            yield Passed("meaning", len(mine))
            continue
        counts = " and ".join(f"{count} in {counted(statements[count], 'table')}" for count in sorted(statements))
        yield Finding(
            id=f"meaning.{name}",
            kind="meaning",
            severity="note",
            where=f"tables {', '.join(best.table.id for _, best in mine)}",
            sentence=f"{name} counts transactions of different size, so it does not compare between all tables: "
            f"statements per transaction are {counts}.",
            arithmetic=[
                f"{best.table.id}, {best.label}: {best.words[name]} x {count} = "
                f"{plain(float(best.cells[name]) * count)} statements/s"
                for count, best in mine
            ],
        )
