"""Servers of one kind, one on each host of a role, each with a data folder: their jobs, and data that is set aside."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from benchbook.errors import ConnectionLost, HostUnreachable, SystemFailed
from benchbook.hosts.endpoint import at
from benchbook.hosts.fanout import on_each
from benchbook.hosts.jobs import Command, Job
from benchbook.hosts.login_shell import quote
from benchbook.systems.life_signs import await_answer, check_jobs, check_not_killed, died
from benchbook.systems.named_server import NamedServer

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session


# So long a server that crashed may take to write its report, before it is said to hang.
DYING_S = 8.0
# Where the filesystem can, with shared blocks; with holes where there were some, and nowhere else. A redo log is filled
# with zeros beforehand, so that no commit waits for blocks to be found: as a hole it cost MySQL a sixth of its writes.
COPY = ("cp", "-a", "--sparse=auto", "--reflink=auto")
# How data sets are laid out: those of another way are prepared anew.
LAID_OUT = "whole"


class KeptServers(NamedServer, ABC):
    """What they have in common, whatever they are for. Subclasses give the command line and say when one serves."""

    # How long a server whose data is kept may take to write it when it is asked to end.
    ends_within_s: ClassVar[float] = 60.0

    def __init__(self, session: Session) -> None:
        self.session = session
        self.settings = session.inventory.settings(self.name)
        self._jobs: dict[str, Job] = {}

    @property
    def carriers(self) -> list[RemoteHost]:
        """The hosts that carry a server of this kind."""
        return self.session.with_role(self.role_name())

    @property
    def port(self) -> int:
        return int(self.session.inventory.port(self.name) or 0)

    @property
    def status_port(self) -> int:
        """Where it answers about itself; 0 for a server that has no port for that."""
        return int(self.session.inventory.status_port(self.name) or 0)

    def peer(self, host: RemoteHost) -> str:
        """Where the others of its kind reach the one on this host, of those that have a port for that."""
        return f"http://{at(host.address, self.session.inventory.peer_port(self.name))}"

    # -- what a subclass says -----------------------------------------------------------------------------------

    @abstractmethod
    def command(self, host: RemoteHost) -> Command:
        """The server's command line on this host."""

    @abstractmethod
    def knock(self, host: RemoteHost) -> str | None:
        """None when the server on this host serves, else why it does not yet; "denied" where it refuses the login."""

    def create(self, host: RemoteHost) -> None:
        """Make an empty data folder; a server that makes its own needs nothing here."""

    def refused(self, host: RemoteHost) -> None:
        """Called when the server on this host denies the login; returns if the kit is let in now."""
        raise SystemFailed(f"{self.name} on {host.name} refuses the login")

    # -- verbs --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        def begin(host: RemoteHost) -> None:
            host.mkdir(self.data(host))
            self._jobs[host.name] = self.session.start(host, self.folder, self.command(host))

        on_each(f"starting {self.name}", self.carriers, begin)

    def ready(self, *, timeout_s: float = 120.0) -> None:
        """Return once all serve. Raises SystemFailed with a server's last words, or with why it does not serve."""
        on_each(f"waiting for {self.name}", self.carriers, lambda h: self._await(h, timeout_s), timeout=timeout_s + 30)

    def _await(self, host: RemoteHost, timeout_s: float) -> None:
        who = f"{self.name} on {host.name}"
        said = await_answer(who, lambda: self._knock(host), timeout_s=timeout_s, enough=("denied",))
        if said == "denied":
            self.refused(host)

    def _knock(self, host: RemoteHost) -> str | None:
        job = self._jobs[host.name]
        ended = job.status()
        if ended:
            raise died(f"{self.name} on {host.name}", job, ended)
        return self.knock(host)

    def stop(self) -> None:
        """Raises SystemFailed where one had to be killed: its data is then what a crash leaves."""
        hosts = [job.host for job in self._jobs.values()]
        on_each(f"stopping {self.name}", hosts, self._end, timeout=self.ends_within_s + 120)

    def end_at_once(self) -> None:
        """By SIGKILL, for servers that leave nothing on a host but their data: what `discard` may be for them."""
        end = partial(self._end, at_once=True)
        on_each(f"ending {self.name}", [job.host for job in self._jobs.values()], end, timeout=120)

    def _end(self, host: RemoteHost, *, at_once: bool = False) -> None:
        """What could not be ended, for its host is away, is still known as running: it is ended the next time."""
        job = self._jobs[host.name]
        # What ends it is waited for; the login of the next start is made meanwhile.
        host.open_ahead()
        ended = self.session.end(job, at_once=at_once, within_s=0.0 if at_once else self.ends_within_s)
        del self._jobs[host.name]
        job.remove()
        if not at_once:
            check_not_killed(f"{self.name} on {host.name}", ended, within_s=self.ends_within_s)

    def check_alive(self) -> None:
        """Raises SystemFailed when a server has ended although nobody asked it to."""
        check_jobs({f"{self.name} on {name}": job for name, job in self._jobs.items()})

    def check_serving(self) -> None:
        """Raises SystemFailed when a server has ended, or does not answer for DYING_S; not if its host is away."""
        for host in self.carriers:
            if host.name in self._jobs:
                with suppress(ConnectionLost, HostUnreachable):
                    who = f"{self.name} on {host.name}"
                    await_answer(who, partial(self._knock, host), timeout_s=DYING_S, enough=("denied",))

    # -- datasets -----------------------------------------------------------------------------------------------

    @property
    def folder(self) -> str:
        """Its name as that of a folder: what lists paths, or addresses, takes a colon for its own."""
        return self.name.replace(":", "-")

    def data(self, host: RemoteHost) -> str:
        return host.path(self.folder, "data")

    def _dataset(self, host: RemoteHost, identity: str) -> str:
        return host.path(self.folder, "datasets", f"{LAID_OUT}-{identity}")

    def reset(self, dataset: str | None) -> None:
        """With stopped servers: put the dataset of this identity in place, or (None) an empty state."""
        on_each(f"resetting {self.name}", self.carriers, lambda host: self._reset(host, dataset), timeout=3600)

    def _reset(self, host: RemoteHost, dataset: str | None) -> None:
        remove = quote(["rm", "-rf", "--", self.data(host)])
        if dataset is None:
            host.shell(remove, timeout=600)
            host.mkdir(self.data(host))
            self.create(host)
        else:
            copy = quote([*COPY, self._dataset(host, dataset), self.data(host)])
            host.shell(f"{remove} && {copy}", timeout=3600)

    def keep(self, dataset: str) -> None:
        """With stopped servers: set the present state aside as the dataset of this identity."""
        on_each(f"keeping the data of {self.name}", self.carriers, lambda h: self._keep(h, dataset), timeout=3600)

    def _keep(self, host: RemoteHost, dataset: str) -> None:
        target, partial = self._dataset(host, dataset), self._dataset(host, f"{dataset}.partial")
        copy = quote([*COPY, self.data(host), partial])
        host.mkdir(host.path(self.folder, "datasets"))
        # With that of a version that laid it out in another way.
        remove = quote(["rm", "-rf", "--", partial, target, host.path(self.folder, "datasets", dataset)])
        host.shell(f"{remove} && {copy} && {quote(['mv', partial, target])}", timeout=3600)

    def has(self, dataset: str) -> bool:
        """Is the dataset of this identity set aside on every host?"""
        seen = on_each(
            "looking for the dataset",
            self.carriers,
            lambda host: host.run(["test", "-d", self._dataset(host, dataset)], check=False).status == 0,
        )
        return all(seen.values())
