"""The files of the memory: one per table and campaign, made of its records, and made anew where these have changed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchbook import paths
from benchbook.campaign.design import digest
from benchbook.campaign.record_index import fingerprint, fingerprints, settled
from benchbook.campaign.store import Campaign, leave_out, readable, recorded
from benchbook.errors import BadInput, NotWritten, writing
from benchbook.memory.kept_table import KeptTable, SomeRows

# History of the format: 1 = first; 2 = environments without what a MySQL has committed; 3 = samples from when the load
# began, by its own time, count as of the load.
FORMAT = 3
_ABOUT = b"benchbook"
# What one metric's samples of some hundred trials need: who asks for one reads few of these groups.
_GROUP_ROWS = 64_000
# Folder of the memory -> what stands for it in this process, where its disk takes nothing; gone when the process ends.
_ASIDE: dict[Path, TemporaryDirectory[str]] = {}


@dataclass(frozen=True)
class Partition:
    """A file of a table; `levels` and `units` (of metrics) name its columns beyond the fixed ones."""

    path: Path
    fits: str
    levels: tuple[str, ...] = ()
    units: dict[str, str] = field(default_factory=dict)
    rows: int = 0


def partitions(table: KeptTable, report: str = "*") -> list[Partition]:
    """Those of every recorded campaign of a report, or of all; each fits the records that are there.

    A campaign that cannot be read is named on the standard error and left out. Where the disk of the records takes
    nothing (full, read-only), the files are made in a temporary folder, for this process alone. Raises NotWritten.
    """
    folders = recorded(report)
    found = [one for folder in folders if (one := _fitting(table, folder)) is not None]
    _forget(table, report, {_where(table, folder) for folder in folders})
    return found


def _where(table: KeptTable, folder: Path) -> Path:
    home = paths.memory_dir() / table.name / f"report={folder.parent.name}"
    return home / f"campaign={folder.name}" / "part.parquet"


def _fitting(table: KeptTable, folder: Path) -> Partition | None:
    path, fits = _where(table, folder), _fits(table, folder)
    for known in filter(None, map(_read, (path, *_aside(path)))):
        if fits and known.fits == fits:
            return known
    try:
        return next((_kept(table, one, path, fits) for one in readable([folder])), None)
    except BadInput as problem:
        leave_out(str(problem))
        return None


def _fits(table: KeptTable, folder: Path) -> str:
    """What tells these files from any others; "" while one is so new that it may change and look the same."""
    own = fingerprint(folder, table.files)
    each = fingerprints(folder / "trials", table.each) if table.each else {}
    if not (settled(own) and all(map(settled, each.values()))):
        return ""
    return digest([FORMAT, table.name, own, sorted(each.items())])


def _read(path: Path) -> Partition | None:
    """A file of ours; None for one that is not there or is somebody else's."""
    try:
        about = pq.read_metadata(path)
        said = json.loads((about.metadata or {})[_ABOUT])
        return Partition(path, said["fits"], tuple(said["levels"]), said["units"], about.num_rows)
    except (OSError, KeyError, ValueError):
        return None


def _kept(table: KeptTable, campaign: Campaign, path: Path, fits: str) -> Partition:
    try:
        return _write(table, campaign, path, fits)
    except NotWritten:
        # The records can be read all the same, and only these files have no place.
        home = paths.memory_dir()
        if home not in _ASIDE:
            _ASIDE[home] = TemporaryDirectory(prefix="benchbook-memory-")
        (aside,) = _aside(path)
        return _write(table, campaign, aside, fits)


def _aside(path: Path) -> list[Path]:
    """Where a file is that the disk of the records did not take; nowhere as long as it takes all."""
    home = paths.memory_dir()
    return [Path(_ASIDE[home].name) / path.relative_to(home)] if home in _ASIDE else []


def _write(table: KeptTable, campaign: Campaign, path: Path, fits: str) -> Partition:
    """Whole or not at all: another process may read it meanwhile, or write the same."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            made = _fill(partial, table.parts(campaign), fits)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)
    return Partition(path, fits, made.levels, made.units, made.rows)


def _fill(partial: Path, parts: Iterator[SomeRows], fits: str) -> Partition:
    rows, writer, about = 0, None, Partition(partial, fits)
    try:
        for part in parts:
            if writer is None:
                about = Partition(partial, fits, tuple(part.levels), dict(part.units or {}))
                writer = pq.ParquetWriter(partial, _named(part.rows.schema, about), compression="zstd")
            writer.write_table(part.rows.replace_schema_metadata(None), row_group_size=_GROUP_ROWS)
            rows += part.rows.num_rows
        if writer is None:
            writer = pq.ParquetWriter(partial, _named(pa.schema([]), about))
    finally:
        if writer is not None:
            writer.close()
    return Partition(partial, fits, about.levels, about.units, rows)


def _named(schema: pa.Schema, about: Partition) -> pa.Schema:
    said: dict[str, Any] = {"fits": about.fits, "levels": list(about.levels), "units": about.units}
    return schema.with_metadata({_ABOUT: json.dumps(said).encode()})


def _forget(table: KeptTable, report: str, there: set[Path]) -> None:
    """Drop what is kept of campaigns that are gone."""
    for path in (paths.memory_dir() / table.name).glob(f"report={report}/campaign=*/part.parquet"):
        if path not in there:
            with suppress(OSError):
                shutil.rmtree(path.parent)
