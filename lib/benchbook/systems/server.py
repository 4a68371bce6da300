"""A kind of server, its processes on the hosts, and where its program comes from.

A `Service` is what its class declares before any host is known, and how one of its servers is started. `Servers` are
its processes, one on each host of its role, with their data folders. A `ServerProgram` is what they run, where it is
built here or named in the inventory.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import ClassVar

from benchbook.build import programs
from benchbook.errors import BadInput, ConnectionLost, HostUnreachable, HostUnusable, SystemFailed
from benchbook.hosts.agent import Command, Ended, Job
from benchbook.hosts.command_line import quote
from benchbook.hosts.endpoint import at
from benchbook.hosts.fanout import on_each
from benchbook.hosts.file_hashes import file_hash
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.session import Session
from benchbook.systems.health import await_answer, check_jobs, check_not_killed, died

# So long a server that crashed may take to write its report, before it is said to hang.
DYING_S = 8.0
# Where the filesystem can, with shared blocks; with holes where there were some, and nowhere else. A redo log is filled
# with zeros beforehand, so that no commit waits for blocks to be found: as a hole it cost MySQL a sixth of its writes.
COPY = ("cp", "-a", "--sparse=auto", "--reflink=auto")


class Service(ABC):
    """A kind of server, found by name (entry point `benchbook.systems`).

    `role` is the role of its hosts ("" = its name); the ports are where it listens when the inventory does not say;
    `builds` are the folders of env/systems/ that it is built from, or fetched by, and `program_file` what the first
    of them makes; `instead` is the server that takes its place where it cannot be fetched. `versioned` is the one of
    `builds` whose versions are those of it ("" = it has none; see `systems.versions`), and `named_version` the version
    that its name carries ("" = the bare name). `takes` are those of an inventory's `binary`, `settings` and
    `host_settings` that it heeds: the others are refused; `fixed` are settings that the kit gives itself, and an
    inventory must not; with `takes_tables` a setting may be a list of tables, as TOML has them.
    """

    name: str
    role: ClassVar[str] = ""
    default_port: ClassVar[int | None] = None
    default_status_port: ClassVar[int | None] = None
    default_peer_port: ClassVar[int | None] = None
    builds: tuple[str, ...] = ()
    program_file: ClassVar[str] = ""
    instead: ClassVar[str] = ""
    versioned: ClassVar[str] = ""
    named_version: ClassVar[str] = ""
    takes: ClassVar[tuple[str, ...]] = ("binary", "settings")
    fixed: ClassVar[frozenset[str]] = frozenset()
    takes_tables: ClassVar[bool] = False
    # Which of "port", "status_port" and "peer_port" need no login.
    ports_without_login: ClassVar[tuple[str, ...]] = ()
    # How many ports right above `port` it listens at as well.
    ports_above: ClassVar[int] = 0
    # Seconds that a server whose data is kept may take to write it when it is asked to end.
    ends_within_s: ClassVar[float] = 60.0
    # Whether what it writes is part of a dataset.
    keeps_data: ClassVar[bool] = True

    def __init__(self, session: Session) -> None:
        self.session = session
        self.settings = session.inventory.settings(self.name)
        self.servers, self.program = Servers(self), ServerProgram(self)

    @classmethod
    def role_name(cls) -> str:
        """Return the role that its hosts carry in an inventory."""
        return cls.role or cls.name

    @classmethod
    def roles(cls) -> tuple[str, ...]:
        """Return every role that an inventory must have for it, its own first."""
        return (cls.role_name(),)

    @classmethod
    def builds_for(cls, inventory: Inventory) -> tuple[str, ...]:
        """Return those of `builds` that are needed for this inventory: it may name programs that its hosts have."""
        return cls.builds

    @classmethod
    def check_settings(cls, inventory: Inventory) -> None:
        """Raise BadInput where the inventory sets what the kit sets itself, or what no such server can be given."""
        for name, value in inventory.settings(cls.name).settings.items():
            key = f"systems.{cls.name}.settings.{name}"
            if name.replace("-", "_") in cls.fixed:
                said = f"the kit itself gives {cls.name} this setting"
                raise BadInput(said, file=inventory.file, key=key, value=value, fix="remove it")
            if not cls.takes_tables and isinstance(value, list) and any(isinstance(one, dict) for one in value):
                said, fix = f"{cls.name} takes no list of tables", "write a text, a number or a list of texts"
                raise BadInput(said, file=inventory.file, key=key, value=value, fix=fix)

    @property
    def server_settings(self) -> Mapping[str, object]:
        """What the inventory sets of the server itself, by the names of its own documentation."""
        return self.settings.settings

    def settings_on(self, host: Host) -> Mapping[str, object]:
        """Return the server's settings on this host: those of all, and over them its own."""
        return {**self.server_settings, **self.settings.host_settings.get(host.name, {})}

    @property
    def own_hosts(self) -> list[Host]:
        """The hosts that carry a server of this kind."""
        return self.session.with_role(self.role_name())

    @property
    def folder(self) -> str:
        """Its name as that of a folder: what lists paths, or addresses, takes a colon for its own."""
        return self.name.replace(":", "-")

    @property
    def port(self) -> int:
        return int(self.session.inventory.port(self.name) or 0)

    @property
    def status_port(self) -> int:
        """Where it answers about itself; 0 for a server that has no port for that."""
        return int(self.session.inventory.port(self.name, "status_port") or 0)

    def peer(self, host: Host) -> str:
        """Return the URL by which others of its kind reach the one on this host, where there is a port for that."""
        return f"http://{at(host.address, self.session.inventory.port(self.name, 'peer_port'))}"

    def data(self, host: Host) -> str:
        """Return the path of its data folder on this host."""
        return host.path(self.folder, "data")

    # -- what a subclass says -----------------------------------------------------------------------------------

    @abstractmethod
    def command(self, host: Host) -> Command:
        """Return the server's command line on this host, with everything secret in a file."""

    @abstractmethod
    def knock(self, host: Host) -> str | None:
        """Return None when the server on this host serves, else why not yet; "denied" where it refuses the login."""

    def install(self) -> None:
        """Do `install_on` on each of its hosts."""
        on_each(f"installing {self.name}", self.own_hosts, self.install_on, timeout=600)

    def install_on(self, host: Host) -> None:
        """Find its program on this host, or put it there. Raise HostUnusable where it is missing, NotBuilt."""
        self.program.on(host)

    def create(self, host: Host) -> None:
        """Make an empty data folder ready; a server that does so itself needs nothing here."""
        return None

    def refused(self, host: Host) -> None:
        """Let the kit in where the server on this host denies the login, or raise."""
        raise SystemFailed(f"{self.name} on {host.name} refuses the login")

    def ask_to_end(self, host: Host, job: Job, *, at_once: bool) -> bool:
        """Ask its running server in a way of its own to end; False where a signal does.

        `at_once`: nothing of what it holds is wanted. One that must not be killed is asked all the same.
        """
        return False


