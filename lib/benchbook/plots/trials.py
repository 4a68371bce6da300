"""Trials as figures: repetitions, one measure against another, latency, series over time, scalability, rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator, NullLocator, StrMethodFormatter

from benchbook.analysis.schema import check_numbers
from benchbook.campaign.max_rate import Searched, by_rate, excess
from benchbook.errors import BadInput, counted
from benchbook.plots.output import described, nothing
from benchbook.plots.published import doubling
from benchbook.plots.style import PUBLISHED, SEQUENCE, facets, legend_below, looks, short_numbers, styled
from benchbook.plots.values import NO_VALUE
from benchbook.user_input.choices import one_of

# More panels are not read: filter the frame.
MOST_PANELS = 24
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
    what = "trial" if most == 1 else "repetition"
    caption = "A mark per trial" if most == 1 else f"A mark is the mean of a repetition there, of up to {most} trials"
    return described(
        _finished(grid, x, _with_unit(trials, y), "repetition"),
        f"{y} of every {what} against {x}. {_means(data, y, x)}",
        f"{caption}; marks of one repetition are joined. Parallel lines: a repetition ran on a faster or slower "
        "machine. Crossing lines: noise.",
    )


@styled()
def relation(frame: pd.DataFrame, x: str, y: str, *, colour: str = "threads", panel: str = "workload") -> Figure:
    """Draw one measure against another, a dot per row; colour tells the values of `colour`, a panel per `panel`."""
    one_of(colour, frame.columns, "column")
    check_numbers(frame, x, y)
    # A ratio to what was counted 0 times is infinite, and has no place on an axis.
    drawn = np.isfinite(frame[x].astype(float)) & np.isfinite(frame[y].astype(float))
    data = _paneled(frame.loc[drawn].dropna(subset=[colour]), panel)
    if data.empty:
        return nothing(f"No row has both {x} and {y}.")
    grid = sns.relplot(
        data, kind="scatter", x=x, y=y, s=42, col="panel", **_by(data, colour), **facets(data.panel.nunique())
    )
    for name, axis in grid.axes_dict.items():
        axis.set_xlim(0, 1.06 * max(data[data.panel == name][x].max(), 1e-9))
    parts = "; ".join(f"{name}: {_ranks(part, x, y)}" for name, part in data.groupby("panel", sort=False))
    across, up = _with_unit(frame, x), _with_unit(frame, y)
    return described(
        _finished(grid, across, up, colour),
        f"{y} against {x}, {counted(len(data), 'point')}. {parts}.",
        f"{up} against {across}. {frame.attrs.get('scaled', '')}".strip(),
    )


def _by(data: pd.DataFrame, colour: str) -> dict[str, Any]:
    """Return seaborn's arguments that tell the values of a column apart: marks too, where they are few."""
    names = sorted(data[colour].unique().tolist(), key=lambda value: (isinstance(value, str), value))
    if len(names) > _TOLD_APART:
        return {"hue": colour, "palette": SEQUENCE}
    return {"hue": colour, "style": colour, "legend": len(names) > 1, **looks(names, lines=False)}


def _ranks(part: pd.DataFrame, x: str, y: str) -> str:
    """Say Spearman's rank correlation; of two points, or of one value, it says nothing."""
    varies = len(part) > 2 and part[x].nunique() > 1 and part[y].nunique() > 1
    rho = part[x].corr(part[y], method="spearman") if varies else math.nan
    return counted(len(part), "point") if math.isnan(rho) else f"rank correlation {rho:.2f}"


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
    grid.set_titles("{col_name}").set_axis_labels("percentile of requests", "latency (ms)").tight_layout()
    legend_below(grid, colour.replace("_", " "))
    parts = [
        f"{name}, {colour} {value}: {_percentile(part, 0.95):.3g} ms"
        for (name, value), part in data.groupby(["panel", colour], observed=True)
    ]
    return described(
        grid,
        f"Latency by percentile. 95% of the requests took at most: {'; '.join(parts)}.",
        "Latency against percentile: a step far to the right is a stall. Counts of all trials of a line are added.",
    )


def _percentile(part: pd.DataFrame, share: float) -> float:
    ordered = part.sort_values("latency_ms")
    reached = ordered["count"].cumsum() >= share * ordered["count"].sum()
    return float(ordered.latency_ms[reached].iloc[0])


