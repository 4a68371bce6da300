"""Series over time as small multiples: every trial, or what was watched in one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from benchbook.plots.panels import Panels, line_panels
from benchbook.plots.style import (
    COLOURS,
    COLUMNS,
    PANEL_WIDTH,
    PUBLISHED,
    Look,
    laid_out,
    legend,
    looks,
    short_numbers,
    styled,
)

# Of a figure of every trial (inches): its panels share it, however many stand in a row.
_WIDTH = 9.3
_HEIGHT = 1.6
# Characters of a label beside a single row.
_SHORT_LABEL = 20
# Above the lines of a panel there is room for a legend of two rows.
_HEADROOM = 1.4
# Steps between ticks, at most; and how long they may be, times a power of ten.
_TICKS_ALONG, _TICKS_UP, _STEPS = 5, 4, (1, 2, 2.5, 5, 10)
# Names from this length on stand two in a row.
_LONG = 15
# Lines of many samples, with marks as small as they are.
_SMALL: Mapping[str, Any] = {"markersize": 3.5, "linewidth": 1, "markeredgewidth": 0}


@styled()
def time_series(frame: pd.DataFrame, *, row: str, column: str, label: str, since: str = "the load") -> Figure:
    """Small multiples: a panel per (row, column), a line per repetition.

    `frame`: [row, column, repetition, t (s since `since` began), value]. Rows in their order of appearance, columns
    sorted; a row's scales are shared.
    """
    data = frame.assign(place=_places(frame, row, column), repetition="repetition " + frame.repetition.astype(str))
    shown = looks(sorted(set(data.repetition), key=lambda name: int(name.split()[-1])))
    across = max(3, int(data.place.max()) + 1)
    facets = {"row": row, "row_order": list(dict.fromkeys(data[row])), "col": "place", "col_order": list(range(across))}
    size = {"height": _HEIGHT, "aspect": _WIDTH / across / _HEIGHT, "sharex": False, "sharey": False}
    grid = line_panels(data, {**facets, **size}, x="t", y="value", by="repetition", shown=shown, **_SMALL)
    for (name, place), axis in grid.axes_dict.items():
        part = data[(data[row] == name) & (data.place == place)]
        axis.set_visible(not part.empty)
        if not part.empty:
            whole = data[data[row] == name]
            axis.set(xlim=(0, _top(whole.t)), ylim=(0, _top(whole.value)))
            axis.tick_params(labelleft=place == 0)
            axis.set_title(f"{name}, {column} {_plain(part[column].iloc[0])}", fontsize=8)
    # Of more lines than there are looks two have one: a legend would tell nothing apart.
    if len(shown) <= len(COLOURS):
        legend(grid.figure, shown, where="outside upper center")
    # One row of panels is less high than a label is long.
    grid.figure.supylabel(label if len(facets["row_order"]) > 1 else fill(label, _SHORT_LABEL), fontsize=9)
    return _timed(grid, f"time since {since} began (s)")


def _top(values: pd.Series[float]) -> float:
    """A little above the highest mark; above zero where nothing happened, or nothing was sampled."""
    top = float(values.max())
    return 1.08 * (top if top > 1e-9 else 1e-9)


def _places(frame: pd.DataFrame, row: str, column: str) -> pd.Series[int]:
    """The column of each line's panel: levels sorted within their row, so that no row has holes."""
    return frame.groupby(row, sort=False)[column].rank(method="dense").astype(int) - 1


def _plain(level: Any) -> str:
    return level if isinstance(level, str) else f"{level:g}"


