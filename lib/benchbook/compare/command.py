"""What `benchbook compare` and `benchbook history` print, their pages, and their exit status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Lines

from benchbook import notebook_run, paths
from benchbook.analysis import results
from benchbook.analysis.results import Results, SystemSummary, Trials
from benchbook.campaign.store import Campaign
from benchbook.compare import NOTEBOOK, address, history, report_history, view
from benchbook.compare.cells import Effects
from benchbook.compare.gate import short
from benchbook.compare.history import Listing
from benchbook.compare.pair import CompareParameters, Comparison, compare
from benchbook.compare.report_history import HistoryParameters, ReportHistory
from benchbook.errors import NothingRecorded, NotWritten, counted
from benchbook.site import publish
from benchbook.site.addresses import HISTORY

# One line per cell, whatever the terminal or the file: a table of cut words tells nothing.
WIDTH = 240
_STYLES = {"slower": "red", "faster": "green", "unfair": "red"}


# -- compare --------------------------------------------------------------------------------------------------------


def run(asked: CompareParameters, console: Console, *, as_json: bool, page: bool) -> int:
    """Compare as `asked`, print it, make its page if wanted; returns the exit status."""
    found = compare(asked)
    if as_json:
        console.print_json(data=in_json(found))
    else:
        _print(found, console)
    if page:
        try:
            target = _page(NOTEBOOK, asked.model_dump(), _results(found))
        except NotWritten as full:
            # Its own status is that of a regression here.
            raise NothingRecorded(str(full)) from full
        console.print(f"page: {target}", markup=False) if not as_json else None
    return found.exit_status


def in_json(found: Comparison) -> dict[str, Any]:
    """Return all of a comparison for programs; every ratio is b / a, what is missing in a cell is null."""
    return {
        "a": _campaign(found.a),
        "b": _campaign(found.b),
        "verdict": found.verdict,
        "exit_status": found.exit_status,
        "sentence": " ".join(filter(None, (found.sentence(), found.undecided()))),
        "margin": found.margin,
        "counts": found.counts,
        "history": _history(found.history.campaigns, found.effects, found.history_note()),
        "differences": [vars(difference) for difference in found.gate.differences],
        "cells": _cells(found),
        "left_out": found.left_out,
        "lost": found.lost,
    }


def _cells(found: Comparison) -> list[dict[str, Any]]:
    known = found.cells.astype(object).where(found.cells.notna(), None)
    return [{str(name): value for name, value in row.items()} for row in known.to_dict("records")]


def _campaign(campaign: Campaign) -> dict[str, Any]:
    return {"report": campaign.report, "campaign": campaign.id, "records": len(campaign.records())}


def _history(campaigns: Sequence[Campaign], effects: Effects, sentence: str) -> dict[str, Any]:
    """Ids of the campaigns that count, and what they differ by per group of cells: `spread` is a share of the level."""
    rows = [
        {**group._asdict(), "spread": effect.variance**0.5, "df": effect.df, "campaigns": effect.campaigns}
        for group, effect in effects.items()
    ]
    return {"campaigns": [one.id for one in campaigns], "effects": rows, "sentence": sentence}


def list_history(asked: CompareParameters, console: Console, *, as_json: bool) -> int:
    """Print which campaigns repeat the one at `asked.a`, and what they differ by; returns the exit status."""
    listing = history.listed(address.find(asked.a, "a"), asked.metric, asked.without)
    if as_json:
        differ = {other.campaign.id: list(other.differs) for other in listing.others if other.differs}
        console.print_json(
            data=_history(listing.history.campaigns, listing.effects, listing.sentence()) | {"differ": differ}
        )
        return 0
    wide = Console(width=WIDTH, highlight=False, force_terminal=console.is_terminal)
    wide.print(_campaigns(listing))
    if rows := history.effect_rows(listing.effects):
        wide.print(_table("What campaigns of the same system differ by, beside repetitions", rows))
    console.print(listing.sentence(), markup=False)
    return 0


def _campaigns(listing: Listing) -> Lines:
    repeats = {one.id for one in listing.history.campaigns}
    differs = {other.campaign.id: ", ".join(other.differs) for other in listing.others}
    known = [*(other.campaign for other in listing.others), listing.campaign]
    rows = []
    for one in sorted(known, key=lambda one: one.place_in_time):
        why = f"differs in {short(differs[one.id])}" if differs.get(one.id) else "left out by --without"
        rows.append({
            "campaign": one.id,
            "records": str(len(one.records())),
            "": "counts" if one.id in repeats else why,
        })  # fmt: skip
    return _table(f"Campaigns of {listing.campaign.report} on this inventory", rows)


def _print(found: Comparison, console: Console) -> None:
    console.print(f"A  {found.a.report} {found.a.id}\nB  {found.b.report} {found.b.id}\n")
    wide = Console(width=WIDTH, highlight=False, force_terminal=console.is_terminal)
    if rows := view.gate_rows(found, 40):
        wide.print(_table("Differences of the environments", rows, styled_by=""))
    wide.print(_table("B against A", view.cell_rows(found), styled_by="B is"))
    for text in found.left_out[:5]:
        console.print(f"not compared: {text}", markup=False)
    if len(found.left_out) > 5:
        console.print(f"not compared: {len(found.left_out) - 5} more")
    for text in filter(None, (found.sentence(), found.undecided())):
        console.print(text, style="red" if found.exit_status else None, markup=False)
    console.print(found.history_note(), markup=False)


def _table(title: str, rows: Sequence[Mapping[str, str]], styled_by: str | None = None) -> Lines:
    """Return the rows as a table; the text in column `styled_by` says how its row looks."""
    table = Lines(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in rows[0] if rows else ():
        table.add_column(name, no_wrap=True)
    for row in rows:
        said = row[styled_by].partition(" (")[0] if styled_by is not None else ""
        table.add_row(*map(escape, row.values()), style=_STYLES.get(said))
    return table


def _page(notebook: str, given: dict[str, Any], found: Results) -> Path:
    """Make a page of the site of the executed notebook, with what was found as its JSON."""
    done = notebook_run.execute(notebook, given, Console(stderr=True, highlight=False))
    written = results.write(found, done.notebook.with_suffix(".json"))
    return publish.publish(found.report, done.notebook, written, paths.site_dir())


def _results(found: Comparison) -> Results:
    """Return a comparison in the words of a report's results; `cells` has a row per cell."""
    records = [record for campaign in (found.a, found.b) for record in campaign.records()]
    systems = [
        SystemSummary(name=f"{side}: {about.title}", version=about.version)
        for side, campaign in (("A", found.a), ("B", found.b))
        for about in campaign.environment().systems.values()
    ]
    planned = len(found.a.trials) + len(found.b.trials)
    return Results(
        report=f"compare_{found.a.id}_{found.b.id}",
        title=f"{found.a.report}: two runs compared",
        said=found.sentence(),
        profile=_both(found, "profile"),
        inventory=_both(found, "inventory"),
        campaign=f"{found.a.id} (A), {found.b.id} (B)",
        started=datetime.fromtimestamp(max(record.started for record in records), UTC),
        systems=systems,
        trials=Trials(planned=planned, done=len(records), failed=len(found.a.failures()) + len(found.b.failures())),
        cells=[{name: value for name, value in row.items() if value is not None} for row in _cells(found)],
    )


