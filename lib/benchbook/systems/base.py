"""The verbs that every system under test answers.

install   put the pinned artefact on its hosts (only if it is not there), or find the installed one
start     start its servers, under supervision; `ready` returns once they serve
reset     go back to a dataset that `keep` has set aside, or to an empty state
stop      end the servers
version, config, endpoints   what it is, how it is set, where it listens
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from benchbook.hosts.remote_host import RemoteHost
from benchbook.hosts.session import Session
from benchbook.profiles import Profile
from benchbook.systems.sql import SqlEndpoint

RETRY_NOTE = "errors 1213, 1020 and 1205 (deadlock, changed record, lock wait) are retried, as by sysbench's default"


@dataclass(frozen=True)
class About:
    """What a system is, for the record and the page; `stand_in_for` names what it replaces here, and how it differs."""

    name: str
    version: str
    title: str
    stand_in_for: str | None = None
    notes: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)


class System(ABC):
    """A system under test on the hosts of a session."""

    name: str
    can_reset = True
    # Server errors after which sysbench's own default is to try again: deadlock, changed record, lock wait timeout. A
    # report's `--mysql-ignore-errors` replaces that default; on tables smaller than the published ones rows collide.
    retried_errors: tuple[int, ...] = (1213, 1020, 1205)

    def __init__(self, session: Session, profile: Profile) -> None:
        self.session, self.profile = session, profile

    @property
    @abstractmethod
    def hosts(self) -> list[RemoteHost]:
        """The hosts that its servers run on; empty for a server that the kit does not run."""

    @abstractmethod
    def install(self) -> None:
        """Raises HostUnusable where a program is missing on a host."""

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def ready(self, *, timeout_s: float = 120.0) -> None:
        """Return once all servers serve.

        Raises SystemFailed with a server's last words, HostUnusable for a wrong password.
        """

    @abstractmethod
    def stop(self) -> None: ...

    @abstractmethod
    def reset(self, dataset: str | None) -> None:
        """With stopped servers: put the dataset of this identity in place, or (None) an empty state."""

    @abstractmethod
    def keep(self, dataset: str) -> None:
        """With stopped servers: set the present state aside as the dataset of this identity."""

    @abstractmethod
    def has(self, dataset: str) -> bool:
        """Is the dataset of this identity set aside on every host?"""

    @abstractmethod
    def about(self) -> About:
        """Version and full configuration, asked of the running servers."""

    @abstractmethod
    def endpoints(self) -> list[SqlEndpoint]: ...

    @property
    @abstractmethod
    def identity(self) -> str:
        """What its stored data depends on: a dataset is reused only by a system with the same identity."""

    def refresh(self, dataset: str | None) -> None:
        """Stop, go back to a dataset, start, and wait until it serves."""
        self.stop()
        self.reset(dataset)
        self.start()
        self.ready()
