"""Frames of a campaign (docs/frames.md) as figures: each function takes a frame and returns a matplotlib Figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from benchbook.analysis.shown_trials import curves_apart, few_points
from benchbook.errors import BadInput, counted
from benchbook.given.axis import check_numbers
from benchbook.given.named import one_of
from benchbook.plots import curves, ratio_plot, timelines
from benchbook.plots.mark_labels import beside_marks
from benchbook.plots.mime import described
from benchbook.plots.no_figure import nothing
from benchbook.plots.panels import Panels, line_panels, mark_panels
from benchbook.plots.style import COLUMNS, PANEL_WIDTH, laid_out, legend, looks, short_numbers, styled
from benchbook.stats.usl import usl_fit

_HEIGHT = 2.7
# Columns of `report.beside_frame()` that are no levels; a cell that stands in two tables is one point.
_OF_FIGURES = ["table", "system", "metric", "published", "measured", "low", "high", "n", "unit"]
# Values of a colour or panels beyond these are not told apart: filter the frame.
MOST_COLOURS, MOST_PANELS = 12, 24


def levels(beside: pd.DataFrame, metric: str, *, x: str, panel: str, normalised: bool = False) -> Figure:
    """Published and measured `metric` against level `x`, a panel per `panel`, with 95% intervals over repetitions.

    `beside`: as `report.beside_frame()`. Log y, or, normalised, each curve relative to its lowest x. Panels in which
    nothing was measured are left out. Raises BadInput for a name that the frame does not have.
    """
    _columns(beside, panel, "published", "measured")
    check_numbers(beside, x)
    one_of(metric, sorted(set(beside.metric)), "metric")
    mine = beside[(beside.metric == metric) & beside[x].notna()]
    mine = curves_apart(mine, x=x, panel=panel, levels=mine.columns.difference(_OF_FIGURES))
    mine = mine[mine[panel].isin(mine[mine.measured.notna()][panel])]
    if mine.empty:
        return nothing(f"No {metric} was measured.")
    every = _points(mine, x, panel)
    frame, left_out = few_points(every, x)
    label = _with_unit(metric, mine.unit.iloc[0])
    figure = curves.curves(frame, panel=panel, x=x, metric_label=label, x_label=x, normalised=normalised)
    how = f"relative to the lowest {x}" if normalised else "absolute, log scale"
    base = curves.normalise(every, panel, x) if normalised else every
    return described(
        figure,
        f"{label} against {x} ({how}). {curves.ends_in_words(base, panel, x)}.",
        f"{label} against {x}, {how}. Dashed: published. Solid: measured, mean with 95% interval over repetitions. "
        f"{left_out} {beside.attrs.get('levels', '')}".strip(),
    )


def _points(mine: pd.DataFrame, x: str, panel: str) -> pd.DataFrame:
    """[panel, x, who, value, low, high]: a line per system, and the published one once."""
    told = mine.assign(**{panel: mine[panel].astype(str)})
    printed = told[told.published.notna()].assign(who="published", value=told.published, low=np.nan, high=np.nan)
    seen = told[told.measured.notna()].assign(who=told.system.astype(str), value=told.measured)
    points = pd.concat([printed, seen], ignore_index=True)[[panel, x, "who", "value", "low", "high"]]
    return points.drop_duplicates([panel, x, "who"]).sort_values(x, kind="stable")


@styled()
def repetitions(trials: pd.DataFrame, y: str, *, x: str = "threads", panel: str = "workload") -> Figure:
    """A dot per trial, each repetition with a mark and a colour of its own, joined along level `x`; a panel per `panel`.

    `trials`: as `report.trials()`. Lines that run side by side differ as a whole (host, time of day); lines that cross
    are noise.
    """  # noqa: E501 - the first line says it
    _columns(trials, panel)
    check_numbers(trials, y, x)
    data = _paneled(trials.dropna(subset=[y, x]), panel)
    if data.empty:
        return nothing(f"No trial has {y} and {x}.")
    # Where cells differ in more than x and panel, one line per repetition would run up and down between them.
    cells = data.groupby(["panel", "repetition", x], observed=True, sort=False)[y]
    most = int(cells.size().max())
    data = cells.mean().reset_index()
    data = data.assign(line="repetition " + data.repetition.astype(str)).sort_values([x, "repetition"])
    names = [f"repetition {number}" for number in sorted(set(data.repetition))]
    grid = line_panels(data, _facets(data), x=x, y=y, by="line", shown=looks(names), markersize=6)
    for name, axis in grid.axes_dict.items():
        _levels_along(axis, sorted(set(data[data.panel == name][x])))
    return _finished(
        grid, x, _with_unit(y, _unit(trials, y)), names,
        f"{y} of every {'trial' if most == 1 else 'repetition'} against {x}. {_spread(data, y, x)}",
        f"A mark {'per trial' if most == 1 else f'is the mean of a repetition there, of up to {most} trials'}; "
        "marks of one repetition are joined.",
    )  # fmt: skip


@styled()
def relation(
    frame: pd.DataFrame, x: str, y: str, *, colour: str = "threads", panel: str = "workload", label: str = ""
) -> Figure:
    """One measure against another, a dot per row; colour and mark tell the values of `colour`, a panel per `panel`.

    The text of column `label` stands beside the dots, where there is room.
    """
    _columns(frame, colour, panel, *([label] if label else []))
    check_numbers(frame, x, y)
    # A ratio to what was counted 0 times is infinite, and has no place on an axis.
    drawn = np.isfinite(frame[x].astype(float)) & np.isfinite(frame[y].astype(float))
    data = _paneled(frame.loc[drawn].dropna(subset=[colour]), panel)
    if data.empty:
        return nothing(f"No row has both {x} and {y}.")
    data, names, part = _coloured(data, colour)
    grid = mark_panels(data, _facets(data), x=x, y=y, by="line", shown=looks(names), s=42)
    for name, axis in grid.axes_dict.items():
        axis.set_xlim(0, 1.06 * max(data[data.panel == name][x].max(), 1e-9))
    said = "; ".join(f"{name}: {_ranks(part, x, y)}" for name, part in data.groupby("panel", sort=False))
    across, up = _with_unit(x, _unit(frame, x)), _with_unit(y, _unit(frame, y))
    beside = f", its {label.replace('_', ' ')} beside each mark with room for it" if label else ""
    figure = _finished(
        grid, across, up, names,
        f"{y} against {x}, {counted(len(data), 'point')}. {said}.",
        f"{up} against {across}{beside}.{part} {frame.attrs.get('levels', '')}".strip(), lines=False,
    )  # fmt: skip
    for name, axis in grid.axes_dict.items() if label else ():
        beside_marks(axis, data[data.panel == name], x, y, label)
    return figure


def _ranks(part: pd.DataFrame, x: str, y: str) -> str:
    """Spearman's rank correlation; of one or two points it says nothing."""
    # As pandas' own method has it, which imports scipy.stats for it: half a second for every page.
    rho = part[x].rank().corr(part[y].rank()) if len(part) > 2 else float("nan")
    return counted(len(part), "point") if math.isnan(rho) else f"rank correlation {rho:.2f}"


