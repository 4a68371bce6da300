"""A system under test, and the verbs by which a run drives it.

It is a `Service` (see server.py) and may need others: a cluster has its stores, a pooler the server behind it.

    install   put the pinned programs on its hosts (only if they are not there), or find the installed ones
    start     start its servers, under the session's lease; `ready` returns once they serve
    reset     go back to a dataset that `keep` has set aside, or to an empty state
    stop      end the servers
    version, variables, endpoints   what it is, how it is set, where it listens
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from benchbook.errors import BadInput, HostUnusable, SystemFailed
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.probes import probe_file
from benchbook.probes.probe import Probe, of_file
from benchbook.probes.probe_file import ProbeFile
from benchbook.profiles import Profile
from benchbook.systems import psql, sql
from benchbook.systems.server import Servers, Service
from benchbook.systems.statements import ANSWERED_S

# What a load holds on a server, and a server bounds.
CONNECTIONS, STATEMENTS = "connections", "prepared statements"
# Settings that bound it, by what they bound; of the account itself, `max_user_connections` says what it may have.
_BOUNDS = {"max_connections": CONNECTIONS, "max_user_connections": CONNECTIONS, "max_prepared_stmt_count": STATEMENTS}
# Connections that a server of the kit's own is given beyond those of the load: the kit's, its probes', a user's look.
SPARE = 100


class Dialect(Protocol):
    """What the kit asks of a server by SQL, from a host that can reach it: a module for each protocol."""

    def try_login(self, via: Host, endpoint: Endpoint) -> str | None: ...
    def version(self, via: Host, endpoint: Endpoint) -> str: ...
    def variables(self, via: Host, endpoint: Endpoint) -> dict[str, str]: ...
    def bounds(self, via: Host, endpoint: Endpoint) -> dict[str, int]: ...
    def make_database(self, via: Host, endpoint: Endpoint, database: str) -> None: ...
    def row_counts(
        self, via: Host, endpoint: Endpoint, database: str, tables: Sequence[str], timeout_s: float
    ) -> dict[str, int]: ...


DIALECTS: Mapping[str, Dialect] = {"mysql": sql, "pgsql": psql}


@dataclass(frozen=True)
class About:
    """What a system is, for the record and the page; `stand_in_for` names what it replaces here, and how it differs.

    `fewer` says what of it is one where that has several, and so may bound a rate while its hosts have CPU to spare.
    """

    name: str
    version: str
    title: str
    stand_in_for: str | None = None
    notes: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)
    fewer: str = ""


@dataclass(frozen=True)
class Limit:
    """`most` of `of` (CONNECTIONS, STATEMENTS) on `server`, by its `setting`; `key` and `fix` say how that is raised.

    `own` of them are the kit's: probes hold connections while a load runs. `through`: no more of the load's reach it,
    as from the pool of a pooler that stands before it.
    """

    of: str
    server: str
    setting: str
    most: int
    key: str
    fix: str
    own: int = 0
    through: int | None = None

    def needed(self, held: Mapping[str, int]) -> int:
        """Return how many come to this server of what a load holds on one (of -> how many), and of the kit's own."""
        of_load = held.get(self.of, 0)
        return (of_load if self.through is None else min(of_load, self.through)) + (self.own if of_load else 0)

    def check(self, held: Mapping[str, int], *, file: str) -> None:
        """Raise BadInput where a load holds more."""
        needed = self.needed(held)
        if needed > self.most:
            of_kit = f", {self.own} of them the kit's own," if self.own else ""
            said = f"{needed:,} {self.of}{of_kit} are more than {self.server} takes at once by its {self.setting}"
            fix = f"{self.fix.format(needed=needed)}, or name fewer `threads`"
            raise BadInput(said, file=file, key=self.key, value=self.most, fix=fix)


def wrong_password(file: object, key: str, endpoint: Endpoint) -> HostUnusable:
    """Return the error for a login that a server refuses."""
    said = f"the database at {endpoint} refuses the login"
    fix = "correct the password in the environment variable or file that password_env / password_file names"
    return HostUnusable(said, file=file, key=f"{key}.user", value=endpoint.user, fix=fix)


