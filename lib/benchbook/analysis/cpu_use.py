"""CPU of every host while a trial's load ran: a few figures per trial, so that thousands of series are read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchbook.campaign.load_window import load_began, load_ended
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.stats.estimates import Array

Codes: TypeAlias = NDArray[np.int64]
Marks: TypeAlias = NDArray[np.bool_]
# Time that nobody used.
_IDLE = ("cpu.idle", "cpu.iowait")


@dataclass(frozen=True)
class HostUse:
    """CPU of a host during a load.

    `busy`: cores in use (steal counts: it is time that this host did not get), the mean of the samples inside
    the load; None without one. `share`: of the CPU that it got, how much was in use, and `cores`, how many there were:
    means of those `samples` in which it got any.
    """

    host: str
    busy: float | None
    samples: int
    share: float
    cores: float


OfRecord = Callable[[Record], Sequence[HostUse]]


def of_record(record: Record, series: pa.Table) -> list[HostUse]:
    """The hosts whose CPU was sampled, from the trial's long table."""
    samples, hosts = _sampled(series)
    # What a transfer does before it copies, and waits after it, is no part of its rate: nor of the CPU that it left.
    began, ended = max(record.started, load_began(record)), load_ended(record)
    within = (samples.t >= began) & (samples.t <= ended)
    # As load_window.of_load has it: a sample stands at the end of its second, and those that begin before the load
    # count only where a host has no others.
    whole = within & (samples.begins >= began)
    bare = within & ~np.isin(samples.host, samples.host[whole])
    return [_host(hosts[i], samples, (samples.host == i) & (whole | bare)) for i in np.unique(samples.host)]


def over_time(series: pa.Table) -> dict[str, tuple[Array, Array]]:
    """Of each host whose CPU was sampled: when (s since the epoch), and the cores in use in the second before."""
    samples, hosts = _sampled(series)
    ours = {hosts[i]: samples.host == i for i in np.unique(samples.host)}
    return {name: (samples.t[here], samples.busy[here]) for name, here in ours.items()}


def _sampled(series: pa.Table) -> tuple[_Samples, list[str]]:
    """The samples of CPU time in a long table, and the names of its hosts."""
    if not series.num_rows:
        return _Samples(np.empty(0, dtype=np.int64), *[np.empty(0)] * 5), []
    source, sources = _coded(series["source"])
    metric, metrics = _coded(series["metric"])
    cpu = _having(source, [name == "host" for name in sources]) & _having(
        metric, [m.startswith("cpu.") for m in metrics]
    )
    host, hosts = _coded(series["host"])
    return _Samples.of(series.filter(cpu), host[cpu], metric[cpu], metrics), hosts


def _coded(words: pa.ChunkedArray) -> tuple[Codes, list[str]]:
    """Each word's place in the list of words."""
    whole = words.combine_chunks()
    coded = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
    return coded.indices.to_numpy(zero_copy_only=False), coded.dictionary.to_pylist()


def _having(codes: Codes, chosen: Sequence[bool]) -> Marks:
    marks: Marks = np.asarray(chosen, dtype=np.bool_)[codes]
    return marks


@dataclass(frozen=True)
class _Samples:
    """CPU time per sample, ordered by host and time, in cores; `begins` is the time of the host's sample before."""

    host: Codes
    t: Array
    begins: Array
    cores: Array
    waiting: Array
    steal: Array

    @property
    def got(self) -> Array:
        """What the host had to itself: steal is not its own."""
        return self.cores - self.steal

    @property
    def busy(self) -> Array:
        return self.cores - self.waiting

    @classmethod
    def of(cls, cpu: pa.Table, host: Codes, metric: Codes, metrics: Sequence[str]) -> _Samples:
        t, value = (np.asarray(cpu[name].to_numpy(), dtype=np.float64) for name in ("t", "value"))
        order = np.lexsort((t, host))
        t, host, value, metric = t[order], host[order], value[order], metric[order]
        first = np.r_[True, (t[1:] != t[:-1]) | (host[1:] != host[:-1])][: len(t)]
        waiting = _having(metric, [name in _IDLE for name in metrics])
        steal = _having(metric, [name == "cpu.steal" for name in metrics])
        starts = np.flatnonzero(first)
        sums = (
            [np.add.reduceat(part, starts) for part in (value, value * waiting, value * steal)] if len(t) else [t] * 3
        )
        t, host = t[first], host[first]
        begins = np.r_[np.nan, np.where(host[1:] == host[:-1], t[:-1], np.nan)][: len(t)]
        return cls(host, t, begins, *sums)


def _host(name: str, samples: _Samples, here: Marks) -> HostUse:
    ours = here & (samples.got > 0)
    busy = samples.busy[here]
    shares = 1 - samples.waiting[ours] / samples.got[ours]
    count = int(ours.sum())
    return HostUse(
        host=name,
        busy=float(busy.mean()) if len(busy) else None,
        samples=count,
        share=float(shares.mean()) if count else 0.0,
        cores=float(samples.cores[ours].mean()) if count else 0.0,
    )


def of_campaign(campaign: Campaign) -> OfRecord:
    """Return what tells the CPU of this campaign's trials; it raises RecordBroken for a series that cannot be read."""
    return lambda record: of_record(record, campaign.coded_series(record.id))
