"""Proof that two MySQL-protocol servers hold the same rows: counts and order-independent checksums, chunk by chunk.

Each side computes, per chunk of the primary key, COUNT(*), BIT_XOR(h) and SUM(h), where h is CRC32(MD5(row as text)).
XOR alone does not see a row that is there twice more; the sum does. The MD5 inside is there because CRC32 is linear:
the XOR of two rows' CRCs stays the same when the rows swap a value. A changed row goes unseen once in 2**32 times; this
guards against lost and mangled rows, not against an adversary. MariaDB 10.11 and TiDB 6.5 give the same numbers for
integers, decimals, strings, binary strings, dates and enumerations; floats and JSON are printed differently: refused.
The idea of chunks is that of pt-table-checksum (https://docs.percona.com/percona-toolkit/pt-table-checksum.html).

Pure: it is given how to open a connection to either side, whose `execute(sql)` returns rows. Values in SQL are names
and integers that the servers gave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import Any

from benchbook.errors import BadInput, TrialFailed
from benchbook.hosts.fanout import in_parallel
from benchbook.systems.statements import identifier, literal

Execute = Callable[[str], Sequence[Sequence[Any]]]
# Opens a connection to one side; statements go over it one after the other.
Side = Callable[[], AbstractContextManager[Execute]]

CHUNK_ROWS = 100_000
# A server hashes the rows of a statement on one core, or on little more.
_TABLES_AT_ONCE = 4

_INTEGERS = {"tinyint", "smallint", "mediumint", "int", "bigint"}
_BYTES = {"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"}
# As text these differ between servers though the value is the same.
_UNSTABLE = {"float", "double", "json", "bit", "geometry"}


class RowsDiffer(TrialFailed):
    """Source and target do not hold the same rows; names the tables, and where in them."""


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    nullable: bool


@dataclass(frozen=True)
class Layout:
    """A table's columns in order, and its primary key if that is one integer column."""

    database: str
    table: str
    columns: tuple[Column, ...]
    key: str | None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


@dataclass(frozen=True)
class Chunk:
    """Rows with low <= key < high; None is without a bound, so that together the chunks cover every row."""

    low: int | None = None
    high: int | None = None

    def __str__(self) -> str:
        return f"[{'-inf' if self.low is None else self.low}, {'+inf' if self.high is None else self.high})"


@dataclass(frozen=True)
class Sums:
    """What one side says of one chunk."""

    rows: int
    xor: int
    total: int


@dataclass(frozen=True)
class TableProof:
    """One table on both sides: rows, chunks compared, and what differs, in words."""

    table: str
    source_rows: int
    target_rows: int
    chunks: int
    differences: tuple[str, ...] = field(default=())

    @property
    def agrees(self) -> bool:
        return not self.differences

    def __str__(self) -> str:
        said = "agree" if self.agrees else f"differ: {'; '.join(self.differences[:3])}"
        return f"{self.table}: {self.source_rows} and {self.target_rows} rows in {self.chunks} chunks {said}"


def prove(source: Side, target: Side, database: str, *, chunk_rows: int = CHUNK_ROWS) -> list[TableProof]:
    """Compare every table of the source's; return the evidence, for the record. Both sides must stand still meanwhile.

    Every row of both is read once. Raise RowsDiffer; BadInput where there is nothing to compare.
    """
    with source() as ours:
        names = sorted(_tables(ours, database))
    if not names:
        raise BadInput("no table to compare", key="database", value=database, fix="prepare the source's tables first")

    def compare(name: str) -> TableProof:
        with source() as ours, target() as theirs:
            return _compare(ours, theirs, database, name, chunk_rows)

    with ThreadPoolExecutor(max_workers=_TABLES_AT_ONCE, thread_name_prefix="compare") as pool:
        evidence = list(pool.map(compare, names))
    if wrong := [str(each) for each in evidence if not each.agrees]:
        raise RowsDiffer(f"source and target differ: {' | '.join(wrong)}")
    return evidence


def layout(execute: Execute, database: str, table: str) -> Layout | None:
    """Return the table as this side has it; None if it has no such table."""
    where = f"TABLE_SCHEMA = {literal(database)} AND TABLE_NAME = {literal(table)}"
    columns = execute(
        "SELECT COLUMN_NAME, DATA_TYPE, IS_NULLABLE, COLUMN_KEY FROM information_schema.COLUMNS "
        f"WHERE {where} ORDER BY ORDINAL_POSITION"
    )
    if not columns:
        return None
    keys = [name for name, kind, _, role in columns if role == "PRI"]
    single = keys[0] if len(keys) == 1 and _kind(columns, keys[0]) in _INTEGERS else None
    parts = (Column(str(name), str(kind).lower(), nullable == "YES") for name, kind, nullable, _ in columns)
    return Layout(database, table, tuple(parts), single)


