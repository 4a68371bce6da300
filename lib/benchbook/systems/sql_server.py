"""What the MySQL-protocol servers that the kit starts have in common: how they are knocked at and let the kit in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchbook.errors import SystemFailed
from benchbook.hosts.endpoint import Endpoint
from benchbook.systems.data_server import DataServer
from benchbook.systems.mysql_system import MysqlSystem
from benchbook.systems.sql import query, try_login
from benchbook.systems.wrong_login import wrong_password

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost


class SqlServer(MysqlSystem, DataServer):
    """A server of this protocol with a data folder on each of its hosts. Subclasses give the command line."""

    def first_login(self, host: RemoteHost, endpoint: Endpoint) -> str | None:
        """Called when the server answers but denies the login; None if the login works now."""
        return "denied"

    def knock(self, host: RemoteHost) -> str | None:
        return try_login(host, self.endpoint(host))

    def refused(self, host: RemoteHost) -> None:
        said = self.first_login(host, self.endpoint(host))
        if said == "denied":
            raise wrong_password(self.session.inventory.file, f"systems.{self.name}", self.endpoint(host))
        if said:
            raise SystemFailed(f"{self.name} on {host.name} does not let the kit in: {said}")

    def version(self) -> str:
        return str(query(self.hosts[0], self.endpoints()[0], "SELECT VERSION()")[0][0])

    def variables(self) -> dict[str, str]:
        rows = query(self.hosts[0], self.endpoints()[0], "SHOW GLOBAL VARIABLES")
        return {str(name): str(value) for name, value in rows}
