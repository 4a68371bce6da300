"""Published beside measured: one metric over a level, or several metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullLocator

from benchbook.analysis.beside import curves_apart, few_points, levels_of
from benchbook.analysis.cpu_use import FULL
from benchbook.analysis.formatting import number
from benchbook.analysis.schema import check_numbers
from benchbook.plots.output import described, nothing
from benchbook.plots.style import facets, looks, short_numbers, styled, titled
from benchbook.plots.values import NO_VALUE
from benchbook.user_input.choices import one_of

# An interval may stretch a panel by this factor beyond its values; what reaches further ends in an arrow.
_STRETCH_LOG, _STRETCH = 8.0, 1.6
# From this step on between neighbouring levels they are set apart evenly, on a log scale.
_DOUBLING = 1.4
# Points from the name of a line to the next one's.
_LINE = 9.0
# Panels that leave room for the names of their lines.
_ASPECT = 1.6
_SHADE = "#fbeedd"


def levels(
    beside: pd.DataFrame,
    metric: str,
    *,
    x: str,
    panel: str,
    normalised: bool = False,
    trials: pd.DataFrame | None = None,
) -> Figure:
    """Draw published and measured `metric` against level `x`, a panel per `panel`, with 95% intervals.

    `beside`: as `report.beside_frame()`. The y axis is logarithmic; normalised, each curve is divided by its value at
    the lowest x, so that shapes can be compared across hardware, and the reader of a page may choose between the two.
    Where other levels were run than published ones (column `<x>_run`), the axis names both. Panels in which nothing was
    measured are left out. `trials`, as `report.trials()`: levels at which a host's cores were full are shaded. Raise
    BadInput for a name that the frame does not have.
    """
    for name in (panel, "published", "measured"):
        one_of(name, beside.columns, "column")
    check_numbers(beside, x)
    one_of(metric, sorted(set(beside.metric)), "metric")
    frame = beside[(beside.metric == metric) & beside[x].notna()]
    frame = frame.assign(full=_full(frame, trials))
    frame = curves_apart(frame, x=x, panel=panel, levels=levels_of(beside))
    frame = frame[frame[panel].isin(frame[frame.measured.notna()][panel])]
    if frame.empty:
        return nothing(f"No {metric} was measured.")
    points, left_out = few_points(_points(frame.assign(panel=frame[panel].astype(str)), x), x)
    gains = _gains(points).groupby("who", sort=False).gain.agg(["min", "max"])
    found = [f"{who} {' to '.join(dict.fromkeys(map(_times, ends)))}" for who, *ends in gains.itertuples()]
    title = f"{metric}, highest over lowest {x.replace('_', ' ')}: {', '.join(found)}"
    title = title if points.panel.nunique() > 1 and 0 < len(found) < 4 else ""
    label = metric if frame.unit.iloc[0] in ("", "1") else f"{metric} ({frame.unit.iloc[0]})"
    what = f"Dashed: published. Solid: measured, mean with 95% interval over repetitions. {left_out}"
    what = f"{what} {_levels_here(beside, x)}".strip()
    if points.full.any():
        what = f"{what} Shaded: levels at which the run used at least {FULL:.0%} of the cores of a host."

    def drawn(points: pd.DataFrame, name: str, how: str, absolute: Figure | None = None) -> Figure:
        lines, said = _lines(points, x=x, label=name, log=absolute is None, title=title), f"{label} against {x}, {how}."
        return described(lines, f"{said} {in_words(points, x, ends=True)}.", f"{said} {what}", absolute=absolute)

    absolute = drawn(points, label, "absolute, log scale")
    how = f"each curve relative to its value at the lowest {x}"
    return drawn(normalise(points, x), f"{metric}, relative", how, absolute) if normalised else absolute


def measures(beside: pd.DataFrame, metrics: Sequence[str], *, x: str) -> Figure:
    """Draw several metrics against level `x`, published and measured, a panel per metric, log scales, 95% intervals.

    `beside`: `report.beside_frame()`, of one table. Raise BadInput for a name that the frame does not have.
    """
    check_numbers(beside, x, "published", "measured")
    for metric in metrics:
        one_of(metric, sorted(set(beside.metric)), "metric")
    frame = beside[beside.metric.isin(metrics) & beside[x].notna()]
    if not frame.measured.notna().any():
        return nothing("This table was not measured in this campaign.")
    titles = beside.attrs.get("titles", {})
    frame = frame.assign(panel=[f"{titles.get(m, m)} ({u})" for m, u in zip(frame.metric, frame.unit, strict=True)])
    points = _points(pd.concat([frame[frame.metric == metric] for metric in metrics]), x)
    # A log scale has no place for a zero.
    points = points[points.value > 0]
    return described(
        _lines(points, x=x, label="", log=True),
        f"Against {x}. {in_words(points, x, ends=False)}.",
        "Dashed: published. Solid: measured, mean with 95% interval over repetitions (none with one). "
        f"On other hardware compare shapes. {_levels_here(beside, x)}".strip(),
    )


def _levels_here(beside: pd.DataFrame, x: str) -> str:
    """Say which levels were run, where the axis does not."""
    return "" if f"{x}_run" in beside else str(beside.attrs.get("scaled", ""))


def _full(frame: pd.DataFrame, trials: pd.DataFrame | None) -> Any:
    """Return for each row whether the run filled the cores of a host there, by the mean over the cell's trials."""
    if trials is None:
        return False
    ran = {name: f"{name}_published" if f"{name}_published" in trials else name for name in levels_of(frame)}
    keys = ["table", "system", *(name for name in ran if ran[name] in trials)]
    own = trials.assign(**{name: trials[ran[name]] for name in keys[2:]}).astype(dict.fromkeys(keys, object))
    shares = own.groupby(keys, dropna=False).own_share.mean().reset_index()
    return (frame[keys].astype(object).merge(shares, "left", keys).own_share >= FULL).to_numpy()


