"""The gate: every measurement passes it before it counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict

from benchbook.campaign.validity import (
    clock_steps,
    lost_cpu,
    lost_disk,
    lost_links,
    lost_speed,
    rate_lines,
    standstills,
)
from benchbook.campaign.validity.looked_at import Disturbance, LookedAt
from benchbook.hosts.about import Json

# Gravest first: where one fault shows in several ways, the first names what was at fault.
CONDITIONS: Sequence[Callable[[LookedAt], Iterable[Disturbance]]] = (
    standstills.stopped,
    standstills.stopped_in_groups,
    standstills.late_heartbeats,
    standstills.gaps,
    clock_steps.clock_steps,
    lost_links.lost_links,
    rate_lines.lost_lines,
    rate_lines.longest_request,
    lost_cpu.lost_cpu,
    lost_disk.lost_disk,
    lost_speed.lost_speed,
)


def disturbances(look: LookedAt) -> list[Disturbance]:
    """All that interfered with a measurement, gravest first; none if it counts."""
    return [found for condition in CONDITIONS for found in condition(look)]


def stalls_seen(look: LookedAt) -> Json:
    """What a record keeps of real stalls of the system under test; nothing where there was none."""
    seen = rate_lines.stalls(look)
    return {"stalls": asdict(seen)} if seen else {}
