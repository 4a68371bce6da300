"""Printed tables as drafted ones: columns with roles and units, and one row per measurement."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from benchbook.documents.columns import AT_LEVEL, Column, concurrency_of
from benchbook.documents.numerals import Figure, is_empty
from benchbook.documents.tables import Cell, Reading, Table, table_in_sentences
from benchbook.documents.units import factor
from benchbook.drafting.commands import called_workload
from benchbook.drafting.guesses import SYSTEM, Guesses
from benchbook.drafting.hosts import MEASURED, host_attributes

_WORDS = re.compile(
    r"\b(?:tps|qps|rps|ops|iops|tpmc?|throughput|latenc\w+|lat|avg|average|mean|median|percentile|p\d\d\S*|(?:95|99|90|50)(?:th|\s?%)?|"
    r"performance|duration|ms|us|s|sec\w*|MB/s|GB/s|ops/s\w*|req\w*/s\w*|queries/s\w*|tx\w*/s)(?=\W|$)|%|吞吐量?|延迟|耗时",
    re.IGNORECASE,
)
_SUFFIX = {"ms": "ms", "us": "us", "ns": "ns", "s": "s", "min": "min", "%": "percent", "x": "times"}


def slug(words: str) -> str:
    """Return words as a name: lower-case letters, digits and underscores."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"[(\[（].*?[)\]）]", " ", words).lower()).strip("_")[:40]


def own_words(heading: str) -> str:
    """Return what is left of a heading without its quantity and unit: "v6.1.0" of "v6.1.0 95% latency (ms)"."""
    return " ".join(_WORDS.sub(" ", re.sub(r"[(\[（].*?[)\]）]", " ", heading)).replace("_", " ").split()).strip(
        " -/,:"
    )


def column_name(column: Column, own: str) -> str:
    """Return the name of a column without what is its own (a product, a component): tps, p95_ms, speed_mb_s."""
    unit = _SUFFIX.get(
        column.unit, slug(column.unit.replace("/", "_")) if column.unit not in {"", "1", "1/s", "1/min"} else ""
    )
    if column.quantity == "concurrency":
        return "threads"
    heading = AT_LEVEL.sub("", column.heading.lower())
    rate = next((word for word in ("tpmc", "tps", "qps", "rps", "iops", "ops") if word in heading), "")
    base = column.quantity if column.quantity in {"throughput", "mean", "min", "max", "latency"} else ""
    base = "speed" if base == "throughput" and unit else base
    if column.quantity == "percentile" and column.percent:
        base = f"p{column.percent:g}".replace(".", "_")
    elif rate and column.quantity in {"throughput", ""} and not unit:
        base = rate
    elif column.unit == "1/s" and not re.search("[a-z]{3}", slug(column.heading)):
        base = "tps"
    base = base or (slug(column.heading) if not own else "") or column.quantity or "value"
    return f"{base}_{unit}" if unit and not base.endswith(f"_{unit}") else base


# What a report's own systems are called in a table: `system` is the one that runs here, in every frame.
SERVER = "server"
_LABELLED = re.compile(r"([A-Za-z][A-Za-z/ ]*?)\s*[:：]?\s*$|(\d\d(?:\.\d+)?)%\s*[:：]\s*$")


@dataclass
class _Column:
    """A column of a drafted table: as datapackage.json has it, and where it comes from."""

    name: str
    type: str
    unit: str
    role: str
    heading: str
    sure: float = 1.0
    needed: bool = False

    def described(self, *, negative: bool) -> dict[str, Any]:
        low = {} if self.type == "string" or negative else {"minimum": 0}
        limits = {**({"required": True} if self.needed else {}), **low}
        return {
            "name": self.name,
            "type": self.type,
            "title": self.heading or self.name,
            "unit": self.unit,
            "role": self.role,
            "constraints": limits,
        }


@dataclass
class LongTable:
    """A drafted table: a row per printed row, or, where products stand in columns, one per row and product."""

    name: str
    source: Table
    columns: list[_Column]
    rows: list[dict[str, str]]
    fixed: dict[str, Any] = field(default_factory=dict)

    @property
    def levels(self) -> list[_Column]:
        return [column for column in self.columns if column.role == "level" and column.needed]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def level_names(self) -> list[str]:
        return [column.name for column in self.levels]

    def resource(self) -> dict[str, Any]:
        fields = [
            column.described(negative=any(row.get(column.name, "").startswith("-") for row in self.rows))
            for column in self.columns
        ]
        return {
            "name": self.name,
            "title": self.source.heading or self.source.caption or self.name,
            "where": f"{self.source.section}, line {self.source.line}".lstrip(", "),
            "fixed": self.fixed,
            "schema": {"fields": fields, "primaryKey": self.level_names},
        }

    def text(self) -> str:
        return pd.DataFrame(self.rows, columns=self.names).to_csv(index=False)

    def rename(self, old: str, new: str) -> None:
        """Give a column another name."""
        for column in self.columns:
            column.name = new if column.name == old else column.name
        for row in self.rows:
            row[new] = row.pop(old, "")


