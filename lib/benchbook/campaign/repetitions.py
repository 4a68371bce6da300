"""More repetitions where they can decide something: blocks are added for claims that are open, while the budget lasts.

The claims are looked at twice: when the plan is through, where the blocks to add are decided on, and at the end. In
between nothing is judged, and how many of the blocks are added hangs on the time that they take and not on what they
show: so few looks are all that the verdicts' error rate is shared among (`SHARES`), where a look after every block
would leave each of them a fraction of it. A plan that uses the budget up is looked at once.

A repetition costs at two levels: once per block (servers restarted, data restored), and per trial in it. Kalibera &
Jones (2013), "Rigorous benchmarking in reasonable time", ISMM '13, sec. 6, spend repetitions by variance over cost at
each level; here the levels are fixed (a block is the unit), and what is chosen is how many blocks hold a cell.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from benchbook.campaign import design
from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.environment import Environment, RunTimes
from benchbook.campaign.experiment import Experiment
from benchbook.campaign.progress import Listener
from benchbook.campaign.record import Record
from benchbook.campaign.retry_policy import TRIES
from benchbook.campaign.run import run
from benchbook.campaign.store import Campaign
from benchbook.profiles import Repeating

# System and cell, by which cells are told apart.
Key = tuple[str, str]

# Repetitions that decide less than so much of a claim, by their chance, are not worth anybody's time.
WORTH_A_REPETITION = 0.02
# What takes less is as good as free.
_NO_TIME_S = 0.001


@dataclass(frozen=True)
class OpenClaim:
    """A claim that is undecided; `chances`: that 1, 2, ... more repetitions of all its `cells` decide it."""

    id: str
    cells: tuple[Cell, ...]
    chances: tuple[float, ...]

    def chance(self, more: int) -> float:
        return self.chances[min(more, len(self.chances)) - 1] if more and self.chances else 0.0


@dataclass(frozen=True)
class RepetitionCost:
    """Seconds of wall time: of a block before its first trial, of a trial in each cell, and of one in any other."""

    block_s: float
    trial_s: float
    of_cell: dict[Key, float] = field(default_factory=dict)

    @property
    def least(self) -> float:
        """Of the smallest block that there can be: one trial, in the cheapest cell."""
        return self.block_s + min(self.of_cell.values(), default=self.trial_s)

    def of(self, cells: Iterable[Cell]) -> float:
        """Of these cells' trials, without their block."""
        return sum(self.of_cell.get(_key(cell), self.trial_s) for cell in cells)


def cost(trials: Sequence[Trial], records: Sequence[Record], runs: Sequence[RunTimes] = ()) -> RepetitionCost:
    """What repetitions of this campaign have cost: from the end of one trial to the end of the next one in its run.

    Between two of the `runs` nobody may have measured for hours; and a trial that failed in one is measured in a later
    one, after those that follow it in the plan.
    """
    ends = {record.id: record.ended for record in records}
    inside: dict[Key, list[float]] = {}
    firsts: list[tuple[Key, float]] = []
    ordered = sorted((trial for trial in trials if trial.id in ends), key=lambda trial: trial.order)
    for before, trial in pairwise(ordered):
        took = ends[trial.id] - ends[before.id]
        if took < 0 or any(ends[before.id] < run.began <= ends[trial.id] for run in runs):
            continue
        same = (before.repetition, before.cell.system) == (trial.repetition, trial.cell.system)
        inside.setdefault(_key(trial.cell), []).append(took) if same else firsts.append((_key(trial.cell), took))
    of_cell = {key: median(took) for key, took in inside.items()}
    usual = median(of_cell.values()) if of_cell else 0.0
    begun = [max(0.0, took - of_cell.get(key, usual)) for key, took in firsts]
    return RepetitionCost(median(begun) if begun else usual, usual, of_cell)


def allot(claims: Sequence[OpenClaim], costs: RepetitionCost, left_s: float, most: int) -> list[list[Cell]]:
    """The blocks to add, `most` of them or fewer, in their order: each holds the cells that still need a repetition.

    Repetitions go, again and again, to the claim that they would decide most of in a second, for as long as they fit
    into `left_s`: the chances of all claims count, since cells are shared. Ties go to the claim that stands first.
    """
    given: dict[Key, int] = {}
    while best := _best(claims, costs, left_s, most, given):
        given = best
    cells = {_key(cell): cell for claim in claims for cell in claim.cells}
    return [
        [cell for key, cell in cells.items() if given.get(key, 0) >= number]
        for number in range(1, max(given.values(), default=0) + 1)
    ]


