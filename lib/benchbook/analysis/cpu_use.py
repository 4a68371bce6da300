"""CPU of every host while a trial's load ran: a few figures per trial, so that thousands of series are read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook.campaign.record import Record
from benchbook.stats.estimates import Array

if TYPE_CHECKING:
    from benchbook.campaign.store import Campaign

SOURCE, METRICS = "host", "cpu."
Marks: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class HostUse:
    """CPU of a host during a load.

    `busy`: cores in use (steal counts: it is time that this host did not get), the mean of all samples between start
    and end; None without one. `share`: of the CPU that it got, how much was in use, and `cores`, how many there were:
    means of the `samples` that lie wholly inside the load.
    """

    host: str
    busy: float | None
    samples: int
    share: float
    cores: float


Read = Callable[[str], pd.DataFrame]
OfRecord = Callable[[Record], Sequence[HostUse]]


def of_record(record: Record, series: pd.DataFrame) -> list[HostUse]:
    """The hosts whose CPU was sampled; `series` is the trial's long table, or the part of it that is about CPU."""
    cpu = series[(series.source == SOURCE) & series.metric.str.startswith(METRICS)] if len(series) else series
    if cpu.empty:
        return []
    codes, hosts = pd.factorize(cpu.host)
    samples = _Samples.of(cpu, codes)
    within = (samples.t >= record.started) & (samples.t <= record.ended)
    # A sample stands at the end of its second: of a load of 2 s, the first one is half of the quiet before it. Those
    # that begin before the load count only where there are no others.
    whole = within & (samples.begins >= record.started)
    inside = (whole if whole.any() else within) & (samples.got > 0)
    return [_host(str(name), samples, samples.host == i, within, inside) for i, name in enumerate(hosts)]


@dataclass(frozen=True)
class _Samples:
    """CPU time per sample, ordered by host and time, in cores; `begins` is the time of the host's sample before."""

    host: NDArray[np.int64]
    t: Array
    begins: Array
    cores: Array
    waiting: Array
    steal: Array

    @property
    def got(self) -> Array:
        """What the host had to itself: steal is not its own."""
        return self.cores - self.steal

    @classmethod
    def of(cls, cpu: pd.DataFrame, host: NDArray[np.int64]) -> _Samples:
        t, value = cpu.t.to_numpy(dtype=np.float64), cpu.value.to_numpy(dtype=np.float64)
        order = np.lexsort((t, host))
        t, host, value = t[order], host[order], value[order]
        first = np.r_[True, (t[1:] != t[:-1]) | (host[1:] != host[:-1])]
        metric = cpu.metric.to_numpy()[order]
        waiting, steal = (metric == "cpu.idle") | (metric == "cpu.iowait"), metric == "cpu.steal"
        starts = np.flatnonzero(first)
        sums = [np.add.reduceat(part, starts) for part in (value, value * waiting, value * steal)]
        t, host = t[first], host[first]
        begins = np.r_[np.nan, np.where(host[1:] == host[:-1], t[:-1], np.nan)]
        return cls(host, t, begins, *sums)


def _host(name: str, samples: _Samples, mine: Marks, within: Marks, inside: Marks) -> HostUse:
    here, ours = mine & within, mine & inside
    busy = (samples.cores - samples.waiting)[here]
    shares = 1 - samples.waiting[ours] / samples.got[ours]
    count = int(ours.sum())
    return HostUse(
        host=name,
        busy=float(busy.mean()) if len(busy) else None,
        samples=count,
        share=float(shares.mean()) if count else 0.0,
        cores=float(samples.cores[ours].mean()) if count else 0.0,
    )


@dataclass(eq=False)
class CpuUse:
    """The hosts of any record, found when they are first asked for; a record that took another's place is another."""

    read: Read
    _known: dict[tuple[str, float], list[HostUse]] = field(default_factory=dict, repr=False)

    def __call__(self, record: Record) -> list[HostUse]:
        """Raises RecordBroken where the record's series cannot be read."""
        key = (record.id, record.started)
        if key not in self._known:
            self._known[key] = of_record(record, self.read(record.id))
        return self._known[key]


def of_campaign(campaign: Campaign) -> CpuUse:
    """The CPU of this campaign's trials, each read once."""
    return CpuUse(lambda trial: campaign.series(trial, source=SOURCE, metric=METRICS))
