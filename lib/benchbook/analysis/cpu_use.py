"""CPU of every host while a trial's load ran, and how busy the machines were in each cell.

What has no CPU to spare cannot show that anything rises. A few figures per trial, so that thousands of series are read
once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import fmean
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.grouping import grouped
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
    began, ended = max(record.started, record.load_began), record.load_ended
    within = (samples.t >= began) & (samples.t <= ended)
    # As `Record.load_window` has it: a sample stands at the end of its second, and those that begin before the load
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


# From this share on, the cores of a machine, those that a program can use, and a cache count as full.
FULL = 0.9


@dataclass(frozen=True)
class Machine:
    """CPU of one machine during the trials of a cell: `share` of what the run could have of it, and its `cores`.

    Steal is not its own, nor is what other programs used.

    `client` says that load generators ran there, `server` that anything else did; `boot` tells machines apart.
    """

    share: float
    cores: int
    client: bool
    server: bool
    boot: str = ""


@dataclass(frozen=True)
class BusyCell:
    """The machines that a cell's trials ran on, busiest first; the cell is named as in its records.

    `ran` holds the levels that were run, where `levels` are the published ones that they stand for (scaled levels).
    `most` is the highest value of every figure over the repetitions, as recorded.
    """

    table: str
    system: str
    levels: Mapping[str, str | int | float]
    machines: list[Machine]
    ran: Mapping[str, str | int | float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)


def busy_cells(records: Sequence[Record], use: OfRecord, boots: Mapping[str, str]) -> list[BusyCell]:
    """Return one per cell of `records`, its repetitions averaged; `boots` maps a host to the boot id of its machine.

    Hosts that share a boot are one machine, and each of them sees the whole of it: their shares are averaged.
    """
    cells = grouped(records, lambda r: (r.table, r.system, *sorted(r.levels.items())))
    return [_cell(mine, use, boots) for mine in cells.values()]


def _cell(records: Sequence[Record], use: OfRecord, boots: Mapping[str, str]) -> BusyCell:
    first = records[0]
    sampled = [host for record in records for host in use(record) if host.samples]
    loading = {host for record in records for host in record.proof.get("clients", [record.client])}
    clients = {boots.get(host, host) for host in loading}
    servers = {boot for host, boot in boots.items() if host not in loading}
    # Records say what others used of the machine that lost most: of the only one that is surely it.
    others = (
        fmean(float(record.proof.get("others", 0.0)) for record in records) if len(set(boots.values())) == 1 else 0.0
    )
    machines = [
        Machine(
            max(0.0, _mean(hosts, "share") - others) / (1 - others),
            round(_mean(hosts, "cores")),
            machine in clients,
            machine in servers,
            machine,
        )
        for machine, hosts in sorted(grouped(sampled, lambda use: boots.get(use.host, use.host)).items())
    ]
    most: dict[str, float] = {}
    for name, figure in chain.from_iterable(record.summary.items() for record in records):
        most[name] = max(figure.value, most.get(name, figure.value))
    return BusyCell(first.table, first.system, first.levels, sorted(machines, key=lambda m: -m.share), most=most)


def _mean(hosts: Sequence[HostUse], figure: Literal["share", "cores"]) -> float:
    """Return the mean over the samples of all of them."""
    weighted = sum(getattr(host, figure) * host.samples for host in hosts)
    return float(weighted / sum(host.samples for host in hosts))
