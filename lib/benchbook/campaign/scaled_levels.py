"""Scaled levels: each published level times (cores here / cores published), so that a curve's shape can be judged here.

A machine with 2 cores that is given the 50 to 200 threads of a report on 80 is full at the lowest of them, so its curve
is flat for that reason alone. At 1, 2 and 4 threads it stands where the published machines stood. A client beside the
server never waits for a network and keeps about a core busy: where they share a machine, the lowest level is at most
half of its cores. The plan keeps which published level each scaled one stands for; records keep what was run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from benchbook.campaign.design import Cell, Levels, Trial
from benchbook.campaign.record import Record
from benchbook.grouping import grouped

KEY = "scaled"


class LevelScaling(BaseModel):
    """What was scaled, as the plan keeps it: per table and level, published level (as text) -> level here."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    cores_here: int
    cores_published: int
    shared: bool = False
    levels: dict[str, dict[str, dict[str, int]]]

    def sentence(self) -> str:
        """Return what a reader must know before she compares."""
        names = sorted({level for levels in self.levels.values() for level in levels})
        said = [_in_words(name, [each[name] for each in self.levels.values() if name in each]) for name in names]
        shared = ", shared with the load" if self.shared else ""
        share = f"{self.cores_here} cores here{shared}, {self.cores_published} published"
        # Only where the load shares the cores do tables differ in what a level stands for.
        why = " The lowest level leaves half of the cores idle." if any(" or " in each for each in said) else ""
        return f"Levels are scaled by cores ({share}), published → here: {'; '.join(sorted(said))}.{why}"

    def of_tables_in(self, records: Sequence[Record]) -> LevelScaling:
        """The same of the tables that were run alone; of all of them before any of those with scaled levels was."""
        ran = {record.table for record in records} & set(self.levels) or set(self.levels)
        return self.model_copy(update={"levels": {name: self.levels[name] for name in self.levels if name in ran}})

    def here(self, table: str, level: str, published: object) -> int | None:
        """Return what was run for a published level of a table; None where it was not scaled."""
        return self.levels.get(table, {}).get(level, {}).get(str(published))


def _in_words(level: str, tables: Sequence[Mapping[str, int]]) -> str:
    """ "threads 50 → 1, 100 → 3"; where tables differ in what a level stands for, each of them by itself."""
    together = {published: here for table in tables for published, here in table.items()}
    apart = any(together[published] != here for table in tables for published, here in table.items())
    said = {
        ", ".join(f"{published} → {here}" for published, here in sorted(each.items(), key=lambda pair: int(pair[0])))
        for each in (tables if apart else [together])
    }
    return f"{level.replace('_', ' ')} {' or '.join(sorted(said))}"


def scale(published: Sequence[int], factor: float, *, lowest: float = math.inf) -> dict[int, int]:
    """Each level times `factor`, rounded half up, never below 1 and never two equal: 50, 100, 200 x 1/40 = 1, 3, 5.

    Where `lowest` says what the lowest level may come to at most, the others keep their multiples of it, which claims
    speak of ("twice the threads"): 50, 100, 200 x 1/40 = 1, 2, 4, and 100, 200, 400 to at most 1 = 1, 2, 4.
    """
    first = min(_rounded(min(published, default=0) * factor), lowest)
    if lowest < math.inf and first >= 1:
        factor = first / min(published)
    found: dict[int, int] = {}
    last = 0
    for level in sorted(set(published)):
        last = max(_rounded(level * factor), last + 1)
        found[level] = last
    return found


def _rounded(value: float) -> int:
    return int(value + 0.5)


def scaled(
    cells: Sequence[Cell], names: Sequence[str], *, cores_here: int, cores_published: int, clients: Sequence[str] = ()
) -> tuple[list[Cell], LevelScaling]:
    """Return the cells with the levels of these names scaled, and what stands for what; never scaled up.

    One level stands for the same one in all tables: a claim may compare two of them (a cache of 48 with one of 32). But
    `clients` are levels that count the clients of a closed loop on the servers' own cores: each table begins with room.
    """
    factor = min(1.0, cores_here / cores_published)
    maps: dict[str, dict[str, dict[str, int]]] = {}
    for name in names:
        having = [cell for cell in cells if name in cell.levels]
        apart = name in clients
        lowest = max(1, cores_here // 2) if apart else math.inf
        for mine in grouped(having, lambda cell: cell.table).values() if apart else [having]:
            here = scale([int(cell.levels[name]) for cell in mine], factor, lowest=lowest)
            for table, ours in grouped(mine, lambda cell: cell.table).items():
                levels = sorted({int(cell.levels[name]) for cell in ours})
                maps.setdefault(table, {})[name] = {str(level): here[level] for level in levels}
    done = [cell.model_copy(update={"levels": _here(cell.levels, maps.get(cell.table, {}))}) for cell in cells]
    shared = any(name in clients for name in names)
    return done, LevelScaling(cores_here=cores_here, cores_published=cores_published, shared=shared, levels=maps)


def _here(levels: Levels, maps: Mapping[str, Mapping[str, int]]) -> Levels:
    return {name: maps[name][str(value)] if name in maps else value for name, value in levels.items()}


def of_plan(asked: Mapping[str, Any]) -> LevelScaling | None:
    """Return the scaling that a campaign's plan keeps; None where its levels are the published ones."""
    return LevelScaling.model_validate(asked[KEY]) if asked.get(KEY) else None


def published_levels(table: str, levels: Mapping[str, str | int | float], scaling: LevelScaling | None) -> Levels:
    """Return the published levels that these levels of a table stand for."""
    maps = scaling.levels.get(table, {}) if scaling else {}
    back = {name: {here: int(published) for published, here in values.items()} for name, values in maps.items()}
    return {name: back[name].get(int(value), value) if name in back else value for name, value in levels.items()}


def as_published(records: Sequence[Record], scaling: LevelScaling | None) -> list[Record]:
    """The records by the published level that each stands for, so that they fall beside the published figures."""
    if scaling is None:
        return list(records)
    return [r.model_copy(update={"levels": published_levels(r.table, r.levels, scaling)}) for r in records]


def trials_as_published(trials: Sequence[Trial], scaling: LevelScaling | None) -> list[Trial]:
    """As `as_published`, of planned trials."""
    if scaling is None:
        return list(trials)
    return [
        trial.model_copy(update={"cell": trial.cell.model_copy(update={"levels": levels})})
        for trial in trials
        for levels in [published_levels(trial.cell.table, trial.cell.levels, scaling)]
    ]
