"""Records: whole or not there, and nothing in them that is not a measurement."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from kit import ASCII_ONLY, ROOT
from pydantic import ValidationError
from records import SUMMARY, record, with_values

from benchbook.campaign import record as records
from benchbook.campaign import store
from benchbook.campaign.design import plan
from benchbook.campaign.environment import Environment
from benchbook.errors import NotWritten
from benchbook.probes.samples import COLUMNS

SERIES = pd.DataFrame([(1000.5, "db1", "host", "cpu.user", 1.5, "cores")], columns=COLUMNS)


def test_a_record_comes_back_as_it_was_saved(tmp_path: Path) -> None:
    folder = records.save(tmp_path, record(), SERIES, "said\n")
    assert sorted(p.name for p in folder.iterdir()) == ["output.txt", "record.json", "series.parquet"]
    assert records.load(folder) == record()
    assert records.RecordFolder(tmp_path).records() == [record()]
    assert records.load_series(folder).equals(SERIES)
    assert (folder / "output.txt").read_text() == "said\n"
    assert json.loads((folder / "record.json").read_text())["version"] == records.VERSION == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, -0.001, "many", None])
def test_what_is_no_measured_value_is_refused(value: Any) -> None:
    with pytest.raises(ValidationError):
        record(summary={**{k: q.model_dump() for k, q in SUMMARY.items()}, "tps": {"value": value, "unit": "1/s"}})


@pytest.mark.parametrize(
    "changes",
    [
        {"summary": {"tps": {"value": 1}}},  # no unit
        {"summary": {"tps": {"value": 1, "unit": ""}}},
        {"summary": {"tps": {"value": 1, "unit": "1/s", "low": 0}}},
        {"summary": {}},
        {"started": 1010.0},  # no duration
        {"started": 0.0},
        {"status": "failed"},  # without a reason
        {"status": "well"},
        {"failure": {"kind": "X", "message": "y"}},  # done, with a reason to have failed
        {"repetition": 0},
        {"version": 4},
        {"status": "disturbed"},  # without a reason
        {"disturbed": ["mariadb was stopped"]},  # done, with a reason not to count
        {"surprise": 1},
    ],
)
def test_a_record_that_contradicts_itself_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        record(**changes)


def test_a_disturbed_record_holds_its_reasons_and_what_was_measured() -> None:
    disturbed = record(status="disturbed", disturbed=["mariadb was stopped"])
    assert (disturbed.summary, disturbed.disturbed) == (SUMMARY, ["mariadb was stopped"])


def test_what_was_not_written_to_its_end_is_no_record(tmp_path: Path) -> None:
    whole = records.save(tmp_path, record("whole"), SERIES, "")
    whole.rename(tmp_path / "killed.partial")
    assert records.RecordFolder(tmp_path).records() == []
    assert records.RecordFolder(tmp_path / "nothing").records() == []


def test_a_record_is_on_the_disk_before_it_has_its_name(tmp_path: Path, flushed: list[str]) -> None:
    """Else a loss of power within half a minute leaves files of 0 bytes under that name."""
    target = records.save(tmp_path / "trials", record(), SERIES, "said\n")
    partial = f"{target}.partial"
    files = [f"{partial}/{name}" for name in ("output.txt", "record.json", "series.parquet")]
    assert flushed == [*files, partial, str(target.parent)]


def test_a_plan_is_on_the_disk_before_it_has_its_name(tmp_path: Path, flushed: list[str]) -> None:
    begun = store.begin_at(tmp_path / "c", "r", {}, plan([], 1, seed=1, asked={}), seed=1)
    begun.note(Environment(load_generator="x"))
    folder = str(begun.folder)
    assert flushed == [f"{folder}/plan.partial", folder, f"{folder}/environment.partial", folder]


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files and folders that were handed to the disk, by the names that they had then."""
    seen: list[str] = []
    fsync = os.fsync

    def noting(handle: int) -> None:
        seen.append(str(Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noting)
    return seen


def test_a_record_is_utf8_whatever_the_locale_is(tmp_path: Path) -> None:
    wanted = record(levels={"workload": "größe", "threads": 8})
    (tmp_path / "wanted.json").write_text(wanted.model_dump_json(), encoding="utf-8")
    program = (
        "import sys, pathlib, pandas as pd\n"
        "from benchbook.campaign import record\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "wanted = record.Record.model_validate_json((folder / 'wanted.json').read_bytes())\n"
        "record.save(folder / 'trials', wanted, pd.DataFrame(), '5 \\u00b5s \\ufffd\\n')\n"
    )
    there = {**os.environ, **ASCII_ONLY, "PYTHONPATH": str(ROOT / "lib")}
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, env=there)
    folder = tmp_path / "trials" / wanted.id
    assert records.load(folder) == wanted
    assert (folder / "output.txt").read_text(encoding="utf-8") == "5 µs �\n"


