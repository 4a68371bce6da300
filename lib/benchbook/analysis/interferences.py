"""What interfered with measurements, and what only looks like it: disturbed tries, and real stalls of the systems."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchbook.campaign.record import Record
from benchbook.campaign.validity import DISK_BY_OTHERS, cpu_was_taken
from benchbook.stats.intervals import mean_interval

CAPTION = "Disturbed measurements: kept, not counted"


def of_disturbed(records: Sequence[Record]) -> list[dict[str, str]]:
    """A row per disturbed measurement: the trial, which try, and what interfered."""
    split = [(record.id.rpartition("."), record) for record in records]
    return [{"trial": trial, "try": number, "why": "; ".join(record.disturbed)} for (trial, _, number), record in split]


def first_tries_in_words(records: Sequence[Record], disturbed: Sequence[Record]) -> str:
    """Return how what counts differs from first tries from which others took something; "" where none was run again.

    A standing check: a gate that chooses by what the system under test did shows here.
    """
    first = {one.id.rpartition(".")[0]: one for one in disturbed if one.id.endswith(".1") and _others_took(one)}
    ratios = [
        math.log(counted.value / tried.value)
        for record in records
        if record.id in first
        for name in list(record.summary)[:1]
        if (counted := record.summary[name]).value and (tried := first[record.id].summary[name]).value
    ]
    if not ratios:
        return ""
    said = f"Of {len(ratios)} trials that were run again because others took CPU or disk, what counts "
    if len(ratios) < 2:
        return f"{said}is {math.exp(ratios[0]):.2f}x the first try."
    found = mean_interval(ratios)
    span = f"95% interval {math.exp(found.low):.2f} to {math.exp(found.high):.2f}"
    return f"{said}is {math.exp(found.estimate):.2f}x the first try in the mean ({span})."


def _others_took(one: Record) -> bool:
    disk = one.proof.get("disk_taken", {}).get("bytes_per_s", 0)
    return not one.proof.get("stopped") and (cpu_was_taken(one.proof) or disk > DISK_BY_OTHERS)


def stalls_in_words(records: Sequence[Record]) -> str:
    """How often, and how long at most, the systems under test did nothing under load; empty where they never did."""
    seen = [(record.proof["stalls"], record) for record in records if "stalls" in record.proof]
    if not seen:
        return ""
    count = sum(stalls["count"] for stalls, _ in seen)
    longest, worst = max(seen, key=lambda one: float(one[0]["longest_s"]))
    times = "once" if count == 1 else f"{count} times"
    return (
        f"In {len(seen)} of {len(records)} trials the system under test came to a halt, {times} in all, for "
        f"{longest['longest_s']:g} s at most ({worst.id}). Load generator, hosts and servers were running meanwhile: "
        "these stalls are the system's own, and count."
    )
