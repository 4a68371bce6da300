"""The DDT report's figures: CPU or memory against documents/s, the heat map over cache and threads, every trial."""

from __future__ import annotations

import math
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from benchbook.plots.panels import COLOURS, MARKERS, handles_of, panels


def scatter(frame: pd.DataFrame, label: str) -> Figure:
    """A panel for what was published and one per engine; a colour and a mark per cache, threads beside marks.

    `frame`: [who, cache, threads, qps, value]. Each panel has its own scales: only the shape can be compared.
    """
    names = list(dict.fromkeys(frame.who))
    figure, axes = panels(len(names), height=3.0)
    for axis, who in zip(axes, names, strict=True):
        _scatter_panel(axis, frame[frame.who == who], str(who))
        axis.set_xlabel("documents/s")
    axes[0].set_ylabel(label)
    handles, labels = handles_of(axes)
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _scatter_panel(axis: Axes, part: pd.DataFrame, title: str) -> None:
    for colour, marker, (cache, mine) in zip(COLOURS, MARKERS, part.groupby("cache"), strict=False):
        axis.scatter(mine.qps, mine.value, color=colour, marker=marker, label=f"cache {cache} x {cache}")
    for x, y, text in _apart(part):
        axis.annotate(text, (x, y), textcoords="offset points", xytext=(4, 4), fontsize=7)
    axis.set_title(title)
    axis.set_xlim(0, 1.2 * part.qps.max())
    axis.set_ylim(0, 1.2 * max(float(part.value.max()), 1e-9))
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    axis.yaxis.set_major_formatter(EngFormatter(sep=""))


def _apart(part: pd.DataFrame) -> list[tuple[float, float, str]]:
    """The marks whose labels do not cover another: one that lies close to an earlier one goes without."""
    kept: list[tuple[float, float, str]] = []
    wide, high = 0.12 * part.qps.max(), 0.06 * part.value.max()
    for row in part.sort_values("qps", ascending=False).to_dict("records"):
        if all(abs(row["qps"] - x) > wide or abs(row["value"] - y) > high for x, y, _ in kept):
            kept.append((row["qps"], row["value"], row["threads"]))
    return kept


def heat_map(frame: pd.DataFrame) -> Figure:
    """A panel for what was published and one per engine: caches down, threads across, each cell with its interval.

    `frame`: [who, cache, threads, value, low, high]; each panel has its own colour scale.
    """
    names, threads = list(dict.fromkeys(frame.who)), _by_size(frame.threads)
    figure, axes = panels(len(names), height=2.4)
    for axis, who in zip(axes, names, strict=True):
        _heat_panel(axis, frame[frame.who == who], sorted(set(frame.cache)), threads, str(who))
    axes[0].set_ylabel("cache")
    return figure


def _by_size(threads: pd.Series[str]) -> list[str]:
    return sorted(set(threads), key=lambda text: [int(word) for word in text.split("/")])


def _heat_panel(axis: Axes, part: pd.DataFrame, caches: list[int], threads: list[str], title: str) -> None:
    grid = part.pivot(index="cache", columns="threads", values="value").reindex(index=caches, columns=threads)
    values = grid.to_numpy(dtype=float)
    axis.imshow(values, cmap="Blues", aspect="auto", vmin=0.5 * np.nanmin(values), vmax=1.1 * np.nanmax(values))
    middle = 0.8 * float(np.nanmax(values))
    for row in part.to_dict("records"):
        x, y = threads.index(row["threads"]), caches.index(row["cache"])
        colour = "white" if row["value"] > middle else "black"
        axis.text(
            x, y, _in_cell(row["value"], row["low"], row["high"]), ha="center", va="center", fontsize=7, color=colour
        )
    axis.grid(visible=False)
    axis.set_title(title)
    axis.set_xlabel("threads, source/target")
    axis.set_xticks(range(len(threads)), threads)
    axis.set_yticks(range(len(caches)), [f"{cache} x {cache}" for cache in caches])


def _in_cell(value: float, low: float | None, high: float | None) -> str:
    short = EngFormatter(places=1, sep="")
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return short(value)
    return f"{short(value)}\n±{short((high - low) / 2)}"


def time_series(frame: pd.DataFrame, label: str) -> Figure:
    """Small multiples, caches down and threads across, a line per repetition.

    `frame`: [cache, threads, repetition, t, value].
    """
    caches, threads = list(dict.fromkeys(frame.cache.sort_values())), _by_size(frame.threads)
    figure, axes = panels(len(caches) * len(threads), columns=len(threads), width=2.3, height=1.6)
    for index, axis in enumerate(axes):
        cache, pair = caches[index // len(threads)], threads[index % len(threads)]
        part = frame[(frame.cache == cache) & (frame.threads == pair)]
        if part.empty:
            axis.set_visible(False)
            continue
        _series_panel(axis, part, f"{cache}, {pair}", float(frame.value.max()))
    figure.supylabel(label, fontsize=9)
    figure.supxlabel("time since copying began (s)", fontsize=9)
    return figure


def _series_panel(axis: Axes, part: pd.DataFrame, title: str, top: float) -> None:
    for colour, (_, line) in zip(cycle(COLOURS), part.groupby("repetition"), strict=False):
        axis.plot(line.t, line.value, color=colour, marker=".", markersize=4, linewidth=1)
    axis.set_title(title, fontsize=8)
    axis.set_ylim(0, 1.1 * max(top, 1e-9))
    if top >= 1000:
        axis.yaxis.set_major_formatter(EngFormatter(sep=""))
