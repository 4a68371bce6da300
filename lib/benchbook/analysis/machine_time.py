"""Machine time: a forecast before the run, and afterwards what was spent against the published durations."""

from __future__ import annotations

from benchbook.analysis.results import MachineTime
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.published.tables import Published

# Loads that take less than this share of the published durations do not stand in for them: no time is said to be saved.
COMPARABLE = 0.01


def forecast(campaign: Campaign) -> str:
    """How long the load of the missing trials will take, in words; empty where nobody can know it."""
    left, each_s = len(campaign.missing()), campaign.asked.get("time_s")
    if not left or not each_s:
        # Where a load ends when its work is done, nobody knows beforehand how long it takes.
        return ""
    added = "; repetitions may be added" if campaign.asked.get("repeat") else ""
    return f"{left * each_s / 60:.1f} min of load{added}"


def load_s(record: Record) -> float:
    """Seconds of load; a transfer or a ladder rung has no total time of its own, and counts from start to end."""
    said = record.summary.get("total_time_s")
    return said.value if said else float((record.ended or 0) - (record.started or 0))


def account(published: Published, campaign: Campaign) -> MachineTime:
    """What the recorded trials took, and how long they would have taken at the report's durations."""
    records = campaign.records()
    stated = [seconds for record in records if (seconds := published.duration_s(record.table))]
    load = sum(map(load_s, records))
    whole = sum(stated) if records and len(stated) == len(records) else None
    return MachineTime(
        trials=len(records),
        load_s=load,
        wall_s=campaign.spent_s,
        published_s=whole,
        share=load / whole if whole else None,
        planned=campaign.planned,
        ended=campaign.environment().repetitions_ended,
    )


def in_words(spent: MachineTime) -> str:
    """The account as sentences."""
    said = [f"{spent.load_s / 60:.1f} min of load in {spent.wall_s / 60:.1f} min of wall time."]
    if spent.published_s and spent.share is not None and spent.share >= COMPARABLE:
        saved = (spent.published_s - spent.load_s) / 3600
        whole = f"At the published durations the same {spent.trials} trials load for {spent.published_s / 3600:.1f} h"
        gain = f"{saved:.1f} h saved" if saved > 0 else f"{-saved:.1f} h more"
        said.append(f"{whole}: {spent.share:.1%} of that was spent, {gain}.")
    if spent.trials > spent.planned:
        said.append(f"{spent.trials - spent.planned} trials were added to the {spent.planned} of the plan.")
    if spent.ended:
        said.append(f"No more were added because {spent.ended}.")
    return " ".join(said)
