"""The binary log of an upstream of replication: where it ends, what it holds, how it is begun anew."""

from __future__ import annotations

from benchbook.systems.dm_status import BinlogPosition
from benchbook.systems.innodb_server import InnodbServer
from benchbook.systems.sql import query


def position(server: InnodbServer) -> BinlogPosition:
    """Where the binlog ends now (SHOW MASTER STATUS)."""
    ((file, offset, *_),) = query(server.hosts[0], server.endpoints()[0], "SHOW MASTER STATUS")
    return BinlogPosition(str(file), int(offset))


def forget(server: InnodbServer) -> None:
    """Delete all binlog files and begin a new one. No dm-worker may run, and none may keep its relay log.

    A worker that goes on across this stands still without an error.
    """
    query(server.hosts[0], server.endpoints()[0], "RESET MASTER")


def size(server: InnodbServer) -> int:
    """Bytes on disk."""
    rows = query(server.hosts[0], server.endpoints()[0], "SHOW BINARY LOGS")
    return sum(int(size) for _, size, *_ in rows)