def _points(frame: pd.DataFrame, x: str) -> pd.DataFrame:
    """Return [panel, x, run, who, value, low, high, full] with a line per system, and the published one once."""
    run = frame[f"{x}_run"] if f"{x}_run" in frame else frame[x]
    frame = frame.assign(run=run, full=frame.get("full", False))
    printed = frame.assign(who="published", value=frame.published, low=np.nan, high=np.nan, full=False)
    measured = frame.assign(who=frame.system.astype(str), value=frame.measured)
    points = pd.concat([printed, measured], ignore_index=True)[
        ["panel", x, "run", "who", "value", "low", "high", "full"]
    ]
    points = points.dropna(subset="value").drop_duplicates(["panel", x, "who"])
    numbers = {"value": float, "low": float, "high": float}
    places = {name: place for place, name in enumerate(dict.fromkeys(frame.panel))}
    order = points.assign(place=points.panel.map(places), last=points.who != "published")
    return points.loc[order.sort_values(["place", "last", "who", x], kind="stable").index].astype(numbers)


@styled()
def _lines(points: pd.DataFrame, *, x: str, label: str, log: bool, title: str = "") -> sns.FacetGrid:
    names = sorted(set(points.who), key=lambda who: (who != "published", who))
    panels = list(dict.fromkeys(points.panel))
    grid = sns.relplot(
        points, kind="line", x=x, y="value", hue="who", style="who", col="panel", col_order=panels, errorbar=None,
        legend=False, **looks(names), **facets(len(panels), aspect=_ASPECT),
    )  # fmt: skip
    colours, gains = looks(names)["palette"], _gains(points)
    for name, axis in grid.axes_dict.items():
        part = points[points.panel == name]
        for line, who in zip(axis.lines, [who for who in names if who in set(part.who)], strict=True):
            line.set_label(who)
        _value_axis(axis, part, log=log)
        _intervals(axis, part, x, colours)
        _level_axis(axis, part, x)
        _shade(axis, part, x)
    scaled = (points.run.notna() & (points.run != points[x])).any()
    level = f"{x.replace('_', ' ')}{' (run here)' if scaled else ''}"
    titled(grid.set_titles("{col_name}").set_axis_labels(level, label), title)
    for name, axis in grid.axes_dict.items():
        mine = gains[gains.panel == name].set_index("who").gain.map(_times)
        _name_lines(axis, points[points.panel == name], x, colours, mine)
    return grid.tight_layout()


def _name_lines(axis: Axes, part: pd.DataFrame, x: str, colours: dict[str, Any], gains: pd.Series[str]) -> None:
    """Write beside the panel what each line is, and its gain, as high as its last point and none over another."""
    ends = part.groupby("who", sort=False).tail(1)
    pixels = axis.transData.transform(ends[[x, "value"]].astype(float))
    ends = ends.assign(at=72 / axis.figure.dpi * pixels[:, 1]).sort_values("at")
    steps = _LINE * np.arange(len(ends))
    places = np.maximum.accumulate(ends["at"] - steps) + steps
    moves = places - ends["at"] - (places - ends["at"]).mean()
    for who, value, move in zip(ends.who, ends.value, moves, strict=True):
        # Darker than the line, which is thicker than letters are.
        ink = tuple(0.7 * part for part in to_rgb(colours[who]))
        axis.annotate(
            f"{who} {gains.get(who, '')}".strip(), (1, value), xycoords=("axes fraction", "data"), xytext=(4, move),
            textcoords="offset points", va="center", color=ink, fontsize=7.5,
        )  # fmt: skip


def _shade(axis: Axes, part: pd.DataFrame, x: str) -> None:
    """Shade the levels at which cores were full, each halfway to the next."""
    scale, (left, right) = axis.xaxis.get_transform(), axis.get_xlim()
    places = scale.transform(ticks := np.unique(part[x].astype(float)))
    edges = [left, *scale.inverted().transform((places[1:] + places[:-1]) / 2), right]
    for level, low, high in zip(ticks, edges, edges[1:], strict=False):
        if level in set(part[x][part.full]):
            axis.axvspan(low, high, color=_SHADE, linewidth=0, zorder=0)
    axis.set_xlim(left, right)


