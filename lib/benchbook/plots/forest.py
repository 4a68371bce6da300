"""Effects in rows, each with its interval: the claims of a report, the cells of a comparison, steps of a ladder."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib import ticker
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchbook.analysis.formatting import number
from benchbook.plots.output import described, nothing
from benchbook.plots.style import PUBLISHED, styled
from benchbook.plots.values import NO_VALUE
from benchbook.user_input.choices import one_of

_BAND = "#bfd9e6"
_TICK: dict[str, Any] = {"marker": "|", "color": "black", "markersize": 12, "markeredgewidth": 1.6}
# Two marks in one row stand this far from its middle.
_APART = 0.15
# Ratios beyond these are off the picture: a published value would stand at a place that is not its own.
_LEAST, _MOST = 1 / 1024, 1024.0
_MOST_TICKS = 11


@dataclass(frozen=True)
class Scale:
    """A panel's x axis. `at`: the line of no effect; `band`: a range around it that does not matter."""

    label: str
    limits: tuple[float, float]
    ticks: ticker.Locator | None = None
    log: bool = True
    at: float = 1.0
    band: tuple[float, float] | None = None
    title: str = ""


# Colour and mark, by what is said of a row: no reader needs colours to tell them apart.
Looks = Mapping[str, tuple[Any, str]]


def _looks() -> dict[str, tuple[Any, str]]:
    blue, orange, green, red = sns.color_palette("colorblind", 4)
    return {
        "holds": (green, "o"),
        "fails": (red, "X"),
        "open": (blue, "s"),
        "needs a bigger machine": (PUBLISHED, "D"),
        "slower": (red, "v"),
        "faster": (blue, "^"),
        "changed": (orange, "D"),
        "equivalent": (green, "o"),
        "not slower": (green, "^"),
        "undecided": (PUBLISHED, "s"),
        "not called": (PUBLISHED, "X"),
    }


def claims(frame: pd.DataFrame, *, smoke: bool = False) -> Figure:
    """Draw each claim's effect and interval against the range that the report claims, ratios above, correlations below.

    `frame`: as `report.claims_frame()`; claims without an effect, or not run, are left out. The mark tells the claim's
    state; `smoke`: it is hollow, for nothing is settled by such a run.
    """
    for name in ("claim", "verdict", "here", "unit", "effect", "region_low", "published"):
        one_of(name, frame.columns, "column")
    judged = frame.here.isin(["holds", "fails", "open"]) & (frame.verdict != "not run")
    tested = frame[frame.unit.isin(["times", "tau"]) & judged]
    if tested.empty:
        return nothing("No claim was tested.")
    several = tested.system.nunique() > 1
    rows = tested.claim.astype(str) + (", " + tested.system.astype(str) if several else "")
    names = {"verdict": "who", "effect": "value", "region_low": "claimed_low", "region_high": "claimed_high"}
    drawn = tested.rename(columns={**names, "published": "printed", "unit": "panel"}).assign(row=rows)
    drawn["who"] = drawn.who.astype(str)
    drawn = drawn.sort_values("panel", ascending=False, kind="stable")
    scales = {str(unit): _claim_scale(str(unit), part) for unit, part in drawn.groupby("panel", sort=False)}
    parts = [
        f"{row}: {state}, {number(effect)} (published {number(published)})"
        for row, state, effect, published in zip(rows, tested.verdict, tested.effect, tested.published, strict=True)
    ]
    return described(
        forest(drawn, scales, _looks(), hollow=smoke),
        f"Effect of each claim against the claimed range. {'; '.join(parts)}.",
        "A line per claim: the measured effect with its interval, widened for the number of claims. Shaded: the range "
        "that the report claims. Tick: the published value.",
    )


def _claim_scale(unit: str, part: pd.DataFrame) -> Scale:
    """Return a scale wide enough for effects, claimed ranges and published values; intervals may end in an arrow."""
    if unit == "tau":
        quarters = ticker.MultipleLocator(0.25)
        return Scale("Kendall's tau (1: the same order)", (-1.05, 1.05), quarters, log=False, at=0.0)
    known = part[["value", "printed", "claimed_low", "claimed_high"]].to_numpy(float)
    known = known[np.isfinite(known) & (known > 0)]
    low, high = max(_LEAST, min([0.5, *known / 2])), min(_MOST, max([2.0, *known * 2]))
    # Of many powers of two every second one, or third, counted from 1: the line of no effect has a tick.
    step = math.ceil(math.log2(high / low) / _MOST_TICKS)
    powers = [2.0**power for power in range(-10, 11) if power % step == 0]
    return Scale("effect (ratio, log scale)", (low, high), ticker.FixedLocator(powers))


