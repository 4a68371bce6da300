"""In place of a figure: why there is none."""

from __future__ import annotations

from matplotlib.figure import Figure

from benchbook.plots.mime import described
from benchbook.plots.style import COLUMNS, PANEL_WIDTH, styled


@styled()
def nothing(why: str) -> Figure:
    """A figure that says why there is none: a notebook goes on, and its reader knows."""
    figure = Figure(figsize=(PANEL_WIDTH * COLUMNS, 0.6))
    figure.text(0.02, 0.5, why, va="center", fontsize=9)
    return described(figure, why)
