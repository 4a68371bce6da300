"""The index of a folder of records: never more than what the records say, and none of them opened for nothing."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from records import failed, record

from benchbook.campaign import record as records
from benchbook.campaign import record_index
from benchbook.campaign.record import Record, RecordBroken
from benchbook.campaign.record_facts import RecordFacts
from benchbook.campaign.record_index import RecordIndex, index_of

NAMES = ["r01-x", "r02-x", "r03-x"]


def keep(folder: Path, name: str, *, order: int = 0, hours_ago: float = 1, **changes: object) -> Record:
    """A record that was written so long ago: a file of this moment may still change within the clock's tick."""
    made = record(name, order=order, **changes)
    age(records.save(folder, made, pd.DataFrame(), "") / "record.json", hours_ago)
    return made


def age(file: Path, hours: float = 1) -> None:
    then = time.time_ns() - int(hours * 3600e9)
    os.utime(file, ns=(then, then))


@pytest.fixture
def trials(tmp_path: Path) -> Path:
    """Three records, and their index."""
    folder = tmp_path / "trials"
    for order, name in enumerate(NAMES):
        keep(folder, name, order=order, asked={"time_s": 10, "rate": order > 1})
    assert RecordIndex(folder).records() == records.load_all(folder)
    assert (tmp_path / "trials.sqlite").exists()
    return folder


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The records whose files are read from here on."""
    seen: list[str] = []
    read = Path.read_bytes

    def noted(self: Path) -> bytes:
        if self.name == "record.json":
            seen.append(self.parent.name)
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", noted)
    return seen


def test_no_record_is_opened_where_the_index_fits(trials: Path, opened: list[str]) -> None:
    index = RecordIndex(trials)
    assert index.identities() == dict.fromkeys(NAMES, "0" * 12)
    found = [*index.records(), *index.records()]
    assert [r.id for r in found] == [*NAMES, *NAMES]
    assert [r.asked["rate"] for r in found] == [False, False, True] * 2
    assert [len(r.histogram) for r in found] == [1] * 6
    assert opened == []


def test_a_histogram_is_read_when_it_is_looked_into(trials: Path, opened: list[str]) -> None:
    first = RecordIndex(trials).records()[0]
    assert (list(first.histogram), first.histogram[0], first.histogram[:1]) == ([(1.5, 10)], (1.5, 10), [(1.5, 10)])
    assert set(opened) == {NAMES[0]}
    assert first == record(NAMES[0], asked={"time_s": 10, "rate": False})


def test_a_record_that_was_not_changed_can_be_saved_again(trials: Path, tmp_path: Path) -> None:
    first = RecordIndex(trials).records()[0]
    folder = records.save(tmp_path / "copy", first, pd.DataFrame(), "")
    assert (folder / "record.json").read_bytes() == (trials / NAMES[0] / "record.json").read_bytes()


def _added(trials: Path) -> list[str]:
    keep(trials, "r04-x", order=3)
    return ["r04-x"]


def _copied(trials: Path) -> list[str]:
    shutil.copytree(trials / NAMES[0], trials / "by-hand")
    return ["by-hand"]


def _removed(trials: Path) -> list[str]:
    shutil.rmtree(trials / NAMES[1])
    return []


def _replaced(trials: Path) -> list[str]:
    keep(trials, NAMES[1], order=1, identity="f" * 12)
    return [NAMES[1]]


def _edited(trials: Path) -> list[str]:
    file = trials / NAMES[2] / "record.json"
    file.write_text(file.read_text().replace("0" * 12, "f" * 12))
    age(file, 0.5)
    return [NAMES[2]]


def _swapped(trials: Path) -> list[str]:
    one, other = trials / NAMES[0], trials / NAMES[1]
    one.rename(trials / "away")
    other.rename(one)
    (trials / "away").rename(other)
    return NAMES[:2]


@pytest.mark.parametrize("change", [_added, _copied, _removed, _replaced, _edited, _swapped])
@pytest.mark.parametrize("fresh", [True, False])
def test_only_what_was_changed_by_hand_is_read_anew(
    trials: Path, opened: list[str], change: Callable[[Path], list[str]], fresh: bool
) -> None:
    index = RecordIndex(trials)
    index.records()
    changed = change(trials)
    opened.clear()
    again = RecordIndex(trials) if fresh else index
    found, identities = again.records(), again.identities()
    assert sorted(opened) == sorted(changed)
    assert found == records.load_all(trials)
    assert identities == {r.id: r.identity for r in found}


def test_a_file_of_this_moment_is_read_again_until_it_cannot_change_unseen(trials: Path) -> None:
    keep(trials, "r04-x", order=3, hours_ago=0)
    file = trials / "r04-x" / "record.json"
    index, about = RecordIndex(trials), file.stat()
    assert index.identities()["r04-x"] == "0" * 12
    file.write_text(file.read_text().replace("0" * 12, "f" * 12))
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))  # within the same tick of the clock
    assert index.identities()["r04-x"] == RecordIndex(trials).identities()["r04-x"] == "f" * 12


def _foreign(file: Path) -> None:
    file.unlink()
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE records (something TEXT)")
        db.execute("PRAGMA user_version = 1")
    db.close()


def _nonsense(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("UPDATE records SET body = '{}'")
    db.close()


def _no_conditions(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("DELETE FROM asked")
    db.close()


def _without_a_table(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("DROP TABLE records")
    db.close()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(b"no database, whatever its name says" * 200),
        lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
        lambda file: file.write_bytes(file.read_bytes()[:200] + b"\xff" * (file.stat().st_size - 200)),
        lambda file: file.unlink(),
        _foreign,
        _no_conditions,
        _without_a_table,
    ],
)
def test_an_index_that_is_none_is_made_anew_from_the_records(
    trials: Path, opened: list[str], spoil: Callable[[Path], object]
) -> None:
    spoil(trials.with_name("trials.sqlite"))
    assert RecordIndex(trials).records() == records.load_all(trials)
    opened.clear()
    again = RecordIndex(trials)
    assert [r.id for r in again.records()] == NAMES
    assert opened == []


def test_a_row_that_says_nothing_is_not_believed(trials: Path) -> None:
    _nonsense(trials.with_name("trials.sqlite"))
    assert RecordIndex(trials).records() == records.load_all(trials)


def test_an_index_that_was_being_written_when_its_writer_was_killed_is_the_one_before(
    trials: Path, opened: list[str]
) -> None:
    file = trials.with_name("trials.sqlite")
    script = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN IMMEDIATE")
db.execute("UPDATE records SET fits = 'torn', body = '{}'")
db.executemany("INSERT INTO asked VALUES (?, ?)", ((str(i), "x" * 4000) for i in range(200)))
os.kill(os.getpid(), signal.SIGKILL)
"""
    before = file.stat().st_size
    ended = subprocess.run([sys.executable, "-c", script, str(file)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert file.stat().st_size > before, "half of it had been written"
    assert [r.id for r in RecordIndex(trials).records()] == NAMES
    assert opened == []


def test_an_index_that_cannot_be_kept_costs_time_and_nothing_else(
    trials: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = trials.with_name("trials.sqlite")
    file.unlink()
    file.mkdir()
    index = RecordIndex(trials)
    assert index.records() == records.load_all(trials)
    opened.clear()
    assert [r.id for r in index.records()] == NAMES
    assert opened == [], "this process remembers what it has read"
    file.rmdir()
    # Another process was stopped while it wrote.
    monkeypatch.setattr(record_index, "PATIENCE_S", 0.01)
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    assert RecordIndex(trials).records() == records.load_all(trials)
    holder.close()


def test_two_who_build_it_at_once_both_have_all_records(trials: Path) -> None:
    trials.with_name("trials.sqlite").unlink()
    found: list[list[str]] = []
    both = [threading.Thread(target=lambda: found.append(sorted(RecordIndex(trials).identities()))) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert found == [NAMES, NAMES]
    assert RecordIndex(trials).records() == records.load_all(trials)


def test_a_broken_record_is_named_and_the_others_are_not_read_again(trials: Path, opened: list[str]) -> None:
    keep(trials, "r04-x", order=3)
    (trials / NAMES[0] / "record.json").write_text("{")
    with pytest.raises(RecordBroken, match=rf"{NAMES[0]}/record\.json: not a record"):
        RecordIndex(trials).records()
    opened.clear()
    (trials / NAMES[1] / "record.json").unlink()
    with pytest.raises(RecordBroken, match=r"record\.json: not a record"):
        RecordIndex(trials).identities()
    assert set(opened) == set(NAMES[:2])


def test_partial_records_and_folders_that_are_not_there_are_none(tmp_path: Path) -> None:
    keep(tmp_path / "trials", "r01-x").model_dump()
    (tmp_path / "trials" / "r01-x").rename(tmp_path / "trials" / "r01-x.partial")
    assert RecordIndex(tmp_path / "trials").records() == []
    assert RecordIndex(tmp_path / "nowhere").records() == []
    assert [path.name for path in tmp_path.iterdir()] == ["trials"], "nothing is kept of nothing"


def test_failed_attempts_have_an_index_of_their_own(tmp_path: Path, opened: list[str]) -> None:
    one = failed(histogram=[])
    file = records.save(tmp_path / "failed", one, pd.DataFrame(), "") / "record.json"
    age(file)
    assert RecordIndex(tmp_path / "failed").records() == RecordIndex(tmp_path / "failed").records() == [one]
    assert len(opened) == 1
    assert (tmp_path / "failed.sqlite").exists()


# -- what was computed from records -------------------------------------------------------------------------------


def test_what_was_found_in_a_record_is_found_once(trials: Path) -> None:
    asked: list[str] = []

    def find(record: Record) -> list[float]:
        asked.append(record.id)
        return [record.ended - record.started, 0.1]

    for file in trials.glob("*/series.parquet"):
        age(file)
    every = RecordIndex(trials).records()
    for _ in range(2):
        with RecordFacts(trials, "seconds, 1", find) as seconds:
            assert [seconds(record) for record in every] == [[10.0, 0.1]] * 3
    assert asked == NAMES
    with RecordFacts(trials, "another", lambda record: record.order) as order:
        assert [order(record) for record in every] == [0, 1, 2]
    (trials / NAMES[1] / "series.parquet").write_bytes(b"another")
    _replaced(trials)
    with RecordFacts(trials, "seconds, 1", find) as seconds:
        assert [seconds(record)[0] for record in every] == [10.0] * 3
    assert asked == [*NAMES, NAMES[1]]


def test_what_was_found_before_something_broke_is_kept(trials: Path) -> None:
    for file in trials.glob("*/series.parquet"):
        age(file)
    every = RecordIndex(trials).records()

    def breaks(record: Record) -> int:
        if record.id == NAMES[2]:
            raise RecordBroken("series.parquet: cannot be read")
        return record.order

    with pytest.raises(RecordBroken), RecordFacts(trials, "order", breaks) as order:
        _ = [order(record) for record in every]
    with RecordFacts(trials, "order", lambda record: 10 + record.order) as order:
        assert [order(record) for record in every] == [0, 1, 12]


def test_facts_without_an_index_are_found_each_time(tmp_path: Path) -> None:
    keep(tmp_path / "trials", "r01-x")
    age(tmp_path / "trials" / "r01-x" / "series.parquet")
    index_of(tmp_path / "trials").mkdir()
    for found in (1, 2):
        with RecordFacts(tmp_path / "trials", "x", lambda _, found=found: found) as facts:
            assert facts(record("r01-x")) == found