class Servers:
    """The servers of one service, one on each host of its role: jobs under the session's lease, and data folders."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.jobs: dict[str, Job] = {}

    def start(self) -> None:
        """Start the one on each host."""
        on_each(f"starting {self.service.name}", self.service.own_hosts, self.start_on)

    def start_on(self, host: Host) -> None:
        service = self.service
        host.mkdir(service.data(host))
        self.jobs[host.name] = service.session.start(host, service.folder, service.command(host))

    def ready(self, *, timeout_s: float = 120.0) -> None:
        """Return once all serve. Raise SystemFailed with a server's last words, or with why it does not serve."""
        service, await_one = self.service, partial(self.await_on, timeout_s=timeout_s)
        on_each(f"waiting for {service.name}", service.own_hosts, await_one, timeout=timeout_s + 30)

    def await_on(self, host: Host, *, timeout_s: float = 120.0) -> None:
        knock = partial(self._knock, host)
        if await_answer(self._who(host), knock, timeout_s=timeout_s, enough=("denied",)) == "denied":
            self.service.refused(host)

    def _who(self, host: Host) -> str:
        return f"{self.service.name} on {host.name}"

    def _knock(self, host: Host) -> str | None:
        job = self.jobs[host.name]
        if ended := job.status():
            raise died(self._who(host), job, ended)
        return self.service.knock(host)

    def stop(self) -> None:
        """End all. Raise SystemFailed where one had to be killed: its data is then what a crash leaves."""
        timeout = self.service.ends_within_s + 120
        on_each(f"stopping {self.service.name}", self._running_hosts(), self._end, timeout=timeout)

    def kill(self) -> None:
        """End all by SIGKILL, or, where one must not be killed, as fast as it can."""
        on_each(f"ending {self.service.name}", self._running_hosts(), partial(self._end, at_once=True), timeout=120)

    def crash(self, host: Host) -> Ended:
        """End the one on this host as a crash does (SIGKILL to its process group); return how it ended."""
        ended = self._end(host, at_once=True)
        assert ended, "it was asked to end"
        return ended

    def _running_hosts(self) -> list[Host]:
        return [job.host for job in self.jobs.values()]

    def _end(self, host: Host, *, at_once: bool = False) -> Ended | None:
        """One that could not be ended, for its host is away, is still known as running: it is ended the next time."""
        service, job = self.service, self.jobs[host.name]
        if service.ask_to_end(host, job, at_once=at_once):
            at_once = False
        # What ends it is waited for; the login of the next start is made meanwhile.
        ended = service.session.end(job, at_once=at_once, within_s=0.0 if at_once else service.ends_within_s)
        del self.jobs[host.name]
        job.remove()
        if not at_once:
            check_not_killed(self._who(host), ended, within_s=service.ends_within_s)
        return ended

    def check_alive(self) -> None:
        """Raise SystemFailed when one has ended although nobody asked it to."""
        check_jobs({f"{self.service.name} on {name}": job for name, job in self.jobs.items()})

    def check_serving(self) -> None:
        """Raise SystemFailed when one has ended, or does not answer for DYING_S; not if its host is away."""
        for host in self._running_hosts():
            with suppress(ConnectionLost, HostUnreachable):
                await_answer(self._who(host), partial(self._knock, host), timeout_s=DYING_S, enough=("denied",))

    # -- datasets -----------------------------------------------------------------------------------------------

    def _dataset(self, host: Host, dataset: str) -> str:
        return host.path(self.service.folder, "datasets", dataset)

    def reset(self, dataset: str | None) -> None:
        """With stopped servers: put the dataset of this identity in place, or (None) an empty state."""
        service = self.service

        def put(host: Host) -> None:
            remove = quote(["rm", "-rf", "--", service.data(host)])
            if dataset is None:
                host.run(remove, timeout=600)
                host.mkdir(service.data(host))
                service.create(host)
            else:
                copy = quote([*COPY, self._dataset(host, dataset), service.data(host)])
                host.run(f"{remove} && {copy}", timeout=3600)

        on_each(f"resetting {service.name}", service.own_hosts, put, timeout=3600)

    def keep(self, dataset: str) -> None:
        """With stopped servers: set the present state aside as the dataset of this identity."""
        service = self.service

        def set_aside(host: Host) -> None:
            target, unfinished = self._dataset(host, dataset), self._dataset(host, f"{dataset}.partial")
            host.mkdir(host.path(service.folder, "datasets"))
            remove, copy = (
                quote(["rm", "-rf", "--", unfinished, target]),
                quote([*COPY, service.data(host), unfinished]),
            )
            host.run(f"{remove} && {copy} && {quote(['mv', unfinished, target])}", timeout=3600)

        on_each(f"keeping the data of {service.name}", service.own_hosts, set_aside, timeout=3600)

    def has(self, dataset: str) -> bool:
        """Return whether the dataset of this identity is set aside on every host."""

        def there(host: Host) -> bool:
            return host.run(["test", "-d", self._dataset(host, dataset)], check=False).exited == 0

        return all(on_each("looking for the dataset", self.service.own_hosts, there).values())


