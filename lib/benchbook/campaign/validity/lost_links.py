"""A host whose network link went down or came up while the load ran: an outage that is over before the load is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from benchbook.campaign.validity.looked_at import Disturbance, LookedAt, SeriesRow
from benchbook.campaign.validity.standstills import MACHINE

_CHANGES = "link_changes."


def lost_links(look: LookedAt) -> Iterator[Disturbance]:
    """Any while counts, however short: what is lost meanwhile is sent again a good deal later."""
    seen: dict[tuple[str, str], list[SeriesRow]] = {}
    for one in look.samples(source=MACHINE):
        if one.metric.startswith(_CHANGES):
            seen.setdefault((one.host, one.metric.removeprefix(_CHANGES)), []).append(one)
    for (host, interface), counts in sorted(seen.items()):
        inside = [(a, b) for a, b in pairwise(counts) if a.t < look.ended and b.t > look.started]
        if changes := sum(abs(b.value - a.value) for a, b in inside):
            times = "once" if changes == 1 else f"{changes:.0f} times"
            why = f"the network link of host {host} ({interface}) went down or came up {times} under load"
            yield Disturbance("link", why)
