"""A TiDB cluster: placement driver (role `pd`), stores (`tikv`) and tidb-servers (`tidb`), which share the data.

In the lab the stores are one unistore node in place of TiKV; both programs take the same options, so that they are
started and waited for alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchbook.campaign.design import digest
from benchbook.errors import BadInput, SystemFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.endpoint import Endpoint, at
from benchbook.hosts.host import Host
from benchbook.hosts.http import UNANSWERED, HttpServer
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.session import Session
from benchbook.hosts.timeouts import LONGEST_S
from benchbook.profiles import Profile
from benchbook.systems import tidb
from benchbook.systems.base import About
from benchbook.systems.health import await_answer
from benchbook.systems.server import Service
from benchbook.systems.sql import RETRY_NOTE, query, try_login
from benchbook.systems.tidb import STEADY, TidbServers, toml

# TiKV keeps three replicas where there are three stores.
MOST_REPLICAS = 3
API = "/pd/api/v1"
# A tidb-server hears of a password that another one has set through PD's etcd.
HEARS_S = 20.0
_PARTS = "SELECT type, instance, version, git_hash FROM information_schema.cluster_info ORDER BY type, instance"
_UNISTORES = "SELECT 1 FROM information_schema.cluster_info WHERE type = 'tikv' AND version LIKE '%unistore%'"
# Both choose the time of a commit before the row can be seen as locked, which TiKV makes good by locks in memory, and
# unistore does not: another transaction reads the old row at a later time, and then fails with error 8141 (assertion
# failed) in seconds of `oltp_update_index` with 8 threads. Without the two, a commit gets its time after its locks.
_UNSAFE_ON_UNISTORE = ("tidb_enable_1pc", "tidb_enable_async_commit")
# Of 7.1: PD 6.6-alpha knows no resource group (error 8249 on every insert).
_NOT_SERVED = ("tidb_enable_resource_control", tidb.IMPORTS_SORTED)
_CONFIG = "SELECT type, instance, `key`, value FROM information_schema.cluster_config"


class PlacementDriver(Service):
    """One pd-server per host of role `pd`; `stores` is how many stores the cluster has."""

    name = "pd"
    default_port = 2379
    default_peer_port = 2380
    builds = ("pd",)
    program_file = "pd-server"
    takes = ("binary", "settings", "host_settings")
    ports_without_login = ("port", "peer_port")

    def __init__(self, session: Session, stores: int) -> None:
        super().__init__(session)
        self.replicas = min(MOST_REPLICAS, stores)

    @property
    def addresses(self) -> str:
        """Where the others find it: `host:port`, with commas between them."""
        return ",".join(at(host.address, self.port) for host in self.own_hosts)

    def settings_on(self, host: Host) -> Mapping[str, object]:
        """Return what its file of settings says; the inventory's own settings come last."""
        kit = {"pd-server.dashboard-address": "none", "replication.max-replicas": self.replicas}
        return {**kit, **super().settings_on(host)}

    def command(self, host: Host) -> Command:
        client = f"http://{at(host.address, self.port)}"
        argv = [
            self.program.on(host),
            f"--name={host.name}",
            f"--data-dir={self.data(host)}",
            f"--client-urls={client}",
            f"--peer-urls={self.peer(host)}",
            f"--initial-cluster={','.join(f'{one.name}={self.peer(one)}' for one in self.own_hosts)}",
            "--config={job}/pd.toml",
            "-L=warn",
        ]
        return Command(argv, timeout_s=LONGEST_S, grace_s=10, secrets={"pd.toml": toml(self.settings_on(host))})

    def knock(self, host: Host) -> str | None:
        """It serves once its members have a leader."""
        said = self._ask(host, "/members")
        return said if isinstance(said, str) else None if said.get("leader") else "no leader yet"

    def store_missing(self, address: str) -> str | None:
        """None when the store at `host:port` is up, else what PD says of it."""
        return missing_store(self._ask(self.own_hosts[0], "/stores"), address)

    def await_replicas(self, *, timeout_s: float = 120.0) -> None:
        """Return once every region has its replicas and a leader. Raise SystemFailed with what is missing then."""
        await_answer("the cluster's data", self._replicas_missing, timeout_s=timeout_s)

    def _replicas_missing(self) -> str | None:
        self.servers.check_alive()
        first = self.own_hosts[0]
        checks = ("miss-peer", "down-peer", "pending-peer")
        found = {check: self._ask(first, f"/regions/check/{check}") for check in checks}
        return missing_replicas(self._ask(first, "/stats/region"), found)

    def _ask(self, host: Host, path: str) -> Any:
        """Return what it answers, or, in words, why it does not."""
        try:
            answer = HttpServer(host, host.address, self.port).ask(f"{API}{path}", timeout=5)
        except UNANSWERED as problem:
            return f"PD does not answer: {problem!r}"
        if answer.status != 200:
            return f"PD answers {answer.status}: {answer.body.strip()[:200]}"
        try:
            return answer.json()
        except SystemFailed as problem:
            return str(problem)


