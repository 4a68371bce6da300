"""`python -m benchbook compare`: what it prints, its page, and its exit status."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Lines

from benchbook import paths
from benchbook.analysis import formatting, results
from benchbook.analysis.results import Results, Row, SystemSummary, Table, Trials
from benchbook.compare import NOTEBOOK
from benchbook.compare.cells import as_rows
from benchbook.compare.environment_facts import ABSENT
from benchbook.compare.gate import short
from benchbook.compare.pair import Comparison, compare
from benchbook.headless import execute
from benchbook.site import publish

# One line per cell, whatever the terminal or the file: a table of cut words tells nothing.
WIDTH = 240
_STYLES = {"slower": "red", "faster": "green", "unfair": "red"}


def run(asked: Mapping[str, Any], console: Console, *, as_json: bool, page: bool) -> int:
    """Compare as `asked` (the notebook's parameters), print it, make its page if wanted; returns the exit status."""
    found = compare(
        asked["a"],
        asked["b"],
        accept=asked["accept"],
        subject=asked["subject"],
        mapping=asked["mapping"],
        metrics=asked["metric"],
        margin=asked["margin"],
    )
    if as_json:
        console.print_json(json.dumps(found.as_json()))
    else:
        _print(found, console)
    if page:
        target = _page(asked, found, Console(stderr=True, highlight=False))
        console.print(f"page: {target}") if not as_json else None
    return found.exit_status


def _print(found: Comparison, console: Console) -> None:
    console.print(f"A  {found.a.report} {found.a.id}\nB  {found.b.report} {found.b.id}\n")
    wide = Console(width=WIDTH, highlight=False, force_terminal=console.is_terminal)
    for table in ([_gate(found)] if found.gate.differences else []) + [_cells(found)]:
        wide.print(table)
    for text in found.left_out[:5]:
        console.print(f"not compared: {text}", markup=False)
    if len(found.left_out) > 5:
        console.print(f"not compared: {len(found.left_out) - 5} more")
    for text in filter(None, (found.sentence(), found.undecided())):
        console.print(text, style="red" if found.exit_status else None, markup=False)


def _gate(found: Comparison) -> Lines:
    table = _table("Differences of the environments", "", "what", "where", "A", "B")
    for d in found.gate.differences:
        cells = [d.name, d.where or ABSENT, short(d.a, 40), short(d.b, 40)]
        table.add_row(d.standing, *map(escape, cells), style=_STYLES.get(d.standing))
    return table


def _cells(found: Comparison) -> Lines:
    head = ["table", "system", "levels", "metric", "A", "B", "B / A", "95% interval", "p (Holm)", "B is"]
    table = _table("B against A", *head)
    for row, called in zip(found.cells.to_dict("records"), found.called(), strict=True):
        interval = f"{row['low']:.3f} to {row['high']:.3f}" if row["low"] == row["low"] else ABSENT
        figures = [formatting.number(row["a"]), formatting.number(row["b"]), f"{row['ratio']:.3f}", interval]
        cells = [
            row["table"],
            row["system"],
            row["levels"],
            f"{row['metric']} ({row['unit']})",
            *figures,
            formatting.number(row["p_holm"]),
            called,
        ]
        table.add_row(*map(escape, cells), style=_STYLES.get(called))
    return table


def _table(title: str, *columns: str) -> Lines:
    table = Lines(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, no_wrap=True)
    return table


def _page(asked: Mapping[str, Any], found: Comparison, console: Console) -> Path:
    """The executed notebook as a page of the site, with the cells as its JSON."""
    done = execute(NOTEBOOK, dict(asked), console)
    written = results.write(_results(found), done.notebook.with_name("results.json"))
    return publish.publish(_name(found), done.notebook, written, paths.site_dir())


def _name(found: Comparison) -> str:
    return f"compare_{found.a.id}_{found.b.id}"


def _results(found: Comparison) -> Results:
    """A comparison in the words of a report's results; its one table has a row per cell."""
    records = [record for campaign in (found.a, found.b) for record in campaign.records()]
    systems = [
        SystemSummary(name=f"{side}: {about.title}", version=about.version)
        for side, campaign in (("A", found.a), ("B", found.b))
        for about in campaign.environment().systems.values()
    ]
    planned = len(found.a.trials) + len(found.b.trials)
    cells = Table(
        id="cells",
        title=found.sentence(),
        columns=list(found.cells.columns),
        rows=[Row.model_validate(row) for row in as_rows(found.cells)],
    )
    return Results(
        report=_name(found),
        title=f"{found.a.report}: two runs compared",
        profile=_both(found, "profile"),
        inventory=_both(found, "inventory"),
        campaign=f"{found.a.id} (A), {found.b.id} (B)",
        started=datetime.fromtimestamp(max(record.started for record in records), UTC),
        systems=systems,
        trials=Trials(planned=planned, done=len(records), failed=0),
        tables=[cells],
    )


def _both(found: Comparison, key: str) -> str:
    values = [str(campaign.asked.get(key, "unknown")) for campaign in (found.a, found.b)]
    return " and ".join(dict.fromkeys(values))
