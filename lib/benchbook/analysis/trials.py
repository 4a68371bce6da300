"""A campaign as tidy frames: a row per trial, a row per figure, a row per cell; everything else is made from these.

    trials = trials_of(campaign)                  # a row per trial, a column per level and metric
    figures = figures_of(trials)                  # a row per trial and metric, at the published levels
    cells(figures)                                # a row per cell and metric: mean, 95% interval, n

`benchbook.tables()` lists every column; `frame.attrs["units"]` has the units.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from benchbook.analysis import cpu_use
from benchbook.analysis.samples import cell
from benchbook.analysis.schema import CELLS, FIGURES, TRIALS, as_level, typed
from benchbook.campaign.record import Record
from benchbook.campaign.scaled_levels import LevelScaling, published_levels
from benchbook.campaign.store import Campaign
from benchbook.stats.estimates import Interval, mean_interval

FILE = "trials.parquet"
# Suffixes: of a level, for the published one that it stands for; of a metric, where another column has its name.
PUBLISHED, MEASURED = "_published", "_measured"


def trials_of(campaign: Campaign, *, disturbed: bool = False) -> pd.DataFrame:
    """Return a row per trial of the campaign, in run order; see `schema.TRIALS`.

    disturbed : also the measurements that something interfered with, which do not count.

    The frame is kept in the campaign's folder as trials.parquet, and made anew where a record is newer. Of 10,000
    trials it takes half a minute to make and a second to read. Raise RecordBroken.
    """
    path, newest = campaign.folder / FILE, _newest(campaign.folder)
    found = _kept(path, newest)
    # A folder that was renamed is another campaign.
    if found is None or found.attrs.get("campaign") != campaign.id:
        found = _made(campaign)
        _keep(found, path, newest)
    if disturbed:
        return found
    counting = found[~found.disturbed].reset_index(drop=True)
    counting.attrs = found.attrs
    return counting


def _newest(folder: Path) -> int:
    """Return when anything was last recorded, in ns: a record that comes, goes or is replaced changes its folder."""
    seen = [folder / "plan.json"]
    for name in ("trials", "disturbed"):
        seen += [folder / name, *(folder / name).glob("*/record.json"), *(folder / name).glob("*/series.parquet")]
    return max((path.stat().st_mtime_ns for path in seen if path.exists()), default=0)


def _kept(path: Path, newest: int) -> pd.DataFrame | None:
    with suppress(OSError, ValueError):
        if path.stat().st_mtime_ns == newest:
            return pd.read_parquet(path)
    return None


def _keep(frame: pd.DataFrame, path: Path, newest: int) -> None:
    """Write the frame, whole or not at all; its time is that of the newest record that it holds.

    A disk that takes nothing (full, read-only) costs time at the next look, and no more.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        with suppress(OSError):
            frame.to_parquet(partial, index=False)
            os.utime(partial, ns=(newest, newest))
            partial.replace(path)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _made(campaign: Campaign) -> pd.DataFrame:
    every = [*campaign.records(), *campaign.disturbed()]
    planned = [name for trial in campaign.trials for name in trial.cell.levels]
    found = of_records(every, campaign.scaling, planned=planned, cpu=lambda record: _cpu(campaign, record))
    # Records that were copied from elsewhere name another campaign.
    for name, value in (("report", campaign.report), ("campaign", campaign.id)):
        found[name], found.attrs[name] = pd.Categorical([value] * len(found)), value
    return found


def of_records(
    records: Sequence[Record],
    scaling: LevelScaling | None = None,
    *,
    planned: Sequence[str] = (),
    cpu: Callable[[Record], Mapping[str, float]] = lambda record: {},
) -> pd.DataFrame:
    """Return a row per record, in their order; see `schema.TRIALS`. No series is read but by `cpu`.

    planned : levels that have a column even where no record has them.
    """
    levels = list(dict.fromkeys([*(name for record in records for name in record.levels), *planned]))
    stands = {
        n: as_level(n) + PUBLISHED for n in levels if all(isinstance(r.levels.get(n, 0), int | float) for r in records)
    }
    names = [column for name in levels for column in (as_level(name), stands.get(name)) if column]
    taken = _taken(names)
    units: dict[str, str] = {}
    rows = []
    for record in records:
        published = published_levels(record.table, record.levels, scaling)
        row = {
            "report": record.report,
            "campaign": record.campaign,
            **cell(record),
            **{stands[name]: value for name, value in published.items() if name in stands},
            "order": record.order,
            "started": pd.Timestamp(record.started, unit="s", tz="UTC"),
            "duration_s": record.lasted_s,
            "client": record.client,
            "disturbed": record.status == "disturbed",
            "why": "; ".join(record.disturbed),
            **cpu(record),
        }
        for metric, quantity in record.summary.items():
            name = metric + MEASURED if metric in taken else metric
            row[name] = quantity.value
            units.setdefault(name, quantity.unit)
        rows.append(row)
    found = typed(pd.DataFrame(rows), TRIALS, levels=names, units=units)
    found.attrs["metrics"] = list(units)
    return found


