"""When the load of a trial ran: one window for all that asks what the hosts did meanwhile."""

from __future__ import annotations

from benchbook.campaign.record import Record


def load_began(record: Record) -> float:
    """Return when the load began, in seconds since the epoch: a generator's own time is the better one."""
    own = record.summary.get("total_time_s")
    return load_ended(record) - own.value if own else record.started


def load_ended(record: Record) -> float:
    """Return when it ended: a transfer's program that has copied all may go on for a while, DDT's for two minutes."""
    idle = record.summary.get("idle_s")
    return record.ended - (idle.value if idle else 0.0)


def window(record: Record) -> tuple[float, float]:
    """Return from when to when samples belong to the load: a sample stands at the end of its second."""
    return max(record.started, load_began(record)), record.ended + 1
