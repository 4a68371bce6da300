"""Columns of a frame that a figure or a fit has along an axis."""

from __future__ import annotations

import pandas as pd

from benchbook.errors import BadInput
from benchbook.given.named import one_of


def check_numbers(frame: pd.DataFrame, *names: str) -> None:
    """Raises BadInput for a column that the frame does not have, and for one of text; an empty one has no kind."""
    for name in names:
        one_of(name, frame.columns, "column")
        if not _is_number(frame[name]) and frame[name].notna().any():
            known = [str(column) for column in frame.columns if _is_number(frame[column])]
            fix = f"name a column of numbers ({', '.join(known)}); what text tells apart can be a panel"
            raise BadInput("an axis needs numbers, and this column has none", key="column", value=name, fix=fix)


def _is_number(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column)
