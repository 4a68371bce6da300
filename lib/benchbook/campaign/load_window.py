"""The samples of a load: one window for all that asks what the hosts did while it ran."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Protocol, TypeVar

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.campaign.record import Record


class OfHost(Protocol):
    """A sample of a host, taken at `t`."""

    @property
    def host(self) -> str: ...

    @property
    def t(self) -> float: ...


class Sampled(OfHost, Protocol):
    """A value of a metric."""

    @property
    def metric(self) -> str: ...

    @property
    def value(self) -> float: ...


S = TypeVar("S", bound=OfHost)


def load_began(record: Record) -> float:
    """When the load of a trial began, in seconds since the epoch: a generator's own time is the better one."""
    own = record.summary.get("total_time_s")
    return load_ended(record) - own.value if own else record.started


def load_ended(record: Record) -> float:
    """When it ended: a transfer's program that has copied all may go on for a while, DDT's for two minutes."""
    idle = record.summary.get("idle_s")
    return record.ended - (idle.value if idle else 0.0)


def window(record: Record) -> tuple[float, float]:
    """From when to when what was sampled belongs to the load of a trial: a sample stands at the end of its second."""
    return max(record.started, load_began(record)), record.ended + 1


def of_load(samples: Sequence[S], started: float, ended: float) -> list[S]:
    """Those of `samples` that belong to the load alone, of every host.

    A sample stands at the end of its second: the first one inside a load of 2 s is half of the quiet before it. So a
    host's samples that begin before the load count only where it has no others.
    """
    times: dict[str, set[float]] = {}
    for one in samples:
        times.setdefault(one.host, set()).add(one.t)
    counting = {host: _moments(sorted(every), started, ended) for host, every in times.items()}
    return [one for one in samples if one.t in counting[one.host]]


def means(samples: Sequence[Sampled], began: float, ended: float) -> dict[str, dict[str, float]]:
    """Of every host and metric, over the load."""
    values: dict[str, dict[str, list[float]]] = {}
    for one in of_load(samples, began, ended):
        values.setdefault(one.host, {}).setdefault(one.metric, []).append(one.value)
    return {host: {metric: fmean(mine) for metric, mine in sorted(of.items())} for host, of in values.items()}


def _moments(every: Sequence[float], started: float, ended: float) -> frozenset[float]:
    """Of one host's moments, in order, those whose samples count."""
    whole = frozenset(t for before, t in pairwise(every) if before >= started and t <= ended)
    return whole or frozenset(t for t in every if started <= t <= ended)