def ratios(frame: pd.DataFrame, *, margin: float = 0.05) -> Figure:
    """Draw B / A of every cell with its interval, a panel per metric; the band is the margin that does not matter.

    `frame`: as `benchbook.ratios()`: [table, system, levels, metric, unit, ratio, low, high, called].
    """
    for name in ("ratio", "low", "high", "called"):
        one_of(name, frame.columns, "column")
    cells = frame.astype(dict.fromkeys(("table", "system", "levels", "metric", "unit", "called"), str))
    cells = cells.assign(panel=cells.metric + " (" + cells.unit + ")", who=cells.called, value=cells.ratio)
    parts = [part.assign(row=_cell_names(part)) for _, part in cells.groupby("panel", sort=False)]
    scales = {str(part.panel.iloc[0]): _ratio_scale(part, margin) for part in parts}
    confidence = frame.attrs.get("confidence", "95%")
    said = f"Ratios B / A of {len(frame)} cells, {frame.ratio.min():.2f} to {frame.ratio.max():.2f}."
    return described(
        forest(pd.concat(parts), scales, _looks(), width=7.5, row_height=0.25),
        said,
        f"B / A with {confidence} intervals; grey: ±{margin:.0%}. {frame.attrs.get('sentence', '')}".strip(),
    )


def _ratio_scale(part: pd.DataFrame, margin: float) -> Scale:
    """Reach around all ratios, and around their intervals as far as these do not dwarf the ratios."""
    wide = max(1.25, part.ratio.max(), 1 / part.ratio.min())
    reach = min(max(wide, part.high.max(), 1 / part.low.min()) if part.low.notna().any() else wide, 4 * wide)
    low, high = max(0.1, 1 / (1.05 * reach)), min(10.0, 1.05 * reach)
    # On a short log scale no power of ten has a place. 1 is a multiple of each of these steps: it has a tick.
    ticks = ticker.LogLocator(subs=(1, 2, 5)) if high / low > 10 else ticker.MaxNLocator(8, steps=(1, 2, 2.5, 5, 10))
    band, title = (1 - margin, 1 / (1 - margin)), str(part.panel.iloc[0])
    return Scale("ratio B / A, log scale", (low, high), ticks, band=band, title=title)


def _cell_names(part: pd.DataFrame) -> list[str]:
    """Name each cell by table and system, where there are several, and by the levels in which its table varies."""
    levels = {
        name: set.intersection(*(set(text.split(", ")) for text in rows.levels)) for name, rows in part.groupby("table")
    }
    told = [column for column in ("table", "system") if part[column].nunique() > 1]
    names = []
    for row in part.to_dict("records"):
        own = [level for level in str(row["levels"]).split(", ") if level not in levels[row["table"]]]
        names.append(", ".join([*(str(row[column]) for column in told), *own]) or str(row["levels"]))
    return names


@styled()
def forest(
    frame: pd.DataFrame,
    scales: Mapping[str, Scale],
    looks: Looks,
    *,
    width: float = 8.2,
    row_height: float = 0.3,
    hollow: bool = False,
) -> sns.FacetGrid:
    """Draw a panel per value of `panel` below each other, rows from top to bottom in their order of appearance.

    `frame`: [panel, row, who, value, low, high]; who is a key of `looks`; several of them in a row stand apart.
    NaN for a bound: no interval; an infinite bound, or one outside of the scale, ends in an arrow. Optional columns
    [claimed_low, claimed_high, printed]: a range shaded in the row, and a tick. `width`, `row_height`: inches.
    `hollow`: marks are outlines.
    """
    # A category would bring its names that no row has.
    frame = frame.assign(who=frame.who.astype(str), row=frame.row.astype(str), panel=frame.panel.astype(str))
    shown = {who: look for who, look in looks.items() if who in set(frame.who)}
    rows = {panel: list(dict.fromkeys(part.row)) for panel, part in frame.groupby("panel", sort=False)}
    heights = [len(names) + 1.6 for names in rows.values()]
    grid = sns.FacetGrid(
        frame, row="panel", row_order=list(rows), sharex=False, sharey=False, gridspec_kws={"height_ratios": heights}
    )
    for panel, axis in grid.axes_dict.items():
        part = frame[frame.panel == panel].reset_index(drop=True)
        _scale(axis, scales[str(panel)])
        _rows(axis, part.assign(y=_heights(part, rows[panel])), rows[panel], shown)
        axis.set(title="", xlabel=scales[str(panel)].label, ylabel="")
        axis.set_title(scales[str(panel)].title, loc="left")
    # A row as high in every panel, and room for axis labels.
    grid.figure.set_size_inches(width, row_height * sum(heights) + 0.8)
    grid.tight_layout()
    marks = [
        Line2D([], [], color=c, marker=m, linestyle="none", label=who, markerfacecolor="white" if hollow else c)
        for who, (c, m) in shown.items()
    ]
    for axis in grid.axes.flat if hollow else ():
        for dots in axis.collections:
            dots.set(edgecolor=dots.get_facecolor(), facecolor="white", linewidth=1.5)
    if "claimed_low" in frame:
        marks.append(Line2D([], [], color=_BAND, linewidth=8, label="claimed range"))
    if "printed" in frame:
        marks.append(Line2D([], [], **_TICK, linestyle="none", label="published"))
    grid.figure.legend(handles=marks, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=5, frameon=False)
    return grid


