"""Effects in rows, each with its interval: claims, cells of a comparison, rungs of a ladder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchbook.plots.panels import Panels
from benchbook.plots.quick_seaborn import sns
from benchbook.plots.style import PUBLISHED, Look, laid_out, legend, styled

CLAIMED, PRINTED = "claimed range", "published"
_BAND = "#bfd9e6"
# Two marks in one row stand this far from its middle.
_APART = 0.15


@dataclass(frozen=True)
class Scale:
    """A panel's x axis. `at`: the line of no effect; `band`: a range around it that does not matter."""

    label: str
    limits: tuple[float, float]
    ticks: Sequence[float] | None = None
    log: bool = True
    at: float = 1.0
    band: tuple[float, float] | None = None
    title: str = ""


@styled()
def forest(
    frame: pd.DataFrame, scales: Mapping[str, Scale], looks: Mapping[str, Look], *, width: float, row_height: float
) -> Figure:
    """A panel per value of `panel` below each other, rows from top to bottom in their order of appearance.

    `frame`: [panel, row, who, value, low, high]; who is a key of `looks`; several of them in a row stand apart.
    NaN for a bound: no interval; an infinite bound, or one outside of the scale, ends in an arrow. Optional columns
    [claimed_low, claimed_high, printed]: a range shaded in the row, and a tick.
    """
    shown = {who: look for who, look in looks.items() if who in set(frame.who)}
    rows = {panel: list(dict.fromkeys(part.row)) for panel, part in frame.groupby("panel", sort=False)}
    heights = [len(names) + 1.6 for names in rows.values()]
    grid = Panels(
        frame, row="panel", row_order=list(rows), sharex=False, sharey=False, gridspec_kws={"height_ratios": heights}
    )
    for panel, axis in grid.axes_dict.items():
        part = frame[frame.panel == panel].reset_index(drop=True)
        _scale(axis, scales[str(panel)])
        _rows(axis, part.assign(y=_heights(part, rows[panel])), rows[panel], shown)
        axis.set(xlabel=scales[str(panel)].label, ylabel="")
    # A row as high in every panel, and room for axis labels and the legend.
    grid.figure.set_size_inches(width, row_height * sum(heights) + 0.8)
    legend(grid.figure, shown, lines=False, more=_more(frame))
    return laid_out(grid.figure)


def _heights(part: pd.DataFrame, names: Sequence[str]) -> pd.Series[float]:
    """Where each mark stands: at its row, and apart from another of that row."""
    many = part.groupby("row").row.transform("size")
    within = part.groupby("row").cumcount()
    return part.row.map(names.index) + np.where(many > 1, (2 * within - (many - 1)) * _APART, 0.0)


def _scale(axis: Axes, scale: Scale) -> None:
    if scale.log:
        axis.set_xscale("log")
        axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xlim(*scale.limits)
    if scale.ticks is not None:
        axis.xaxis.set_major_locator(FixedLocator(list(scale.ticks)))
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.axvline(scale.at, color="#888888", linewidth=0.9, zorder=1)
    if scale.band:
        axis.axvspan(*scale.band, color=PUBLISHED, alpha=0.15, linewidth=0)
    # Seaborn's own title would name the column.
    axis.set_title("")
    axis.set_title(scale.title, loc="left")


def _rows(axis: Axes, part: pd.DataFrame, names: Sequence[str], shown: Mapping[str, Look]) -> None:
    left, right = axis.get_xlim()
    if "claimed_low" in part:
        _claimed(axis, part)
    for row in part.to_dict("records"):
        _interval(axis, row["y"], row["low"], row["high"], shown[row["who"]].colour)
    sns.scatterplot(
        part.assign(value=part.value.clip(left, right)),
        x="value",
        y="y",
        hue="who",
        style="who",
        palette={who: look.colour for who, look in shown.items()},
        markers={who: look.marker for who, look in shown.items()},
        s=42,
        zorder=4,
        clip_on=False,
        legend=False,
        ax=axis,
    )
    if "printed" in part:
        known = part.dropna(subset="printed")
        axis.plot(known.printed.clip(left, right), known.y, **_TICK, zorder=3, linestyle="none")
    axis.set_yticks(range(len(names)), list(names))
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.grid(visible=False, axis="y")


def _claimed(axis: Axes, part: pd.DataFrame) -> None:
    """Ranges open on one side reach to the edge."""
    left, right = axis.get_xlim()
    low, high = part.claimed_low.fillna(left).clip(left, right), part.claimed_high.fillna(right).clip(left, right)
    axis.barh(part.y, high - low, left=low, height=0.76, color=_BAND, linewidth=0, zorder=0)


def _interval(axis: Axes, y: float, low: float, high: float, colour: str) -> None:
    if math.isnan(low) or math.isnan(high):
        return
    left, right = axis.get_xlim()
    ends = [min(max(bound, left), right) for bound in (low, high)]
    axis.plot(ends, [y, y], color=colour, linewidth=1.6, zorder=3)
    for cut, edge, arrow in ((low < left, left, "<"), (high > right, right, ">")):
        if cut:
            axis.plot(edge, y, marker=arrow, color=colour, markersize=6, clip_on=False, zorder=3)


_TICK: dict[str, Any] = {"marker": "|", "color": "black", "markersize": 12, "markeredgewidth": 1.6}


def _more(frame: pd.DataFrame) -> list[Line2D]:
    found = []
    if "claimed_low" in frame:
        found.append(Line2D([], [], color=_BAND, linewidth=8, label=CLAIMED))
    if "printed" in frame:
        found.append(Line2D([], [], **_TICK, linestyle="none", label=PRINTED))
    return found