def chunks(execute: Execute, of: Layout, chunk_rows: int = CHUNK_ROWS) -> list[Chunk]:
    """Ranges of equal width over the key, of about `chunk_rows` rows if keys are evenly spread."""
    if of.key is None:
        return [Chunk()]
    key = identifier(of.key)
    ((rows, low, high),) = execute(f"SELECT COUNT(*), MIN({key}), MAX({key}) FROM {_where(of)}")
    pieces = ceil(int(rows) / chunk_rows) or 1
    if pieces == 1:
        return [Chunk()]
    width = ceil((int(high) - int(low) + 1) / pieces)
    bounds = [int(low) + width * i for i in range(1, pieces)]
    return [Chunk(a, b) for a, b in zip([None, *bounds], [*bounds, None], strict=True)]


def sums_sql(of: Layout, chunk: Chunk) -> str:
    """One row: COUNT(*), BIT_XOR(h), SUM(h) over the chunk. Raise BadInput for a column whose text is not stable."""
    unstable = [column for column in of.columns if column.type in _UNSTABLE]
    if unstable:
        said = f"a column of type {unstable[0].type} cannot be compared between servers"
        fix = "leave this table out, or use DECIMAL or a string"
        raise BadInput(said, file=f"{of.database}.{of.table}", key=unstable[0].name, fix=fix)
    hashed = f"CRC32(MD5(CONCAT_WS(',', {', '.join(map(_as_text, of.columns))})))"
    bounds = [
        f"{identifier(of.key or '')} {sign} {bound}"
        for sign, bound in ((">=", chunk.low), ("<", chunk.high))
        if bound is not None
    ]
    condition = f" WHERE {' AND '.join(bounds)}" if bounds else ""
    rows = f"SELECT {hashed} AS h FROM {_where(of)}{condition}"
    return f"SELECT COUNT(*), COALESCE(BIT_XOR(h), 0), COALESCE(SUM(h), 0) FROM ({rows}) AS hashed"


def sums(execute: Execute, of: Layout, chunk: Chunk) -> Sums:
    ((rows, xor, total),) = execute(sums_sql(of, chunk))
    return Sums(int(rows), int(xor), int(total))


def _compare(source: Execute, target: Execute, database: str, table: str, chunk_rows: int) -> TableProof:
    ours, theirs = in_parallel(lambda: layout(source, database, table), lambda: layout(target, database, table))
    if ours is None or theirs is None:
        side = "source" if ours is None else "target"
        return TableProof(table, 0, 0, 0, (f"the {side} has no such table",))
    if ours.names != theirs.names:
        return TableProof(table, 0, 0, 0, (f"columns {', '.join(ours.names)} and {', '.join(theirs.names)}",))
    ranges = chunks(source, ours, chunk_rows)
    # Both sides hash by the source's layout: the target may know types and keys by other names.
    pairs = [
        (chunk, *in_parallel(partial(sums, source, ours, chunk), partial(sums, target, ours, chunk)))
        for chunk in ranges
    ]
    differences = tuple(_difference(chunk, a, b) for chunk, a, b in pairs if a != b)
    return TableProof(
        table, sum(a.rows for _, a, _ in pairs), sum(b.rows for _, _, b in pairs), len(pairs), differences
    )


def _difference(chunk: Chunk, ours: Sums, theirs: Sums) -> str:
    if ours.rows != theirs.rows:
        return f"{ours.rows} and {theirs.rows} rows in {chunk}"
    return f"contents of {ours.rows} rows in {chunk}"


def _tables(execute: Execute, database: str) -> list[str]:
    rows = execute(
        "SELECT TABLE_NAME FROM information_schema.TABLES "
        f"WHERE TABLE_SCHEMA = {literal(database)} AND TABLE_TYPE = 'BASE TABLE'"
    )
    return [str(name) for (name,) in rows]


def _as_text(column: Column) -> str:
    """QUOTE keeps NULL apart from every string, and a comma inside a value from those between; a number needs neither.

    Bytes that are no text go through HEX: servers disagree on how to put them into a string.
    """
    name = identifier(column.name)
    if column.type in _INTEGERS and not column.nullable:
        return name
    return f"QUOTE(HEX({name}))" if column.type in _BYTES else f"QUOTE({name})"


def _kind(columns: Sequence[Sequence[Any]], wanted: str) -> str:
    return next(str(kind).lower() for name, kind, *_ in columns if name == wanted)


def _where(of: Layout) -> str:
    return f"{identifier(of.database)}.{identifier(of.table)}"
