"""How often the gate calls a recorded measurement disturbed: part of `make bench`, over all campaigns in data/runs.

Nothing is measured: records are read. Campaigns of older kits have no heartbeats and no word of stopped processes; of
their loads by sysbench, lines of rates are judged all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rich.console import Console

from benchbook.campaign import store
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.campaign.validity import clock_steps, rate_lines, standstills
from benchbook.campaign.validity.disturbances import disturbances
from benchbook.campaign.validity.looked_at import LookedAt


def gate(console: Console) -> dict[str, Any]:
    """measurements in data/runs that the gate calls disturbed, per condition, and how near the others come"""
    counted: Counter[str] = Counter()
    nearest: dict[str, float] = {}
    for campaign in map(Campaign, store.recorded()):
        for record, look in _loads(campaign):
            found = disturbances(look)
            counted.update(["measurements", *(each.condition for each in found), *(["disturbed"] if found else [])])
            counted.update(["hard"] if any(each.hard for each in found) else [])
            if found:
                console.print(f"  {campaign.id}/{record.id}: {'; '.join(each.why for each in found)}", markup=False)
            for name, share in _shares(look).items():
                nearest[name] = max(nearest.get(name, 0.0), share)
    return {**counted, "nearest_to_the_limit": {name: round(share, 3) for name, share in nearest.items()}}


def _loads(campaign: Campaign) -> Iterator[tuple[Record, LookedAt]]:
    for record in campaign.records():
        series = campaign.series(record.id)
        look = LookedAt.of(record, series)
        if (
            rate_lines.RATES not in look.proof
            and (series.source == "sysbench").any()
            and "total_time_s" in look.summary
        ):
            began = record.ended - record.summary["total_time_s"].value
            proof = {**record.proof, **rate_lines.declared("sysbench", 1.0, began, record.ended)}
            look = LookedAt(record.started, record.ended, series, record.summary, proof)
        yield record, look


def _shares(look: LookedAt) -> dict[str, float]:
    """The longest of each kind, as a share of what is tolerated; what is above 1 disturbs."""
    lines = rate_lines.lines_of(look)
    found = {
        "heartbeat": max((each.seconds for each in standstills.latest(look)), default=0.0) / look.tolerated_s,
        "clock": max(map(abs, clock_steps.largest_steps(look).values()), default=0.0) / clock_steps.STEP_S,
    }
    if gaps := standstills.longest_gaps(look):
        longest = max(each.seconds for each in gaps)
        found["probe samples"] = longest / (standstills.PERIOD_S + look.tolerated_s)
    if lines:
        found["interval lines"] = lines.longest_gap_s / (lines.every_s + look.tolerated_s)
    return found
