"""How a history looks in its notebook: changes, what had changed there, cells over time, repeated campaigns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from benchbook import parameters, plots
from benchbook.analysis import formatting
from benchbook.compare.gate import short
from benchbook.compare.history import effect_rows
from benchbook.compare.report_history import NOTEBOOK, HistoryParameters, ReportHistory, report_history
from benchbook.compare.view import ratio
from benchbook.display import show
from benchbook.errors import counted
from benchbook.plots import output
from benchbook.plots.style import facets, legend_below, looks, styled
from benchbook.stats.level_changes import LEAST_CAMPAIGNS

# A table of more rows is not read; `ReportHistory.changes` has all.
MOST_ROWS = 60


def open_history(**given: object) -> ReportHistory:
    """Return the history that these parameters (`HistoryParameters`) ask for. Raise BadInput."""
    return report_history(parameters.check(HistoryParameters, NOTEBOOK, given))


def summary(found: ReportHistory) -> HTML:
    """Return how many campaigns, and how many changes hold; then the campaigns at which a level changed."""
    head = show.paragraph(found.sentence())
    changed = {str(name): part for name, part in found.changes.groupby("campaign")}
    rows = [_step(found, name, changed[name]) for name in found.campaigns.campaign if name in changed]
    return show.stack([head, show.table(rows, "Campaigns at which a level changed")]) if rows else head


def _step(found: ReportHistory, campaign: str, part: pd.DataFrame) -> dict[str, str]:
    facts = found.differences[found.differences.campaign == campaign].fact
    names = list(dict.fromkeys(facts))
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    return {
        "first campaign of the new level": campaign,
        "cells": ", ".join(f"{count} {called}" for called, count in part.called.value_counts().items()),
        "new / old": " to ".join(dict.fromkeys(f"{value:.2f}" for value in (part.ratio.min(), part.ratio.max()))),
        "changed there": ", ".join(names[:4]) + more if names else "nothing that was recorded",
    }


def changes(found: ReportHistory) -> HTML:
    """Return every change of a cell's level: new / old with its 95% interval, and the chance of it by luck."""
    rows = [_change(row) for row in found.changes.head(MOST_ROWS).to_dict("records")]
    if not rows:
        return show.paragraph(_too_few(found) if found.too_few else "No cell's level has changed.")
    left = f", the first {MOST_ROWS} of {len(found.changes)}" if len(found.changes) > MOST_ROWS else ""
    return show.table(rows, f"Changes of the level that hold{left}: new / old [95% interval]")


def _too_few(found: ReportHistory) -> str:
    return f"Too few campaigns to tell whether a level changed: {len(found.campaigns)}, and it takes {LEAST_CAMPAIGNS}."


def _change(row: Mapping[Any, Any]) -> dict[str, str]:
    return {
        **{name: row[name] for name in ("table", "system", "levels")},
        "metric": f"{row['metric']} ({row['unit']})",
        "from campaign": row["campaign"],
        "new / old": ratio(row["ratio"], row["low"], row["high"]),
        "p": formatting.number(row["p_value"]),
        "it became": row["called"],
    }


def who_changed(found: ReportHistory) -> HTML:
    """Return what of the environment changed from the campaign before a change to the first of the new level."""
    if found.changes.empty:
        said = "Where no level changed, there is nothing to explain."
        return show.paragraph(_too_few(found) if found.too_few else said)
    told = found.differences.head(MOST_ROWS)
    rows: list[dict[Any, Any]] = told.assign(was=told.was.map(short), became=told.became.map(short)).to_dict("records")
    silent = sorted(set(found.changes.campaign) - set(found.differences.campaign))
    parts = [show.table(rows, "What had changed there")] if rows else []
    if silent:
        said = f"Nothing that is recorded changed at {', '.join(silent)}: a machine may, in ways that nobody records."
        parts.append(show.paragraph(said))
    return show.stack(parts)


def figures(found: ReportHistory) -> HTML:
    """Return every cell over time, relative to its median: a figure per metric, a panel per table and system."""
    if found.points.empty:
        return show.paragraph("No trial has a metric of the published tables.")
    metrics = found.points[["metric", "unit"]].drop_duplicates().itertuples(index=False, name=None)
    return show.stack([_figure(found, metric, unit) for metric, unit in metrics])


