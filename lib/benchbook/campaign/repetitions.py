"""More repetitions where they can decide something: blocks are added while a claim is open and the budget lasts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from benchbook.campaign import design
from benchbook.campaign.allotment import OpenClaim, allot, cells_of, cost, seconds
from benchbook.campaign.environment import Environment
from benchbook.campaign.experiment import Experiment
from benchbook.campaign.progress import Listener
from benchbook.campaign.run import run
from benchbook.campaign.store import Campaign
from benchbook.campaign.tries import TRIES
from benchbook.profiles import Repeating


def run_until_decided(
    campaign: Campaign,
    experiment: Experiment,
    listen: Listener,
    rule: Repeating,
    undecided: Callable[[], Sequence[OpenClaim]],
    stop: Callable[[], bool] = lambda: False,
    *,
    tries: int = TRIES,
) -> None:
    """Run the plan; then add blocks for the claims that `undecided` still names. The campaign keeps why it ended.

    The plan keeps the blocks that were added, and for which claims. `stop` and `tries`: as `run` has them.
    """

    def another() -> bool:
        claims = undecided()
        chosen, ended = _next(campaign, rule, claims, time.time() - began)
        if not chosen:
            campaign.note(Environment(repetitions_ended=ended))
            return False
        cells = cells_of(chosen)
        more = design.another_block(campaign.trials, cells, seed=campaign.plan.seed, asked=campaign.asked)
        campaign.extend(more, [claim.id for claim in chosen])
        return True

    began = time.time() - campaign.spent_s
    run(campaign, experiment, listen, another, stop, tries=tries)


def _next(
    campaign: Campaign, rule: Repeating, claims: Sequence[OpenClaim], spent_s: float
) -> tuple[list[OpenClaim], str]:
    """The claims that another block is for; without any, why none is added."""
    if campaign.missing():
        return [], "trials have failed"
    if not claims:
        most = rule.most_repetitions
        return [], f"no open claim would be decided within the {most} repetitions that the profile allows"
    if max(trial.repetition for trial in campaign.trials) >= rule.most_repetitions:
        return [], f"claims are open after the {rule.most_repetitions} repetitions that the profile allows"
    costs = cost(campaign.trials, campaign.records())
    chosen = allot(claims, costs, 60 * rule.budget_min - spent_s)
    if not chosen:
        least = min(seconds([claim], costs) for claim in claims) / 60
        return [], f"claims are open, but another {least:.1f} min would exceed the budget of {rule.budget_min:g} min"
    return chosen, ""
