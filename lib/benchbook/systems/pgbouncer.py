"""PgBouncer: a pooler on the hosts of role `pgbouncer`, before PostgreSQL on the host of role `postgresql`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchbook.hosts.agent import Command
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.hosts.timeouts import LONGEST_S
from benchbook.probes.probe import Probe
from benchbook.probes.probe_file import ProbeFile
from benchbook.profiles import Profile
from benchbook.systems import psql
from benchbook.systems.base import CONNECTIONS, SPARE, About, Limit, System
from benchbook.systems.postgresql import PostgreSQL, not_as_root
from benchbook.systems.server import Service

# Its own database, which answers about itself.
ADMIN = "pgbouncer"
# Of the published configurations; everything else stays as it comes. An inventory's `settings` add to them.
OPTIONS = {"pool_mode": "transaction"}
# As published; for more it is raised.
CLIENTS = 1000
MOST_CLIENTS, POOL, RESERVE = "max_client_conn", "default_pool_size", "reserve_pool_size"


class PgBouncer(System):
    """The real pgbouncer of the host. Its data is that of the server `behind` it, which starts first and ends last."""

    name = "pgbouncer"
    title = "PgBouncer"
    protocol = "pgsql"
    default_port = 6432
    watched_by = ("pgbouncer",)
    takes = ("settings",)
    keeps_data = False

    def __init__(self, session: Session, profile: Profile) -> None:
        super().__init__(session, profile)
        self.behind = PostgreSQL(session, profile)
        session.inventory.require_one(PostgreSQL.role_name())
        # Accounts and passwords are the server's: it hands them on.
        self.settings = self.settings.model_copy(update={"user": self.behind.settings.user})
        self.password = self.behind.password

    @classmethod
    def roles(cls) -> tuple[str, ...]:
        return (cls.role_name(), PostgreSQL.role_name())

    def services(self) -> list[Service]:
        return [self.behind, self]

    @property
    def identity(self) -> str:
        return self.behind.identity

    def copies(self) -> list[Endpoint]:
        """Data is prepared and proved without it."""
        return self.behind.endpoints()

    def install_on(self, host: Host) -> None:
        _program(host)

    def stop(self) -> None:
        """It holds no data itself: nothing of it is waited for."""
        self.servers.kill()
        self.behind.stop()

    def command(self, host: Host) -> Command:
        argv = [*_program(host), "{job}/pgbouncer.ini"]
        secrets = {"pgbouncer.ini": self._configuration(host), "userlist.txt": self._users()}
        return Command(argv, timeout_s=LONGEST_S, grace_s=10, secrets=secrets)

    def _configuration(self, host: Host) -> str:
        (server,) = self.behind.endpoints()
        settings = {
            "listen_addr": host.address,
            "listen_port": str(self.port),
            "unix_socket_dir": "",
            "auth_type": "scram-sha-256" if self.password else "trust",
            # Beside this file, in the folder of the job, where it runs.
            "auth_file": "userlist.txt",
            "admin_users": self.settings.user,
            MOST_CLIENTS: str(max(CLIENTS, self.clients + SPARE)),
            **OPTIONS,
            **{name: str(value) for name, value in self.server_settings.items()},
        }
        lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
        return f"[databases]\n* = host={server.address} port={server.port}\n\n[pgbouncer]\n{lines}"

    def _users(self) -> str:
        user, password = (text.replace('"', '""') for text in (self.settings.user, self.password))
        return f'"{user}" "{password}"\n'

    # -- what it is -----------------------------------------------------------------------------------------------

    def probes(self, client: Host, also: Sequence[ProbeFile] = ()) -> list[Probe]:
        """Return its own, and those that watch the server; those of `also` watch the server, which has the data."""
        return [*super().probes(client), *self.behind.probes(client, also)]

    def _admin(self, statement: str) -> list[list[str]]:
        host = self.own_hosts[0]
        return psql.query(host, self.endpoint(host), statement, database=ADMIN)

    def version(self) -> str:
        return f"{self._admin('SHOW VERSION')[0][0].split()[-1]} before PostgreSQL {self.behind.version()}"

    def variables(self) -> dict[str, str]:
        return {row[0]: row[1] if len(row) > 1 else "" for row in self._admin("SHOW CONFIG")}

    def expect(self, clients: int) -> None:
        """The server behind it has so many as are in a pool: 20, as it comes."""
        super().expect(clients)
        if isinstance(pool := self.server_settings.get(POOL), int):
            self.behind.expect(min(clients, pool))

    def limits(self, client: Host) -> list[Limit]:
        """Return its own, and that of the server for its pool. In `session` mode a client has one of it for itself."""
        found = self.variables()
        pool = int(found[POOL]) + int(found[RESERVE])
        bounds = {MOST_CLIENTS: (int(found[MOST_CLIENTS]), len(self.watched_by))}
        if found["pool_mode"] == "session":
            bounds[POOL] = (pool, 0)
        key, fix = f"systems.{self.name}.settings", "set it to {needed} or more"
        own = [
            Limit(CONNECTIONS, str(end), name, most, f"{key}.{name}", fix, own=probes)
            for end in self.endpoints()
            for name, (most, probes) in bounds.items()
        ]
        behind = [self.behind.limits_of(client, end, through=pool) for end in self.behind.endpoints()]
        return [*own, *(limit for limits in behind for limit in limits)]

    def notes(self) -> tuple[str, ...]:
        return ("it has a connection of its own to PostgreSQL, over TCP", *self.behind.notes())

    def about(self) -> About:
        own = super().about()
        return replace(own, config={**own.config, PostgreSQL.name: self.behind.about().config})


def _program(host: Host) -> list[str]:
    return [*not_as_root(host), host.require_program("pgbouncer", package="pgbouncer")]
