"""Checks text against tables, levels that are not printed, wording that changes, and what a metric counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from benchbook.audit import numbers
from benchbook.audit.findings import Outcomes, Touched, table_finding
from benchbook.audit.judgement import case_of
from benchbook.documents.findings import Finding, Passed
from benchbook.errors import counted
from benchbook.published.declarations import Scalar
from benchbook.published.report_file import FieldMeta, TextFact
from benchbook.published.tables import Published, PublishedTable


def text(published: Published) -> Outcomes:
    """Facts of the text against the tables that they are about, then what each table leaves out or words otherwise."""
    for fact in published.report.text_facts:
        for table in (published.tables[id] for id in fact.tables):
            yield from _settings(fact, table)
            yield from _results(fact, table)
    for table in published.tables.values():
        yield from _missing_levels(published, table)
        yield from _wording(table)
    yield from _meaning(published)


# -- text against tables ------------------------------------------------------------------------------------------


def _settings(fact: TextFact, table: PublishedTable) -> Outcomes:
    """A list in the text must be the table's levels, no more and no fewer; a single value must be one of them."""
    for name, value in fact.values.items():
        if name not in [*table.levels, *table.fixed]:
            continue
        printed = _values(table, name)
        said = list(value) if isinstance(value, list) else [value]
        agrees = set(said) == set(printed) if isinstance(value, list) else value in printed
        if agrees:
            yield Passed("text against table", 1)
        else:
            yield _other_settings(fact, table, name, (said, printed))


def _values(table: PublishedTable, name: str) -> list[Scalar]:
    """Return the values of a level, each once, in printed order."""
    return [table.fixed[name]] if name in table.fixed else table.frame[name].dropna().unique().tolist()


def _other_settings(
    fact: TextFact, table: PublishedTable, name: str, values: tuple[list[Scalar], list[Scalar]]
) -> Finding:
    said, printed = values
    lines = [f"{name} in the text: {_list(said)}; in the table: {_list(printed)}"]
    unprinted = [value for value in said if value not in printed]
    unsaid = [value for value in printed if value not in said]
    lines += [f"{_list(unprinted)} is not in the table"] if unprinted else []
    lines += [f"{_list(unsaid)} is not in the text"] if unsaid and len(said) > 1 else []
    sentence = f"The text says {name} {_list(said)}, table {table.id} has {_list(printed)}."
    return _against(fact, table, f".{name}", sentence, lines)


def _against(fact: TextFact, table: PublishedTable, id: str, sentence: str, lines: list[str]) -> Finding:
    return Finding(
        id=f"{table.id}.{fact.id}{id}",
        where=f"text ({fact.where}); {numbers.where(table)}",
        kind="text against table",
        severity="contradiction",
        sentence=sentence,
        arithmetic=lines,
    )


def _list(values: Sequence[Scalar]) -> str:
    return ", ".join(numbers.shown(value) for value in values)


def _results(fact: TextFact, table: PublishedTable) -> Outcomes:
    """Results that the text gives must stand together in one row of the table."""
    said = {name: value for name, value in fact.values.items() if name in table.metrics}
    if not said:
        return
    if rows := [row for row in numbers.rows(table) if _has_all(table, row, said)]:
        yield Passed("text against table", 1)
        yield Touched(table.id, frozenset((row, name) for row in rows for name in said))
        return
    lines = [f"{name} {value} in the text; {_list(_values(table, name))} in the table" for name, value in said.items()]
    yield _against(fact, table, "", f"No row of table {table.id} has the figures of the text.", lines)


def _has_all(table: PublishedTable, row: int, said: Mapping[str, object]) -> bool:
    return all(numbers.has(table, row, name) and numbers.raw(table, row, name) == said[name] for name in said)


# -- what a table leaves out, and words differently -------------------------------------------------------------------


