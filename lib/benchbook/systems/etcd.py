"""etcd: a member on each host of role `etcd`, all of them one cluster that decides by quorum.

Members are asked through their JSON gateway to gRPC. Its paths and fields are those of etcd 3.5
(etcd.io/docs/v3.5/dev-guide/api_grpc_gateway); whole numbers come as text, keys and values in base64.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any

from benchbook.campaign.design import digest
from benchbook.errors import SystemFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.endpoint import Endpoint, at
from benchbook.hosts.host import Host
from benchbook.hosts.host_models import Json
from benchbook.hosts.http import HttpServer
from benchbook.hosts.session import Session
from benchbook.hosts.timeouts import LONGEST_S
from benchbook.profiles import Profile
from benchbook.systems.base import System

DURABLE = "a write is acknowledged when a quorum of the members has it on disk (fdatasync of its log), as it comes"
# A member that has lost its leader answers once there is a new one.
ANSWERS_S = 30.0


class Etcd(System):
    """What one member has acknowledged, the others have: losing one of three loses nothing, and ends nothing."""

    name = "etcd"
    title = "etcd"
    protocol = "etcd"
    default_port = 2379
    default_peer_port = 2380
    ports_without_login = ("port", "peer_port")
    # The load generator's own tool comes with it, wherever the servers come from.
    builds = ("etcd",)
    program_file = "etcd"
    watched_by = ("etcd",)

    def __init__(self, session: Session, profile: Profile) -> None:
        super().__init__(session, profile)
        self._lost: list[str] = []

    @property
    def identity(self) -> str:
        """Its data holds the addresses of all members."""
        where = [[host.name, self.peer(host), host.address, self.port] for host in self.own_hosts]
        return f"{self.name}-{digest([where, self.server_settings, self.program.identity()])}"

    def copies(self) -> list[Endpoint]:
        """Every member that runs has a copy of its own."""
        return [self.endpoint(host) for host in self.members()]

    # -- its processes --------------------------------------------------------------------------------------------

    def options(self, host: Host) -> dict[str, Any]:
        """Return the member's flags on this host; those of the inventory come last."""
        client, peer = f"http://{at(host.address, self.port)}", self.peer(host)
        return {
            "name": host.name,
            "data-dir": self.data(host),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": ",".join(f"{one.name}={self.peer(one)}" for one in self.own_hosts),
            "initial-cluster-token": "benchbook",
            "log-level": "warn",
            **self.server_settings,
        }

    def command(self, host: Host) -> Command:
        flags = [f"--{name}={value}" for name, value in self.options(host).items()]
        return Command([self.program.on(host), *flags], timeout_s=LONGEST_S, grace_s=10)

    def start(self) -> None:
        self._lost = []
        super().start()

    def knock(self, host: Host) -> str | None:
        """It serves once it is healthy, which takes a leader."""
        return HttpServer(host, host.address, self.port).knock("/health")

    # -- a member that is lost ------------------------------------------------------------------------------------

    def members(self) -> list[Host]:
        return [host for host in self.own_hosts if host.name not in self._lost]

    def leader(self) -> Host:
        states = {host.name: status(host, self.endpoint(host)) for host in self.members()}
        named = one_leader(list(states.values()))
        for host in self.members():
            if states[host.name]["header"]["member_id"] == named:
                return host
        raise SystemFailed(f"etcd's leader {named} is none of its members")

    def lose(self, host: Host) -> float:
        ended = self.servers.crash(host)
        self._lost.append(host.name)
        return ended.ended

    def regain(self) -> None:
        again = [host for host in self.own_hosts if host.name in self._lost]
        for host in again:
            self.servers.start_on(host)
        for host in again:
            self.servers.await_on(host, timeout_s=60.0)
        self._lost = []

    def agree(self) -> tuple[int, int]:
        return agreed(self.members()[0], self.copies())

    # -- what it is -----------------------------------------------------------------------------------------------

    def version(self) -> str:
        return str(status(self.own_hosts[0], self.endpoint(self.own_hosts[0]))["version"])

    def variables(self) -> dict[str, str]:
        """etcd tells its settings to nobody: the flags of the first member, and who leads."""
        flags = {name: str(value) for name, value in self.options(self.own_hosts[0]).items()}
        return {**flags, "leader": self.leader().name}

    def notes(self) -> tuple[str, ...]:
        built = ("etcd 3.5.11, built here; etcd 3.2.0 was published",) if self.program.built else ()
        return (*built, DURABLE)


# -- what is asked of a member ----------------------------------------------------------------------------------------


def post(via: Host, end: Endpoint, path: str, fields: Json) -> Json:
    """Return what the member at `end` answers on a path of its gateway. Raise SystemFailed."""
    http = HttpServer(via, end.address, end.port)
    answer: Json = http.get(f"/v3{path}", method="POST", timeout=ANSWERS_S, body=json.dumps(dict(fields))).json()
    return answer


def put(via: Host, end: Endpoint, key: bytes, value: bytes) -> None:
    post(via, end, "/kv/put", {"key": _coded(key), "value": _coded(value)})


def revision(via: Host, end: Endpoint) -> int:
    """The revision of the store at a quorum: it grows by one with every put. (A linearizable read asks a quorum.)"""
    return int(post(via, end, "/kv/range", {"key": _coded(b"\0"), "count_only": True})["header"]["revision"])


def contents(via: Host, end: Endpoint, at: int) -> int:
    """Return a hash of all that this member itself has stored up to a revision."""
    return int(post(via, end, "/maintenance/hash", {"revision": at})["hash"])


def agreed(via: Host, ends: Sequence[Endpoint]) -> tuple[int, int]:
    """Return the revision at a quorum, and how many of these members were asked: all hold the same up to there.

    Raise SystemFailed where two differ.
    """
    # Asked of each: a member that answers a linearizable read has applied all that a quorum had by then.
    at = min([revision(via, end) for end in ends])
    held = {str(end): contents(via, end, at) for end in ends}
    if len(set(held.values())) != 1:
        raise SystemFailed(f"etcd's members differ at revision {at:,}: {held}")
    return at, len(held)


def status(via: Host, end: Endpoint) -> Json:
    """`version`, `leader` (the id of a member, "0" or missing without one), `header.member_id`, `dbSize`."""
    return post(via, end, "/maintenance/status", {})


def one_leader(states: list[Json]) -> str:
    """Return the id of the leader that all of these members name. Raise SystemFailed where they do not agree."""
    named = {str(state.get("leader", "0")) for state in states}
    if len(named) != 1 or named == {"0"}:
        raise SystemFailed(f"etcd's members name {len(named - {'0'})} leaders")
    return named.pop()


def _coded(text: bytes) -> str:
    return base64.b64encode(text).decode()