def missing_store(said: Any, address: str) -> str | None:
    """None when PD's `/stores` names the store at `address` as Up, else what it says of it."""
    if isinstance(said, str):
        return said
    states = {each["store"]["address"]: each["store"]["state_name"] for each in said.get("stores") or []}
    state = states.get(address, "not known to PD")
    return None if state == "Up" else f"the store at {address} is {state}"


def missing_replicas(stats: Any, checks: dict[str, Any]) -> str | None:
    """None when every region of PD's `/stats/region` has a leader and no check of `/regions/check/` finds one."""
    unanswered = [said for said in (stats, *checks.values()) if isinstance(said, str)]
    if unanswered:
        return unanswered[0]
    regions, led = stats["count"], sum((stats.get("store_leader_count") or {}).values())
    if not regions or led < regions:
        return f"{led} of {regions} regions have a leader"
    found = {check: said["count"] for check, said in checks.items() if said["count"]}
    return ", ".join(f"{count} regions are {check}" for check, count in found.items()) or None


class Stores(Service):
    """Both programs take the same options, so that they are started and waited for alike."""

    name = "tikv"
    default_port = 20160
    default_status_port = 20180
    builds = ("unistore",)
    program_file = "unistore-server"
    takes = ("binary", "settings", "host_settings")
    ports_without_login = ("port", "status_port")

    def __init__(self, session: Session, driver: PlacementDriver) -> None:
        super().__init__(session)
        self.driver = driver

    def command(self, host: Host) -> Command:
        settings = self.settings_on(host)
        argv = [
            self.program.on(host),
            f"--pd={self.driver.addresses}",
            f"--addr={self._address(host)}",
            f"--status-addr={at(host.address, self.status_port)}",
            f"--data-dir={self.data(host)}",
            "--log-level=warn",
            *(["--config={job}/tikv.toml"] if settings else []),
        ]
        secrets = {"tikv.toml": toml(settings)} if settings else {}
        return Command(argv, timeout_s=LONGEST_S, grace_s=30, env=STEADY, secrets=secrets)

    def _address(self, host: Host) -> str:
        return at(host.address, self.port)

    def knock(self, host: Host) -> str | None:
        """It serves once it says so itself, and PD counts on it."""
        status = HttpServer(host, host.address, self.status_port).knock("/status")
        return status or self.driver.store_missing(self._address(host))


def check_one_unistore(inventory: Inventory) -> None:
    """Raise BadInput for several stores of the lab's kind: each would begin a cluster of its own."""
    names = inventory.require(Stores.name)
    if len(names) > 1 and not inventory.settings(Stores.name).binary:
        said = "the store that is built here (unistore) is one node, without Raft"
        fix = "give the role to one host, or name a real tikv-server of the hosts in systems.tikv.binary"
        raise BadInput(said, file=inventory.file, key=f"role {Stores.name}", value=names, fix=fix)
    own = inventory.settings(Stores.name)
    config = {*own.settings, *(key for settings in own.host_settings.values() for key in settings)}
    if config and not own.binary:
        said = "the store that is built here (unistore) has none of TiKV's settings"
        fix = "remove them, or name a real tikv-server of the hosts in systems.tikv.binary"
        key = f"systems.tikv.{'settings' if own.settings else 'host_settings'}"
        raise BadInput(said, file=inventory.file, key=key, value=sorted(config), fix=fix)