def _missing_levels(published: Published, table: PublishedTable) -> Outcomes:
    fields = [field for field in table.meta.table_schema.fields if field.role == "level"]
    for field in fields:
        applies = [row for row in numbers.rows(table) if _applies(field, table, row)]
        empty = [row for row in applies if not numbers.has(table, row, field.name)]
        yield Passed("missing level", len(applies) - len(empty))
        if empty:
            sentence = f"{field.name} is not printed in {len(empty)} of {len(applies)} rows."
            lines = [
                f"{numbers.label(table, row)}: none; {_elsewhere(published, table, row, field.name)}" for row in empty
            ]
            yield table_finding(table, f"{field.name}.missing", "missing level", "note", sentence, lines)


def _applies(field: FieldMeta, table: PublishedTable, row: int) -> bool:
    return all(
        numbers.has(table, row, name) and numbers.raw(table, row, name) in values
        for name, values in field.applies_to.items()
    )


def _elsewhere(published: Published, table: PublishedTable, row: int, name: str) -> str:
    """Return what a table that restates this row prints there, or else what other rows have."""
    mine = {level: numbers.raw(table, row, level) for level in table.levels if numbers.has(table, row, level)}
    for other in published.tables.values():
        same = all(value == mine[level] for level, value in other.fixed.items() if level in mine)
        if table.id in other.meta.restates and name in other.fixed and same:
            return f"table {other.id} has {numbers.shown(other.fixed[name])}"
    values = _values(table, name)
    return f"other rows have {_list(values)}" if values else "no row has it"


def _wording(table: PublishedTable) -> Outcomes:
    for field in (field for field in table.meta.table_schema.fields if field.uniform):
        rows = [row for row in numbers.rows(table) if numbers.has(table, row, field.name)]
        texts = {row: str(numbers.raw(table, row, field.name)) for row in rows}
        (usual, count), *_ = Counter(texts.values()).most_common(1) or [("", 0)]
        other = {row: said for row, said in texts.items() if said != usual}
        yield Passed("wording", count)
        if other:
            sentence = (
                f"{field.name} is worded differently in {len(other)} of {len(texts)} rows: what is counted may not be "
                "the same."
            )
            lines = [f"{numbers.label(table, row)}: “{said}”; {count} rows: “{usual}”" for row, said in other.items()]
            yield table_finding(table, f"{field.name}.wording", "wording", "note", sentence, lines)


# -- what is counted ------------------------------------------------------------------------------------------------


def _meaning(published: Published) -> Outcomes:
    """Yield a metric of one name whose transactions hold different numbers of statements in different tables."""
    with_statements = [
        (table, field)
        for table in published.tables.values()
        for field in table.meta.table_schema.fields
        if field.statements and table.frame[field.name].notna().any()
    ]
    for name in dict.fromkeys(field.name for _, field in with_statements):
        mine = [(table, field) for table, field in with_statements if field.name == name]
        statements = Counter(field.statements or 1 for _, field in mine)
        if len(statements) == 1:
            yield Passed("meaning", len(mine))
            continue
        counts = " and ".join(f"{count} in {counted(statements[count], 'table')}" for count in sorted(statements))
        yield Finding(
            id=f"meaning.{name}",
            kind="meaning",
            severity="note",
            where=f"tables {', '.join(table.id for table, _ in mine)}",
            sentence=f"{name} counts transactions of different size, so it does not compare between all tables: "
            f"statements per transaction are {counts}.",
            arithmetic=[_statements(published, table, field) for table, field in mine],
        )


def _statements(published: Published, table: PublishedTable, field: FieldMeta) -> str:
    best = max(
        (row for row in numbers.rows(table) if numbers.has(table, row, field.name)),
        key=lambda row: float(numbers.raw(table, row, field.name)),
    )
    value, words = float(numbers.raw(table, best, field.name)), case_of(published, table, best).words[field.name]
    return (
        f"{table.id}, {numbers.label(table, best)}: {words} x {field.statements} = "
        f"{numbers.plain(value * (field.statements or 1))} statements/s"
    )
