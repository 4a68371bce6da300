"""The one look of all figures: seaborn's ticks and colour-blind palette, published values grey and dashed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.ticker import AutoLocator, EngFormatter, ScalarFormatter

from benchbook.stats.estimates import mean_interval

# Grey is no colour of the palette: what was published is never taken for a measurement.
PUBLISHED = "#555555"
# Numbers in their order: at least 3.9 times as bright or dark as the page, be that white or, turned round, dark.
SEQUENCE = "blend:#0173b2,#9b4f96,#d55e00"
DPI = 110
COLUMNS = 3
HEIGHT, ASPECT = 2.3, 1.3
MARKERS = ("o", "D", "^", "v", "P", "X")

_AXES = {
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "white",
}
_SIZES = {"axes.titlesize": 9, "axes.labelsize": 9, "lines.markersize": 5.5, "legend.fontsize": 8}


def set_theme() -> None:
    """Give every figure of a notebook, drawn by seaborn or by `plots`, the look of the kit's pages."""
    # Up to seven digits stand as they are: a power of ten in a corner of the axis is not seen.
    sizes = {**_SIZES, "axes.formatter.limits": (-4, 7)}
    sns.set_theme(context="paper", style="ticks", palette="colorblind", rc={**_AXES, **sizes})


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the kit's look inside the block, or inside a function that this decorates."""
    with (
        sns.axes_style("ticks", rc=_AXES),
        sns.plotting_context("paper", rc=_SIZES),
        sns.color_palette("colorblind"),
    ):
        yield


def looks(names: Iterable[str], *, lines: bool = True) -> dict[str, Any]:
    """Return seaborn's arguments that give each name a colour and a mark of its own, "published" grey and dashed.

    For `hue` and `style` of one column. Colours repeat after ten names, marks after six: pairs after thirty.
    """
    order = list(dict.fromkeys(names))
    others = [name for name in order if name != "published"]
    colours = sns.color_palette("colorblind", 10)
    palette: dict[str, Any] = {name: colours[i % 10] for i, name in enumerate(others)}
    markers = {name: MARKERS[i % len(MARKERS)] for i, name in enumerate(others)}
    if "published" in order:
        palette["published"], markers["published"] = PUBLISHED, "s"
    dashes = {name: (4, 2) if name == "published" else "" for name in order}
    given = {"hue_order": order, "style_order": order, "palette": palette, "markers": markers}
    return {**given, "dashes": dashes} if lines else given


def facets(count: int, *, columns: int = COLUMNS, height: float = HEIGHT, aspect: float = ASPECT) -> dict[str, Any]:
    """Return seaborn's arguments for panels with own scales, `columns` in a row at most; four are two by two."""
    rows = max(1, math.ceil(count / columns))
    return {
        "col_wrap": max(1, math.ceil(count / rows)),
        "height": height,
        "aspect": aspect,
        "facet_kws": {"sharex": False, "sharey": False, "legend_out": False},
    }


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95% Student interval of a mean: `errorbar=plots.interval` in seaborn; NaN for one value, or none.

    Seaborn's own `"ci"` is a bootstrap, which of a handful of repetitions comes out too narrow.
    """
    found = pd.Series(values, dtype=float).dropna()
    if len(found) < 2:
        return math.nan, math.nan
    about = mean_interval(found.tolist())
    return about.low, about.high


def titled(grid: sns.FacetGrid, title: str) -> None:
    """Set what a figure shows above its panels, and lay it out."""
    if title:
        grid.figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold", wrap=True)
    grid.tight_layout()


def legend_below(grid: sns.FacetGrid, title: str | None = None) -> None:
    """Move the grid's legend, where it has one, below its panels; `title` says what numbers in it are."""
    if grid.legend is not None:
        columns = 4 if title is None else 10
        sns.move_legend(grid, "upper center", bbox_to_anchor=(0.5, 0.0), ncol=columns, title=title, frameon=False)


def short_numbers(axis: Axes) -> None:
    """Write 12k for 12000 on an axis, from 10,000 on; across, no 1.5 where every value drawn is whole."""
    for one, limits in ((axis.xaxis, axis.get_xlim()), (axis.yaxis, axis.get_ylim())):
        if type(one.get_major_formatter()) is ScalarFormatter and max(map(abs, limits)) >= 10_000:
            one.set_major_formatter(EngFormatter(sep=""))
    steps = axis.xaxis.get_major_locator()
    lines = [line.get_xdata(orig=False) for line in axis.lines]
    marks = [np.asarray(marks.get_offsets())[:, 0] for marks in axis.collections]
    drawn = np.concatenate([axis.dataLim.intervalx, *lines, *marks]).astype(float)
    drawn = drawn[np.isfinite(drawn)]
    if isinstance(steps, AutoLocator) and (drawn == drawn.round()).all():
        steps.set_params(integer=True)
