"""From cells and repetitions to a list of trials in their run order."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from benchbook.campaign.environment import ALIKE, Asked
from benchbook.errors import BadInput
from benchbook.hosts.host_models import OpenModel

Levels = dict[str, str | int | float]
CellKey = str
NO_FEWER: Mapping[CellKey, int] = MappingProxyType({})
MOST_TRIALS = 100_000
# Bytes of a trial's name: a file system takes 255, and attempts at it, and what is half written, have longer ones.
LONGEST_NAME = 230
# Of the error rate that is left, what a run of `compare --confirm` spends. A first one with three looks has intervals
# of 98.7% in place of 98.3%, 4% wider; a second one, with repetitions that the first did not have, of 99.6%.
SPENT = 0.8


class Cell(BaseModel):
    """One combination of levels on one system; `table` is the published table that it restages a row of."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    table: str
    system: str
    levels: Levels

    @property
    def key(self) -> CellKey:
        """What tells it apart from every other cell."""
        return self.model_dump_json()

    @property
    def slug(self) -> str:
        words = "-".join(f"{key}{value}" if not isinstance(value, str) else value for key, value in self.levels.items())
        return f"{self.system}-{words}".replace(":", "_").replace("/", "_")


class Trial(BaseModel):
    """One cell, one repetition. Trials that stand together with equal (repetition, system) form a block's part."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    identity: str
    cell: Cell
    repetition: int
    order: int


class ClaimForecast(BaseModel):
    """What hosts can say of a claim whatever comes out, and why no more; what would let them say it all.

    `at_best`: what they can say while their cores are not full, where that is more; empty once a run has
    shown how full they are.
    `repetitions` are likely to decide it, in so many `minutes` of wall time; None: not known, or more than 100.
    `budgeted`: how many a budget adds to those of the plan; None where none was given.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    claim: str
    system: str
    speaks: Literal["both ways", "confirm only", "refute only", "nothing", "not run"]
    reason: str = ""
    needs: str = ""
    at_best: Literal["", "both ways", "confirm only", "refute only"] = ""
    repetitions: int | None = None
    minutes: float | None = None
    budgeted: int | None = None


class RunForecast(BaseModel):
    """What was known of a run before it ran: each claim, seconds of wall time, and what both are reckoned from."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    claims: list[ClaimForecast]
    wall_s: float
    sources: list[str]


class PlannedFrom(BaseModel):
    """What a campaign was planned from beside what was asked: the notebook's parameters, and the inventory's settings.

    `settings` are those of which `asked` holds the digest, under the keys that they have in an inventory.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    parameters: dict[str, Any]
    settings: dict[str, dict[str, Any]]


class Plan(OpenModel):
    """What was asked for, the seed, and every trial in its run order; `planned` counts those before any was added.

    `ahead` are the cells of each block that was decided on with the last one that was added, and is still to be added.
    `forecast` is what was known of the run before its first trial. `planned_from` is what running it again needs.
    `looks_after`: of one that takes turns with another, the repetitions after which the two are compared, a list per
    run of `compare --confirm`; else None.
    """

    version: Literal[1] = 1
    report: str
    seed: int
    asked: Asked
    made: str = ""
    trials: list[Trial]
    planned: int | None = None
    ahead: list[list[Cell]] = []
    forecast: RunForecast | None = None
    planned_from: PlannedFrom | None = None
    looks_after: list[list[int]] | None = None

    @property
    def share_of_a_look(self) -> float:
        """The share of the error rate that each look at a pair has; 1 where there is one look alone.

        A run of `compare --confirm` spends SPENT of what the runs before it left, in equal parts on its looks: so an
        undecided pair can be gone on with, and all its looks together keep the error rate (alpha spending).
        """
        if not self.looks_after:
            return 1.0
        return SPENT * (1 - SPENT) ** (len(self.looks_after) - 1) / len(self.looks_after[-1])


def digest(value: object) -> str:
    """Return a short hash of anything that JSON can say."""
    return _hash(json.dumps(value, sort_keys=True, default=str))


