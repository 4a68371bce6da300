"""TiDB: one tidb-server per host of role `tidb`, each with an embedded store (unistore) of its own."""

from __future__ import annotations

from benchbook.build import programs
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.jobs import LONGEST_S, Command
from benchbook.hosts.remote_host import RemoteHost, file_hash
from benchbook.systems.mysql_system import RETRY_NOTE
from benchbook.systems.sql import query, try_login
from benchbook.systems.sql_server import SqlServer

# TiDB samples mutex contention, for which Go (1.23 and later) follows frame pointers; the hash that unistore takes of a
# contended key (go-farm's assembly) leaves its own value in that register, and the server dies of a segmentation fault
# within seconds of hot rows. This has Go unwind by its tables instead.
STEADY = {"GODEBUG": "tracefpunwindoff=1"}


class TiDB(SqlServer):
    """The real tidb-server, built from its Go module; the store is TiDB's embedded one, not a TiKV cluster."""

    name = "tidb"
    default_port = 4000
    default_status_port = 10080
    builds = ("tidb",)
    title = "TiDB (unistore)"
    stand_in_for = "a TiDB cluster on TiKV"
    # Statistics are written every 20 leases of 3 s: updateStatsWorker in TiDB's domain/domain.go. No load that ends
    # early could wait for several rounds of its garbage collection (tidb_gc_run_interval, 10 min).
    period_s = 60.0

    @property
    def status_port(self) -> int:
        """Where it tells its metrics."""
        return int(self.session.inventory.status_port(self.name) or 0)

    def install(self) -> None:
        self._binary = programs.artefact("tidb") / "tidb-server"
        self.session.each("pushing tidb-server", self._push, timeout=600)

    def _push(self, host: RemoteHost) -> None:
        if self.role_name() in host.host.roles:
            host.push(self._binary, executable=True)

    @property
    def identity(self) -> str:
        return f"tidb-{file_hash(self._binary)[:12]}"

    def command(self, host: RemoteHost) -> Command:
        argv = [
            host.push(self._binary, executable=True),
            "-store",
            "unistore",
            "-path",
            self.data(host),
            "-host",
            host.address,
            "-P",
            self.port,
            "-status-host",
            host.address,
            "-status",
            self.status_port,
            "-L",
            "warn",
            "-temp-dir",
            f"{self.data(host)}.tmp",
            "-socket",
            "",
        ]
        return Command(argv, timeout_s=LONGEST_S, grace_s=10, env=STEADY)

    def first_login(self, host: RemoteHost, endpoint: Endpoint) -> str | None:
        """A new TiDB lets root in without a password: set the one that the inventory names."""
        blank = Endpoint(endpoint.address, endpoint.port, endpoint.user, "")
        if try_login(host, blank) is not None:
            return "denied"
        user, password = (text.replace("\\", "\\\\").replace("'", "\\'") for text in (endpoint.user, self.password))
        query(host, blank, f"ALTER USER '{user}'@'%' IDENTIFIED BY '{password}'")
        return try_login(host, endpoint)

    def notes(self) -> tuple[str, ...]:
        count = len(self.hosts)
        copies = f"{count} tidb-servers with a copy of the data each: connections are spread, data is not shared"
        return (
            "TiDB release-6.5 branch at commit e307642d9fa5 in place of v7.1.3",
            "data in the embedded unistore of each tidb-server: no TiKV, no Raft, no network between SQL and storage",
            *([copies] if count > 1 else []),
            RETRY_NOTE,
        )
