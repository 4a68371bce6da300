"""Reads the CSV of a published table against its schema, and checks that a report's files agree with each other.

The schema in `datapackage.json` is the one truth. `read_rows` applies it on every load, in milliseconds; Frictionless,
its reference implementation, does in `data_package`.
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchbook.documents.numerals import Figure, figures
from benchbook.errors import BadInput
from benchbook.published import arithmetic
from benchbook.published.report_file import FieldMeta, PackageMeta, Report, ResourceMeta
from benchbook.user_input import user_file
from benchbook.user_input.choices import one_of

Cell = str | int | float | None
Row = dict[str, Cell]

# Of the digits 0 to 9: Python would take those of other scripts too. None is longer than what a column can hold.
_KINDS = {
    "integer": (re.compile(r"-?[0-9]{1,18}"), int, "a whole number such as 100, without separators"),
    "number": (
        re.compile(r"-?[0-9]{1,30}(\.[0-9]{1,30})?"),
        float,
        "a number such as 13890 or 1.93, without unit or separators",
    ),
}


def read_rows(resource: ResourceMeta, path: Path) -> tuple[list[Row], list[dict[str, str]]]:
    """Return the rows of a CSV, typed and as text. Rows are numbered as in the file: the header is row 1.

    Raise BadInput naming the file, the row and the column, the value and the fix: for a missing file or column, a
    cell that is not of its field's type or bounds, a second row with the same key, a table without rows.
    """
    texts = list(_texts(resource, path))
    rows = [
        {field.name: _cell(field, text[field.name], number, path) for field in _fields(resource)}
        for number, text in enumerate(texts, start=2)
    ]
    if not rows:
        fix = "transcribe its rows, or take the table out of datapackage.json"
        raise BadInput("the table has no rows", file=path, key="row 2", fix=fix)
    _unique(resource, rows, path)
    return rows, texts


def check_printed(resource: ResourceMeta, texts: list[dict[str, str]], path: Path) -> None:
    """Where a cell is stored in another unit than printed (13.89k as 13890), both must have the same digits."""
    names = {field.name for field in _fields(resource)}
    for metric in [name for name in names if f"{name}_printed" in names]:
        for number, text in enumerate(texts, start=2):
            stored, printed = text[metric], text[f"{metric}_printed"]
            key = f"row {number}, {metric}"
            inexact = [one for one in figures(printed)[:1] if one.kind in {"range", "bound"}]
            if inexact:
                fix = "leave the number empty, and put what is printed into a note"
                raise BadInput("a range or a bound is no number", file=path, key=key, value=printed, fix=fix)
            if printed and _figure(0.0, printed) is None:
                fix = "write it as a number with its unit (90 s for 1:30, -5 for 5-), or leave this cell empty"
                raise BadInput(
                    "there is no number that can be read in it", file=path, key=f"{key}_printed", value=printed, fix=fix
                )
            if printed and not (stored and _same_digits(float(stored), printed)):
                fix = f"store the number that is printed as {printed!r}"
                raise BadInput("stored and printed number differ", file=path, key=key, value=stored, fix=fix)


def resolution(value: float, printed: str) -> float:
    """Return the last printed place in the unit of `value`: 10.0 for 13890 printed as "13.89k", 1.0 for "12,000"."""
    figure = _figure(value, printed)
    if figure is None:
        raise BadInput("there is no number in a printed cell", value=printed, fix="transcribe the number as printed")
    return float(figure.place * 10.0 ** _power(value, abs(figure.value)))


def _figure(value: float, printed: str) -> Figure | None:
    """Return the first figure of a printed cell; its comma is a decimal one where only that gives the value."""
    printed = html.unescape(printed)
    point, comma = (figures(printed, style) for style in ("point", "comma"))
    # As in 12,34,567 and 12·000 and 12 , 000.
    joined = figures(re.sub(r"(?<=\d)\s?[^\w\s.]\s?(?=\d)", "", printed))
    of_value = [one for one in [*point[:1], *comma[:1], *joined[:1]] if _is(one, value)]
    # Where several do, the one that leaves fewest digits behind: in 12 , 000 there is more than a 12.
    return max(of_value, key=lambda one: one.end - one.start, default=next(iter([*point, *comma]), None))


def check_package(package: PackageMeta, path: Path) -> None:
    """Keys of tables are columns. Raise BadInput."""
    for resource in package.resources:
        names = [field.name for field in _fields(resource)]
        for key in resource.table_schema.primary_key:
            known(key, names, "primaryKey names no column", f"{resource.name}.schema.primaryKey", path)
            if key in ("system", "repetition"):
                said, fix = "every frame has a column of this name, of what ran here", "call it server, or run"
                raise BadInput(said, file=path, key=f"{resource.name}.schema.primaryKey", value=key, fix=fix)


def check_design(report: Report, fixed: Mapping[str, Mapping[str, object]], path: Path) -> None:
    """The design names tables that there are, and says the same of them. Raise BadInput.

    `fixed`: what datapackage.json says was held fixed, by table.
    """
    for fact in report.text_facts:
        for table in fact.tables:
            known(table, list(fixed), "a text fact names an unknown table", f"text_facts.{fact.id}", path)
    seen: set[str] = set()
    for experiment in report.design:
        key = f"design.{experiment.name}"
        if experiment.name in seen:
            raise BadInput(
                "two designs have this name", file=path, key="design", value=experiment.name, fix="rename one"
            )
        seen.add(experiment.name)
        known(experiment.table, list(fixed), "the design names an unknown table", key, path)
        of_table = fixed[experiment.table]
        for name, value in experiment.fixed.items():
            if str(of_table.get(name, value)) != str(value):
                fix = f"datapackage.json says {of_table[name]} of table {experiment.table}: correct what is not printed"
                raise BadInput("design and table differ", file=path, key=f"{key}.fixed.{name}", value=value, fix=fix)


def _fields(resource: ResourceMeta) -> list[FieldMeta]:
    return resource.table_schema.fields


def _texts(resource: ResourceMeta, path: Path) -> Iterator[dict[str, str]]:
    lines = csv.reader(io.StringIO(user_file.text(path), newline=""), strict=True)
    try:
        header = next(lines, [])
        _check_header(resource, header, path)
        for number, line in enumerate(lines, start=2):
            if len(line) != len(header):
                fix = f"give {len(header)} cells, empty ones where nothing is printed"
                raise BadInput("wrong number of cells", file=path, key=f"row {number}", value=len(line), fix=fix)
            yield dict(zip(header, line, strict=True))
    except csv.Error as error:
        key, fix = f"line {lines.line_num}", "save it as CSV"
        raise BadInput("is not CSV", file=path, key=key, value=str(error), fix=fix) from error


def _check_header(resource: ResourceMeta, header: list[str], path: Path) -> None:
    wanted = [field.name for field in _fields(resource)]
    for name in wanted:
        if name not in header:
            alike = next((other for other in header if other.strip().lower() == name.lower()), "")
            fix = f"write {name} for {alike}" if alike else f"add {name}"
            raise BadInput("a column is missing", file=path, key=f"row 1, {name}", value=header, fix=fix)
    if header != wanted:
        fix = f"use {', '.join(wanted)}"
        raise BadInput("the columns are not those of the schema", file=path, key="row 1", value=header, fix=fix)


def _cell(field: FieldMeta, text: str, number: int, path: Path) -> Cell:
    where = f"row {number}, {field.name}"
    if text == "":
        if field.constraints.required:
            raise BadInput("a level is empty", file=path, key=where, value=text, fix="fill it in: it keys the row")
        return None
    if field.type == "string":
        return text
    pattern, kind, fix = _KINDS[field.type]
    if not pattern.fullmatch(text):
        raise BadInput(f"is not of type {field.type}", file=path, key=where, value=text, fix=f"write {fix}")
    value: int | float = kind(text)
    _bounded(field, value, where, path)
    return value


def _bounded(field: FieldMeta, value: float, where: str, path: Path) -> None:
    low, high = field.constraints.minimum, field.constraints.maximum
    if low is not None and value < low:
        raise BadInput("is too small", file=path, key=where, value=value, fix=f"write a number from {low:g} up")
    if high is not None and value > high:
        raise BadInput("is too large", file=path, key=where, value=value, fix=f"write a number up to {high:g}")


def _unique(resource: ResourceMeta, rows: list[Row], path: Path) -> None:
    keys, seen = resource.table_schema.primary_key, dict[tuple[Cell, ...], int]()
    for number, row in enumerate(rows, start=2):
        key = tuple(row[name] for name in keys)
        if key in seen:
            fix = f"keep one of rows {seen[key]} and {number}, or correct the levels of one"
            where = f"row {number}, {', '.join(keys)}"
            raise BadInput("a second row with the same key", file=path, key=where, value=key, fix=fix)
        seen[key] = number


def _power(value: float, numeral: float) -> int:
    return round(math.log10(abs(value) / numeral)) if value and numeral else 0


def _same_digits(value: float, printed: str) -> bool:
    figure = _figure(value, printed)
    return figure is not None and _is(figure, value)


def _is(figure: Figure, value: float) -> bool:
    numeral = abs(figure.value)
    alike = math.isclose(numeral * 10.0 ** _power(value, numeral), abs(value), rel_tol=1e-9)
    return figure.kind in {"number", "about"} and alike and ((figure.value < 0) == (value < 0) or not value)


def names_in(expression: str, path: Path, key: str | None = None) -> list[str]:
    """Return the names in an arithmetic expression. Nothing else is let through: these files are evaluated later."""
    try:
        return arithmetic.names(expression)
    except BadInput as error:
        raise BadInput(error.problem, file=path, key=key, value=expression, fix=error.fix) from error


def known(name: str, names: list[str], problem: str, key: str, path: Path) -> None:
    """Raise BadInput, listing the names that there are, for a name that is none of them."""
    one_of(name, names, key, problem=problem, file=path, key=key)
