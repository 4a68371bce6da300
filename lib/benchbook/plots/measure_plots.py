"""More frames as figures: the metrics of one table, what was watched while trials ran, a measure over two levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchbook.analysis.formatting import number
from benchbook.errors import BadInput
from benchbook.given.axis import check_numbers
from benchbook.given.named import one_of
from benchbook.plots import curves, heat_map, timelines
from benchbook.plots.mime import described
from benchbook.plots.no_figure import nothing


def measures(beside: pd.DataFrame, metrics: Sequence[str], *, x: str) -> Figure:
    """Several metrics against level `x`, published and measured, a panel per metric, log scales, 95% intervals.

    `beside`: `report.beside_frame()`, of one table. Raises BadInput for a name that the frame does not have.
    """
    check_numbers(beside, x, "published", "measured")
    for metric in metrics:
        one_of(metric, sorted(set(beside.metric)), "metric")
    mine = beside[beside.metric.isin(metrics) & beside[x].notna()]
    if not mine.measured.notna().any():
        return nothing("This table was not measured in this campaign.")
    titles = beside.attrs.get("titles", {})
    shown = mine.assign(panel=[f"{titles.get(m, m)} ({unit})" for m, unit in zip(mine.metric, mine.unit, strict=True)])
    parts = [shown[shown.metric == metric] for metric in metrics]
    frame = _points(pd.concat(parts, ignore_index=True), x)
    return described(
        curves.curves(frame, panel="panel", x=x, metric_label="", x_label=x),
        f"Against {x}. {curves.points_in_words(frame, 'panel', x)}.",
        "Dashed: published. Solid: measured, mean with 95% interval over repetitions (none with one). "
        f"On other hardware compare shapes. {beside.attrs.get('levels', '')}".strip(),
    )


def _points(mine: pd.DataFrame, x: str) -> pd.DataFrame:
    """[panel, x, who, value, low, high]; a log scale has no place for a zero."""
    alone = mine[mine.measured.notna()].system.nunique() == 1
    printed = mine.assign(who="published", value=mine.published, low=np.nan, high=np.nan)
    seen = mine.assign(who="measured" if alone else mine.system.astype(str), value=mine.measured)
    points = pd.concat([printed, seen], ignore_index=True)[["panel", x, "who", "value", "low", "high"]]
    kept = points[points.value > 0].drop_duplicates(["panel", x, "who"])
    panels = list(dict.fromkeys(mine.panel))
    # Within a panel the published line comes first, and every line goes upward.
    places = [panels.index(panel) for panel in kept.panel]
    order = np.lexsort((kept[x].to_numpy(), kept.who.ne("published").to_numpy(), np.array(places)))
    return kept.iloc[order]


def watched(frame: pd.DataFrame) -> Figure:
    """What was watched while trials ran: a block of panels per trial, a line per metric, the end of each load marked.

    Panels without a sample are left out, and the caption says which. `frame`: [trial, panel, line, t (s), value];
    `attrs`: `ends` (trial -> end of its load, s), `since` (what began at 0), `about` (what it shows), `shown` (which
    trials of several, a sentence; may be missing).
    """
    if frame.empty:
        return nothing(str(frame.attrs.get("about", "Nothing was watched.")))
    about, since = str(frame.attrs["about"]), str(frame.attrs["since"])
    sampled = frame.groupby(["trial", "panel"], sort=False, observed=True).value.transform("count") > 0
    if not sampled.any():
        return nothing(f"{about}: nothing was sampled.")
    said = "; ".join(_highest(str(name), part) for name, part in frame.groupby("trial", sort=False, observed=True))
    some = f" {frame.attrs['shown']}" if "shown" in frame.attrs else ""
    return described(
        timelines.watched(frame[sampled], ends=frame.attrs["ends"], since=since),
        f"{about} over time, a block of panels per trial. {said}.",
        f"{about}, time since {since} began; the dotted line is the end of the load.{some}{_unsampled(frame, sampled)}",
    )


def _unsampled(frame: pd.DataFrame, sampled: pd.Series[bool]) -> str:
    """Which panels are missing, and in how many of the trials: a sentence, with a space before it."""
    left_out = frame[~sampled].drop_duplicates(["trial", "panel"]).groupby("panel", sort=False).size()
    if left_out.empty:
        return ""
    trials = frame.trial.nunique()
    listed = ", ".join(f"{panel} in {count} of {trials} trials" for panel, count in left_out.items())
    return f" Without a sample, and so without a panel: {listed}."


def _highest(trial: str, part: pd.DataFrame) -> str:
    tops = part.dropna(subset="value").groupby("line", sort=False, observed=True).value.max()
    said = ", ".join(f"{line} up to {number(float(top))}" for line, top in tops.items())
    return f"{trial}: {said or 'no samples'}"


def heat(frame: pd.DataFrame, value: str, *, down: str, across: str, panel: str = "who") -> Figure:
    """`value` over two levels as a map, a panel per `panel`, each cell with half the width of its 95% interval.

    `frame`: a row per cell; `VALUE_low` and `VALUE_high` are the interval, where there is one.
    """
    for name in (down, across, panel):
        one_of(name, frame.columns, "column")
    check_numbers(frame, value)
    ends = {end: frame.get(f"{value}_{end}", pd.Series(np.nan, index=frame.index)) for end in ("low", "high")}
    cells = frame.assign(who=frame[panel].astype(str), value=frame[value], **ends).dropna(subset="value")
    if cells.empty:
        return nothing(f"No {value} was measured.")
    _one_row_a_cell(cells, value, [panel, down, across])
    said = [
        f"{who}, {_at(down, row)}, {_at(across, column)}: {number(float(v))}"
        for who, row, column, v in zip(cells.who, cells[down], cells[across], cells.value, strict=True)
    ]
    return described(
        heat_map.heat_map(cells, down=down, across=across),
        f"{value} over {down} and {across}. {'; '.join(said)}.",
        f"{value} over {down} and {across}; ± half the 95% interval. {frame.attrs.get('levels', '')}".strip(),
    )


def _one_row_a_cell(cells: pd.DataFrame, value: str, names: Sequence[str]) -> None:
    twice = cells[cells.duplicated(["who", *names[1:]])]
    if not twice.empty:
        where = ", ".join(f"{name} {twice[name].iloc[0]}" for name in names)
        fix = f"give a row per cell: frame.groupby({[*names]}, as_index=False, observed=True)[{value!r}].mean()"
        raise BadInput("a cell of the map has several rows", key=value, value=where, fix=fix)


def _at(level: str, value: object) -> str:
    """ "threads 5/15"; a text that says so itself stays as it is."""
    return str(value) if str(value).startswith(level) else f"{level} {value}"
