"""MySQL itself: one server per host of role `mysql`, of the version that env/systems/NAME/fetch.yaml pins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchbook.build import fetched
from benchbook.errors import HostUnusable
from benchbook.hosts.login_shell import quote
from benchbook.profiles import Profile
from benchbook.systems.innodb_server import PLAIN, InnodbServer, Purpose

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session

# It makes about 500 MB of files, and all of its system tables, on a disk that may be slow.
CREATE_S = 600.0
NEEDS = "libaio.so.1 and libnuma.so.1 (Debian packages libaio1 and libnuma1), on x86-64"

GTID_NOTE = "its binary log has GTIDs, by which commits are counted and replicas find their place"


class MySQL(InnodbServer):
    """The real mysqld. A release series is a subclass of data; it has no client programs, and needs none."""

    daemon = "mysqld"
    instead = "mariadb"
    flavor = "mysql"
    # Two files make as large a redo log as MariaDB's one.
    redo_log = "--innodb-log-file-size=128M"
    # With GTIDs a server knows how many transactions its log holds; replicas find their place by them.
    binlog_options = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")
    # dev.mysql.com/doc: innodb_flushing_avg_loops is 30 (rounds of a second over which flushing is averaged).
    own_options: tuple[str, ...] = ("--log-error-verbosity=2",)

    def __init__(self, session: Session, profile: Profile, purpose: Purpose = PLAIN) -> None:
        super().__init__(session, profile, purpose)
        self._folders: dict[str, str] = {}

    def release(self) -> str:
        return fetched.package(self.name).version

    def install(self) -> None:
        """Unpacked on each host once. Raises BadInput before it is fetched, HostUnusable where it cannot run."""
        archive = fetched.server(self.name)
        for host in self.hosts:
            host.mkdir(self.tmp(host))
            self._folders[host.name] = folder = _unpacked(host, host.push(archive))
            said = host.run([f"{folder}/bin/mysqld", "--no-defaults", "--version"], check=False)
            if said.status != 0 or self.release() not in said.stdout:
                raise _cannot_run(self, host, said.stderr.strip() or said.stdout.strip())

    def create(self, host: RemoteHost) -> None:
        """As `mysqld --initialize-insecure` does: a root@localhost without a password, locked at the first start."""
        options = [f"--datadir={self.data(host)}", f"--user={self.login(host)}", self.redo_log, *self.own_options]
        host.run([*self.program(host), "--initialize-insecure", *options], timeout=CREATE_S)

    def program(self, host: RemoteHost) -> list[str]:
        folder = self._folders[host.name]
        return [f"{folder}/bin/mysqld", "--no-defaults", f"--basedir={folder}"]

    def options(self) -> tuple[str, ...]:
        return (*super().options(), *self.own_options)

    def notes(self) -> tuple[str, ...]:
        return (*super().notes(), *([GTID_NOTE] if self.purpose.binlog else []))

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


def _unpacked(host: RemoteHost, archive: str) -> str:
    """The folder beside the archive that holds what is in it: whole or absent."""
    folder = f"{archive}.d"
    partial, whole, program = quote([f"{folder}.partial"]), quote([folder]), quote([f"{folder}/bin/mysqld"])
    unpack = f"tar -xzf {quote([archive])} --no-same-owner -C {partial}"
    host.shell(
        f"test -x {program} || {{ rm -rf {partial} && mkdir {partial} && {unpack} && mv -T {partial} {whole}; }}",
        timeout=300,
    )
    return folder


def _cannot_run(server: MySQL, host: RemoteHost, said: str) -> HostUnusable:
    return HostUnusable(
        f"{server.product} cannot run on host {host.name} ({said.splitlines()[-1] if said else 'no word'})",
        file=host.inventory.file,
        key=f"hosts.{host.name}",
        value=server.name,
        fix=f"it needs {NEEDS}; or take system mariadb",
    )