def _figure(found: ReportHistory, metric: str, unit: str) -> HTML:
    mine = _lines(found.points[(found.points.metric == metric) & (found.points.unit == unit)])
    broken = _lines(found.changes[(found.changes.metric == metric) & (found.changes.unit == unit)])
    kept, left_out = _few(mine, set(zip(broken.panel, broken.line, strict=True)))
    middle = kept.groupby(["panel", "line"])["mean"].transform("median")
    # Nothing that is measured is below 0, but an interval of few repetitions can be wider than its mean.
    low = (kept.low / middle).clip(lower=0)
    frame = kept.assign(value=kept["mean"] / middle, low=low, high=kept.high / middle)
    drawn = over_campaigns(frame, broken, found.campaigns.campaign.tolist())
    said = [f"{row.panel}, {row.line}: {row.ratio:.2f} from {row.campaign}" for row in broken.itertuples()]
    none = _too_few(found) if found.too_few else "No level changed."
    changed = f"{'; '.join(said[:12])}." if said else none
    alt = f"{metric} of {counted(len(found.campaigns), 'campaign')}. {changed}"
    caption = (
        f"{metric} ({unit}) of every campaign, relative to its cell's median, with 95% intervals over repetitions. "
        f"Lines: levels. Dotted: where one changed. {left_out}"
    )
    return output.picture(plots.described(drawn, alt, caption.strip()))


def _lines(frame: pd.DataFrame) -> pd.DataFrame:
    """With a panel per table (and system, where there are several), a line per combination of levels."""
    several = frame.system.nunique() > 1
    panel = frame["table"] + ", " + frame.system if several else frame["table"]
    return frame.assign(panel=panel, line=frame.levels.where(frame.levels != "", "all"))


def _few(frame: pd.DataFrame, broken: set[tuple[str, str]]) -> tuple[pd.DataFrame, str]:
    """At most as many lines as can be told apart, those that changed first; and what was left out, in words."""
    lines = frame.groupby("line", sort=False).panel.agg(list)
    order = sorted(lines.index, key=lambda line: not any((panel, line) in broken for panel in lines[line]))
    kept = order[:MOST_LINES]
    left = len(order) - len(kept)
    return frame[frame.line.isin(kept)], f"{left} more combinations of levels are not drawn." if left else ""


def repeats(found: ReportHistory) -> HTML:
    """Return what campaigns of the same environment differ by, per table, system and metric: what `compare` counts."""
    listing = found.repeats
    rows = effect_rows(listing.effects)
    head = show.paragraph(listing.sentence())
    return show.stack([head, show.table(rows, "What such campaigns differ by, beside repetitions")]) if rows else head


# Lines of one panel that are still told apart.
MOST_LINES = 6


@styled()
def over_campaigns(points: pd.DataFrame, breaks: pd.DataFrame, campaigns: Sequence[str]) -> sns.FacetGrid:
    """Draw a panel per `panel`, a colour per `line`, the mean of each stretch between breaks.

    `points`: [panel, line, campaign, value, low, high], `breaks`: [panel, line, campaign]; values relative to the
    cell's median. `campaigns` are the places along x, in order.
    """
    place = {name: number for number, name in enumerate(campaigns)}
    points = points.assign(place=points.campaign.map(place)).reset_index(drop=True)
    look = looks(points.line, lines=False)
    layout = facets(points.panel.nunique(), columns=2, aspect=1.6)
    layout["facet_kws"]["sharex"] = True
    grid = sns.relplot(points, kind="scatter", x="place", y="value", hue="line", style="line", col="panel", s=20,
                       legend=len(look["hue_order"]) > 1, **look, **layout)  # fmt: skip
    for panel, axis in grid.axes_dict.items():
        for line, part in points[points.panel == panel].groupby("line", sort=False):
            changed = breaks[(breaks.panel == panel) & (breaks.line == line)].campaign.map(place)
            _stretches(axis, part, look["palette"][line], sorted(changed))
        axis.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _when(campaigns, value)))
    grid.set_titles("{col_name}").set_axis_labels("", "relative to the median").tight_layout()
    legend_below(grid)
    return grid


def _stretches(axis: Axes, part: pd.DataFrame, colour: object, breaks: Sequence[int]) -> None:
    x, y = part.place.to_numpy(float), part.value.to_numpy(float)
    axis.vlines(x, part.low, part.high, color=colour, alpha=0.35, linewidth=1)
    for a, b in zip([-np.inf, *breaks], [*breaks, np.inf], strict=True):
        stretch = (x >= a) & (x < b)
        if stretch.any():
            axis.plot([x[stretch].min(), x[stretch].max()], [y[stretch].mean()] * 2, color=colour, linewidth=1.2)
    for at in breaks:
        axis.axvline(at - 0.5, color=colour, linewidth=0.9, linestyle=":")


def _when(campaigns: Sequence[str], value: float) -> str:
    """Return the day of a campaign, and where several are of one day hour and minute (UTC): its id is 20261122T0731."""
    number = round(value)
    # The axis of a single campaign has ticks between whole numbers.
    if not 0 <= number < len(campaigns) or abs(value - number) > 1e-6:
        return ""
    name = campaigns[number]
    day, several = f"{name[:4]}-{name[4:6]}-{name[6:8]}", len({other[:8] for other in campaigns}) < len(campaigns)
    return f"{day}\n{name[9:11]}:{name[11:13]}" if several else day
