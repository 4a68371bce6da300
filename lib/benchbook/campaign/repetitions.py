"""More repetitions where they can decide something: blocks are added while a claim is open and the budget lasts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchbook.campaign import design
from benchbook.campaign.design import Cell
from benchbook.campaign.environment import Environment
from benchbook.campaign.experiment import Experiment
from benchbook.campaign.progress import Listener
from benchbook.campaign.run import run
from benchbook.campaign.store import Campaign
from benchbook.profiles import Repeating


def run_until_decided(
    campaign: Campaign,
    experiment: Experiment,
    listen: Listener,
    rule: Repeating,
    undecided: Callable[[], Sequence[Cell]],
) -> None:
    """Run the plan; then add blocks of the cells that `undecided` still names. The campaign keeps why it ended."""
    run(campaign, experiment, listen)
    while not (ended := _enough(campaign, rule, cells := undecided())):
        campaign.extend(design.another_block(campaign.trials, cells, seed=campaign.plan.seed, asked=campaign.asked))
        run(campaign, experiment, listen)
    campaign.note(Environment(repetitions_ended=ended))


def _enough(campaign: Campaign, rule: Repeating, cells: Sequence[Cell]) -> str:
    """Why no block is added; empty if one is."""
    if campaign.missing():
        return "trials have failed"
    if not cells:
        return f"no open claim would be decided within the {rule.most_repetitions} repetitions that the profile allows"
    if max(trial.repetition for trial in campaign.trials) >= rule.most_repetitions:
        return f"claims are open after the {rule.most_repetitions} repetitions that the profile allows"
    spent = campaign.spent_s
    block = spent / max(len(campaign.trials), 1) * len(cells)
    if spent + block > 60 * rule.budget_min:
        return f"claims are open, but another {block / 60:.1f} min would exceed the budget of {rule.budget_min:g} min"
    return ""
