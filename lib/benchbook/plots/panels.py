"""Seaborn's grid of panels without its own layout: a figure's layout engine places everything when it is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from benchbook.plots.quick_seaborn import sns
from benchbook.plots.style import Look
from benchbook.stats.estimates import Array

# White around a mark sets it apart from those below it; as wide as seaborn draws it.
_EDGE: Mapping[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.75}


class Panels(sns.FacetGrid):
    """A FacetGrid that is laid out once, by `style.laid_out`; seaborn's would be two more of each figure."""

    def tight_layout(self, *_: Any, **__: Any) -> Any:
        return self


def line_panels(
    data: pd.DataFrame, facets: Mapping[str, Any], *, x: str, y: str, by: str, shown: Mapping[str, Look], **more: Any
) -> Panels:
    """y against x, a panel per facet and in it a line with marks per value of `by`, as `shown`; `more` is matplotlib's.

    Not by `sns.lineplot`: told a colour and a mark by one column, it looks for a line at every pair of both, which of
    34 repetitions are 1,156 in each panel.
    """
    grid = Panels(data, dropna=False, **facets)
    grid.map_dataframe(_draw_lines, x=x, y=y, by=by, shown=shown, **more)
    return grid


def _draw_lines(
    *, data: pd.DataFrame, x: str, y: str, by: str, shown: Mapping[str, Look], color: Any, **more: Any
) -> None:
    del color  # the grid's own, of which there is one
    lines = _lines(data, x, y, by)
    names_of: dict[Look, list[str]] = {}
    for name, look in shown.items():
        if name in lines:
            names_of.setdefault(look, []).append(name)
    for look, names in names_of.items():
        style: Any = (0, look.dash) if look.dash else "-"
        drawn = {"color": look.colour, "marker": look.marker, "linestyle": style, **_EDGE, **more}
        # Lines that look alike are one with gaps: of 34 repetitions 6 are drawn, not 34.
        plt.plot(*_with_gaps([lines[name] for name in names]), **drawn)


def _lines(data: pd.DataFrame, x: str, y: str, by: str) -> dict[str, Array]:
    """By name x and y of a line (2 x n), from the left to the right; without what is missing."""
    points = data[[x, y]].to_numpy(dtype=np.float64, na_value=np.nan)
    codes, names = pd.factorize(data[by])
    known = (codes >= 0) & ~np.isnan(points).any(axis=1)
    points, codes = points[known], codes[known]
    order = np.lexsort((points[:, 1], points[:, 0], codes))
    points, codes = points[order], codes[order]
    found, starts = np.unique(codes, return_index=True)
    return {str(names[code]): part.T for code, part in zip(found, np.split(points, starts[1:]), strict=True)}


def _with_gaps(lines: Sequence[Array]) -> Array:
    """Lines one after the other, with a point that is not drawn between two of them."""
    gap = np.full((2, 1), np.nan)
    return np.hstack([part for line in lines for part in (gap, line)][1:])


def mark_panels(
    data: pd.DataFrame, facets: Mapping[str, Any], *, x: str, y: str, by: str, shown: Mapping[str, Look], **more: Any
) -> Panels:
    """y against x, a panel per facet, a mark per row, as `shown` says of its value of `by`; `more` is seaborn's."""
    grid = Panels(data, dropna=False, **facets)
    grid.map_dataframe(
        sns.scatterplot,
        legend=False,
        x=x,
        y=y,
        hue=by,
        style=by,
        hue_order=list(shown),
        style_order=list(shown),
        palette={name: look.colour for name, look in shown.items()},
        markers={name: look.marker for name, look in shown.items()},
        **more,
    )
    return grid
