"""Frames of what was sampled during the trials: seconds, latency histograms and percentiles, CPU, disturbances."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

import numpy as np
import pandas as pd

from benchbook import plugins
from benchbook.analysis import cpu_use
from benchbook.analysis.schema import CPU, DISTURBANCES, HISTOGRAMS, PERCENTILES, SECONDS, as_level, typed
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.stats.latency import percentile
from benchbook.user_input.choices import one_of

# Ids of trials that somebody asks for: a list, a column of a frame, or one of them; None for all there are.
Chosen = Iterable[str] | None


def seconds(
    campaign: Campaign,
    metrics: Collection[str] = (),
    *,
    source: str = "",
    only: Chosen = None,
    load_only: bool = True,
) -> pd.DataFrame:
    """Return a row per sample; see `schema.SECONDS`. Without `metrics` or `source`, and with None as `only`: of all.

    `load_only`: what was sampled while the load ran. Empty for a load generator (`source`) that printed no rate. Raise
    BadInput, naming what there is, for a metric or another source that no trial has, and for an unknown trial.
    """
    records = campaign.records()
    chosen = some(records, only)
    parts = [_rows(campaign.series(one.id), one, metrics, source, load_only) for one in chosen]
    for column, wanted in (("metric", metrics), ("source", [source] if source else [])):
        if not set(wanted) <= _names(parts, column):
            tables = [campaign.series(one.id) for one in chosen]
            generators = {*plugins.names("workloads")}
            # A load may end before its generator has printed a rate.
            if source in generators and generators.isdisjoint(_names(tables, "source")):
                break
            known = _names(tables, column)
            for name in wanted if known else ():
                one_of(name, sorted(known), column)
    levels = level_names(campaign)
    return _frame(chosen, pd.DataFrame([cell(record) for record in chosen]), parts, levels)


def _names(tables: Iterable[pd.DataFrame], column: str) -> set[str]:
    return {name for table in tables if len(table) for name in table[column].unique()}


def _rows(table: pd.DataFrame, record: Record, metrics: Collection[str], source: str, load_only: bool) -> pd.DataFrame:
    if table.empty:
        return table
    if metrics:
        table = table[table.metric.isin([*metrics])]
    if source:
        table = table[table.source == source]
    return table[table.t.between(*record.load_window)] if load_only else table


def _frame(
    records: Sequence[Record], about: pd.DataFrame, parts: Sequence[pd.DataFrame], levels: Sequence[str]
) -> pd.DataFrame:
    """Return the samples of these records; `about` has a row for each of them, which says which trial it is."""
    sampled = [part for part in parts if len(part)]
    if not sampled:
        return typed(pd.DataFrame(), SECONDS, levels=levels)
    counts = [len(part) for part in parts]
    frame = pd.concat([pd.concat(sampled, ignore_index=True), repeated(about, counts)], axis=1)
    frame["since_s"] = frame.t - np.repeat([record.load_began for record in records], counts)
    return typed(frame, SECONDS, levels=levels)


def histograms(campaign: Campaign, only: Chosen = None) -> pd.DataFrame:
    """Return a row per bucket; see `schema.HISTOGRAMS`. `only`: ids of trials; no other histogram is read."""
    chosen = some(campaign.records(), only)
    buckets = [np.array(list(record.histogram), dtype=float).reshape(-1, 2) for record in chosen]
    latency, count = np.concatenate([*buckets, np.empty((0, 2))]).T
    about = pd.DataFrame([cell(record) for record in chosen])
    found = repeated(about, [len(one) for one in buckets]).assign(latency_ms=latency, count=count)
    return typed(found, HISTOGRAMS, levels=level_names(campaign))


def percentiles(campaign: Campaign, of: Sequence[float] = (50, 95, 99), only: Chosen = None) -> pd.DataFrame:
    """Return a row per trial and percentile of its histogram, as deep as its requests support; see `PERCENTILES`."""
    rows = [
        {**cell(record), "percentile": float(q), "latency_ms": found, "requests": requests}
        for record in some(campaign.records(), only)
        if len(record.histogram)
        for q in of
        for found in [percentile(record.histogram, float(q))]
        for requests in [sum(count for _, count in record.histogram)]
        if found is not None
    ]
    return typed(pd.DataFrame(rows), PERCENTILES, levels=level_names(campaign))


def disturbances(campaign: Campaign) -> pd.DataFrame:
    """Return a row per reason why a measurement does not count."""
    rows = [
        {**cell(record), "trial": trial, "try": int(number), "why": why}
        for record in campaign.disturbed()
        for trial, _, number in [record.id.rpartition(".")]
        for why in record.disturbed
    ]
    return typed(pd.DataFrame(rows), DISTURBANCES, levels=level_names(campaign))


def cpu(campaign: Campaign) -> pd.DataFrame:
    """Return a row per trial and host; see `schema.CPU`."""
    use = cpu_use.of_campaign(campaign)
    rows = [
        {**cell(record), "host": one.host, "busy_cores": one.busy, "share": one.share, "cores": one.cores}
        for record in campaign.records()
        for one in use(record)
    ]
    return typed(pd.DataFrame(rows), CPU, levels=level_names(campaign))


def repeated(about: pd.DataFrame, counts: Sequence[int]) -> pd.DataFrame:
    """Each row so many times. A code stands for a word: of millions of rows, text would be most of the memory."""
    which = np.repeat(np.arange(len(about)), counts)
    return pd.DataFrame({name: _compact(about[name]).iloc[which].array for name in about.columns})


def _compact(values: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(values):
        return values
    return values.astype("category").cat.remove_unused_categories()


def level_names(campaign: Campaign) -> list[str]:
    """Return the levels of all trials that were measured, then those that were planned besides.

    Whoever looks at a campaign whose trials failed finds its columns.
    """
    measured = [record.levels for record in (*campaign.records(), *campaign.disturbed())]
    planned = [trial.cell.levels for trial in campaign.trials]
    return list(dict.fromkeys(as_level(name) for levels in (*measured, *planned) for name in levels))


def cell(record: Record) -> dict[str, object]:
    """Return the columns that say which trial it is."""
    return {
        "trial": record.id,
        "table": record.table,
        "system": record.system,
        **{as_level(name): value for name, value in record.levels.items()},
        "repetition": record.repetition,
    }


def some(records: Sequence[Record], only: Chosen) -> list[Record]:
    """The records of these ids, of none where there are none; all for None. Raise BadInput for an id that none has."""
    if only is None:
        return list(records)
    known, wanted = sorted(record.id for record in records), {only} if isinstance(only, str) else set(only)
    for name in wanted:
        one_of(name, known, "trial")
    return [record for record in records if record.id in wanted]


Item = TypeVar("Item")


def evenly(items: Sequence[Item], most: int) -> list[Item]:
    """Return at most so many of the items, in their order: the first, the last, and those evenly between."""
    if len(items) <= most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]
