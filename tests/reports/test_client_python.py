"""What reads a copy back: held until it is told, and not waited for without end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from benchbook.errors import SystemFailed
from benchbook.hosts.agent import Command, Job
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.reports.transfer import client_python
from mongo_transfer.settings import MongoEndpoint


class NeverEnds:
    """A job of a server that takes the connection and says nothing more."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def leave(self, name: str) -> None:
        self.told.append(name)

    def wait(self, *, on_look: Callable[[], None], **_: Any) -> None:
        while True:
            on_look()


class Sessions:
    def __init__(self, job: NeverEnds) -> None:
        self.job, self.command = job, Command([], timeout_s=0)

    @contextmanager
    def following(self, host: Host, name: str, command: Command) -> Iterator[Job]:
        self.command = command
        yield cast(Job, self.job)


def test_a_copy_that_cannot_be_read_back_is_given_up() -> None:
    job = NeverEnds()
    session = Sessions(job)
    host = cast(Host, SimpleNamespace(inventory=SimpleNamespace(lab=False, programs={})))
    server = MongoEndpoint("mongodb://127.0.0.1:27017/")
    with client_python.reader(cast(Session, session), host, server, within_s=0.01) as read:
        # It is started, and waits for the word that only the reading gives.
        assert list(session.command.argv)[-2:] == ["--when", "{job}/when"]
        assert job.told == []
        with pytest.raises(SystemFailed, match=r"not read back within 0\.01 s"):
            read()
    assert job.told == ["when"]