def conditions_of(asked: Asked) -> dict[str, object]:
    """Return what begins another campaign where it differs; which systems run alike is found out, by DNS for one."""
    return {name: value for name, value in asked.items() if name != ALIKE}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def plan(
    cells: Sequence[Cell], repetitions: int, *, seed: int, asked: Asked, fewer: Mapping[CellKey, int] = NO_FEWER
) -> list[Trial]:
    """Return trials in run order: a block per repetition, in it the systems in random order, in each system the cells.

    Systems are not interleaved inside a block, because only one of them runs at a time (a split-plot design). Every
    second repetition has the order of the one before it from its end (`_shuffled`).
    `asked` are the conditions that all trials share; they are part of every trial's identity. `fewer`: how many
    repetitions, the first ones, hold these cells, where not all of them do.
    """
    if len(cells) * repetitions > MOST_TRIALS:
        count, fix = len(cells) * repetitions, f"ask for fewer repetitions or levels: at most {MOST_TRIALS:,} trials"
        raise BadInput("the plan has more trials than anybody could run", key="repetitions", value=count, fix=fix)
    shared, trials = _shared(cells), list[Trial]()
    for repetition in range(1, repetitions + 1):
        mine = [cell for cell in cells if repetition <= fewer.get(cell.key, repetitions)] if fewer else cells
        ordered = _shuffled(mine, repetition, seed)
        trials += [_trial(cell, repetition, len(trials) + i, asked, shared) for i, cell in enumerate(ordered)]
    if long := next((trial.id for trial in trials if len(trial.id.encode()) > LONGEST_NAME), None):
        what, fix = "no record can be kept under so long a name", "shorten the levels of the published table"
        raise BadInput(what, key="levels", value=long, fix=fix)
    twice = [name for name, count in Counter(trial.id for trial in trials).items() if count > 1]
    if twice:
        # A record is kept under its trial's name: the second would silently take the place of the first.
        raise BadInput(
            "two cells of a design have the same name", key="levels", value=twice[0], fix="tell them apart by a level"
        )
    return trials


def another_block(trials: Sequence[Trial], cells: Sequence[Cell], *, seed: int, asked: Asked) -> list[Trial]:
    """Return one more repetition of these cells, in random order, to follow `trials`."""
    repetition, order = max(t.repetition for t in trials) + 1, max(t.order for t in trials) + 1
    shared = _shared([*(trial.cell for trial in trials), *cells])
    mixed = _shuffled(cells, repetition, seed)
    return [_trial(cell, repetition, order + i, asked, shared) for i, cell in enumerate(mixed)]


def _shuffled(cells: Sequence[Cell], repetition: int, seed: int) -> list[Cell]:
    """Return one repetition's random order: repetitions 1 and 2, 3 and 4, ... share one, the second runs it backwards.

    So a cell stands as often early in a block as late. Seen: in the first 12 s after its start TiDB's rates are 8%
    lower than later (240 trials of 2 s); a cell that chance puts first twice would be taken for a slower one. What
    grows evenly along a block cancels in the mean of a pair: Daniel & Wilcoxon (1966), Technometrics 8(2).
    """
    pair = (repetition + 1) // 2

    def random_key(name: str) -> str:
        return _hash(f"{seed}, {pair}, {name}")

    ordered = sorted(cells, key=lambda cell: (random_key(cell.system), random_key(cell.key)))
    return ordered if repetition % 2 else ordered[::-1]


def identities(plan: Plan) -> list[str]:
    """Return what the identities of a plan's trials must be, in its order: those that `plan` gives these cells."""
    return [_identity(trial.cell, trial.repetition, plan.asked) for trial in plan.trials]


def _identity(cell: Cell, repetition: int, asked: Asked) -> str:
    return digest([cell.model_dump(), repetition, conditions_of(asked)])


def _shared(cells: Iterable[Cell]) -> set[str]:
    """Slugs of points that stand in several published tables: of such a trial the table is part of its name."""
    found = {(cell.table, cell.slug) for cell in cells}
    return {slug for slug, tables in Counter(slug for _, slug in found).items() if tables > 1}


def _trial(cell: Cell, repetition: int, order: int, asked: Asked, shared: Collection[str]) -> Trial:
    identity = _identity(cell, repetition, asked)
    name = f"{cell.table}-{cell.slug}" if cell.slug in shared else cell.slug
    return Trial(id=f"r{repetition:02d}-{name}", identity=identity, cell=cell, repetition=repetition, order=order)


def distinct_cells(trials: Iterable[Trial]) -> list[Cell]:
    """Return the cells of these trials, each once, as they first come."""
    return list({trial.cell.key: trial.cell for trial in trials}.values())


def blocks(trials: Sequence[Trial]) -> list[list[Trial]]:
    """Return the trials cut where repetition or system changes."""
    ordered = sorted(trials, key=lambda trial: trial.order)
    return [list(part) for _, part in groupby(ordered, key=lambda trial: (trial.repetition, trial.cell.system))]
