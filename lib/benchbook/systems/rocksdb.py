"""RocksDB: a database in a folder of the client host, which its load generator opens in its own process."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from benchbook.errors import SystemFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.profiles import Profile
from benchbook.systems.base import System

PACKAGE = "rocksdb-tools"
_VERSION = re.compile(r"^RocksDB: +version (\S+)", re.MULTILINE)
_WARNING = re.compile(r"^WARNING: (.+)$", re.MULTILINE)
_OPTION = re.compile(r"^ +(\w+)=(.*)$", re.MULTILINE)
# The options that the database was last opened with, as it writes them down itself: the newest file of this name.
_OPTIONS = 'set -- "$0"/OPTIONS-*; for newest; do :; done; cat -- "$newest"'
_KEYS = re.compile(r"^Keys in range: (\d+)", re.MULTILINE)
# ldb reads every key to count them.
COUNT_S = 3600.0


def data_folder(host: Host) -> str:
    """Return the path of the database's folder on this host."""
    return host.path(RocksDB.name, "data")


class RocksDB(System):
    """No server: what is started, stopped and watched elsewhere is here a folder, with the data sets beside it."""

    name = "rocksdb"
    title = "RocksDB"
    role = "client"
    protocol = "rocksdb"
    takes: ClassVar[tuple[str, ...]] = ()

    def __init__(self, session: Session, profile: Profile) -> None:
        super().__init__(session, profile)
        self._ldb, self._version = "", ""
        self._warnings: tuple[str, ...] = ()

    @property
    def own_hosts(self) -> list[Host]:
        """The first client host: a database is opened by one process at a time."""
        return super().own_hosts[:1]

    @property
    def identity(self) -> str:
        return f"{self.name}-{self._version}"

    def install(self) -> None:
        host = self.own_hosts[0]
        self._ldb = host.require_program("ldb", package=PACKAGE)
        db_bench = host.require_program("db_bench", package=PACKAGE)
        # Without a benchmark it opens a database, says how it was built, and ends.
        empty = host.path(self.folder, "empty")
        host.mkdir(host.path(self.folder))
        try:
            said = host.run([db_bench, f"--db={empty}", "--benchmarks="])
        finally:
            host.run(["rm", "-rf", "--", empty])
        printed = said.stdout + said.stderr
        found = _VERSION.search(printed)
        self._version = found[1] if found else "unknown"
        self._warnings = tuple(_WARNING.findall(printed))

    def endpoint(self, host: Host) -> Endpoint:
        """Its address is the folder: there is no port."""
        return Endpoint(self.data(host), 0, protocol=self.protocol)

    def command(self, host: Host) -> Command:
        """Return what opens it to be looked at: there is no server to start."""
        return Command([self._ldb, f"--db={self.data(host)}", "dump", "--count_only"], timeout_s=COUNT_S)

    def data(self, host: Host) -> str:
        return data_folder(host)

    def knock(self, host: Host) -> str | None:
        return None

    def start(self) -> None:
        """Nothing runs between two loads."""
        for host in self.own_hosts:
            host.mkdir(self.data(host))

    def ready(self, *, timeout_s: float = 120.0) -> None:
        """A folder serves at once."""

    def version(self) -> str:
        return self._version

    def variables(self) -> dict[str, str]:
        """Return the options that the database was last opened with."""
        host = self.own_hosts[0]
        found = host.run(["sh", "-c", _OPTIONS, self.data(host)], check=False)
        return dict(_OPTION.findall(found.stdout))

    def notes(self) -> tuple[str, ...]:
        return (
            "embedded: db_bench opens the database in its own process, on the client host, without a network between",
            *(f"db_bench says of its build: {warning}" for warning in self._warnings),
        )

    def row_counts(
        self,
        client: Host,
        endpoint: Endpoint,
        database: str,
        tables: Sequence[str],
        timeout_s: float = COUNT_S,
    ) -> dict[str, int]:
        """Count the keys of the closed database, each of them read. Raise SystemFailed where it cannot be read."""
        said = client.run(self.command(client).argv, timeout=timeout_s, check=False)
        found = _KEYS.search(said.stdout)
        if said.exited or found is None:
            raise SystemFailed(f"RocksDB: its keys could not be counted: {(said.stdout + said.stderr).strip()[-500:]}")
        return dict.fromkeys(tables, int(found[1]))
