"""Labels beside the marks of a panel, where there is room for them."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from benchbook.plots.style import short_numbers

# What a label of five characters takes of a panel's width and height, and where it may stand beside its mark.
_WIDE, _HIGH = 0.115, 0.055
_BESIDE = ((0.02, 0.02), (0.02, -0.075), (-0.135, 0.02), (-0.135, -0.075))
# Above and right of the marks there is room for their labels.
_ROOM = 1.2


def beside_marks(axis: Axes, part: pd.DataFrame, x: str, y: str, label: str) -> None:
    """Write the text of column `label` beside each mark of a panel, which then begins at zero; changes its limits."""
    axis.set_xlim(0, _ROOM * max(float(part[x].max()), 1e-9))
    axis.set_ylim(0, _ROOM * max(float(part[y].max()), 1e-9))
    axis.xaxis.set_major_formatter(EngFormatter(sep=""))
    short_numbers(axis)
    right, top = axis.get_xlim()[1], axis.get_ylim()[1]
    marks = [(a / right, b / top) for a, b in zip(part[x], part[y], strict=True)]
    for left, bottom, text in _apart(marks, [str(text) for text in part[label]]):
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
