"""How busy the machines were while a cell's load ran: what has no CPU to spare cannot show that anything rises."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from benchbook.campaign.load_window import of_load
from benchbook.campaign.record import Record
from benchbook.grouping import grouped

_WAITING = ["cpu.idle", "cpu.iowait"]


@dataclass(frozen=True)
class Machine:
    """CPU of one machine during the trials of a cell: `share` of what it got (steal is not its own), and its `cores`.

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
    """

    table: str
    system: str
    levels: Mapping[str, str | int | float]
    machines: list[Machine]
    ran: Mapping[str, str | int | float] = field(default_factory=dict)


def busy_cells(
    records: Sequence[Record], series: Callable[[str], pd.DataFrame], boots: Mapping[str, str]
) -> list[BusyCell]:
    """One per cell of `records`, its repetitions averaged; `boots` maps every host to the boot id of its machine.

    Hosts that share a boot are one machine, and each of them sees the whole of it: their shares are averaged.
    """
    cells = grouped(records, lambda r: (r.table, r.system, *sorted(r.levels.items())))
    return [_cell(mine, series, boots) for mine in cells.values()]


def _cell(records: Sequence[Record], series: Callable[[str], pd.DataFrame], boots: Mapping[str, str]) -> BusyCell:
    first = records[0]
    cpu = pd.concat([_cpu(record, series(record.id), boots) for record in records])
    loading = {host for record in records for host in record.proof.get("clients", [record.client])}
    clients = {boots.get(host, host) for host in loading}
    servers = {boot for host, boot in boots.items() if host not in loading}
    machines = [
        Machine(float(row.share), round(row.cores), machine in clients, machine in servers, str(machine))
        for machine, row in cpu.groupby("machine")[["share", "cores"]].mean().iterrows()
    ]
    return BusyCell(first.table, first.system, first.levels, sorted(machines, key=lambda m: -m.share))


def _cpu(record: Record, series: pd.DataFrame, boots: Mapping[str, str]) -> pd.DataFrame:
    """[machine, share, cores] per sample and host inside the load."""
    if series.empty:
        return pd.DataFrame({"machine": [], "share": [], "cores": []})
    states = series[(series.source == "host") & series.metric.str.startswith("cpu.")]
    inside = of_load(states, record.started, record.ended)
    time = inside.pivot_table(index=["t", "host"], columns="metric", values="value", aggfunc="sum").fillna(0.0)
    cores = time.sum(axis=1)
    got = cores - time.get("cpu.steal", 0.0)
    idle = time.reindex(columns=_WAITING, fill_value=0.0).sum(axis=1)
    found = pd.DataFrame({"share": (1 - idle / got).where(got > 0), "cores": cores}).dropna().reset_index()
    return found.assign(machine=found["host"].map(lambda host: boots.get(host, host)))[["machine", "share", "cores"]]
