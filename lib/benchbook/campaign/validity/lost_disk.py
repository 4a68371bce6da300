"""A disk that other programs kept busy while a load ran."""

from __future__ import annotations

from collections.abc import Iterator

from benchbook.campaign.taken_disk import BY_OTHERS
from benchbook.campaign.validity.looked_at import Disturbance, LookedAt


def lost_disk(look: LookedAt) -> Iterator[Disturbance]:
    """As with CPU, of several such tries the least disturbed one counts."""
    found = look.taken_disk
    if found.lost > BY_OTHERS:
        most = f", most of it by {found.program}" if found.program else ""
        why = (
            f"the disk was busy for {found.busy:.0%} of the time, and moved {found.others:.0%} of its bytes for "
            f"programs that are no part of the run{most}"
        )
        yield Disturbance("disk of others", why, hard=False)
