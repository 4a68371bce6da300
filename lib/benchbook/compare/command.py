"""`python -m benchbook compare`: what it prints, its page, and its exit status."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Lines

from benchbook import notebook_run, paths
from benchbook.analysis import formatting, results
from benchbook.analysis.results import Results, SystemSummary, Trials
from benchbook.compare import NOTEBOOK, address, comparison_json, history
from benchbook.compare.cell_row import in_words
from benchbook.compare.environment_facts import ABSENT
from benchbook.compare.gate import short
from benchbook.compare.history import Listing
from benchbook.compare.pair import Comparison, asked_for
from benchbook.compare.request import CompareParameters
from benchbook.errors import NothingRecorded, NotWritten

# One line per cell, whatever the terminal or the file: a table of cut words tells nothing.
WIDTH = 240
_STYLES = {"slower": "red", "faster": "green", "unfair": "red"}


def run(asked: CompareParameters, console: Console, *, as_json: bool, page: bool) -> int:
    """Compare as `asked`, print it, make its page if wanted; returns the exit status."""
    found = asked_for(asked)
    if as_json:
        console.print_json(comparison_json.of_comparison(found).model_dump_json())
    else:
        _print(found, console)
    if page:
        try:
            target = _page(asked, found, Console(stderr=True, highlight=False))
        except NotWritten as full:
            # Its own status is that of a regression here.
            raise NothingRecorded(str(full)) from full
        console.print(f"page: {target}", markup=False) if not as_json else None
    return found.exit_status


def list_history(asked: CompareParameters, console: Console, *, as_json: bool) -> int:
    """Print which campaigns repeat the one at `asked.a`, and what they differ by; returns the exit status."""
    listing = history.listed(address.find(asked.a, "a"), asked.metric, asked.without)
    if as_json:
        console.print_json(comparison_json.of_history(listing).model_dump_json())
        return 0
    wide = Console(width=WIDTH, highlight=False, force_terminal=console.is_terminal)
    for table in [_campaigns(listing)] + ([_effects(listing)] if listing.effects else []):
        wide.print(table)
    console.print(listing.sentence(), markup=False)
    return 0


def _campaigns(listing: Listing) -> Lines:
    table = _table(f"Campaigns of {listing.campaign.report} on this inventory", "campaign", "records", "")
    counted = {one.id for one in listing.history.campaigns}
    differs = {other.campaign.id: ", ".join(other.differs) for other in listing.others}
    known = [*(other.campaign for other in listing.others), listing.campaign]
    for one in sorted(known, key=lambda one: one.place_in_time):
        why = f"differs in {short(differs[one.id])}" if differs.get(one.id) else "left out by --without"
        table.add_row(one.id, str(len(one.records())), escape("counts" if one.id in counted else why))
    return table


def _effects(listing: Listing) -> Lines:
    rows = history.effect_rows(listing.effects)
    table = _table("What campaigns of the same system differ by, beside repetitions", *rows[0])
    for row in rows:
        table.add_row(*map(escape, row.values()))
    return table


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
    console.print(found.history_note(), markup=False)


def _gate(found: Comparison) -> Lines:
    table = _table("Differences of the environments", "", "what", "where", "A", "B")
    for d in found.gate.differences:
        cells = [d.name, d.where or ABSENT, short(d.a, 40), short(d.b, 40)]
        table.add_row(d.standing, *map(escape, cells), style=_STYLES.get(d.standing))
    return table


def _cells(found: Comparison) -> Lines:
    head = ["table", "system", "levels", "metric", "A", "B", "B / A", "95% interval", "p (Holm)", "B is"]
    table = _table("B against A", *head)
    for row, called in zip(found.rows, found.called(), strict=True):
        interval = (
            ABSENT
            if row.low is None or row.high is None
            else f"{formatting.ratio(row.low)} to {formatting.ratio(row.high)}"
        )
        figures = [formatting.number(row.a), formatting.number(row.b), formatting.ratio(row.ratio), interval]
        where = [row.table, row.system, row.levels, f"{row.metric} ({row.unit})"]
        cells = [*where, *figures, formatting.number(row.p_holm), in_words(row, called)]
        table.add_row(*map(escape, cells), style=_STYLES.get(called))
    return table


def _table(title: str, *columns: str) -> Lines:
    table = Lines(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name, no_wrap=True)
    return table


def _page(asked: CompareParameters, found: Comparison, console: Console) -> Path:
    """The executed notebook as a page of the site, with the cells as its JSON."""
    # What makes pages takes a second to import.
    from benchbook.site import publish  # noqa: PLC0415

    done = notebook_run.execute(NOTEBOOK, asked.model_dump(), console)
    written = results.write(_results(found), done.notebook.with_suffix(".json"))
    return publish.publish(_name(found), done.notebook, written, paths.site_dir())


def _name(found: Comparison) -> str:
    return f"compare_{found.a.id}_{found.b.id}"


def _results(found: Comparison) -> Results:
    """A comparison in the words of a report's results; `cells` has a row per cell."""
    records = [record for campaign in (found.a, found.b) for record in campaign.records()]
    systems = [
        SystemSummary(name=f"{side}: {about.title}", version=about.version)
        for side, campaign in (("A", found.a), ("B", found.b))
        for about in campaign.environment().systems.values()
    ]
    planned = len(found.a.trials) + len(found.b.trials)
    return Results(
        report=_name(found),
        title=f"{found.a.report}: two runs compared",
        said=found.sentence(),
        profile=_both(found, "profile"),
        inventory=_both(found, "inventory"),
        campaign=f"{found.a.id} (A), {found.b.id} (B)",
        started=datetime.fromtimestamp(max(record.started for record in records), UTC),
        systems=systems,
        trials=Trials(planned=planned, done=len(records), failed=len(found.a.failures()) + len(found.b.failures())),
        cells=[row.model_dump(exclude_none=True) for row in found.rows],
    )


def _both(found: Comparison, key: str) -> str:
    values = [str(campaign.asked.get(key, "unknown")) for campaign in (found.a, found.b)]
    return " and ".join(dict.fromkeys(values))
