"""One measure against another: a panel per who, a mark per combination."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from benchbook.plots.style import COLUMNS, PANEL_WIDTH, laid_out, legend, looks, short_numbers, styled

_HEIGHT = 3.0
# What a label of five characters takes of a panel's width and height, and where it may stand beside its mark.
_WIDE, _HIGH = 0.115, 0.055
_BESIDE = ((0.02, 0.02), (0.02, -0.075), (-0.135, 0.02), (-0.135, -0.075))


@styled()
def scatter(frame: pd.DataFrame, *, x: str, y: str, group: str, x_label: str, y_label: str) -> Figure:
    """A panel per value of `who`; a colour and a mark per value of `group`, `label` beside the marks.

    `frame`: [who, group, label, x, y]. Each panel has its own scales: only the shape can be compared.
    """
    shown = looks(frame[group])
    grid = sns.relplot(
        frame,
        kind="scatter",
        x=x,
        y=y,
        hue=group,
        style=group,
        hue_order=list(shown),
        style_order=list(shown),
        palette={name: look.colour for name, look in shown.items()},
        markers={name: look.marker for name, look in shown.items()},
        s=45,
        col="who",
        col_wrap=COLUMNS,
        height=_HEIGHT,
        aspect=PANEL_WIDTH / _HEIGHT,
        legend=False,
        facet_kws={"sharex": False, "sharey": False},
    )
    for who, axis in grid.axes_dict.items():
        part = frame[frame.who == who]
        _from_zero(axis, part[x].max(), part[y].max())
        _labels(axis, part, x, y)
        axis.set(title=str(who), xlabel=x_label, ylabel="")
    for axis in grid.axes.flat[::COLUMNS]:
        axis.set_ylabel(y_label)
    legend(grid.figure, shown, lines=False)
    return laid_out(grid.figure)


def _from_zero(axis: Axes, right: float, top: float) -> None:
    axis.set_xlim(0, 1.2 * right)
    axis.set_ylim(0, 1.2 * max(float(top), 1e-9))
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    short_numbers(axis)


def _labels(axis: Axes, part: pd.DataFrame, x: str, y: str) -> None:
    right, top = axis.get_xlim()[1], axis.get_ylim()[1]
    marks = [(a / right, b / top) for a, b in zip(part[x], part[y], strict=True)]
    for left, bottom, text in _apart(marks, list(part.label)):
        axis.text(left, bottom, text, transform=axis.transAxes, fontsize=7)


def _apart(marks: list[tuple[float, float]], texts: list[str]) -> Iterator[tuple[float, float, str]]:
    """Where each label stands without covering a mark or another label; one that finds no such place is left out.

    All as shares of the panel.
    """
    taken: list[tuple[float, float]] = []
    for (x, y), text in sorted(zip(marks, texts, strict=True), reverse=True):
        for across, up in _BESIDE:
            left, bottom = x + across, y + up
            covers = any(left - 0.015 < a < left + _WIDE and bottom - 0.025 < b < bottom + _HIGH for a, b in marks)
            meets = any(abs(left - a) < _WIDE and abs(bottom - b) < _HIGH for a, b in taken)
            if not covers and not meets and left > 0:
                taken.append((left, bottom))
                yield left, bottom, text
                break