def _joined(tables: list[Table]) -> list[Table]:
    """Return the tables, those of one row under the same headings joined in one."""
    found: list[Table] = []
    for table in tables:
        heads = [column.heading for column in table.columns]
        same = next((one for one in found if [column.heading for column in one.columns] == heads), None)
        if same and len(table.rows) == 1:
            same.rows.extend(table.rows)
        else:
            found.append(replace(table, rows=[*table.rows]))
    return found


def _products(table: Table) -> dict[int, str]:
    """Return place -> product (or threads), where each column of a metric is headed by one of at least two of them."""
    metrics = table.places("metric")
    own = {place: own_words(table.columns[place].heading) for place in metrics}
    at = {place: level for place in metrics if (level := concurrency_of(table.columns[place].heading))}
    at_stems = {(column_name(table.columns[place], level), level) for place, level in at.items()}
    if len(at_stems) == len(metrics) and len(set(at.values())) > 1:
        own = at
    stems = [(column_name(table.columns[place], own[place]), own[place]) for place in metrics]
    each = {name for _, name in stems}
    common = {stem for stem, _ in stems}
    if "" in each or len(each) < 2 or len(set(stems)) < len(stems) or len(common) > len(stems) - (len(each) - 1):
        return {}
    return own


def _long_table(table: Table) -> LongTable | None:
    """Return a printed table as a drafted one; None where it has no metric."""
    made = LongTable("", table, [], [{} for _ in table.rows])
    products = _products(table)
    names = list(dict.fromkeys(products.values()))
    if products:
        made.rows = [{} for _ in range(len(table.rows) * len(names))]
        threads = all(concurrency_of(table.columns[place].heading) == name for place, name in products.items())
        called = "threads" if threads else "version" if all(re.search(r"\d", name) for name in names) else SERVER
        kind, unit = ("integer", "threads") if threads else ("string", "")
        made.columns.append(_Column(called, kind, unit, "level", ", ".join(names), 0.7, needed=True))
        for number, row in enumerate(made.rows):
            row[called] = names[number // len(table.rows)]
    for place, column in enumerate(table.columns):
        cells = [row[place] for row in table.rows]
        if all(is_empty(cell.text) for cell in cells):
            continue
        if column.role == "metric":
            at = names.index(products[place]) * len(table.rows) if products else 0
            _metric(made, column, cells, column_name(column, products[place]) if products else "", at)
        elif column.role == "delta":
            at = (len(names) - 1) * len(table.rows) if products else 0
            _metric(made, column, cells, "", at, role="note" if products else "metric")
        else:
            _setting(made, column, cells)
    if not any(column.role == "metric" for column in made.columns):
        return None
    key = [tuple(row[name] for name in made.level_names) for row in made.rows]
    if not made.levels or len(set(key)) < len(key):
        name = _free(made, "row", "")
        # Words: their order is none of a curve.
        made.columns.insert(0, _Column(name, "string", "", "level", "", 0.3, needed=True))
        for number, row in enumerate(made.rows, start=1):
            row[name] = str(number)
    return made


def _by_workload(table: LongTable, loads: set[str]) -> list[LongTable]:
    """Return a table for each workload, where a column has them: each is a load of its own."""
    for of in [one for one in table.levels if one.type == "string" and one.name not in {"version", SERVER}]:
        names = list(dict.fromkeys(row[of.name] for row in table.rows))
        called = {name: {called_workload(load, name) for load in loads} - {("", "")} for name in names}
        if all(len(one) == 1 for one in called.values()) and len(set().union(*called.values())) == len(names):
            break
    else:
        return [table]
    return [
        LongTable(
            "",
            replace(table.source, section=f"{table.source.section} > {name}".lstrip("> "), caption=""),
            [replace(column) for column in table.columns if column is not of],
            [{key: text for key, text in row.items() if key != of.name} for row in table.rows if row[of.name] == name],
        )
        for name in names
    ]


def _free(made: LongTable, name: str, other: str) -> str:
    """Return a name that no column has: the short one, else that of the heading, else a numbered one."""
    tries = [name, *([other] if other else []), *(f"{name}_{number}" for number in range(2, 1000))]
    return next(one for one in tries if one and one not in made.names)


def _setting(made: LongTable, column: Column, cells: Sequence[Cell]) -> None:
    numbers = [cell.figure if cell.figure and _plain(cell) else None for cell in cells]
    empty = any(is_empty(cell.text) for cell in cells)
    filled = [(one, cell) for one, cell in zip(numbers, cells, strict=True) if not is_empty(cell.text)]
    # 4.10 is no number.
    numeric = all(one for one, _ in filled) and not re.search(r"\bversion\b|版本", column.heading, re.IGNORECASE)
    whole = numeric and all(one.value == int(one.value) for one, _ in filled if one)
    kind = "integer" if whole else "number" if numeric else "string"
    base = "threads" if column.quantity == "concurrency" else slug(column.heading) or column.quantity or "level"
    base = {SYSTEM: SERVER, "repetition": "run"}.get(base, base)
    unit = "" if not numeric else "threads" if column.quantity == "concurrency" else column.unit or "1"
    name = _free(made, base, slug(column.heading))
    role, needed = ("level", not empty) if column.role == "level" else ("note", False)
    made.columns.append(_Column(name, kind, unit, role, column.heading, column.sure or 0.5, needed=needed))
    texts = [
        "" if is_empty(cell.text) else _digits(one) if one and numeric else cell.text
        for one, cell in zip(numbers, cells, strict=True)
    ]
    for number, row in enumerate(made.rows):
        row[name] = texts[number % len(cells)]


def _plain(cell: Cell) -> bool:
    return (
        bool(cell.figure)
        and len(cell.figures) == 1
        and not re.search(r"[^\W\d_]", cell.text.replace(cell.figures[0].printed, "", 1))
    )


def _digits(one: Figure, scale: float = 1.0) -> str:
    """Return a figure's value with the digits that were printed."""
    place = one.place * scale
    decimals = next((number for number in range(13) if place * 10**number >= 0.999), 12)
    return f"{one.value * scale:.{decimals}f}"


def _metric(made: LongTable, column: Column, cells: Sequence[Cell], name: str, at: int, role: str = "metric") -> None:
    units = [one.unit for cell in cells for one in cell.figures[:1] if one.unit and one.unit != "%"]
    unit = column.unit or (max(units, key=units.count) if units else "1")
    column = column._replace(unit="" if unit == "1" else unit)
    own = own_words(column.heading)
    short = column_name(column, "")
    base = name or _free(
        made,
        f"{slug(own)}_{short}" if slug(own) and not short.startswith(slug(own)) else short,
        slug(column.heading),
    )
    for number, cell in enumerate(cells):
        row = made.rows[at + number]
        rest = 0
        for one in cell.figures:
            before, rest = cell.text[rest : one.start], one.end
            said = _LABELLED.search(before.lstrip("( "))
            percent = said[2].replace(".", "_") if said and said[2] else None
            if one.unit == "%" and column.unit != "%" and re.match(r"\s*[:：]", cell.text[one.end :]):
                rest = one.start  # "95%: 6.4ms" is a label and its figure
                continue
            label = f"p{percent}" if percent else slug(said[1]) if said and said[1] else ""
            scale = factor(one.unit, unit) if one.unit and one.unit != unit else 1.0
            if one.kind not in {"number", "about"} or scale is None:
                continue
            labelled = (
                f"p{percent}_{unit}" if percent else f"{base}_{label}" if label and cell.figures.index(one) else base
            )
            if labelled in row:
                continue
            _column(made, labelled, unit, role, column)
            row[labelled] = _digits(one, scale)
            if re.search(r"[^\d.,+\-\s]", one.printed) and (scale != 1.0 or one.place >= 10 or one.unit != column.unit):
                _column(made, f"{labelled}_printed", "", "note", None)
                row[f"{labelled}_printed"] = one.printed
        if not is_empty(cell.text) and (base not in row or not _plain(cell)):
            _column(made, "note", "", "note", None)
            row["note"] = "; ".join(
                filter(None, [row.get("note", ""), f"{column.heading} is printed as {cell.text!r}"])
            )


def _column(made: LongTable, name: str, unit: str, role: str, source: Column | None) -> None:
    known = next((column for column in made.columns if column.name == name), None)
    if known is None:
        kind = "string" if source is None else "number"
        made.columns.append(
            _Column(name, kind, unit, role, source.heading if source else "", source.sure if source else 1.0)
        )
    elif source and source.heading not in known.heading.split(", "):
        known.heading += f", {source.heading}"


def drafted_tables(read: Reading, loads: set[str]) -> list[LongTable]:
    """Return the tables that have measured figures as drafted ones, each with a name of its own."""
    measured = [
        table
        for table in read.tables
        if not host_attributes(table)
        and any(table.columns[place].quantity in MEASURED and table.numbers(place) for place in table.places("metric"))
    ]
    printed = [*_joined(measured), *filter(None, [table_in_sentences(read)])]
    tables = [part for each in printed if (table := _long_table(each)) for part in _by_workload(table, loads)]
    taken = set[str]()
    for number, table in enumerate(tables, start=1):
        sections = table.source.section.split(" > ")
        script = re.search(r"\boltp_[a-z_]{1,40}", f"{table.source.caption} {table.source.section}")
        called = script[0] if script else slug(table.source.heading)
        tries = [called, slug(" ".join(sections[-2:])), f"{called}_{number}", f"table_{number}"]
        table.name = next(one for one in tries if re.match("[a-z]", one) and one not in taken)
        taken.add(table.name)
    return tables


def guess_columns(table: LongTable, where: str, guesses: Guesses) -> None:
    """Note what was guessed of each column: its role, type and unit, and the names of what stands side by side."""
    for column in table.columns:
        if column.heading or column.name == "row":
            said = f"{column.role}, {column.type}" + (f", in {column.unit}" if column.unit not in {"", "1"} else "")
            if column.name == "version":
                said += f": {', '.join(dict.fromkeys(row['version'] for row in table.rows))}"
            key = f"{where}.{column.name}"
            guesses.add("datapackage.json", key, said, table.source.line, round(column.sure, 2), column.heading)
