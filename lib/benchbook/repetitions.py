"""More repetitions where they can decide something: blocks are added while a claim is open and the budget lasts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchbook import campaign as campaigns
from benchbook import design
from benchbook.campaign import Campaign
from benchbook.design import Cell
from benchbook.experiment import Experiment
from benchbook.profiles import Stopping
from benchbook.progress import Listener


def run_until_decided(
    campaign: Campaign,
    experiment: Experiment,
    listen: Listener,
    rule: Stopping,
    undecided: Callable[[], Sequence[Cell]],
) -> None:
    """Run the plan; then add blocks of the cells that `undecided` still names. The campaign keeps why it ended."""
    campaigns.run(campaign, experiment, listen)
    while not (ended := _enough(campaign, rule, cells := undecided())):
        campaign.extend(design.another_block(campaign.trials, cells, seed=campaign.plan["seed"], asked=campaign.asked))
        campaigns.run(campaign, experiment, listen)
    campaign.note(repetitions_ended=ended)


def looks(campaign: Campaign) -> int:
    """How often at most the claims of this campaign are judged, with the data so far each time; 1 if planned so."""
    asked = campaign.asked.get("stopping")
    if not asked:
        return 1
    planned = campaign.plan.get("planned", len(campaign.trials))
    first = max(trial.repetition for trial in campaign.trials[:planned])
    return max(1, int(asked["most_repetitions"]) - first + 1)


def _enough(campaign: Campaign, rule: Stopping, cells: Sequence[Cell]) -> str:
    """Why no block is added; empty if one is."""
    if campaign.missing():
        return "trials have failed"
    if not cells:
        return f"no open claim would be decided within the {rule.most_repetitions} repetitions that the profile allows"
    if max(trial.repetition for trial in campaign.trials) >= rule.most_repetitions:
        return f"claims are open after the {rule.most_repetitions} repetitions that the profile allows"
    spent = spent_s(campaign)
    block = spent / max(len(campaign.trials), 1) * len(cells)
    if spent + block > 60 * rule.budget_min:
        return f"claims are open, but another {block / 60:.1f} min would exceed the budget of {rule.budget_min:g} min"
    return ""


def spent_s(campaign: Campaign) -> float:
    """Wall time that the campaign's runs have taken, in seconds."""
    return float(sum(run["ended"] - run["began"] for run in campaign.environment().get("runs", [])))
