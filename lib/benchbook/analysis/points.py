"""Rows of tables as points of a figure: published, and measured with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from benchbook.analysis.results import Row, Table
from benchbook.analysis.shown_trials import curves_apart


def of_metric(tables: Iterable[Table], metric: str, *, x: str, panel: str) -> pd.DataFrame:
    """[panel, x, who, value, low, high] of every row with this metric, in its unit.

    Who is "published", or the row's system. A cell that stands in two tables is one point; where a `panel` would hold
    several at one `x`, it is named by the other levels as well.
    """
    rows = [row for table in tables for row in table.rows if row.metric == metric]
    others = sorted({name for row in rows for name in row.model_extra or {}} - {x, panel, "system"})
    found = [point for row in rows for point in _points(row, [panel, x], others)]
    frame = pd.DataFrame(found, columns=[panel, x, *others, "who", "value", "low", "high"])
    frame = curves_apart(frame, x=x, panel=panel, levels=others).drop(columns=others)
    return frame.drop_duplicates([panel, x, "who"])


def _points(row: Row, levels: Sequence[str], others: Sequence[str]) -> Iterable[dict[str, Any]]:
    about = row.model_extra or {}
    at = {**{name: about[name] for name in levels}, **{name: about.get(name) for name in others}}
    if row.published is not None:
        yield {**at, "who": "published", "value": row.published, "low": None, "high": None}
    if row.measured:
        m = row.measured
        yield {**at, "who": about["system"], "value": m.value, "low": m.low, "high": m.high}
