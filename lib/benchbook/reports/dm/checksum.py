"""Proof that two MySQL-protocol servers hold the same rows: a count and an order-independent checksum of each table.

Each side computes COUNT(*), BIT_XOR(h) and SUM(h), where h is CRC32(MD5(row as text)). XOR alone does not see a row
that is there twice more; the sum does. The MD5 inside is there because CRC32 is linear: the XOR of two rows' CRCs stays
the same when the rows swap a value. A changed row goes unseen once in 2**32 times; this guards against lost and mangled
rows, not against an adversary. MariaDB 10.11 and TiDB 6.5 give the same numbers for integers, decimals, strings, binary
strings, dates and enumerations; floats and JSON are printed differently: refused.

Pure: it is given how to open a connection to either side, whose `execute(sql)` returns rows. Values in SQL are names
that the servers gave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from benchbook.errors import BadInput, TrialFailed
from benchbook.hosts.fanout import in_parallel
from benchbook.systems.statements import identifier, literal

Execute = Callable[[str], Sequence[Sequence[Any]]]
# Opens a connection to one side; statements go over it one after the other.
Side = Callable[[], AbstractContextManager[Execute]]

# A server hashes the rows of a statement on one core, or on little more.
_TABLES_AT_ONCE = 4

_INTEGERS = {"tinyint", "smallint", "mediumint", "int", "bigint"}
_BYTES = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}
# As text these differ between servers though the value is the same.
_UNSTABLE = {"float", "double", "json", "bit", "geometry"}


class RowsDiffer(TrialFailed):
    """Source and target do not hold the same rows; names the tables, and how they differ."""


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    nullable: bool


@dataclass(frozen=True)
class TableProof:
    """A table that is the same on both sides, and its rows on each."""

    table: str
    source_rows: int
    target_rows: int


def prove(source: Side, target: Side, database: str) -> list[TableProof]:
    """Compare every table of the source's; return the evidence, for the record. Both sides must stand still meanwhile.

    Every row of both is read once. Raise RowsDiffer; BadInput where there is nothing to compare.
    """
    where = f"TABLE_SCHEMA = {literal(database)} AND TABLE_TYPE = 'BASE TABLE'"
    with source() as ours:
        names = sorted(str(name) for (name,) in ours(f"SELECT TABLE_NAME FROM information_schema.TABLES WHERE {where}"))
    if not names:
        raise BadInput("no table to compare", key="database", value=database, fix="prepare the source's tables first")

    def compare(name: str) -> TableProof | str:
        with source() as ours, target() as theirs:
            return _compare(ours, theirs, database, name)

    with ThreadPoolExecutor(max_workers=_TABLES_AT_ONCE, thread_name_prefix="compare") as pool:
        found = list(pool.map(compare, names))
    if wrong := [each for each in found if isinstance(each, str)]:
        raise RowsDiffer(f"source and target differ: {' | '.join(wrong)}")
    return [each for each in found if isinstance(each, TableProof)]


def columns(execute: Execute, database: str, table: str) -> list[Column]:
    """Return a table's columns in order, as this side has them; none if it has no such table."""
    rows = execute(
        "SELECT COLUMN_NAME, DATA_TYPE, IS_NULLABLE FROM information_schema.COLUMNS "
        f"WHERE TABLE_SCHEMA = {literal(database)} AND TABLE_NAME = {literal(table)} ORDER BY ORDINAL_POSITION"
    )
    return [Column(str(name), str(kind).lower(), nullable == "YES") for name, kind, nullable in rows]


def sums(execute: Execute, database: str, table: str, of: Sequence[Column]) -> tuple[int, int, int]:
    """Return COUNT(*), BIT_XOR(h), SUM(h). Raise BadInput for a column whose text is not the same on every server."""
    if unstable := [column for column in of if column.type in _UNSTABLE]:
        said = f"a column of type {unstable[0].type} cannot be compared between servers"
        fix = "leave this table out, or use DECIMAL or a string"
        raise BadInput(said, file=f"{database}.{table}", key=unstable[0].name, fix=fix)
    hashed = f"CRC32(MD5(CONCAT_WS(',', {', '.join(map(_as_text, of))})))"
    ((rows, xor, total),) = execute(
        "SELECT COUNT(*), COALESCE(BIT_XOR(h), 0), COALESCE(SUM(h), 0) "
        f"FROM (SELECT {hashed} AS h FROM {identifier(database)}.{identifier(table)}) AS hashed"
    )
    return int(rows), int(xor), int(total)


def _compare(source: Execute, target: Execute, database: str, table: str) -> TableProof | str:
    """Return the evidence, or in words what differs."""
    ours, theirs = in_parallel(lambda: columns(source, database, table), lambda: columns(target, database, table))
    if not ours or not theirs:
        return f"{table}: the {'target' if ours else 'source'} has no such table"
    mine, other = (", ".join(column.name for column in each) for each in (ours, theirs))
    if mine != other:
        return f"{table}: columns {mine} and {other}"
    # Both sides hash by the source's columns: the target may know types by other names.
    a, b = in_parallel(lambda: sums(source, database, table, ours), lambda: sums(target, database, table, ours))
    if a == b:
        return TableProof(table, a[0], b[0])
    return f"{table}: {f'{a[0]} and {b[0]} rows' if a[0] != b[0] else f'other contents in {a[0]} rows'}"


def _as_text(column: Column) -> str:
    """QUOTE keeps NULL apart from every string, and a comma inside a value from those between; a number needs neither.

    Bytes that are no text go through HEX: servers disagree on how to put them into a string.
    """
    name = identifier(column.name)
    if column.type in _INTEGERS and not column.nullable:
        return name
    return f"QUOTE(HEX({name}))" if column.type in _BYTES else f"QUOTE({name})"
