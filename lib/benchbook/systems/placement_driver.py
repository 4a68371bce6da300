"""PD, the placement driver of a TiDB cluster: its servers, and what they say of the stores and regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchbook.errors import SystemFailed
from benchbook.hosts.endpoint import at
from benchbook.hosts.http import UNANSWERED, Door
from benchbook.hosts.jobs import LONGEST_S, Command
from benchbook.systems.kept_servers import KeptServers
from benchbook.systems.life_signs import await_answer
from benchbook.systems.server_program import ServerProgram
from benchbook.systems.toml_text import Value, toml

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session

# TiKV keeps three replicas where there are three stores.
MOST_REPLICAS = 3
API = "/pd/api/v1"


class PlacementDriver(KeptServers):
    """One pd-server per host of role `pd`; `stores` is how many stores the cluster has."""

    name = "pd"
    default_port = 2379
    default_peer_port = 2380
    builds = ("pd",)

    def __init__(self, session: Session, stores: int) -> None:
        super().__init__(session)
        self.program = ServerProgram("systems.pd.binary", "pd", "pd-server", self.settings.binary)
        self.replicas = min(MOST_REPLICAS, stores)

    @property
    def addresses(self) -> str:
        """Where the others find it: `host:port`, with commas between them."""
        return ",".join(at(host.address, self.port) for host in self.carriers)

    def configuration(self) -> dict[str, Value]:
        """What its file of settings says; the inventory's own settings come last."""
        kit: dict[str, Value] = {"pd-server.dashboard-address": "none", "replication.max-replicas": self.replicas}
        return {**kit, **self.settings.config}

    def command(self, host: RemoteHost) -> Command:
        client = f"http://{at(host.address, self.port)}"
        argv = [
            self.program.on(host),
            f"--name={host.name}",
            f"--data-dir={self.data(host)}",
            f"--client-urls={client}",
            f"--peer-urls={self.peer(host)}",
            f"--initial-cluster={','.join(f'{one.name}={self.peer(one)}' for one in self.carriers)}",
            "--config={job}/pd.toml",
            "-L=warn",
        ]
        return Command(argv, timeout_s=LONGEST_S, grace_s=10, secrets={"pd.toml": toml(self.configuration())})

    def knock(self, host: RemoteHost) -> str | None:
        """It serves once its members have a leader."""
        said = self._ask(host, "/members")
        return said if isinstance(said, str) else None if said.get("leader") else "no leader yet"

    def store_missing(self, address: str) -> str | None:
        """None when the store at `host:port` is up, else what PD says of it."""
        return missing_store(self._ask(self.carriers[0], "/stores"), address)

    def await_replicas(self, *, timeout_s: float = 120.0) -> None:
        """Return once every region has its replicas and a leader. Raises SystemFailed with what is missing then."""
        await_answer("the cluster's data", self._replicas_missing, timeout_s=timeout_s)

    def _replicas_missing(self) -> str | None:
        self.check_alive()
        first = self.carriers[0]
        checks = ("miss-peer", "down-peer", "pending-peer")
        found = {check: self._ask(first, f"/regions/check/{check}") for check in checks}
        return missing_replicas(self._ask(first, "/stats/region"), found)

    def _ask(self, host: RemoteHost, path: str) -> Any:
        """What it answers, or, in words, why it does not."""
        try:
            answer = Door(host, host.address, self.port).ask(f"{API}{path}", timeout=5)
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
