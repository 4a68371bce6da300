"""The immutable record of a trial, and its file format.

    trials/<trial>/record.json      everything but the series
    trials/<trial>/series.parquet   long table: t (s since the epoch, host's clock), host, source, metric, value, unit
    trials/<trial>/output.txt       what the load generator printed

A record is written into `<trial>.partial` and renamed when it is whole: it is either there and complete, or not there.
"""

from __future__ import annotations

import errno
import math
import os
import shutil
from pathlib import Path
from typing import Final, Literal

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from benchbook.campaign.environment import IMPORTED, Asked
from benchbook.errors import BadInput, NotWritten, writing
from benchbook.hosts.host_models import Json

VERSION: Final = 1
# How the name of a folder ends that is not whole yet.
PARTIAL: Final = ".partial"
# A record ends later than it begins. If the log of an imported run does not say how long the run took, its record
# ends so much later, and `lasted_s` is NaN: the shortest time that a load generator prints is ten times as long.
NOT_TOLD_S: Final = 1e-5
# A measurement that counts, an attempt that left none, one that was interfered with and does not count.
Status = Literal["done", "failed", "disturbed"]


# What file systems say that flush no folders.
_NO_FLUSH = (errno.EBADF, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
# What becomes of a record that is gone: the next run makes it.
_MEND = "bring the file back from a copy, or remove the trial's folder and run the report again: it is measured anew"


class RecordBroken(BadInput):
    """A file of a record is missing or does not hold what its version says."""


def in_short(problem: Exception) -> str:
    """Return what a file was refused for, in a clause: of a model, the first key that is wrong."""
    if not isinstance(problem, ValidationError):
        return str(problem)
    first = problem.errors()[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Quantity(_Frozen):
    """A finite number >= 0 with its unit."""

    value: float
    unit: str = Field(min_length=1)

    @field_validator("value")
    @classmethod
    def _finite(cls, value: float) -> float:
        if not math.isfinite(value) or value < 0:
            raise ValueError(f"a measured value must be finite and not negative: {value}")
        return value


class Failure(_Frozen):
    """Why a trial failed: the kind of error, its message, and the last lines of what was printed."""

    kind: str
    message: str
    tail: list[str] = []


class Record(_Frozen):
    """What a trial left. `identity` is the hash of what was asked for; times: host's clock, s since the epoch.

    `disturbed` says in sentences what interfered with a measurement that therefore does not count.
    """

    version: Literal[1] = VERSION
    id: str
    identity: str
    status: Status
    report: str
    campaign: str
    table: str
    system: str
    levels: dict[str, str | int | float]
    repetition: int = Field(ge=1)
    order: int = Field(ge=0)
    asked: Asked
    command: str = ""
    client: str = ""
    started: float = 0.0
    ended: float = 0.0
    exit_status: int | None = None
    summary: dict[str, Quantity] = {}
    histogram: list[tuple[float, int]] = []
    proof: Json = {}
    failure: Failure | None = None
    disturbed: list[str] = []

    def __repr__(self) -> str:
        first = ", ".join(f"{name} {q.value:g} {q.unit}" for name, q in list(self.summary.items())[:4])
        return f"<Record {self.id}, {self.status}: {first or self.failure}>"

    __str__ = __repr__

    @property
    def lasted_s(self) -> float:
        """How long it took; NaN for an imported run whose log does not say so."""
        lasted = self.ended - self.started
        return math.nan if IMPORTED in self.proof and lasted < 2 * NOT_TOLD_S else lasted

    @property
    def load_began(self) -> float:
        """When the load began, in seconds since the epoch: a generator's own time is the better one."""
        own = self.summary.get("total_time_s")
        return self.load_ended - own.value if own else self.started

    @property
    def load_ended(self) -> float:
        """When it ended: a transfer's program that has copied all may go on for a while, DDT's for two minutes."""
        idle = self.summary.get("idle_s")
        return self.ended - (idle.value if idle else 0.0)

    @property
    def load_window(self) -> tuple[float, float]:
        """From when to when samples belong to the load: a sample stands at the end of its second."""
        return max(self.started, self.load_began), self.ended + 1

    @model_validator(mode="after")
    def _whole(self) -> Record:
        if (self.failure is None) == (self.status == "failed"):
            raise ValueError("a failed record says why, and any other has nothing to say")
        if bool(self.disturbed) != (self.status == "disturbed"):
            raise ValueError("a disturbed record says by what, and any other has nothing to say")
        if self.status != "failed" and not (self.summary and self.ended > self.started > 0):
            raise ValueError(f"a {self.status} record has a summary and a duration")
        return self


def save(folder: Path, record: Record, series: pd.DataFrame, output: str, *, lasting: bool = True) -> Path:
    """Write a record to `folder/<id>`, whole or not at all; an older one of the same name is replaced.

    `lasting`: it is on the disk before it has its name, so that a loss of power leaves it whole, too. Raise
    NotWritten; what was recorded before stays as it is.
    """
    target, partial = folder / record.id, folder / f"{record.id}{PARTIAL}"
    try:
        with writing(f"the record of {record.id}"):
            _write_parts(partial, record, series, output)
            if lasting:
                for path in (*sorted(partial.iterdir()), partial):
                    flush(path)
            if target.exists():
                shutil.rmtree(target)
            partial.rename(target)
            if lasting:
                flush(folder)
    except NotWritten:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return target


def flush(path: Path) -> None:
    """Have the disk take what stands in a file, or the names in a folder. Raise OSError where it does not.

    On ext4 and XFS a file that was written, closed and renamed may be there with 0 bytes after the power was lost: data
    are written back within 30 s, names within 5 s. See fsync(2), and for folders "Calling fsync() does not necessarily
    ensure that the entry in the directory containing the file has also reached disk" there.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as problem:
        if not (path.is_dir() and problem.errno in _NO_FLUSH):
            raise
    finally:
        os.close(handle)


def _write_parts(partial: Path, record: Record, series: pd.DataFrame, output: str) -> None:
    if partial.exists():
        shutil.rmtree(partial)
    partial.mkdir(parents=True)
    series.to_parquet(partial / "series.parquet", index=False)
    # Not as the locale has it: records go to other machines, and a load generator prints what it likes.
    (partial / "output.txt").write_text(output, encoding="utf-8")
    (partial / "record.json").write_text(record.model_dump_json(indent=1), encoding="utf-8")


def load(folder: Path) -> Record:
    """Return the record in a trial's folder. Raise RecordBroken."""
    path = folder / "record.json"
    try:
        return Record.model_validate_json(path.read_bytes())
    except (OSError, ValueError) as problem:
        said = f"not a record of version {VERSION}: {in_short(problem)}"
        raise RecordBroken(said, file=path, fix=_MEND) from problem


def load_series(folder: Path) -> pd.DataFrame:
    """Return the series of a trial as the long table; of a failed attempt it has no column. Raise RecordBroken."""
    try:
        return pd.read_parquet(folder / "series.parquet")
    except (OSError, ValueError) as problem:
        said = f"cannot be read: {in_short(problem)}".rstrip(".")
        raise RecordBroken(said, file=folder / "series.parquet", fix=_MEND) from problem


def half_written(name: str) -> bool:
    """Return whether a folder of this name is no record yet: a killed run leaves it."""
    return name.endswith(PARTIAL)


class RecordFolder:
    """The whole records of a folder: each file is read once, and again when it has changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[Path, tuple[tuple[int, ...], Record]] = {}

    def records(self) -> list[Record]:
        """Return those that are there now, in their run order. Raise RecordBroken."""
        there = self.folder.glob("*/") if self.folder.exists() else ()
        before, self._read = self._read, {}
        for path in (path for path in there if not half_written(path.name)):
            now = file_version(path / "record.json")
            known = before.get(path)
            self._read[path] = known if known is not None and known[0] == now else (now, load(path))
        return sorted((one for _, one in self._read.values()), key=lambda record: (record.order, record.id))


def file_version(path: Path) -> tuple[int, ...]:
    """Return what tells a file from one that replaces it; () where there is none."""
    try:
        about = path.stat()
    except OSError:
        return ()
    return about.st_ino, about.st_size, about.st_mtime_ns
