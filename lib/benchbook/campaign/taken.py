"""CPU that a trial's machines did not have for its load: taken by other virtual machines, or by other programs.

How much is taken has nothing to do with the system under test, so that choosing trials by it favours no result.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from benchbook.hosts.about import Json

_WAITING = ("cpu.idle", "cpu.iowait")


@dataclass(frozen=True)
class Taken:
    """Shares of a machine's CPU while a load ran, 0 to 1; `program` used the most of `others`, "" where none did."""

    stolen: float = 0.0
    others: float = 0.0
    idle: float = 0.0
    program: str = ""

    @property
    def lost(self) -> float:
        """What the load had to do without; other programs take what would have been idle first."""
        return self.stolen + max(0.0, self.others - self.idle)


def taken(series: pd.DataFrame, began: float, ended: float) -> Taken:
    """Of the machine that lost the most; `series` is a record's long table. Nothing is taken where nothing was seen."""
    inside = series[series.t.between(began, ended)]
    hosts = inside[(inside.source == "host") & inside.metric.str.startswith("cpu.")]
    found = [_of_host(cpu, inside[inside.host == host]) for host, cpu in hosts.groupby("host")]
    return max(found, key=lambda one: one.lost, default=Taken())


def _of_host(cpu: pd.DataFrame, of_host: pd.DataFrame) -> Taken:
    seconds = cpu.groupby("metric").value.mean()
    cores = float(seconds.sum())
    if cores == 0:
        return Taken()
    others = of_host[of_host.source == "others"].groupby("metric").value.mean()
    named = others.drop("cpu", errors="ignore")
    return Taken(
        stolen=float(seconds.get("cpu.steal", 0.0)) / cores,
        others=float(others.get("cpu", 0.0)) / cores,
        idle=float(sum(seconds.get(mode, 0.0) for mode in _WAITING)) / cores,
        program=str(named.idxmax()).removeprefix("cpu.") if len(named) else "",
    )


def lost_share(proof: Json) -> float | None:
    """The share that a record's proof names; None in records from before anybody looked."""
    found = proof.get("lost", proof.get("stolen"))
    return None if found is None else float(found)