def _best(
    claims: Sequence[OpenClaim],
    costs: RepetitionCost,
    left_s: float,
    most: int,
    given: Mapping[Key, int],
) -> dict[Key, int] | None:
    """What to give instead of `given`: more to the cells of one claim; None where nothing that fits is worth it."""
    spent_s, decided = _seconds(given, costs), _decided(claims, given)
    found: dict[Key, int] | None = None
    best = 0.0
    for claim in claims:
        for more in range(_repeated(claim, given) + 1, most + 1):
            then = {**given, **{key: max(given.get(key, 0), more) for key in map(_key, claim.cells)}}
            takes_s, gains = _seconds(then, costs), _decided(claims, then) - decided
            if takes_s > left_s:
                break
            rate = gains / max(takes_s - spent_s, _NO_TIME_S)
            if gains >= WORTH_A_REPETITION and rate > best:
                found, best = then, rate
    return found


def _repeated(claim: OpenClaim, given: Mapping[Key, int]) -> int:
    """Return how many more repetitions hold all of a claim's cells."""
    return min((given.get(_key(cell), 0) for cell in claim.cells), default=0)


def _decided(claims: Sequence[OpenClaim], given: Mapping[Key, int]) -> float:
    """Return how many claims are decided then, by their chances."""
    return sum(claim.chance(_repeated(claim, given)) for claim in claims)


def _seconds(given: Mapping[Key, int], costs: RepetitionCost) -> float:
    """Wall time of so many repetitions of each cell, which stand together in as few blocks as there can be."""
    trials = sum(count * costs.of_cell.get(key, costs.trial_s) for key, count in given.items())
    begun: Counter[str] = Counter()
    for (system, _), count in given.items():
        begun[system] = max(begun[system], count)
    return costs.block_s * begun.total() + trials


def _key(cell: Cell) -> Key:
    return cell.system, cell.key


# Claims are judged twice where repetitions may be added, and the error rate is shared as among three looks: how many
# are added hangs on what the first look showed (as many as are likely to be enough), which counts as one look more.
# Simulated, 16 claims on their bounds, 2 or 4 repetitions and up to 12 more: with two shares 6.0 to 6.8% of ledgers are
# wrong, with three 4.0 to 4.6%. Sample sizes that follow the data: Proschan & Hunsberger (1995), Biometrics 51(4).
SHARES = 3


class _Enough(Exception):
    """No block is added; `noted` is why, as the campaign keeps it."""

    def __init__(self, why: str, **more: int) -> None:
        super().__init__(why)
        self.noted = Environment(repetitions_ended=why, **more)


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

    The plan keeps the blocks that were added. `stop` and `tries`: as `run` has them.
    """

    def another() -> bool:
        try:
            block, *later = _blocks_to_add(campaign, rule, undecided, 60 * rule.budget_min - (time.time() - began))
        except _Enough as enough:
            campaign.note(enough.noted)
            return False
        more = design.another_block(campaign.trials, block, seed=campaign.plan.seed, asked=campaign.asked)
        campaign.extend(more, later)
        return True

    began = time.time() - campaign.spent_s
    run(campaign, experiment, listen, another, stop, tries=tries)


def _blocks_to_add(
    campaign: Campaign, rule: Repeating, undecided: Callable[[], Sequence[OpenClaim]], left_s: float
) -> list[list[Cell]]:
    """Return the block to add, and those that are to follow it. Raise _Enough where none is added."""
    if campaign.missing():
        raise _Enough("trials have failed")
    measured = max(trial.repetition for trial in campaign.trials)
    if measured >= rule.most_repetitions:
        raise _Enough(f"the profile allows {rule.most_repetitions} repetitions")
    costs = cost(campaign.trials, campaign.records(), campaign.environment().runs)
    if campaign.plan.planned is not None:
        # They were decided on at the look: what has run since is not looked at.
        if not campaign.plan.ahead:
            raise _Enough("nothing else that would have fitted into the budget was likely to decide a claim")
        _check_time(rule, costs.block_s + costs.of(campaign.plan.ahead[0]), left_s)
        return campaign.plan.ahead
    # Nothing is looked at where this is known before: the one look that is left has the whole error rate.
    _check_time(rule, costs.least, left_s, looks=1)
    claims = undecided()
    if not claims:
        what = f"within the {rule.most_repetitions} repetitions that the profile allows"
        raise _Enough(f"no open claim would be decided {what}")
    _check_time(rule, min(costs.block_s + costs.of(claim.cells) for claim in claims), left_s)
    blocks = allot(claims, costs, left_s, rule.most_repetitions - measured)
    if not blocks:
        raise _Enough("no repetition that fits into the budget is likely to decide a claim")
    return blocks


def _check_time(rule: Repeating, takes_s: float, left_s: float, **more: int) -> None:
    """Raise _Enough where less of the budget is left than a block takes."""
    if takes_s > left_s:
        over = f"another {takes_s / 60:.1f} min would exceed the budget of {rule.budget_min:g} min"
        raise _Enough(over if left_s > 0 else f"the budget of {rule.budget_min:g} min was used up", **more)
