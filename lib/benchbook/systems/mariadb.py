"""MariaDB: one server per host of role `mysql`, from the host's own package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchbook.errors import HostUnusable
from benchbook.hosts.jobs import LONGEST_S, Command
from benchbook.profiles import Profile
from benchbook.systems.mysql_system import RETRY_NOTE
from benchbook.systems.sql_server import SqlServer

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session

# Fully durable, as a MySQL 5.7 out of the box is: one flush per commit, doublewrite on.
OPTIONS = (
    "--innodb-flush-log-at-trx-commit=1",
    "--sync-binlog=1",
    "--innodb-doublewrite=1",
    "--skip-name-resolve",
    "--max-connections=4000",
    "--back-log=1000",
    "--table-open-cache=4000",
    "--performance-schema=OFF",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_bin",
    "--innodb-log-file-size=256M",
    # sysbench prepares 9 statements per table and thread: 32 tables and 57 threads use up the default of 16,382.
    "--max-prepared-stmt-count=1048576",
)


def _without_space(host: RemoteHost) -> None:
    """mariadb-install-db takes the words of a path for several. Raises HostUnusable."""
    if len(host.root.split()) > 1:
        raise HostUnusable(
            "MariaDB cannot be set up in a folder with a space in its name",
            file=host.inventory.file,
            key=f"hosts.{host.name}.workdir",
            value=host.root,
            fix="give it a workdir without one",
        )


class MariaDB(SqlServer):
    """The real mariadbd of the host."""

    name = "mariadb"
    role = "mysql"
    default_port = 3306
    title = "MariaDB"
    # mariadb.com/docs, system variables: aria_checkpoint_interval is 30 s, innodb_flushing_avg_loops 30 (rounds of a
    # second over which flushing is averaged).
    period_s = 30.0

    def __init__(self, session: Session, profile: Profile) -> None:
        super().__init__(session, profile)
        self._programs: dict[str, dict[str, str]] = {}
        self._version = ""

    def install(self) -> None:
        for host in self.hosts:
            _without_space(host)
            host.mkdir(self._tmp(host))
            # mariadb-install-db asks for it, and comes without it.
            host.require_program("my_print_defaults", package="mariadb-client-core")
            self._programs[host.name] = {
                name: host.require_program(name, package="mariadb-server-core")
                for name in ("mariadbd", "mariadb-install-db")
            }
        first = self.hosts[0]
        self._version = first.run([self._programs[first.name]["mariadbd"], "--version"]).stdout.split()[2]

    @property
    def identity(self) -> str:
        return f"mariadb-{self._version}-{self.profile.buffer_pool_mb}"

    def create(self, host: RemoteHost) -> None:
        program = self._programs[host.name]["mariadb-install-db"]
        login = host.shell("id -un").stdout.strip()
        # The other way to authenticate root makes a root@127.0.0.1 without a password, which would win over root@%.
        root = ["--auth-root-authentication-method=socket", f"--auth-root-socket-user={login}"]
        host.run(
            [
                program,
                "--no-defaults",
                f"--datadir={self.data(host)}",
                f"--tmpdir={self._tmp(host)}",
                f"--user={login}",
                "--skip-test-db",
                *root,
                "--skip-name-resolve",
                "--innodb-log-file-size=256M",
            ],
            timeout=120,
        )

    def _tmp(self, host: RemoteHost) -> str:
        """A folder for temporary tables: a server that starts removes those of others from the one it shares."""
        return host.path("mariadb-tmp")

    def notes(self) -> tuple[str, ...]:
        return (RETRY_NOTE,)

    def options(self) -> tuple[str, ...]:
        """Server options beside addresses and paths; a system built on this one adds its own."""
        return (*OPTIONS, f"--innodb-buffer-pool-size={self.profile.buffer_pool_mb}M", "--skip-log-bin")

    def command(self, host: RemoteHost) -> Command:
        login = host.host.user or self.session.inventory.ssh.user or host.shell("id -un").stdout.strip()
        argv = [
            self._programs[host.name]["mariadbd"],
            "--no-defaults",
            f"--datadir={self.data(host)}",
            f"--tmpdir={self._tmp(host)}",
            f"--bind-address={host.address}",
            f"--port={self.port}",
            f"--user={login}",
            # Relative: a path of a socket may have 107 characters at most, and the data folder may be deep.
            "--socket=mariadbd.sock",
            "--pid-file=mariadbd.pid",
            "--init-file={job}/accounts.sql",
            *self.options(),
        ]
        return Command(argv, timeout_s=LONGEST_S, grace_s=60, secrets={"accounts.sql": self._accounts()})

    def _accounts(self) -> str:
        """SQL that gives the inventory's account its password, for `--init-file`: nothing shows in a process list."""
        user, password = (text.replace("\\", "\\\\").replace("'", "''") for text in (self.settings.user, self.password))
        return (
            f"CREATE USER IF NOT EXISTS '{user}'@'%';\n"
            f"ALTER USER '{user}'@'%' IDENTIFIED BY '{password}';\n"
            f"GRANT ALL PRIVILEGES ON *.* TO '{user}'@'%' WITH GRANT OPTION;\n"
        )
