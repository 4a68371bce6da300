"""The ladder as a figure: three measures per rung, published and measured, each relative to one rung."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchbook.plots.panels import COLOURS, PUBLISHED, panels


def relative(frame: pd.DataFrame, *, base: str) -> pd.DataFrame:
    """Values and bounds divided by the same measure's value at rung `base`; measures without that rung are left out.

    `frame`: [who, rung, measure, value, low, high].
    """
    bases = frame[frame.rung == base].set_index(["who", "measure"]).value
    kept = frame[[key in bases.index for key in zip(frame.who, frame.measure, strict=True)]]
    by = np.array([bases[key] for key in zip(kept.who, kept.measure, strict=True)], dtype=float)
    numbers = {name: kept[name].astype(float) / by for name in ("value", "low", "high")}
    return kept.assign(**numbers)


def ladder(frame: pd.DataFrame, measures: Sequence[str], *, base: str) -> Figure:
    """One panel per measure below each other, rungs from top to bottom; `frame` as `relative` returns it."""
    rungs = list(dict.fromkeys(frame.rung))
    figure, axes = panels(len(measures), columns=1, width=6.2, height=0.28 * len(rungs) + 0.7)
    for axis, measure in zip(axes, measures, strict=True):
        _panel(axis, frame[frame.measure == measure], rungs, measure)
    axes[-1].set_xlabel(f"relative to {base}")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def _panel(axis: Axes, part: pd.DataFrame, rungs: list[str], title: str) -> None:
    places = {rung: place for place, rung in enumerate(rungs)}
    looks = {"published": (PUBLISHED, "s", -0.13), "measured": (COLOURS[0], "o", 0.13)}
    for who, (colour, marker, shift) in looks.items():
        mine = part[part.who == who]
        reach = np.vstack([mine.value - mine.low.clip(lower=0), mine.high - mine.value])
        axis.errorbar(
            mine.value,
            [places[r] + shift for r in mine.rung],
            xerr=np.nan_to_num(reach),
            fmt=marker,
            color=colour,
            capsize=3,
            markersize=5,
            label=who,
        )
    axis.axvline(1, color="#999999", linewidth=1, linestyle=":")
    axis.set_yticks(range(len(rungs)), rungs)
    axis.set_ylim(len(rungs) - 0.5, -0.5)
    axis.set_xlim(left=0)
    axis.set_title(title, loc="left")


def in_words(frame: pd.DataFrame) -> str:
    """The figure's alt text: every value."""
    parts = [
        f"{measure}, {rung}: " + ", ".join(f"{who} {value:.2f}" for who, value in zip(p.who, p.value, strict=True))
        for (measure, rung), p in frame.groupby(["measure", "rung"], sort=False)
    ]
    return "Relative to the rung without DTM. " + "; ".join(parts) + "."
