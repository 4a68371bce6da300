"""The frame of campaigns: a plan, an environment and a count of records are read of each, and no record."""

from __future__ import annotations

import pandas as pd

from benchbook.campaign import store
from benchbook.campaign.store import Campaign
from benchbook.frames.schema import RUNS, typed


def runs(report: str = "*") -> pd.DataFrame:
    """A row per campaign that has a record; see `schema.RUNS`. One that cannot be read is named and left out."""
    found = store.readable(store.recorded(report))
    return typed(pd.DataFrame([_run(campaign) for campaign in found]), RUNS)


def _run(campaign: Campaign) -> dict[str, object]:
    done = len(campaign.done())
    return {
        "campaign": campaign.id,
        "report": campaign.report,
        "made": pd.to_datetime(campaign.plan.made, utc=True) if campaign.plan.made else pd.NaT,
        "profile": campaign.profile,
        "inventory": campaign.inventory,
        "systems": "; ".join(about.called for about in campaign.environment().systems.values()),
        "planned": len(campaign.trials),
        "done": done,
        "finished": done == len(campaign.trials),
        "folder": str(campaign.folder),
    }
