"""How long hosts, connections, jobs and labs are waited for, in seconds.

`ssh.connect_timeout_s` and `ssh.lease_s` come from the inventory. What takes as long as its data is large (a copy, a
restore, a sum of files) says at the call how long it may take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

T = TypeVar("T")

# -- connections ----------------------------------------------------------------------------------------------------
# A short command, a step on each of several hosts, or a request by HTTP, unless its caller says how long it may take.
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
# To connect again, and to end what a driver that is gone left: so long beyond a lease.
RECONNECTED_S, REAPED_S = 60.0, 120.0
# The facts of a host are told, or who listens at one of its ports.
FACTS_S, PORT_USERS_S = 30.0, 20.0
# To remove what was discarded on a host, and to close its connections after that.
REMOVED_S, CLOSED_S = 120.0, 130.0

# -- jobs -----------------------------------------------------------------------------------------------------------
# What stands as long as a session (servers, settings) outlives many trials; its job still has an end, in case all else
# fails.
LONGEST_S = 7 * 86_400
# A job that does not begin within so many seconds has failed to.
STARTED_WITHIN_S = 30.0
# An end takes its grace, and so many seconds at most besides.
ENDED_WITHIN_S = 60.0
# A job that ended tells so in a file. Only one whose supervisor was killed does not, for which is looked this often.
LIVENESS_EVERY_S = 5.0
# The settings of a host are set, or what hinders that is known.
SET_WITHIN_S = 30.0

# -- reservations ---------------------------------------------------------------------------------------------------
# A lease is renewed this often, and at least every so many seconds: six signs of life may fail to come.
RENEW_SHARE, RENEW_EVERY_S = 0.15, 3.0
# What renews leases ends within this, once its session is over.
RENEWER_ENDED_S = 10.0
# How long a driver that gives no sign is watched before it is called silent; its lease may be an hour.
WATCH_S = 30.0
# How often a host is asked who holds it, and how long it may take to answer.
ASKS_EVERY_S, ANSWERS_WITHIN_S = 0.5, 60.0

# -- labs -----------------------------------------------------------------------------------------------------------
# A lab of many hosts, each with jobs to be ended, is stopped within this; and another checkout's is waited for that was
# about to be.
CHANGED_WITHIN_S, ANOTHER_ENDS_WITHIN_S = 90.0, 30.0
# The sshd of a lab answers within this, or is over after it was told to end.
SSHD_WITHIN_S = 10.0
# One that runs says its name at once.
SSHD_GREETS_S = 2.0


def silence_s(lease_s: float) -> float:
    """Return the time after which a silent host is given up: half a lease, so that the other half is left to return."""
    return max(SILENCE_S, lease_s / 2)


def until(look: Callable[[], T], within_s: float, *, every_s: float = 0.05) -> T:
    """Return what `look` returns once that is true, or, after `within_s`, what it returned last."""
    return Retrying(
        retry=retry_if_result(lambda found: not found),
        stop=stop_after_delay(within_s),
        wait=wait_fixed(every_s),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
    )(look)
