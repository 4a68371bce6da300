"""`benchbook runs`: every campaign on disk, the latest first, and what became of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console

from benchbook import paths
from benchbook.campaign.store import Campaign, begun, readable
from benchbook.claims import section
from benchbook.overview.terminal_table import show

_HEADS = ("campaign", "report", "profile", "inventory", "trials", "verdicts", "page made")


def print_runs(reports: Sequence[str], console: Console) -> None:
    """Print campaigns of these reports, or of all; those that cannot be read are named on the standard error."""
    rows = [_row(each) for each in campaigns_of(reports)]
    if rows:
        show(console, _HEADS, rows)
    else:
        console.print("nothing has been run yet: benchbook report NAME")


def print_json(reports: Sequence[str], console: Console) -> None:
    """Print the same as JSON: of each campaign its trials, planned and done, and its claims by state."""
    rows = [
        {
            "campaign": each.id,
            "report": each.report,
            "profile": each.profile,
            "inventory": each.inventory,
            "planned": len(each.trials),
            "done": len(each.done()),
            "verdicts": Counter(_states(each.folder / paths.RESULTS) or []),
            "page": _has_page(each),
        }
        for each in campaigns_of(reports)
    ]
    console.print(json.dumps(rows, indent=1), markup=False)


def campaigns_of(reports: Sequence[str]) -> Iterator[Campaign]:
    """Those of these reports, or of all, that can be read, the latest first."""
    return readable(folder for folder in reversed(begun()) if not reports or folder.parent.name in reports)


def _row(campaign: Campaign) -> tuple[str, ...]:
    done, planned = len(campaign.done()), len(campaign.trials)
    state = f"{done} of {planned}" if done < planned else f"{done}"
    known = (campaign.id, campaign.report, campaign.profile, campaign.inventory, state)
    return (*known, _verdicts(campaign.folder / paths.RESULTS), "yes" if _has_page(campaign) else "–")


def _states(results: Path) -> list[str] | None:
    """Return the states of the claims in a results.json; None where there is none that can be read."""
    try:
        return [claim["verdict"] for claim in json.loads(results.read_text(encoding="utf-8"))["claims"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _verdicts(results: Path) -> str:
    """Return "7 hold, 3 open"."""
    found = _states(results)
    if found is None:
        return "–"
    count = Counter(found)
    said = [f"{count[s]} {s if count[s] == 1 else section.PLURAL.get(s, s)}" for s in section.STATES if count[s]]
    return ", ".join(said) or "no claims"


def _has_page(campaign: Campaign) -> bool:
    return (paths.site_dir() / campaign.report / campaign.id / "index.html").is_file()
