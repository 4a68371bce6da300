"""The published numbers: the tables of `data/published/<report>`, typed, with units and provenance.

    load("tidb_v7_1_3_sysbench").tables["oltp_insert"].value("tps", threads=100)   # 15575.0

A folder holds `datapackage.json` (a Frictionless data package: one CSV per published table) and `report.yaml` (the
facts outside the tables and the published design). Both are checked when they are loaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from benchbook import paths
from benchbook.errors import BadInput
from benchbook.published.declarations import Identity, Scalar
from benchbook.published.reading import (
    Row,
    check_design,
    check_package,
    check_printed,
    read_rows,
)
from benchbook.published.report_file import (
    PackageMeta,
    Report,
    ResourceMeta,
    Role,
    TableDesign,
    package_json,
)
from benchbook.published.validity import check_declarations
from benchbook.user_input import user_file, yaml_file
from benchbook.user_input.choices import one_of

# A folder's name, and nothing that leads elsewhere.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_DTYPES = {"integer": "Int64", "number": "float64", "string": "string"}


@dataclass(frozen=True)
class Field:
    """A column: `title` for people, `unit` ("1/s", "ms", "1" for a count, "" for text), `heading` as printed."""

    title: str
    unit: str
    role: Role
    heading: str | None = None


@dataclass(frozen=True, eq=False)
class PublishedTable:
    """One published table: a row per printed row, a column per level, metric and note.

    `frame` has int64 levels (Int64 with missing ones), float64 metrics, string notes; what is not printed is
    missing. `printed` has the metrics' cells as text, with the digits that were printed. `fixed` holds the levels
    that are constant over the table.
    """

    id: str
    title: str
    where: str
    frame: pd.DataFrame
    printed: pd.DataFrame
    fields: dict[str, Field]
    fixed: dict[str, Scalar]
    meta: ResourceMeta

    def __repr__(self) -> str:
        said = f"levels {', '.join(self.levels) or 'none'}; metrics {', '.join(self.metrics)}"
        return f"<PublishedTable {self.id}: {len(self.frame)} rows; {said}>"

    @cached_property
    def cells(self) -> list[dict[str, Any]]:
        """The rows of `frame`, each a cell by the name of its column: for what asks cell by cell."""
        return [{str(name): cell for name, cell in row.items()} for row in self.frame.to_dict("records")]

    @cached_property
    def texts(self) -> list[dict[str, str]]:
        """The rows of `printed`, each a text by the name of its metric."""
        return [{str(name): str(text) for name, text in row.items()} for row in self.printed.to_dict("records")]

    @cached_property
    def numeric(self) -> list[str]:
        """The columns that hold numbers."""
        return [str(name) for name in self.frame.select_dtypes("number").columns]

    @property
    def identities(self) -> list[Identity]:
        return self.meta.identities

    @property
    def levels(self) -> list[str]:
        return self._of_role("level")

    @property
    def metrics(self) -> list[str]:
        return self._of_role("metric")

    def value(self, metric: str, **levels: Scalar) -> float | None:
        """The printed number in the metric's unit; None if the table has no such row or nothing is printed there.

        Raise BadInput for a metric or level that the table does not have, and if several rows match.
        """
        one_of(metric, self.metrics, "metric", problem="unknown metric", key=self.id)
        rows = self.matching(levels)
        if len(rows) > 1:
            fix = f"give all of: {', '.join(self.levels)}"
            raise BadInput("several rows have these levels", key=self.id, value=levels, fix=fix)
        cell: Any = self.cells[rows[0]][metric] if rows else None
        return None if pd.isna(cell) else float(cell)

    def _of_role(self, role: Role) -> list[str]:
        return [name for name, field in self.fields.items() if field.role == role]

    def matching(self, levels: Mapping[str, Scalar]) -> list[int]:
        """Return the numbers of the rows with these levels, in printed order. Raise BadInput for an unknown level."""
        for name in levels:
            one_of(name, [*self.levels, *self.fixed], "level", problem="unknown level", key=self.id)
        rows = [{**self.fixed, **row} for row in self.cells]
        return [number for number, row in enumerate(rows) if all(_same(row[name], levels[name]) for name in levels)]


@dataclass(frozen=True, eq=False)
class Published:
    """A published report: `report` holds what `report.yaml` says, `tables` the tables by id, in printed order."""

    report: Report
    tables: dict[str, PublishedTable]

    def __repr__(self) -> str:
        return f"<Published {self.report.name}: tables {', '.join(self.tables)}>"

    def table(self, id: str) -> PublishedTable:
        """Return the table of this id. Raise BadInput, listing the known ids."""
        one_of(id, self.tables, "table", problem="unknown table", key=self.report.name)
        return self.tables[id]

    @cached_property
    def titles(self) -> dict[str, str]:
        """What the report calls each column and each table."""
        tables = self.tables.values()
        columns = {name: field.title for table in tables for name, field in table.fields.items()}
        return columns | {table.id: table.title for table in tables}

    def duration_s(self, table: str) -> float | None:
        """Return how many seconds one load of this table lasted, where the report says so of its design or table."""
        said = [e.fixed["time_s"] for e in self.report.design if e.table == table and "time_s" in e.fixed]
        if not said and table in self.tables and "time_s" in self.tables[table].fixed:
            said = [self.tables[table].fixed["time_s"]]
        return float(said[0]) if said else None


def known_reports(root: Path | None = None) -> list[str]:
    """Return the names of the reports in `root` (default: data/published), sorted."""
    found = root.glob("*/report.yaml") if root is not None else paths.names("data/published", "*/report.yaml")
    return sorted(file.parent.name for file in found)


def load(report: str, root: Path | None = None) -> Published:
    """A report's published numbers, checked. Raise BadInput naming the file, the row and column or key, and the fix.

    `root` is the folder that holds the reports' folders (default: data/published).
    """
    folder = _folder(report, root)
    facts = yaml_file.load_model(Report, folder / "report.yaml")
    descriptor = folder / "datapackage.json"
    package = yaml_file.validate(PackageMeta, package_json(descriptor), descriptor)
    _named_alike(report, facts, package, folder)
    check_package(package, descriptor)
    check_declarations(package, facts, folder)
    tables = {}
    for resource in package.resources:
        rows, texts = read_rows(resource, folder / resource.path)
        check_printed(resource, texts, folder / resource.path)
        tables[resource.name] = _table(resource, rows, texts)
    completed = [_completed(one, tables, facts.options) for one in facts.design]
    about = [f.model_copy(update={"tables": list(tables)}) if f.tables == ["all"] else f for f in facts.text_facts]
    facts = facts.model_copy(update={"design": completed, "text_facts": about})
    check_design(facts, {id: table.fixed for id, table in tables.items()}, folder / "report.yaml")
    return Published(facts, tables)


def _completed(design: TableDesign, tables: Mapping[str, PublishedTable], options: list[str]) -> TableDesign:
    """Return the design with what its table says of it, and the options of all, where it leaves that out."""
    design = design.model_copy(update={"options": design.options or options, "table": design.table or design.name})
    table = tables.get(design.table)
    if table is None:
        return design
    # Where the rows name their workload, a design without one is of all of them.
    workload = "" if "workload" in table.levels else str(table.fixed.get("workload", table.id))
    fixed = {name: value for name, value in table.fixed.items() if name != "workload"}
    return design.model_copy(update={"workload": design.workload or workload, "fixed": design.fixed or fixed})


def facts(report: str) -> Report:
    """Return what `report.yaml` says, without its tables. Raise BadInput for a report that does not exist."""
    return yaml_file.load_model(Report, _folder(report, None) / "report.yaml")


def _folder(report: str, root: Path | None) -> Path:
    known = known_reports(root)
    folder = paths.published_dir(report) if root is None else root / report
    beside = _NAME.fullmatch(report) and user_file.is_there(folder / "datapackage.json")
    if report not in known and not beside:
        fix = f"use one of: {', '.join(known)}" if known else f"put a folder per report into {folder.parent}"
        raise BadInput("unknown report", key="report", value=report, fix=fix)
    return folder


def _named_alike(report: str, facts: Report, package: PackageMeta, folder: Path) -> None:
    for file, name in [("report.yaml", facts.name), ("datapackage.json", package.name)]:
        if name != report:
            fix = f"write {report}, or rename the folder"
            raise BadInput("is not the folder's name", file=folder / file, key="name", value=name, fix=fix)


def _table(resource: ResourceMeta, rows: list[Row], texts: list[dict[str, str]]) -> PublishedTable:
    meta = resource.table_schema.fields
    fields = {
        field.name: Field(field.title or field.heading or field.name, field.unit, field.role, field.heading)
        for field in meta
    }
    frame = pd.DataFrame(rows).astype({field.name: _DTYPES[field.type] for field in meta})
    whole = {name: "int64" for name in frame.columns if frame[name].dtype == "Int64" and frame[name].notna().all()}
    metrics = [name for name, field in fields.items() if field.role == "metric"]
    printed = pd.DataFrame({name: [text.get(f"{name}_printed") or text[name] for text in texts] for name in metrics})
    return PublishedTable(
        resource.name,
        resource.title,
        resource.where,
        frame.astype(whole),
        printed,
        fields,
        dict(resource.fixed),
        resource,
    )


def _same(cell: Any, wanted: Scalar) -> bool:
    return bool(pd.notna(cell)) and bool(cell == wanted)
