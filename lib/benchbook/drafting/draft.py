"""The whole draft of a report's files, from top to bottom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbook.documents.setups import commands
from benchbook.documents.tables import Reading
from benchbook.drafting.claims import claims_of
from benchbook.drafting.commands import Run, run_in_text, run_of
from benchbook.drafting.design import designs_of, versions_of
from benchbook.drafting.guesses import Guess, Guesses
from benchbook.drafting.hosts import hosts_of
from benchbook.drafting.systems import date_of, language_of, systems_of, title_of
from benchbook.drafting.tables import LongTable, drafted_tables, guess_columns


@dataclass
class Draft:
    """Files of a report as data; `load` is the load generator that can run it ("" where none of the kit's can)."""

    package: dict[str, Any]
    tables: dict[str, str]
    report: dict[str, Any]
    claims: list[dict[str, Any]]
    guesses: list[Guess]
    load: str = ""
    versions: int = 0
    """How many versions (or systems) stand beside each other in every design."""


def draft(read: Reading, name: str) -> Draft:
    """Return the files of report `name` as its document says them."""
    guesses = Guesses()
    runs = [run for command in commands(read) if (run := run_of(command))]
    if not any(run.load and run.settings for run in runs) and (told := run_in_text(read)):
        runs = [told]
    tables = drafted_tables(read, {run.load for run in runs})
    measured = designs_of(tables, runs, guesses)
    load = measured[0][1].load if measured else ""
    versions = len(versions_of(measured[0][0])) if measured else 0
    package = package_of(tables, guesses)
    systems = systems_of(read, guesses)
    report = {
        "name": name,
        "title": title_of(read) or name,
        **({"restaged_by": "versions" if versions else "load"} if load else {}),
        "document": {
            "file": Path(read.document).name,
            "product": systems[0]["name"] if systems else "not printed",
            "version": (systems and systems[0].get("version")) or "not printed",
        },
        "published": date_of(read),
        "language": language_of(read),
        "systems": systems,
        "hosts": hosts_of(read, guesses),
        "environment": [],
        "text_facts": [
            {
                "id": f"command_line_{run.line}",
                "where": f"line {run.line}",
                "printed": run.text,
                "values": run.settings,
                # `benchbook audit` holds it against the tables that were measured so.
                "tables": [t.name for t in tables if run.settings.items() <= t.fixed.items()],
            }
            for run in runs
            if run.settings
        ],
        **design_of(measured),
    }
    claims = [claim for table in tables for claim in claims_of(read, table, guesses)]
    package = {"name": name, "title": f"{report['title']}: published tables", **package}
    csvs = {f"{table.name}.csv": table.text() for table in tables}
    return Draft(package, csvs, report, claims, guesses, load, versions)


def design_of(measured: Sequence[tuple[LongTable, Run]]) -> dict[str, Any]:
    """Return the designs of report.yaml, what all have in common once; the rest of them is what their tables say."""
    options = [run.options for _, run in measured]
    common = options[0] if options and all(one == options[0] for one in options) else []
    return {
        **({"options": common} if common else {}),
        "design": [
            {
                "name": table.name,
                **({"load": run.load} if run.load != "sysbench" else {}),
                **({"options": run.options} if run.options and not common else {}),
            }
            for table, run in measured
        ],
    }


def package_of(tables: Sequence[LongTable], guesses: Guesses) -> dict[str, Any]:
    """Return the tables as datapackage.json has them, columns that all of them have alike once; note the guesses."""
    resources = [table.resource() for table in tables]
    schemas = [one["schema"] for one in resources]
    common: dict[str, Any] = max(schemas, key=schemas.count, default={})
    if schemas.count(common) < 2:
        common = {}
    seen = False
    for table, one in zip(tables, resources, strict=True):
        alike = one["schema"] == common
        if not (alike and seen):
            guess_columns(table, "defaults" if alike else table.name, guesses)
        if alike:
            seen = bool(one.pop("schema"))
    return {**({"defaults": {"schema": common}} if common else {}), "resources": resources}
