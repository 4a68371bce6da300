"""What a folder of records holds, without opening them: an index beside the folder, built from its records.

    trials.sqlite, failed.sqlite    a row per record: which file was read for it, and what that said but the histogram

The records stay the only truth. A row counts while its record's file is the one that was read for it (same inode, size
and time of writing); every other record is read again. An index that cannot be kept (no space, a folder that is
read-only, a process that holds it) costs time and nothing else; one that is broken, or of another format, is made anew.

History of the format: 1 = first.
"""

from __future__ import annotations

import gc
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, overload

from pydantic import BaseModel

from benchbook.campaign.design import digest
from benchbook.campaign.environment import Asked
from benchbook.campaign.record import Record, RecordBroken, half_written, in_short, load

FORMAT = 1
# "BB" before it: a file of SQLite that is somebody else's has another number there.
_STAMP = 0x42420000 + FORMAT
# A file that was written a moment ago may be written again within the same tick of the file system's clock (2 s on the
# coarsest, FAT), and look the same: it is read again until it is older than that, as git does ("racy git").
SETTLED_NS = 2_000_000_000
# Another process holds the index for milliseconds, unless it was stopped in the middle: then the records are read.
PATIENCE_S = 2.0

_TABLES = (
    "DROP TABLE IF EXISTS records",
    "DROP TABLE IF EXISTS asked",
    "CREATE TABLE asked (digest TEXT PRIMARY KEY, body TEXT)",
    "CREATE TABLE records"
    " (name TEXT PRIMARY KEY, fits TEXT, id TEXT, identity TEXT, asked TEXT, buckets INTEGER, body TEXT)",
    "DROP TABLE IF EXISTS facts",
    "CREATE TABLE facts (kind TEXT, name TEXT, fits TEXT, body TEXT, PRIMARY KEY (kind, name))",
    f"PRAGMA user_version = {_STAMP}",
)

_FACTS = "SELECT name, fits, body FROM facts WHERE kind = ?"
Found = TypeVar("Found")


@dataclass(eq=False)
class IndexRow:
    """A record as the index keeps it: `body` is its JSON without `asked` (which many share) and histogram.

    `name` is its folder's, `fits` tells the file that it was read from, `buckets` counts those of the histogram.
    """

    name: str
    fits: str
    id: str
    identity: str
    asked: str
    buckets: int
    body: str
    made: Record | None = field(default=None, repr=False)


class RecordIndex:
    """The records of one folder. Every call looks which files are there; only those that are new to it are opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept = RowFile(index_of(folder))
        self._known: dict[str, IndexRow] | None = None
        self._asked: dict[str, Asked] = {}

    def identities(self) -> dict[str, str]:
        """Record's id -> hash of what was asked for. Raises RecordBroken."""
        with uncollected():
            return {row.id: row.identity for row in self._fitting()}

    def records(self) -> list[Record]:
        """The whole records, in their run order; a histogram is read when it is looked into. Raises RecordBroken."""
        with uncollected():
            return sorted(map(self._record, self._fitting()), key=lambda record: (record.order, record.id))

    def _fitting(self) -> list[IndexRow]:
        """A row for every record that is there; what was read for it is kept for the next time."""
        there = fingerprints(self.folder)
        known = self._kept.read() if self._known is None else self._known
        fitting = {name: row for name, row in known.items() if there.get(name) == row.fits}
        fresh, broken = self._read({name: fits for name, fits in there.items() if name not in fitting})
        lasting = [row for row in fresh if settled(row.fits)]
        gone = known.keys() - there.keys()
        if lasting or gone:
            self._kept.write(lasting, gone)
        self._known = {**fitting, **{row.name: row for row in lasting}}
        if broken:
            raise broken[0]
        return [*fitting.values(), *fresh]

    def _read(self, names: Mapping[str, str]) -> tuple[list[IndexRow], list[RecordBroken]]:
        rows: list[IndexRow] = []
        broken: list[RecordBroken] = []
        for name, fits in names.items():
            try:
                rows.append(_row(load(self.folder / name), name, fits))
            except RecordBroken as problem:
                broken.append(problem)
        return rows, broken

    def _record(self, row: IndexRow) -> Record:
        if row.made is None:
            row.made = self._made(row)
        return row.made

    def _made(self, row: IndexRow) -> Record:
        folder = self.folder / row.name
        try:
            known = Record.model_validate_json(row.body)
            if row.asked not in self._asked:
                self._asked[row.asked] = json.loads(row.asked)
        except ValueError:
            # Not what this program writes: the record itself knows better.
            return load(folder)
        shared = {"asked": self._asked[row.asked], "histogram": LazyHistogram(folder, row.buckets)}
        return known.model_copy(update=shared)


class LazyHistogram(Sequence[tuple[float, int]]):
    """A record's histogram [(ms, count)], read from its file each time it is looked into; its length is known before.

    Of thousands of records it is most of what they say, and few who ask for the records ask for it.
    """

    def __init__(self, folder: Path, buckets: int) -> None:
        self._folder, self._buckets = folder, buckets

    def __len__(self) -> int:
        return self._buckets

    @overload
    def __getitem__(self, index: int) -> tuple[float, int]: ...
    @overload
    def __getitem__(self, index: slice) -> list[tuple[float, int]]: ...
    def __getitem__(self, index: int | slice) -> tuple[float, int] | list[tuple[float, int]]:
        return self._read()[index]

    def __iter__(self) -> Iterator[tuple[float, int]]:
        return iter(self._read())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(self._folder)

    def _read(self) -> list[tuple[float, int]]:
        if not self._buckets:
            return []
        path = self._folder / "record.json"
        try:
            return _Buckets.model_validate_json(path.read_bytes()).histogram
        except (OSError, ValueError) as problem:
            raise RecordBroken(f"its histogram cannot be read: {in_short(problem)}", file=path) from problem


