"""What other runs of the same report found, beside what this one did: claim by claim, and cell by cell."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

from benchbook.analysis.beside import levels_of, measured_in
from benchbook.analysis.formatting import number, with_interval
from benchbook.analysis.results import Results
from benchbook.claims import section
from benchbook.display import show
from benchbook.site.addresses import Edition

# Columns beyond these do not fit beside this run's; the index leads to every run.
MOST = 3


def beside(found: Results, others: Sequence[Edition]) -> str:
    """Return a section of a page with this run and its latest others in columns; empty where there are none.

    Its links begin at the site's folder, with `./`.
    """
    shown = [each for each in others if each.found.campaign != found.campaign and not each.found.failed][:MOST]
    if not shown:
        return ""
    named = dict(zip(_names([each.found for each in shown]), shown, strict=True))
    runs = {"this run": found, **{name: each.found for name, each in named.items()}}
    tables = {
        "Claims in each run: state and effect": _claims(runs),
        "Measured in each run: mean [95% interval over repetitions]": _cells(runs),
    }
    body = "".join(str(show.table(rows, caption).data) for caption, rows in tables.items() if rows)
    links = ", ".join(f'<a href="./{each.href}">{html.escape(name)}</a>' for name, each in named.items())
    note = "Runs may differ in hosts, versions, duration, and in the level that was run for a published one. "
    return (
        '<section class="cell prose"><h2>Other runs beside this one</h2>'
        f"<p>{note}Their pages: {links}.</p></section>"
        f'<details class="rest other-runs"><summary>Claims and figures of {len(runs)} runs</summary>{body}</details>'
    )


def _names(runs: Sequence[Results]) -> list[str]:
    """Name each run by its start and profile, and those of a batch that began in one minute by their campaigns too."""
    called = [f"{found.started:%Y-%m-%d %H:%M}, {found.profile}" for found in runs]
    return [
        name if called.count(name) == 1 else f"{name}, {found.campaign}"
        for name, found in zip(called, runs, strict=True)
    ]


def _claims(runs: Mapping[str, Results]) -> list[dict[str, object]]:
    """Return a row per claim and system."""
    known = {(c.statement, c.system): None for found in runs.values() for c in found.claims}
    said = {
        name: {(c.statement, c.system): f"{c.verdict}, {row['effect']}" if row["effect"] != "–" else c.verdict
               for c, row in zip(found.claims, section.rows(found.claims), strict=True)}
        for name, found in runs.items()
    }  # fmt: skip
    return [
        {"claim": claim, "system": system, **{name: said[name].get((claim, system), "–") for name in runs}}
        for claim, system in known
    ]


def _cells(runs: Mapping[str, Results]) -> list[dict[str, object]]:
    """Return a row per cell and metric that any of the runs measured."""
    by_run = {name: {_key(cell): cell for cell in found.cells if "measured" in cell} for name, found in runs.items()}
    rows = []
    for key in dict.fromkeys(key for cells in by_run.values() for key in cells):
        cell = next(cells[key] for cells in by_run.values() if key in cells)
        levels = ", ".join(f"{name} {cell[name]}" for name in levels_of(cell) if str(cell[name]) != cell["table"])
        metric = f"{cell['metric']}{show.unit_in_brackets(cell.get('unit', ''))}"
        head = {"table": cell["table"], "system": cell["system"], "at": levels, "metric": metric}
        measured = {name: with_interval(measured_in(cells.get(key, {}))) for name, cells in by_run.items()}
        rows.append({**head, "published": number(cell.get("published")), **measured})
    return rows


def _key(cell: Mapping[str, Any]) -> tuple[object, ...]:
    return (
        cell["table"],
        cell["system"],
        cell["metric"],
        cell.get("unit"),
        *sorted((name, str(cell[name])) for name in levels_of(cell)),
    )
