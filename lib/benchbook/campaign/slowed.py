"""How fast a trial's machines computed while its load ran, against their usual speed under the same load.

A machine may compute slowly with all its CPU in use and none of it taken: a core that is clocked down because it is
hot, a neighbour on the same core or in the same cache, a hypervisor that gives the time to others and does not say so.
The probe of hosts does a fixed piece of work at every sample (`speed`, pieces per second of its own CPU time). What is
usual is the median over the other loads of the cell, since a busy machine computes more slowly than an idle one; two
hosts are never compared. Speed has nothing to do with the system under test: choosing trials by it favours no result.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Protocol

from benchbook.campaign.load_window import Sampled, means
from benchbook.campaign.record import Record
from benchbook.grouping import grouped
from benchbook.hosts.about import Json

METRIC = "speed"
# From this share on a load is disturbed: loads of 2 s on two busy cores, sampled twice, differ by 3% from each other.
SLOWED = 0.2
# Fewer loads than this have no usual speed.
ENOUGH = 2

# By host, pieces of work per second of CPU time.
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
    host: str = ""


def speeds(machines: Sequence[Sampled], began: float, ended: float) -> dict[str, float]:
    """Of each machine during a load, from the samples of machines; empty where none was taken."""
    found = means([one for one in machines if one.metric == METRIC], began, ended)
    return {host: of[METRIC] for host, of in sorted(found.items())}


def slowed(now: Speeds, usual: Speeds) -> Slowed:
    """Of these speeds, against the usual ones of the same hosts."""
    found = [Slowed(1 - now[host] / usual[host], host) for host in sorted(now) if usual.get(host)]
    return max((one for one in found if one.by > 0), key=lambda one: one.by, default=Slowed())


def usual(loads: Sequence[Speeds]) -> dict[str, float]:
    """The median speed of each host over these loads, where there are enough."""
    values: dict[str, list[float]] = {}
    for load in loads:
        for host, value in load.items():
            values.setdefault(host, []).append(value)
    return {host: median(mine) for host, mine in values.items() if len(mine) >= ENOUGH}


def proof(found: Speeds) -> Json:
    """What a record keeps of it; nothing where nobody measured it."""
    return {METRIC: {host: round(value, 1) for host, value in found.items()}} if found else {}


def of_record(record: Record) -> Speeds:
    """Empty in records from before anybody measured it."""
    found: Speeds = record.proof.get(METRIC, {})
    return found


def of_campaign(records: Iterable[Record]) -> list[tuple[Record, Slowed]]:
    """Each record that knows of speeds, against the other loads of its cell."""
    cells = grouped((one for one in records if of_record(one)), _key)
    return [
        (one, slowed(of_record(one), usual([of_record(other) for other in cell if other is not one])))
        for cell in cells.values()
        for one in cell
    ]


@dataclass
class UsualSpeeds:
    """What is usual in each cell of a campaign, from the loads that have counted so far."""

    loads: dict[Key, list[Speeds]] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[Record]) -> UsualSpeeds:
        found = cls()
        for record in records:
            found.learn(record)
        return found

    def of_cell(self, cell: OfCell) -> dict[str, float]:
        return usual(self.loads.get(_key(cell), []))

    def learn(self, record: Record) -> None:
        if speed := of_record(record):
            self.loads.setdefault(_key(record), []).append(speed)


def _key(of: OfCell) -> Key:
    return of.table, of.system, tuple(sorted(of.levels.items()))
