"""Jobs whose end is heard, and logins that are opened ahead: what is waited for, and what is not."""

from __future__ import annotations

import json
import queue
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from benchbook.errors import ConnectionLost, HostUnusable, RemoteFailed
from benchbook.hosts import open_command, spare_login
from benchbook.hosts.open_command import OpenCommand
from benchbook.hosts.spare_login import SpareLogin

ENDED = {"reason": "exited", "exit": 0, "signal": None, "started": 1.0, "ended": 2.0}


class Running:
    """A host on which a job prints a line a look, and ends when `over` is set; it is looked at `looks` times."""

    name, inventory = "db1", SimpleNamespace(ssh=SimpleNamespace(lease_s=5.0))

    def __init__(self) -> None:
        self.over, self.looks = threading.Event(), 0

    def read(self, path: str, *, offset: int = 0) -> bytes:
        if path.endswith("status.json"):
            self.looks += 1
            return json.dumps(ENDED).encode() if self.over.is_set() else b""
        return b"line\n" if offset < 5 * self.looks else b""


# -- commands that are heard ----------------------------------------------------------------------------------------


class Printing:
    """The channel of a command that prints `text` and ends with `status`; its transport is gone when it is closed."""

    def __init__(self, text: bytes, status: int, complaint: bytes = b"") -> None:
        self._text, self._status, self._complaint = [text, b""], status, [complaint]

    def recv(self, most: int) -> bytes:
        return self._text.pop(0)

    def recv_exit_status(self) -> int:
        return self._status

    def recv_stderr_ready(self) -> bool:
        return bool(self._complaint)

    def recv_stderr(self, most: int) -> bytes:
        return self._complaint.pop()

    def close(self) -> None:
        raise EOFError


MARK = b"motd\n\x1ebenchbook\x1e\n"


def opened(monkeypatch: pytest.MonkeyPatch, channel: Printing) -> OpenCommand:
    monkeypatch.setattr(OpenCommand, "_begun", lambda *_: channel)
    monkeypatch.setattr(open_command, "hang_up", lambda _: None)
    return OpenCommand(None, None, "db1", ["start"])  # type: ignore[arg-type]


def test_the_first_line_is_the_commands_own_and_hanging_up_twice_is_no_trouble(monkeypatch: pytest.MonkeyPatch) -> None:
    said = opened(monkeypatch, Printing(MARK + b"4711\nmore", 0))
    assert said.first_line(30) == "4711"
    assert said.over.wait(30)
    said.close()


class Late(Printing):
    """It prints once somebody has waited for it."""

    def __init__(self) -> None:
        super().__init__(MARK + b"4711\n", 0)
        self.asked = threading.Event()

    def recv(self, most: int) -> bytes:
        assert self.asked.wait(30)
        return super().recv(most)


def test_a_driver_that_stood_still_waits_for_the_first_line_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    channel, now = Late(), iter(range(0, 10**6, 100))
    said = opened(monkeypatch, channel)

    def woken() -> float:
        # Whoever looks at the clock was stopped for 100 s since; what was sent meanwhile is read only now.
        channel.asked.set()
        return float(next(now))

    monkeypatch.setattr(open_command.time, "monotonic", woken)
    assert said.first_line(30) == "4711"


def test_a_command_that_ends_without_a_word_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RemoteFailed, match="disk full"):
        opened(monkeypatch, Printing(MARK, 1, MARK + b"disk full\n")).first_line(30)


def test_a_connection_that_breaks_before_the_first_word_is_a_lost_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConnectionLost, match="db1: the connection broke during `start`"):
        opened(monkeypatch, Printing(b"", -1)).first_line(30)


# -- logins opened ahead --------------------------------------------------------------------------------------------


class Login:
    """A connection that stands until somebody hangs up."""

    def __init__(self) -> None:
        self.is_connected = True


@pytest.fixture
def hung_up(monkeypatch: pytest.MonkeyPatch) -> list[Login]:
    found: list[Login] = []
    monkeypatch.setattr(spare_login, "hang_up", found.append)
    return found


def test_a_login_is_handed_out_once(hung_up: list[Login]) -> None:
    opened: list[Login] = []

    def attempt() -> Any:
        opened.append(Login())
        return opened[-1]

    spare = SpareLogin(attempt)
    assert spare.take() is None
    spare.open_ahead()
    spare.open_ahead()
    assert spare.take() is opened[0]
    assert (spare.take(), len(opened), hung_up) == (None, 1, [])


def test_one_that_broke_meanwhile_is_not_handed_out(hung_up: list[Login]) -> None:
    broken = Login()
    broken.is_connected = False
    spare = SpareLogin(lambda: broken)  # type: ignore[arg-type, return-value]
    spare.open_ahead()
    assert (spare.take(), hung_up) == (None, [broken])


def test_one_that_does_not_open_is_nobodys_trouble(hung_up: list[Login]) -> None:
    def refuse() -> Any:
        raise HostUnusable("refused", key="hosts.db1")

    spare = SpareLogin(refuse)
    spare.open_ahead()
    assert spare.take() is None


def test_one_on_its_way_is_hung_up_on_when_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    go, there, hung_up = threading.Event(), Login(), queue.Queue[Login]()
    monkeypatch.setattr(spare_login, "hang_up", hung_up.put)

    def slowly() -> Any:
        go.wait(30)
        return there

    spare = SpareLogin(slowly)
    spare.open_ahead()
    spare.close()
    assert hung_up.empty()
    go.set()
    assert hung_up.get(timeout=30) is there
