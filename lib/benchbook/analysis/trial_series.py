"""The series of single trials for a figure: what was sampled, and which trials are shown where there are many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from benchbook.analysis import cpu_use, formatting
from benchbook.campaign.environment import Environment
from benchbook.campaign.record import Record
from benchbook.grouping import grouped
from benchbook.stats.estimates import Array

# Lines in a panel, panels in a row, and rows: as many as can be read.
MOST_LINES, MOST_ACROSS, MOST_DOWN = 7, 5, 12
# Where there are more lines, no two of those that are chosen share a colour.
CHOSEN_LINES = 5
Item = TypeVar("Item")


def evenly(items: Sequence[Item], most: int) -> list[Item]:
    """Return at most so many of the items, in their order: the first, the last, and those evenly between."""
    if len(items) <= most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def told_apart(records: Sequence[Record], *, row: str, column: str) -> list[Record]:
    """Return records with a `row` of its own for each cell, where a panel would hold several: "mixed, value_bytes 64".

    Lines of one repetition in one panel would pass for one trial.
    """
    panels = grouped(records, lambda r: (r.levels[row], r.levels[column]))
    named = {name for r in records for name in ("table", *r.levels)} - {row, column}
    varied = [n for n in sorted(named) if any(len({_level(r, n) for r in mine}) > 1 for mine in panels.values())]

    def labelled(record: Record) -> Record:
        also = ", ".join(f"{name} {_level(record, name)}" for name in varied)
        return record.model_copy(update={"levels": {**record.levels, row: f"{record.levels[row]}, {also}"}})

    return [labelled(record) for record in records] if varied else list(records)


def _level(record: Record, name: str) -> object:
    return record.table if name == "table" else record.levels.get(name, "-")


def shown(
    records: Sequence[Record], *, row: str, column: str, rate: Callable[[Record], float]
) -> tuple[list[Record], str]:
    """Return the records that a figure with a panel per level `row` and `column` shows, and a sentence on the others.

    Of too many repetitions: by their `rate` the lowest, the highest, and those at even ranks between.
    """
    rows = evenly(list(dict.fromkeys(r.levels[row] for r in records)), MOST_DOWN)
    kept: set[str] = set()
    for value in rows:
        panels = grouped((r for r in records if r.levels[row] == value), lambda r: r.levels[column])
        # Levels of one column are of one kind: all numbers, or all text.
        for level in evenly(sorted(panels, key=lambda level: (isinstance(level, str), level)), MOST_ACROSS):
            lines = sorted(panels[level], key=rate)
            kept |= {r.id for r in (lines if len(lines) <= MOST_LINES else evenly(lines, CHOSEN_LINES))}
    chosen = [r for r in records if r.id in kept]
    if len(chosen) == len(records):
        return chosen, ""
    which = f"{CHOSEN_LINES} repetitions of a cell with more than {MOST_LINES} (slowest, fastest, even ranks between)"
    cells = f"{MOST_ACROSS} values of {column} and {MOST_DOWN} of {row}"
    return chosen, f"Shown are {len(chosen):,} of {len(records):,} trials: {which}; at most {cells}."


def series_of(
    records: Sequence[Record],
    series: Callable[[str], pa.Table],
    environment: Environment,
    metric: str,
    source: str,
    levels: Sequence[str],
) -> pd.DataFrame:
    """Return [t (s since the load began), value, repetition, *levels] of every trial; metric "cpu" = cores in use.

    `series` gives the long table of a trial by its id, as `Campaign.coded_series`.
    """
    parts = [_while_loaded(record, *_samples(record, series, environment, metric, source)) for record in records]
    if not parts:
        return pd.DataFrame()
    t, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    counts = [len(times) for times, _ in parts]
    of_trials = {"repetition": [r.repetition for r in records], **{n: [r.levels[n] for r in records] for n in levels}}
    repeated = {name: pd.Series(values).repeat(counts).to_numpy() for name, values in of_trials.items()}
    return pd.DataFrame({"t": t, "value": value, **repeated})


def _samples(
    record: Record, series: Callable[[str], pa.Table], environment: Environment, metric: str, source: str
) -> tuple[Array, Array]:
    """Return when (s since the epoch) and what was sampled of one metric."""
    table = series(record.id)
    if metric == "cpu":
        return _cpu(record, cpu_use.over_time(table), environment)
    if not table.num_rows:
        return np.empty(0), np.empty(0)
    mine = table.filter(pc.and_(pc.equal(table["source"], source), pc.equal(table["metric"], metric)))
    return mine["t"].to_numpy(), mine["value"].to_numpy()


def _while_loaded(record: Record, t: Array, value: Array) -> tuple[Array, Array]:
    began, over = record.load_window
    inside = (t >= began) & (t <= over)
    return t[inside] - record.load_began, value[inside]


def _cpu(record: Record, busy: Mapping[str, tuple[Array, Array]], environment: Environment) -> tuple[Array, Array]:
    """Return cores in use, summed over the machines: of hosts that share one, each has seen all of it.

    At the moments of one of them: machines are sampled at moments of their own, in short loads twice a second.
    """
    # Where its client runs, the client speaks for the machine: the last one to be named does.
    named = sorted(busy, key=lambda host: host == record.client)
    machines = list({environment.machine_of(host): busy[host] for host in named}.values())
    if not machines:
        return np.empty(0), np.empty(0)
    t, cores = machines[-1]
    return t, cores + sum(np.interp(t, *other) for other in machines[:-1])


def spread(frame: pd.DataFrame, levels: Sequence[str]) -> str:
    """Return the mean of each panel, in words, for a figure's alt text."""
    if frame.empty:
        return "no samples"
    means = frame.groupby(list(levels), sort=False).value.mean().reset_index()
    return "; ".join(
        f"{', '.join(str(row[name]) for name in levels)}: mean {formatting.number(row['value'])}"
        for _, row in means.iterrows()
    )
