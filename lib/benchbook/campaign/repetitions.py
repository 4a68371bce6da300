"""More repetitions where they can decide something: blocks are added for claims that are open, while the budget lasts.

The claims are looked at twice: when the plan is through, where the blocks to add are decided on, and at the end. In
between nothing is judged, and how many of the blocks are added hangs on the time that they take and not on what they
show: so few looks are all that the verdicts' error rate is shared among (`SHARES`), where a look after every block
would leave each of them a fraction of it. A plan that uses the budget up is looked at once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from benchbook.campaign import design
from benchbook.campaign.design import Block
from benchbook.campaign.environment import Environment
from benchbook.campaign.experiment import Experiment
from benchbook.campaign.progress import Listener
from benchbook.campaign.repetition_allocation import OpenClaim, RepetitionCost, allot, cost
from benchbook.campaign.retry_policy import TRIES
from benchbook.campaign.run import run
from benchbook.campaign.store import Campaign
from benchbook.profiles import Repeating

# Claims are judged twice where repetitions may be added, and the error rate is shared as among three looks: how many
# are added hangs on what the first look showed (as many as are likely to be enough), which counts as one look more.
# Simulated, 16 claims on their bounds, 2 or 4 repetitions and up to 12 more: with two shares 6.0 to 6.8% of ledgers are
# wrong, with three 4.0 to 4.6%. Sample sizes that follow the data: Proschan & Hunsberger (1995), Biometrics 51(4).
SHARES = 3


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
        ahead = _ahead(campaign, rule, undecided, 60 * rule.budget_min - (time.time() - began))
        if isinstance(ahead, Environment):
            campaign.note(ahead)
            return False
        block, *later = ahead
        more = design.another_block(campaign.trials, block.cells, seed=campaign.plan.seed, asked=campaign.asked)
        campaign.extend(more, block.claims, later)
        return True

    began = time.time() - campaign.spent_s
    run(campaign, experiment, listen, another, stop, tries=tries)


def _ahead(
    campaign: Campaign, rule: Repeating, undecided: Callable[[], Sequence[OpenClaim]], left_s: float
) -> Sequence[Block] | Environment:
    """The block to add, and those that are to follow it; or else what the campaign notes: why none is."""
    if campaign.missing():
        return Environment(repetitions_ended="trials have failed")
    measured = max(trial.repetition for trial in campaign.trials)
    if measured >= rule.most_repetitions:
        return Environment(repetitions_ended=f"the profile allows {rule.most_repetitions} repetitions")
    costs = cost(campaign.trials, campaign.records(), campaign.environment().runs)
    if campaign.plan.added:
        return _as_planned(campaign.plan.ahead, rule, costs, left_s)
    if costs.least > left_s:
        # Nothing was looked at before this was known: the one look that is left has the whole error rate.
        return Environment(repetitions_ended=_used_up(rule, costs.least, left_s), looks=1)
    return _chosen(undecided(), rule, costs, left_s, rule.most_repetitions - measured)


def _as_planned(
    ahead: Sequence[Block], rule: Repeating, costs: RepetitionCost, left_s: float
) -> Sequence[Block] | Environment:
    """The blocks that were decided on at the look, as long as there is time: what has run since is not looked at."""
    if not ahead:
        return Environment(
            repetitions_ended="nothing else that would have fitted into the budget was likely to decide a claim"
        )
    takes_s = costs.block_s + costs.of(ahead[0].cells)
    return ahead if takes_s <= left_s else Environment(repetitions_ended=_used_up(rule, takes_s, left_s))


def _chosen(
    claims: Sequence[OpenClaim], rule: Repeating, costs: RepetitionCost, left_s: float, most: int
) -> Sequence[Block] | Environment:
    if not claims:
        said = f"no open claim would be decided within the {rule.most_repetitions} repetitions that the profile allows"
        return Environment(repetitions_ended=said)
    least_s = min(costs.block_s + costs.of(claim.cells) for claim in claims)
    blocks = allot(claims, costs, left_s, most, 60 * rule.claim_min)
    within = "" if math.isinf(rule.claim_min) else f" in so little time as {rule.claim_min:g} min"
    why = (
        _used_up(rule, least_s, left_s)
        if least_s > left_s
        else f"no repetition that fits into the budget is likely to decide a claim{within}"
    )
    return blocks or Environment(repetitions_ended=why)


def _used_up(rule: Repeating, takes_s: float, left_s: float) -> str:
    if left_s <= 0:
        return f"the budget of {rule.budget_min:g} min was used up"
    return f"another {takes_s / 60:.1f} min would exceed the budget of {rule.budget_min:g} min"
