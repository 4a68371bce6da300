"""An endpoint: a server that exists already and that is reached by the MySQL protocol alone."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from benchbook.errors import BadInput, HostUnusable
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.inventory import EndpointSettings, Inventory
from benchbook.profiles import Profile
from benchbook.systems.base import About
from benchbook.systems.mysql_system import MysqlSystem
from benchbook.systems.sql import query, try_login
from benchbook.systems.wrong_login import wrong_password

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session


class EndpointSystem(MysqlSystem):
    """Reached from the first client host. It is never started, stopped or reset: its dataset is prepared once."""

    name = "endpoint"
    can_reset = False
    run_by_kit = False

    def __init__(self, session: Session, profile: Profile, which: str = "") -> None:
        super().__init__(session, profile)
        self.which, self.settings = self.choose(session.inventory, which)
        self.name = f"endpoint:{self.which}"
        password = self.settings.password(f"endpoints.{self.which}")
        self._sql = Endpoint(self.settings.host, self.settings.port, self.settings.user, password, self.settings.tls)

    @staticmethod
    def choose(inventory: Inventory, which: str) -> tuple[str, EndpointSettings]:
        """The endpoint of this name; without a name, the only one there is."""
        if not which and len(inventory.endpoints) == 1:
            which = next(iter(inventory.endpoints))
        if which not in inventory.endpoints:
            raise BadInput(
                "no such endpoint" if which else "which endpoint is not clear",
                file=inventory.file,
                key="endpoints",
                value=which or sorted(inventory.endpoints),
                fix="describe it under `endpoints` (host, port, user, password_env) and say `endpoint:NAME`",
            )
        return which, inventory.endpoints[which]

    @property
    def hosts(self) -> list[RemoteHost]:
        return []

    @property
    def _via(self) -> RemoteHost:
        return self.session.with_role("client")[0]

    @property
    def identity(self) -> str:
        return f"endpoint-{hashlib.sha256(str(self._sql).encode()).hexdigest()[:12]}"

    def install(self) -> None:
        """Nothing to install."""

    def start(self) -> None:
        """Somebody else runs it."""

    def ready(self, *, timeout_s: float = 120.0) -> None:
        said = try_login(self._via, self._sql)
        if said == "denied":
            raise wrong_password(self.session.inventory.file, f"endpoints.{self.which}", self._sql)
        if said:
            raise HostUnusable(
                f"the endpoint does not answer from host {self._via.name} ({said})",
                file=self.session.inventory.file,
                key=f"endpoints.{self.which}",
                value=str(self._sql),
                fix="check host and port, and that the client host may connect to it",
            )

    def stop(self) -> None:
        """Somebody else runs it."""

    def reset(self, dataset: str | None) -> None:
        """Its state is its owner's: trials start from what the trial before has left."""

    def keep(self, dataset: str) -> None:
        """Remember in the server itself which dataset it holds."""
        database = self.settings.database
        query(
            self._via,
            self._sql,
            "CREATE TABLE IF NOT EXISTS benchbook_dataset (identity VARCHAR(64))",
            database=database,
        )
        query(self._via, self._sql, f"INSERT INTO benchbook_dataset VALUES ('{dataset}')", database=database)

    def has(self, dataset: str) -> bool:
        # Asked this way, for a database that is not there yet has no tables, where SHOW TABLES fails.
        where = f"table_schema = '{self.settings.database}' AND table_name = 'benchbook_dataset'"
        shown = query(self._via, self._sql, f"SELECT table_name FROM information_schema.tables WHERE {where}")
        if not shown:
            return False
        rows = query(self._via, self._sql, "SELECT identity FROM benchbook_dataset", database=self.settings.database)
        return dataset in {row[0] for row in rows}

    def about(self) -> About:
        version = str(query(self._via, self._sql, "SELECT VERSION()")[0][0])
        variables = {str(k): str(v) for k, v in query(self._via, self._sql, "SHOW GLOBAL VARIABLES")}
        title = self.settings.product or f"existing server at {self._sql}"
        notes = (
            "an existing server: not restarted between repetitions, so they share its state",
            "only the client hosts were reserved for this run: whether others used the server meanwhile is not known",
        )
        return About(self.name, version, title, None, notes, (), {"variables": variables})

    def endpoints(self) -> list[Endpoint]:
        return [self._sql]