def _gains(points: pd.DataFrame) -> pd.DataFrame:
    """Return [panel, who, gain]: the last value of each curve over its first, what came of the most over the fewest."""
    ends = points.groupby(["panel", "who"], sort=False).value.agg(["first", "last", "size"]).reset_index()
    ends = ends[(ends["size"] > 1) & (ends["first"] > 0)]
    return ends.assign(gain=ends["last"] / ends["first"])[["panel", "who", "gain"]]


def _times(ratio: float) -> str:
    return f"×{ratio:.2g}" if ratio < 99.5 else f"×{ratio:,.0f}"


def normalise(points: pd.DataFrame, x: str) -> pd.DataFrame:
    """Divide each curve by its own value at its lowest x; intervals hold the spread of both, the lowest x has none.

    Relative half-widths add in quadrature: the delta method for the logarithm of a ratio of independent means (Oehlert,
    "A Note on the Delta Method", American Statistician 46(1), 1992).
    """
    parts = []
    for _, line in points.sort_values(x, kind="stable").groupby(["panel", "who"], sort=False):
        half = (line.high - line.low) / 2 / line.value
        both = (half**2 + half.iloc[0] ** 2) ** 0.5
        both.iloc[0] = np.nan
        ratio, reach = line.value / line.value.iloc[0], np.exp(both)
        parts.append(line.assign(value=ratio, low=ratio / reach, high=ratio * reach))
    return pd.concat(parts).loc[points.index] if parts else points


def doubling(steps: Sequence[float]) -> bool:
    """Return whether every level is so far above the one before that only a log scale sets them apart."""
    known = np.unique(np.asarray(steps, dtype=float))
    return len(known) > 1 and bool(known[0] > 0) and bool((known[1:] / known[:-1] >= _DOUBLING).all())


def _level_axis(axis: Axes, part: pd.DataFrame, x: str) -> None:
    """Put a tick at each published level, and below it what was run for it, where that is another one."""
    if doubling(sorted(set(part[x]))):
        axis.set_xscale("log", base=2)
    run = part.dropna(subset="run").drop_duplicates(x).set_index(x).run
    ticks = sorted(set(part[x]))
    scaled = any(run.get(level, level) != level for level in ticks)
    texts = [f"{_level(v)}\n({_level(run.get(v, v))})" if scaled else _level(v) for v in ticks]
    axis.set_xticks(ticks, texts, minor=False)
    axis.xaxis.set_minor_locator(NullLocator())


def _level(value: float) -> str:
    return f"{value:,.6g}" if value < 10_000 else str(EngFormatter(sep="")(value))


def _value_axis(axis: Axes, part: pd.DataFrame, *, log: bool) -> None:
    """Let the range follow the values, and their intervals as far as these do not dwarf the values."""
    least, most = part.value.min(), part.value.max()
    low, high = np.nanmin([least, part.low.min()]), np.nanmax([most, part.high.max()])
    if not log:
        axis.set_ylim(0, 1.1 * min(high, _STRETCH * most))
        short_numbers(axis)
        return
    axis.set_yscale("log")
    axis.set_ylim(max(low, least / _STRETCH_LOG) / 1.5, min(high, most * _STRETCH_LOG) * 1.5)
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(FuncFormatter(_short))
    axis.yaxis.set_minor_locator(NullLocator())


def _short(value: float, _: object) -> str:
    return f"{value:g}" if value < 1000 else str(EngFormatter(sep="")(value))


def _intervals(axis: Axes, part: pd.DataFrame, x: str, colours: dict[str, Any]) -> None:
    """Draw bars from low to high; an end outside of the panel is an arrow at its edge."""
    bottom, top = axis.get_ylim()
    # Down to zero is the end of a linear axis and no cut.
    least = bottom if bottom > 0 else -np.inf
    for who, line in part.dropna(subset=["low", "high"]).groupby("who", sort=False):
        low, high = line.low.clip(lower=bottom), line.high.clip(upper=top)
        reach = np.vstack([line.value - low, high - line.value])
        axis.errorbar(line[x], line.value, yerr=reach, fmt="none", ecolor=colours[str(who)], elinewidth=1.2, capsize=3)
        for cut, edge, arrow in ((line.low < least, bottom, "v"), (line.high > top, top, "^")):
            if cut.any():
                at, colour = line[x][cut], colours[str(who)]
                axis.plot(at, [edge] * len(at), arrow, color=colour, markersize=5, clip_on=False, label=NO_VALUE)


def in_words(points: pd.DataFrame, x: str, *, ends: bool) -> str:
    """Say what the curves show: every value, or with `ends` the first and the last; a lone point once."""
    parts = []
    for (name, who), line in points.groupby(["panel", "who"], sort=False):
        shown = line.sort_values(x).iloc[[0, -1]] if ends and len(line) > 1 else line
        values = [f"{number(value)} at {at:g}" for at, value in zip(shown[x], shown.value, strict=True)]
        parts.append(f"{name}, {who}: {(' to ' if ends else ', ').join(values)}")
    return "; ".join(parts)
