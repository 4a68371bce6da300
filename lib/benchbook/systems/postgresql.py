"""PostgreSQL: one durable server per host of role `postgresql`, from the host's own package."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchbook.hosts.jobs import LONGEST_S, Command
from benchbook.profiles import Profile
from benchbook.systems import ordinary_user, psql
from benchbook.systems.data_server import DataServer
from benchbook.systems.limits import CONNECTIONS, SPARE, Limit
from benchbook.systems.statements import ANSWERED_S

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.endpoint import Endpoint
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session

# As many connections as a report of many clients needs; for more it is raised.
CLIENTS = 1100
# Fully durable, as it comes; what a report of many clients needs beside.
OPTIONS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    # Only TCP: a socket's path may have 107 characters at most.
    "unix_socket_directories": "",
    "cluster_name": "benchbook",
}
DURABLE = "every commit is flushed to disk: fsync, synchronous_commit and full_page_writes are on, as it comes"
CREATE_S = 300.0
# Its last checkpoint writes every dirty page: of a large buffer, to a slow disk, that takes minutes.
ENDS_WITHIN_S = 600.0


class PostgreSQL(DataServer):
    """The real postgres of the host. Where the login is root, the account `postgres` runs it."""

    name = "postgresql"
    title = "PostgreSQL"
    protocol = "pgsql"
    default_port = 5432
    ends_within_s = ENDS_WITHIN_S
    takes = ("config",)
    watched_by = ("postgresql",)
    # checkpoint_timeout, as it comes (postgresql.org/docs, WAL configuration).

    def __init__(self, session: Session, profile: Profile) -> None:
        super().__init__(session, profile)
        self._programs: dict[str, dict[str, str]] = {}
        self._before: dict[str, list[str]] = {}
        self._version = ""

    # -- its programs ---------------------------------------------------------------------------------------------

    def install(self) -> None:
        for host in self.carriers:
            host.mkdir(host.path(self.name))
            found = {name: psql.program(host, name, package="postgresql") for name in ("postgres", "initdb", "pg_ctl")}
            self._programs[host.name] = found
            self._before[host.name] = ordinary_user.words(host)
            psql.program(host, "psql", package="postgresql-client")
        first = self.carriers[0]
        self._version = first.run([self._programs[first.name]["postgres"], "--version"]).stdout.split()[2]

    @property
    def identity(self) -> str:
        """Its stored data holds the account, with its password."""
        account = hashlib.sha256(f"{self.settings.user} {self.password}".encode()).hexdigest()[:8]
        return f"{self.name}-{self._version}-{account}"

    # -- its data -------------------------------------------------------------------------------------------------

    def create(self, host: RemoteHost) -> None:
        ordinary_user.give(host, self.data(host))
        secret = host.path(self.name, "password")
        host.write(secret, f"{self.password}\n")
        account = [f"--username={self.settings.user}", *([f"--pwfile={secret}"] if self.password else [])]
        how = ["--encoding=UTF8", "--locale=C", f"--auth-host={self._method}", "--auth-local=reject"]
        try:
            self._run(host, "initdb", "-D", self.data(host), *account, *how)
        finally:
            host.run(["rm", "-f", "--", secret])

    def _run(self, host: RemoteHost, name: str, *words: str) -> None:
        host.run([*self._before[host.name], self._programs[host.name][name], *words], timeout=CREATE_S)

    @property
    def _method(self) -> str:
        return "scram-sha-256" if self.password else "trust"

    # -- its process ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        for host in self.carriers:
            # As it comes only its own machine is let in, by one address.
            host.write(self._doors(host), f"host all all all {self._method}\n", mode=0o644)
        super().start()

    def _doors(self, host: RemoteHost) -> str:
        return host.path(self.name, "pg_hba.conf")

    def command(self, host: RemoteHost) -> Command:
        settings = {
            "listen_addresses": host.address,
            "port": str(self.port),
            "hba_file": self._doors(host),
            "shared_buffers": f"{self.profile.buffer_pool_mb}MB",
            "max_connections": str(max(CLIENTS, self.clients + SPARE)),
            **OPTIONS,
            **{name: str(value) for name, value in self.settings.config.items()},
        }
        given = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        argv = [*self._before[host.name], self._programs[host.name]["postgres"], "-D", self.data(host), *given]
        return Command(argv, timeout_s=LONGEST_S, grace_s=10)

    def _end(self, host: RemoteHost, *, at_once: bool = False) -> None:
        """At SIGTERM it would wait until its last client has gone; asked like this before, it ends their sessions.

        Killed, it would leave its shared memory on the host: it is always asked, `at_once` to write nothing.
        """
        if self._jobs[host.name].status() is None:
            stop = ["stop", "-D", self.data(host), "-m", "immediate" if at_once else "fast", "-W"]
            host.run([*self._before[host.name], self._programs[host.name]["pg_ctl"], *stop], check=False)
        super()._end(host)

    def discard(self) -> None:
        """What it writes when it is asked to end may take minutes, and would be removed next."""
        self.end_at_once()

    def knock(self, host: RemoteHost) -> str | None:
        return psql.try_login(host, self.endpoint(host))

    # -- what it is -----------------------------------------------------------------------------------------------

    def version(self) -> str:
        return psql.query(self.carriers[0], self.endpoint(self.carriers[0]), "SHOW server_version")[0][0]

    def variables(self) -> dict[str, str]:
        every = "SELECT name, current_setting(name) FROM pg_settings ORDER BY name"
        rows = psql.query(self.carriers[0], self.endpoint(self.carriers[0]), every)
        return {row[0]: row[1] if len(row) > 1 else "" for row in rows}

    def limits(self, client: RemoteHost) -> list[Limit]:
        return [self.limit(client, end) for end in self.endpoints()]

    def limit(self, client: RemoteHost, end: Endpoint, *, through: int | None = None) -> Limit:
        """Of one server; `through`: as of `Limit`. The account of the loads is the one that may take them all."""
        most = int(psql.query(client, end, "SHOW max_connections")[0][0])
        own = len(self.watched_by)
        fix = "set it to {needed} or more"
        key = f"systems.{self.name}.config.max_connections"
        return Limit(CONNECTIONS, str(end), "max_connections", most, key, fix, own=own, through=through)

    def notes(self) -> tuple[str, ...]:
        return (DURABLE,)

    # -- its databases --------------------------------------------------------------------------------------------

    def make_database(self, client: RemoteHost, database: str) -> None:
        for end in self.copies():
            known = psql.query(client, end, "SELECT datname FROM pg_database")
            if [database] not in known:
                psql.query(client, end, f"CREATE DATABASE {_quoted(database)}")

    def row_counts(
        self,
        client: RemoteHost,
        endpoint: Endpoint,
        database: str,
        tables: Sequence[str],
        timeout_s: float = ANSWERED_S,
    ) -> dict[str, int]:
        def count(name: str) -> int:
            asked = f"SELECT COUNT(*) FROM {_quoted(name)}"
            return int(psql.query(client, endpoint, asked, database=database, timeout_s=timeout_s)[0][0])

        return {name: count(name) for name in tables}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
