"""Writes small reports of a user's own: one table, and the facts around it."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]


def column(name: str, type: str, role: str, *, required: bool = False, **more: Any) -> Json:
    unit = "" if type == "string" else "1"
    return {"name": name, "type": type, "title": name, "unit": unit, "role": role,
            "constraints": {"required": required}, **more}  # fmt: skip


def table(columns: list[Json], name: str = "t", **declared: Any) -> Json:
    """A resource whose first column is its key."""
    schema = {"fields": columns, "primaryKey": [columns[0]["name"]]}
    return {
        "name": name,
        "path": f"{name}.csv",
        "title": name,
        "where": f"section {name}",
        "schema": schema,
        **declared,
    }


def package(columns: list[Json], **declared: Any) -> Json:
    return {"name": "mine", "title": "Mine", "resources": [table(columns, **declared)]}


def facts(**changes: Any) -> Json:
    """A `report.yaml` that says as little as one may."""
    return {"name": "mine", "title": "Mine", "document": {"file": "m.md", "product": "p", "version": "1"},
            "published": "never", "language": "en", "systems": [], "hosts": [], "environment": [], "text_facts": [],
            "design": [], **changes}  # fmt: skip


def write(root: Path, described: Json, *tables: Sequence[Sequence[str]], report: Json | None = None) -> Path:
    """Put a report named `mine` into `root`: its package, a CSV per table, and its facts."""
    folder = root / "mine"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "datapackage.json").write_text(json.dumps(described))
    (folder / "report.yaml").write_text(yaml.safe_dump(report or facts()))
    for resource, rows in zip(described["resources"], tables, strict=True):
        with (folder / resource["path"]).open("w", newline="") as file:
            csv.writer(file).writerows([[field["name"] for field in resource["schema"]["fields"]], *rows])
    return root
