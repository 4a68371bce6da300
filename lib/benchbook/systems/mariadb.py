"""MariaDB: one server per host of role `mysql`, from the host's own package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchbook.errors import HostUnusable
from benchbook.profiles import Profile
from benchbook.systems.innodb_server import PLAIN, InnodbServer, Purpose

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session


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


class MariaDB(InnodbServer):
    """The real mariadbd of the host."""

    name = "mariadb"
    product = "MariaDB"
    daemon = "mariadbd"
    flavor = "mariadb"
    redo_log = "--innodb-log-file-size=256M"
    # mariadb.com/docs, system variables: aria_checkpoint_interval is 30 s, innodb_flushing_avg_loops 30 (rounds of a
    # second over which flushing is averaged).

    def __init__(self, session: Session, profile: Profile, purpose: Purpose = PLAIN) -> None:
        super().__init__(session, profile, purpose)
        self._programs: dict[str, dict[str, str]] = {}
        self._version = ""

    def install(self) -> None:
        for host in self.hosts:
            _without_space(host)
            host.mkdir(self.tmp(host))
            # mariadb-install-db asks for it, and comes without it.
            host.require_program("my_print_defaults", package="mariadb-client-core")
            self._programs[host.name] = {
                name: host.require_program(name, package="mariadb-server-core")
                for name in ("mariadbd", "mariadb-install-db")
            }
        first = self.hosts[0]
        self._version = first.run([self._programs[first.name]["mariadbd"], "--version"]).stdout.split()[2]

    def release(self) -> str:
        return self._version

    def create(self, host: RemoteHost) -> None:
        program = self._programs[host.name]["mariadb-install-db"]
        login = self.login(host)
        # The other way to authenticate root makes a root@127.0.0.1 without a password, which would win over root@%.
        root = ["--auth-root-authentication-method=socket", f"--auth-root-socket-user={login}"]
        host.run(
            [
                program,
                "--no-defaults",
                f"--datadir={self.data(host)}",
                f"--tmpdir={self.tmp(host)}",
                f"--user={login}",
                "--skip-test-db",
                *root,
                "--skip-name-resolve",
                self.redo_log,
            ],
            timeout=120,
        )

    def program(self, host: RemoteHost) -> list[str]:
        return [self._programs[host.name]["mariadbd"], "--no-defaults"]
