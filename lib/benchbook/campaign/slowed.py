"""How fast a trial's machines computed while its load ran, against their usual speed under the same load.

A machine may compute slowly with all its CPU in use and none of it taken: a core that is clocked down because it is
hot, a neighbour on the same core or in the same cache, a hypervisor that gives the time to others and does not say so.
The probe of hosts does a fixed piece of work at every sample (`speed`, pieces per second of its own CPU time). What is
usual is the median over the other loads of the cell, since a busy machine computes more slowly than an idle one; two
machines are never compared. Of single samples one in fifty is a fifth too slow on two full cores, as where something
else ran in the middle of it; the median of all hosts of a machine, over a load of 2 s, was within 12% of the usual one.
Speed has nothing to do with the system under test: choosing trials by it favours no result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Protocol

from benchbook.campaign.load_window import Sampled
from benchbook.campaign.record import Record
from benchbook.grouping import grouped
from benchbook.hosts.about import Json

METRIC = "speed"
# From this share on a load is disturbed.
SLOWED = 0.2
# Fewer loads than this have no usual speed.
ENOUGH = 2

# By machine, which is called by the first of its hosts: pieces of work per second of CPU time.
Speeds = Mapping[str, float]
# Table, system and levels, by which cells are told apart.
Key = tuple[object, ...]


class OfCell(Protocol):
    """What a cell and a record of it have in common."""

    @property
    def table(self) -> str: ...

    @property
    def system(self) -> str: ...

    @property
    def levels(self) -> Mapping[str, str | int | float]: ...


@dataclass(frozen=True)
class Slowed:
    """How much slower than usual the slowest machine computed: a share, 0 to 1; 0 where nothing is usual yet."""

    by: float = 0.0
    machine: str = ""


def speeds(samples: Sequence[Sampled], began: float, ended: float, boots: Mapping[str, str]) -> dict[str, float]:
    """The median of each machine's samples during a load; empty where none was taken.

    `boots` maps a host to what its machine is known by; one that is not in it is a machine of its own.
    """
    taken = sorted(
        (one for one in samples if one.metric == METRIC and began <= one.t <= ended), key=lambda one: one.host
    )
    machines = grouped(taken, lambda one: boots.get(one.host, one.host)).values()
    return {mine[0].host: median(one.value for one in mine) for mine in machines}


def slowed(now: Speeds, usual: Speeds) -> Slowed:
    """Of these speeds, against the usual ones of the same machines."""
    found = [Slowed(1 - now[name] / usual[name], name) for name in sorted(now) if usual.get(name)]
    return max((one for one in found if one.by > 0), key=lambda one: one.by, default=Slowed())


def usual(loads: Sequence[Speeds]) -> dict[str, float]:
    """The median speed of each machine over these loads, where there are enough."""
    values: dict[str, list[float]] = {}
    for load in loads:
        for name, value in load.items():
            values.setdefault(name, []).append(value)
    return {name: median(mine) for name, mine in values.items() if len(mine) >= ENOUGH}


def proof(found: Speeds) -> Json:
    """What a record keeps of it; nothing where nobody measured it."""
    return {METRIC: {name: round(value, 1) for name, value in found.items()}} if found else {}


def of_record(record: Record) -> Speeds:
    """Empty in records from before anybody measured it."""
    found: Speeds = record.proof.get(METRIC, {})
    return found


def of_campaign(records: Iterable[Record]) -> list[Slowed]:
    """Of each load whose machines' speeds are known, against the other loads of its cell."""
    cells = grouped((one for one in records if of_record(one)), _key)
    return [
        slowed(of_record(one), usual([of_record(other) for other in cell if other is not one]))
        for cell in cells.values()
        for one in cell
    ]


@dataclass(frozen=True)
class Usual:
    """The usual speeds of a cell, and what the machine of each host is known by."""

    speeds: Speeds = field(default_factory=dict)
    boots: Mapping[str, str] = field(default_factory=dict)


@dataclass
class UsualSpeeds:
    """What is usual in each cell of a campaign, from the loads that have counted so far."""

    boots: Mapping[str, str] = field(default_factory=dict)
    loads: dict[Key, list[Speeds]] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[Record], boots: Mapping[str, str]) -> UsualSpeeds:
        found = cls(boots)
        for record in records:
            found.learn(record)
        return found

    def of_cell(self, cell: OfCell) -> Usual:
        return Usual(usual(self.loads.get(_key(cell), [])), self.boots)

    def learn(self, record: Record) -> None:
        if speed := of_record(record):
            self.loads.setdefault(_key(record), []).append(speed)


def _key(of: OfCell) -> Key:
    return of.table, of.system, tuple(sorted(of.levels.items()))
