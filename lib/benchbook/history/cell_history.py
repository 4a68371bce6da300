"""Each cell of each campaign: a frame of trials becomes means with intervals, and these become changes of the level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchbook.compare.cell_row import direction
from benchbook.compare.cells import CELL
from benchbook.frames.schema import RUN_TRIALS
from benchbook.stats.level_changes import LevelChange, level_changes
from benchbook.stats.tails import t_quantile

# The columns of every trial; what else a frame has are levels and metrics.
FIXED = {column.name for column in RUN_TRIALS.columns}
POINTS = [*CELL, "campaign", "mean", "low", "high", "n", "log", "variance"]
# The chance that any change is told where nothing changed, over all cells.
_ALPHA = 0.05
CHANGES = [*CELL, "before", "campaign", "ratio", "low", "high", "p_value", "called"]


def points(trials: pd.DataFrame, wanted: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """[*POINTS]: a row per cell, metric and campaign. `trials` as `runs().trials()`; `wanted`: table -> its metrics.

    `low` and `high` are a 95% Student interval over repetitions, missing below two of them; `log` is the mean of
    their logarithms and `variance` that of one of them. Values that are not above 0 have no logarithm: left out.
    """
    long = _long(trials, wanted)
    if long.empty:
        return pd.DataFrame(columns=POINTS)
    keys = [*CELL, "campaign"]
    grouped = long.assign(log=np.log(long.value)).groupby(keys, sort=False, observed=True)
    found = grouped.agg(mean=("value", "mean"), std=("value", "std"), n=("value", "size"), log=("log", "mean"))
    half = t_quantile(0.975, np.maximum(found.n - 1, 1)) * found["std"] / np.sqrt(found.n)
    found = found.assign(low=found["mean"] - half, high=found["mean"] + half, variance=grouped.log.var())
    return found.reset_index()[POINTS]


def _long(trials: pd.DataFrame, wanted: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """[*CELL, campaign, value], cells in the order of the report and by rising levels, campaigns in that of time."""
    units: Mapping[str, str] = trials.attrs["units"]
    levels = [name for name in trials.columns if name not in FIXED and name not in units]
    known = trials.assign(levels=_in_words(trials, levels), place=trials["table"].map(_places(wanted)))
    known = known.sort_values(["place", "table", "system", *levels, "campaign", "order"], kind="stable")
    parts = [
        known.assign(metric=metric, unit=units[metric], value=known[metric])[
            known["table"].map(lambda table, metric=metric: metric in wanted.get(str(table), ())).astype(bool)
            & (known[metric] > 0)
        ]
        for metric in dict.fromkeys(name for names in wanted.values() for name in names)
        if metric in known and metric in units
    ]
    columns = [*CELL, "campaign", "value"]
    if not parts:
        return pd.DataFrame(columns=columns)
    return pd.concat(parts, ignore_index=True)[columns].astype({"table": str, "system": str, "campaign": str})


def _places(wanted: Mapping[str, Sequence[str]]) -> dict[str, int]:
    return {table: place for place, table in enumerate(wanted)}


def _in_words(trials: pd.DataFrame, levels: Sequence[str]) -> list[str]:
    """The levels of each trial as `compare` has them: one that only repeats the table's name says nothing."""
    columns = [[_text(value) for value in trials[name].astype(object)] for name in levels]
    tables = trials["table"].astype(str)
    rows = zip(*columns, strict=True) if columns else [()] * len(trials)
    return [
        ", ".join(f"{name} {value}" for name, value in zip(levels, row, strict=True) if value and value != table)
        for row, table in zip(rows, tables, strict=True)
    ]


def _text(value: Any) -> str:
    """As it was set: a whole number is one with a point where other trials lack the level."""
    if pd.isna(value):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def changes(found: pd.DataFrame) -> pd.DataFrame:
    """[*CHANGES]: a row per change of a cell's level, from campaign `before` to `campaign`. `found` as `points`.

    `called`: faster, slower, or changed where the unit does not say which side is better.
    """
    groups = list(found.groupby(CELL, sort=False, observed=True))
    rows = [
        {**dict(zip(CELL, key, strict=True)), **_row(part, change, str(key[-1]))}
        for key, part in groups
        for change in level_changes(part.log.to_numpy(), _spreads(part), alpha=_ALPHA / len(groups))
    ]
    return pd.DataFrame(rows, columns=CHANGES)


def _spreads(part: pd.DataFrame) -> list[tuple[int, float]]:
    return list(zip(part.n.tolist(), part.variance.tolist(), strict=True))


def _row(part: pd.DataFrame, change: LevelChange, unit: str) -> dict[str, object]:
    names = part.campaign.tolist()
    return {
        "before": names[change.at - 1],
        "campaign": names[change.at],
        "ratio": change.ratio,
        "low": change.low,
        "high": change.high,
        "p_value": change.p_value,
        "called": direction(unit, change.ratio),
    }
