"""What the memory holds of one campaign: five tables, each with the files that it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from benchbook import paths
from benchbook.analysis import results
from benchbook.campaign.load_window import load_began, window
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.compare import environment_facts
from benchbook.frames import report_frames, trial_frames
from benchbook.frames.schema import (
    RUN_ENVIRONMENTS,
    RUN_HISTOGRAMS,
    RUN_SECONDS,
    RUN_TRIALS,
    RUN_VERDICTS,
    FrameSchema,
)

# Samples that are sorted and written together: some 100 MB of memory.
BATCH_ROWS = 1_000_000
_WORD = pa.dictionary(pa.int32(), pa.string())
SAMPLE = pa.schema(
    [
        ("trial", _WORD),
        ("t", pa.float64()),
        ("since_s", pa.float64()),
        ("host", _WORD),
        ("source", _WORD),
        ("metric", _WORD),
        ("value", pa.float64()),
        ("unit", _WORD),
        ("in_load", pa.bool_()),
    ]
)
BUCKET = pa.schema([("trial", _WORD), ("latency_ms", pa.float64()), ("count", pa.int64())])


@dataclass(frozen=True)
class SomeRows:
    """Some rows of a table, with the columns that are levels and those that are metrics with their units."""

    rows: pa.Table
    levels: Sequence[str] = ()
    units: Mapping[str, str] | None = None


@dataclass(frozen=True)
class KeptTable:
    """A table of the memory. `files` of a campaign and `each` of its trials are what it is made of, by `parts`."""

    name: str
    schema: FrameSchema
    files: tuple[str, ...]
    each: tuple[str, ...]
    parts: Callable[[Campaign], Iterator[SomeRows]]


def _trials(campaign: Campaign) -> Iterator[SomeRows]:
    records = campaign.records()
    frame = trial_frames.trials(records)
    levels = trial_frames.level_names(records)
    metrics = list(frame.columns[list(frame.columns).index("client") + 1 :])
    units = {name: frame.attrs["units"][name] for name in metrics}
    yield SomeRows(_plain(frame), levels, units)


def _verdicts(campaign: Campaign) -> Iterator[SomeRows]:
    """Those of results.json: judging anew takes seconds a campaign, and its page says the same."""
    path = campaign.folder / paths.RESULTS
    found = results.read(path).claims if path.is_file() else []
    yield SomeRows(_plain(report_frames.claims(found)))


def _environments(campaign: Campaign) -> Iterator[SomeRows]:
    facts = sorted(environment_facts.of_campaign(campaign).items())
    rows = [{"fact": name, "place": where, "text": value} for (name, where), value in facts]
    yield SomeRows(_plain(pd.DataFrame(rows, columns=["fact", "place", "text"], dtype=str)))


def _plain(frame: pd.DataFrame) -> pa.Table:
    """As Arrow, with times to the microsecond: DuckDB knows no finer ones with a time zone."""
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    fields = [
        field.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields), safe=False)


def _histograms(campaign: Campaign) -> Iterator[SomeRows]:
    for records in _batches(campaign.records(), lambda record: len(record.histogram)):
        parts = [_buckets(record) for record in records if len(record.histogram)]
        if parts:
            yield SomeRows(pa.concat_tables(parts).unify_dictionaries())


def _buckets(record: Record) -> pa.Table:
    latency, count = zip(*record.histogram, strict=True)
    columns = [_repeated(record.id, len(count)), pa.array(latency, pa.float64()), pa.array(count, pa.int64())]
    return pa.Table.from_arrays(columns, schema=BUCKET)


def _seconds(campaign: Campaign) -> Iterator[SomeRows]:
    """Sorted by metric within a batch: who asks for one of them reads a small part of the file."""
    waiting: list[pa.Table] = []
    for record in campaign.records():
        waiting.append(_samples(campaign, record))
        if sum(table.num_rows for table in waiting) >= BATCH_ROWS:
            yield SomeRows(_by_metric(waiting))
            waiting = []
    if waiting:
        yield SomeRows(_by_metric(waiting))


def _samples(campaign: Campaign, record: Record) -> pa.Table:
    table = campaign.coded_series(record.id)
    if not table.num_rows:
        return SAMPLE.empty_table()
    t = table["t"]
    began, over = window(record)
    in_load = pc.and_(pc.greater_equal(t, began), pc.less_equal(t, over))
    more = {
        "trial": _repeated(record.id, table.num_rows),
        "since_s": pc.subtract(t, load_began(record)),
        "in_load": in_load,
    }
    columns = [more[name] if name in more else table[name].cast(kind) for name, kind in _kinds(SAMPLE)]
    return pa.Table.from_arrays(columns, schema=SAMPLE)


def _kinds(schema: pa.Schema) -> Iterator[tuple[str, pa.DataType]]:
    return zip(schema.names, schema.types, strict=True)


def _by_metric(tables: Sequence[pa.Table]) -> pa.Table:
    whole = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    if not whole.num_rows:
        return whole
    codes = whole["metric"].chunk(0).indices.to_numpy().astype(np.int16)
    return whole.take(pa.array(np.argsort(codes, kind="stable")))


def _repeated(word: str, times: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(times, np.int32)), pa.array([word]))


def _batches(records: Sequence[Record], size: Callable[[Record], int]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    rows = 0
    for record in records:
        batch.append(record)
        rows += size(record)
        if rows >= BATCH_ROWS:
            yield batch
            batch, rows = [], 0
    yield batch


_PLAN, _RECORD = ("plan.json",), ("record.json",)
TABLES = {
    table.name: table
    for table in (
        KeptTable("trials", RUN_TRIALS, _PLAN, _RECORD, _trials),
        KeptTable("seconds", RUN_SECONDS, _PLAN, (*_RECORD, "series.parquet"), _seconds),
        KeptTable("histograms", RUN_HISTOGRAMS, _PLAN, _RECORD, _histograms),
        KeptTable("verdicts", RUN_VERDICTS, (paths.RESULTS,), (), _verdicts),
        KeptTable("environments", RUN_ENVIRONMENTS, (*_PLAN, "environment.json"), (), _environments),
    )
}
