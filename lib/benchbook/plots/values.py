"""The values of a drawn figure and where they stand in it: a page tells them on hover and tap, and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator

# Vertices of a line, and marks of a figure: a pointer finds no more of them, and a page stays light.
MOST_OF_A_LINE, MOST = 100, 1_500
# The label of a line that only points out of its panel: an arrow at the end of a cut interval.
ARROW = "_arrow"


def values(figure: Figure) -> list[dict[str, Any]]:
    """Return a series per line and colour: `panel`, `name` (of the legend), `x` and `y` (the axes' labels), `marks`.

    A mark: across and down in thousandths of the picture, its value on either axis (or the text of its tick), and the
    ends of its interval, if there is one. Empty for a figure of more than MOST marks. The figure is read as
    `savefig(bbox_inches="tight")` writes it.
    """
    figure.draw_without_rendering()
    box = figure.get_tightbbox().padded(mpl.rcParams["savefig.pad_inches"])
    names = _names(figure)
    labels = {
        "x": next(filter(None, (axis.get_xlabel() for axis in figure.axes)), figure.get_supxlabel()),
        "y": next(filter(None, (axis.get_ylabel() for axis in figure.axes)), figure.get_supylabel()),
    }
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for number, axis in enumerate(figure.axes):
        title = (axis.get_title() or axis.get_title(loc="left")).split("\n")[0]
        intervals = dict(_intervals(axis))
        for colour, x, y in chain(_of_lines(axis), _of_dots(axis)):
            pixel = axis.transData.transform((x, y))
            if not (np.isfinite(pixel).all() and axis.bbox.padded(1).contains(*pixel)):
                continue
            across, down = pixel / figure.dpi
            place = [(across - box.x0) / box.width, (box.y1 - down) / box.height]
            mark = [*(round(1000 * each) for each in place), _told(axis.xaxis, x), _told(axis.yaxis, y)]
            mark += intervals.get((colour, x), [])
            series = {"panel": title, "name": names.get(colour, ""), **labels, "marks": []}
            found.setdefault((number, colour), series)["marks"].append(mark)
    return list(found.values()) if sum(len(each["marks"]) for each in found.values()) <= MOST else []


def _names(figure: Figure) -> dict[str, str]:
    """Return what the legends call each colour: "tidb", "repetition 2"."""
    found = {}
    for legend in [*figure.legends, *filter(None, (axis.get_legend() for axis in figure.axes))]:
        title = legend.get_title().get_text()
        for handle, text in zip(legend.legend_handles, (each.get_text() for each in legend.texts), strict=False):
            if isinstance(handle, Line2D):
                found[to_hex(handle.get_color())] = f"{title} {text}" if title and text[:1].isdigit() else text
    return found


def _of_lines(axis: Axes) -> Iterator[tuple[str, float, float]]:
    caps = [cap for each in axis.containers if isinstance(each, ErrorbarContainer) for cap in each.lines[1]]
    for line in (each for each in axis.lines if each not in caps):
        x, y = (np.asarray(each, dtype=float) for each in line.get_data())
        marked = line.get_marker() not in ("None", "", " ", None)
        # Without marks, two points are the line of no effect, or an interval.
        if line.get_transform() != axis.transData or line.get_label() == ARROW or not (marked or len(x) > 2):
            continue
        # A curve is read at its ticks, if these are named (p99), else at so many places.
        if not marked and ((named := _is_named(axis.xaxis)) or len(x) > MOST_OF_A_LINE):
            ticks = axis.get_xticks() if named else np.linspace(x.min(), x.max(), MOST_OF_A_LINE)
            order = np.argsort(x, kind="stable")
            ticks = ticks[ticks >= x.min()]
            y = y[order][np.searchsorted(x[order], ticks, side="right") - 1]
            x = ticks
        yield from ((to_hex(line.get_color()), float(one), float(other)) for one, other in zip(x, y, strict=True))


def _of_dots(axis: Axes) -> Iterator[tuple[str, float, float]]:
    for dots in axis.collections:
        if isinstance(dots, PathCollection):
            faces, edges = np.asarray(dots.get_facecolor()), np.asarray(dots.get_edgecolor())
            for number, (x, y) in enumerate(np.asarray(dots.get_offsets())):
                face = faces[number % len(faces)] if len(faces) else (1, 1, 1)
                hollow = to_hex(face) == "#ffffff" and len(edges)
                yield to_hex(edges[number % len(edges)] if hollow else face), float(x), float(y)


def _intervals(axis: Axes) -> Iterator[tuple[tuple[str, float], list[float]]]:
    """Return the ends of each vertical error bar, by its colour and place; not of one that the panel cuts."""
    edges = axis.get_ylim()
    for container in axis.containers:
        for bars in container.lines[2] if isinstance(container, ErrorbarContainer) else ():
            for (x, low), (end, high) in bars.get_segments():
                if x == end and low not in edges and high not in edges:
                    yield (to_hex(np.asarray(bars.get_color())[0]), float(x)), [_short(low), _short(high)]


def _is_named(axis: Axis) -> bool:
    """Whether ticks have texts of their own, as a level that was run for another one."""
    if not isinstance(axis.get_major_locator(), FixedLocator):
        return False
    texts = [label.get_text() for label in axis.get_ticklabels()]
    return any(text and text != f"{at:g}" for text, at in zip(texts, axis.get_ticklocs(), strict=False))


def _told(axis: Axis, value: float) -> str | float:
    if _is_named(axis):
        ticks = axis.get_ticklocs()
        nearest = int(np.abs(ticks - value).argmin())
        # Rows are counted, and two marks of one row stand apart.
        rows = np.array_equal(ticks, np.arange(len(ticks)))
        if abs(ticks[nearest] - value) < (0.5 if rows else 1e-9 * abs(value)) or ticks[nearest] == value:
            return " ".join(axis.get_ticklabels()[nearest].get_text().split())
    return _short(value)


def _short(value: float) -> float:
    return float(f"{value:.6g}")
