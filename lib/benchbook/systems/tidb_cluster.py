"""A TiDB cluster: placement driver (role `pd`), stores (`tikv`) and tidb-servers (`tidb`), which share the data."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from benchbook.campaign.design import digest
from benchbook.errors import SystemFailed
from benchbook.hosts.endpoint import Endpoint
from benchbook.profiles import Profile
from benchbook.systems import tidb_server
from benchbook.systems.base import About
from benchbook.systems.life_signs import await_answer
from benchbook.systems.mysql_system import RETRY_NOTE
from benchbook.systems.placement_driver import PlacementDriver
from benchbook.systems.server_program import ServerProgram, install_on
from benchbook.systems.sql import query, try_login
from benchbook.systems.sql_server import SqlServer
from benchbook.systems.stores import Stores, check_one_unistore
from benchbook.systems.toml_text import toml

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.inventory import Inventory
    from benchbook.hosts.jobs import Command
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session

# A tidb-server hears of a password that another one has set through PD's etcd.
HEARS_S = 20.0
_PARTS = "SELECT type, instance, version, git_hash FROM information_schema.cluster_info ORDER BY type, instance"
_UNISTORES = "SELECT 1 FROM information_schema.cluster_info WHERE type = 'tikv' AND version LIKE '%unistore%'"
# Both choose the time of a commit before the row can be seen as locked, which TiKV makes good by locks in memory, and
# unistore does not: another transaction reads the old row at a later time, and then fails with error 8141 (assertion
# failed) in seconds of `oltp_update_index` with 8 threads. Without the two, a commit gets its time after its locks.
_UNSAFE_ON_UNISTORE = ("tidb_enable_1pc", "tidb_enable_async_commit")
# Of 7.1: PD 6.6-alpha knows no resource group (error 8249 on every insert).
_NOT_SERVED = ("tidb_enable_resource_control", tidb_server.IMPORTS_SORTED)
_CONFIG = "SELECT type, instance, `key`, value FROM information_schema.cluster_config"


class TiDBCluster(SqlServer):
    """Its own servers are the tidb-servers; `driver` and `stores` are started before them and end after them."""

    name = "tidb_cluster"
    role = "tidb"
    default_port = 4000
    default_status_port = 10080
    builds = ("tidb", "pd", "unistore")
    versioned = "tidb"
    # As for TiDB alone: its statistics.

    def __init__(self, session: Session, profile: Profile) -> None:
        super().__init__(session, profile)
        check_one_unistore(session.inventory)
        tidb, _, store = self.builds
        self.driver = PlacementDriver(session, len(session.inventory.require(Stores.name)))
        self.stores = Stores(session, self.driver, store)
        self.program = ServerProgram(f"systems.{self.name}.binary", tidb, "tidb-server", self.settings.binary)
        self.title = self._title()
        if self.stores.program.built:
            self.stand_in_for = "a TiDB cluster on TiKV"
            self.fewer = "one store (unistore) in place of TiKV's several"

    @classmethod
    def roles(cls) -> tuple[str, ...]:
        return (cls.role_name(), Stores.name, PlacementDriver.name)

    @classmethod
    def builds_for(cls, inventory: Inventory) -> tuple[str, ...]:
        named = dict(zip(cls.builds, (cls.name, PlacementDriver.name, Stores.name), strict=True))
        return tuple(folder for folder, system in named.items() if not inventory.settings(system).binary)

    @property
    def hosts(self) -> list[RemoteHost]:
        """The tidb-servers' first, in the order of the endpoints; then the others'."""
        every = (*self.carriers, *self.stores.carriers, *self.driver.carriers)
        return list({host.name: host for host in every}.values())

    def install(self) -> None:
        for part in (self, self.stores, self.driver):
            install_on(part.program, part.carriers)

    @property
    def identity(self) -> str:
        """PD's data holds the addresses of all, so that data of other hosts is other data."""
        parts = (self, self.stores, self.driver)
        where = [[part.name, part.port, *(host.address for host in part.carriers)] for part in parts]
        config = [self.settings.config, self.stores.settings.config, self.driver.configuration()]
        return f"{self.name}-{digest([where, config, [part.program.identity() for part in parts]])}"

    def copies(self) -> list[Endpoint]:
        """What one of them writes, all of them read."""
        return self.endpoints()[:1]

    # -- verbs --------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Each kind once the one before it serves."""
        for part in (self.driver, self.stores):
            part.start()
            part.ready()
        super().start()

    def ready(self, *, timeout_s: float = 120.0) -> None:
        """Return once all serve and the data has its replicas."""
        super().ready(timeout_s=timeout_s)
        self.driver.await_replicas(timeout_s=timeout_s)
        via, end = self.carriers[0], self.endpoints()[0]
        if query(via, end, _UNISTORES):
            off = (*_UNSAFE_ON_UNISTORE, *_NOT_SERVED, tidb_server.ANALYZES_BY_ITSELF)
            tidb_server.switch_off(via, end, off)

    def stop(self) -> None:
        """The other way round: what a tidb-server has still to write, it can."""
        super().stop()
        self.stores.stop()
        self.driver.stop()

    def discard(self) -> None:
        for part in (self, self.stores, self.driver):
            part.end_at_once()

    def check_alive(self) -> None:
        for part in (self.driver, self.stores):
            part.check_alive()
        super().check_alive()

    def reset(self, dataset: str | None) -> None:
        for part in (self.driver, self.stores):
            part.reset(dataset)

    def keep(self, dataset: str) -> None:
        for part in (self.driver, self.stores):
            part.keep(dataset)

    def has(self, dataset: str) -> bool:
        return all(part.has(dataset) for part in (self.driver, self.stores))

    def command(self, host: RemoteHost) -> Command:
        where, temp = self.endpoint(host), f"{self.data(host)}.tmp"
        store = ("-store", "tikv", "-path", self.driver.addresses, "-advertise-address", host.address)
        config = toml(self.settings.config)
        return tidb_server.serving(self.program.on(host), where, self.status_port, temp, store, config)

    def first_login(self, host: RemoteHost, endpoint: Endpoint) -> str | None:
        """The first one that is let in sets the password for all."""
        if tidb_server.let_in(host, endpoint) is None:
            return None
        try:
            return await_answer(f"the login at {endpoint}", lambda: try_login(host, endpoint), timeout_s=HEARS_S)
        except SystemFailed:
            return "denied"

    # -- what it is ---------------------------------------------------------------------------------------------

    def about(self) -> About:
        """Versions and settings of every part as the cluster itself tells them."""
        via, end = self.carriers[0], self.endpoints()[0]
        parts = [
            dict(zip(("type", "instance", "version", "git_hash"), row, strict=True)) for row in query(via, end, _PARTS)
        ]
        settings: dict[str, dict[str, str]] = defaultdict(dict)
        for kind, instance, key, value in query(via, end, _CONFIG):
            settings[f"{kind} {instance}"][str(key)] = str(value)
        told = super().about()
        return replace(told, config={**told.config, "cluster_info": parts, "cluster_config": dict(settings)})

    def _title(self) -> str:
        built = (self.program.built, self.driver.program.built, self.stores.program.built)
        if all(built):
            return f"TiDB {self.named_version or '6.5'}, PD 6.6-alpha, one unistore node in place of three TiKV"
        kinds = ((self, "tidb-server"), (self.driver, "pd-server"), (self.stores, "tikv-server"))
        return f"TiDB cluster: {', '.join(f'{len(part.carriers)} {name}' for part, name in kinds)}"

    def notes(self) -> tuple[str, ...]:
        """Only what is built here differs from what the user has."""
        tidb = (tidb_server.built_note(self.builds[0], self.named_version),) if self.program.built else ()
        driver = ("PD 6.6-alpha, commit 248b3f0be132 of February 2023",) if self.driver.program.built else ()
        store = (
            "one store, which is TiDB's own storage engine (unistore) behind TiKV's protocol: "
            "no Raft, one replica, and locks are kept in memory",
            "one-phase and async commit (tidb_enable_1pc, tidb_enable_async_commit) are off: not safe on unistore",
            tidb_server.NOT_ANALYZED,
        )
        return (*tidb, *driver, *(store if self.stores.program.built else ()), RETRY_NOTE)