class _Buckets(BaseModel):
    histogram: list[tuple[float, int]]


@contextmanager
def uncollected() -> Iterator[None]:
    """Many objects are made and none is dropped: looking for circles among them takes longer than making them."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _row(record: Record, name: str, fits: str) -> IndexRow:
    body = record.model_copy(update={"asked": {}, "histogram": []}).model_dump_json()
    asked = json.dumps(record.asked)
    return IndexRow(name, fits, record.id, record.identity, asked, len(record.histogram), body)


def index_of(folder: Path) -> Path:
    """The file of a folder's index."""
    return folder.with_name(f"{folder.name}.sqlite")


def fingerprints(folder: Path, files: Sequence[str] = ("record.json",)) -> dict[str, str]:
    """Record's name -> what tells these files of it from any others; of 10,000 records it takes some 50 ms."""
    try:
        at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return {}
    try:
        with os.scandir(at) as entries:
            names = [one.name for one in entries if one.is_dir() and not half_written(one.name)]
        return {name: " ".join(_fingerprint(f"{name}/{file}", at) for file in files) for name in names}
    finally:
        os.close(at)


def fingerprint(folder: Path, files: Sequence[str]) -> str:
    """The same of files in one folder; nothing stands for one that is not there."""
    return " ".join(_fingerprint(str(folder / file)) for file in files)


def _fingerprint(path: str, folder: int | None = None) -> str:
    try:
        about = os.stat(path, dir_fd=folder)
    except OSError:
        # No file, no record: reading it says so, with its path.
        return ""
    return f"{about.st_ino} {about.st_size} {about.st_mtime_ns}"


def settled(fits: str) -> bool:
    """Whether the files of a fingerprint are so old that they cannot change and look the same."""
    return all(time.time_ns() - int(written) > SETTLED_NS for written in fits.split()[2::3])


class RowFile:
    """Rows and facts in a file of SQLite, which a reader finds whole whenever a writer was killed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, IndexRow]:
        """The rows by name; none where there is no index that can be read."""
        return self._reading(_rows)

    def facts(self, kind: str) -> dict[str, tuple[str, str]]:
        """Record's name -> the fingerprint of its files and what was found in them, of one kind."""
        return self._reading(lambda db: {name: (fits, body) for name, fits, body in db.execute(_FACTS, (kind,))})

    def write(self, rows: Sequence[IndexRow], gone: set[str]) -> None:
        """Put these rows in the place of those of the same names, and drop the `gone`; in one step."""
        self._writing(lambda db: _replace(db, rows, gone))

    def keep_facts(self, kind: str, found: Mapping[str, tuple[str, str]]) -> None:
        """Put these facts in the place of those of the same names and kind; in one step."""
        values = [(kind, name, fits, body) for name, (fits, body) in found.items()]
        self._writing(lambda db: db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?)", values))

    def _reading(self, read: Callable[[sqlite3.Connection], dict[str, Found]]) -> dict[str, Found]:
        if not self._path.exists():
            return {}
        try:
            with self._opened() as db:
                return read(db) if _is_ours(db) else {}
        except (sqlite3.DatabaseError, KeyError) as problem:
            self._unusable(problem)
            return {}

    def _writing(self, write: Callable[[sqlite3.Connection], object]) -> None:
        try:
            with self._opened() as db:
                db.execute("BEGIN IMMEDIATE")
                for statement in () if _is_ours(db) else _TABLES:
                    db.execute(statement)
                write(db)
                db.execute("COMMIT")
        except sqlite3.DatabaseError as problem:
            self._unusable(problem)

    def _unusable(self, problem: Exception) -> None:
        """Held by another process, read-only, no space: the records are read, and nothing is kept of them.

        What is no index, or a broken one, is removed as well: the next one who writes makes it anew.
        """
        if isinstance(problem, sqlite3.OperationalError) and "no such" not in str(problem):
            return
        # Its journal goes first: SQLite would apply it to the next file of this name.
        with suppress(OSError):
            for path in (self._path.with_name(f"{self._path.name}-journal"), self._path):
                path.unlink(missing_ok=True)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        db = sqlite3.connect(self._path, timeout=PATIENCE_S, isolation_level=None)
        try:
            yield db
        finally:
            db.close()


def _rows(db: sqlite3.Connection) -> dict[str, IndexRow]:
    asked = dict(db.execute("SELECT digest, body FROM asked"))
    rows = db.execute("SELECT name, fits, id, identity, asked, buckets, body FROM records")
    return {
        name: IndexRow(name, fits, id, identity, asked[key], buckets, body)
        for name, fits, id, identity, key, buckets, body in rows
    }


def _replace(db: sqlite3.Connection, rows: Sequence[IndexRow], gone: set[str]) -> None:
    asked = {text: digest(text) for text in {row.asked for row in rows}}
    db.executemany("INSERT OR IGNORE INTO asked VALUES (?, ?)", [(key, text) for text, key in asked.items()])
    values = [(r.name, r.fits, r.id, r.identity, asked[r.asked], r.buckets, r.body) for r in rows]
    db.executemany("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    for table in ("records", "facts"):
        db.executemany(f"DELETE FROM {table} WHERE name = ?", [(name,) for name in gone])


def _is_ours(db: sqlite3.Connection) -> bool:
    return bool(db.execute("PRAGMA user_version").fetchone()[0] == _STAMP)
