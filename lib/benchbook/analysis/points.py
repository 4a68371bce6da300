"""Rows of tables as points of a figure: published, and measured with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from benchbook.analysis.results import Row, Table


def of_metric(tables: Iterable[Table], metric: str, levels: Sequence[str]) -> pd.DataFrame:
    """[*levels, who, value, low, high] of every row with this metric, in its unit.

    Who is "published", or the row's system. A cell that stands in two tables is one point.
    """
    found = [point for table in tables for row in table.rows if row.metric == metric for point in _points(row, levels)]
    frame = pd.DataFrame(found, columns=[*levels, "who", "value", "low", "high"])
    return frame.drop_duplicates([*levels, "who"])


def _points(row: Row, levels: Sequence[str]) -> Iterable[dict[str, Any]]:
    about = row.model_extra or {}
    at = {name: about[name] for name in levels}
    if row.published is not None:
        yield {**at, "who": "published", "value": row.published, "low": None, "high": None}
    if row.measured:
        m = row.measured
        yield {**at, "who": about["system"], "value": m.value, "low": m.low, "high": m.high}
