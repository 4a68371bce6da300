"""Machine time of cells, forecast by the latest campaign of the same report, profile and inventory."""

from __future__ import annotations

from pathlib import Path

from benchbook import paths
from benchbook.batch.batch_cell import BatchCell
from benchbook.campaign.store import Campaign, in_order, readable


def forecast_s(cell: BatchCell, trials: int) -> float | None:
    """Wall seconds of `trials` trials at what one took, preparation included; None where nothing is recorded.

    Left out is what comes before and after a campaign (building, the notebook's start, the page), and repetitions that
    a claim may still need.
    """
    for campaign in readable(reversed(in_order(_folders(cell.report)))):
        done = len(campaign.done())
        if _alike(campaign, cell) and done and campaign.spent_s:
            return campaign.spent_s / done * trials
    return None


def _folders(report: str) -> list[Path]:
    return [plan.parent for plan in paths.runs_dir(report).glob("*/plan.json")]


def _alike(campaign: Campaign, cell: BatchCell) -> bool:
    return (campaign.profile, campaign.inventory) == (Path(cell.profile).stem, Path(cell.inventory).stem)


def in_words(seconds: float | None) -> str:
    """ "12 min", or that nobody knows."""
    if seconds is None:
        return "not known yet"
    return f"{seconds / 3600:.1f} h" if seconds >= 5400 else f"{seconds / 60:.1f} min"
