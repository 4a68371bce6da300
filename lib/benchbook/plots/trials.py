"""Trials as figures: repetitions, latency, series over time, rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator, NullLocator, StrMethodFormatter

from benchbook.analysis.samples import evenly
from benchbook.analysis.schema import check_numbers
from benchbook.campaign.max_rate import Searched, by_rate, excess
from benchbook.errors import BadInput
from benchbook.plots.output import described, nothing
from benchbook.plots.published import doubling
from benchbook.plots.style import PUBLISHED, SEQUENCE, facets, legend_below, looks, short_numbers, styled, titled
from benchbook.plots.values import NO_VALUE
from benchbook.user_input.choices import one_of

# More panels are not read: filter the frame.
MOST_PANELS = 24
# Of series, rows of panels, panels in a row, and lines in a panel.
MOST_DOWN, MOST_ACROSS, MOST_LINES = 12, 5, 7
_FEW = (
    f"Shown are {{:,}} of {{:,}} lines: at most {MOST_LINES} repetitions of a cell (least, greatest, even ranks "
    f"between), {MOST_ACROSS} panels in a row, and {MOST_DOWN} rows."
)
# Names that are told apart by colour and mark; numbers beyond these have shades.
_TOLD_APART = 10
_PERCENTILES = {0.5: "p50", 0.1: "p90", 0.01: "p99", 0.001: "p99.9", 0.0001: "p99.99"}


@styled()
def repetitions(trials: pd.DataFrame, y: str, *, x: str = "threads", panel: str = "workload") -> Figure:
    """Draw a mark per trial, those of one repetition joined along level `x`; a panel per `panel`.

    `trials`: as `report.trials()`. Where cells differ in more than x and panel, a mark is the mean of a repetition.
    """
    check_numbers(trials, y, x)
    data = _paneled(trials.dropna(subset=[y, x]), panel)
    if data.empty:
        return nothing(f"No trial has {y} and {x}.")
    most = int(data.groupby(["panel", "repetition", x], observed=True).size().max())
    grid = sns.relplot(
        data, kind="line", x=x, y=y, hue="repetition", palette=SEQUENCE, marker="o", errorbar=None, col="panel",
        legend="brief" if data.repetition.nunique() > 1 else False, **facets(data.panel.nunique()),
    )  # fmt: skip
    for name, axis in grid.axes_dict.items():
        _levels_along(axis, data[data.panel == name][x])
        axis.set_ylim(0, 1.06 * max(axis.dataLim.ymax, 1e-9))
        short_numbers(axis)
    label = _named_with_unit(y, str(trials.attrs.get("units", {}).get(y, "")))
    grid.set_titles("{col_name}").set_axis_labels(x.replace("_", " "), label).tight_layout()
    legend_below(grid, "repetition")
    what = "trial" if most == 1 else "repetition"
    caption = "A mark per trial" if most == 1 else f"A mark is the mean of a repetition there, of up to {most} trials"
    return described(
        grid,
        f"{y} of every {what} against {x}. {_means(data, y, x)}",
        f"{caption}; marks of one repetition are joined. Parallel lines: a repetition ran on a faster or slower "
        "machine. Crossing lines: noise.",
    )


@styled()
def ecdf(histograms: pd.DataFrame, *, colour: str = "threads", panel: str = "workload") -> Figure:
    """Draw latency by percentile, both on log scales: a line per value of `colour`, a panel per `panel`.

    `histograms`: as `report.histograms()`; counts of all trials of a line are added, as percentiles must not be.
    """
    for name in ("latency_ms", "count", colour):
        one_of(name, histograms.columns, "column")
    kept = [name for name in dict.fromkeys([panel, colour, "system", "latency_ms"]) if name in histograms]
    data = histograms.groupby(kept, observed=True, sort=False)["count"].sum().reset_index()
    if data.empty:
        return nothing("No trial has a latency histogram.")
    data = _paneled(data, panel)
    names = sorted(data[colour].unique().tolist(), key=lambda value: (isinstance(value, str), value))
    palette = {"palette": looks(names)["palette"], "hue_order": names} if len(names) <= _TOLD_APART else {}
    grid = sns.displot(
        data, kind="ecdf", y="latency_ms", weights="count", hue=colour, complementary=True, col="panel",
        legend=len(names) > 1, **{"palette": SEQUENCE, **palette}, **facets(data.panel.nunique()),
    )  # fmt: skip
    for name, axis in grid.axes_dict.items():
        part = data[data.panel == name]
        fewest = 1 / part.groupby(colour, observed=True)["count"].sum().max()
        axis.set(xscale="log", yscale="log", xlim=(1, max(fewest, 1e-5)))
        ticks = [share for share in _PERCENTILES if share >= max(fewest, 1e-5)]
        axis.set_xticks(ticks, [_PERCENTILES[share] for share in ticks])
        axis.xaxis.set_minor_locator(NullLocator())
        axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    found = {
        f"{name}, {colour} {value}": _percentile(part, 0.95)
        for (name, value), part in data.groupby(["panel", colour], sort=False, observed=True)
    }
    ends = dict.fromkeys(f"{end:.3g}" for end in (min(found.values()), max(found.values())))
    grid.set_titles("{col_name}").set_axis_labels("percentile of requests", "latency (ms)")
    titled(grid, f"95% of the requests took at most {' to '.join(ends)} ms")
    legend_below(grid, colour.replace("_", " "))
    parts = "; ".join(f"{cell}: {value:.3g} ms" for cell, value in found.items())
    return described(
        grid,
        f"Latency by percentile. 95% of the requests took at most: {parts}.",
        "Latency against percentile: a step far to the right is a stall. Counts of all trials of a line are added.",
    )


def _percentile(part: pd.DataFrame, share: float) -> float:
    ordered = part.sort_values("latency_ms")
    reached = ordered["count"].cumsum() >= share * ordered["count"].sum()
    return float(ordered.latency_ms[reached].iloc[0])


@styled()
def over_time(seconds: pd.DataFrame, *, row: str = "workload", column: str = "threads", label: str = "") -> Figure:
    """Draw series of trials: a panel per `row` and `column`, a line per repetition, time since the load began.

    `seconds`: as `report.seconds()`, of one metric. Systems, tables and levels that a line would mix have rows of their
    own. Of more panels and lines than can be read, those evenly among them are shown, and the caption says so. Trials
    without a `row` or a `column` are left out. Raise BadInput where a line would mix trials, sources or hosts.
    """
    for name in (row, column, "since_s", "value"):
        one_of(name, seconds.columns, "column")
    data = seconds[seconds.since_s >= 0].dropna(subset=[row, column])
    if data.empty:
        return nothing(f"No samples of trials with {row} and {column}.")
    data = _rows_apart(_in_order(data, row), row, column)
    line = ["rows", column, "repetition"]
    lines = data.groupby(line, sort=False, observed=True).value.mean().reset_index()
    drawn = _few_lines(lines, column)
    levels = drawn[column].map(lambda level: level if isinstance(level, str) else f"{level:g}")
    panels = drawn.rows + f", {column} " + levels.astype(str)
    drawn = drawn.rename(columns={"value": "mean"}).assign(panel=panels)
    grid = sns.relplot(
        data.merge(drawn, on=line), kind="line", x="since_s", y="value", hue="repetition", palette=SEQUENCE, marker="o",
        markersize=3, linewidth=1, markeredgewidth=0, estimator=None, col="panel", col_order=drawn.panel.unique(),
        legend="brief" if drawn.repetition.nunique() > 1 else False,
        **facets(drawn.panel.nunique(), height=1.6, aspect=1.85),
    )  # fmt: skip
    for axis in grid.axes.flat:
        axis.set(xlim=(0, None), ylim=(0, 1.08 * max(axis.dataLim.ymax, 1e-9)))
        axis.xaxis.set_major_locator(MaxNLocator(5))
        axis.yaxis.set_major_locator(MaxNLocator(4))
        short_numbers(axis)
    text = label or _named_with_unit(str(data.metric.iloc[0]), str(data.unit.iloc[0]))
    grid.set_titles("{col_name}", size=8).set_axis_labels("time since the load began (s)", "")
    grid.figure.supylabel(text, fontsize=9)
    grid.tight_layout()
    legend_below(grid, "repetition")
    means = drawn.groupby("panel", sort=False)["mean"].mean()
    left_out = f" {_FEW.format(len(drawn), len(lines))}" if len(drawn) < len(lines) else ""
    return described(
        grid,
        f"{text} over time. {'; '.join(f'{panel}: mean {mean:.4g}' for panel, mean in means.items())}.",
        f"{text}, one line per repetition.{left_out}",
    )


def _rows_apart(data: pd.DataFrame, row: str, column: str) -> pd.DataFrame:
    """Add the column `rows`, the value of `row` and whatever else tells the lines of a panel apart."""
    lines = data.groupby([row, column, "repetition"], observed=True)
    single = ("trial", "metric", "source", "host")
    told = data.columns.difference([row, column, "repetition", "t", "since_s", "value", "unit", *single], sort=False)
    rows = data[row].astype(str)
    for name in told:
        if (lines[name].nunique(dropna=False) > 1).any():
            rows = rows + f", {name} " + data[name].astype(object).fillna("-").astype(str)
    data = data.assign(rows=rows)
    for name in single:
        apart = data.groupby(["rows", column, "repetition"], observed=True)[name]
        if name not in (row, column) and (apart.nunique() > 1).any():
            names = [str(value) for value in data[name].unique()[:4]]
            fix = f"filter it (`frame[frame.{name} == {names[0]!r}]`), or give it as row or column"
            raise BadInput(f"a line would mix values of {name}", key=name, value=", ".join(names), fix=fix)
    return data


def _few_lines(lines: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return those of the lines [rows, column, repetition, value] that are shown, in the order of their panels."""
    panels = [
        [part for _, part in mine.groupby(column, observed=True)] for _, mine in lines.groupby("rows", sort=False)
    ]
    shown = [part.sort_values("value") for mine in evenly(panels, MOST_DOWN) for part in evenly(mine, MOST_ACROSS)]
    return pd.concat([part.iloc[evenly(range(len(part)), MOST_LINES)] for part in shown])


