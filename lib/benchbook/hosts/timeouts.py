"""Every timeout of the way to a host, in seconds. `ssh.connect_timeout_s` and `ssh.lease_s` come from the inventory."""

from __future__ import annotations

# A short command, unless its caller says how long it may take.
COMMAND_S = 60.0
# A server behind a host takes a connection within this time.
FORWARD_S = 10.0
# Between two signs of life on a connection that nobody uses.
KEEPALIVE_S = 5
# A broken connection ends its thread within milliseconds of the channels that it carried.
BROKEN_S = 0.5
# Between two tries of what is tried again: at first, and at most.
RETRY_S, LONGEST_RETRY_S = 0.2, 3.0
# The shortest time after which a silent host is given up: one that is merely busy may need some.
SILENCE_S = 5.0


def silence_s(lease_s: float) -> float:
    """Return the time after which a silent host is given up: half a lease, so that the other half is left to return."""
    return max(SILENCE_S, lease_s / 2)
