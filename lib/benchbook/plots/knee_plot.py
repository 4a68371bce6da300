"""Latency against offered rate, with the rate up to which it is kept: a panel per search, a mark per load."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter

from benchbook.campaign.max_rate import Searched, by_rate, excess
from benchbook.plots.output import described
from benchbook.plots.style import PUBLISHED, facets, legend_below, looks, styled

VERDICTS = ("kept", "undecided", "broken", "broken, saturated")
CAPTION = (
    "A mark per load: the p99 of its transactions, the wait for a free client among their time. Dashed: the p99 to "
    "keep."
)
FOUND = " Shaded: from the highest rate that kept it to the lowest that broke it; the line is the highest rate."
UNKNOWN = " At the upper edge: loads that were offered so much that their p99 is not known."


def frame(searches: Sequence[Searched]) -> pd.DataFrame:
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
                rows.append({"panel": panel(each), "rate": load.rate, "p99_ms": p99_ms, "verdict": verdict})
    return pd.DataFrame(rows, columns=["panel", "rate", "p99_ms", "verdict"])


def panel(searched: Searched) -> str:
    """Return what is searched, in a few words."""
    cell = searched.cell
    what = " ".join(dict.fromkeys([cell.table, str(cell.levels.get("workload", cell.table))]))
    return f"{cell.system}, {what}, {cell.levels['threads']} threads"


@styled()
def drawn(searches: Sequence[Searched]) -> Figure:
    """Return the loads of every search, with what they show in words; there is at least one."""
    loads = frame(searches)
    top = 1.3 * max([loads.p99_ms.max(), *(each.slo.p99_ms for each in searches)])
    known = loads.assign(p99_ms=loads.p99_ms.fillna(top))
    layout = facets(known.panel.nunique(), columns=2, height=2.8, aspect=1.5)
    grid = sns.relplot(
        known, kind="scatter", x="rate", y="p99_ms", hue="verdict", style="verdict", alpha=0.75, col="panel",
        **looks([v for v in VERDICTS if v in set(known.verdict)], lines=False), **layout,
    )  # fmt: skip
    for each in searches:
        if panel(each) in grid.axes_dict:
            _slo(grid.axes_dict[panel(each)], each)
    grid.set_titles("{col_name}").set_axis_labels("offered (transactions/s)", "p99 (ms), log scale").tight_layout()
    legend_below(grid)
    found = any(each.knee.rate is not None for each in searches)
    caption = CAPTION + (FOUND if found else "") + (UNKNOWN if loads.p99_ms.isna().any() else "")
    return described(grid, " ".join(map(in_words, searches)), caption)


def _slo(axis: Axes, searched: Searched) -> None:
    found = searched.knee
    axis.axhline(searched.slo.p99_ms, color=PUBLISHED, linestyle="--", linewidth=1)
    if found.rate is not None and found.high is not None:
        axis.axvspan(found.low, found.high, color="#dddddd", zorder=0)
        axis.axvline(found.rate, color="black", linewidth=1)
    axis.set(yscale="log")
    axis.set_xlim(left=0)
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def in_words(searched: Searched) -> str:
    """What a search has found, in a sentence or two."""
    found, closed = searched.knee, max((load.achieved for load in searched.loads if load.rate == 0), default=0.0)
    keeps = f"99% of the transactions take at most {searched.slo.p99_ms:g} ms"
    cost = f" {found.loads} loads{'; the search ended because ' + found.ended if found.ended else ''}."
    if found.rate is None or found.high is None:
        below = f"the lowest that broke it is {found.high:,.0f}/s" if found.high else "none broke it"
        kept = f"the highest rate that kept it is {found.low:,.0f}/s" if found.low else "no rate kept it"
        return f"{panel(searched)}: no knee was found where {keeps}: {kept}, {below}.{cost}"
    between = f"between {found.low:,.0f}/s, which kept it, and {found.high:,.0f}/s, which broke it"
    share = f"; a closed loop does {closed:,.0f}/s" if closed else ""
    return f"{panel(searched)}: {keeps} up to {found.rate:,.0f}/s offered ({between}{share}).{cost}"