def _in_order(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Sort by the order that the names of a category have."""
    return frame.sort_values(name, kind="stable") if isinstance(frame[name].dtype, pd.CategoricalDtype) else frame


def _paneled(frame: pd.DataFrame, panel: str) -> pd.DataFrame:
    """Add a column `panel` of text; several systems have panels of their own."""
    one_of(panel, frame.columns, "column")
    frame = _in_order(frame, panel)
    names = frame[panel].map(lambda value: value if isinstance(value, str) else f"{panel} {value:g}").astype(str)
    if "system" in frame and panel != "system" and frame.system.nunique() > 1:
        names = names + ", " + frame.system.astype(str)
    if (count := names.nunique()) > MOST_PANELS:
        fix = "filter the frame, or choose another panel"
        raise BadInput(f"would be {count} panels, {MOST_PANELS} at most", key="panel", value=panel, fix=fix)
    return frame.assign(panel=names).reset_index(drop=True)


def _levels_along(axis: Axes, values: Sequence[float]) -> None:
    """Set a log scale where levels double, and a tick per level."""
    steps = sorted(set(values))
    if doubling(steps):
        axis.set_xscale("log", base=2)
    if len(steps) <= 8:
        axis.set_xticks(steps, [f"{step:g}" for step in steps], minor=False)


def _means(data: pd.DataFrame, y: str, x: str) -> str:
    parts = []
    for name, part in data.groupby("panel", sort=False):
        means = part.groupby(x)[y].mean()
        ends = means.iloc[[0, -1]] if len(means) > 1 else means
        parts.append(f"{name}: mean {' to '.join(f'{mean:.4g} at {at:g}' for at, mean in ends.items())}")
    return f"{'; '.join(parts)}."


def _named_with_unit(name: str, unit: str) -> str:
    text = name.removesuffix(f"_{unit}").replace("_", " ")
    return f"{text} ({unit})" if unit and unit != "1" else text


# -- latency against offered rate: the search for the knee -------------------------------------------------------------

_KNEE_VERDICTS = ("kept", "undecided", "broken", "broken, saturated")
_KNEE_CAPTION = (
    "A mark per load: the p99 of its transactions, the wait for a free client among their time. Dashed: the p99 to "
    "keep."
)
KNEE_FOUND = " Shaded: from the highest rate that kept it to the lowest that broke it; the line is the highest rate."
KNEE_UNKNOWN = " At the upper edge: loads that were offered so much that their p99 is not known."


def knee_frame(searches: Sequence[Searched]) -> pd.DataFrame:
    """Return a row per load at an offered rate: panel, rate (1/s), p99_ms, verdict.

    Of a saturated load the p99 may not be known (NaN); others without one have decided nothing, and are left out.
    """
    rows = []
    for each in searches:
        verdicts = by_rate(each.loads, each.slo)
        for load in each.loads:
            if load.rate and excess(load, each.slo.p99_ms) is not None:
                verdict = verdicts[load.rate].replace("open", "undecided")
                verdict = "broken, saturated" if verdict == "broken" and load.saturated else verdict
                p99_ms = load.p99_ms or math.nan
                rows.append({"panel": _knee_panel(each), "rate": load.rate, "p99_ms": p99_ms, "verdict": verdict})
    return pd.DataFrame(rows, columns=["panel", "rate", "p99_ms", "verdict"])


def _knee_panel(searched: Searched) -> str:
    """Return what is searched, in a few words."""
    cell = searched.cell
    what = " ".join(dict.fromkeys([cell.table, str(cell.levels.get("workload", cell.table))]))
    return f"{cell.system}, {what}, {cell.levels['threads']} threads"


@styled()
def knee(searches: Sequence[Searched]) -> Figure:
    """Return the loads of every search, with what they show in words; there is at least one."""
    loads = knee_frame(searches)
    if loads.p99_ms.isna().all():
        return nothing(" ".join(map(knee_in_words, searches)))
    top = 1.3 * max([loads.p99_ms.max(), *(each.slo.p99_ms for each in searches)])
    known = loads.assign(p99_ms=loads.p99_ms.fillna(top))
    layout = facets(known.panel.nunique(), columns=2, height=2.8, aspect=1.5)
    verdicts = [v for v in _KNEE_VERDICTS if v in set(known.verdict)]
    drawn: dict[str, Any] = {"x": "rate", "y": "p99_ms", "hue": "verdict", "style": "verdict", "alpha": 0.75}
    drawn |= looks(verdicts, lines=False)
    grid = sns.relplot(
        known[loads.p99_ms.notna()], **drawn, kind="scatter", col="panel", col_order=known.panel.unique(), **layout
    )
    for name, unknown in known[loads.p99_ms.isna()].groupby("panel"):
        axis = sns.scatterplot(unknown, **drawn, legend=False, ax=grid.axes_dict[name])
        axis.collections[-1].set_label(NO_VALUE)
    for each in searches:
        if _knee_panel(each) in grid.axes_dict:
            _slo(grid.axes_dict[_knee_panel(each)], each)
    grid.set_titles("{col_name}").set_axis_labels("offered (transactions/s)", "p99 (ms), log scale").tight_layout()
    legend_below(grid)
    found = any(each.knee.rate is not None for each in searches)
    caption = _KNEE_CAPTION + (KNEE_FOUND if found else "") + (KNEE_UNKNOWN if loads.p99_ms.isna().any() else "")
    return described(grid, " ".join(map(knee_in_words, searches)), caption)


def _slo(axis: Axes, searched: Searched) -> None:
    found = searched.knee
    axis.axhline(searched.slo.p99_ms, color=PUBLISHED, linestyle="--", linewidth=1)
    if found.rate is not None and found.high is not None:
        axis.axvspan(found.low, found.high, color="#dddddd", zorder=0)
        axis.axvline(found.rate, color="black", linewidth=1)
    axis.set(yscale="log")
    axis.set_xlim(left=0)
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def knee_in_words(searched: Searched) -> str:
    """Return what a search has found, in a sentence or two."""
    found, closed = searched.knee, max((load.achieved for load in searched.loads if load.rate == 0), default=0.0)
    keeps = f"99% of the transactions take at most {searched.slo.p99_ms:g} ms"
    cost = f" {found.loads} loads{'; the search ended because ' + found.ended if found.ended else ''}."
    if found.rate is None or found.high is None:
        below = f"the lowest that broke it is {found.high:,.0f}/s" if found.high else "none broke it"
        kept = f"the highest rate that kept it is {found.low:,.0f}/s" if found.low else "no rate kept it"
        return f"{_knee_panel(searched)}: no knee was found where {keeps}: {kept}, {below}.{cost}"
    between = f"between {found.low:,.0f}/s, which kept it, and {found.high:,.0f}/s, which broke it"
    share = f"; a closed loop does {closed:,.0f}/s" if closed else ""
    return f"{_knee_panel(searched)}: {keeps} up to {found.rate:,.0f}/s offered ({between}{share}).{cost}"
