"""Frames of what was sampled during the trials: seconds, latency histograms and percentiles, CPU, disturbances.

Of many series only the rows and columns that are asked for become pandas.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from benchbook.analysis import cpu_use
from benchbook.analysis.schema import CPU, DISTURBANCES, HISTOGRAMS, PERCENTILES, SECONDS, as_level, typed
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.given.named import one_of
from benchbook.stats.latency import percentile

# Ids of trials that somebody asks for: a list, a column of a frame, or one of them; None for all there are.
Chosen = Iterable[str] | None


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
    parts = [_rows(campaign.coded_series(one.id), one, metrics, source, load_only) for one in chosen]
    for column, wanted in (("metric", metrics), ("source", [source] if source else [])):
        if not set(wanted) <= _names(parts, column):
            known = _names((campaign.coded_series(one.id) for one in chosen), column)
            for name in wanted if known else ():
                one_of(name, sorted(known), column)
    levels = level_names(records, planned_levels(campaign))
    return _frame(chosen, pd.DataFrame([cell(record) for record in chosen]), parts, levels)


def _names(tables: Iterable[pa.Table], column: str) -> set[str]:
    return {name for table in tables if table.num_rows for name in pc.unique(table[column]).to_pylist()}


def _rows(table: pa.Table, record: Record, metrics: Collection[str], source: str, load_only: bool) -> pa.Table:
    if not table.num_rows:
        return table
    if metrics:
        table = table.filter(pc.is_in(table["metric"].cast(pa.string()), value_set=pa.array(list(metrics))))
    if source:
        table = table.filter(pc.equal(table["source"].cast(pa.string()), source))
    if load_only:
        t, (began, over) = table["t"], record.load_window
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
    frame["since_s"] = frame.t - np.repeat([record.load_began for record in records], counts)
    return typed(frame, SECONDS, levels=levels)


def histograms(records: Sequence[Record], only: Chosen = None, planned: Sequence[str] = ()) -> pd.DataFrame:
    """A row per bucket; see `schema.HISTOGRAMS`. `only`: ids of trials; no other histogram is read."""
    names, chosen = level_names(records, planned), some(records, only)
    buckets = [np.array(list(record.histogram), dtype=float).reshape(-1, 2) for record in chosen]
    latency, count = np.concatenate([*buckets, np.empty((0, 2))]).T
    about = pd.DataFrame([cell(record) for record in chosen])
    found = repeated(about, [len(one) for one in buckets]).assign(latency_ms=latency, count=count)
    return typed(found, HISTOGRAMS, levels=names)


def percentiles(
    records: Sequence[Record], of: Sequence[float] = (50, 95, 99), only: Chosen = None, planned: Sequence[str] = ()
) -> pd.DataFrame:
    """Return a row per trial and percentile of its histogram, as deep as its requests support; see `PERCENTILES`."""
    rows = [
        {**cell(record), "percentile": float(q), "latency_ms": found.value, "log_se": found.error, "requests": requests}
        for record in some(records, only)
        if len(record.histogram)
        for q in of
        for found in [percentile(record.histogram, float(q))]
        for requests in [sum(count for _, count in record.histogram)]
        if found.value is not None
    ]
    return typed(pd.DataFrame(rows), PERCENTILES, levels=level_names(records, planned))


def disturbances(records: Sequence[Record], planned: Sequence[str] = ()) -> pd.DataFrame:
    """Return a row per reason why a measurement does not count; `records` are the disturbed ones of a campaign."""
    rows = [
        {**cell(record), "trial": trial, "try": int(number), "why": why}
        for record in records
        for trial, _, number in [record.id.rpartition(".")]
        for why in record.disturbed
    ]
    return typed(pd.DataFrame(rows), DISTURBANCES, levels=level_names(records, planned))


def cpu(campaign: Campaign, records: Sequence[Record]) -> pd.DataFrame:
    """Return a row per trial and host; see `schema.CPU`."""
    use = cpu_use.of_campaign(campaign)
    rows = [
        {**cell(record), "host": one.host, "busy_cores": one.busy, "share": one.share, "cores": one.cores}
        for record in records
        for one in use(record)
    ]
    return typed(pd.DataFrame(rows), CPU, levels=level_names(records, planned_levels(campaign)))


def repeated(about: pd.DataFrame, counts: Sequence[int]) -> pd.DataFrame:
    """Each row so many times. A code stands for a word: of millions of rows, text would be most of the memory."""
    which = np.repeat(np.arange(len(about)), counts)
    return pd.DataFrame({name: _compact(about[name]).iloc[which].array for name in about.columns})


def _compact(values: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(values):
        return values
    return values.astype("category").cat.remove_unused_categories()


def level_names(records: Iterable[Record], planned: Iterable[str] = ()) -> list[str]:
    """The levels of all records, in their order of appearance, and those that were planned beside."""
    return list(dict.fromkeys([*(as_level(name) for record in records for name in record.levels), *planned]))


def planned_levels(campaign: Campaign) -> list[str]:
    """The levels of all trials of the plan: whoever looks at a campaign whose trials failed finds its columns."""
    return list(dict.fromkeys(as_level(name) for trial in campaign.trials for name in trial.cell.levels))


def cell(record: Record) -> dict[str, object]:
    """The columns that say which trial it is."""
    return {
        "trial": record.id,
        "table": record.table,
        "system": record.system,
        **{as_level(name): value for name, value in record.levels.items()},
        "repetition": record.repetition,
    }


def some(records: Sequence[Record], only: Chosen) -> list[Record]:
    """The records of these ids, of none where there are none; all for None. Raises BadInput for an id that none has."""
    if only is None:
        return list(records)
    known, wanted = sorted(record.id for record in records), {only} if isinstance(only, str) else set(only)
    for name in wanted:
        one_of(name, known, "trial")
    return [record for record in records if record.id in wanted]
