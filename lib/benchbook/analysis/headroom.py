"""How busy the machines were while a cell's load ran: what has no CPU to spare cannot show that anything rises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from statistics import fmean
from typing import Literal

from benchbook.analysis.cpu_use import HostUse, OfRecord
from benchbook.campaign.record import Record
from benchbook.grouping import grouped

# A machine with so much of its cores in use, a program with so much of what it can use, a cache so full: it is full.
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
    """One per cell of `records`, its repetitions averaged; `boots` maps every host to the boot id of its machine.

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
    """Over the samples of all of them."""
    weighted = sum(getattr(host, figure) * host.samples for host in hosts)
    return float(weighted / sum(host.samples for host in hosts))
