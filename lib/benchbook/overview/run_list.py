"""`benchbook runs`: every campaign on disk, the latest first, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from benchbook import paths
from benchbook.campaign.store import Campaign, begun, readable
from benchbook.overview.terminal_table import show

_HEADS = ("campaign", "report", "profile", "inventory", "trials", "verdicts", "page made")


def print_runs(reports: Sequence[str], console: Console) -> None:
    """Campaigns of these reports, or of all; those that cannot be read are named on the standard error."""
    rows = [_row(each) for each in campaigns_of(reports)]
    if rows:
        show(console, _HEADS, rows)
    else:
        console.print("nothing has been run yet: make report REPORT=...")


def campaigns_of(reports: Sequence[str]) -> Iterator[Campaign]:
    """Those of these reports, or of all, that can be read, the latest first."""
    return readable(folder for folder in reversed(begun()) if not reports or folder.parent.name in reports)


def _row(campaign: Campaign) -> tuple[str, ...]:
    done, planned = len(campaign.done()), len(campaign.trials)
    state = f"{done} of {planned}" if done < planned else f"{done}"
    known = (campaign.id, campaign.report, campaign.profile, campaign.inventory, state)
    return (*known, _verdicts(campaign.folder / paths.RESULTS), "yes" if _has_page(campaign) else "–")


def _verdicts(results: Path) -> str:
    """ "7 holds, 3 open" of a results.json, read as plain JSON: a list of runs imports no analysis."""
    try:
        found = [claim["verdict"] for claim in json.loads(results.read_text(encoding="utf-8"))["claims"]]
    except (OSError, ValueError, KeyError, TypeError):
        return "–"
    return ", ".join(f"{found.count(verdict)} {verdict}" for verdict in dict.fromkeys(found)) or "no claims"


def _has_page(campaign: Campaign) -> bool:
    return (paths.site_dir() / campaign.report / campaign.id / "index.html").is_file()
