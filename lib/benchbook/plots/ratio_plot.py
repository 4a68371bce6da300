"""The figure of a comparison: one line per cell, its ratio with interval, and the line at 1."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchbook.plots.forest import Scale, forest
from benchbook.plots.style import COLOURS, PUBLISHED, Look

# Colours and markers both tell the outcomes apart.
LOOKS = {
    "slower": Look(COLOURS[1], "v"),
    "faster": Look(COLOURS[0], "^"),
    "changed": Look(COLOURS[3], "D"),
    "equivalent": Look(COLOURS[2], "o"),
    "not slower": Look(COLOURS[2], "^"),
    "undecided": Look(PUBLISHED, "s"),
    "not called": Look(PUBLISHED, "X"),
}
# A ratio beyond these says all that it can say by its sign.
LEAST, MOST = 0.1, 10.0
_TICKS = (0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 5.0, 10.0)


def draw(frame: pd.DataFrame, *, margin: float) -> Figure:
    """`frame`: [table, system, levels, metric, unit, ratio, low, high, called]; a panel per metric."""
    named = frame.assign(panel=frame.metric + " (" + frame.unit + ")", who=frame.called, value=frame.ratio)
    parts = [part.assign(row=_labels(part)) for _, part in named.groupby("panel", sort=False)]
    scales = {str(part.panel.iloc[0]): _scale(part, margin) for part in parts}
    return forest(pd.concat(parts), scales, LOOKS, width=7.5, row_height=0.25)


def _scale(part: pd.DataFrame, margin: float) -> Scale:
    low, high = _bounds(part)
    return Scale(
        "ratio B / A, log scale",
        (low, high),
        ticks=_ticks(low, high),
        band=(1 - margin, 1 / (1 - margin)),
        title=str(part.panel.iloc[0]),
    )


def _bounds(part: pd.DataFrame) -> tuple[float, float]:
    """Around all ratios, and around their intervals as far as these do not dwarf the ratios."""
    wide = max(1.25, part.ratio.max(), 1 / part.ratio.min())
    reach = min(max(wide, part.high.max(), 1 / part.low.min()) if part.low.notna().any() else wide, 4 * wide)
    return max(LEAST, 1 / (1.05 * reach)), min(MOST, 1.05 * reach)


def _ticks(low: float, high: float) -> list[float]:
    """Marks apart enough to be read: at most one per eighth of the axis."""
    room = np.log(high / low) / 8
    chosen = [1.0]
    for tick in sorted((t for t in _TICKS if low <= t <= high), key=lambda t: abs(np.log(t))):
        if all(abs(np.log(tick / other)) >= room for other in chosen):
            chosen.append(tick)
    return sorted(chosen)


def _labels(part: pd.DataFrame) -> pd.Series[str]:
    """Which cell it is: table and system where there are several, and the levels in which cells of a table differ.

    All levels of a cell of DM are a line of 90 characters, beside which a panel would have no room.
    """
    shared = {
        name: set.intersection(*(set(_each(levels)) for levels in rows.levels))
        for name, rows in part.groupby("table", sort=False)
    }
    told = [c for c in ("table", "system") if part[c].nunique() > 1]
    names = [
        ", ".join(
            [*(row[c] for c in told), *(level for level in _each(row["levels"]) if level not in shared[row["table"]])]
        )
        for row in part.to_dict("records")
    ]
    return pd.Series(names, part.index).where(lambda name: name != "", part.levels)


def _each(levels: str) -> dict[str, None]:
    return dict.fromkeys(levels.split(", "))
