"""CPU that a trial's machines did not have for its load: taken by other virtual machines, or by other programs.

How much is taken has nothing to do with the system under test, so that choosing trials by it favours no result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchbook.campaign.load_window import Sampled, means
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


def taken(machines: Sequence[Sampled], others: Sequence[Sampled], began: float, ended: float) -> Taken:
    """Of the machine that lost the most, by the samples of machines and of other programs on them.

    Nothing is taken where nothing was seen.
    """
    used = means([one for one in others if one.metric.startswith("cpu")], began, ended)
    cpu = means([one for one in machines if one.metric.startswith("cpu.")], began, ended)
    found = [_of_host(mine, used.get(host, {})) for host, mine in sorted(cpu.items())]
    return max(found, key=lambda one: one.lost, default=Taken())


def _of_host(seconds: Mapping[str, float], used: Mapping[str, float]) -> Taken:
    cores = sum(seconds.values())
    if cores == 0:
        return Taken()
    return Taken(
        stolen=seconds.get("cpu.steal", 0.0) / cores,
        others=used.get("cpu", 0.0) / cores,
        idle=sum(seconds.get(mode, 0.0) for mode in WAITING) / cores,
        program=most_used(used, "cpu"),
    )


def most_used(used: Mapping[str, float], what: str) -> str:
    """The program with the largest of the metrics `what.PROGRAM`; "" where there is none."""
    named = {name.removeprefix(f"{what}."): value for name, value in used.items() if name.startswith(f"{what}.")}
    return max(named, key=lambda name: named[name], default="")


def lost_share(proof: Json) -> float | None:
    """The share that a record's proof names; None in records from before anybody looked."""
    found = proof.get("lost", proof.get("stolen"))
    return None if found is None else float(found)


def disturbed(proof: Json) -> bool:
    """Whether a record's load had to do without more CPU than counts as little; False where nobody looked."""
    stolen = float(proof.get("stolen", 0.0))
    return stolen > STOLEN or (lost_share(proof) or 0.0) - stolen > BY_OTHERS
