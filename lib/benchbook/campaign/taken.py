"""CPU that a trial's machines did not have for its load: taken by other virtual machines, or by other programs.

How much is taken has nothing to do with the system under test, so that choosing trials by it favours no result.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from benchbook.campaign.load_window import of_load
from benchbook.hosts.about import Json

# From this share on a load is disturbed: with a twentieth stolen on two cores, rates fell by a third (33 loads of 3 s).
STOLEN = 0.02
# What runs on any machine (a clock daemon, a desktop) uses a little all the time, beside what is not known to be ours.
BY_OTHERS = 0.05
# Time that nobody used.
WAITING = ("cpu.idle", "cpu.iowait")


@dataclass(frozen=True)
class Taken:
    """Shares of a machine's CPU while a load ran, 0 to 1; `program` used the most of `others`, "" where none did."""

    stolen: float = 0.0
    others: float = 0.0
    idle: float = 0.0
    program: str = ""

    @property
    def by_others(self) -> float:
        """What other programs took from the load: they use first what would have been idle."""
        return max(0.0, self.others - self.idle)

    @property
    def lost(self) -> float:
        """What the load had to do without."""
        return self.stolen + self.by_others

    @property
    def proof(self) -> Json:
        """What a record keeps of it."""
        used = {"others": round(self.others, 4), "program": self.program} if self.others else {}
        return {"stolen": round(self.stolen, 4), "lost": round(self.lost, 4), **used}


def taken(series: pd.DataFrame, began: float, ended: float) -> Taken:
    """Of the machine that lost the most; `series` is a record's long table. Nothing is taken where nothing was seen."""
    cpu = of_load(series[(series.source == "host") & series.metric.str.startswith("cpu.")], began, ended)
    others = of_load(series[series.source == "others"], began, ended)
    found = [_of_host(mine, others[others.host == host]) for host, mine in cpu.groupby("host")]
    return max(found, key=lambda one: one.lost, default=Taken())


def _of_host(cpu: pd.DataFrame, others: pd.DataFrame) -> Taken:
    seconds, used = cpu.groupby("metric").value.mean(), others.groupby("metric").value.mean()
    cores = float(seconds.sum())
    if cores == 0:
        return Taken()
    named = used.drop("cpu", errors="ignore")
    return Taken(
        stolen=float(seconds.get("cpu.steal", 0.0)) / cores,
        others=float(used.get("cpu", 0.0)) / cores,
        idle=float(sum(seconds.get(mode, 0.0) for mode in WAITING)) / cores,
        program=str(named.idxmax()).removeprefix("cpu.") if len(named) else "",
    )


def lost_share(proof: Json) -> float | None:
    """The share that a record's proof names; None in records from before anybody looked."""
    found = proof.get("lost", proof.get("stolen"))
    return None if found is None else float(found)