class ServerProgram:
    """The program of a service: the inventory's `binary`, a path on every host of it, else what is built here."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._paths: dict[str, str] = {}
        self._hashes: set[str] = set()

    @property
    def built(self) -> bool:
        """Whether it is ours to build."""
        return self.service.settings.binary is None

    def on(self, host: Host) -> str:
        """Return its absolute path on this host, put there if need be.

        Raise NotBuilt, or HostUnusable where the host has no such program.
        """
        if host.name not in self._paths:
            self._paths[host.name] = self._pushed(host) if self.built else self._taken(host)
        return self._paths[host.name]

    def identity(self) -> str:
        """Return what tells one version of it from another: a hash of the programs of all hosts that it is on."""
        return hashlib.sha256(" ".join(sorted(self._hashes)).encode()).hexdigest()[:12]

    def _pushed(self, host: Host) -> str:
        service = self.service
        if not (service.builds and service.program_file):
            said = f"{type(service).__name__} does not say how its program comes to the hosts"
            fix = "give it `builds` and `program_file`, or `install_on`; or name the path on its hosts as `binary`"
            raise BadInput(said, file=host.inventory.file, key=f"systems.{service.name}", fix=fix)
        made = programs.artefact(service.builds[0]) / service.program_file
        self._hashes.add(file_hash(made))
        return host.push(made, executable=True)

    def _taken(self, host: Host) -> str:
        # A path without a slash in front begins at the login's home, as TiUP's do; jobs run elsewhere.
        named = self.service.settings.binary
        path = host.run(["readlink", "-e", "--", named], check=False).stdout.strip()
        if not path or host.run(["test", "-f", path, "-a", "-x", path], check=False).exited != 0:
            said = f"there is no such program on host {host.name}"
            fix = "give the path of the program on its hosts, as in /home/tidb/deploy/tikv-20160/bin/tikv-server"
            key = f"systems.{self.service.name}.binary"
            raise HostUnusable(said, file=host.inventory.file, key=key, value=named, fix=fix)
        self._hashes.add(host.run(["sha256sum", path], timeout=300).stdout.split()[0])
        return path