def _taken(levels: Sequence[str]) -> set[str]:
    """Return the columns of a trials frame that are no metrics: a metric of such a name has `_measured` behind it."""
    return {column.name for column in TRIALS.columns} | set(levels)


def _cpu(campaign: Campaign, record: Record) -> dict[str, float]:
    """Return what the trial left of the fullest host's CPU, and what others had of it."""
    folder = "disturbed" if record.status == "disturbed" else "trials"
    hosts = cpu_use.of_record(record, campaign.series(record.id, folder))
    fullest = max(hosts, key=lambda host: host.share, default=None)
    others, stolen = (float(record.proof.get(name, np.nan)) for name in ("others", "stolen"))
    if fullest is None:
        return {"others_share": others, "stolen_share": stolen}
    # No program but ours was seen where `others` is not named; of some of the cores, nobody knows what others used.
    own = fullest.share - (0.0 if np.isnan(others) or fullest.bound else others)
    return {
        "busy_share": fullest.share,
        "own_share": max(0.0, own),
        "others_share": others,
        "stolen_share": stolen,
        "cores": fullest.cores,
    }


def figures_of(trials: pd.DataFrame, metrics: Sequence[str] = ()) -> pd.DataFrame:
    """Return a row per trial and metric, at the published levels that it stands for; see `schema.FIGURES`.

    metrics : those that are wanted; all that the trials have where none is named.
    """
    units: dict[str, str] = trials.attrs["units"]
    levels, taken = level_columns(trials), _taken(trials.attrs["levels"])
    plain = {column: column.removesuffix(MEASURED) for column in trials.attrs["metrics"]}
    recorded = {column: name if name in taken else column for column, name in plain.items()}
    wanted = [c for c, metric in recorded.items() if c in trials and (not metrics or {c, metric} & {*metrics})]
    renamed = trials.drop(columns=[n for n in levels if n + PUBLISHED in trials])
    renamed = renamed.rename(columns={n + PUBLISHED: n for n in levels})
    keys = ["table", "system", *levels, "repetition", "trial"]
    found = renamed.melt(id_vars=keys, value_vars=wanted, var_name="column", ignore_index=False)
    found = found.dropna(subset="value").sort_index(kind="stable").reset_index(drop=True)
    found = found.assign(metric=found.column.map(recorded), unit=found.column.map(units))
    found = typed(found, FIGURES, levels=levels)
    found.attrs |= {name: trials.attrs[name] for name in ("report", "campaign") if name in trials.attrs}
    return found


def level_columns(frame: pd.DataFrame) -> list[str]:
    """Return the names of the levels of a frame, without those that say which published level they stand for."""
    return [name for name in frame.attrs["levels"] if not name.endswith(PUBLISHED)]


def cells(figures: pd.DataFrame, *, confidence: float = 0.95) -> pd.DataFrame:
    """Return a row per table, system, levels and metric: mean over repetitions with its interval; see `schema.CELLS`.

    The unit of replication is a repetition. The interval is Student's (1908): mean +- t(n - 1) s / sqrt(n); it is
    missing below two repetitions.
    """
    levels = level_columns(figures)
    keys = ["table", "system", *levels, "metric", "unit"]
    grouped = figures.groupby(keys, sort=False, observed=True, dropna=False).value
    found = grouped.agg(measured="mean", sd="std", n="count").reset_index()
    half = stats.t.ppf((1 + confidence) / 2, found.n - 1) * found.sd / np.sqrt(found.n)
    found = typed(found.assign(low=found.measured - half, high=found.measured + half), CELLS, levels=levels)
    found.attrs |= {name: figures.attrs[name] for name in ("report", "campaign") if name in figures.attrs}
    return found


def over_repetitions(records: Sequence[Record], metric: str) -> Interval | None:
    """Return the mean of a metric over these records with its interval; None where no record has it."""
    values = [record.summary[metric].value for record in records if metric in record.summary]
    return mean_interval(values) if values else None
