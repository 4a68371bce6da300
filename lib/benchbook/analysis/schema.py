"""What each frame holds: its columns with type, unit and meaning. `make docs` makes a page of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from benchbook.errors import BadInput
from benchbook.user_input.choices import one_of
from benchbook.user_input.yaml_file import load_yaml

Kind = Literal["str", "category", "int64", "Int64", "float64", "bool", "datetime64[ns, UTC]"]
# The part of a call that names it: without its arguments, but with the call that it is made on.
_CALLED = re.compile(r"[\w.]+(?:\(\)\.\w+)*")
# Where the columns of the report's levels stand, and those of whatever was measured.
LEVELS, METRICS = "<levels>", "<metrics>"


# https://specs.frictionlessdata.io/table-schema/#types-and-formats; everything else is text.
_TYPES = {"int64": "integer", "Int64": "integer", "float64": "number", "bool": "boolean"}
_FORMATS = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


@dataclass(frozen=True)
class FrameColumn:
    """A column; `unit` is empty for text, "1" for a count or a share, and "row" where another column says it."""

    name: str
    kind: Kind
    unit: str
    meaning: str


@dataclass(frozen=True)
class FrameSchema:
    """A frame: the call that makes it, what a row is, and its columns in their order."""

    call: str
    row: str
    columns: tuple[FrameColumn, ...]

    @property
    def name(self) -> str:
        """What `attrs["frame"]` says: the call without its arguments."""
        found = _CALLED.match(self.call)
        return found[0] if found else self.call

    def markdown(self) -> str:
        """Return the frame's section of the documentation."""
        lines = [f"| `{c.name}` | {c.kind} | {c.unit or '–'} | {c.meaning} |" for c in self.columns]
        return "\n".join([f"## `{self.call}`", "", self.row, "", "| column | type | unit | what it is |"]) + (
            "\n|---|---|---|---|\n" + "\n".join(lines) + "\n"
        )


def _read(file: Path) -> dict[str, FrameSchema]:
    """Return the frames of a file by name; there, a list of columns stands for all of them."""
    found: dict[str, Any] = load_yaml(file)
    return {
        name: FrameSchema(one["call"], one["row"], tuple(FrameColumn(*column) for column in _flat(one["columns"])))
        for name, one in found.items()
    }


def _flat(columns: list[Any]) -> Iterator[list[Any]]:
    for one in columns:
        yield from [one] if isinstance(one[0], str) else _flat(one)


FRAMES = _read(Path(__file__).with_name("frames.yaml"))
SCHEMAS = tuple(FRAMES.values())
TRIALS, FIGURES, CELLS = FRAMES["TRIALS"], FRAMES["FIGURES"], FRAMES["CELLS"]
SECONDS, HISTOGRAMS, PERCENTILES = FRAMES["SECONDS"], FRAMES["HISTOGRAMS"], FRAMES["PERCENTILES"]
DISTURBANCES, CPU = FRAMES["DISTURBANCES"], FRAMES["CPU"]
PUBLISHED, BESIDE, CLAIMS = FRAMES["PUBLISHED"], FRAMES["BESIDE"], FRAMES["CLAIMS"]
RUNS, RATIOS = FRAMES["RUNS"], FRAMES["RATIOS"]
RUN_TRIALS, RUN_SECONDS, RUN_HISTOGRAMS = FRAMES["RUN_TRIALS"], FRAMES["RUN_SECONDS"], FRAMES["RUN_HISTOGRAMS"]
RUN_VERDICTS, RUN_ENVIRONMENTS = FRAMES["RUN_VERDICTS"], FRAMES["RUN_ENVIRONMENTS"]
_TAKEN = {column.name for schema in SCHEMAS for column in schema.columns}


def as_level(name: str) -> str:
    """Return the column of a level: its name, and `<name>_level` where another column of a frame has that name."""
    return f"{name}_level" if name in _TAKEN else name


def typed(
    frame: pd.DataFrame, schema: FrameSchema, *, levels: Sequence[str] = (), units: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """The frame with the schema's columns in their order and of their types; metrics keep the order they came in.

    `levels` name the columns that stand for `<levels>`, `units` those that stand for `<metrics>`.
    """
    metrics = dict(units or {})
    order: list[str] = []
    kinds: dict[str, str] = {}
    for column in schema.columns:
        if column.name == METRICS:
            order += metrics
            kinds |= dict.fromkeys(metrics, column.kind)
        elif column.name == LEVELS:
            order += levels
        else:
            order.append(column.name)
            kinds[column.name] = column.kind
    found = frame.reindex(columns=order).astype(kinds)
    for level in levels:
        found[level] = _level(found[level])
    known = {c.name: c.unit for c in schema.columns if c.unit and c.unit != "row"}
    found.attrs = {"frame": schema.name, "units": {**known, **metrics}, "levels": list(levels)}
    return found


def _level(values: pd.Series) -> pd.Series:
    """Numbers stay whole, as Int64 where one is missing; text, and what is mixed, is a category in its first order."""
    # Each value once: a frame of samples has millions of rows.
    codes, found = pd.factorize(values)
    present = found.tolist()
    if present and all(isinstance(value, int | float) for value in present):
        if not all(float(value).is_integer() for value in present):
            return values.astype("float64")
        return values.astype("int64") if bool((codes >= 0).all()) else values.astype("Int64")
    said = [str(value) for value in present]
    names = list(dict.fromkeys(said))
    # Of a value that is missing the code is -1, which takes the last place.
    places = np.array([*(names.index(name) for name in said), -1])
    coded = pd.Categorical.from_codes(places[codes], dtype=pd.CategoricalDtype(names))
    return pd.Series(coded, index=values.index, name=values.name)


def check_numbers(frame: pd.DataFrame, *names: str) -> None:
    """Raise BadInput for a column that the frame does not have, and for one of text; an empty one has no kind."""
    for name in names:
        one_of(name, frame.columns, "column")
        if not _is_numeric(frame[name]) and frame[name].notna().any():
            known = [str(column) for column in frame.columns if _is_numeric(frame[column])]
            fix = f"name a column of numbers ({', '.join(known)}); what text tells apart can be a panel"
            raise BadInput("an axis needs numbers, and this column has none", key="column", value=name, fix=fix)


def _is_numeric(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column)


def tables() -> pd.DataFrame:
    """Return a row per frame that there is: the call that makes it, what a row of it is, and its columns."""
    rows = [(one.call, " ".join(one.row.split()), ", ".join(c.name for c in one.columns)) for one in SCHEMAS]
    return pd.DataFrame(rows, columns=["call", "a_row_is", "columns"])


def data_resource(name: str, path: str, frame: pd.DataFrame, schema: FrameSchema, note: str) -> dict[str, object]:
    """Return a file that holds the frame; `path` ends in csv or parquet, `note` is what else is to know of its rows."""
    format_ = path.rpartition(".")[2]
    about = {"name": name, "path": path, "format": format_, "mediatype": _FORMATS[format_], "encoding": "utf-8"}
    # What a row is; the rest of the schema's words is about the call that makes the frame.
    said = f"{schema.row.partition('. ')[0].removesuffix('.')}. {note}".rstrip()
    return {**about, "description": said, "schema": {"fields": _fields(frame, schema)}}


def _fields(frame: pd.DataFrame, schema: FrameSchema) -> list[dict[str, str]]:
    """Return every column of the frame; a unit that another column says is left out."""
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
