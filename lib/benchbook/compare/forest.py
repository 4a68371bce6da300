"""The figure of a comparison: one line per cell, its ratio with interval, and the line at 1."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchbook.plots import panels

# Colours and markers both tell the outcomes apart.
LOOKS = {
    "slower": (panels.COLOURS[1], "v"),
    "faster": (panels.COLOURS[0], "^"),
    "changed": (panels.COLOURS[3], "D"),
    "equivalent": (panels.COLOURS[2], "o"),
    "not slower": (panels.COLOURS[2], "^"),
    "undecided": (panels.PUBLISHED, "s"),
    "not called": (panels.PUBLISHED, "x"),
}
# A ratio beyond these says all that it can say by its sign.
LEAST, MOST = 0.1, 10.0
_TICKS = (0.1, 0.2, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 5.0, 10.0)


def draw(frame: pd.DataFrame, *, margin: float) -> Figure:
    """`frame`: [table, system, levels, metric, unit, ratio, low, high, called]; a panel per metric."""
    metrics = list(frame[["metric", "unit"]].drop_duplicates().itertuples(index=False, name=None))
    heights = [int((frame.metric == metric).sum()) + 2.0 for metric, _ in metrics]
    with mpl.rc_context(panels.STYLE):
        figure, grid = plt.subplots(
            len(metrics),
            1,
            figsize=(7.5, 0.24 * sum(heights) + 1.2),
            squeeze=False,
            layout="constrained",
            height_ratios=heights,
        )
    for axis, (metric, unit) in zip(grid.flat, metrics, strict=True):
        _panel(axis, frame[frame.metric == metric].reset_index(drop=True), f"{metric} ({unit})", margin)
    grid.flat[-1].set_xlabel("ratio B / A, log scale")
    handles, labels = panels.handles_of(list(grid.flat))
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    return figure


def _panel(axis: Axes, part: pd.DataFrame, title: str, margin: float) -> None:
    low, high = _bounds(part)
    axis.axvspan(1 - margin, 1 / (1 - margin), color=panels.PUBLISHED, alpha=0.15, linewidth=0)
    axis.axvline(1, color="black", linewidth=1)
    for called, some in part.groupby("called", sort=False):
        colour, marker = LOOKS[str(called)]
        reach = np.vstack([(some.ratio - some.low).fillna(0), (some.high - some.ratio).fillna(0)])
        look: dict[str, Any] = {
            "color": colour,
            "marker": marker,
            "linestyle": "none",
            "linewidth": 1.2,
            "markersize": 5,
        }
        axis.errorbar(some.ratio, some.index, xerr=reach, label=str(called), capsize=2, **look)
    axis.set_xscale("log")
    axis.set_xlim(low, high)
    axis.xaxis.set_major_locator(FixedLocator(_ticks(low, high)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_yticks(part.index, _labels(part))
    axis.set_ylim(len(part) - 0.5, -0.5)
    axis.set_title(title)


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


def _labels(part: pd.DataFrame) -> list[str]:
    """Levels say which cell it is, after table and system where there are several."""
    names = part.levels
    for column in ("system", "table"):
        if part[column].nunique() > 1:
            names = part[column] + ", " + names
    return names.tolist()
