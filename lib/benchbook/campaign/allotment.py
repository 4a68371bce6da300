"""Which cells are worth another repetition: those of the claims that are decided soonest for what they cost.

A repetition costs at three levels: once per block (servers restarted, data restored), and per trial in it. Kalibera &
Jones (2013), "Rigorous benchmarking in reasonable time", ISMM '13, sec. 6, spend repetitions by variance over cost at
each level; here the levels are fixed (a block is the unit), and what is chosen is whose cells a block holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.record import Record


@dataclass(frozen=True)
class OpenClaim:
    """A claim that `more` repetitions of all its `cells` would decide, at the means and spreads seen so far."""

    id: str
    cells: tuple[Cell, ...]
    more: int


@dataclass(frozen=True)
class RepetitionCost:
    """Seconds of wall time: of a block before its first trial, of a trial in each cell, and of one in any other."""

    block_s: float
    trial_s: float
    of_cell: dict[str, float] = field(default_factory=dict)

    @property
    def least(self) -> float:
        """Of the smallest block that there can be: one trial, in the cheapest cell."""
        return self.block_s + min(self.of_cell.values(), default=self.trial_s)

    def of(self, cells: Iterable[Cell]) -> float:
        """Of these cells' trials, without their block."""
        return sum(self.of_cell.get(_key(cell), self.trial_s) for cell in cells)


def cost(trials: Sequence[Trial], records: Sequence[Record]) -> RepetitionCost:
    """What repetitions of this campaign have cost: from the end of one trial to the end of the next one."""
    ends = {record.id: record.ended for record in records}
    inside: dict[str, list[float]] = {}
    firsts: list[tuple[str, float]] = []
    ordered = sorted((trial for trial in trials if trial.id in ends), key=lambda trial: trial.order)
    for before, trial in pairwise(ordered):
        took = ends[trial.id] - ends[before.id]
        same = (before.repetition, before.cell.system) == (trial.repetition, trial.cell.system)
        inside.setdefault(_key(trial.cell), []).append(took) if same else firsts.append((_key(trial.cell), took))
    of_cell = {key: median(took) for key, took in inside.items()}
    usual = median(of_cell.values()) if of_cell else 0.0
    begun = [max(0.0, took - of_cell.get(key, usual)) for key, took in firsts]
    return RepetitionCost(median(begun) if begun else usual, usual, of_cell)


def allot(claims: Sequence[OpenClaim], costs: RepetitionCost, left_s: float) -> list[OpenClaim]:
    """The claims that the next block is for: the cheapest to decide first, as long as all of it fits into `left_s`.

    What a claim costs is its repetitions times what it adds to the blocks of those chosen before: cells that are
    repeated anyway cost nothing more. Ties go to the claim that stands first.
    """
    chosen: list[OpenClaim] = []
    left = list(claims)
    while left:
        spent = seconds(chosen, costs)
        best = min(left, key=lambda claim: seconds([*chosen, claim], costs) - spent)
        left.remove(best)
        if seconds([*chosen, best], costs) <= left_s:
            chosen.append(best)
    return chosen


def seconds(claims: Sequence[OpenClaim], costs: RepetitionCost) -> float:
    """Wall time until all of these claims have had their repetitions, each block holding what is still needed."""
    return sum(
        costs.block_s + costs.of(cells_of([claim for claim in claims if claim.more >= block]))
        for block in range(1, max((claim.more for claim in claims), default=0) + 1)
    )


def cells_of(claims: Sequence[OpenClaim]) -> list[Cell]:
    """The cells of these claims, each once."""
    return list({_key(cell): cell for claim in claims for cell in claim.cells}.values())


def _key(cell: Cell) -> str:
    return cell.model_dump_json()
