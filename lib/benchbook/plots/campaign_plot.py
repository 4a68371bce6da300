"""Levels of cells over campaigns: a mark with its interval per campaign, a line per level, a break where it changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from benchbook.plots.panels import Panels
from benchbook.plots.style import COLUMNS, PANEL_WIDTH, Look, laid_out, legend, looks, styled

_HEIGHT = 2.4
# Lines of one panel that are still told apart, by colour and mark.
MOST_LINES = 6


@styled()
def draw(points: pd.DataFrame, breaks: pd.DataFrame, campaigns: Sequence[str]) -> Figure:
    """`points`: [panel, line, campaign, value, low, high], `breaks`: [panel, line, campaign]; values relative.

    `campaigns` are the places along x, in order.
    """
    place = {name: number for number, name in enumerate(campaigns)}
    known = points.assign(place=points.campaign.map(place))
    shown = looks(dict.fromkeys(known.line))
    grid = Panels(
        known, col="panel", col_wrap=min(COLUMNS, known.panel.nunique()), height=_HEIGHT,
        aspect=PANEL_WIDTH / _HEIGHT, sharey=False,
    )  # fmt: skip
    for panel, axis in grid.axes_dict.items():
        mine = known[known.panel == panel]
        for line, look in shown.items():
            at = sorted(breaks[(breaks.panel == panel) & (breaks.line == line)].campaign.map(place))
            _line(axis, mine[mine.line == line], look, at)
        axis.set(title=str(panel), xlabel="", ylabel="")
        axis.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _when(campaigns, value)))
    for axis in grid.axes.flat[:: min(COLUMNS, len(grid.axes.flat))]:
        axis.set_ylabel("relative to the median")
    legend(grid.figure, shown, lines=False)
    return laid_out(grid.figure)


def _line(axis: Axes, part: pd.DataFrame, look: Look, breaks: Sequence[int]) -> None:
    x, y = part.place.to_numpy(float), part.value.to_numpy(float)
    axis.vlines(x, part.low, part.high, color=look.colour, alpha=0.35, linewidth=1)
    axis.plot(x, y, linestyle="none", marker=look.marker, color=look.colour, markersize=3.5)
    for a, b in zip([-np.inf, *breaks], [*breaks, np.inf], strict=True):
        level = (x >= a) & (x < b)
        if level.any():
            axis.plot([x[level].min(), x[level].max()], [y[level].mean()] * 2, color=look.colour, linewidth=1.2)
    for at in breaks:
        axis.axvline(at - 0.5, color=look.colour, linewidth=0.9, linestyle=":")


def _when(campaigns: Sequence[str], value: float) -> str:
    """The day of a campaign, and where several are of one day hour and minute (UTC): its id is 20261122T0731..."""
    number = round(value)
    # The axis of a single campaign has ticks between whole numbers.
    if not 0 <= number < len(campaigns) or abs(value - number) > 1e-6:
        return ""
    name = campaigns[number]
    day, several = f"{name[:4]}-{name[4:6]}-{name[6:8]}", len({other[:8] for other in campaigns}) < len(campaigns)
    return f"{day}\n{name[9:11]}:{name[11:13]}" if several else day
