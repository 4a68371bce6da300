"""DTM: the real server on the host of role `dtm`, with its store in MySQL or MariaDB; and what that store is for."""

from __future__ import annotations

import shlex

from benchbook.build import programs
from benchbook.hosts.file_hashes import file_hash
from benchbook.hosts.jobs import LONGEST_S, Command
from benchbook.systems.http_server import HttpServer
from benchbook.systems.innodb_server import InnodbServer, Purpose
from benchbook.systems.sql import queries, query
from benchbook.systems.statements import literal

SCHEMAS = ("dtmsvr.storage.mysql.sql", "dtmcli.barrier.mysql.sql")
# What is still under way; `succeed` and `failed` (rolled back) are ends.
ENDS = ("succeed", "failed")


def store_purpose() -> Purpose:
    """What DTM's database is for: its tables, the barrier's and the business's.

    The binlog is on: it holds every commit that wrote something, once, and the servers count these (systems.counters).
    """
    schemas = "-".join(file_hash(programs.artefact("dtm") / name)[:8] for name in SCHEMAS)
    note = (
        "its binary log is on, so that commits can be counted: one more flush to disk for each group of "
        "commits than in a MySQL 5.7 as it comes"
    )
    return Purpose(binlog="binlog", published="MySQL 5.7", identity=f"-binlog-{schemas}", notes=(note,))


def load_schemas(store: InnodbServer) -> None:
    """Make DTM's tables and the barrier's, by the SQL files that its module ships."""
    for name in SCHEMAS:
        for statement in filter(str.strip, (programs.artefact("dtm") / name).read_text().split(";")):
            query(store.hosts[0], store.endpoints()[0], statement)


class Dtm(HttpServer):
    """The DTM server. Settings that the report does not name are DTM's own defaults."""

    name = "dtm"
    title = "DTM"
    program = "dtm"
    alive_path = "/api/dtmsvr/version"
    takes = ()
    default_port = 36789

    @property
    def api(self) -> str:
        return f"{self.url}/api/dtmsvr"

    def command(self) -> Command:
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
        binary = self.host.push(self.binary, executable=True)
        argv = ["sh", "-c", '. "$0" && exec "$1"', "{job}/store.env", binary]
        return Command(argv, timeout_s=LONGEST_S, grace_s=3, env=env, secrets={"store.env": secret})

    def version(self) -> str:
        return str(self.door.get(self.alive_path).json()["version"])

    def notes(self) -> tuple[str, ...]:
        return (
            "v1.19.0 in place of commit fec4957, from which no release was built",
            "it listens on all addresses of its host: only its ports can be chosen",
            "its branch states are written asynchronously and merged, as in the report",
        )

    # -- its store ----------------------------------------------------------------------------------------------

    asked = 0  # our own SELECTs there, which no load sent

    def forget(self) -> None:
        """Empty its tables; no transaction may be under way."""
        tables = ("trans_global", "trans_branch_op")
        queries(self.host, self.store, [f"TRUNCATE TABLE dtm.{table}" for table in tables])

    def ends(self) -> dict[str, int]:
        """Global transactions in its store, by status."""
        self.asked += 1
        rows = query(self.host, self.store, "SELECT status, COUNT(*) FROM dtm.trans_global GROUP BY status")
        return {str(status): int(count) for status, count in rows}

    def not_ended(self) -> set[str]:
        """The global transactions under way, by their ids."""
        self.asked += 1
        ends = ", ".join(map(literal, ENDS))
        rows = query(self.host, self.store, f"SELECT gid FROM dtm.trans_global WHERE status NOT IN ({ends})")
        return {str(gid) for (gid,) in rows}
