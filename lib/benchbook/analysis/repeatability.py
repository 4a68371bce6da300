"""What the repetitions of a campaign say of each other: a drift in their order, one that stands apart, two levels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from benchbook.campaign.record import Quantity, Record
from benchbook.errors import counted
from benchbook.published.tables import Published
from benchbook.published.time_units import is_rate, is_time
from benchbook.stats.order_drift import LEAST_BLOCKS, OrderDrift, order_drift
from benchbook.stats.outlying import Outlying, in_percent, outlying
from benchbook.stats.rounding import last_digit

# The chance that a campaign without any of it shows something is at most 5%: shared by the drift and the single cells,
# with a reserve, since what is usual is itself estimated. `make bench BENCH=repetitions` measures it.
DRIFT_ALPHA, CELLS_ALPHA = 0.02, 0.02
# What is less than half a percent is printed as 0%.
LEAST_SHIFT_PERCENT = 0.5
# Simulated: where repetitions differ by 2% as a whole 10 to 20% of campaigns of three are said to drift,
# 4% of those of five.
NO_TELLING = " Three repetitions that differ as a whole by chance can look like that: more of them would tell."


def in_words(published: Published, records: Sequence[Record]) -> list[str]:
    """Sentences, gravest first; one that says so where nothing was found, none without records."""
    frame = rates(published, records)
    if frame.empty:
        return []
    repetitions = frame.groupby("cell").size()
    if repetitions.max() < LEAST_BLOCKS:
        return ["Fewer than three repetitions: a drift in their order, and outliers among them, cannot be told."]
    drift = order_drift(frame)
    drifts = drift if drift and drift.p_value < DRIFT_ALPHA else None
    found = outlying(_cells(frame, drifts), alpha=CELLS_ALPHA)
    steps = frame.groupby("cell").step.max()
    # Of values that are equal but for their last digit, the one that differs is infinitely far from the others.
    odd = [one for one in found if abs(in_percent(one.shift)) >= max(LEAST_SHIFT_PERCENT, 100 * steps[one.cell])]
    said = [*([_drift(drifts, repetitions.max())] if drifts else []), *(_odd(one, frame) for one in odd)]
    return said or [
        f"The repetitions of {counted(len(repetitions), 'cell')} show no drift that all share, no outlier and no "
        "second level (by chance alone, at most 5% of campaigns show one)."
    ]


def rates(published: Published, records: Sequence[Record]) -> pd.DataFrame:
    """[cell, repetition, value, step]: the first rate of each record's table, or 1 over its first time; none of 0.

    `step`: the last digit with which the figure was recorded anywhere, as a share of it.
    """
    rows = []
    for record in records:
        name = _figure(published, record)
        if name:
            recorded = record.summary[name]
            levels = ", ".join(f"{key} {value}" for key, value in record.levels.items())
            cell = " ".join(filter(None, (record.table, record.system, f"({levels})" if levels else "")))
            rows.append((cell, record.repetition, _as_speed(recorded), name, recorded.value))
    frame = pd.DataFrame(rows, columns=["cell", "repetition", "value", "name", "recorded"])
    digits = frame.groupby("name").recorded.agg(last_digit)
    return frame.assign(step=frame.name.map(digits) / frame.recorded)[["cell", "repetition", "value", "step"]]


def speed(published: Published, record: Record) -> float:
    """The first rate of the record's table, or 1 over its first time; 0 where there is none."""
    name = _figure(published, record)
    return _as_speed(record.summary[name]) if name else 0.0


def _figure(published: Published, record: Record) -> str:
    """The metric that tells a record's speed; empty where there is none."""
    table = published.tables.get(record.table)
    named = [name for name in (table.metrics if table else []) if name in record.summary]
    return next((name for name in named or list(record.summary) if _as_speed(record.summary[name])), "")


def _as_speed(quantity: Quantity) -> float:
    if is_rate(quantity.unit):
        return quantity.value
    return 1 / quantity.value if is_time(quantity.unit) and quantity.value else 0.0


def _cells(frame: pd.DataFrame, drift: OrderDrift | None) -> dict[str, list[float]]:
    """The logs of each cell's repetitions, in their order and without the drift that was found."""
    slope = math.log1p(drift.change) if drift else 0.0
    ordered = frame.sort_values("repetition")
    return {
        str(cell): [math.log(v) - slope * r for v, r in zip(part.value, part.repetition, strict=True)]
        for cell, part in ordered.groupby("cell", sort=False)
    }


def _drift(found: OrderDrift, repetitions: int) -> str:
    low, high = sorted(abs(100 * bound) for bound in (found.low, found.high))
    return (
        f"Rates {'fall' if found.change < 0 else 'rise'} by {abs(found.change):.1%} from one repetition to the next "
        f"(95% interval {low:.1f} to {high:.1f}%, over {counted(found.cells, 'cell')}): "
        f"intervals and verdicts do not cover that.{'' if repetitions > LEAST_BLOCKS else NO_TELLING}"
    )


def _odd(found: Outlying, frame: pd.DataFrame) -> str:
    if found.kind == "two levels":
        return f"{found.cell}: the repetitions lie at two levels, {in_percent(found.shift):.0f}% apart."
    mine = frame[frame.cell == found.cell].sort_values("repetition")
    which = mine.repetition.iloc[found.repetition or 0]
    return f"{found.cell}: repetition {which} stands apart, {in_percent(found.shift):+.0f}% from the others."
