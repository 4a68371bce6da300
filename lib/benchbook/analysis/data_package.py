"""What the columns of a frame are, as a Frictionless data package says it: type, unit and meaning beside the files."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from benchbook.analysis.schema import FrameSchema

# https://specs.frictionlessdata.io/table-schema/#types-and-formats; everything else is text.
_TYPES = {"int64": "integer", "Int64": "integer", "float64": "number", "bool": "boolean"}
_FORMATS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def resource(name: str, path: str, frame: pd.DataFrame, schema: FrameSchema, note: str) -> dict[str, object]:
    """A file that holds the frame; `path` ends in csv or parquet, `note` is what else is to know of its rows."""
    format_ = path.rpartition(".")[2]
    about = {"name": name, "path": path, "format": format_, "mediatype": _FORMATS[format_], "encoding": "utf-8"}
    # What a row is; the rest of the schema's words is about the call that makes the frame.
    said = f"{schema.row.partition('. ')[0].removesuffix('.')}. {note}".rstrip()
    return {**about, "description": said, "schema": {"fields": fields(frame, schema)}}


def fields(frame: pd.DataFrame, schema: FrameSchema) -> list[dict[str, str]]:
    """Every column of the frame; a unit that another column says is left out."""
    meanings = {column.name: column.meaning for column in schema.columns}
    units: Mapping[str, str] = frame.attrs["units"]
    names = [(str(name), str(kind)) for name, kind in frame.dtypes.items()]
    return [
        _field(name, kind, units.get(name, ""), meanings.get(name) or _meaning(name, measured=name in units))
        for name, kind in names
    ]


def _meaning(name: str, *, measured: bool) -> str:
    return f"metric {name} of the trial's load" if measured else f"level {name} of the trial, as it was run"


def _field(name: str, kind: str, unit: str, meaning: str) -> dict[str, str]:
    if kind.startswith("datetime"):
        return {"name": name, "type": "datetime", "format": "any", "unit": unit, "description": meaning}
    return {"name": name, "type": _TYPES.get(kind, "string"), "unit": unit, "description": meaning}
