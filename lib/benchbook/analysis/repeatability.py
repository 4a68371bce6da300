"""What the repetitions of a campaign say of each other: a drift in their order, and which lies farthest off."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from benchbook.campaign.record import Quantity, Record
from benchbook.documents.units import is_rate, is_time
from benchbook.errors import counted
from benchbook.published.tables import Published

LEAST_REPETITIONS = 3
# The chance that a drift is told where there is none.
ALPHA = 0.05


def in_words(published: Published, records: Sequence[Record]) -> list[str]:
    """Return sentences on the repetitions, a drift first; none where no record has a rate or a time."""
    frame = rates(published, records)
    if frame.empty:
        return []
    if frame.repetition.nunique() < LEAST_REPETITIONS:
        return ["Fewer than three repetitions: a drift in their order, and one that stands apart, cannot be told."]
    return [*_drift(frame), _farthest(frame)]


def rates(published: Published, records: Sequence[Record]) -> pd.DataFrame:
    """Return [cell, repetition, value]: the `speed` of each record that has one."""
    rows = [(_cell(record), record.repetition, speed(published, record)) for record in records]
    frame = pd.DataFrame(rows, columns=["cell", "repetition", "value"])
    return frame[frame.value > 0].reset_index(drop=True)


def _cell(record: Record) -> str:
    levels = ", ".join(f"{key} {value}" for key, value in record.levels.items())
    return " ".join(filter(None, (record.table, record.system, f"({levels})" if levels else "")))


def speed(published: Published, record: Record) -> float:
    """Return the first rate of the record's table, or 1 over its first time; 0 where there is none."""
    table = published.tables.get(record.table)
    named = [name for name in (table.metrics if table else []) if name in record.summary]
    speeds = (_as_speed(record.summary[name]) for name in named or record.summary)
    return next((value for value in speeds if value), 0.0)


def _as_speed(quantity: Quantity) -> float:
    if is_rate(quantity.unit):
        return quantity.value
    return 1 / quantity.value if is_time(quantity.unit) and quantity.value else 0.0


def _drift(frame: pd.DataFrame) -> list[str]:
    """Test the slope of a line through the repetitions, each the mean of its cells: they are the units, no trials."""
    logs = np.log(frame.value)
    effects = (logs - logs.groupby(frame.cell).transform("mean")).groupby(frame.repetition).mean()
    line = stats.linregress(effects.index.to_numpy(float), effects)
    if not line.pvalue < ALPHA:
        return []
    half = stats.t.ppf(0.975, len(effects) - 2) * line.stderr
    low, high = sorted(100 * abs(math.expm1(line.slope + side * half)) for side in (-1, 1))
    return [
        f"Rates {'fall' if line.slope < 0 else 'rise'} by {abs(math.expm1(line.slope)):.1%} from one repetition to the "
        f"next (95% interval {low:.1f} to {high:.1f}%, over {counted(frame.cell.nunique(), 'cell')}): intervals and "
        "verdicts do not cover that."
    ]


def _farthest(frame: pd.DataFrame) -> str:
    apart = frame.value / frame.groupby("cell").value.transform("median") - 1
    at = int(apart.abs().to_numpy().argmax())
    return (
        f"Of {counted(frame.cell.nunique(), 'cell')}, the repetition that lies farthest from its cell's median is "
        f"{frame.repetition.iloc[at]} of {frame.cell.iloc[at]}: {apart.iloc[at]:+.1%}."
    )
