"""What interfered with measurements, and what only looks like it: disturbed tries, and real stalls of the systems."""

from __future__ import annotations

from collections.abc import Sequence

from benchbook.campaign.record import Record

CAPTION = "Disturbed measurements: kept, not counted"


def of_disturbed(records: Sequence[Record]) -> list[dict[str, str]]:
    """A row per disturbed measurement: the trial, which try, and what interfered."""
    split = [(record.id.rpartition("."), record) for record in records]
    return [{"trial": trial, "try": number, "why": "; ".join(record.disturbed)} for (trial, _, number), record in split]


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
