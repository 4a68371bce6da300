"""MariaDB as an upstream of replication: its binary log on, in rows, read by position."""

from __future__ import annotations

from benchbook.systems.dm_status import BinlogPosition
from benchbook.systems.mariadb import MariaDB
from benchbook.systems.sql import query


class BinlogMariaDB(MariaDB):
    """The MariaDB that DM replicates from; its account may replicate, because it may do everything."""

    title = "MariaDB, row binlog"
    stand_in_for = "MySQL 5.7"

    def options(self) -> tuple[str, ...]:
        kept = (option for option in super().options() if option != "--skip-log-bin")
        return (*kept, "--log-bin=mysql-bin", "--binlog-format=ROW", "--server-id=1")

    @property
    def identity(self) -> str:
        return f"{super().identity}-row-binlog"

    def notes(self) -> tuple[str, ...]:
        return ("row binlog with one flush per commit group, and one flush of the redo log per commit",)

    def position(self) -> BinlogPosition:
        """Where the binlog ends now (SHOW MASTER STATUS)."""
        ((file, offset, *_),) = query(self.hosts[0], self.endpoints()[0], "SHOW MASTER STATUS")
        return BinlogPosition(str(file), int(offset))

    def forget_binlog(self) -> None:
        """Delete all binlog files and begin a new one. No dm-worker may run, and none may keep its relay log.

        A worker that goes on across this stands still without an error.
        """
        query(self.hosts[0], self.endpoints()[0], "RESET MASTER")

    def binlog_bytes(self) -> int:
        rows = query(self.hosts[0], self.endpoints()[0], "SHOW BINARY LOGS")
        return sum(int(size) for _, size, *_ in rows)
