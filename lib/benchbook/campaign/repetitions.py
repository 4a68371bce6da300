"""More repetitions where they can decide something: blocks are added for claims that are open, while the budget lasts.

The claims are looked at twice: when the plan is through, and at the end. In between nothing is judged, and how many
blocks are added hangs on the time that they take and not on what they show: so two looks are all that the verdicts'
error rate is shared among, where a look after every block would leave each of them a fraction of it. A plan that uses
the budget up is looked at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchbook.campaign import design
from benchbook.campaign.allotment import OpenClaim, RepetitionCost, allot, cells_of, cost, seconds
from benchbook.campaign.design import Cell
from benchbook.campaign.environment import Environment
from benchbook.campaign.experiment import Experiment
from benchbook.campaign.progress import Listener
from benchbook.campaign.run import run
from benchbook.campaign.store import Campaign
from benchbook.campaign.tries import TRIES
from benchbook.profiles import Repeating

# How often the claims of a campaign are judged that may add repetitions.
LOOKS = 2


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
    """Run the plan; then add blocks for the claims that `undecided` names. The campaign keeps why it ended.

    The plan keeps the blocks that were added, and for which claims. `stop` and `tries`: as `run` has them.
    """

    def another() -> bool:
        block = _next(campaign, rule, undecided, 60 * rule.budget_min - (time.time() - began))
        if isinstance(block, Environment):
            campaign.note(block)
            return False
        more = design.another_block(campaign.trials, block.cells, seed=campaign.plan.seed, asked=campaign.asked)
        campaign.extend(more, block.claims)
        return True

    began = time.time() - campaign.spent_s
    run(campaign, experiment, listen, another, stop, tries=tries)


@dataclass(frozen=True)
class _Block:
    """The cells of a block to add, and the claims that it is for."""

    cells: Sequence[Cell]
    claims: Sequence[str]


def _next(
    campaign: Campaign, rule: Repeating, undecided: Callable[[], Sequence[OpenClaim]], left_s: float
) -> _Block | Environment:
    """The block to add; or else what the campaign notes: why none is."""
    if campaign.missing():
        return Environment(repetitions_ended="trials have failed")
    if max(trial.repetition for trial in campaign.trials) >= rule.most_repetitions:
        return Environment(repetitions_ended=f"the profile allows {rule.most_repetitions} repetitions")
    costs = cost(campaign.trials, campaign.records())
    if campaign.plan.added:
        return _as_before(campaign, rule, costs, left_s)
    if costs.least > left_s:
        # Nothing was looked at before this was known: the one look that is left has the whole error rate.
        return Environment(repetitions_ended=_used_up(rule, costs.least), looks=1)
    return _chosen(undecided(), rule, costs, left_s)


def _as_before(campaign: Campaign, rule: Repeating, costs: RepetitionCost, left_s: float) -> _Block | Environment:
    """The block that was added last, once more, as long as there is time: what it showed is not looked at."""
    last = campaign.plan.added[-1]
    cells = [trial.cell for trial in campaign.trials if trial.repetition == last.repetition]
    takes = costs.block_s + costs.of(cells)
    return _Block(cells, last.claims) if takes <= left_s else Environment(repetitions_ended=_used_up(rule, takes))


def _chosen(claims: Sequence[OpenClaim], rule: Repeating, costs: RepetitionCost, left_s: float) -> _Block | Environment:
    if not claims:
        most = rule.most_repetitions
        why = f"no open claim would be decided within the {most} repetitions that the profile allows"
        return Environment(repetitions_ended=why)
    chosen = allot(claims, costs, left_s)
    if not chosen:
        return Environment(repetitions_ended=_used_up(rule, min(seconds([claim], costs) for claim in claims)))
    return _Block(cells_of(chosen), [claim.id for claim in chosen])


def _used_up(rule: Repeating, takes_s: float) -> str:
    return f"another {takes_s / 60:.1f} min would exceed the budget of {rule.budget_min:g} min"