@styled()
def ecdf(histograms: pd.DataFrame, *, colour: str = "threads", panel: str = "workload") -> Figure:
    """The share of requests that took at most so long, log x; a line per `colour`, a panel per `panel`.

    `histograms`: as `report.histograms()`; counts of all trials of a line are added, as percentiles must not be.
    """
    _columns(histograms, "latency_ms", "count", colour, panel)
    # Added first, without what this figure does not tell apart: a campaign has hundreds of thousands of buckets.
    kept = [name for name in dict.fromkeys([panel, colour, "system", "latency_ms"]) if name in histograms]
    data = histograms.groupby(kept, observed=True, sort=False)["count"].sum().reset_index()
    if data.empty:
        return nothing("No trial has a latency histogram.")
    data, names, part = _coloured(_paneled(data, panel), colour)
    added = data.groupby(["panel", "line", "latency_ms"], observed=True)["count"].sum().reset_index()
    counts = added.groupby(["panel", "line"], sort=False)["count"]
    added = added.assign(share=counts.cumsum() / counts.transform("sum"))
    steps = {"marker": "", "drawstyle": "steps-post"}
    grid = line_panels(added, _facets(added), x="latency_ms", y="share", by="line", shown=looks(names), **steps)
    for axis in grid.axes.flat:
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.axhline(0.95, color="#888888", linewidth=0.9, linestyle=":")
    reached = added[added.share >= 0.95].groupby(["panel", "line"], sort=False).latency_ms.min()
    said = "; ".join(f"{one.panel}, {one.line}: {one.latency_ms:.3g} ms" for one in reached.reset_index().itertuples())
    return _finished(
        grid, "latency (ms), log scale", "share of requests", names,
        f"Cumulative latency. 95% of the requests took at most: {said}.", f"The dotted line is at 95%.{part}",
        marks=False,
    )  # fmt: skip


