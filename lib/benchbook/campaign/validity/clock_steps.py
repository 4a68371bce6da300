"""Signs that a host's wall clock was set while the load ran: times and rates of its series are then wrong."""

from __future__ import annotations

from collections.abc import Iterator

from benchbook.campaign.validity.looked_at import Disturbance, LookedAt

# What keeps clocks slews them by 0.0005 s a second at most (RFC 5905: what is off by more than 0.128 s is set at once).
STEP_S = 0.1
_STEP = "clock.step_s"


def clock_steps(look: LookedAt) -> Iterator[Disturbance]:
    """Of every host the largest step of the wall clock against the monotonic one, from one second to the next."""
    for host, step in largest_steps(look).items():
        if abs(step) > STEP_S:
            yield Disturbance("clock", f"the clock of host {host} was set by {step:+.2f} s while the load ran")


def largest_steps(look: LookedAt) -> dict[str, float]:
    """Per host, in seconds; 0 where no clock was set."""
    largest: dict[str, float] = {}
    for one in look.samples(metric=_STEP):
        if look.started <= one.t <= look.ended:
            largest[one.host] = max(largest.get(one.host, 0.0), one.value, key=abs)
    return dict(sorted(largest.items()))
