"""Which cells are worth how many more repetitions: what these would decide, for what they cost.

A repetition costs at two levels: once per block (servers restarted, data restored), and per trial in it. Kalibera &
Jones (2013), "Rigorous benchmarking in reasonable time", ISMM '13, sec. 6, spend repetitions by variance over cost at
each level; here the levels are fixed (a block is the unit), and what is chosen is how many blocks hold a cell.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from benchbook.campaign.design import Block, Cell, Trial
from benchbook.campaign.environment import RunTimes
from benchbook.campaign.record import Record

# System and cell, by which cells are told apart.
Key = tuple[str, str]

# Repetitions that decide less than so much of a claim, by their chance, are not worth anybody's time.
WORTH = 0.02
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


def allot(
    claims: Sequence[OpenClaim], costs: RepetitionCost, left_s: float, most: int, claim_s: float = math.inf
) -> list[Block]:
    """The blocks to add, `most` of them or fewer, in their order: each holds the cells that still need a repetition.

    Repetitions go, again and again, to the claim that they would decide most of in a second, for as long as they fit
    into `left_s` and decide one claim in `claim_s` or less: the chances of all claims count, since cells are shared.
    Ties go to the claim that stands first.
    """
    given: dict[Key, int] = {}
    while best := _best(claims, costs, left_s, most, claim_s, given):
        given = best
    cells = {_key(cell): cell for claim in claims for cell in claim.cells}
    return [
        Block(
            cells=[cell for key, cell in cells.items() if given.get(key, 0) >= number],
            claims=[claim.id for claim in claims if _repeated(claim, given) >= number],
        )
        for number in range(1, max(given.values(), default=0) + 1)
    ]


def _best(
    claims: Sequence[OpenClaim],
    costs: RepetitionCost,
    left_s: float,
    most: int,
    claim_s: float,
    given: Mapping[Key, int],
) -> dict[Key, int] | None:
    """What to give instead of `given`: more to the cells of one claim; None where nothing that fits is worth it."""
    spent_s, decided = _seconds(given, costs), _decided(claims, given)
    found: dict[Key, int] | None = None
    best = 1 / claim_s
    for claim in claims:
        for more in range(_repeated(claim, given) + 1, most + 1):
            then = {**given, **{key: max(given.get(key, 0), more) for key in map(_key, claim.cells)}}
            takes_s, gains = _seconds(then, costs), _decided(claims, then) - decided
            if takes_s > left_s:
                break
            rate = gains / max(takes_s - spent_s, _NO_TIME_S)
            if gains >= WORTH and rate > best:
                found, best = then, rate
    return found


def _repeated(claim: OpenClaim, given: Mapping[Key, int]) -> int:
    """How many more repetitions hold all of a claim's cells."""
    return min((given.get(_key(cell), 0) for cell in claim.cells), default=0)


def _decided(claims: Sequence[OpenClaim], given: Mapping[Key, int]) -> float:
    """How many claims are decided then, by their chances."""
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
