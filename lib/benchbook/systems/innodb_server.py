"""MySQL and MariaDB as the kit runs them: one durable server per host of role `mysql`."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from benchbook.hosts.jobs import LONGEST_S, Command
from benchbook.profiles import Profile
from benchbook.systems.limits import SPARE
from benchbook.systems.mysql_system import RETRY_NOTE
from benchbook.systems.sql_server import SqlServer
from benchbook.systems.statements import literal

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session

# Where the buffer pool is large and the disk slow, its dirty pages take minutes.
ENDS_WITHIN_S = 600.0
# As many clients as any published load has; for more it is raised.
CLIENTS = 4000
# Fully durable, as a MySQL 5.7 out of the box is: one flush per commit, doublewrite on.
OPTIONS = (
    "--innodb-flush-log-at-trx-commit=1",
    "--sync-binlog=1",
    "--innodb-doublewrite=1",
    "--skip-name-resolve",
    "--back-log=1000",
    "--table-open-cache=4000",
    "--performance-schema=OFF",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_bin",
    # sysbench prepares 9 statements per table and thread: 32 tables and 57 threads use up the default of 16,382.
    "--max-prepared-stmt-count=1048576",
)


@dataclass(frozen=True)
class Purpose:
    """What a report wants of such a server beside what it always is.

    `binlog` is the base name of its binary log's files ("" = none is written); `published` the product that the report
    measured; `identity` what else its data depends on; `called` is added to its title.
    """

    binlog: str = ""
    published: str = ""
    identity: str = ""
    called: str = ""
    notes: tuple[str, ...] = (RETRY_NOTE,)


PLAIN = Purpose()


class InnodbServer(SqlServer):
    """A server of this family. `product` is the name, with the release series, that reports print."""

    role = "mysql"
    default_port = 3306
    product: ClassVar[str]
    daemon: ClassVar[str]
    ends_within_s = ENDS_WITHIN_S
    takes = ()
    # What of the family's options each product has in its own way.
    redo_log: ClassVar[str]
    binlog_options: ClassVar[tuple[str, ...]] = ()
    authentication: ClassVar[str] = ""
    # What replicas call it.
    flavor: ClassVar[Literal["mysql", "mariadb"]]

    def __init__(self, session: Session, profile: Profile, purpose: Purpose = PLAIN) -> None:
        super().__init__(session, profile)
        self.purpose = purpose
        self.title = f"{self.product}{purpose.called}"
        self.stand_in_for = None if purpose.published in ("", self.product) else purpose.published

    @property
    def identity(self) -> str:
        return f"{self.name}-{self.release()}-{self.profile.buffer_pool_mb}{self.purpose.identity}"

    @abstractmethod
    def release(self) -> str:
        """The version of the program, known before it runs."""

    @abstractmethod
    def program(self, host: RemoteHost) -> list[str]:
        """The server's program on this host, and the options that say where the rest of it lies."""

    def discard(self) -> None:
        """What it writes when it is asked to end takes it seconds, and would be removed next."""
        self.end_at_once()

    def notes(self) -> tuple[str, ...]:
        return self.purpose.notes

    def options(self) -> tuple[str, ...]:
        """Server options beside addresses and paths."""
        log = self.purpose.binlog
        on = (f"--log-bin={log}", "--binlog-format=ROW", "--server-id=1", *self.binlog_options)
        pool = f"--innodb-buffer-pool-size={self.profile.buffer_pool_mb}M"
        clients = f"--max-connections={max(CLIENTS, self.clients + SPARE)}"
        return (*OPTIONS, clients, self.redo_log, pool, *(on if log else ("--skip-log-bin",)))

    def raised(self, setting: str) -> tuple[str, str]:
        files = "raise the limit of open files of the login there (ulimit -n)"
        why = "the server asks for more and lowers this setting to what its files allow"
        return f"systems.{self.name}", f"{files}: {why}" if setting == "max_connections" else "have fewer tables"

    def command(self, host: RemoteHost) -> Command:
        argv = [
            *self.program(host),
            f"--datadir={self.data(host)}",
            f"--tmpdir={self.tmp(host)}",
            f"--bind-address={host.address}",
            f"--port={self.port}",
            f"--user={self.login(host)}",
            # Relative: a path of a socket may have 107 characters at most, and the data folder may be deep.
            f"--socket={self.daemon}.sock",
            f"--pid-file={self.daemon}.pid",
            "--init-file={job}/accounts.sql",
            *self.options(),
        ]
        return Command(argv, timeout_s=LONGEST_S, grace_s=60, secrets={"accounts.sql": self._accounts()})

    def login(self, host: RemoteHost) -> str:
        """Who runs it there: as root it asks to be told."""
        return host.host.user or self.session.inventory.ssh.user or host.shell("id -un").stdout.strip()

    def tmp(self, host: RemoteHost) -> str:
        """A folder for temporary tables: a server that starts removes those of others from the one it shares."""
        return host.path(f"{self.name}-tmp")

    def _accounts(self) -> str:
        """SQL that gives the inventory's account its password, for `--init-file`: nothing shows in a process list."""
        account, password = f"{literal(self.settings.user)}@'%'", literal(self.password)
        how = f"WITH {self.authentication} " if self.authentication else ""
        return (
            f"CREATE USER IF NOT EXISTS {account};\n"
            f"ALTER USER {account} IDENTIFIED {how}BY {password};\n"
            f"GRANT ALL PRIVILEGES ON *.* TO {account} WITH GRANT OPTION;\n"
        )
