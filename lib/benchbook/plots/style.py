"""The one look of all figures: colours and marks that differ for every reader, text sizes, one legend below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle
from typing import Literal

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from benchbook.plots.quick_seaborn import sns

# Okabe & Ito (2008), Color Universal Design: told apart with any colour vision; markers differ as well.
PUBLISHED = "#555555"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "D", "^", "v", "P", "X")
DPI = 110
# Two panels side by side stay readable on a phone.
COLUMNS = 2
PANEL_WIDTH = 3.5

_AXES = {
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "axes.edgecolor": "#222222",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.facecolor": "white",
}
_SIZES = {
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "lines.linewidth": 1.5,
    "lines.markersize": 5.5,
}


@dataclass(frozen=True)
class Look:
    """How one line or one kind of mark is drawn; `dash` as matplotlib's on-off sequence, () for a solid line."""

    colour: str
    marker: str
    dash: tuple[float, ...] = ()


AS_PUBLISHED = Look(PUBLISHED, "s", (4, 2))


@contextmanager
def styled() -> Iterator[None]:
    """Seaborn's style and context, while a figure is made; also a decorator."""
    # A title without a place is looked for a free one at each pass of a layout; no panel has ticks on top.
    with sns.axes_style("ticks", rc=_AXES), sns.plotting_context("paper", rc=_SIZES), rc_context({"axes.titley": 1.0}):
        yield


def looks(names: Iterable[str]) -> dict[str, Look]:
    """A look per name, in their order, all different up to 36; "published" comes first, grey and dashed."""
    wanted = list(dict.fromkeys(names))
    found = {"published": AS_PUBLISHED} if "published" in wanted else {}
    others = [name for name in wanted if name != "published"]
    # Each further round of the colours has its marks one place on: the tenth repetition is not drawn as the fourth.
    marks = [MARKERS[(place + place // len(COLOURS)) % len(MARKERS)] for place in range(len(others))]
    known = zip(others, cycle(COLOURS), marks, strict=False)
    return found | {name: Look(colour, marker) for name, colour, marker in known}


def legend(
    figure: Figure,
    shown: Mapping[str, Look],
    *,
    lines: bool = True,
    more: Iterable[Line2D] = (),
    where: Literal["outside lower center", "outside upper center"] = "outside lower center",
) -> None:
    """One legend for all panels, outside of them; `lines` of False: marks alone."""
    handles = [_handle(name, look, line=lines) for name, look in shown.items()]
    figure.legend(handles=[*handles, *more], loc=where, ncols=4, frameon=False)


def _handle(name: str, look: Look, *, line: bool) -> Line2D:
    found = Line2D([], [], color=look.colour, marker=look.marker, label=name)
    if not line:
        found.set_linestyle("none")
    elif look.dash:
        found.set_dashes(look.dash)
    return found


def laid_out(figure: Figure) -> Figure:
    """The figure with room for its labels and for a legend outside of its panels.

    What takes no room of its own is not asked for any: lines around a panel stand inside of its labels, and a label
    without text needs no place. matplotlib works out all ticks of an axis anew for each such question.
    """
    for panel in figure.axes:
        for spine in panel.spines.values():
            spine.set_in_layout(False)
        for axis in (panel.xaxis, panel.yaxis):
            if not axis.label.get_text():
                axis.set_label_coords(0, 0)
    figure.set_layout_engine("constrained")
    return figure


def short_numbers(axis: Axes) -> None:
    """12k in place of 12000 on the y axis; values below 1 as they are, because nobody reads 500m as a half."""
    top = max(abs(end) for end in axis.get_ylim())
    if top >= 1000:
        axis.yaxis.set_major_formatter(EngFormatter(sep=""))
