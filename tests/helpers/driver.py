"""A driver as small as one can be, as a process: reserves hosts, and does what it is told, word by word."""

from __future__ import annotations

import os
from multiprocessing.connection import Connection
from typing import Any

from forked import NURSERY
from kit import PATIENCE_S, Home

from benchbook.errors import BenchbookError
from benchbook.hosts import reservation
from benchbook.hosts.agent import Command, Job
from benchbook.hosts.inventory import load_inventory
from benchbook.hosts.session import Session


class Driver:
    """A driver of the checkout `home`. It says `reserved`, then waits for words:

    `load` starts a job on each host, `wait` waits for the first job's end, `leave` ends it all. `elsewhere`: its
    reservation reads as if made on another machine.
    """

    def __init__(self, home: Home, inventory: str, hosts: str, *, elsewhere: bool = False) -> None:
        self._line, there = NURSERY.Pipe()
        words = (there, home.environment, inventory, hosts, elsewhere)
        self.process = NURSERY.Process(target=_drive, args=words)
        self.process.start()
        there.close()

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def hear(self) -> str:
        """What it says next."""
        assert self._line.poll(PATIENCE_S), "it says nothing"
        return str(self._line.recv())

    def tell(self, word: str) -> None:
        self._line.send(word)

    def loading(self) -> Driver:
        assert self.hear() == "reserved"
        self.tell("load")
        assert self.hear() == "loading"
        return self

    def leave(self) -> int:
        """Its exit status, after it was told to leave."""
        if self.process.is_alive():
            self.tell("leave")
        return self.status()

    def status(self) -> int:
        self.process.join(PATIENCE_S)
        assert self.process.exitcode is not None
        return self.process.exitcode

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


def _drive(
    line: Connection[Any, Any], environment: dict[str, str], inventory: str, hosts: str, elsewhere: bool
) -> None:
    os.environ.update(environment)
    if elsewhere:
        reservation.boot_id = lambda: "another machine's"
    try:
        with Session(load_inventory(inventory), hosts.split(",")) as session:
            line.send("reserved")
            _obey(line, session)
    except BenchbookError as problem:
        line.send(str(problem))
        raise SystemExit(problem.exit_status) from problem


def _obey(line: Connection[Any, Any], session: Session) -> None:
    jobs: list[Job] = []
    while (word := line.recv()) != "leave":
        if word == "load":
            load = Command(["sleep", "300"], timeout_s=300, grace_s=0.5)
            jobs += [session.start(host, "load", load) for host in session.hosts.values()]
            line.send("loading")
        else:
            line.send(jobs[0].wait().from_outside("load"))
