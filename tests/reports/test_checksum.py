"""Source against target: the SQL runs on SQLite here, which is taught the five functions of MySQL that it needs.

What keeps the stand-in honest is the first test: MariaDB 10.11 and TiDB 6.5 gave those very numbers for those rows.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import nullcontext
from threading import Barrier, Lock
from typing import Any

import pytest

from benchbook.errors import BadInput
from benchbook.reports.dm import checksum
from benchbook.reports.dm.checksum import Execute, TableProof

SBTEST = [("id", "int", "NO"), ("k", "int", "NO"), ("c", "char", "NO"), ("pad", "char", "NO")]
MIXED = [("id", "int", "NO"), ("k", "int", "YES"), ("c", "varchar", "YES"), ("b", "varbinary", "YES")]


class BitXor:
    def __init__(self) -> None:
        self.value = 0

    def step(self, value: int) -> None:
        self.value ^= value

    def finalize(self) -> int:
        return self.value


def quote(value: object) -> str:
    return "NULL" if value is None else "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def server(tables: dict[str, tuple[list[tuple[str, ...]], list[tuple[Any, ...]]]]) -> Callable[[str], list[Any]]:
    """An `execute` over a database `db` with these tables: columns as information_schema tells them, and rows."""
    db = sqlite3.connect(":memory:", check_same_thread=False)
    db.execute("ATTACH ':memory:' AS db")
    db.execute("ATTACH ':memory:' AS information_schema")
    db.create_function("CRC32", 1, lambda text: zlib.crc32(text.encode()))
    db.create_function("MD5", 1, lambda text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest())
    db.create_function("CONCAT_WS", -1, lambda sep, *parts: sep.join(str(p) for p in parts if p is not None))
    db.create_function("QUOTE", 1, quote)
    db.create_function("HEX", 1, lambda value: None if value is None else value.hex().upper())
    db.create_aggregate("BIT_XOR", 1, BitXor)  # type: ignore[arg-type]
    names = "TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, IS_NULLABLE, ORDINAL_POSITION"
    db.execute(f"CREATE TABLE information_schema.COLUMNS ({names})")
    db.execute("CREATE TABLE information_schema.TABLES (TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE)")
    for table, (columns, rows) in tables.items():
        db.execute("INSERT INTO information_schema.TABLES VALUES ('db', ?, 'BASE TABLE')", (table,))
        for place, column in enumerate(columns):
            db.execute("INSERT INTO information_schema.COLUMNS VALUES ('db', ?, ?, ?, ?, ?)", (table, *column, place))
        db.execute(f"CREATE TABLE db.`{table}` ({', '.join(f'`{column[0]}`' for column in columns)})")
        marks = ", ".join("?" * len(columns))
        db.executemany(f"INSERT INTO db.`{table}` VALUES ({marks})", rows)
    # One at a time. A statement holds SQLite's mutex while it waits for the interpreter, to call one of these functions
    # of Python, and another thread holds that one while it waits for the mutex: nothing in this process would run on.
    one = Lock()

    def execute(sql: str) -> list[Any]:
        with one:
            return db.execute(sql).fetchall()

    return execute


def prove(ours: Execute, theirs: Execute) -> list[TableProof]:
    return checksum.prove(lambda: nullcontext(ours), lambda: nullcontext(theirs), "db")


def sbtest(*rows: tuple[int, int, str]) -> Callable[[str], list[Any]]:
    return server({"sbtest1": (SBTEST, [(i, k, c, "pad") for i, k, c in rows])})


def test_the_numbers_are_those_of_mariadb_and_tidb() -> None:
    rows = [(1, None, "a,b", bytes.fromhex("00ff1a5c27")), (2, 5, None, None), (7, -1, "it's Ä", b"")]
    execute = server({"t": (MIXED, rows)})
    columns = checksum.columns(execute, "db", "t")
    assert checksum.sums(execute, "db", "t", columns) == (3, 3392515870, 4996089998)
    assert checksum.sums(server({"t": (MIXED, [])}), "db", "t", columns) == (0, 0, 0)


def test_equal_tables_agree_in_any_order() -> None:
    rows = [(i, i % 7, f"c{i}") for i in range(1, 101)]
    assert prove(sbtest(*rows), sbtest(*reversed(rows))) == [TableProof("sbtest1", 100, 100)]


SOURCE = [(1, 5, "a"), (2, 6, "b"), (3, 7, "c"), (4, 8, "d")]


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ([*SOURCE[:3]], "4 and 3 rows"),
        ([*SOURCE, (9, 9, "e")], "4 and 5 rows"),
        ([], "4 and 0 rows"),
        ([(1, 5, "a"), (2, 6, "x"), *SOURCE[2:]], "other contents in 4 rows"),
        # Two rows have swapped a value: the XOR of plain CRCs would be the same.
        ([(1, 6, "a"), (2, 5, "b"), *SOURCE[2:]], "other contents in 4 rows"),
    ],
)
def test_what_differs_is_said(target: list[tuple[int, int, str]], words: str) -> None:
    with pytest.raises(checksum.RowsDiffer, match=f"^source and target differ: sbtest1: {words}$"):
        prove(sbtest(*SOURCE), sbtest(*target))


def test_two_equal_rows_in_place_of_two_others_are_seen() -> None:
    """Their XOR is 0 on both sides; their sums differ."""
    twice = [[("a", 1)] * 2, [("b", 2)] * 2]
    ours, theirs = (server({"t": ([("c", "varchar", "YES"), ("k", "int", "NO")], rows)}) for rows in twice)
    with pytest.raises(checksum.RowsDiffer, match="t: other contents in 2 rows"):
        prove(ours, theirs)


@pytest.mark.parametrize("row", [(1, None, None, None), (1, None, "", None), (1, None, "NULL", None)])
def test_null_is_not_an_empty_string_nor_the_word(row: tuple[Any, ...]) -> None:
    mine = server({"t": (MIXED, [row])})
    assert prove(mine, mine)
    for other in {None, "", "NULL"} - {row[2]}:
        with pytest.raises(checksum.RowsDiffer):
            prove(mine, server({"t": (MIXED, [(1, None, other, None)])}))


def test_a_separator_inside_a_value_does_not_shift_columns() -> None:
    columns = [("id", "int", "NO"), ("a", "varchar", "NO"), ("b", "varchar", "NO")]
    with pytest.raises(checksum.RowsDiffer):
        prove(server({"t": (columns, [(1, "x','y", "z")])}), server({"t": (columns, [(1, "x", "y','z")])}))


def test_missing_tables_and_other_columns() -> None:
    ours = server({"a": (SBTEST, []), "b": (SBTEST, [])})
    theirs = server({"b": (SBTEST[:3], [])})
    with pytest.raises(
        checksum.RowsDiffer, match=r"a: the target has no such table.*b: columns id, k, c, pad and id, k"
    ):
        prove(ours, theirs)
    with pytest.raises(BadInput, match="no table to compare"):
        prove(server({}), theirs)


def test_tables_are_compared_side_by_side() -> None:
    # Each side's first statement of either table waits for the other table's: one after the other would break it.
    both = Barrier(2)
    kept = server({name: (SBTEST, [(1, 2, "c", "pad")]) for name in ("a", "b")})

    def theirs(sql: str) -> list[Any]:
        if "COLUMNS" in sql:
            both.wait(timeout=60)
        return kept(sql)

    assert prove(kept, theirs) == [TableProof("a", 1, 1), TableProof("b", 1, 1)]


def test_a_type_whose_text_differs_between_servers_is_refused() -> None:
    columns = [("id", "int", "NO"), ("ratio", "double", "NO")]
    execute = server({"t": (columns, [(1, 0.1)])})
    with pytest.raises(BadInput, match=r"db\.t: ratio: a column of type double cannot be compared"):
        prove(execute, execute)
