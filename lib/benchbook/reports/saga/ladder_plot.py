"""The ladder as a figure: three measures per rung, published and measured, each relative to one rung."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from seaborn import FacetGrid

from benchbook import plots
from benchbook.plots.forest import Scale, forest
from benchbook.plots.style import looks
from benchbook.reports.saga.rung import BASE


def relative(frame: pd.DataFrame, *, base: str) -> pd.DataFrame:
    """Values and bounds divided by the same measure's value at rung `base`; measures without that rung are left out.

    `frame`: [who, rung, measure, value, low, high].
    """
    bases = frame[frame.rung == base].set_index(["who", "measure"]).value
    # Of no row at all, a list would choose columns.
    kept = frame[np.array([key in bases.index for key in zip(frame.who, frame.measure, strict=True)], dtype=bool)]
    by = np.array([bases[key] for key in zip(kept.who, kept.measure, strict=True)], dtype=float)
    numbers = {name: kept[name].astype(float) / by for name in ("value", "low", "high")}
    return kept.assign(**numbers)


def drawn(frame: pd.DataFrame) -> Figure:
    """The ladder with what it shows in words; `frame` as `relative` returns it."""
    if frame.empty:
        return plots.nothing(f"Nothing is relative to {BASE.label}: it was not measured.")
    return plots.described(
        ladder(frame, list(dict.fromkeys(frame.measure)), base=BASE.label),
        in_words(frame),
        f"Each measure relative to its value at {BASE.label}, each rung at its knee. "
        "Squares: published. Other marks: measured, mean with 95% interval over repetitions.",
    )


def ladder(frame: pd.DataFrame, measures: Sequence[str], *, base: str) -> FacetGrid:
    """One panel per measure below each other, rungs from top to bottom; `frame` as `relative` returns it."""
    kept = frame[frame.measure.isin(measures)].assign(panel=lambda f: f.measure, row=lambda f: f.rung)
    # A rate below zero is none: the interval ends at the axis.
    kept = kept.assign(low=kept.low.clip(lower=0))
    ranges = {m: (0.0, 1.05 * float(np.nanmax(part[["value", "high"]]))) for m, part in kept.groupby("measure")}
    scales = {str(m): Scale(f"relative to {base}", limits, log=False, title=str(m)) for m, limits in ranges.items()}
    look = looks(kept.who)
    marks = {who: (look["palette"][who], look["markers"][who]) for who in look["hue_order"]}
    order = sorted(kept.index, key=lambda i: (measures.index(kept.measure[i]), kept.who[i] != "published"))
    return forest(kept.loc[order], scales, marks, width=6.4, row_height=0.28)


def in_words(frame: pd.DataFrame) -> str:
    """The figure's alt text: every value."""
    parts = [
        f"{measure}, {rung}: " + ", ".join(f"{who} {value:.2f}" for who, value in zip(p.who, p.value, strict=True))
        for (measure, rung), p in frame.groupby(["measure", "rung"], sort=False)
    ]
    return "Relative to the rung without DTM. " + "; ".join(parts) + "."
