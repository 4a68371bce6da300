"""A frame on disk, written part by part: Parquet for who computes, CSV for who looks; each appears when it is whole."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

_WORDS = pa.dictionary(pa.int32(), pa.string())


def write(parts: Iterator[pd.DataFrame], path: Path, most_csv_rows: int) -> list[str]:
    """Write `<path>.parquet`, and `<path>.csv` for at most so many rows; returns the names of what was written.

    All parts have the same columns and types. Units stand in the `attrs` that pandas reads from Parquet.
    """
    first = next(parts)
    coded = _schema(first)
    plain = pa.schema([pa.field(f.name, pa.string() if f.type == _WORDS else f.type) for f in coded])
    parquet, csv, rows = path.with_suffix(".parquet"), path.with_suffix(".csv"), 0
    with ExitStack() as stack:
        partial = [stack.enter_context(_partial(file)) for file in (parquet, csv)]
        with (
            pq.ParquetWriter(partial[0], coded, compression="zstd") as computed,
            pacsv.CSVWriter(partial[1], plain) as seen,
        ):
            for part in chain([first], parts):
                table = pa.Table.from_pandas(part, schema=coded, preserve_index=False)
                computed.write_table(table)
                rows += len(part)
                if rows <= most_csv_rows:
                    seen.write_table(table.cast(plain))
        written = [parquet, *([csv] if rows <= most_csv_rows else [])]
        for source, target in zip(partial, written, strict=False):
            source.replace(target)
    return [file.name for file in written]


def _schema(frame: pd.DataFrame) -> pa.Schema:
    """Of words only the codes are kept, 32 bits wide whatever the first part needs."""
    found = pa.Schema.from_pandas(frame, preserve_index=False)
    kinds = [pa.field(f.name, _WORDS if pa.types.is_dictionary(f.type) else f.type) for f in found]
    # Where pandas itself writes and reads them.
    return pa.schema(kinds, metadata={"PANDAS_ATTRS": json.dumps(frame.attrs)})


@contextmanager
def _partial(path: Path) -> Iterator[Path]:
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
    finally:
        partial.unlink(missing_ok=True)
