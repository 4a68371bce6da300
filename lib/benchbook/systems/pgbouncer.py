"""PgBouncer: a pooler on the hosts of role `pgbouncer`, before PostgreSQL on the host of role `postgresql`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from benchbook.hosts.jobs import LONGEST_S, Command
from benchbook.profiles import Profile
from benchbook.systems import ordinary_user, psql
from benchbook.systems.base import About
from benchbook.systems.data_server import DataServer
from benchbook.systems.limits import CONNECTIONS, SPARE, Limit
from benchbook.systems.postgresql import PostgreSQL
from benchbook.systems.statements import ANSWERED_S

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.endpoint import Endpoint
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session
    from benchbook.probes.probe import Probe
    from benchbook.probes.probe_file import ProbeFile

# Its own database, which answers about itself.
ADMIN = "pgbouncer"
# Of the published configurations; everything else stays as it comes. An inventory's `config` sets more.
OPTIONS = {"pool_mode": "transaction"}
# As published; for more it is raised.
CLIENTS = 1000
MOST_CLIENTS, POOL, RESERVE = "max_client_conn", "default_pool_size", "reserve_pool_size"


class PgBouncer(DataServer):
    """The real pgbouncer of the host. Its data is that of the server `behind` it, which starts first and ends last."""

    name = "pgbouncer"
    title = "PgBouncer"
    protocol = "pgsql"
    default_port = 6432
    watched_by = ("pgbouncer",)
    takes = ("config",)

    def __init__(self, session: Session, profile: Profile) -> None:
        super().__init__(session, profile)
        self.behind = PostgreSQL(session, profile)
        session.inventory.require_one(PostgreSQL.role_name())
        # Accounts and passwords are the server's: it hands them on.
        self.settings = self.settings.model_copy(update={"user": self.behind.settings.user})
        self.password = self.behind.password
        self._programs: dict[str, str] = {}
        self._before: dict[str, list[str]] = {}

    @classmethod
    def roles(cls) -> tuple[str, ...]:
        return (cls.role_name(), PostgreSQL.role_name())

    @property
    def hosts(self) -> list[RemoteHost]:
        """Its own first, in the order of the endpoints; then the server's."""
        return list({host.name: host for host in (*self.carriers, *self.behind.carriers)}.values())

    @property
    def identity(self) -> str:
        return self.behind.identity

    def copies(self) -> list[Endpoint]:
        return self.behind.endpoints()

    # -- verbs ----------------------------------------------------------------------------------------------------

    def install(self) -> None:
        self.behind.install()
        for host in self.carriers:
            host.mkdir(host.path(self.name))
            self._programs[host.name] = host.require_program("pgbouncer", package="pgbouncer")
            self._before[host.name] = ordinary_user.words(host)

    def start(self) -> None:
        self.behind.start()
        self.behind.ready()
        super().start()

    def stop(self) -> None:
        """It holds no data itself: nothing of it is waited for."""
        self.end_at_once()
        self.behind.stop()

    def discard(self) -> None:
        self.end_at_once()
        self.behind.discard()

    def check_alive(self) -> None:
        self.behind.check_alive()
        super().check_alive()

    def reset(self, dataset: str | None) -> None:
        self.behind.reset(dataset)

    def keep(self, dataset: str) -> None:
        self.behind.keep(dataset)

    def has(self, dataset: str) -> bool:
        return self.behind.has(dataset)

    def command(self, host: RemoteHost) -> Command:
        argv = [*self._before[host.name], self._programs[host.name], "{job}/pgbouncer.ini"]
        secrets = {"pgbouncer.ini": self._configuration(host), "userlist.txt": self._users()}
        return Command(argv, timeout_s=LONGEST_S, grace_s=10, secrets=secrets)

    def _configuration(self, host: RemoteHost) -> str:
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
            **{name: str(value) for name, value in self.settings.config.items()},
        }
        lines = "".join(f"{name} = {value}\n" for name, value in settings.items())
        return f"[databases]\n* = host={server.address} port={server.port}\n\n[pgbouncer]\n{lines}"

    def _users(self) -> str:
        user, password = (text.replace('"', '""') for text in (self.settings.user, self.password))
        return f'"{user}" "{password}"\n'

    def knock(self, host: RemoteHost) -> str | None:
        return psql.try_login(host, self.endpoint(host))

    # -- what it is -----------------------------------------------------------------------------------------------

    def probes(self, client: RemoteHost, also: Sequence[ProbeFile] = ()) -> list[Probe]:
        """Its own, and those that watch the server; those of `also` watch the server, which has the data."""
        return [*super().probes(client), *self.behind.probes(client, also)]

    def version(self) -> str:
        said = psql.query(self.carriers[0], self.endpoint(self.carriers[0]), "SHOW VERSION", database=ADMIN)[0][0]
        return f"{said.split()[-1]} before PostgreSQL {self.behind.version()}"

    def expect(self, clients: int) -> None:
        """The server behind it has so many as are in a pool: 20, as it comes."""
        super().expect(clients)
        if isinstance(pool := self.settings.config.get(POOL), int):
            self.behind.expect(min(clients, pool))

    def limits(self, client: RemoteHost) -> list[Limit]:
        """Its own, and that of the server for its pool. In `session` mode a client has one of the pool for itself."""
        said, key, fix = self.variables(), f"systems.{self.name}.config", "set it to {needed} or more"
        pool = int(said[POOL]) + int(said[RESERVE])
        bounds = {MOST_CLIENTS: (int(said[MOST_CLIENTS]), len(self.watched_by))}
        if said["pool_mode"] == "session":
            bounds[POOL] = (pool, 0)
        found = [
            Limit(CONNECTIONS, str(end), name, most, f"{key}.{name}", fix, own=own)
            for end in self.endpoints()
            for name, (most, own) in bounds.items()
        ]
        return [*found, *(self.behind.limit(client, end, through=pool) for end in self.behind.endpoints())]

    def variables(self) -> dict[str, str]:
        rows = psql.query(self.carriers[0], self.endpoint(self.carriers[0]), "SHOW CONFIG", database=ADMIN)
        return {row[0]: row[1] if len(row) > 1 else "" for row in rows}

    def notes(self) -> tuple[str, ...]:
        return ("it has a connection of its own to PostgreSQL, over TCP", *self.behind.notes())

    def about(self) -> About:
        said = super().about()
        return replace(said, config={**said.config, PostgreSQL.name: self.behind.about().config})

    # -- its databases --------------------------------------------------------------------------------------------

    def make_database(self, client: RemoteHost, database: str) -> None:
        self.behind.make_database(client, database)

    def row_counts(
        self,
        client: RemoteHost,
        endpoint: Endpoint,
        database: str,
        tables: Sequence[str],
        timeout_s: float = ANSWERED_S,
    ) -> dict[str, int]:
        return self.behind.row_counts(client, endpoint, database, tables, timeout_s)