def _both(found: Comparison, key: str) -> str:
    values = [str(campaign.asked.get(key, "unknown")) for campaign in (found.a, found.b)]
    return " and ".join(dict.fromkeys(values))


# -- history --------------------------------------------------------------------------------------------------------


def run_history(asked: HistoryParameters, console: Console, *, as_json: bool, page: bool) -> int:
    """Print the changes that hold, make the page if wanted; returns 0. Raise BadInput."""
    found = report_history.report_history(asked)
    if as_json:
        console.print_json(data=_changes_in_json(found))
    else:
        _print_changes(found, console)
    if page:
        given = {"report": found.report, "inventory": found.inventory, "profile": found.profile}
        target = _page(report_history.NOTEBOOK, given, _history_results(found))
        console.print(f"page: {target}", markup=False) if not as_json else None
    return 0


def _changes_in_json(found: ReportHistory) -> dict[str, Any]:
    return {
        "report": found.report,
        "inventory": found.inventory,
        "profile": found.profile,
        "campaigns": found.campaigns.campaign.tolist(),
        "changes": found.changes.to_dict("records"),
        "differences": found.differences.to_dict("records"),
    }


def _print_changes(found: ReportHistory, console: Console) -> None:
    console.print(found.sentence(), markup=False)
    for row in found.changes.to_dict("records"):
        cell = ", ".join(row[name] for name in ("table", "system", "levels", "metric"))
        said = f"{view.ratio(row['ratio'], row['low'], row['high'])}, {row['called']}"
        console.print(f"  {row['campaign']}  {cell}: {said}", markup=False)
    for (campaign, fact), part in found.differences.groupby(["campaign", "fact"], sort=False):
        was, became = part.was.iloc[0], part.became.iloc[0]
        console.print(f"  {campaign}  {fact}: {was[:60]} -> {became[:60]}", markup=False)


def _history_results(found: ReportHistory) -> Results:
    """Return a history in the words of a report's results, for the index of the site."""
    counts = found.campaigns
    made = counts.made.dropna()
    return Results(
        report=f"{HISTORY}{found.report}",
        title=f"{found.report}: history",
        said=found.sentence(),
        profile=found.profile,
        inventory=found.inventory,
        campaign=counted(len(counts), "campaign"),
        started=made.iloc[-1].to_pydatetime() if len(made) else datetime.now(UTC),
        systems=[],
        trials=Trials(planned=int(counts.planned.sum()), done=int(counts.done.sum()), failed=0),
    )
