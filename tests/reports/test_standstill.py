"""A wait in which nothing moves: when it ends, and what may be as slow as it likes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from kit import TESTS

from benchbook.errors import SystemFailed, WorkloadFailed
from benchbook.hosts.agent import Job
from benchbook.reports import driving
from benchbook.reports.driving import StallDetector
from benchbook.reports.transfer import copying
from benchbook.reports.transfer.copying import CopyWatch
from benchbook.reports.transfer.engines import Ddt, Engine, Mongodump, Pymongo


class Clock:
    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    for module in (driving, copying):
        monkeypatch.setattr(module, "time", found)
    return found


def _seen_until(clock: Clock, weigh: Callable[[], int], see: Callable[[float], object], until: float) -> None:
    patience = StallDetector("the task", 10, weigh)
    while clock.now < until:
        patience.see(see(clock.now))
        clock.now += 1


def test_it_ends_when_neither_what_is_seen_nor_what_is_weighed_changes(clock: Clock) -> None:
    with pytest.raises(WorkloadFailed, match=r"^the task has not moved for 10 s: unit Dump$"):
        _seen_until(clock, lambda: 7, lambda _: "unit Dump", 1000)
    assert clock.now == 20  # weighed at 10 s, and the same at 20 s


def test_a_dump_that_tells_nothing_but_grows_may_take_as_long_as_it_likes(clock: Clock) -> None:
    _seen_until(clock, lambda: int(clock.now), lambda _: "unit Dump", 1000)
    assert clock.now == 1000


def test_weights_of_two_standstills_are_not_compared(clock: Clock) -> None:
    with pytest.raises(WorkloadFailed, match=r"b$"):
        _seen_until(clock, lambda: 7, lambda now: "a" if now < 15 else "b", 1000)
    assert clock.now == 35  # a weighed at 10; b seen at 15, weighed at 25, and the same at 35


# -- a transfer ------------------------------------------------------------------------------------------------------


@dataclass
class Told:
    """A job of a transfer with what it has told so far, by file, and a server beside it."""

    folder = "/j"
    files: dict[str, str] = field(default_factory=dict)
    asked: int = 0
    dead: bool = False

    @property
    def host(self) -> Told:
        return self

    def read(self, path: str, *, offset: int = 0) -> bytes:
        return self.files.get(path.removeprefix("/j/"), "").encode()[offset:]

    def check_alive(self) -> None:
        self.asked += 1
        if self.dead:
            raise SystemFailed("mongo:source on source has died")


def _engine(kind: type[Engine]) -> Engine:
    return kind.__new__(kind)


def _samples(documents: int) -> str:
    return json.dumps({"t": 1.0, "documents": documents, "rate": 0.0}) + "\n"


def _ddt(documents: int) -> str:
    line = f"number of bars written:{documents},time cost:9s,average write speed:129 per/s"
    return f"2023-12-06 10:00:00.000 [x] com - INFO  -- mongoTask_full {line}\n"


def _mongodump(documents: int) -> str:
    return f"2024-07-01T10:00:00.000+0000\tddt.c00  {documents}\n"


@pytest.mark.parametrize(
    ("kind", "file", "line", "last"),
    [
        (Pymongo, "samples", _samples, "40 documents"),
        (Ddt, "stdout", _ddt, "40 documents"),
        (Mongodump, "stderr", _mongodump, "ddt.c00  40"),
    ],
)
def test_a_transfer_that_stands_still_ends(clock: Clock, kind: type[Engine], file: str, line: Any, last: str) -> None:
    job = Told()
    watch = CopyWatch(_engine(kind), cast(Job, job), [job], 30, lambda: 7, 50)

    def copy() -> None:
        while clock.now < 1000:
            # It copies for 40 s; then it goes on telling the same, as all three do.
            job.files[file] = job.files.get(file, "") + line(min(40, int(clock.now)))
            watch()
            clock.now += 0.5

    with pytest.raises(WorkloadFailed, match=rf"^the transfer by {kind.name} has not moved for 30 s: {last}$"):
        copy()
    assert 100 <= clock.now <= 106, "30 s after its last document the target is weighed, and 30 s after that"


def test_a_transfer_that_tells_nothing_may_take_as_long_as_its_target_grows(clock: Clock) -> None:
    job = Told()
    watch = CopyWatch(_engine(Ddt), cast(Job, job), [job], 30, lambda: int(clock.now), 50)
    while clock.now < 500:
        watch()
        clock.now += 0.5
    assert job.asked == pytest.approx(500 / 2, abs=1), "its servers are asked every 2 s, however often it is called"


REAL = TESTS / "transfer" / "ddt_logs"


@pytest.mark.parametrize(("documents", "end"), [(60_000, 600), (70_000, 60)])
def test_once_all_is_copied_ddt_may_idle_as_long_as_it_is_known_to(clock: Clock, documents: int, end: float) -> None:
    job = Told({"stdout": (REAL / "success.log").read_text()})
    watch = CopyWatch(_engine(Ddt), cast(Job, job), [], 30, lambda: 7, documents)

    def idle() -> None:
        while clock.now < 1000:
            watch()
            clock.now += 10

    with pytest.raises(WorkloadFailed, match=r": 60000 documents$"):
        idle()
    assert clock.now == end


def test_a_server_that_dies_under_a_transfer_ends_it_at_once(clock: Clock) -> None:
    job = Told()
    watch = CopyWatch(_engine(Ddt), cast(Job, job), [job], 300, lambda: 0, 50)
    watch()
    clock.now, job.dead = 2.0, True
    with pytest.raises(SystemFailed, match="mongo:source on source has died"):
        watch()
