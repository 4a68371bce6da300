"""A measure over two levels as a map, each cell with its value and interval."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from benchbook.plots.quick_seaborn import sns
from benchbook.plots.style import COLUMNS, PANEL_WIDTH, laid_out, styled

_HEIGHT = 2.4
_SHOWN = ("value", "text")


@styled()
def heat_map(frame: pd.DataFrame, *, down: str, across: str) -> Figure:
    """A panel per value of `who`: `down` in rows, `across` in columns, each cell with half the width of its interval.

    `frame`: [who, down, across, value, low, high], `down` and `across` sortable; each panel has its own colour scale.
    """
    grid = sns.FacetGrid(
        frame, col="who", col_wrap=COLUMNS, height=_HEIGHT, aspect=PANEL_WIDTH / _HEIGHT, sharex=False, sharey=False
    )
    rows, columns = (list(frame[name].drop_duplicates().sort_values()) for name in (down, across))
    for who, axis in grid.axes_dict.items():
        part = frame[frame.who == who].astype({"value": float, "low": float, "high": float})
        part = part.assign(text=[_in_cell(*cell) for cell in zip(part.value, part.low, part.high, strict=True)])
        tables = [part.pivot(index=down, columns=across, values=v).reindex(rows, columns=columns) for v in _SHOWN]
        _panel(axis, *tables)
        axis.set(title=str(who), xlabel=across, ylabel="")
    for axis in grid.axes.flat[::COLUMNS]:
        axis.set_ylabel(down)
    return laid_out(grid.figure)


def _panel(axis: Axes, values: pd.DataFrame, texts: pd.DataFrame) -> None:
    # Colours between half the least and a tenth above the most: small differences stay small.
    low, high = 0.5 * float(np.nanmin(values)), 1.1 * float(np.nanmax(values))
    sns.heatmap(
        values,
        annot=texts,
        fmt="",
        cmap="Blues",
        vmin=low,
        vmax=high,
        cbar=False,
        linewidths=0.5,
        annot_kws={"size": 7},
        ax=axis,
    )
    axis.grid(visible=False)
    axis.tick_params(axis="both", rotation=0, length=0)


def _in_cell(value: float, low: float, high: float) -> str:
    short = EngFormatter(places=1, sep="")
    if math.isnan(low) or math.isnan(high):
        return short(value)
    return f"{short(value)}\n±{short((high - low) / 2)}"
