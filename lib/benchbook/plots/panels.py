"""Figures: made to be read beside the published ones. Each is drawn from tables alone and shown with its alt text."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FixedLocator, LogLocator, NullLocator

# Okabe & Ito (2008), Color Universal Design: told apart with any colour vision; markers differ as well.
PUBLISHED = "#555555"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
MARKERS = ("o", "D", "^", "v")
DPI = 110
# Two panels side by side stay readable on a phone.
COLUMNS = 2

STYLE: dict[Any, Any] = {
    "figure.dpi": DPI,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
}


def show(figure: Figure, alt: str, caption: str, *, save_as: Path | None = None) -> HTML:
    """The figure as a picture with alt text and caption, for a notebook's output; `save_as` keeps it as a PNG too."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, bbox_inches="tight", metadata={"Description": alt})
    plt.close(figure)
    if save_as is not None:
        save_as.parent.mkdir(parents=True, exist_ok=True)
        save_as.write_bytes(buffer.getvalue())
    picture = base64.b64encode(buffer.getvalue()).decode()
    return HTML(
        f'<figure class="bb-figure"><img alt="{html.escape(alt, quote=True)}" style="max-width:100%" '
        f'src="data:image/png;base64,{picture}"><figcaption>{html.escape(caption)}</figcaption></figure>'
    )


def panels(count: int, *, columns: int = COLUMNS, width: float = 3.5, height: float = 2.5) -> tuple[Figure, list[Axes]]:
    """A grid with at least `count` panels; those beyond are hidden."""
    rows = -(-count // columns)
    with mpl.rc_context(STYLE):
        figure, grid = plt.subplots(
            rows, columns, figsize=(width * columns, height * rows), squeeze=False, layout="constrained"
        )
    axes = list(grid.flat)
    for spare in axes[count:]:
        spare.set_visible(False)
    return figure, axes[:count]


def curves(
    frame: pd.DataFrame,
    *,
    panel: str,
    x: str,
    metric_label: str,
    x_label: str,
    normalised: bool = False,
    log: bool = True,
) -> Figure:
    """One panel per value of `panel`: published and measured `value` against `x`, with intervals.

    `frame`: [panel, x, who ("published" or a system), value, low, high]. Normalised = divided by the value at the
    lowest x, so that shapes can be compared across hardware; its interval is divided likewise.
    """
    names = list(dict.fromkeys(frame[panel]))
    figure, axes = panels(len(names))
    data = normalise(frame, panel, x) if normalised else frame
    for axis, name in zip(axes, names, strict=True):
        _curve_panel(axis, data[data[panel] == name], x, str(name), log=log and not normalised)
        axis.set_xlabel(x_label)
    for axis in axes[::COLUMNS]:
        axis.set_ylabel(f"{metric_label},\nrelative to lowest {x}" if normalised else metric_label)
    handles, labels = handles_of(axes)
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def normalise(frame: pd.DataFrame, panel: str, x: str) -> pd.DataFrame:
    """Each curve divided by its own value at its lowest x."""
    parts = []
    for _, part in frame.groupby([panel, "who"], sort=False):
        base = part.sort_values(x).value.iloc[0]
        parts.append(part.assign(value=part.value / base, low=part.low / base, high=part.high / base))
    return pd.concat(parts, ignore_index=True) if parts else frame


def _curve_panel(axis: Axes, part: pd.DataFrame, x: str, title: str, *, log: bool) -> None:
    for index, (who, line) in enumerate(_published_first(part)):
        ordered = line.sort_values(x)
        look = _look(who, index)
        axis.errorbar(ordered[x], ordered.value, yerr=_bars(ordered), label=who, capsize=3, markersize=5, **look)
    axis.set_title(title)
    if log:
        _log_axis(axis, part)
    else:
        axis.set_ylim(0, 1.15 * part.value.max())
    axis.xaxis.set_major_locator(FixedLocator(sorted(set(part[x]))))
    axis.xaxis.set_minor_locator(NullLocator())


def _log_axis(axis: Axes, part: pd.DataFrame) -> None:
    """Ticks at 1, 2 and 5; the range follows the values, because an interval down to zero has no place on it."""
    axis.set_yscale("log")
    axis.set_ylim(part.value.min() / 2, part.value.max() * 2)
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(EngFormatter(sep=""))
    axis.yaxis.set_minor_locator(NullLocator())


def _published_first(part: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    groups = [(str(who), line) for who, line in part.groupby("who", sort=False)]
    return sorted(groups, key=lambda pair: pair[0] != "published")


def _look(who: str, index: int) -> dict[str, Any]:
    if who == "published":
        return {"color": PUBLISHED, "marker": "s", "linestyle": "--"}
    return {
        "color": COLOURS[(index - 1) % len(COLOURS)],
        "marker": MARKERS[(index - 1) % len(MARKERS)],
        "linestyle": "-",
    }


def _bars(line: pd.DataFrame) -> np.ndarray | None:
    """Distances to the interval's ends; a bound below zero is drawn to zero, a missing interval has no bar."""
    low = line.low.astype(float).clip(lower=0).fillna(line.value)
    high = line.high.astype(float).fillna(line.value)
    reach = np.vstack([line.value - low, high - line.value])
    return reach if reach.any() else None


def handles_of(axes: Sequence[Axes]) -> tuple[list[Any], list[str]]:
    """Handles and labels of all axes for one legend, each label once."""
    seen: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            seen.setdefault(label, handle)
    return list(seen.values()), list(seen)


def time_series(frame: pd.DataFrame, *, row: str, column: str, label: str) -> Figure:
    """Small multiples: a panel per (row, column), a line per repetition.

    `frame`: [row, column, repetition, t, value].
    """
    rows = list(dict.fromkeys(frame[row]))
    columns = max(3, int(frame.groupby(row)[column].nunique().max()))
    with mpl.rc_context(STYLE):
        figure, grid = plt.subplots(
            len(rows),
            columns,
            figsize=(3.1 * columns, 1.6 * len(rows)),
            squeeze=False,
            sharex="row",
            sharey="row",
            layout="constrained",
        )
    for axes, name in zip(grid, rows, strict=True):
        part = frame[frame[row] == name]
        for axis, level in zip(axes, sorted(set(part[column])), strict=False):
            _series_panel(axis, part[part[column] == level], f"{name}, {column} {level:g}")
        for axis in axes[part[column].nunique() :]:
            axis.set_visible(False)
        axes[0].set_ylim(bottom=0)
    handles, labels = handles_of(list(grid.flat))
    figure.legend(handles, labels, loc="outside upper center", ncols=6, frameon=False)
    figure.supylabel(label, fontsize=9)
    figure.supxlabel("time since the load began (s)", fontsize=9)
    return figure


def _series_panel(axis: Axes, part: pd.DataFrame, title: str) -> None:
    for colour, (repetition, line) in zip(cycle(COLOURS), part.groupby("repetition"), strict=False):
        label = f"repetition {repetition}"
        axis.plot(line.t, line.value, color=colour, marker=".", markersize=4, linewidth=1, label=label)
    axis.set_title(title, fontsize=8)
    axis.yaxis.set_major_formatter(EngFormatter(sep=""))
