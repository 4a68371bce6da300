"""A machine that computed more slowly than usual while a load ran: its rate is not that of the machine as it is."""

from __future__ import annotations

from collections.abc import Iterator

from benchbook.campaign.slowed import SLOWED
from benchbook.campaign.validity.looked_at import Disturbance, LookedAt


def lost_speed(look: LookedAt) -> Iterator[Disturbance]:
    """Some machines are slow for minutes: of several such tries the least disturbed one counts."""
    if look.slowed.by > SLOWED:
        why = f"{look.slowed.machine} computed {look.slowed.by:.0%} more slowly than it did under this load before"
        yield Disturbance("slow machine", why, hard=False)
