"""What the servers that the kit starts have in common, whatever they speak: jobs, readiness, datasets set aside."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from benchbook.errors import HostUnusable
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.fanout import on_each
from benchbook.hosts.jobs import Command, Job
from benchbook.hosts.login_shell import quote
from benchbook.profiles import Profile
from benchbook.systems.base import About, System, await_answer, died

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session


class DataServer(System):
    """A server with a data folder on each of its hosts. Subclasses give its command line and say when it serves."""

    title: str
    stand_in_for: str | None = None

    def __init__(self, session: Session, profile: Profile) -> None:
        super().__init__(session, profile)
        self.settings = session.inventory.settings(self.name)
        self.password = self.settings.password(f"systems.{self.name}")
        self._jobs: dict[str, Job] = {}

    @property
    def hosts(self) -> list[RemoteHost]:
        return self.session.with_role(self.role_name())

    @property
    def port(self) -> int:
        return int(self.session.inventory.port(self.name) or 0)

    def endpoint(self, host: RemoteHost) -> Endpoint:
        """Where its server on this host listens."""
        return Endpoint(host.address, self.port, self.settings.user, self.password, protocol=self.protocol)

    def endpoints(self) -> list[Endpoint]:
        return [self.endpoint(host) for host in self.hosts]

    # -- what a subclass says -----------------------------------------------------------------------------------

    @abstractmethod
    def command(self, host: RemoteHost) -> Command:
        """The server's command line on this host."""

    @abstractmethod
    def knock(self, host: RemoteHost) -> str | None:
        """None when the server on this host serves, else why it does not yet; "denied" where it refuses the login."""

    @abstractmethod
    def version(self) -> str:
        """Asked of the running servers."""

    @abstractmethod
    def variables(self) -> dict[str, str]:
        """Its whole configuration, asked of the running servers."""

    def create(self, host: RemoteHost) -> None:
        """Make an empty data folder; a server that makes its own needs nothing here."""

    def refused(self, host: RemoteHost) -> None:
        """Called when the server on this host denies the login; returns if the kit is let in now."""
        raise wrong_password(self.session.inventory.file, f"systems.{self.name}", self.endpoint(host))

    def notes(self) -> tuple[str, ...]:
        """Sentences for the page on how this system differs from what was published."""
        return ()

    # -- verbs --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        def begin(host: RemoteHost) -> None:
            host.mkdir(self.data(host))
            self._jobs[host.name] = self.session.start(host, self.name, self.command(host))

        on_each(f"starting {self.name}", self.hosts, begin)

    def ready(self, *, timeout_s: float = 120.0) -> None:
        on_each(f"waiting for {self.name}", self.hosts, lambda h: self._await(h, timeout_s), timeout=timeout_s + 30)

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
        on_each(f"stopping {self.name}", [job.host for job in self._jobs.values()], self._end, timeout=120)

    def _end(self, host: RemoteHost) -> None:
        """What could not be ended, for its host is away, is still known as running: it is ended the next time."""
        job = self._jobs[host.name]
        self.session.end(job)
        del self._jobs[host.name]
        job.remove()

    def check_alive(self) -> None:
        """Raises SystemFailed when a server has ended although nobody asked it to."""
        for name, job in self._jobs.items():
            ended = job.status()
            if ended:
                raise died(f"{self.name} on {name}", job, ended)

    # -- datasets -----------------------------------------------------------------------------------------------

    def data(self, host: RemoteHost) -> str:
        return host.path(self.name, "data")

    def _dataset(self, host: RemoteHost, identity: str) -> str:
        return host.path(self.name, "datasets", identity)

    def reset(self, dataset: str | None) -> None:
        on_each(f"resetting {self.name}", self.hosts, lambda host: self._reset(host, dataset), timeout=3600)

    def _reset(self, host: RemoteHost, dataset: str | None) -> None:
        host.run(["rm", "-rf", "--", self.data(host)], timeout=600)
        if dataset is None:
            host.mkdir(self.data(host))
            self.create(host)
        else:
            # Sparse and, where the filesystem can, shared blocks: a restore costs what differs, not what is there.
            copy = ["cp", "-a", "--sparse=always", "--reflink=auto", self._dataset(host, dataset), self.data(host)]
            host.run(copy, timeout=3600)

    def keep(self, dataset: str) -> None:
        on_each(f"keeping the data of {self.name}", self.hosts, lambda host: self._keep(host, dataset), timeout=3600)

    def _keep(self, host: RemoteHost, dataset: str) -> None:
        target, partial = self._dataset(host, dataset), self._dataset(host, f"{dataset}.partial")
        copy = quote(["cp", "-a", "--sparse=always", "--reflink=auto", self.data(host), partial])
        host.mkdir(host.path(self.name, "datasets"))
        host.shell(
            f"{quote(['rm', '-rf', '--', partial, target])} && {copy} && {quote(['mv', partial, target])}", timeout=3600
        )

    def has(self, dataset: str) -> bool:
        seen = on_each(
            "looking for the dataset",
            self.hosts,
            lambda host: host.run(["test", "-d", self._dataset(host, dataset)], check=False).status == 0,
        )
        return all(seen.values())

    # -- what it is ---------------------------------------------------------------------------------------------

    def about(self) -> About:
        command = " ".join(str(word) for word in self.command(self.hosts[0]).argv)
        return About(
            self.name,
            self.version(),
            self.title,
            self.stand_in_for,
            self.notes(),
            tuple(host.name for host in self.hosts),
            {"command": command, "variables": self.variables()},
        )


def wrong_password(file: object, key: str, endpoint: Endpoint) -> HostUnusable:
    """The error for a login that the server denies."""
    return HostUnusable(
        f"the database at {endpoint} refuses the login",
        file=file,
        key=f"{key}.user",
        value=endpoint.user,
        fix="correct the password in the environment variable or file that password_env / password_file names",
    )
