"""MySQL and MariaDB as the kit runs them: one durable server per host of role `mysql`; its binary log, its counters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from benchbook import plugins, systems
from benchbook.build import fetched
from benchbook.campaign.design import digest
from benchbook.errors import BadInput, HostUnusable
from benchbook.hosts.agent import Command
from benchbook.hosts.command_line import quote
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.session import Session
from benchbook.hosts.timeouts import LONGEST_S
from benchbook.profiles import Profile
from benchbook.systems.base import SPARE, System
from benchbook.systems.sql import RETRIED, RETRY_NOTE, executing, query
from benchbook.systems.statements import making_account

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
# mysqld makes about 500 MB of files, and all of its system tables, on a disk that may be slow.
_CREATE_S = 600.0


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


class MysqlServer(System):
    """What MySQL and MariaDB have in common."""

    role = "mysql"
    protocol = "mysql"
    default_port = 3306
    watched_by = ("mysql",)
    retried_errors = RETRIED
    # Where the buffer pool is large and the disk slow, its dirty pages take minutes.
    ends_within_s = 600.0
    takes = ("settings",)
    fixed = frozenset("bind_address datadir init_file log_bin pid_file port socket tmpdir user".split())
    product: ClassVar[str]
    daemon: ClassVar[str]
    redo_log: ClassVar[str]
    binlog_options: ClassVar[tuple[str, ...]] = ()
    authentication: ClassVar[str] = ""
    # What replicas call it.
    flavor: ClassVar[Literal["mysql", "mariadb"]]

    def __init__(self, session: Session, profile: Profile, purpose: Purpose = PLAIN) -> None:
        super().__init__(session, profile)
        self.purpose = purpose
        variant = self.name.partition(":")[2]
        self.title = f"{self.product}{f' ({variant})' if variant else ''}{purpose.called}"
        self.stand_in_for = None if purpose.published in ("", self.product) else purpose.published

    @property
    def identity(self) -> str:
        """Some settings change how data lies on disk: data of other settings is other data."""
        settings = f"-{digest(dict(self.server_settings))[:8]}" if self.server_settings else ""
        return f"{self.name}-{self.release()}-{self.profile.buffer_pool_mb}{self.purpose.identity}{settings}"

    @abstractmethod
    def release(self) -> str:
        """Return the version of the program, known before it runs."""

    @abstractmethod
    def executable(self, host: Host) -> list[str]:
        """Return the server's program on this host, and the options that say where the rest of it lies."""

    def notes(self) -> tuple[str, ...]:
        """Return also what is set otherwise than by the kit."""
        changed = ", ".join(words.removeprefix("--") for words in self._set())
        return (*self.purpose.notes, *([f"set by the inventory: {changed}"] if changed else []))

    def _set(self, prefix: str = "") -> list[str]:
        """Return the inventory's settings that begin like this, as options."""
        written = {True: "ON", False: "OFF"}
        return [
            f"--{name.replace('_', '-')}={written[value] if isinstance(value, bool) else _joined(value)}"
            for name, value in self.server_settings.items()
            if name.startswith(prefix)
        ]

    def options(self) -> tuple[str, ...]:
        """Return server options beside addresses and paths."""
        log = self.purpose.binlog
        on = (f"--log-bin={log}", "--binlog-format=ROW", "--server-id=1", *self.binlog_options)
        pool = f"--innodb-buffer-pool-size={self.profile.buffer_pool_mb}M"
        clients = f"--max-connections={max(CLIENTS, self.clients + SPARE)}"
        return (*OPTIONS, clients, self.redo_log, pool, *(on if log else ("--skip-log-bin",)), *self._set())

    def raised(self, setting: str) -> tuple[str, str]:
        files = "raise the limit of open files of the login there (ulimit -n)"
        why = "the server asks for more and lowers this setting to what its files allow"
        return f"systems.{self.name}", f"{files}: {why}" if setting == "max_connections" else "have fewer tables"

    def command(self, host: Host) -> Command:
        argv = [
            *self.executable(host),
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

    def login(self, host: Host) -> str:
        """Return who runs it there: as root it asks to be told."""
        return host.host.user or self.session.inventory.ssh.user or host.run("id -un").stdout.strip()

    def tmp(self, host: Host) -> str:
        """Return a folder of its own for temporary tables: one that starts removes those of others from a shared one.

        mariadb-install-db needs it as well: two at once in /tmp fail ("Unknown table 'mysql.tmp_user_sys'").
        """
        return host.path(f"{self.folder}-tmp")

    def _accounts(self) -> str:
        """Return SQL that gives the inventory's account its password (`--init-file`): no process list shows it."""
        how = f"WITH {self.authentication} " if self.authentication else ""
        made = making_account(self.settings.user, self.password, how)
        return "".join(f"{statement};\n" for statement in made)


class MariaDB(MysqlServer):
    """The real mariadbd of the host, from its own package."""

    name = "mariadb"
    product = "MariaDB"
    daemon = "mariadbd"
    flavor = "mariadb"
    redo_log = "--innodb-log-file-size=256M"
    _version = ""

    def install(self) -> None:
        super().install()
        self._version = self.hosts[0].run([_of_mariadb(self.hosts[0], "mariadbd"), "--version"]).stdout.split()[2]

    def install_on(self, host: Host) -> None:
        if len(host.root.split()) > 1:
            # mariadb-install-db takes the words of a path for several.
            raise HostUnusable(
                "MariaDB cannot be set up in a folder with a space in its name",
                file=host.inventory.file,
                key=f"hosts.{host.name}.workdir",
                value=host.root,
                fix=host.inventory.elsewhere(host.name, "a folder without one"),
            )
        host.mkdir(self.tmp(host))
        # mariadb-install-db asks for it, and comes without it.
        host.require_program("my_print_defaults", package="mariadb-client-core")
        _of_mariadb(host, "mariadb-install-db")

    def release(self) -> str:
        return self._version

    def create(self, host: Host) -> None:
        argv = [
            _of_mariadb(host, "mariadb-install-db"),
            "--no-defaults",
            f"--datadir={self.data(host)}",
            f"--tmpdir={self.tmp(host)}",
            f"--user={self.login(host)}",
            "--skip-test-db",
            # The other way to authenticate root makes a root@127.0.0.1 without a password, which would win over root@%.
            "--auth-root-authentication-method=socket",
            f"--auth-root-socket-user={self.login(host)}",
            "--skip-name-resolve",
            self.redo_log,
            # Such as the size of a page.
            *self._set("innodb"),
        ]
        host.run(argv, timeout=120)

    def executable(self, host: Host) -> list[str]:
        return [_of_mariadb(host, "mariadbd"), "--no-defaults"]


class MySQL(MysqlServer):
    """The real mysqld, of the version that env/systems/NAME/fetch.yaml pins.

    A release series is a subclass of data; it has no client programs, and needs none.
    """

    daemon = "mysqld"
    instead = "mariadb"
    flavor = "mysql"
    # Two files make as large a redo log as MariaDB's one.
    redo_log = "--innodb-log-file-size=128M"
    # With GTIDs a server knows how many transactions its log holds; replicas find their place by them.
    binlog_options = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")
    own_options: ClassVar[tuple[str, ...]] = ("--log-error-verbosity=2",)

    def release(self) -> str:
        return fetched.package(self.builds[0]).version

    def install_on(self, host: Host) -> None:
        """Unpack it once. Raise BadInput before it is fetched, HostUnusable where it cannot run."""
        host.mkdir(self.tmp(host))
        done = host.run([*self.executable(host), "--version"], check=False)
        if done.exited != 0 or self.release() not in done.stdout:
            answer = (done.stderr.strip() or done.stdout.strip() or "no word").splitlines()[-1]
            raise HostUnusable(
                f"{self.product} cannot run on host {host.name} ({answer})",
                file=host.inventory.file,
                key=f"hosts.{host.name}",
                value=self.name,
                fix="it needs libaio.so.1 and libnuma.so.1 (Debian packages libaio1 and libnuma1), on x86-64; or "
                "take system mariadb",
            )

    def create(self, host: Host) -> None:
        """Run `mysqld --initialize-insecure`: a root@localhost without a password, locked at the first start."""
        where = [f"--datadir={self.data(host)}", f"--user={self.login(host)}"]
        options = [self.redo_log, *self.own_options, *self._set("innodb")]
        host.run([*self.executable(host), "--initialize-insecure", *where, *options], timeout=_CREATE_S)

    def executable(self, host: Host) -> list[str]:
        folder = _unpack(host, host.push(fetched.server(self.builds[0])))
        return [f"{folder}/bin/mysqld", "--no-defaults", f"--basedir={folder}"]

    def options(self) -> tuple[str, ...]:
        return (*self.own_options, *super().options())

    def notes(self) -> tuple[str, ...]:
        gtids = "its binary log has GTIDs, by which commits are counted and replicas find their place"
        return (*super().notes(), *([gtids] if self.purpose.binlog else []))

    def _accounts(self) -> str:
        # Made after the account's own, which may be root as well, but from any host.
        return f"{super()._accounts()}ALTER USER IF EXISTS 'root'@'localhost' ACCOUNT LOCK;\n"


class MySQL57(MySQL):
    """MySQL 5.7, the version of three of the published reports."""

    name = "mysql57"
    product = "MySQL 5.7"
    builds = ("mysql57",)


class MySQL80(MySQL):
    """MySQL 8.0. Its own way to authenticate is kept: clients here speak it, once the kit has logged in."""

    name = "mysql8"
    product = "MySQL 8.0"
    builds = ("mysql8",)
    authentication = "caching_sha2_password"
    # The X protocol would take a port of its own.
    own_options = (*MySQL.own_options, "--mysqlx=OFF")

    def notes(self) -> tuple[str, ...]:
        return (*super().notes(), f"clients log in by {self.authentication}, as is its default")


def _joined(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _of_mariadb(host: Host, name: str) -> str:
    return host.require_program(name, package="mariadb-server-core")


def _unpack(host: Host, archive: str) -> str:
    """Return the folder beside the archive that holds what is in it: whole or absent."""
    folder = f"{archive}.d"
    partial, whole, program = quote([f"{folder}.partial"]), quote([folder]), quote([f"{folder}/bin/mysqld"])
    unpack = f"tar -xzf {quote([archive])} --no-same-owner -C {partial}"
    host.run(
        f"test -x {program} || {{ rm -rf {partial} && mkdir {partial} && {unpack} && mv -T {partial} {whole}; }}",
        timeout=300,
    )
    return folder


# -- its binary log, as the upstream of a replication ---------------------------------------------------------------


@dataclass(frozen=True)
class BinlogPosition:
    """A place in a binary log."""

    file: str
    offset: int


def binlog_position(server: MysqlServer) -> BinlogPosition:
    """Return where the binlog ends now."""
    ((file, offset, *_),) = query(server.via, server.endpoints()[0], "SHOW MASTER STATUS")
    return BinlogPosition(str(file), int(offset))


def begin_binlog_anew(server: MysqlServer) -> None:
    """Delete all binlog files and begin a new one. No dm-worker may run, or keep its relay log.

    A worker that goes on across this stands still without an error.
    """
    query(server.via, server.endpoints()[0], "RESET MASTER")


# -- its exact counters: read before and after a load, their difference is what the load did ------------------------

# Statements by type, as the report counts them; a commit is counted where something was written, by whatever way.
STATEMENTS = ("Com_insert", "Com_update", "Com_delete", "Com_replace", "Com_select")
COMMITS = "Binlog_commits"
# Shown beside: explicit COMMITs alone miss what was written in autocommit.
_BESIDE = ("Com_commit", "Com_begin", "Com_rollback", "Questions", "Innodb_row_lock_waits")


def counters(via: Host, endpoint: Endpoint) -> dict[str, int]:
    """Return the counters now."""
    names = ",".join(f"'{name}'" for name in (*STATEMENTS, COMMITS, *_BESIDE))
    with executing(via, endpoint) as execute:
        found = {str(k): int(v) for k, v in execute(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})")}
        if COMMITS not in found:
            # Not by SELECT, which would count among the statements.
            ((_, written),) = execute("SHOW GLOBAL VARIABLES LIKE 'gtid_executed'")
            found[COMMITS] = transactions(str(written))
    return found


def transactions(gtids: str) -> int:
    """Return how many transactions a set of GTIDs holds: `UUID:1-5:7, UUID:3` is 7 (dev.mysql.com/doc, GTID sets).

    MySQL has no `Binlog_commits`, as MariaDB has; with GTIDs, each commit that its binary log holds has one.
    """
    ranges = [part.split("-") for of_server in gtids.split(",") for part in of_server.split(":")[1:]]
    return sum(int(bounds[-1]) - int(bounds[0]) + 1 for bounds in ranges)


def counted_between(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {name: value - before[name] for name, value in after.items()}


def statements(counted: Mapping[str, int]) -> int:
    """Return SQL statements that read or change rows: without BEGIN, COMMIT, SHOW and SET."""
    return sum(counted.get(name, 0) for name in STATEMENTS)


# -- several side by side, for reports made on MySQL 5.7 --------------------------------------------------------------


def find(name: str, inventory: Inventory) -> type[MysqlServer]:
    """Return the class of this server. Raise BadInput for a system that is not of this family."""
    found = systems.find(name, inventory) if plugins.find(systems.GROUP, name.partition(":")[0], key="system") else None
    if isinstance(found, type) and issubclass(found, MysqlServer):
        return found
    known = {each: plugins.find(systems.GROUP, each, key="system") for each in plugins.names(systems.GROUP)}
    family = [each for each, kind in known.items() if isinstance(kind, type) and issubclass(kind, MysqlServer)]
    fix = f"use one of {', '.join(family)}"
    raise BadInput("this report runs on MySQL or MariaDB", key="system", value=name, fix=fix)


def check(names: Sequence[str], inventory: Inventory) -> list[type[MysqlServer]]:
    """The classes of these servers. Raise BadInput for another system, and where not one host is to carry them."""
    found = [find(name, inventory) for name in names]
    for server in found:
        inventory.require_one(server.role_name())
    return found


def make(names: Sequence[str], session: Session, profile: Profile, purpose: Purpose) -> dict[str, MysqlServer]:
    """These servers on the hosts of the session, by name."""
    return {name: find(name, session.inventory)(session, profile, purpose) for name in names}
