"""PostgreSQL: one durable server per host of role `postgresql`, from the host's own package."""

from __future__ import annotations

import hashlib

from benchbook.errors import HostUnusable
from benchbook.hosts.agent import Command, Job
from benchbook.hosts.host import Host
from benchbook.hosts.timeouts import LONGEST_S
from benchbook.systems import psql
from benchbook.systems.base import SPARE, System

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
# Runs servers that refuse to run as root; Debian's packages postgresql-common and pgbouncer bring it.
ACCOUNT = "postgres"
_CREATE_S = 300.0


def not_as_root(host: Host) -> list[str]:
    """Return what stands before a command line on this host that refuses to run as root; nothing if the login is none.

    The account keeps one right of root, to pass the folders that lead to the kit's own, which are root's alone. Raise
    HostUnusable where there is no such account.
    """
    if not host.is_root:
        return []
    if host.run(["id", "-u", ACCOUNT], check=False).exited != 0:
        said = f"a server on host {host.name} refuses to run as root, and there is no account {ACCOUNT} to run it"
        fix = f"log in as another user, or on that host: useradd --system {ACCOUNT}"
        raise HostUnusable(said, file=host.inventory.file, key=f"hosts.{host.name}.user", value="root", fix=fix)
    rights = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"]
    return ["setpriv", f"--reuid={ACCOUNT}", f"--regid={ACCOUNT}", "--clear-groups", *rights, "--"]


class PostgreSQL(System):
    """The real postgres of the host. Where the login is root, the account `postgres` runs it."""

    name = "postgresql"
    title = "PostgreSQL"
    protocol = "pgsql"
    default_port = 5432
    # Its last checkpoint writes every dirty page: of a large buffer, to a slow disk, that takes minutes.
    ends_within_s = 600.0
    takes = ("settings",)
    watched_by = ("postgresql",)

    _version = ""

    def install(self) -> None:
        super().install()
        first = self.own_hosts[0]
        self._version = first.run([*_program(first, "postgres"), "--version"]).stdout.split()[2]

    def install_on(self, host: Host) -> None:
        host.mkdir(host.path(self.folder))
        for name in ("postgres", "initdb", "pg_ctl"):
            _program(host, name)
        psql.program(host, "psql", package="postgresql-client")

    @property
    def identity(self) -> str:
        """Its stored data holds the account, with its password."""
        account = hashlib.sha256(f"{self.settings.user} {self.password}".encode()).hexdigest()[:8]
        return f"{self.name}-{self._version}-{account}"

    def create(self, host: Host) -> None:
        if host.is_root:
            host.run(["chown", f"{ACCOUNT}:", "--", self.data(host)])
        secret = host.path(self.folder, "password")
        host.write(secret, f"{self.password}\n")
        account = [f"--username={self.settings.user}", *([f"--pwfile={secret}"] if self.password else [])]
        how = ["--encoding=UTF8", "--locale=C", f"--auth-host={self._method}", "--auth-local=reject"]
        initdb = [*_program(host, "initdb"), "-D", self.data(host)]
        try:
            host.run([*initdb, *account, *how], timeout=_CREATE_S)
        finally:
            host.run(["rm", "-f", "--", secret])

    @property
    def _method(self) -> str:
        return "scram-sha-256" if self.password else "trust"

    def command(self, host: Host) -> Command:
        # As it comes only its own machine is let in, by one address.
        rules = host.path(self.folder, "pg_hba.conf")
        host.write(rules, f"host all all all {self._method}\n", mode=0o644)
        settings = {
            "listen_addresses": host.address,
            "port": str(self.port),
            "hba_file": rules,
            "shared_buffers": f"{self.profile.buffer_pool_mb}MB",
            "max_connections": str(max(CLIENTS, self.clients + SPARE)),
            **OPTIONS,
            **{name: str(value) for name, value in self.server_settings.items()},
        }
        given = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        argv = [*_program(host, "postgres"), "-D", self.data(host), *given]
        return Command(argv, timeout_s=LONGEST_S, grace_s=10)

    def ask_to_end(self, host: Host, job: Job, *, at_once: bool) -> bool:
        """At SIGTERM it would wait until its last client has gone; asked like this before, it ends their sessions.

        Killed, it would leave its shared memory on the host: it is always asked, `at_once` to write nothing.
        """
        if job.status() is not None:
            return False
        stop = ["stop", "-D", self.data(host), "-m", "immediate" if at_once else "fast", "-W"]
        host.run([*_program(host, "pg_ctl"), *stop], check=False)
        return True

    def raised(self, setting: str) -> tuple[str, str]:
        return f"systems.{self.name}.settings.{setting}", "set it to {needed} or more"

    def notes(self) -> tuple[str, ...]:
        return (DURABLE,)


def _program(host: Host, name: str) -> list[str]:
    """Return the words that run one of its programs on this host."""
    return [*not_as_root(host), psql.program(host, name, package="postgresql")]
