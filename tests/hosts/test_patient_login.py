"""Logging in: refused at once the first time; once it worked, again and again for as long as the lease."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import cast

import fabric
import pytest

from benchbook.errors import ConnectionLost, HostUnreachable, HostUnusable
from benchbook.hosts.agent import Job
from benchbook.hosts.patient_login import PatientLogin

OPEN = cast(fabric.Connection, object())


class Door:
    """Answers or refuses; its clock moves by the pauses alone."""

    def __init__(self) -> None:
        self.now, self.back_at, self.tries = 0.0, 0.0, 0

    def __call__(self) -> fabric.Connection:
        self.tries += 1
        if self.now < self.back_at:
            raise HostUnusable("the host cannot be reached by SSH (refused)", key="hosts.db1", value="127.0.0.1:22")
        return OPEN

    def pause(self, seconds: float) -> None:
        self.now += seconds

    def login(self) -> PatientLogin:
        return PatientLogin("db1", self, 20.0, clock=lambda: self.now, pause=self.pause)


def test_the_first_refusal_is_the_user_s_to_mend() -> None:
    door = Door()
    door.back_at = 1.0
    with pytest.raises(HostUnusable, match="cannot be reached"):
        door.login().open()
    assert door.tries == 1


def test_a_host_that_was_there_is_waited_for() -> None:
    door = Door()
    login = door.login()
    assert login.open() is OPEN
    door.back_at = 19.0
    assert login.open() is OPEN
    assert 19 <= door.now < 21


def test_a_host_that_stays_away_is_unreachable_after_the_lease_and_then_holds_nobody_up() -> None:
    door = Door()
    login = door.login()
    login.open()
    door.back_at = 1000.0
    with pytest.raises(HostUnreachable, match=r"host db1 is unreachable, for longer than its lease of 20 s: .*refused"):
        login.open()
    assert 20 <= door.now < 23
    tries, then = door.tries, door.now
    with pytest.raises(HostUnreachable):
        login.open()
    assert (door.tries, door.now) == (tries + 1, then)
    door.now = 1000.0
    assert login.open() is OPEN
    door.back_at = 1015.0
    assert login.open() is OPEN, "the patience is a whole lease again"


class Woken:
    """A host whose connection died while this driver was stopped for longer than its lease: the next one works."""

    name, inventory = "db1", SimpleNamespace(ssh=SimpleNamespace(lease_s=0.0))

    def __init__(self) -> None:
        self.broken = True

    def read(self, path: str, *, offset: int = 0) -> bytes:
        if self.broken:
            self.broken = False
            raise ConnectionLost("broken")
        ended = {"reason": "exited", "exit": 0, "signal": None, "started": 1.0, "ended": 2.0}
        return json.dumps(ended).encode() if path.endswith("status.json") else b""


def test_a_driver_that_was_stopped_itself_asks_again_before_it_says_that_the_host_is_away() -> None:
    job = Job(Woken(), "/jobs/load-1", [], 1, "1", 3.0)  # type: ignore[arg-type]
    assert job.wait().reason == "exited"