def _heights(part: pd.DataFrame, names: Sequence[str]) -> pd.Series[float]:
    """Place each mark at its row, and apart from another of that row."""
    many = part.groupby("row").row.transform("size")
    within = part.groupby("row").cumcount()
    return part.row.map(names.index) + np.where(many > 1, (2 * within - (many - 1)) * _APART, 0.0)


def _scale(axis: Axes, scale: Scale) -> None:
    if scale.log:
        axis.set_xscale("log")
        axis.xaxis.set_minor_locator(ticker.NullLocator())
    axis.set_xlim(*scale.limits)
    if scale.ticks is not None:
        axis.xaxis.set_major_locator(scale.ticks)
    axis.xaxis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axis.axvline(scale.at, color="#888888", linewidth=0.9, zorder=1)
    if scale.band:
        axis.axvspan(*scale.band, color=PUBLISHED, alpha=0.15, linewidth=0)


def _rows(axis: Axes, part: pd.DataFrame, names: Sequence[str], shown: Looks) -> None:
    left, right = axis.get_xlim()
    if "claimed_low" in part:
        # Ranges open on one side reach to the edge.
        low = part.claimed_low.astype(float).fillna(left).clip(left, right)
        high = part.claimed_high.astype(float).fillna(right).clip(left, right)
        known = part.claimed_low.notna() | part.claimed_high.notna()
        axis.barh(part.y[known], (high - low)[known], left=low[known], height=0.76, color=_BAND, linewidth=0, zorder=0)
    ends = part[["low", "high"]].astype(float)
    for y, who, low_end, high_end in zip(part.y, part.who, ends.low, ends.high, strict=True):
        _interval(axis, y, low_end, high_end, shown[who][0])
    for marks, label in _by_place(part, "value", left, right):
        sns.scatterplot(
            marks,
            x="value",
            y="y",
            hue="who",
            style="who",
            palette={who: colour for who, (colour, _) in shown.items()},
            markers={who: marker for who, (_, marker) in shown.items()},
            s=42,
            zorder=4,
            clip_on=False,
            legend=False,
            ax=axis,
        )
        axis.collections[-1].set_label(label)
    if "printed" in part:
        for marks, label in _by_place(part[part.printed.notna()], "printed", left, right):
            axis.plot(marks.printed, marks.y, **_TICK, zorder=3, linestyle="none", label=label)
    axis.set_yticks(range(len(names)), list(names))
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.grid(visible=False, axis="y")


def _by_place(part: pd.DataFrame, name: str, left: float, right: float) -> Iterator[tuple[pd.DataFrame, str]]:
    """Yield the rows whose value has its place in the panel, and those that are drawn at its edge."""
    values = part[name].astype(float)
    part, beyond = part.assign(**{name: values.clip(left, right)}), (values < left) | (values > right)
    yield from ((rows, label) for rows, label in ((part[~beyond], "_value"), (part[beyond], NO_VALUE)) if len(rows))


def _interval(axis: Axes, y: float, low: float, high: float, colour: Any) -> None:
    if math.isnan(low) or math.isnan(high):
        return
    left, right = axis.get_xlim()
    ends = [min(max(bound, left), right) for bound in (low, high)]
    axis.plot(ends, [y, y], color=colour, linewidth=1.6, zorder=3)
    for cut, edge, arrow in ((low < left, left, "<"), (high > right, right, ">")):
        if cut:
            axis.plot(edge, y, marker=arrow, color=colour, markersize=6, clip_on=False, zorder=3, label=NO_VALUE)
