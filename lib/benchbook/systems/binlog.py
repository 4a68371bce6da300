"""The binary log of an upstream of replication: where it ends, what it holds, how it is begun anew."""

from __future__ import annotations

from benchbook.systems.dm_status import BinlogPosition
from benchbook.systems.innodb_server import InnodbServer
from benchbook.systems.sql import queries, query

_WHERE_IT_ENDS = "SHOW MASTER STATUS"


def position(server: InnodbServer) -> BinlogPosition:
    """Where the binlog ends now."""
    return _ends(query(server.hosts[0], server.endpoints()[0], _WHERE_IT_ENDS))


def begin_anew(server: InnodbServer) -> BinlogPosition:
    """Delete all binlog files and begin a new one; returns where it ends. No dm-worker may run, or keep its relay log.

    A worker that goes on across this stands still without an error.
    """
    _, status = queries(server.hosts[0], server.endpoints()[0], ["RESET MASTER", _WHERE_IT_ENDS])
    return _ends(status)


def size(server: InnodbServer) -> int:
    """Bytes on disk."""
    rows = query(server.hosts[0], server.endpoints()[0], "SHOW BINARY LOGS")
    return sum(int(size) for _, size, *_ in rows)


def _ends(status: list[tuple[object, ...]]) -> BinlogPosition:
    ((file, offset, *_),) = status
    return BinlogPosition(str(file), int(str(offset)))
