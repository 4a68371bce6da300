"""DTM, with its store in MySQL or MariaDB, and the business service of its report: HTTP servers, one on a host each."""

from __future__ import annotations

import shlex

from benchbook.build import programs
from benchbook.hosts.agent import Command
from benchbook.hosts.endpoint import Endpoint, at
from benchbook.hosts.file_hashes import file_hash
from benchbook.hosts.host import Host
from benchbook.hosts.host_models import Json
from benchbook.hosts.http import HttpServer
from benchbook.hosts.session import Session
from benchbook.hosts.timeouts import LONGEST_S
from benchbook.systems.base import About
from benchbook.systems.mysql import MysqlServer, Purpose
from benchbook.systems.server import Service
from benchbook.systems.sql import queries, query
from benchbook.systems.statements import literal

SCHEMAS = ("dtmsvr.storage.mysql.sql", "dtmcli.barrier.mysql.sql")
# What is still under way; `succeed` and `failed` (rolled back) are ends.
ENDS = ("succeed", "failed")
# What ran again after a deadlock: the service's own transactions, and sagas whose submit DTM's store refused.
RETRIED = "db_transactions_retried"


def store_purpose() -> Purpose:
    """Return what DTM's database is for: its tables, the barrier's and the business's.

    The binlog is on: it holds every commit that wrote something, once, and the servers count these (mysql.counters).
    """
    schemas = "-".join(file_hash(programs.artefact("dtm") / name)[:8] for name in SCHEMAS)
    note = (
        "its binary log is on, so that commits can be counted: one more flush to disk for each group of "
        "commits than in a MySQL 5.7 as it comes"
    )
    return Purpose(binlog="binlog", published="MySQL 5.7", identity=f"-binlog-{schemas}", notes=(note,))


def load_schemas(store: MysqlServer) -> None:
    """Make DTM's tables and the barrier's, by the SQL files that its module ships."""
    for name in SCHEMAS:
        for statement in filter(str.strip, (programs.artefact("dtm") / name).read_text().split(";")):
            query(store.hosts[0], store.endpoints()[0], statement)


class HttpService(Service):
    """One process on one host, known by a path that answers 200; what it keeps, it keeps in the database `store`."""

    builds = ("dtm",)
    keeps_data = False
    title: str
    alive_path: str

    def __init__(self, session: Session, store: Endpoint) -> None:
        super().__init__(session)
        self.store = store

    @property
    def host(self) -> Host:
        return self.own_hosts[0]

    @property
    def http(self) -> HttpServer:
        """Its HTTP port, seen from its own host."""
        return HttpServer(self.host, self.host.address, self.port)

    @property
    def url(self) -> str:
        return f"http://{at(self.host.address, self.port)}"

    def knock(self, host: Host) -> str | None:
        return self.http.knock(self.alive_path)

    def about_this(self, version: str, *notes: str) -> About:
        """Return version, command line and environment; nothing secret is in either."""
        command = self.command(self.host)
        config = {"command": " ".join(str(word) for word in command.argv), "environment": dict(command.env)}
        return About(self.name, version, self.title, None, notes, (self.host.name,), config)


class Dtm(HttpService):
    """The DTM server. Settings that the report does not name are DTM's own defaults."""

    name = "dtm"
    title = "DTM"
    program_file = "dtm"
    alive_path = "/api/dtmsvr/version"
    takes = ()
    default_port = 36789
    ports_without_login = ("port",)
    ports_above = 2  # gRPC, JSON-RPC

    @property
    def api(self) -> str:
        return f"{self.url}/api/dtmsvr"

    def command(self, host: Host) -> Command:
        # At its usual level DTM prints its settings, the store's password among them.
        env = {
            "LOG_LEVEL": "warn",
            "HTTP_PORT": str(self.port),
            "GRPC_PORT": str(self.port + 1),
            "JSON_RPC_PORT": str(self.port + 2),
            "STORE_DRIVER": "mysql",
            "STORE_HOST": self.store.address,
            "STORE_PORT": str(self.store.port),
            "STORE_USER": self.store.user,
            "UPDATE_BRANCH_SYNC": "0",
        }
        secret = f"export STORE_PASSWORD={shlex.quote(self.store.password)}\n"
        argv = ["sh", "-c", '. "$0" && exec "$1"', "{job}/store.env", self.program.on(host)]
        return Command(argv, timeout_s=LONGEST_S, grace_s=3, env=env, secrets={"store.env": secret})

    def about(self) -> About:
        return self.about_this(
            str(self.http.get(self.alive_path).json()["version"]),
            "v1.19.0 in place of commit fec4957, from which no release was built",
            "it listens on all addresses of its host: only its ports can be chosen",
            "its branch states are written asynchronously and merged, as in the report",
        )

    # -- its store ----------------------------------------------------------------------------------------------

    selects = 0  # our own there, which no load sent

    def forget(self) -> None:
        """Empty its tables; no transaction may be under way."""
        tables = ("trans_global", "trans_branch_op")
        queries(self.host, self.store, [f"TRUNCATE TABLE dtm.{table}" for table in tables])

    def ends(self) -> dict[str, int]:
        """Global transactions in its store, by status."""
        self.selects += 1
        rows = query(self.host, self.store, "SELECT status, COUNT(*) FROM dtm.trans_global GROUP BY status")
        return {str(status): int(count) for status, count in rows}

    def not_ended(self) -> set[str]:
        """Return the global transactions under way, by their ids."""
        self.selects += 1
        ends = ", ".join(map(literal, ENDS))
        rows = query(self.host, self.store, f"SELECT gid FROM dtm.trans_global WHERE status NOT IN ({ends})")
        return {str(gid) for (gid,) in rows}


class SagaService(HttpService):
    """Runs one global transaction for each GET /saga, and serves the branches that DTM calls back."""

    name = "business"
    title = "saga-bench (business service)"
    program_file = "saga-bench"
    alive_path = "/healthz"

    def __init__(self, session: Session, store: Endpoint, dtm_api: str, accounts: int) -> None:
        super().__init__(session, store)
        self._dtm_api, self._accounts = dtm_api, accounts

    def command(self, host: Host) -> Command:
        argv = [
            self.program.on(host),
            "-listen",
            at(self.host.address, self.port),
            "-dtm",
            self._dtm_api,
            "-db-address",
            str(self.store),
            "-db-user",
            self.store.user,
            "-db-password-file",
            "{job}/password",
            "-accounts",
            self._accounts,
        ]
        return Command(argv, timeout_s=LONGEST_S, grace_s=10, secrets={"password": f"{self.store.password}\n"})

    def about(self) -> About:
        own = "written for this notebook: the report's own bench service insists on Redis, MongoDB and localhost"
        return self.about_this(str(self.stats()["version"]), own)

    def reset(self) -> None:
        """New accounts and an empty log, an empty barrier table, counters at zero. Raise SystemFailed when busy."""
        self.http.get("/reset", method="POST")

    def stats(self) -> Json:
        """Counts of global transactions and branch calls since the reset, latencies per outcome, what is in flight."""
        found: Json = self.http.get("/stats").json()
        return found

    def books(self) -> Json:
        """Return the audit of accounts and log; not for use under load."""
        found: Json = self.http.get("/check", timeout=300).json()
        return found