class System(Service):
    """A system under test on the hosts of a session.

    `protocol` is what its endpoints speak: a load generator says which ones it can drive. Of one that speaks MySQL's or
    PostgreSQL's, the kit knows how to ask it (`sql`, `psql`). `watched_by` names the probes that watch each of its
    servers (entry point `benchbook.probes`, or a file env/probes/NAME.py).
    """

    protocol: ClassVar[str]
    title: str = ""
    stand_in_for: str | None = None
    fewer: str = ""
    watched_by: ClassVar[tuple[str, ...]] = ()
    can_reset: ClassVar[bool] = True
    run_by_kit: ClassVar[bool] = True
    # Server errors, by their numbers, after which a load generator is to try again instead of giving up.
    retried_errors: ClassVar[tuple[int, ...]] = ()
    # Connections that the loads of this run hold to one of its servers at once (`expect`).
    clients: int = 0

    def __init__(self, session: Session, profile: Profile) -> None:
        super().__init__(session)
        self.profile = profile
        self.password = self.settings.password(f"systems.{self.name}")

    # -- what a subclass says -----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def identity(self) -> str:
        """What its stored data depends on: a dataset is reused only by a system with the same identity."""

    def services(self) -> list[Service]:
        """Return the kinds of servers that it is made of, in the order in which they are started."""
        return [self]

    def knock(self, host: Host) -> str | None:
        return self.dialect.try_login(host, self.endpoint(host))

    def version(self) -> str:
        """Ask the running servers for their version."""
        return self.dialect.version(self.via, self.endpoints()[0])

    def variables(self) -> dict[str, str]:
        """Ask the running servers for their whole configuration."""
        return self.dialect.variables(self.via, self.endpoints()[0])

    def notes(self) -> tuple[str, ...]:
        """Return sentences for the page on how this system differs from what was published."""
        return ()

    def refused(self, host: Host) -> None:
        raise wrong_password(self.session.inventory.file, f"systems.{self.name}", self.endpoint(host))

    # -- where it is --------------------------------------------------------------------------------------------

    @property
    def hosts(self) -> list[Host]:
        """The hosts that its servers run on, its own first; empty for a system that the kit does not run."""
        every = (host for service in (self, *self.services()) for host in service.own_hosts)
        return list({host.name: host for host in every}.values())

    @property
    def via(self) -> Host:
        """The host from which its servers are asked about themselves."""
        return self.own_hosts[0]

    def endpoint(self, host: Host) -> Endpoint:
        """Return where its server on this host listens."""
        return Endpoint(host.address, self.port, self.settings.user, self.password, protocol=self.protocol)

    def endpoints(self) -> list[Endpoint]:
        return [self.endpoint(host) for host in self.own_hosts]

    def copies(self) -> list[Endpoint]:
        """Return those of its endpoints that have data of their own: one per copy, where several share one."""
        return self.endpoints()

    # -- verbs --------------------------------------------------------------------------------------------------

    def install(self) -> None:
        """Find the programs of all its servers on their hosts, or put them there."""
        for service in self.services():
            if service is not self:
                service.install()
        super().install()

    def start(self) -> None:
        """Start its servers, each kind once the one before it serves."""
        services = self.services()
        for number, service in enumerate(services):
            if number:
                services[number - 1].servers.ready()
            service.servers.start()

    def ready(self, *, timeout_s: float = 120.0) -> None:
        """Return once all servers serve.

        Raise SystemFailed with a server's last words, HostUnusable for a wrong password.
        """
        self.services()[-1].servers.ready(timeout_s=timeout_s)

    def stop(self) -> None:
        """End its servers, their data written, in the reverse order."""
        for service in reversed(self.services()):
            service.servers.stop()

    def discard(self) -> None:
        """End its servers when nothing of what they hold is wanted: another state is put in place next.

        What they write when they are asked to end takes seconds, and would be removed.
        """
        for service in reversed(self.services()):
            service.servers.kill()

    def check_alive(self) -> None:
        """Raise SystemFailed when a server that the kit has started has ended; of others it knows nothing."""
        for service in self.services():
            service.servers.check_alive()

    def check_serving(self) -> None:
        """Raise SystemFailed when one of its servers takes no connection any more, or has ended."""
        for service in self.services():
            service.servers.check_serving()

    def reset(self, dataset: str | None) -> None:
        """With stopped servers: put the dataset of this identity in place, or (None) an empty state."""
        for servers in self._with_data():
            servers.reset(dataset)

    def keep(self, dataset: str) -> None:
        """With stopped servers: set the present state aside as the dataset of this identity."""
        for servers in self._with_data():
            servers.keep(dataset)

    def has(self, dataset: str) -> bool:
        """Return whether the dataset of this identity is set aside on every host."""
        return all(servers.has(dataset) for servers in self._with_data())

    def _with_data(self) -> list[Servers]:
        return [service.servers for service in self.services() if service.keeps_data]

    def refresh(self, dataset: str | None) -> None:
        """End it, go back to a dataset, start, and wait until it serves."""
        self.discard()
        self.reset(dataset)
        self.start()
        self.ready()

    # -- what it takes ------------------------------------------------------------------------------------------

    def expect(self, clients: int) -> None:
        """Make room from its next start for loads that hold so many connections to one server, if the kit sets that."""
        self.clients = max(self.clients, clients)

    def limits(self, client: Host) -> list[Limit]:
        """Return what its running servers take at most, as they tell `client`; empty where no bound is known."""
        return [limit for endpoint in self.endpoints() for limit in self.limits_of(client, endpoint)]

    def limits_of(self, client: Host, endpoint: Endpoint, *, through: int | None = None) -> list[Limit]:
        if self.protocol not in DIALECTS:
            return []
        own = {CONNECTIONS: len(self.watched_by)}
        return [
            Limit(of, str(endpoint), name, most, *self.raised(name), own=own.get(of, 0), through=through)
            for name, most in self.dialect.bounds(client, endpoint).items()
            for of in [_BOUNDS[name]]
        ]

    def raised(self, setting: str) -> tuple[str, str]:
        """Return key and fix of a setting that is too low for a load: `{needed}` stands for what it needs."""
        return f"systems.{self.name}", f"set {setting} of that server to {{needed}} or more"

    # -- what it is ---------------------------------------------------------------------------------------------

    def about(self) -> About:
        """Ask the running servers for version and full configuration."""
        # An engine that its load generator opens has no server, and one of somebody else's none of ours.
        command = {"command": " ".join(map(str, self.command(self.via).argv))} if self.servers.jobs else {}
        return About(
            self.name,
            self.version(),
            self.title,
            self.stand_in_for,
            self.notes(),
            tuple(host.name for host in self.hosts),
            {**command, "variables": self.variables()},
            self.fewer,
        )

    def probes(self, client: Host, also: Sequence[ProbeFile] = ()) -> list[Probe]:
        """Return its own probes, and those of `also`, that watch its servers.

        Each runs on its server's host, or on `client` where the kit runs none.
        """
        own = [(host, end, host.name) for host, end in zip(self.hosts, self.endpoints(), strict=False)]
        seen = own or [(client, end, self.name) for end in self.endpoints()]
        files = [*map(probe_file.find, self.watched_by), *also]
        return [of_file(file, host, end, about) for file in files for host, end, about in seen]

    # -- its databases ------------------------------------------------------------------------------------------

    @property
    def dialect(self) -> Dialect:
        if self.protocol not in DIALECTS:
            raise SystemFailed(f"{self.name} speaks {self.protocol}, by which the kit asks no questions")
        return DIALECTS[self.protocol]

    def make_database(self, client: Host, database: str) -> None:
        """Make an empty database of this name on every server, where there is none; `client` asks for it."""
        for endpoint in self.copies():
            self.dialect.make_database(client, endpoint, database)

    def lay_out(self, client: Host, database: str, tables: Sequence[str]) -> None:
        """Cut small tables as they would be cut if they were as large as the published ones, where this system cuts.

        Called once these tables are filled; `client` asks for it.
        """

    def row_counts(
        self,
        client: Host,
        endpoint: Endpoint,
        database: str,
        tables: Sequence[str],
        timeout_s: float = ANSWERED_S,
    ) -> dict[str, int]:
        """Return how many rows each of these tables holds on one server; to count one may take `timeout_s`."""
        return self.dialect.row_counts(client, endpoint, database, tables, timeout_s)


@runtime_checkable
class Quorum(Protocol):
    """What a report asks that takes a member away of a system of equal members, beside the verbs of a system."""

    def members(self) -> list[Host]:
        """Return the hosts of the members that run."""

    def leader(self) -> Host:
        """Return the host of the member that leads. Raise SystemFailed where there is none."""

    def lose(self, host: Host) -> float:
        """Kill the member on this host, which is then no failure of the system; return when, by its host's clock."""

    def regain(self) -> None:
        """Start the lost members again, from what they have on disk; return once they serve. Raise SystemFailed."""

    def agree(self) -> tuple[int, int]:
        """Return the revision that a quorum has reached, and how many members hold the same up to there.

        Raise SystemFailed where two of them differ.
        """
