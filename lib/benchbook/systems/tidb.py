"""TiDB: one tidb-server per host of role `tidb`, each with an embedded store (unistore) of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from benchbook.build import programs
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.fanout import on_each
from benchbook.hosts.file_hashes import file_hash
from benchbook.profiles import Profile
from benchbook.systems import tidb_server
from benchbook.systems.mysql_system import RETRY_NOTE
from benchbook.systems.sql import queries
from benchbook.systems.sql_server import SqlServer
from benchbook.systems.statements import identifier

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.jobs import Command
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session

# A change to one Region is one request to the store, and one to two Regions is two. The published tables of millions of
# rows are many Regions of 96 MiB, so that a row and its entries in an index stand in two; a small table is one Region.
# With rows and indexes apart, an update of an indexed column took 1.6 times the CPU of one without; in one Region 1.2
# times (TiDB 6.5 on unistore, tables of 1,000 rows, 4 clients). A cluster's unistore splits by size alone.
_APART = (
    "a table that is one Region is split by hand into one of its rows and one of its index, as size splits the "
    "published tables: within one Region an index adds a sixth to the CPU of an update, in two more than half"
)


class TiDB(SqlServer):
    """The real tidb-server, built from its Go module; the store is TiDB's embedded one, not a TiKV cluster."""

    name = "tidb"
    default_port = 4000
    default_status_port = 10080
    builds = ("tidb",)
    versioned = "tidb"
    title = "TiDB (unistore)"
    stand_in_for = "a TiDB cluster on TiKV"
    fewer = "one embedded store (unistore) in place of TiKV's several"
    # Statistics are written every 20 leases of 3 s: updateStatsWorker in TiDB's domain/domain.go. No load that ends
    # early could wait for several rounds of its garbage collection (tidb_gc_run_interval, 10 min).
    takes = ()

    def __init__(self, session: Session, profile: Profile) -> None:
        super().__init__(session, profile)
        if self.named_version:
            self.title = f"TiDB {self.named_version} (unistore)"

    def install(self) -> None:
        self._binary = programs.artefact(self.builds[0]) / "tidb-server"
        self.session.each("pushing tidb-server", self._push, timeout=600)

    def _push(self, host: RemoteHost) -> None:
        if self.role_name() in host.host.roles:
            host.push(self._binary, executable=True)

    def ready(self, *, timeout_s: float = 120.0) -> None:
        """Return once all serve, none analyzes tables by itself, and none asks its store for what it does not have."""
        super().ready(timeout_s=timeout_s)
        off = [tidb_server.ANALYZES_BY_ITSELF, tidb_server.IMPORTS_SORTED]
        on_each(f"setting {self.name}", self.carriers, lambda h: tidb_server.switch_off(h, self.endpoint(h), off))

    def discard(self) -> None:
        """What it writes when it is asked to end takes it seconds, and would be removed next."""
        self.end_at_once()

    @property
    def identity(self) -> str:
        return f"tidb-regions-{file_hash(self._binary)[:12]}"

    def command(self, host: RemoteHost) -> Command:
        program, temp = host.push(self._binary, executable=True), f"{self.data(host)}.tmp"
        # It is read as part of a URL.
        store = ("-store", "unistore", "-path", quote(self.data(host)))
        return tidb_server.serving(program, self.endpoint(host), self.status_port, temp, store)

    def first_login(self, host: RemoteHost, endpoint: Endpoint) -> str | None:
        return tidb_server.let_in(host, endpoint)

    def lay_out(self, client: RemoteHost, database: str, tables: Sequence[str]) -> None:
        """Put the rows of a table that is one Region into another than its indexes; no key is a negative integer."""
        named = [identifier(table) for table in tables]
        for end in self.copies():
            regions = queries(client, end, [f"SHOW TABLE {table} REGIONS" for table in named], database=database)
            whole = [table for table, found in zip(named, regions, strict=True) if len(found) == 1]
            queries(client, end, [f"SPLIT TABLE {table} BY (0)" for table in whole], database=database)

    def notes(self) -> tuple[str, ...]:
        count = len(self.hosts)
        copies = f"{count} tidb-servers with a copy of the data each: connections are spread, data is not shared"
        return (
            tidb_server.built_note(self.builds[0], self.named_version),
            "data in the embedded unistore of each tidb-server: no TiKV, no Raft, no network between SQL and storage",
            tidb_server.NOT_ANALYZED,
            _APART,
            *([copies] if count > 1 else []),
            RETRY_NOTE,
        )
