"""What the HTTP servers beside a database have in common: one process on one host, known by a path that answers 200."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from benchbook.build import programs
from benchbook.hosts.endpoint import Endpoint, at
from benchbook.hosts.http import UNANSWERED, Door
from benchbook.hosts.jobs import Command, Job
from benchbook.systems.base import About
from benchbook.systems.life_signs import await_answer, check_jobs, kill
from benchbook.systems.named_server import NamedServer

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session


class HttpServer(NamedServer, ABC):
    """The verbs of a system for a server without data of its own: what it keeps, it keeps in the database `store`."""

    builds = ("dtm",)
    title: str
    program: str
    alive_path: str

    def __init__(self, session: Session, store: Endpoint) -> None:
        self.session, self.store = session, store
        self.port = int(session.inventory.port(self.name) or self.default_port or 0)
        self._job: Job | None = None

    @property
    def host(self) -> RemoteHost:
        return self.session.with_role(self.role_name())[0]

    @property
    def door(self) -> Door:
        """Its HTTP port, seen from its own host."""
        return Door(self.host, self.host.address, self.port)

    @property
    def url(self) -> str:
        return f"http://{at(self.host.address, self.port)}"

    @abstractmethod
    def command(self) -> Command:
        """Its command line, with everything secret in a file."""

    @abstractmethod
    def version(self) -> str:
        """Asked of the running server."""

    def notes(self) -> tuple[str, ...]:
        """Sentences for the page."""
        return ()

    @property
    def binary(self) -> Path:
        return programs.artefact("dtm") / self.program

    def install(self) -> None:
        self.host.push(self.binary, executable=True)

    def start(self) -> None:
        self._job = self.session.start(self.host, self.name, self.command())

    def ready(self, *, timeout_s: float = 60.0) -> None:
        """Return once it serves. Raises SystemFailed with its last words."""
        await_answer(f"{self.name} on {self.host.name}", self._knock, timeout_s=timeout_s)

    def _knock(self) -> str | None:
        self.check_alive()
        try:
            answer = self.door.ask(self.alive_path, timeout=5)
        except UNANSWERED as problem:
            return repr(problem)
        return None if answer.status == 200 else f"{answer.status} {answer.body.strip()[:200]}"

    def check_alive(self) -> None:
        """Raises SystemFailed when it has ended although nobody asked it to."""
        check_jobs({f"{self.name} on {self.host.name}": self._job} if self._job else {})

    def kill(self) -> None:
        """End it as a crash does (SIGKILL to its process group); `start` may follow."""
        if self._job is None:
            return
        kill(self._job)
        self.stop()

    def stop(self) -> None:
        if self._job is not None:
            self.host.open_ahead()
            self.session.end(self._job)
            self._job.remove()
            self._job = None

    def about(self) -> About:
        """Version, command line and environment; nothing secret is in either."""
        command = self.command()
        config = {"command": " ".join(str(word) for word in command.argv), "environment": dict(command.env)}
        return About(self.name, self.version(), self.title, None, self.notes(), (self.host.name,), config)
