"""The one way in which something on a host is tried again: what may be done twice, within the lease."""

from __future__ import annotations

from typing import NoReturn

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_after_delay,
    stop_all,
    wait_exponential,
)

from benchbook.errors import BenchbookError, ConnectionLost, HostUnreachable
from benchbook.hosts.timeouts import LONGEST_RETRY_S, RETRY_S


def retrying(
    name: str,
    lease_s: float,
    *,
    left_s: float | None = None,
    again: type[BenchbookError] = ConnectionLost,
    attempts: int = 2,
) -> Retrying:
    """Return what calls a step, and calls it again where it raises `again`.

    Raise HostUnreachable after the lease, or what is left of it.
    """

    def give_up(state: RetryCallState) -> NoReturn:
        problem = state.outcome.exception() if state.outcome else None
        raise HostUnreachable(
            f"host {name} is unreachable, for longer than its lease of {lease_s:g} s: {problem}"
        ) from problem

    return Retrying(
        retry=retry_if_exception_type(again),
        # A driver that was itself stopped for longer finds its connection gone, and not the host.
        stop=stop_all(stop_after_attempt(attempts), stop_after_delay(lease_s if left_s is None else left_s)),
        wait=wait_exponential(RETRY_S, max=LONGEST_RETRY_S),
        retry_error_callback=give_up,
    )