def over_time(seconds: pd.DataFrame, *, row: str = "workload", column: str = "threads", label: str = "") -> Figure:
    """Series of trials as small multiples: a panel per `row` and `column`, a line per repetition, time since the load.

    `seconds`: as `report.seconds()`, of one metric. Raises BadInput where a line would be of several trials or hosts:
    filter the frame, or make it a row or a column of panels. Trials without a `row` or a `column` are left out.
    """
    _columns(seconds, row, column, "since_s", "value")
    seconds = seconds.dropna(subset=[row, column])
    if seconds.empty:
        return nothing(f"No samples of trials with {row} and {column}.")
    _one_series_a_line(seconds, [row, column, "repetition"])
    metric, unit = str(seconds.metric.iloc[0]), str(seconds.unit.iloc[0])
    frame = seconds.rename(columns={"t": "at", "since_s": "t"}).astype({row: str})
    frame = frame[frame.t >= 0].sort_values("t")
    if not pd.api.types.is_numeric_dtype(frame[column]):
        frame = frame.astype({column: str})
    said = label or _with_unit(metric, unit)
    means = frame.groupby([row, column], sort=False, observed=True).value.mean().reset_index()
    each = [f"{r}, {column} {c}: mean {v:.4g}" for r, c, v in zip(means[row], means[column], means.value, strict=True)]
    return described(
        timelines.time_series(frame, row=row, column=column, label=said),
        f"{said} over time. {'; '.join(each)}.",
        f"{said}, one line per repetition.",
    )


def _one_series_a_line(seconds: pd.DataFrame, line: Sequence[str]) -> None:
    for other in ("metric", "source", "host", "trial"):
        if other in line:
            continue
        if (seconds.groupby(list(line), observed=True)[other].nunique() > 1).any():
            names = [str(value) for value in seconds[other].unique()[:4]]
            fix = f"filter it (`frame[frame.{other} == {names[0]!r}]`), or give it as row or column"
            raise BadInput(f"a line would mix values of {other}", key=other, value=", ".join(names), fix=fix)


@styled()
def usl(trials: pd.DataFrame, y: str = "tps", *, x: str = "threads", panel: str = "workload") -> Figure:
    """The Universal Scalability Law fitted to the mean per level, over the trials; panels with four levels or more."""
    _columns(trials, panel)
    check_numbers(trials, y, x)
    data = _paneled(trials.dropna(subset=[y, x]), panel)
    enough = data.groupby("panel")[x].transform("nunique") >= 4 if len(data) else pd.Series(dtype=bool)
    if not len(data) or not enough.any():
        return nothing(f"The law has three parameters: it needs four levels of {x} or more.")
    data = data[enough].assign(line="trials")
    grid = mark_panels(data, _facets(data), x=x, y=y, by="line", shown=looks(["trials"]), s=30)
    said = []
    for name, axis in grid.axes_dict.items():
        said.append(f"{name}: {_law(axis, data[data.panel == name].groupby(x)[y].mean())}")
    return _finished(
        grid, x, _with_unit(y, _unit(trials, y)), ["trials"],
        f"The Universal Scalability Law over the trials. {'; '.join(said)}.", "Line: the law. Marks: trials.",
        lines=False,
    )  # fmt: skip


def _law(axis: Axes, means: pd.Series) -> str:
    """Draw the fitted curve; lambda is the least-squares scale of the curve with the fitted sigma and kappa."""
    n, tps = means.index.to_numpy(float), means.to_numpy(float)
    try:
        found = usl_fit(n, tps)
    except BadInput as problem:
        return problem.problem
    sigma, kappa = found.sigma.estimate, found.kappa.estimate
    along = np.linspace(n.min(), n.max(), 100)
    shape = n / (1 + sigma * (n - 1) + kappa * n * (n - 1))
    scale = float((shape * tps).sum() / (shape**2).sum())
    axis.plot(along, scale * along / (1 + sigma * (along - 1) + kappa * along * (along - 1)), color="#D55E00")
    return f"contention {sigma:.3g}, coherency {kappa:.3g}"


