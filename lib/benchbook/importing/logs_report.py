"""The report of imported logs: its tables have no published figures, its notebook shows what was measured."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from benchbook import paths
from benchbook.campaign.record import Record
from benchbook.campaign.store import begun, readable
from benchbook.grouping import grouped
from benchbook.reports.logs_kind import NAME as KIND
from benchbook.site.page import TEMPLATES
from benchbook.user_input.atomic_file import replace_text
from benchbook.user_input.strict_yaml import as_yaml

_HEAD = "# Written by `benchbook import logs`, anew at every import.\n"


def lay_down(report: str, *, title: str) -> None:
    """Write the report's files from all campaigns that were imported into it. Raise NotWritten."""
    folder = paths.home() / "data" / "published" / report
    imported = (record for campaign in readable(begun(report)) for record in campaign.records())
    tables = grouped(imported, lambda record: record.table)
    facts = {
        "name": report,
        "title": title,
        "restaged_by": KIND,
        "document": {"file": report, "product": "imported logs", "version": "not printed"},
        "published": "not published",
        "language": "en",
        "systems": [],
        "hosts": [],
        "environment": [],
        "text_facts": [],
        "design": [],
    }
    package = {"name": report, "title": title, "resources": [_resource(n, records) for n, records in tables.items()]}
    replace_text(folder / "report.yaml", _HEAD + as_yaml(facts))
    replace_text(folder / "datapackage.json", json.dumps(package, indent=1) + "\n")
    for table, records in tables.items():
        path = folder / f"{table}.csv"
        replace_text(path, _csv(records, path))
    notebook = paths.home() / "notebooks" / f"{report}.ipynb"
    if not notebook.exists():
        replace_text(notebook, _notebook(report, title))


def _levels(records: Iterable[Record]) -> dict[str, type]:
    return {name: type(value) for record in records for name, value in record.levels.items()}


def _resource(table: str, records: list[Record]) -> dict[str, object]:
    kinds = {str: "string", int: "integer", float: "number"}
    levels = _levels(records)
    units = {name: quantity.unit for record in records for name, quantity in record.summary.items()}
    # Numbers of a load generator's options are plain ones.
    plain = {str: "", int: "1", float: "1"}
    fields = [
        *({"name": n, "type": kinds[k], "title": n, "unit": plain[k], "role": "level"} for n, k in levels.items()),
        *({"name": n, "type": "number", "title": n, "unit": unit, "role": "metric"} for n, unit in units.items()),
    ]
    schema = {"fields": fields, "primaryKey": list(levels), "missingValues": [""]}
    return {"name": table, "path": f"{table}.csv", "title": table, "where": "imported logs", "schema": schema}


def _csv(records: list[Record], path: Path) -> str:
    """Return a row per cell: published figures that were typed into the existing file stay, the others are empty."""
    levels = list(_levels(records))
    metrics = list(dict.fromkeys(name for record in records for name in record.summary))
    cells = pd.DataFrame([record.levels for record in records], columns=levels).astype(str).drop_duplicates()
    typed = pd.read_csv(path, dtype=str, keep_default_na=False) if path.exists() else cells
    shared = [level for level in levels if level in typed.columns]
    if not shared:
        typed, shared = cells, levels
    there = [metric for metric in metrics if metric in typed.columns]
    figures = typed[[*shared, *there]].drop_duplicates(shared)
    if shared == levels:
        # Those of cells that no log is of as well.
        cells = pd.concat([cells, figures.loc[(figures[there] != "").any(axis=1), levels]]).drop_duplicates()
    found = cells.merge(figures, on=shared, how="left").reindex(columns=[*levels, *metrics])
    return str(found.to_csv(index=False, lineterminator="\n"))


def _notebook(report: str, title: str) -> str:
    return Path(TEMPLATES / "logs" / "notebook.ipynb").read_text().replace("NAME", report).replace("TITLE", title)
