"""Curves over a level: published beside measured, with intervals, a panel each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FixedFormatter, FixedLocator, FuncFormatter, LogLocator, NullLocator

from benchbook.analysis.formatting import number
from benchbook.plots.panels import line_panels
from benchbook.plots.style import COLUMNS, PANEL_WIDTH, Look, laid_out, legend, looks, short_numbers, styled

# An interval may stretch a panel by this factor beyond its values; what reaches further ends in an arrow.
_STRETCH_LOG, _STRETCH = 8.0, 1.6
# From this step on between neighbouring levels they are set apart evenly, on a log scale.
_DOUBLING = 1.4
_HEIGHT = 2.5


@styled()
def curves(
    frame: pd.DataFrame,
    *,
    panel: str,
    x: str,
    metric_label: str,
    x_label: str,
    normalised: bool = False,
) -> Figure:
    """One panel per value of `panel`: published and measured `value` against `x`, with intervals.

    `frame`: [panel, x, who ("published" or a system), value, low, high]. Normalised = divided by the value at the
    lowest x, so that shapes can be compared across hardware; its interval holds the spread of that value too.
    """
    data = (normalise(frame, panel, x) if normalised else frame).astype({"value": float, "low": float, "high": float})
    shown = looks(data.who)
    facets = {"col": panel, "col_wrap": COLUMNS, "height": _HEIGHT, "aspect": PANEL_WIDTH / _HEIGHT}
    grid = line_panels(data, {**facets, "sharex": False, "sharey": False}, x=x, y="value", by="who", shown=shown)
    for name, axis in grid.axes_dict.items():
        part = data[data[panel] == name]
        _value_axis(axis, part, log=not normalised)
        _intervals(axis, part, x, shown)
        _level_axis(axis, part[x], doubling=doubling(data[x]))
        axis.set(title=str(name), xlabel=x_label, ylabel="")
    for axis in grid.axes.flat[::COLUMNS]:
        axis.set_ylabel(f"{metric_label},\nrelative to lowest {x}" if normalised else metric_label)
    legend(grid.figure, shown)
    return laid_out(grid.figure)


def normalise(frame: pd.DataFrame, panel: str, x: str) -> pd.DataFrame:
    """Each curve divided by its own value at its lowest x; intervals hold the spread of both, the lowest x has none."""
    parts = [_relative(part.sort_values(x)) for _, part in frame.groupby([panel, "who"], sort=False)]
    return pd.concat(parts, ignore_index=True) if parts else frame


def _relative(line: pd.DataFrame) -> pd.DataFrame:
    """Relative half-widths add in quadrature: the delta method for the logarithm of a ratio of independent means.

    Oehlert, "A Note on the Delta Method", American Statistician 46(1), 1992.
    """
    value = line.value.astype(float)
    half = (line.high.astype(float) - line.low.astype(float)) / 2 / value
    both = (half**2 + half.iloc[0] ** 2) ** 0.5
    both.iloc[0] = np.nan
    ratio, reach = value / value.iloc[0], np.exp(both.to_numpy())
    return line.assign(value=ratio, low=ratio / reach, high=ratio * reach)


def doubling(levels: pd.Series[float]) -> bool:
    """Whether every level is so far above the one before that only a log scale sets them apart."""
    steps = np.sort(levels.astype(float).unique())
    return len(steps) > 1 and bool(steps[0] > 0) and bool((steps[1:] / steps[:-1] >= _DOUBLING).all())


def _level_axis(axis: Axes, levels: pd.Series[float], *, doubling: bool) -> None:
    if doubling:
        axis.set_xscale("log", base=2)
    ticks = sorted(set(levels))
    axis.xaxis.set_major_locator(FixedLocator(ticks))
    axis.xaxis.set_major_formatter(FixedFormatter([_level(value) for value in ticks]))
    axis.xaxis.set_minor_locator(NullLocator())


def _level(value: float) -> str:
    """1,024 as it is; 1500000 as 1.5M."""
    return f"{value:,.6g}" if value < 10_000 else str(EngFormatter(sep="")(value))


def _short(value: float) -> str:
    return f"{value:g}" if value < 1000 else str(EngFormatter(sep="")(value))


def _value_axis(axis: Axes, part: pd.DataFrame, *, log: bool) -> None:
    """The range follows the values, and their intervals as far as these do not dwarf the values."""
    least, most = part.value.min(), part.value.max()
    low, high = np.nanmin([least, part.low.min()]), np.nanmax([most, part.high.max()])
    if not log:
        axis.set_ylim(0, 1.1 * min(high, _STRETCH * most))
        short_numbers(axis)
        return
    axis.set_yscale("log")
    axis.set_ylim(max(low, least / _STRETCH_LOG) / 1.5, min(high, most * _STRETCH_LOG) * 1.5)
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axis.yaxis.set_minor_locator(NullLocator())


def _intervals(axis: Axes, part: pd.DataFrame, x: str, shown: Mapping[str, Look]) -> None:
    """Bars from low to high; an end outside of the panel is an arrow at its edge, a missing interval has no bar."""
    bottom, top = axis.get_ylim()
    # Down to zero is the end of a linear axis and no cut.
    least = bottom if bottom > 0 else -np.inf
    for who, line in part.dropna(subset=["low", "high"]).groupby("who", sort=False):
        colour = shown[str(who)].colour
        low, high = line.low.clip(lower=bottom), line.high.clip(upper=top)
        reach = np.vstack([line.value - low, high - line.value])
        axis.errorbar(line[x], line.value, yerr=reach, fmt="none", ecolor=colour, elinewidth=1.2, capsize=3)
        for at, low_end, high_end in zip(line[x], line.low, line.high, strict=True):
            for cut, edge, arrow in ((low_end < least, bottom, "v"), (high_end > top, top, "^")):
                if cut:
                    axis.plot(at, edge, arrow, color=colour, markersize=5, clip_on=False)


def ends_in_words(frame: pd.DataFrame, panel: str, x: str) -> str:
    """Says what the curves show: first and last value of each; a lone point once."""
    parts = []
    for (name, who), line in frame.groupby([panel, "who"], sort=False):
        ordered = line.sort_values(x)
        ends = ordered.iloc[[0, -1]] if len(ordered) > 1 else ordered
        said = [f"{number(end['value'])} at {end[x]:g}" for end in ends.to_dict("records")]
        parts.append(f"{name}, {who}: {' to '.join(said)}")
    return "; ".join(parts)


def points_in_words(frame: pd.DataFrame, panel: str, x: str) -> str:
    """Says what the curves show: every value."""
    parts = []
    for (name, who), line in frame.groupby([panel, "who"], sort=False):
        values = ", ".join(f"{number(row['value'])} at {row[x]:g}" for row in line.sort_values(x).to_dict("records"))
        parts.append(f"{name}, {who}: {values}")
    return "; ".join(parts)
