"""Latency against offered rate, with the rate up to which it is kept: a panel per search, a mark per load."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, FuncFormatter
from matplotlib.transforms import Transform

from benchbook.campaign.knee_search import Searched
from benchbook.knee.offered_load import excess
from benchbook.knee.search import by_rate
from benchbook.plots.mime import described
from benchbook.plots.quick_seaborn import sns
from benchbook.plots.style import COLOURS, COLUMNS, PANEL_WIDTH, PUBLISHED, Look, laid_out, legend, styled

# Colour and mark both tell what the loads at a rate have decided.
LOOKS = {
    "kept": Look(COLOURS[2], "o"),
    "undecided": Look(COLOURS[0], "s"),
    "broken": Look(COLOURS[1], "X"),
    "broken, saturated": Look(COLOURS[3], "^"),
}
CAPTION = (
    "A mark per load: the p99 of its transactions, the wait for a free client among their time. "
    "Shaded: from the highest rate that kept it to the lowest that broke it."
)
UNKNOWN = " At the upper edge: loads that were offered so much that their p99 is not known."
# Where that is, in parts of the axis.
_EDGE = 0.97
_HEIGHT = 2.9


def frame(searches: Sequence[Searched]) -> pd.DataFrame:
    """A row per load at an offered rate: panel, rate, p99_ms, verdict.

    Of a saturated load the p99 may not be known (NaN); others without one have decided nothing, and are left out.
    """
    rows = []
    for each in searches:
        verdicts = by_rate(each.loads, each.slo)
        for load in each.loads:
            if load.rate and excess(load, each.slo.p99_ms) is not None:
                said = verdicts[load.rate].replace("open", "undecided")
                said = "broken, saturated" if said == "broken" and load.saturated else said
                p99_ms = load.p99_ms or math.nan
                rows.append({"panel": panel(each), "rate": load.rate, "p99_ms": p99_ms, "verdict": said})
    return pd.DataFrame(rows, columns=["panel", "rate", "p99_ms", "verdict"])


def panel(searched: Searched) -> str:
    """What is searched, in a few words."""
    cell = searched.cell
    what = " ".join(dict.fromkeys([cell.table, str(cell.levels.get("workload", cell.table))]))
    return f"{cell.system}, {what}, {cell.levels['threads']} threads"


@styled()
def drawn(searches: Sequence[Searched]) -> Figure:
    """The loads of every search, with what they show in words; there is at least one."""
    loads = frame(searches)
    names = [name for name in map(panel, searches) if name in set(loads.panel)]
    grid = sns.FacetGrid(
        loads, col="panel", col_order=names, col_wrap=min(COLUMNS, len(names)), height=_HEIGHT,
        aspect=1.25 * PANEL_WIDTH / _HEIGHT, sharex=False, sharey=False,
    )  # fmt: skip
    for each in searches:
        if panel(each) in grid.axes_dict:
            _panel(grid.axes_dict[panel(each)], loads[loads.panel == panel(each)], each)
    shown = {name: look for name, look in LOOKS.items() if name in set(loads.verdict)}
    asked = Line2D([], [], color=PUBLISHED, linestyle="--", label="p99 to keep")
    found = any(each.knee.rate is not None for each in searches)
    knee = [Line2D([], [], color="black", label="knee")] if found else []
    legend(grid.figure, shown, lines=False, more=[asked, *knee])
    caption = CAPTION + (UNKNOWN if loads.p99_ms.isna().any() else "")
    return described(laid_out(grid.figure), " ".join(map(in_words, searches)), caption)


def _panel(axis: Axes, loads: pd.DataFrame, searched: Searched) -> None:
    found = searched.knee
    for verdict, look in LOOKS.items():
        part = loads[loads.verdict == verdict]
        unknown = part.p99_ms.isna()
        _marks(axis, look, part.rate, part.p99_ms, axis.transData)
        _marks(axis, look, part.rate[unknown], part.p99_ms[unknown].fillna(_EDGE), axis.get_xaxis_transform())
    axis.axhline(searched.slo.p99_ms, color=PUBLISHED, linestyle="--", linewidth=1)
    if found.rate is not None and found.high is not None:
        axis.axvspan(found.low, found.high, color="#dddddd", zorder=0)
        axis.axvline(found.rate, color="black", linewidth=1)
    axis.set(title=panel(searched), xlabel="offered (transactions/s)", ylabel="p99 (ms), log scale", yscale="log")
    axis.set_xlim(0, 1.05 * loads.rate.max())
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _marks(axis: Axes, look: Look, x: pd.Series[float], y: pd.Series[float], where: Transform) -> None:
    axis.plot(x, y, transform=where, linestyle="none", marker=look.marker, color=look.colour, alpha=0.75)


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
