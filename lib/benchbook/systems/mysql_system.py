"""What all systems that speak the MySQL protocol have in common, whoever runs them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchbook.hosts.endpoint import Endpoint
from benchbook.systems.base import System
from benchbook.systems.limits import CONNECTIONS, STATEMENTS, Limit
from benchbook.systems.sql import queries, query
from benchbook.systems.statements import ANSWERED_S, identifier

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost

RETRY_NOTE = "errors 1213, 1020 and 1205 (deadlock, changed record, lock wait) are retried, as by sysbench's default"


# 0 is no limit; of the account itself, `max_user_connections` says what it may have.
_LIMITS = {"max_connections": CONNECTIONS, "max_user_connections": CONNECTIONS, "max_prepared_stmt_count": STATEMENTS}
_TOLD = ", ".join(f"'{name}'" for name in ("version", *_LIMITS))
_TIDB = re.compile(r"-TiDB-v(\d+)\.(\d+)")
# Before, TiDB tells MySQL's default of `max_connections` and heeds a setting of its own (its release notes, 6.2.0).
_TIDB_HEEDS = (6, 2)


class MysqlSystem(System):
    """The dialect: how a database is made and rows are counted, and which errors are retried."""

    protocol = "mysql"
    watched_by = ("mysql",)
    # Deadlock, changed record, lock wait timeout: sysbench's own default. A report's `--mysql-ignore-errors` replaces
    # that default; on tables smaller than the published ones rows collide.
    retried_errors = (1213, 1020, 1205)

    def limits(self, client: RemoteHost) -> list[Limit]:
        return [limit for endpoint in self.endpoints() for limit in self._limits_of(client, endpoint)]

    def _limits_of(self, client: RemoteHost, endpoint: Endpoint) -> list[Limit]:
        said = {
            str(k).lower(): str(v)
            for k, v in query(client, endpoint, f"SHOW VARIABLES WHERE variable_name IN ({_TOLD})")
        }
        tidb = _TIDB.search(said.get("version", ""))
        if tidb and (int(tidb[1]), int(tidb[2])) < _TIDB_HEEDS:
            return []
        own = {CONNECTIONS: len(self.watched_by)}
        return [
            Limit(of, str(endpoint), name, int(said[name]), *self.raised(name), own=own.get(of, 0))
            for name, of in _LIMITS.items()
            if said.get(name, "").isdecimal() and int(said[name])
        ]

    def raised(self, setting: str) -> tuple[str, str]:
        """Key and fix of a setting of its servers that is too low for a load: `{needed}` stands for what it needs."""
        return f"systems.{self.name}", f"set {setting} of that server to {{needed}} or more"

    def make_database(self, client: RemoteHost, database: str) -> None:
        for endpoint in self.copies():
            query(client, endpoint, f"CREATE DATABASE IF NOT EXISTS {identifier(database)}")

    def row_counts(
        self,
        client: RemoteHost,
        endpoint: Endpoint,
        database: str,
        tables: Sequence[str],
        timeout_s: float = ANSWERED_S,
    ) -> dict[str, int]:
        counts = [f"SELECT COUNT(*) FROM {identifier(name)}" for name in tables]
        found = queries(client, endpoint, counts, database=database, timeout_s=timeout_s)
        return {name: int(n) for name, ((n,),) in zip(tables, found, strict=True)}
