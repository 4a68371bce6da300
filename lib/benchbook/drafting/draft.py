"""The whole draft of a report's files, from top to bottom."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchbook.documents.setups import commands
from benchbook.documents.tables import Reading, table_in_sentences
from benchbook.drafting.claims import claims_of
from benchbook.drafting.commands import run_in_text, run_of
from benchbook.drafting.design import design_of, keep_same_versions
from benchbook.drafting.guesses import Guess, Guesses
from benchbook.drafting.hosts import hosts_of
from benchbook.drafting.systems import date_of, systems_of, title_of
from benchbook.drafting.tables import by_workload, guess_columns, joined, long_table, measured_tables, name_tables


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
    in_sentences = table_in_sentences(read)
    printed = [*joined(measured_tables(read)), *([in_sentences] if in_sentences else [])]
    tables = [
        part
        for each in printed
        if (table := long_table(each))
        for part in by_workload(table, {run.load for run in runs})
    ]
    name_tables(tables)
    design = [entry for table in tables if (entry := design_of(table, runs, guesses))]
    loads = {entry["load"] for entry in design}
    load = loads.pop() if len(loads) == 1 else ""
    versions = keep_same_versions(design, tables, guesses)
    for table in tables:
        guess_columns(table, guesses)
    systems = systems_of(read, guesses)
    report = {
        "name": name,
        "title": title_of(read) or name,
        **({"restaged_by": "versions" if versions else "sysbench" if load == "sysbench" else "load"} if load else {}),
        "document": {
            "file": Path(read.document).name,
            "product": systems[0]["name"] if systems else "not printed",
            "version": (systems and systems[0].get("version")) or "not printed",
        },
        "published": date_of(read),
        "language": "zh" if len(re.findall(r"[\u4e00-\u9fff]", read.text)) > 0.1 * len(read.text) else "en",
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
                "tables": [t.name for t in tables if run.settings and run.settings.items() <= t.fixed.items()],
            }
            for run in runs
        ],
        "design": design if load else [],
    }
    claims = [claim for table in tables for claim in claims_of(read, table, guesses)]
    package = {
        "name": name,
        "title": f"{report['title']}: published tables",
        "resources": [t.resource() for t in tables],
    }
    csvs = {f"{table.name}.csv": table.text() for table in tables}
    return Draft(package, csvs, report, claims, guesses, load, versions)
