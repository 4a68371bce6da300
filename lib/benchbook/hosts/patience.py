"""What may be done twice is done again where the connection to a host broke in the middle of it, within the lease."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, NoReturn, TypeVar

from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    stop_after_delay,
    stop_all,
    wait_exponential,
)

from benchbook.errors import ConnectionLost, HostUnreachable

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost

T = TypeVar("T")


def patient(host: RemoteHost) -> Retrying:
    """Calls what it is given, again where it raises ConnectionLost. Raises HostUnreachable after the lease."""

    def give_up(state: RetryCallState) -> NoReturn:
        problem = state.outcome.exception() if state.outcome else None
        raise HostUnreachable(f"host {host.name} is unreachable, for longer than its lease: {problem}") from problem

    return Retrying(
        retry=retry_if_exception_type(ConnectionLost),
        # Twice at least: a driver that was itself stopped for longer finds its connection gone, and not the host.
        stop=stop_all(stop_after_attempt(2), stop_after_delay(host.inventory.ssh.lease_s)),
        wait=wait_exponential(0.2, max=3),
        retry_error_callback=give_up,
    )


def patiently(step: Callable[[RemoteHost], T]) -> Callable[[RemoteHost], T]:
    """The step on a host, done again where the connection broke; it raises what `patient` does."""

    @wraps(step)
    def again(host: RemoteHost) -> T:
        return patient(host)(step, host)

    return again
