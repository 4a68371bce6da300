"""Levels of cells over campaigns: a mark with its interval per campaign, a line per level, a break where it changed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from benchbook.plots.style import facets, legend_below, looks, styled

# Lines of one panel that are still told apart.
MOST_LINES = 6


@styled()
def over_campaigns(points: pd.DataFrame, breaks: pd.DataFrame, campaigns: Sequence[str]) -> sns.FacetGrid:
    """Draw a panel per `panel`, a colour per `line`, the mean of each stretch between breaks.

    `points`: [panel, line, campaign, value, low, high], `breaks`: [panel, line, campaign]; values relative to the
    cell's median. `campaigns` are the places along x, in order.
    """
    place = {name: number for number, name in enumerate(campaigns)}
    points = points.assign(place=points.campaign.map(place)).reset_index(drop=True)
    look = looks(points.line, lines=False)
    layout = facets(points.panel.nunique(), columns=2, aspect=1.6)
    layout["facet_kws"]["sharex"] = True
    grid = sns.relplot(points, kind="scatter", x="place", y="value", hue="line", style="line", col="panel", s=20,
                       legend=len(look["hue_order"]) > 1, **look, **layout)  # fmt: skip
    for panel, axis in grid.axes_dict.items():
        for line, part in points[points.panel == panel].groupby("line", sort=False):
            changed = breaks[(breaks.panel == panel) & (breaks.line == line)].campaign.map(place)
            _stretches(axis, part, look["palette"][line], sorted(changed))
        axis.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _when(campaigns, value)))
    grid.set_titles("{col_name}").set_axis_labels("", "relative to the median").tight_layout()
    legend_below(grid)
    return grid


def _stretches(axis: Axes, part: pd.DataFrame, colour: object, breaks: Sequence[int]) -> None:
    x, y = part.place.to_numpy(float), part.value.to_numpy(float)
    axis.vlines(x, part.low, part.high, color=colour, alpha=0.35, linewidth=1)
    for a, b in zip([-np.inf, *breaks], [*breaks, np.inf], strict=True):
        stretch = (x >= a) & (x < b)
        if stretch.any():
            axis.plot([x[stretch].min(), x[stretch].max()], [y[stretch].mean()] * 2, color=colour, linewidth=1.2)
    for at in breaks:
        axis.axvline(at - 0.5, color=colour, linewidth=0.9, linestyle=":")


def _when(campaigns: Sequence[str], value: float) -> str:
    """Return the day of a campaign, and where several are of one day hour and minute (UTC): its id is 20261122T0731."""
    number = round(value)
    # The axis of a single campaign has ticks between whole numbers.
    if not 0 <= number < len(campaigns) or abs(value - number) > 1e-6:
        return ""
    name = campaigns[number]
    day, several = f"{name[:4]}-{name[4:6]}-{name[6:8]}", len({other[:8] for other in campaigns}) < len(campaigns)
    return f"{day}\n{name[9:11]}:{name[11:13]}" if several else day
