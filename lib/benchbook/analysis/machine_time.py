"""Machine time: a forecast before the run, and afterwards what was spent against the published durations."""

from __future__ import annotations

from benchbook import paths
from benchbook.analysis.results import MachineTime
from benchbook.campaign.early_stop import rule
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign, in_order, readable
from benchbook.hosts.about import Json
from benchbook.profiles import Stopping
from benchbook.published.tables import Published

# Loads that take less than this share of the published durations do not stand in for them: no time is said to be saved.
COMPARABLE = 0.01


def forecast(campaign: Campaign) -> str:
    """How long the load of the missing trials will take, in words; empty where nobody can know it."""
    left, asked, rule_asked = len(campaign.missing()), campaign.asked, campaign.stopping
    if not left:
        return ""
    if rule_asked is None:
        # Where a load ends when its work is done, nobody knows beforehand how long it takes.
        return f"{left * asked['time_s'] / 60:.1f} min of load" if asked.get("time_s") else ""
    least, most = (left * seconds / 60 for seconds in _bounds(rule_asked, min(asked.get("period_s", [0.0]))))
    before = _seconds_before(campaign)
    about = f", about {left * before / 60:.0f} as the last campaign went" if before else ""
    span = f"{most:.0f}" if least == most else f"{least:.0f} to {most:.0f}"
    return f"{span} min of load{about}; repetitions may be added"


def _bounds(asked: Stopping, period_s: float) -> tuple[float, float]:
    """The earliest and the latest end of a load, in seconds: two looks in a row must agree."""
    applied = rule(asked, None, period_s=period_s)
    return applied.looks()[: applied.consecutive][-1], applied.maximum_s


def _seconds_before(campaign: Campaign) -> float | None:
    """Mean seconds of load per trial in the latest other campaign that asked for the same sizes and rule."""
    folders = in_order(plan.parent for plan in paths.runs_dir(campaign.report).glob("*/plan.json"))
    for other in readable(folder for folder in reversed(folders) if folder.name != campaign.id):
        alike = all(other.asked.get(key) == campaign.asked.get(key) for key in ("profile", "stopping", "inventory"))
        if alike and (done := other.records()):
            return sum(map(load_s, done)) / len(done)
    return None


def load_s(record: Record) -> float:
    """Seconds of load; a transfer or a ladder rung has no total time of its own, and counts from start to end."""
    said = record.summary.get("total_time_s")
    return said.value if said else float((record.ended or 0) - (record.started or 0))


def too_short(stopping: Json) -> bool:
    """Whether a load's maximum did not cover the periods that it takes to end early; of older records, nobody knows."""
    return bool(stopping.get("period_s") and stopping["least_s"] >= stopping["maximum_s"])


def account(published: Published, campaign: Campaign) -> MachineTime:
    """What the recorded trials took, and how long they would have taken at the report's durations."""
    records = campaign.records()
    stated = [seconds for record in records if (seconds := published.duration_s(record.table))]
    load = sum(map(load_s, records))
    whole = sum(stated) if records and len(stated) == len(records) else None
    judged = [record.proof["stopping"] for record in records if "stopping" in record.proof]
    return MachineTime(
        trials=len(records),
        load_s=load,
        wall_s=campaign.spent_s,
        published_s=whole,
        share=load / whole if whole else None,
        judged=len(judged),
        precise=sum(s["precise"] for s in judged),
        too_short=sum(map(too_short, judged)),
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
    if spent.judged:
        said.append(
            f"{spent.precise} of {spent.judged} loads ended because their interval was as tight as asked; "
            "the others ran to the longest that the profile allows."
        )
    if spent.too_short:
        said.append(
            f"{spent.too_short} could not end early: that takes several periods of what the system does in the "
            "background, and the profile's longest load is shorter."
        )
    if spent.trials > spent.planned:
        said.append(f"{spent.trials - spent.planned} trials were added to the {spent.planned} of the plan.")
    if spent.ended:
        said.append(f"No more were added because {spent.ended}.")
    return " ".join(said)
