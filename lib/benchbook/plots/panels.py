"""Seaborn's grid of panels without its own layout: a figure's layout engine places everything when it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from benchbook.plots.quick_seaborn import sns

_DRAWN_BY: Mapping[str, Callable[..., Any]] = {"line": sns.lineplot, "scatter": sns.scatterplot}


class Panels(sns.FacetGrid):
    """A FacetGrid that is laid out once, by `style.laid_out`; seaborn's would be two more of each figure."""

    def tight_layout(self, *_: Any, **__: Any) -> Any:
        return self


def related(data: pd.DataFrame, kind: str, facets: Mapping[str, Any], **look: Any) -> Panels:
    """What `sns.relplot` draws, a legend apart: x against y in a panel per facet; `look` goes to seaborn's own function."""  # noqa: E501
    grid = Panels(data, dropna=False, **facets)
    grid.map_dataframe(_DRAWN_BY[kind], legend=False, **look)
    return grid
