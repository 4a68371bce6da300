"""CPU that others took while one campaign was measured, and not the other: a difference as of the hosts themselves."""

from __future__ import annotations

from collections.abc import Collection
from statistics import median

from benchbook.campaign.store import Campaign
from benchbook.campaign.validity import lost_share
from benchbook.compare.environment_facts import Facts

TAKEN = "host.cpu_taken"
# Shares of the CPU that others took differ by as much from one quiet campaign to the next on a machine that is shared.
APART = 0.1


def facts(a: Campaign, b: Campaign, systems: dict[str, str]) -> tuple[Facts, Facts]:
    """The share of the hosts' CPU that others took, median over loads, where it is not about the same in both.

    `systems` leads from those of `a` to those of `b`; two of one campaign took turns beside the same others. Records
    from before anybody looked say nothing.
    """
    if a.folder == b.folder:
        return {}, {}
    ours, theirs = _share(a, systems.keys()), _share(b, systems.values())
    if ours is None or theirs is None or abs(ours - theirs) <= APART:
        return {}, {}
    return {(TAKEN, ""): f"{ours:.0%}"}, {(TAKEN, ""): f"{theirs:.0%}"}


def _share(campaign: Campaign, systems: Collection[str]) -> float | None:
    shares = [lost_share(record.proof) for record in campaign.records() if record.system in systems]
    known = [share for share in shares if share is not None]
    return median(known) if known else None
