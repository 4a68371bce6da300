"""CPU of every host while a trial's load ran, and how busy the machines were in each cell.

What has no CPU to spare cannot show that anything rises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import fmean
from typing import Literal

import pandas as pd

from benchbook.campaign.environment import Environment
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.campaign.validity import of_load
from benchbook.grouping import grouped

# Time that nobody used.
_IDLE = ("idle", "iowait")


@dataclass(frozen=True)
class HostUse:
    """CPU of a host during a load.

    `busy`: cores in use (steal counts: it is time that this host did not get), the mean of the samples inside
    the load. `share`: of the CPU that it got, how much was in use, and `cores`, how many there were:
    means of those `samples` in which it got any. `bound`: all of this is of the processors to which its programs were
    bound, by an inventory's `cpus`, an affinity or a cpuset; what others used of these nobody knows.
    """

    host: str
    busy: float
    samples: int
    share: float
    cores: float
    bound: bool = False


OfRecord = Callable[[Record], Sequence[HostUse]]


def of_record(record: Record, series: pd.DataFrame) -> list[HostUse]:
    """Return the hosts whose CPU was sampled, from the trial's long table."""
    # What a transfer does before it copies, and waits after it, is no part of its rate: nor of the CPU that it left.
    began = max(record.started, record.load_began)
    loaded = of_load(over_time(series, bound=True), began, record.load_ended)
    return [_host(str(name), part) for name, part in loaded.groupby("host")]


def over_time(series: pd.DataFrame, *, bound: bool = False) -> pd.DataFrame:
    """Return [host, t (s since the epoch), cores, busy, steal] of the seconds before: cores, those in use, stolen.

    All of a host's machine, or (`bound`) of the processors alone to which its programs were bound, where they were:
    the column `bound` counts those figures.
    """
    rows = series.reindex(columns=["host", "source", "metric", "t", "value"]).astype({"metric": str})
    rows = rows[rows.source == "host"].reset_index(drop=True)
    part = rows.metric.str.startswith("bound.").astype(bool) & bound
    cpu = rows[part | (rows.metric.str.startswith("cpu.").astype(bool) & ~rows.host.isin(rows.host[part]))]
    mode = cpu.metric.str.replace(r"^\w+\.", "", regex=True)
    busy, steal = cpu.value.where(~mode.isin(_IDLE), 0.0), cpu.value.where(mode == "steal", 0.0)
    parts = cpu[["host", "t"]].assign(cores=cpu.value, busy=busy, steal=steal, bound=part[cpu.index])
    return parts.groupby(["host", "t"], as_index=False).sum()


def _host(name: str, samples: pd.DataFrame) -> HostUse:
    got = samples[samples.cores > samples.steal]
    shares = 1 - (got.cores - got.busy) / (got.cores - got.steal)
    cores = got.cores.mean() if len(got) else 0.0
    share = float(shares.mean()) if len(got) else 0.0
    return HostUse(name, float(samples.busy.mean()), len(got), share, float(cores), bool(samples.bound.any()))


def of_campaign(campaign: Campaign) -> OfRecord:
    """Return what tells the CPU of this campaign's trials; it raises RecordBroken for a series that cannot be read."""
    return lambda record: of_record(record, campaign.series(record.id))


# From this share on, the cores of a machine, those that a program can use, and a cache count as full.
FULL = 0.9


@dataclass(frozen=True)
class Machine:
    """CPU of one machine during the trials of a cell: `share` of what the run could have of it, and its `cores`.

    Neither steal nor the use of other programs is in it. Where a run was bound to some cores, that use cannot be told
    apart, and is in it.

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


def busy_cells(
    records: Sequence[Record], use: OfRecord, environment: Environment, cpus: Mapping[str, Sequence[int]] | None = None
) -> list[BusyCell]:
    """Return one per cell of `records`, its repetitions averaged; `cpus` are the processors that hosts are bound to.

    Hosts that share a boot are one machine, and each of them sees the whole of it: their shares are averaged. Those
    that are bound to other processors of it have nothing in common.
    """
    cells = grouped(records, lambda r: (r.table, r.system, *sorted(r.levels.items())))
    bound = cpus or {}
    machine_of = {host: f"{boot} {sorted(bound.get(host, ()))}" for host, boot in environment.machines.items()}
    return [_cell(mine, use, environment, machine_of) for mine in cells.values()]


def _cell(
    records: Sequence[Record], use: OfRecord, environment: Environment, machine_of: Mapping[str, str]
) -> BusyCell:
    first = records[0]
    sampled = [host for record in records for host in use(record) if host.samples]
    loading = {host for record in records for host in record.proof.get("clients", [record.client])}
    clients = {machine_of.get(host, host) for host in loading}
    # A server beside its client, and an engine that its load generator opens, are on the client's host.
    own = environment.systems[first.system].hosts if first.system in environment.systems else []
    servers = {machine for host, machine in machine_of.items() if host not in loading or host in own}
    # A record has the use of others on one machine, the one that lost most: it is known whose only where there is one.
    known = len(set(machine_of.values())) == 1 and not any(host.bound for host in sampled)
    others = fmean(float(record.proof.get("others", 0.0)) for record in records) if known else 0.0
    machines = [
        Machine(
            max(0.0, _mean(hosts, "share") - others) / (1 - others),
            round(_mean(hosts, "cores")),
            machine in clients,
            machine in servers,
            machine,
        )
        for machine, hosts in sorted(grouped(sampled, lambda use: machine_of.get(use.host, use.host)).items())
    ]
    most: dict[str, float] = {}
    for name, figure in chain.from_iterable(record.summary.items() for record in records):
        most[name] = max(figure.value, most.get(name, figure.value))
    return BusyCell(first.table, first.system, first.levels, sorted(machines, key=lambda m: -m.share), most=most)


def _mean(hosts: Sequence[HostUse], figure: Literal["share", "cores"]) -> float:
    """Return the mean over the samples of all of them."""
    weighted = sum(getattr(host, figure) * host.samples for host in hosts)
    return float(weighted / sum(host.samples for host in hosts))
