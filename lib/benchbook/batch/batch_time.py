"""Machine time of cells, forecast by the latest campaign of the same report, profile and inventory."""

from __future__ import annotations

from pathlib import Path

from benchbook.batch.batch_cell import BatchCell, Planned, load_s
from benchbook.campaign.store import Campaign, begun, readable


def forecast_s(cell: BatchCell, planned: Planned) -> float | None:
    """Wall seconds of its trials at what one took, preparation included; None where nothing is recorded.

    Loads that are to last longer or shorter than the recorded ones take so much more or less. Left out is what comes
    before and after a campaign (building, the notebook's start, the page), and repetitions that a claim may still need.
    """
    for campaign in readable(reversed(begun(cell.report))):
        done = len(campaign.done())
        if _alike(campaign, cell) and done and campaign.spent_s:
            longer_s = planned.load_s - load_s(campaign.asked) if planned.load_s else 0.0
            return max(planned.load_s, campaign.spent_s / done + longer_s) * planned.trials
    return None


def _alike(campaign: Campaign, cell: BatchCell) -> bool:
    return (campaign.profile, campaign.inventory) == (Path(cell.profile).stem, Path(cell.inventory).stem)


def in_words(seconds: float | None) -> str:
    """ "12 min", or that nobody knows."""
    if seconds is None:
        return "not known yet"
    return f"{seconds / 3600:.1f} h" if seconds >= 5400 else f"{seconds / 60:.1f} min"