class TiDBCluster(TidbServers):
    """Its own servers are the tidb-servers; `driver` and `stores` are started before them and end after them."""

    name = "tidb_cluster"
    builds = ("tidb", "pd", "unistore")
    takes = ("binary", "settings", "host_settings")
    # What it shares is in the stores.
    keeps_data = False

    def __init__(self, session: Session, profile: Profile) -> None:
        super().__init__(session, profile)
        check_one_unistore(session.inventory)
        self.driver = PlacementDriver(session, len(session.inventory.require(Stores.name)))
        self.stores = Stores(session, self.driver)
        # Of the version that the cluster has.
        self.driver.builds, self.stores.builds = self.builds[1:2], self.builds[2:]
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

    def services(self) -> list[Service]:
        return [self.driver, self.stores, self]

    @property
    def identity(self) -> str:
        """PD's data holds the addresses of all, so that data of other hosts is other data."""
        parts = (self, self.stores, self.driver)
        where = [[part.name, part.port, *(host.address for host in part.own_hosts)] for part in parts]
        config = [[part.settings_on(host) for host in part.own_hosts] for part in parts]
        return f"{self.name}-{digest([where, config, [part.program.identity() for part in parts]])}"

    def copies(self) -> list[Endpoint]:
        """Return one of them: what it writes, all of them read."""
        return self.endpoints()[:1]

    def ready(self, *, timeout_s: float = 120.0) -> None:
        """Return once all serve and the data has its replicas."""
        super().ready(timeout_s=timeout_s)
        self.driver.await_replicas(timeout_s=timeout_s)
        via, end = self.via, self.endpoints()[0]
        if query(via, end, _UNISTORES):
            off = (*_UNSAFE_ON_UNISTORE, *_NOT_SERVED, tidb.ANALYZES_BY_ITSELF)
            tidb.switch_off(via, end, off)

    def command(self, host: Host) -> Command:
        where, temp = self.endpoint(host), f"{self.data(host)}.tmp"
        store = ("-store", "tikv", "-path", self.driver.addresses, "-advertise-address", host.address)
        config = toml(self.settings_on(host))
        return tidb.serving(self.program.on(host), where, self.status_port, temp, store, config)

    def first_login(self, host: Host, endpoint: Endpoint) -> str | None:
        """Where the kit is let in on one of them, all hear of it."""
        if super().first_login(host, endpoint) is None:
            return None
        try:
            return await_answer(f"the login at {endpoint}", lambda: try_login(host, endpoint), timeout_s=HEARS_S)
        except SystemFailed:
            return "denied"

    # -- what it is ---------------------------------------------------------------------------------------------

    def about(self) -> About:
        """Versions and settings of every part as the cluster itself tells them."""
        via, end = self.via, self.endpoints()[0]
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
        return f"TiDB cluster: {', '.join(f'{len(part.own_hosts)} {name}' for part, name in kinds)}"

    def notes(self) -> tuple[str, ...]:
        """Only what is built here differs from what the user has."""
        server = (tidb.built_note(self.builds[0], self.named_version),) if self.program.built else ()
        driver = ("PD 6.6-alpha, commit 248b3f0be132 of February 2023",) if self.driver.program.built else ()
        store = (
            "one store, which is TiDB's own storage engine (unistore) behind TiKV's protocol: "
            "no Raft, one replica, and locks are kept in memory",
            "one-phase and async commit (tidb_enable_1pc, tidb_enable_async_commit) are off: not safe on unistore",
            tidb.NOT_ANALYZED,
        )
        return (*server, *driver, *(store if self.stores.program.built else ()), RETRY_NOTE)
