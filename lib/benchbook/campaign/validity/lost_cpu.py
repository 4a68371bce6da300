"""CPU that others took from a trial's hosts while its load ran: what lost some is no good measurement."""

from __future__ import annotations

from collections.abc import Iterator

from benchbook.campaign.taken import BY_OTHERS, STOLEN
from benchbook.campaign.validity.looked_at import Disturbance, LookedAt


def lost_cpu(look: LookedAt) -> Iterator[Disturbance]:
    """A little is taken all day on some machines: of several such tries the least disturbed one counts."""
    found = look.taken
    if found.stolen > STOLEN:
        why = f"{found.stolen:.0%} of the CPU was taken by other virtual machines"
        yield Disturbance("stolen CPU", why, hard=False)
    if found.by_others > BY_OTHERS:
        most = f", most of it by {found.program}" if found.program else ""
        why = f"{found.others:.0%} of the CPU was used by programs that are no part of the run{most}"
        yield Disturbance("other programs", why, hard=False)