@pytest.mark.parametrize("fails_at", ["to_parquet", "write_text", "rename"])
def test_a_save_that_breaks_off_leaves_no_record_and_the_next_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(pd.DataFrame if fails_at == "to_parquet" else Path, fails_at, full)
        with pytest.raises(NotWritten, match="No space left"):
            records.save(tmp_path, record(), SERIES, "")
    assert records.RecordFolder(tmp_path).records() == []
    records.save(tmp_path, record(), SERIES, "")
    assert records.RecordFolder(tmp_path).records() == [record()]
    assert [p.name for p in tmp_path.iterdir()] == [record().id]


def test_a_later_record_of_the_same_name_replaces_the_older_one(tmp_path: Path) -> None:
    records.save(tmp_path, record(), SERIES, "old")
    folder = records.save(tmp_path, record(repetition=2), SERIES, "new")
    assert (records.RecordFolder(tmp_path).records()[0].repetition, (folder / "output.txt").read_text()) == (2, "new")


def test_records_come_in_run_order(tmp_path: Path) -> None:
    for order, name in ((2, "a"), (0, "b"), (1, "c")):
        records.save(tmp_path, record(name, order=order), SERIES, "")
    assert [r.id for r in records.RecordFolder(tmp_path).records()] == ["b", "c", "a"]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 4}'])
def test_a_file_that_is_no_record_is_named(tmp_path: Path, content: str) -> None:
    folder = records.save(tmp_path, record(), SERIES, "")
    (folder / "record.json").write_text(content)
    with pytest.raises(records.RecordBroken, match=r"record\.json: not a record of version 1"):
        records.RecordFolder(tmp_path).records()


def test_a_broken_series_is_named(tmp_path: Path) -> None:
    folder = records.save(tmp_path, record(), SERIES, "")
    (folder / "series.parquet").write_bytes(b"PAR1")
    with pytest.raises(records.RecordBroken, match=r"series\.parquet"):
        records.load_series(folder)


def test_a_load_begins_by_its_own_time_and_not_when_its_program_was_started() -> None:
    """Its clients connected for two seconds before: what was sampled then stood left of 0 on every axis of time."""
    timed = record("a", started=100.0, ended=112.0, summary=with_values(total_time_s=10.0))
    assert timed.load_began == 102.0
    assert timed.load_window == (102.0, 113.0)


def test_a_load_that_tells_no_time_begins_with_its_program() -> None:
    untimed = {name: value for name, value in SUMMARY.items() if name != "total_time_s"}
    assert record("a", started=100.0, ended=112.0, summary=untimed).load_window == (100.0, 113.0)
    # What it says may be more than its program took, by the rounding of its own clock.
    longer = record("a", started=100.0, ended=110.0, summary=with_values(total_time_s=10.2))
    assert longer.load_window[0] == 100.0


def test_a_record_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        record().status = "failed"


def test_a_record_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    first, second = record(order=1), record(order=2)
    folder = records.save(tmp_path, first, SERIES, "")
    assert [records.load(folder), records.load(folder)] == [first, first]
    records.save(tmp_path, second, SERIES, "")
    assert records.load(folder) == second
