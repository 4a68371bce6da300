"""An endpoint: a server that exists already and that is reached by the MySQL protocol alone."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from benchbook.errors import BadInput, HostUnusable, SystemFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.inventory import EndpointSettings, Inventory
from benchbook.hosts.session import Session
from benchbook.profiles import Profile
from benchbook.systems.base import System, wrong_password
from benchbook.systems.sql import RETRIED, queries, query, try_login
from benchbook.systems.statements import identifier, literal

# The table, in a database that was filled, that says with what: a row for itself and for each table that was made then.
MARKER = "benchbook_dataset"
# As tables are named: by case, whatever the database takes for its own tables.
_NAME = "VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"


class EndpointSystem(System):
    """Reached from the first client host. Somebody else runs it: it has no servers to install, start, stop or reset.

    Its dataset is prepared once; trials start from what the trial before has left.
    """

    name = "endpoint"
    protocol = "mysql"
    watched_by = ("mysql",)
    retried_errors = RETRIED
    can_reset = False
    run_by_kit = False

    def __init__(self, session: Session, profile: Profile, which: str = "") -> None:
        super().__init__(session, profile)
        self.which, self.existing = self.choose(session.inventory, which)
        self.name = f"endpoint:{self.which}"
        password = self.existing.password(f"endpoints.{self.which}")
        ca = self.existing.authority(f"endpoints.{self.which}")
        s = self.existing
        self._sql = Endpoint(s.host, s.port, s.user, password, s.tls, tls_ca=ca)
        self.title = self.existing.product or f"existing server at {self._sql}"
        self._made, self._before = "", set[str]()

    @staticmethod
    def choose(inventory: Inventory, which: str) -> tuple[str, EndpointSettings]:
        """Return the endpoint of this name; without a name, the only one there is."""
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
    def own_hosts(self) -> list[Host]:
        return []

    def command(self, host: Host) -> Command:
        raise SystemFailed(f"{self.name} is run by somebody else")

    @property
    def via(self) -> Host:
        return self.session.with_role("client")[0]

    @property
    def identity(self) -> str:
        return f"endpoint-{hashlib.sha256(str(self._sql).encode()).hexdigest()[:12]}"

    def raised(self, setting: str) -> tuple[str, str]:
        return f"endpoints.{self.which}", f"set {setting} of that server to {{needed}} or more"

    def ready(self, *, timeout_s: float = 120.0) -> None:
        said = try_login(self.via, self._sql)
        if said == "denied":
            raise wrong_password(self.session.inventory.file, f"endpoints.{self.which}", self._sql)
        if said:
            raise HostUnusable(
                f"the endpoint does not answer from host {self.via.name} ({said})",
                file=self.session.inventory.file,
                key=f"endpoints.{self.which}",
                value=str(self._sql),
                fix="check host and port, and that the client host may connect to it"
                + (", and who vouches for it (tls_ca)" if self.existing.tls else ""),
            )

    def make_database(self, client: Host, database: str) -> None:
        """It is to be filled: what it was filled with before goes, and is forgotten; nothing of anybody else's goes."""
        super().make_database(client, database)
        self._drop(database, [*sorted({*self._marked(database)} - {MARKER}), MARKER])
        self._made, self._before = database, self._tables_of("table_schema", database, "table_name")

    def discard(self) -> None:
        """Take away what it was being filled with, if it was: in its place nothing else could be made."""
        if self._made:
            begun = self._tables_of("table_schema", self._made, "table_name") - self._before
            self._drop(self._made, sorted(begun))
            self._made = ""

    def _drop(self, database: str, tables: Sequence[str]) -> None:
        queries(self.via, self._sql, [f"DROP TABLE IF EXISTS {identifier(name)}" for name in tables], database=database)

    def _marked(self, database: str) -> dict[str, str]:
        """Return the tables that its marker names, with the dataset that they hold; none without a marker."""
        if MARKER not in self._tables_of("table_schema", database, "table_name"):
            return {}
        return dict(query(self.via, self._sql, f"SELECT held, identity FROM {MARKER}", database=database))

    def keep(self, dataset: str) -> None:
        """Remember in the database that was filled which dataset it holds, and in which tables: one at a time."""
        if not self._made:
            self.make_database(self.via, self.existing.database)
        made = self._tables_of("table_schema", self._made, "table_name") - self._before
        statements = (
            f"DROP TABLE IF EXISTS {MARKER}",
            f"CREATE TABLE {MARKER} (held {_NAME} PRIMARY KEY, identity {_NAME}, made_by {_NAME})",
            *(f"INSERT INTO {MARKER} VALUES ({literal(name)}, '{dataset}', 'benchbook')" for name in {MARKER, *made}),
        )
        queries(self.via, self._sql, statements, database=self._made)
        self._made = ""

    def has(self, dataset: str) -> bool:
        """Is this what one of its databases was last filled with, and are all tables of that still there?"""
        return any(self._holds(database, dataset) for database in self._tables_of("table_name", MARKER, "table_schema"))

    def _holds(self, database: str, dataset: str) -> bool:
        held = self._marked(database)
        return set(held.values()) == {dataset} and {*held} <= self._tables_of("table_schema", database, "table_name")

    def _tables_of(self, column: str, value: str, wanted: str) -> set[str]:
        """This column of the tables that the account sees."""
        where = f"{column} = '{value}'"
        rows = query(self.via, self._sql, f"SELECT {wanted} FROM information_schema.tables WHERE {where}")
        return {str(name) for (name,) in rows}

    def notes(self) -> tuple[str, ...]:
        return (
            "an existing server: not restarted between repetitions, so they share its state",
            "only the client hosts were reserved for this run: whether others used the server meanwhile is not known",
        )

    def endpoints(self) -> list[Endpoint]:
        return [self._sql]
