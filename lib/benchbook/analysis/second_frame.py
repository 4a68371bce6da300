"""The frame of samples: of many series only the rows and columns that are asked for become pandas."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from benchbook.analysis.schema import SECONDS, typed
from benchbook.analysis.trial_frames import Chosen, cell, level_names, planned_levels, repeated, some
from benchbook.campaign.load_window import load_began, window
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.given.named import one_of


def seconds(
    campaign: Campaign,
    records: Sequence[Record],
    metrics: Collection[str] = (),
    *,
    source: str = "",
    only: Chosen = None,
    load_only: bool = True,
) -> pd.DataFrame:
    """A row per sample; see `schema.SECONDS`. Without `metrics` or `source`, and with None as `only`: of all.

    `load_only`: what was sampled while the load ran. Raises BadInput, naming what there is, for a metric or a source
    that no trial has, and for an unknown trial.
    """
    chosen = some(records, only)
    parts, known = [], _Known()
    for record in chosen:
        table = campaign.coded_series(record.id)
        known.see(table)
        parts.append(_rows(table, record, metrics, source, load_only))
    known.check(metrics, source)
    levels = level_names(records, planned_levels(campaign))
    return _frame(chosen, pd.DataFrame([cell(record) for record in chosen]), parts, levels)


def in_parts(campaign: Campaign, records: Sequence[Record], *, size: int = 100) -> Iterator[pd.DataFrame]:
    """All that was sampled, of `size` trials at a time, each part of the types that the whole would have.

    For who writes down what does not fit into memory.
    """
    levels = level_names(records)
    whole = typed(pd.DataFrame([cell(record) for record in records]), SECONDS, levels=levels)
    about = whole[["trial", "table", "system", *levels, "repetition"]]
    numbers = {name: about[name].dtype for name in levels if pd.api.types.is_numeric_dtype(about[name])}
    for first in range(0, len(records), size):
        now = slice(first, first + size)
        tables = [campaign.coded_series(record.id) for record in records[now]]
        yield _frame(records[now], about.iloc[now], tables, levels).astype(numbers)


class _Known:
    """The metrics and sources that were met, for who asks for another one."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {"metric": set(), "source": set()}

    def see(self, table: pa.Table) -> None:
        for column, names in self._names.items():
            if column in table.column_names:
                names.update(pc.unique(table[column]).to_pylist())

    def check(self, metrics: Collection[str], source: str) -> None:
        for column, wanted in (("metric", metrics), ("source", [source] if source else [])):
            for name in wanted if self._names[column] else ():
                one_of(name, sorted(self._names[column]), column)


def _rows(table: pa.Table, record: Record, metrics: Collection[str], source: str, load_only: bool) -> pa.Table:
    if not table.num_rows:
        return table
    if metrics:
        table = table.filter(pc.is_in(table["metric"].cast(pa.string()), value_set=pa.array(list(metrics))))
    if source:
        table = table.filter(pc.equal(table["source"].cast(pa.string()), source))
    if load_only:
        t, (began, over) = table["t"], window(record)
        table = table.filter(pc.and_(pc.greater_equal(t, began), pc.less_equal(t, over)))
    return table


def _frame(
    records: Sequence[Record], about: pd.DataFrame, parts: Sequence[pa.Table], levels: Sequence[str]
) -> pd.DataFrame:
    """The samples of these records; `about` has a row for each of them, which says which trial it is."""
    sampled = [part for part in parts if part.num_rows]
    if not sampled:
        return typed(pd.DataFrame(), SECONDS, levels=levels)
    frame: pd.DataFrame = pa.concat_tables(sampled).unify_dictionaries().to_pandas()
    counts = [part.num_rows for part in parts]
    frame = pd.concat([frame, repeated(about, counts)], axis=1)
    frame["since_s"] = frame.t - np.repeat([load_began(record) for record in records], counts)
    return typed(frame, SECONDS, levels=levels)
