"""Frames of what was measured: a row per trial, per host of a trial, per bucket of its histogram."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

import numpy as np
import pandas as pd

from benchbook.analysis import cpu_use
from benchbook.analysis.schema import CPU, HISTOGRAMS, TRIALS, as_level, typed
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.given.named import one_of
from benchbook.published.tables import Published

# Ids of trials that somebody asks for: a list, a column of a frame, or one of them; None for all there are.
Chosen = Iterable[str] | None
# A metric that a trial may lack: a percentile is told only where the requests support it (stats.latency).
_PERCENTILE = re.compile(r"(\w+_)?p(\d\d|999|9999)_ms")


def trials(records: Sequence[Record], planned: Sequence[str] = ()) -> pd.DataFrame:
    """A row per trial; see `schema.TRIALS`. A metric named like a level or a fixed column ends in `_measured`.

    `planned`: levels that have a column even where no record has them, as in the functions below.
    """
    names = level_names(records, planned)
    taken = {column.name for column in TRIALS.columns} | set(names)
    units: dict[str, str] = {}
    rows = []
    for record in records:
        row = {**cell(record), "order": record.order, "client": record.client}
        row["started"] = pd.Timestamp(record.started, unit="s", tz="UTC")
        row["duration_s"] = record.ended - record.started
        for metric, quantity in record.summary.items():
            name = f"{metric}_measured" if metric in taken else metric
            row[name] = quantity.value
            units.setdefault(name, quantity.unit)
        rows.append(row)
    return typed(pd.DataFrame(rows), TRIALS, levels=names, units=units)


def with_columns(trials: pd.DataFrame, names: Collection[str], published: Published) -> pd.DataFrame:
    """`trials`, with an empty column for each of these levels and metrics that no trial of the campaign has.

    Their tables were left out, or of a percentile (ms) no load had requests enough. Raises BadInput for any other name
    that neither the frame nor a published table has; of a campaign without a trial nobody knows what its trials would
    have had, and every name is taken.
    """
    tables = published.tables.values()
    units = {name: table.fields[name].unit for table in tables for name in table.metrics}
    units = _percentiles(names, {*trials.columns, *units}) | units
    known = {*trials.columns, *units, *(as_level(name) for table in tables for name in (*table.levels, *table.fixed))}
    known |= set(names) if trials.empty else set()
    missing = {one_of(name, sorted(known), "column"): np.nan for name in names if name not in trials}
    found = trials.assign(**missing)
    found.attrs = {**trials.attrs, "units": trials.attrs["units"] | {n: units[n] for n in missing if n in units}}
    return found


def _percentiles(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Those of `names` that are percentiles, with their unit; what one is of (`new_order_p95_ms`) has other columns."""
    found = {name: match[1] or "" for name in names if (match := _PERCENTILE.fullmatch(name))}
    return {name: "ms" for name, of in found.items() if any(other.startswith(of) for other in known)}


def histograms(records: Sequence[Record], only: Chosen = None, planned: Sequence[str] = ()) -> pd.DataFrame:
    """A row per bucket; see `schema.HISTOGRAMS`. `only`: ids of trials; no other histogram is read."""
    names, chosen = level_names(records, planned), some(records, only)
    buckets = [np.array(list(record.histogram), dtype=float).reshape(-1, 2) for record in chosen]
    latency, count = np.concatenate([*buckets, np.empty((0, 2))]).T
    about = pd.DataFrame([cell(record) for record in chosen])
    found = repeated(about, [len(one) for one in buckets]).assign(latency_ms=latency, count=count)
    return typed(found, HISTOGRAMS, levels=names)


def repeated(about: pd.DataFrame, counts: Sequence[int]) -> pd.DataFrame:
    """Each row so many times. A code stands for a word: of millions of rows, text would be most of the memory."""
    which = np.repeat(np.arange(len(about)), counts)
    return pd.DataFrame({name: _compact(about[name]).iloc[which].array for name in about.columns})


def _compact(values: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(values):
        return values
    return values.astype("category").cat.remove_unused_categories()


def cpu(campaign: Campaign, records: Sequence[Record]) -> pd.DataFrame:
    """A row per trial and host; see `schema.CPU`. Series are read once, and what they say is kept beside them."""
    with cpu_use.of_campaign(campaign) as use:
        rows = [
            {**cell(record), "host": one.host, "busy_cores": one.busy, "share": one.share, "cores": one.cores}
            for record in records
            for one in use(record)
        ]
    return typed(pd.DataFrame(rows), CPU, levels=level_names(records, planned_levels(campaign)))


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
