"""What the gate looks at: a measurement or a record with its series; and what it says where something is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook.campaign import slowed
from benchbook.campaign.record import Quantity
from benchbook.campaign.taken import Taken, taken
from benchbook.campaign.taken_disk import TakenDisk, taken_disk
from benchbook.hosts.about import Json

# What stands still for so long, or for this share of the load, spoils it. A heartbeat comes once a second, so that of a
# stop up to a second is not seen: one of 2 s, or of a tenth of a load that is longer than 20 s, is always found.
LEAST_S, SHARE = 1.0, 0.05


class OfLoad(Protocol):
    """What a measurement and a record have in common; times in seconds since the epoch, by the hosts' clocks."""

    @property
    def started(self) -> float: ...

    @property
    def ended(self) -> float: ...

    @property
    def summary(self) -> Mapping[str, Quantity]: ...

    @property
    def proof(self) -> Json: ...


class SeriesRow(NamedTuple):
    """A row of the series."""

    host: str
    source: str
    metric: str
    t: float
    value: float


@dataclass(frozen=True)
class LookedAt:
    """A load from `started` to `ended`: the long table of its series, its figures, its proof.

    `usual`: how fast each machine computes under the same load (campaign.slowed), as far as that is known yet.
    """

    started: float
    ended: float
    series: pd.DataFrame
    summary: Mapping[str, Quantity]
    proof: Json
    usual: slowed.Usual = field(default_factory=slowed.Usual)

    @classmethod
    def of(cls, measured: OfLoad, series: pd.DataFrame, usual: slowed.Usual | None = None) -> LookedAt:
        return cls(measured.started, measured.ended, series, measured.summary, measured.proof, usual or slowed.Usual())

    @property
    def seconds(self) -> float:
        return self.ended - self.started

    @cached_property
    def taken(self) -> Taken:
        """The CPU that others took from it: worked out once, however many ask."""
        return taken(*self._machines_and_others, self.started, self.ended)

    @cached_property
    def taken_disk(self) -> TakenDisk:
        """The disk that others took from it."""
        return taken_disk(*self._machines_and_others, self.started, self.ended)

    @cached_property
    def speeds(self) -> dict[str, float]:
        """How fast each machine computed."""
        return slowed.speeds(self._machines_and_others[0], self.started, self.ended, self.usual.boots)

    @property
    def slowed(self) -> slowed.Slowed:
        """How much slower than usual that was."""
        return slowed.slowed(self.speeds, self.usual.speeds)

    @cached_property
    def _machines_and_others(self) -> tuple[list[SeriesRow], list[SeriesRow]]:
        return self.samples(source="host"), self.samples(source="others")

    @cached_property
    def _columns(self) -> dict[str, NDArray[np.object_]]:
        return {name: self.series[name].to_numpy(dtype=object) for name in SeriesRow._fields}

    def samples(self, *, source: str = "", metric: str = "") -> list[SeriesRow]:
        """Those of this source and of this metric, where they are named, in their order.

        The gate stands between two loads: to ask a table of strings in many ways takes longer than all that it asks.
        """
        found = np.ones(len(self.series), dtype=bool)
        for name, wanted in (("source", source), ("metric", metric)):
            if wanted:
                found &= self._columns[name] == wanted
        columns = (self._columns[name][found] for name in SeriesRow._fields)
        return [SeriesRow(*row) for row in zip(*columns, strict=True)]

    @cached_property
    def metrics(self) -> frozenset[str]:
        """Names of all that was sampled."""
        return frozenset(map(str, self._columns["metric"]))

    @property
    def tolerated_s(self) -> float:
        """What stands still for less than this is no disturbance."""
        return max(LEAST_S, SHARE * self.seconds)

    def inside_s(self, began: float, ended: float) -> float:
        """Seconds of a span that lie inside the load."""
        return max(0.0, min(ended, self.ended) - max(began, self.started))


@dataclass(frozen=True)
class Disturbance:
    """`why` is a sentence with the figure that decides. One that is not `hard` may count if no try is better."""

    condition: str
    why: str
    hard: bool = True
