"""How much of a campaign's time is load."""

from __future__ import annotations

import shutil
import time
from typing import Any

from rich.console import Console

from benchbook.campaign import run, store
from benchbook.reports.load.load_kind import LoadParameters
from benchmarks import lab


def measure(console: Console) -> dict[str, Any]:
    """the share of a campaign's wall time in which load runs: 15 cells, 10-s trials, prepared data"""
    parameters = LoadParameters(inventory="lab_tidb", system="tidb", time_s=10, repetitions=1)
    with lab.started(parameters) as experiment:
        with experiment.running():
            # The dataset is made once for all campaigns: it is no part of this one.
            experiment.begin(lab.plan(parameters)[1][:1], lambda step: None)
        asked, trials = lab.plan(parameters)
        campaign = store.start_or_continue(f"bench_{lab.REPORT}", asked, trials, seed=1)
        try:
            began = time.monotonic()
            run.run(campaign, experiment, lambda progress: None)
            wall, records = time.monotonic() - began, campaign.records()
        finally:
            # It measured the kit: among the campaigns of reports it would be one that no notebook knows.
            shutil.rmtree(campaign.folder.parent)
    load = sum(record.ended - record.started for record in records)
    return {"share": load / wall, "wall_s": wall, "load_s": load, "trials": len(records), "of": len(trials)}