def ratios(frame: pd.DataFrame, *, margin: float = 0.05) -> Figure:
    """B / A of every cell with its interval, a panel per metric; the band is the margin that does not matter.

    `frame`: as `benchbook.ratios()`.
    """
    _columns(frame, "ratio", "low", "high", "called")
    texts = dict.fromkeys(("table", "system", "levels", "metric", "unit", "called"), str)
    figure = ratio_plot.draw(frame.astype(texts), margin=margin)
    said = f"Ratios B / A of {len(frame)} cells, {frame.ratio.min():.2f} to {frame.ratio.max():.2f}."
    return described(figure, said, f"B / A with 95% intervals; grey: ±{margin:.0%}. {frame.attrs.get('sentence', '')}")


def _columns(frame: pd.DataFrame, *names: str) -> None:
    for name in names:
        one_of(name, frame.columns, "column")


def _paneled(frame: pd.DataFrame, panel: str) -> pd.DataFrame:
    """With a column `panel` of text; several systems have panels of their own."""
    names = frame[panel].map({value: _named(panel, value) for value in frame[panel].unique().tolist()}).astype(str)
    if "system" in frame and panel != "system" and frame.system.nunique() > 1:
        names = names + ", " + frame.system.astype(str)
    found = frame.assign(panel=names)
    if found.panel.nunique() > MOST_PANELS:
        fix = "filter the frame, or choose another panel"
        raise BadInput(
            f"would be {found.panel.nunique()} panels, {MOST_PANELS} at most", key="panel", value=panel, fix=fix
        )
    return found


def _named(column: str, value: Any) -> str:
    return value if isinstance(value, str) else f"{column} {value:g}"


def _coloured(data: pd.DataFrame, column: str) -> tuple[pd.DataFrame, list[str], str]:
    """With a column `line` of what is told apart by colour, those names in order, and what is left out, in words.

    Of more values than there are colours some are shown, evenly chosen, the first and the last among them.
    """
    known = sorted(data[column].unique().tolist(), key=lambda value: (isinstance(value, str), value))
    places = np.linspace(0, len(known) - 1, min(len(known), MOST_COLOURS)).round().astype(int)
    names = {known[place]: _named(column, known[place]) for place in places}
    shown = data[data[column].isin(list(names))] if len(names) < len(known) else data
    said = f" Of {len(known)} values of {column} {len(names)} are shown, evenly chosen." if shown is not data else ""
    return shown.assign(line=shown[column].map(names)), list(names.values()), said


def _facets(data: pd.DataFrame) -> dict[str, Any]:
    size = {"height": _HEIGHT, "aspect": PANEL_WIDTH / _HEIGHT, "sharex": False, "sharey": False}
    return {"col": "panel", "col_wrap": min(COLUMNS, data.panel.nunique()), **size}


def _levels_along(axis: Axes, steps: Sequence[float]) -> None:
    """Log where levels double, and a tick per level."""
    if curves.doubling(pd.Series(steps, dtype=float)):
        axis.set_xscale("log", base=2)
    if len(steps) <= 8:
        axis.set_xticks(list(steps), [f"{step:g}" for step in steps], minor=False)


def _finished(
    grid: Panels, x: str, y: str, names: Sequence[str], alt: str, caption: str,
    *, lines: bool = True, marks: bool = True,
) -> Figure:  # fmt: skip
    for name, axis in grid.axes_dict.items():
        axis.set(title=str(name), xlabel=x, ylabel="")
        # Room for a mark: a range that begins at zero may have its highest point at the very edge.
        axis.set_ylim(0, 1.06 * max(axis.dataLim.ymax, 1e-9))
        short_numbers(axis)
    for axis in grid.axes.flat[:: min(COLUMNS, len(grid.axes.flat))]:
        axis.set_ylabel(y)
    shown = looks(names)
    if len(names) > 1:
        plain = {name: look if marks else type(look)(look.colour, "", look.dash) for name, look in shown.items()}
        legend(grid.figure, plain, lines=lines)
    return described(laid_out(grid.figure), alt, caption)


def _spread(data: pd.DataFrame, y: str, x: str) -> str:
    parts = []
    for name, part in data.groupby("panel", sort=False):
        means = part.groupby(x)[y].mean()
        ends = means.iloc[[0, -1]] if len(means) > 1 else means
        parts.append(f"{name}: mean {' to '.join(f'{mean:.4g} at {at:g}' for at, mean in ends.items())}")
    return f"{'; '.join(parts)}."


def _with_unit(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit and unit != "1" else name


def _unit(frame: pd.DataFrame, name: str) -> str:
    return str(frame.attrs.get("units", {}).get(name, ""))