@styled()
def watched(frame: pd.DataFrame, *, ends: Mapping[str, float], since: str) -> Figure:
    """What was watched during some trials: panels two in a row, a block of them per trial, a line per metric.

    `frame`: [trial, panel, line, t (s since `since` began), value]; a line's name stands in one panel only, and every
    panel has a value. `ends`: when the load of each trial ended (s), marked in its panels.
    """
    data = _in_blocks(frame)
    shown = _looks_within(frame, list(dict.fromkeys(frame.panel)))
    facets = {"row": "block", "row_order": sorted(set(data.block)), "col": "side", "col_order": sorted(set(data.side))}
    size = {"height": 1.9, "aspect": PANEL_WIDTH / 1.9, "sharex": False, "sharey": False}
    grid = line_panels(data, {**facets, **size}, x="t", y="value", by="line", shown=shown, **_SMALL)
    for (block, side), axis in grid.axes_dict.items():
        part = data[(data.block == block) & (data.side == side)]
        axis.set_visible(not part.empty)
        if not part.empty:
            trial = part.trial.iloc[0]
            _watched_panel(axis, part, shown, ends[str(trial)])
            # One time axis for all that was watched in a trial, with room for the last mark.
            axis.set_xlim(0, _top(pd.concat([data[data.trial == trial].t, pd.Series([ends[str(trial)]])])))
    return _timed(grid, f"time since {since} began (s)")


def _in_blocks(frame: pd.DataFrame) -> pd.DataFrame:
    """With `block` and `side`, the row and the place in it of each line's panel: a trial begins in a row of its own.

    Where every trial has one panel, the trials themselves stand two in a row.
    """
    pairs = frame[["trial", "panel"]].drop_duplicates().assign(order=lambda all_: all_.groupby("trial").cumcount())
    if pairs.order.max() == 0:
        pairs["order"] = range(len(pairs))
        pairs["block"] = pairs.order // COLUMNS
    else:
        rows = pairs.groupby("trial", sort=False).order.max() // COLUMNS + 1
        pairs["block"] = pairs.trial.map(rows.cumsum() - rows).astype(int) + pairs.order // COLUMNS
    pairs["side"] = pairs.order % COLUMNS
    return frame.merge(pairs[["trial", "panel", "block", "side"]], on=["trial", "panel"])


def _looks_within(frame: pd.DataFrame, panels: Sequence[str]) -> dict[str, Look]:
    """Each panel's lines begin with the first colour again."""
    found: dict[str, Look] = {}
    for panel in panels:
        found |= looks(frame[frame.panel == panel].line)
    return found


def _watched_panel(axis: Axes, part: pd.DataFrame, shown: Mapping[str, Look], end: float) -> None:
    axis.axvline(end, color=PUBLISHED, linewidth=0.9, linestyle=":")
    axis.set_title(f"{part.trial.iloc[0]}: {part.panel.iloc[0]}", fontsize=8)
    names = list(dict.fromkeys(part.line))
    axis.set_ylim(0, _top(part.value) * (_HEADROOM if len(names) > 1 else 1.0))
    short_numbers(axis)
    if len(names) > 1:
        looked = [(name, shown[name]) for name in names]
        handles = [Line2D([], [], color=look.colour, marker=look.marker, markersize=3, label=n) for n, look in looked]
        across = 3 if max(map(len, names)) < _LONG else 2
        small = {"fontsize": 7, "frameon": False, "borderpad": 0, "columnspacing": 1.0}
        # The panel keeps its width, whatever is written in it.
        axis.legend(handles=handles, loc="upper left", ncols=across, **small).set_in_layout(False)


def _timed(grid: Panels, label: str) -> Figure:
    """Time and values from zero, one label for all time axes."""
    grid.set_axis_labels("", "")
    for axis in grid.axes.flat:
        axis.set_xlim(left=0)
        axis.set_ylim(bottom=0)
        # A tick and its label are most of what a small panel takes to draw.
        axis.xaxis.set_major_locator(MaxNLocator(_TICKS_ALONG, steps=_STEPS))
        axis.yaxis.set_major_locator(MaxNLocator(_TICKS_UP, steps=_STEPS))
        short_numbers(axis)
    grid.figure.supxlabel(label, fontsize=9)
    return laid_out(grid.figure)
