"""Where the time around a trial's load goes: seconds by phase, which its record keeps as `overhead_s`.

    connect    hosts reached, looked at, reserved; programs found and put there: once for a run
    prepare    a data set filled and set aside, where it is not there yet
    stop       the servers of the block before, ended
    restore    the prepared data put in place
    restart    servers started, until they serve
    describe   what serves: its version and settings
    reset      what a trial finds empty: tables, counters, tasks
    warm       a short load, so that the one which counts finds connections open
    probes     probes looked after before the load
    start      the load's job started on its hosts
    wait       from the load's end until the driver knows of it
    settle     what the load has left under way, ended and written
    collect    samples and output read
    prove      what is asked of the system before and after
    figures    output and samples worked out
    check      did anything interfere?
    write      the record that was written before this one
    other      everything else

Only what the driver waits for counts: what is done beside it, in other threads, costs no time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, Literal

Phase = Literal[
    "connect",
    "prepare",
    "stop",
    "restore",
    "restart",
    "describe",
    "reset",
    "warm",
    "probes",
    "start",
    "load",
    "settle",
    "collect",
    "prove",
    "figures",
    "check",
    "write",
]
# Phases of a trial that begins a block: the others of the block find its system up.
BEGINNING: Final = frozenset({"stop", "restore", "restart"})
ONCE: Final = frozenset({"connect", "prepare"})
_DIGITS = 4


@dataclass
class Stopwatch:
    """Counts the seconds of phases; of one inside another, only the inner one has them."""

    clock: Callable[[], float] = time.monotonic
    _since: float = field(init=False)
    _spent: dict[str, float] = field(init=False, default_factory=dict)
    _inside: list[float] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self._since = self.clock()

    @contextmanager
    def phase(self, name: Phase) -> Iterator[None]:
        """The block's seconds are this phase's."""
        began = self.clock()
        self._inside.append(0.0)
        try:
            yield
        finally:
            took = self.clock() - began
            self._spent[name] = self._spent.get(name, 0.0) + took - self._inside.pop()
            if self._inside:
                self._inside[-1] += took

    def lap(self, load_s: float = 0.0) -> dict[str, float]:
        """Seconds by phase since the lap before, and begin anew.

        Of the phase `load` the load itself, `load_s`, is no overhead: what is left of it is the wait for its end. All
        that no phase has is `other`, so that a lap adds up to the wall time.
        """
        now = self.clock()
        spent, self._spent = self._spent, {}
        wall, self._since = now - self._since, now
        waited = max(0.0, spent.pop("load", 0.0) - load_s)
        phases = {**spent, **({"wait": waited} if waited else {})}
        other = max(0.0, wall - load_s - sum(phases.values()))
        return {name: round(seconds, _DIGITS) for name, seconds in {**phases, "other": other}.items()}


_RUNNING: ContextVar[Stopwatch | None] = ContextVar("benchbook_stopwatch", default=None)


@contextmanager
def timed() -> Iterator[Stopwatch]:
    """A stopwatch that `phase` finds, in this thread, while the block runs."""
    watch = Stopwatch()
    before = _RUNNING.set(watch)
    try:
        yield watch
    finally:
        _RUNNING.reset(before)


@contextmanager
def phase(name: Phase) -> Iterator[None]:
    """The block's seconds are this phase's of the trial that is under way; where no run counts them, nothing."""
    if watch := _RUNNING.get():
        with watch.phase(name):
            yield
    else:
        yield


def lap(load_s: float = 0.0) -> dict[str, float]:
    """What the running stopwatch's `lap` says; {} where no run counts."""
    watch = _RUNNING.get()
    return watch.lap(load_s) if watch else {}
