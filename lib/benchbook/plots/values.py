"""The values of a drawn figure and where they stand in it: a page tells them on hover and tap, and as CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.category import StrCategoryLocator
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.dates import DateLocator, num2date
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.ticker import EngFormatter, FixedLocator

# Vertices of a line, and marks of a figure: a pointer finds no more of them, and a page stays light.
MOST_OF_A_LINE, MOST = 100, 1_500
# The label of marks that stand where their value is not: an arrow at the end of a cut interval, a dot at an edge.
NO_VALUE = "_no_value"
# The legend's name of a colour and the outline of a mark; without an outline, of a colour that has one name.
Names = dict[tuple[str, bytes], str]
# A colour, and the two ends of what is drawn in it.
Ends = tuple[str, np.ndarray[Any, Any]]


def values(figure: Figure) -> list[dict[str, Any]]:
    """Return a series per line and colour: `panel`, `name` (of the legend), `x` and `y` (the axes' labels), `marks`.

    A mark: across and down in thousandths of the picture, its value on either axis (or the text of its tick), and the
    ends of its interval, if there is one: of `x` where `y` names a row, else of `y`. Empty for a figure of more than
    MOST marks. The figure is read as `savefig(bbox_inches="tight")` writes it.
    """
    figure.draw_without_rendering()
    box = figure.get_tightbbox().padded(mpl.rcParams["savefig.pad_inches"])
    names = _names(figure)
    # Inner panels of a grid have no labels of their own.
    across_all = _common(axis.get_xlabel() for axis in figure.axes) or figure.get_supxlabel()
    up_all = _common(axis.get_ylabel() for axis in figure.axes) or figure.get_supylabel()
    found: dict[tuple[int, str, str], dict[str, Any]] = {}
    for number, axis in enumerate(figure.axes):
        title = (axis.get_title() or axis.get_title(loc="left")).split("\n")[0]
        labels = {"x": axis.get_xlabel() or across_all, "y": axis.get_ylabel() or up_all}
        rows = _is_named(axis.yaxis)
        bars = dict(_intervals(axis, _bars(axis), rows))
        # A band is of a curve: dots beside it are what it was fitted to.
        curves = bars | dict(_intervals(axis, _bands(axis), rows))
        marks = [(mark, curves) for mark in _of_lines(axis, names)] + [(mark, bars) for mark in _of_dots(axis, names)]
        for (name, colour, x, y), intervals in marks:
            pixel = axis.transData.transform((x, y))
            if not (np.isfinite(pixel).all() and axis.bbox.padded(1).contains(*pixel)):
                continue
            across, down = pixel / figure.dpi
            place = [(across - box.x0) / box.width, (box.y1 - down) / box.height]
            mark = [
                *(round(1000 * each) for each in place),
                _tick_or_number(axis.xaxis, x),
                _tick_or_number(axis.yaxis, y),
            ]
            mark += intervals.get((colour, y if rows else x), [])
            series = {"panel": title, "name": name, **labels, "marks": []}
            found.setdefault((number, colour, name), series)["marks"].append(mark)
    return list(found.values()) if sum(len(each["marks"]) for each in found.values()) <= MOST else []


def _common(labels: Iterable[str]) -> str:
    """Return the one label that there is; "" where panels have different ones."""
    found = set(filter(None, labels))
    return found.pop() if len(found) == 1 else ""


def _names(figure: Figure) -> Names:
    """Return what the legends call each colour and mark: "tidb", "repetition 2"."""
    found: Names = {}
    for legend in [*figure.legends, *filter(None, (axis.get_legend() for axis in figure.axes))]:
        title = legend.get_title().get_text()
        for handle, text in zip(legend.legend_handles, (each.get_text() for each in legend.texts), strict=False):
            if isinstance(handle, Line2D):
                colour, name = to_hex(handle.get_color()), f"{title} {text}" if title and text[:1].isdigit() else text
                found[colour, _outline(handle.get_marker())] = name
                found[colour, b""] = name if found.get((colour, b""), name) == name else ""
    return found


def _outline(marker: Any) -> bytes:
    style = MarkerStyle(marker)
    return np.asarray(style.get_path().transformed(style.get_transform()).vertices).tobytes()


def _name(names: Names, colour: str, outline: bytes) -> str:
    return names.get((colour, outline)) or names.get((colour, b""), "")


def _of_lines(axis: Axes, names: Names) -> Iterator[tuple[str, str, float, float]]:
    caps = [cap for each in axis.containers if isinstance(each, ErrorbarContainer) for cap in each.lines[1]]
    for line in (each for each in axis.lines if each not in caps):
        x, y = (np.asarray(each, dtype=float) for each in line.get_data(orig=False))
        marked = _is_marked(line)
        # Without marks, two points are the line of no effect, or an interval, as all lines are beside categories.
        drawn = marked or (len(x) > 2 and not any(map(_has_categories, (axis.xaxis, axis.yaxis))))
        if line.get_transform() != axis.transData or line.get_label() == NO_VALUE or not drawn:
            continue
        # A curve is read at its ticks, if these are named (p99), else at so many of its points.
        if not marked and ((named := _is_named(axis.xaxis)) or len(x) > MOST_OF_A_LINE):
            order = np.argsort(x, kind="stable")
            x, y = x[order], y[order]
            at = np.linspace(0, len(x) - 1, MOST_OF_A_LINE).round().astype(int)
            if named:
                ticks = axis.get_xticks()
                ticks = ticks[ticks >= x.min()]
                # 1 - 0.99 is a little more than 0.01. Of points above each other, the first one reaches the tick.
                at = np.searchsorted(x, x[np.searchsorted(x, ticks * (1 + 1e-9), side="right") - 1])
                x = ticks
            x, y = (x if named else x[at]), y[at]
        colour, label = to_hex(line.get_color()), str(line.get_label())
        name = _name(names, colour, _outline(line.get_marker()) if marked else b"")
        name = name or ("" if label.startswith("_") else label)
        yield from ((name, colour, float(one), float(other)) for one, other in zip(x, y, strict=True))


def _of_dots(axis: Axes, names: Names) -> Iterator[tuple[str, str, float, float]]:
    for dots in axis.collections:
        if isinstance(dots, PathCollection) and dots.get_label() != NO_VALUE:
            faces, edges, paths = np.asarray(dots.get_facecolor()), np.asarray(dots.get_edgecolor()), dots.get_paths()
            for number, (x, y) in enumerate(np.asarray(dots.get_offsets())):
                face = faces[number % len(faces)] if len(faces) else (1, 1, 1)
                hollow = to_hex(face) == "#ffffff" and len(edges)
                colour = to_hex(edges[number % len(edges)] if hollow else face)
                outline = np.asarray(paths[number % len(paths)].vertices).tobytes()
                yield _name(names, colour, outline), colour, float(x), float(y)


def _intervals(axis: Axes, drawn: Iterable[Ends], rows: bool) -> Iterator[tuple[tuple[str, float], list[float]]]:
    """Yield the ends of each interval by colour and place: across in rows, else upright; none that the panel cuts."""
    along, place = (0, 1) if rows else (1, 0)
    edges = axis.get_xlim() if rows else axis.get_ylim()
    # Of an interval that is not known (NaN) no end is left.
    lines = [
        ((colour, float(points[0][place])), sorted(point[along] for point in points))
        for colour, points in drawn
        if len(points) == 2 and points[0][place] == points[1][place] and np.isfinite(points).all()
    ]
    # Two lines at one place are no interval: a box and its whiskers, those inside of a violin too.
    once = Counter(at for at, _ in lines)
    for at, (low, high) in lines:
        if once[at] == 1 and low not in edges and high not in edges:
            yield at, [_rounded(low), _rounded(high)]


def _bars(axis: Axes) -> Iterator[Ends]:
    """Yield colour and two ends of each error bar, and of each line of two points without marks."""
    for container in axis.containers:
        for bars in container.lines[2] if isinstance(container, ErrorbarContainer) else ():
            yield from ((to_hex(np.asarray(bars.get_color())[0]), ends) for ends in bars.get_segments())
    for line in axis.lines:
        ends = np.asarray(line.get_data(orig=False), dtype=float).T
        if len(ends) == 2 and not _is_marked(line) and line.get_transform() == axis.transData:
            yield to_hex(line.get_color()), ends


def _bands(axis: Axes) -> Iterator[Ends]:
    for band in (each for each in axis.collections if isinstance(each, PolyCollection)):
        for path in band.get_paths():
            corners = np.asarray(path.vertices)
            for x in np.unique(corners[:, 0]):
                up = corners[corners[:, 0] == x, 1]
                yield to_hex(np.asarray(band.get_facecolor())[0]), np.array([(x, up.min()), (x, up.max())])


def _is_marked(line: Line2D) -> bool:
    return line.get_marker() not in ("None", "", " ", None)


def _has_categories(axis: Axis) -> bool:
    return isinstance(axis.get_major_locator(), StrCategoryLocator)


def _is_named(axis: Axis) -> bool:
    """Whether ticks have texts of their own: a category, or a level that was run for another one."""
    if _has_categories(axis):
        return True
    if not isinstance(axis.get_major_locator(), FixedLocator):
        return False
    texts = [label.get_text().replace("−", "-") for label in axis.get_ticklabels()]
    return any(text and text not in _as_number(at) for text, at in zip(texts, axis.get_ticklocs(), strict=False))


def _as_number(value: float) -> tuple[str, ...]:
    return f"{value:g}", f"{value:,.6g}", str(EngFormatter(sep="")(value))


def _tick_or_number(axis: Axis, value: float) -> str | float:
    if _is_named(axis):
        ticks = np.asarray(axis.get_ticklocs())
        nearest = int(np.abs(ticks - value).argmin())
        # Rows are counted, and two marks of one row stand apart.
        rows = np.array_equal(ticks, np.arange(len(ticks)))
        if abs(ticks[nearest] - value) < (0.5 if rows else 1e-9 * abs(value)) or ticks[nearest] == value:
            return " ".join(axis.get_ticklabels()[nearest].get_text().split())
    if isinstance(axis.get_major_locator(), DateLocator):
        return str(num2date(value).isoformat(" ", "seconds"))  # type: ignore[no-untyped-call]
    return _rounded(value)


def _rounded(value: float) -> float:
    """Round to six digits, a larger number to a whole one."""
    return float(round(value)) if abs(value) >= 1e6 else float(f"{value:.6g}")
