"""Exact counters of a MySQL-protocol server: read before and after a load, their difference is what the load did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from benchbook.hosts.endpoint import Endpoint
from benchbook.systems.sql import executing

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost

# Statements by type, as the report counts them; a commit is counted where something was written, by whatever way.
STATEMENTS = ("Com_insert", "Com_update", "Com_delete", "Com_replace", "Com_select")
COMMITS = "Binlog_commits"
# Shown beside: explicit COMMITs alone miss what was written in autocommit.
BESIDE = ("Com_commit", "Com_begin", "Com_rollback", "Questions", "Innodb_row_lock_waits")


def read(host: RemoteHost, endpoint: Endpoint) -> dict[str, int]:
    """The counters now."""
    names = ",".join(f"'{name}'" for name in (*STATEMENTS, COMMITS, *BESIDE))
    with executing(host, endpoint) as execute:
        rows = execute(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})")
        found = {str(name): int(value) for name, value in rows}
        if COMMITS not in found:
            # Not by SELECT, which would count among the statements.
            ((_, written),) = execute("SHOW GLOBAL VARIABLES LIKE 'gtid_executed'")
            found[COMMITS] = transactions(str(written))
    return found


def transactions(gtids: str) -> int:
    """How many transactions a set of GTIDs holds: `UUID:1-5:7, UUID:3` is 7 (dev.mysql.com/doc, GTID sets).

    MySQL has no `Binlog_commits`, as MariaDB has; with GTIDs, each commit that its binary log holds has one.
    """
    ranges = [part.split("-") for of_server in gtids.split(",") for part in of_server.split(":")[1:]]
    return sum(int(bounds[-1]) - int(bounds[0]) + 1 for bounds in ranges)


def difference(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    return {name: value - before[name] for name, value in after.items()}


def statements(counted: Mapping[str, int]) -> int:
    """SQL statements that read or change rows: without BEGIN, COMMIT, SHOW and SET."""
    return sum(counted.get(name, 0) for name in STATEMENTS)
