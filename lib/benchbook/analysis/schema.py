"""What each frame holds: its columns with type, unit and meaning. `make docs` makes a page of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from benchbook.errors import BadInput
from benchbook.given.choices import one_of

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


_CELL = (
    FrameColumn("table", "category", "", "the published table that the trial belongs to"),
    FrameColumn("system", "category", "", "the system under test"),
    FrameColumn(LEVELS, "float64", "", "a column per level of the report (`threads`, ...); text is a category"),
    FrameColumn("repetition", "int64", "1", "counts from 1: the same cell again, on a fresh server state"),
)
_TRIAL = FrameColumn("trial", "category", "", "id of the trial, the name of its folder")

_WHERE = (
    FrameColumn("report", "category", "", "the report that was restaged"),
    FrameColumn("campaign", "category", "", "id of the campaign"),
)
TRIALS = FrameSchema(
    "report.trials(*names, disturbed=False)",
    "A row per trial that counts, in run order; with `disturbed=True` also the measurements that do not count. `names` "
    "of levels\nand metrics have a column even if no trial has them. So have planned tables of which no trial was "
    "measured. It is kept as\n`trials.parquet` in the campaign's folder.",
    (
        *_WHERE,
        FrameColumn("trial", "str", "", "id of the trial, the name of its folder"),
        FrameColumn("table", "category", "", "the published table that the trial belongs to"),
        FrameColumn("system", "category", "", "the system under test"),
        FrameColumn(
            LEVELS,
            "float64",
            "",
            "a column per level as it was run (`threads`), and beside one of numbers the published level that it "
            "stands for (`threads_published`); text is a category",
        ),
        FrameColumn("repetition", "int64", "1", "counts from 1: the same cell again, on a fresh server state"),
        FrameColumn("order", "int64", "1", "place in the plan, from 0: cells are shuffled within a repetition"),
        FrameColumn("started", "datetime64[ns, UTC]", "", "when the load began, by the host's clock"),
        FrameColumn("duration_s", "float64", "s", "wall time of the load"),
        FrameColumn("client", "category", "", "the host that ran the load generator"),
        FrameColumn("disturbed", "bool", "", "whether something interfered with it, so that it does not count"),
        FrameColumn("why", "str", "", "what interfered; empty where nothing did"),
        FrameColumn("busy_share", "float64", "1", "part of its CPU that the fullest host used while the load ran"),
        FrameColumn("own_share", "float64", "1", "the same without what programs that are no part of the run used"),
        FrameColumn("others_share", "float64", "1", "what those programs used; missing where none was seen"),
        FrameColumn("stolen_share", "float64", "1", "what other virtual machines took"),
        FrameColumn("cores", "float64", "cores", "how many cores that host had"),
        FrameColumn(METRICS, "float64", "attrs", "a column per metric of the summary; its unit is in `attrs['units']`"),
    ),
)
FIGURES = FrameSchema(
    "report.figures(*metrics)",
    "A row per trial that counts and metric, at the published levels that it stands for.",
    (
        *_CELL,
        FrameColumn("trial", "str", "", _TRIAL.meaning),
        FrameColumn("metric", "category", "", "name of the measure"),
        FrameColumn("value", "float64", "row", "what the trial measured"),
        FrameColumn("unit", "category", "", "unit of `value`"),
    ),
)
CELLS = FrameSchema(
    "benchbook.cells(figures, confidence=0.95)",
    "A row per cell, system and metric: the mean over repetitions.",
    (
        FrameColumn("table", "category", "", "the published table that the trials belong to"),
        FrameColumn("system", "category", "", "the system under test"),
        FrameColumn(LEVELS, "float64", "", "a column per level, as published; text is a category"),
        FrameColumn("metric", "category", "", "name of the measure"),
        FrameColumn("measured", "float64", "row", "mean over repetitions"),
        FrameColumn("low", "float64", "row", "lower end of the Student interval; missing below 2 repetitions"),
        FrameColumn("high", "float64", "row", "upper end"),
        FrameColumn("sd", "float64", "row", "standard deviation between repetitions"),
        FrameColumn("n", "int64", "1", "repetitions"),
        FrameColumn("unit", "category", "", "unit of `measured`, `low`, `high` and `sd`"),
    ),
)
SECONDS = FrameSchema(
    "report.seconds(*metrics, source='', trials=None, load_only=True)",
    "A row per sample. `t`, `host`, `source`, `metric`, `value` and `unit` are the columns of `series.parquet`.",
    (
        _TRIAL,
        *_CELL,
        FrameColumn(
            "t", "float64", "s", "since the epoch, by the host's clock; where clocks are apart, by the client's"
        ),
        FrameColumn("since_s", "float64", "s", "since the load began"),
        FrameColumn("host", "category", "", "where it was sampled"),
        FrameColumn("source", "category", "", "the load generator or the probe that sampled it"),
        FrameColumn("metric", "category", "", "name of what was sampled"),
        FrameColumn("value", "float64", "row", "a rate stands at the end of its second"),
        FrameColumn("unit", "category", "", "unit of `value`"),
    ),
)
HISTOGRAMS = FrameSchema(
    "report.histograms(trials=None)",
    "A row per bucket of a trial's latency histogram; counts can be added over trials, percentiles cannot.",
    (
        _TRIAL,
        *_CELL,
        FrameColumn("latency_ms", "float64", "ms", "the bucket; sysbench's are 1.8% wide"),
        FrameColumn("count", "int64", "1", "requests in the bucket"),
    ),
)
PERCENTILES = FrameSchema(
    "report.percentiles(of=(50, 95, 99), trials=None)",
    "A row per trial and percentile of its latency histogram, as far as ten requests lie beyond it.\nTo pool "
    "trials, add their histograms: percentiles cannot be averaged.",
    (
        _TRIAL,
        *_CELL,
        FrameColumn("percentile", "float64", "1", "share of the requests that took no longer, in percent"),
        FrameColumn("latency_ms", "float64", "ms", "what they took at most"),
        FrameColumn("log_se", "float64", "1", "relative standard error that the number of requests alone leaves"),
        FrameColumn("requests", "int64", "1", "requests in the histogram"),
    ),
)
DISTURBANCES = FrameSchema(
    "report.disturbances()",
    "A row per measurement that does not count, and reason. Such a trial was measured again, where tries were left.",
    (
        _TRIAL,
        *_CELL,
        FrameColumn("try", "int64", "1", "counts the disturbed measurements of the trial from 1"),
        FrameColumn("why", "str", "", "what interfered"),
    ),
)
CPU = FrameSchema(
    "report.cpu()",
    "A row per trial and host whose processor was sampled.",
    (
        _TRIAL,
        *_CELL,
        FrameColumn("host", "category", "", "the host; in the lab all hosts are one machine"),
        FrameColumn("busy_cores", "float64", "cores", "cores in use, mean over the load; stolen time counts"),
        FrameColumn("share", "float64", "1", "part of the CPU that the host got which was in use"),
        FrameColumn("cores", "float64", "cores", "how many the host had"),
    ),
)
PUBLISHED = FrameSchema(
    "report.published_frame()",
    "A row per published number.",
    (
        FrameColumn("table", "category", "", "id of the published table"),
        FrameColumn(LEVELS, "float64", "", "a column per level of the report; text is a category"),
        FrameColumn("metric", "category", "", "name of the measure"),
        FrameColumn("value", "float64", "row", "the number"),
        FrameColumn("unit", "category", "", "unit of `value`"),
        FrameColumn("printed", "str", "", "the number as printed, with its digits"),
    ),
)
BESIDE = FrameSchema(
    "report.beside_frame()",
    "A row per cell, system and metric: published beside measured.",
    (
        FrameColumn("table", "category", "", "id of the published table"),
        FrameColumn("system", "category", "", "the system that was measured"),
        FrameColumn(LEVELS, "float64", "", "a column per level, as published; text is a category"),
        FrameColumn("metric", "category", "", "name of the measure"),
        FrameColumn("published", "float64", "row", "the published number; missing where none is printed"),
        FrameColumn("measured", "float64", "row", "mean over repetitions; missing where nothing was measured"),
        FrameColumn("low", "float64", "row", "lower end of the 95% Student interval; missing below 2 repetitions"),
        FrameColumn("high", "float64", "row", "upper end"),
        FrameColumn("n", "int64", "1", "repetitions"),
        FrameColumn("unit", "category", "", "unit of `published`, `measured`, `low` and `high`"),
    ),
)
CLAIMS = FrameSchema(
    "report.claims_frame()",
    "A row per claim and system, with its verdict.",
    (
        FrameColumn("claim", "str", "", "id of the claim"),
        FrameColumn("system", "category", "", "the system that it was judged on"),
        FrameColumn("verdict", "category", "", "holds, fails, open, needs a bigger machine, or not run"),
        FrameColumn("here", "category", "", "the answer on these hosts: holds, fails or open; empty if not measured"),
        FrameColumn("speaks", "category", "", "of the report: both ways, confirm only, refute only or nothing"),
        FrameColumn("hypothesis", "category", "", "the kind of test"),
        FrameColumn("effect", "float64", "row", "the measured effect"),
        FrameColumn("low", "float64", "row", "lower end of its interval, widened for the number of claims"),
        FrameColumn("high", "float64", "row", "upper end"),
        FrameColumn("region_low", "float64", "row", "lower end of the claimed range; missing where it is open"),
        FrameColumn("region_high", "float64", "row", "upper end"),
        FrameColumn("published", "float64", "row", "the same effect in the published table"),
        FrameColumn("unit", "category", "", "`times` (a ratio) or `tau` (a rank correlation)"),
        FrameColumn("n", "Int64", "1", "repetitions"),
        FrameColumn("p_value", "float64", "1", "adjusted for all claims (Holm) and looks"),
        FrameColumn("leaning", "float64", "1", "probability that the claim holds here"),
        FrameColumn("needed", "Int64", "1", "repetitions that would settle it at the spread seen"),
        FrameColumn("statement", "str", "", "what the report says"),
        FrameColumn("sentence", "str", "", "what came out, in words"),
    ),
)
RUNS = FrameSchema(
    "benchbook.runs()",
    "A row per campaign in `data/runs`, oldest first.",
    (
        FrameColumn("campaign", "str", "", "id of the campaign; `benchbook.open_campaign` takes it"),
        FrameColumn("report", "category", "", "the report that it restages"),
        FrameColumn("made", "datetime64[ns, UTC]", "", "when its plan was written"),
        FrameColumn("profile", "category", "", "how big and how long"),
        FrameColumn("inventory", "category", "", "where"),
        FrameColumn("systems", "str", "", "systems under test with their versions"),
        FrameColumn("planned", "int64", "1", "trials of the plan"),
        FrameColumn("done", "int64", "1", "trials with a whole record"),
        FrameColumn("finished", "bool", "", "whether every planned trial is done"),
        FrameColumn("folder", "str", "", "where its files are"),
    ),
)
RUN_TRIALS = FrameSchema(
    "benchbook.catalogue().trials()",
    "A row per trial that counts, of every campaign. A level or a metric that a report does not have is missing.",
    TRIALS.columns,
)
RUN_SECONDS = FrameSchema(
    "benchbook.catalogue().seconds(*metrics, source='', load_only=True)",
    "A row per sample of every trial that counts. `trials` has its table, system and levels.",
    (
        *_WHERE,
        *(column for column in SECONDS.columns if column not in _CELL),
        FrameColumn("in_load", "bool", "", "whether it was sampled while the load ran"),
    ),
)
RUN_HISTOGRAMS = FrameSchema(
    "benchbook.catalogue().histograms()",
    "A row per bucket of the latency histogram of every trial that counts.",
    (*_WHERE, _TRIAL, *HISTOGRAMS.columns[-2:]),
)
RUN_VERDICTS = FrameSchema(
    "benchbook.catalogue().verdicts()",
    "A row per claim and system of every campaign that ran to its end, as its page says it.",
    (*_WHERE, *CLAIMS.columns),
)
RUN_ENVIRONMENTS = FrameSchema(
    "benchbook.catalogue().environments()",
    "A row per recorded fact of every campaign that may change its results, in the words of `benchbook compare`.",
    (
        *_WHERE,
        FrameColumn("fact", "category", "", "as `host.kernel`, `system.version`, `asked.time_s`"),
        FrameColumn("place", "category", "", "the role of the hosts, or the system; empty for what was asked for"),
        FrameColumn("text", "str", "", "its value, without paths and addresses"),
    ),
)
RATIOS = FrameSchema(
    "benchbook.ratios(a, b='')",
    "A row per cell that both campaigns measured: B / A.",
    (
        FrameColumn("table", "category", "", "id of the published table"),
        FrameColumn("system", "category", "", "the system under test"),
        FrameColumn("levels", "str", "", "the levels of the cell, in words"),
        FrameColumn("metric", "category", "", "name of the measure"),
        FrameColumn("a", "float64", "row", "mean over repetitions of A, the baseline"),
        FrameColumn("b", "float64", "row", "mean over repetitions of B"),
        FrameColumn("ratio", "float64", "1", "B / A"),
        FrameColumn("low", "float64", "1", "lower end of its 95% interval"),
        FrameColumn("high", "float64", "1", "upper end"),
        FrameColumn("p_holm", "float64", "1", "adjusted for all cells (Holm)"),
        FrameColumn(
            "called", "category", "", "slower, faster, equivalent, ...; `not called` where environments differ"
        ),
        FrameColumn("unit", "category", "", "unit of `a` and `b`"),
    ),
)
USL = FrameSchema(
    "benchbook.usl(frame, y, x='threads', by=('system', 'workload'))",
    "A row per curve with four or more levels: the Universal Scalability Law fitted to the means per level.",
    (
        FrameColumn("<by>", "category", "", "the columns that tell the curves apart"),
        FrameColumn("contention", "float64", "1", "sigma: share of the work that is done one at a time"),
        FrameColumn("contention_low", "float64", "1", "lower end of its 95% interval"),
        FrameColumn("contention_high", "float64", "1", "upper end"),
        FrameColumn("coherency", "float64", "1", "kappa: what each pair of clients costs"),
        FrameColumn("coherency_low", "float64", "1", "lower end of its 95% interval"),
        FrameColumn("coherency_high", "float64", "1", "upper end"),
        FrameColumn("peak", "float64", "attrs", "where the law is highest; infinite where it never falls"),
        FrameColumn("off_by", "float64", "1", "how far the law is off, relative to the curve"),
        FrameColumn("why_not", "str", "", "why there is no fit; empty with one"),
    ),
)
RUN_SCHEMAS = (RUN_TRIALS, RUN_SECONDS, RUN_HISTOGRAMS, RUN_VERDICTS, RUN_ENVIRONMENTS)
SCHEMAS = (
    TRIALS,
    FIGURES,
    CELLS,
    SECONDS,
    HISTOGRAMS,
    PERCENTILES,
    DISTURBANCES,
    CPU,
    PUBLISHED,
    BESIDE,
    CLAIMS,
    RUNS,
    *RUN_SCHEMAS,
    RATIOS,
    USL,
)
_TAKEN = {column.name for schema in SCHEMAS for column in schema.columns}


def as_level(name: str) -> str:
    """The column of a level: its name, and `<name>_level` where another column of a frame has that name."""
    return f"{name}_level" if name in _TAKEN else name


def typed(
    frame: pd.DataFrame, schema: FrameSchema, *, levels: Sequence[str] = (), units: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """The frame with the schema's columns in their order and of their types; metrics keep the order they came in.

    `levels` name the columns that stand for `<levels>` (or `<by>`), `units` those that stand for `<metrics>`.
    """
    metrics = dict(units or {})
    order: list[str] = []
    kinds: dict[str, str] = {}
    for column in schema.columns:
        if column.name == METRICS:
            order += metrics
            kinds |= dict.fromkeys(metrics, column.kind)
        elif column.name in (LEVELS, "<by>"):
            order += levels
        else:
            order.append(column.name)
            kinds[column.name] = column.kind
    found = frame.reindex(columns=order).astype(kinds)
    for level in levels:
        found[level] = _level(found[level])
    known = {c.name: c.unit for c in schema.columns if c.unit and c.unit not in ("row", "attrs")}
    found.attrs = {"frame": schema.name, "units": {**known, **metrics}, "levels": list(levels)}
    return found


def _level(values: pd.Series) -> pd.Series:
    """Numbers stay whole where none is missing; text, and what is mixed, is a category in its order of appearance."""
    # Each value once: a frame of samples has millions of rows.
    codes, found = pd.factorize(values)
    present = found.tolist()
    if present and all(isinstance(value, int | float) for value in present):
        whole = bool((codes >= 0).all()) and all(float(value).is_integer() for value in present)
        return values.astype("int64" if whole else "float64")
    said = [str(value) for value in present]
    names = list(dict.fromkeys(said))
    # Of a value that is missing the code is -1, which takes the last place.
    places = np.array([*(names.index(name) for name in said), -1])
    coded = pd.Categorical.from_codes(places[codes], dtype=pd.CategoricalDtype(names))
    return pd.Series(coded, index=values.index, name=values.name)


def check_numbers(frame: pd.DataFrame, *names: str) -> None:
    """Raises BadInput for a column that the frame does not have, and for one of text; an empty one has no kind."""
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
    """A file that holds the frame; `path` ends in csv or parquet, `note` is what else is to know of its rows."""
    format_ = path.rpartition(".")[2]
    about = {"name": name, "path": path, "format": format_, "mediatype": _FORMATS[format_], "encoding": "utf-8"}
    # What a row is; the rest of the schema's words is about the call that makes the frame.
    said = f"{schema.row.partition('. ')[0].removesuffix('.')}. {note}".rstrip()
    return {**about, "description": said, "schema": {"fields": _fields(frame, schema)}}


def _fields(frame: pd.DataFrame, schema: FrameSchema) -> list[dict[str, str]]:
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
