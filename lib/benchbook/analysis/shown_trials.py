"""Which trials a figure of single trials shows, where there are more than anybody could tell apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import pandas as pd

from benchbook.campaign.record import Record
from benchbook.grouping import grouped

# Lines in a panel, panels in a row, and rows: as many as can be read. Points along a curve.
MOST_LINES, MOST_ACROSS, MOST_DOWN = 7, 5, 12
# Where there are more lines, no two of those that are chosen share a colour.
CHOSEN_LINES = 5
MOST_POINTS = 20
Item = TypeVar("Item")


def evenly(items: Sequence[Item], most: int) -> list[Item]:
    """At most so many of the items, in their order: the first, the last, and those evenly between."""
    if len(items) <= most:
        return list(items)
    return [items[round(i * (len(items) - 1) / (most - 1))] for i in range(most)]


def few_points(frame: pd.DataFrame, x: str) -> tuple[pd.DataFrame, str]:
    """Of a curve's points [x, who, ...] those at published levels and, evenly, others; a sentence where some lack."""
    if frame[x].nunique() <= MOST_POINTS:
        return frame, ""
    levels = sorted(set(frame[x]))
    kept = {*frame[frame.who == "published"][x], *evenly(levels, MOST_POINTS)}
    return frame[frame[x].isin(kept)], f"{len(kept)} of {len(levels)} values of {x} are shown."


def told_apart(records: Sequence[Record], *, row: str, column: str) -> list[Record]:
    """The records with a `row` of its own for each cell, where a panel would hold several: "mixed, value_bytes 64".

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


def curves_apart(frame: pd.DataFrame, *, x: str, panel: str, levels: Iterable[str]) -> pd.DataFrame:
    """The frame with a `panel` of its own for each curve, where one would hold several points at an `x`.

    Of `levels`, columns as well, those that tell the points apart are named: "mixed, value_bytes 64".
    """
    at = frame.groupby([panel, x], observed=True)
    varied = [name for name in levels if name not in (x, panel) and (at[name].nunique() > 1).any()]
    if not varied:
        return frame
    texts = [frame[name].map(_value).astype(str).radd(f"{name} ") for name in varied]
    return frame.assign(**{panel: [", ".join(words) for words in zip(frame[panel].astype(str), *texts, strict=True)]})


def _value(level: str | float | None) -> str:
    """A number without a point of no use; a dash for a table without this level."""
    return "-" if pd.isna(level) else f"{level:g}" if isinstance(level, float) else str(level)


def shown(
    records: Sequence[Record], *, row: str, column: str, rate: Callable[[Record], float]
) -> tuple[list[Record], str]:
    """The records that a figure with a panel per level `row` and `column` shows, and a sentence on the others.

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
