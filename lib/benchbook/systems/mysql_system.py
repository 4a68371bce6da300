"""What all systems that speak the MySQL protocol have in common, whoever runs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchbook.hosts.endpoint import Endpoint
from benchbook.systems.base import System
from benchbook.systems.sql import queries, query
from benchbook.systems.statements import ANSWERED_S, identifier

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost

RETRY_NOTE = "errors 1213, 1020 and 1205 (deadlock, changed record, lock wait) are retried, as by sysbench's default"


class MysqlSystem(System):
    """The dialect: how a database is made and rows are counted, and which errors are retried."""

    protocol = "mysql"
    watched_by = ("mysql",)
    # Deadlock, changed record, lock wait timeout: sysbench's own default. A report's `--mysql-ignore-errors` replaces
    # that default; on tables smaller than the published ones rows collide.
    retried_errors = (1213, 1020, 1205)

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
