"""A wait in which nothing moves: when it ends, and what may be as slow as it likes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchbook.errors import WorkloadFailed
from benchbook.reports.dm.standstill import Standstill


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _seen_until(clock: Clock, weigh: Callable[[], int], see: Callable[[float], object], until: float) -> None:
    patience = Standstill("the task", 10, weigh, clock)
    while clock.now < until:
        patience.see(see(clock.now))
        clock.now += 1


def test_it_ends_when_neither_what_is_seen_nor_what_is_weighed_changes() -> None:
    clock = Clock()
    with pytest.raises(WorkloadFailed, match=r"^the task has not moved for 10 s: unit Dump$"):
        _seen_until(clock, lambda: 7, lambda _: "unit Dump", 1000)
    assert clock.now == 20  # weighed at 10 s, and the same at 20 s


def test_what_is_seen_to_move_is_never_weighed() -> None:
    weighed: list[int] = []
    _seen_until(Clock(), lambda: weighed.append(1) or 0, lambda now: now // 9, 1000)
    assert weighed == []


def test_a_dump_that_tells_nothing_but_grows_may_take_as_long_as_it_likes() -> None:
    clock = Clock()
    _seen_until(clock, lambda: int(clock.now), lambda _: "unit Dump", 1000)
    assert clock.now == 1000


def test_weights_of_two_standstills_are_not_compared() -> None:
    clock = Clock()
    with pytest.raises(WorkloadFailed, match=r"b$"):
        _seen_until(clock, lambda: 7, lambda now: "a" if now < 15 else "b", 1000)
    assert clock.now == 35  # a weighed at 10; b seen at 15, weighed at 25, and the same at 35
