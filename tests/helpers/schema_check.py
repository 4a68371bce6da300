"""A frame beside its schema."""

from __future__ import annotations

import pandas as pd

from benchbook.analysis.schema import LEVELS, METRICS, FrameSchema


def check(frame: pd.DataFrame, schema: FrameSchema) -> None:
    """Every column of the schema is there, in its order and of its type; others only where it allows them."""
    fixed = {column.name: column.kind for column in schema.columns if not column.name.startswith("<")}
    assert [name for name in frame.columns if name in fixed] == list(fixed)
    kinds = {name: "str" if kind == "string" else kind for name, kind in frame.dtypes.astype(str).items()}
    assert {name: kinds[name] for name in fixed} == fixed
    others = set(frame.columns) - set(fixed)
    assert not others or {LEVELS, METRICS} & {column.name for column in schema.columns}
    assert {kinds[name] for name in others} <= {"int64", "Int64", "float64", "category"}
    units = {c.name: c.unit for c in schema.columns if c.unit and c.unit != "row"}
    assert units.items() <= frame.attrs["units"].items()
