"""Who starts, uses and stops hosts of a lab: locks by door (address:port), whatever checkout or inventory leads there.

Two files per door, in the place of reservations (`remote/agent.py`): one is held alone while hosts are started or
stopped there, the other is shared by all drivers that use them. The operating system lets go of both when their
process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from benchbook.errors import BenchbookError, writing
from benchbook.hosts.remote import agent

# A lab of many hosts, each with jobs to be ended, is stopped within this; and one is waited for that was just begun.
CHANGE_S, USE_S = 90.0, 30.0


class DoorLocked(BenchbookError):
    """Somebody else has been starting or stopping a lab's hosts for longer than that takes."""


@contextmanager
def changing(doors: Iterable[str]) -> Iterator[None]:
    """Alone with these doors: nobody else starts or stops hosts there. Raises DoorLocked."""
    with ExitStack() as held:
        for door in sorted(doors):
            handle = held.enter_context(_opened(door, "change"))
            if not _within(CHANGE_S, partial(_locked, handle, fcntl.LOCK_EX)):
                raise DoorLocked(
                    f"another driver has been starting or stopping the lab host at {door} for {CHANGE_S:g} s. "
                    "Fix: end it (`benchbook lab status` says whose labs run), and run the same again"
                )
        yield


@contextmanager
def using(doors: Iterable[str]) -> Iterator[None]:
    """One of those who use the hosts at these doors. To be entered and left while `changing`."""
    with ExitStack() as held:
        for door in sorted(doors):
            fcntl.flock(held.enter_context(_opened(door, "use")), fcntl.LOCK_SH)
        yield


def unused(doors: Iterable[str], *, within_s: float = 0.0) -> bool:
    """Whether nobody uses the hosts at these doors, or has ceased to within so many seconds."""
    known = list(doors)
    return _within(within_s, lambda: all(map(_is_unused, known)))


def _is_unused(door: str) -> bool:
    with _opened(door, "use") as handle:
        return _locked(handle, fcntl.LOCK_EX)


@contextmanager
def _opened(door: str, what: str) -> Iterator[int]:
    place = Path(agent.PLACE)
    with writing(place):
        try:
            agent.own_folder(str(place))
        except agent.Trouble as problem:
            raise BenchbookError(f"{problem}. Fix: remove it") from problem
        name = re.sub(r"[^\w.:-]", "_", door)
        # Not handed on to the hosts that are started meanwhile (PEP 446).
        handle = os.open(place / f"lab-{name}.{what}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield handle
    finally:
        os.close(handle)


def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    patient = Retrying(
        retry=retry_if_result(lambda came: not came),
        stop=stop_after_delay(seconds),
        wait=wait_fixed(0.05),
        retry_error_callback=lambda state: False,
    )
    came: bool = patient(condition)
    return came


def _locked(handle: int, how: int) -> bool:
    try:
        fcntl.flock(handle, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