def over_time(seconds: pd.DataFrame, *, row: str = "workload", column: str = "threads", label: str = "") -> Figure:
    """Draw series of trials: a panel per `row` and `column`, a line per repetition, time since the load began.

    `seconds`: as `report.seconds()`, of one metric. Raise BadInput where a line would be of several trials or hosts:
    filter the frame, or make it a row or a column of panels. Trials without a `row` or a `column` are left out.
    """
    for name in (row, column, "since_s", "value"):
        one_of(name, seconds.columns, "column")
    seconds = seconds.dropna(subset=[row, column])
    if seconds.empty:
        return nothing(f"No samples of trials with {row} and {column}.")
    for other in {"metric", "source", "host", "trial"} - {row, column}:
        if (seconds.groupby([row, column, "repetition"], observed=True)[other].nunique() > 1).any():
            names = [str(value) for value in seconds[other].unique()[:4]]
            fix = f"filter it (`frame[frame.{other} == {names[0]!r}]`), or give it as row or column"
            raise BadInput(f"a line would mix values of {other}", key=other, value=", ".join(names), fix=fix)
    text = label or _named_with_unit(str(seconds.metric.iloc[0]), str(seconds.unit.iloc[0]))
    frame = seconds[seconds.since_s >= 0].assign(t=lambda part: part.since_s)
    means = frame.groupby([row, column], observed=True).value.mean().reset_index()
    each = [f"{r}, {column} {c}: mean {v:.4g}" for r, c, v in zip(means[row], means[column], means.value, strict=True)]
    return described(
        time_series(frame, row=row, column=column, label=text),
        f"{text} over time. {'; '.join(each)}.",
        f"{text}, one line per repetition.",
    )


@styled()
def time_series(frame: pd.DataFrame, *, row: str, column: str, label: str) -> Figure:
    """Draw a panel per (row, column), in rows of their order of appearance, and a line per repetition.

    `frame`: [row, column, repetition, t (s since the load began), value].
    """
    panels = frame[[row, column]].drop_duplicates()
    order = {value: place for place, value in enumerate(dict.fromkeys(frame[row]))}
    panels = panels.assign(_row=panels[row].map(order).astype(int)).sort_values(["_row", column])
    names = [f"{r}, {column} {_plain(c)}" for r, c in zip(panels[row], panels[column], strict=True)]
    data = frame.merge(panels.assign(panel=names)[[row, column, "panel"]], on=[row, column])
    several = data.repetition.nunique() > 1
    grid = sns.relplot(
        data, kind="line", x="t", y="value", hue="repetition", palette=SEQUENCE, marker="o", markersize=3,
        linewidth=1, markeredgewidth=0, estimator=None, col="panel", col_order=names,
        legend="brief" if several else False, **facets(len(names), height=1.6, aspect=1.85),
    )  # fmt: skip
    grid.set_titles("{col_name}", size=8)
    figure: Figure = _timed(grid, label, "repetition").figure
    return figure


def _timed(grid: sns.FacetGrid, label: str, legend: str) -> sns.FacetGrid:
    for axis in grid.axes.flat:
        axis.set_xlim(left=0)
        axis.set_ylim(0, 1.08 * max(axis.dataLim.ymax, 1e-9))
        axis.xaxis.set_major_locator(MaxNLocator(5))
        axis.yaxis.set_major_locator(MaxNLocator(4))
        short_numbers(axis)
    grid.set_axis_labels("time since the load began (s)", "")
    grid.figure.supylabel(label, fontsize=9)
    grid.tight_layout()
    legend_below(grid, legend)
    return grid


def _paneled(frame: pd.DataFrame, panel: str) -> pd.DataFrame:
    """Add a column `panel` of text; several systems have panels of their own."""
    one_of(panel, frame.columns, "column")
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


def _finished(grid: sns.FacetGrid, x: str, y: str, legend: str = "") -> sns.FacetGrid:
    for axis in grid.axes.flat:
        axis.set_ylim(0, 1.06 * max(axis.dataLim.ymax, 1e-9))
        short_numbers(axis)
    grid.set_titles("{col_name}").set_axis_labels(x.replace("_", " "), y).tight_layout()
    legend_below(grid, legend.replace("_", " "))
    return grid


def _means(data: pd.DataFrame, y: str, x: str) -> str:
    parts = []
    for name, part in data.groupby("panel", sort=False):
        means = part.groupby(x)[y].mean()
        ends = means.iloc[[0, -1]] if len(means) > 1 else means
        parts.append(f"{name}: mean {' to '.join(f'{mean:.4g} at {at:g}' for at, mean in ends.items())}")
    return f"{'; '.join(parts)}."


def _plain(level: Any) -> str:
    return level if isinstance(level, str) else f"{level:g}"


def _with_unit(frame: pd.DataFrame, name: str) -> str:
    return _named_with_unit(name, str(frame.attrs.get("units", {}).get(name, "")))


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
