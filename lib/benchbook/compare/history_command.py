"""`benchbook history`: what it prints, and its page."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from benchbook import notebook_run, paths
from benchbook.analysis import results
from benchbook.analysis.formatting import ratio
from benchbook.analysis.results import Results, Trials
from benchbook.compare.report_history import NOTEBOOK, HistoryParameters, ReportHistory, report_history
from benchbook.errors import counted
from benchbook.site.addresses import HISTORY


def run(asked: HistoryParameters, console: Console, *, as_json: bool, page: bool) -> int:
    """Print the changes that hold, make the page if wanted; returns 0. Raises BadInput."""
    found = report_history(asked)
    if as_json:
        console.print_json(json.dumps(in_json(found)))
    else:
        _print(found, console)
    if page:
        target = _page(found, Console(stderr=True, highlight=False))
        console.print(f"page: {target}", markup=False) if not as_json else None
    return 0


def in_json(found: ReportHistory) -> dict[str, object]:
    """What a program reads: the changes, and what had changed there."""
    return {
        "report": found.report,
        "inventory": found.inventory,
        "profile": found.profile,
        "campaigns": found.campaigns.campaign.tolist(),
        "changes": found.changes.to_dict("records"),
        "differences": found.differences.to_dict("records"),
    }


def _print(found: ReportHistory, console: Console) -> None:
    console.print(found.sentence(), markup=False)
    for row in found.changes.to_dict("records"):
        cell = ", ".join(row[name] for name in ("table", "system", "levels", "metric"))
        said = f"{ratio(row['ratio'])} [{ratio(row['low'])}, {ratio(row['high'])}], {row['called']}"
        console.print(f"  {row['campaign']}  {cell}: {said}", markup=False)
    for (campaign, fact), part in found.differences.groupby(["campaign", "fact"], sort=False):
        was, became = part.was.iloc[0], part.became.iloc[0]
        console.print(f"  {campaign}  {fact}: {was[:60]} -> {became[:60]}", markup=False)


def _page(found: ReportHistory, console: Console) -> Path:
    # What makes pages takes a second to import.
    from benchbook.site import publish  # noqa: PLC0415

    given = {"report": found.report, "inventory": found.inventory, "profile": found.profile}
    done = notebook_run.execute(NOTEBOOK, given, console)
    written = results.write(_results(found), done.notebook.with_suffix(".json"))
    return publish.publish(f"{HISTORY}{found.report}", done.notebook, written, paths.site_dir())


def _results(found: ReportHistory) -> Results:
    """A history in the words of a report's results, for the index of the site."""
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
