"""etcd: a member on each host of role `etcd`, all of them one cluster that decides by quorum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchbook.campaign.design import digest
from benchbook.errors import SystemFailed
from benchbook.hosts.endpoint import at
from benchbook.hosts.jobs import LONGEST_S, Command
from benchbook.profiles import Profile
from benchbook.systems import etcd_api
from benchbook.systems.data_server import DataServer
from benchbook.systems.life_signs import kill
from benchbook.systems.quorum import Quorum
from benchbook.systems.server_program import ServerProgram, install_on

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.endpoint import Endpoint
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session

DURABLE = "a write is acknowledged when a quorum of the members has it on disk (fdatasync of its log), as it comes"


class Etcd(DataServer, Quorum):
    """What one member has acknowledged, the others have: losing one of three loses nothing, and ends nothing."""

    name = "etcd"
    title = "etcd"
    protocol = "etcd"
    default_port = 2379
    default_peer_port = 2380
    # The load generator's own tool comes with it, wherever the servers come from.
    builds = ("etcd",)
    watched_by = ("etcd",)
    # A snapshot is taken every 100,000 writes (--snapshot-count, as it comes): seconds to a minute of a full load.

    def __init__(self, session: Session, profile: Profile) -> None:
        super().__init__(session, profile)
        self.program = ServerProgram(f"systems.{self.name}.binary", "etcd", "etcd", self.settings.binary)
        self._lost: list[str] = []

    def install(self) -> None:
        install_on(self.program, self.carriers)

    @property
    def identity(self) -> str:
        """Its data holds the addresses of all members."""
        where = [[host.name, self.peer(host), host.address, self.port] for host in self.carriers]
        return f"{self.name}-{digest([where, self.settings.config, self.program.identity()])}"

    def copies(self) -> list[Endpoint]:
        """Every member that runs has a copy of its own."""
        return [self.endpoint(host) for host in self.members()]

    # -- its processes --------------------------------------------------------------------------------------------

    def options(self, host: RemoteHost) -> dict[str, Any]:
        """The member's flags on this host; those of the inventory come last."""
        client, peer = f"http://{at(host.address, self.port)}", self.peer(host)
        return {
            "name": host.name,
            "data-dir": self.data(host),
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "listen-peer-urls": peer,
            "initial-advertise-peer-urls": peer,
            "initial-cluster": ",".join(f"{one.name}={self.peer(one)}" for one in self.carriers),
            "initial-cluster-token": "benchbook",
            "log-level": "warn",
            **self.settings.config,
        }

    def command(self, host: RemoteHost) -> Command:
        flags = [f"--{name}={value}" for name, value in self.options(host).items()]
        return Command([self.program.on(host), *flags], timeout_s=LONGEST_S, grace_s=10)

    def start(self) -> None:
        self._lost = []
        super().start()

    def knock(self, host: RemoteHost) -> str | None:
        return etcd_api.unhealthy(host, self.endpoint(host))

    def discard(self) -> None:
        """What it writes when it is asked to end would be removed next."""
        self.end_at_once()

    # -- a member that is lost ------------------------------------------------------------------------------------

    def members(self) -> list[RemoteHost]:
        return [host for host in self.carriers if host.name not in self._lost]

    def leader(self) -> RemoteHost:
        states = {host.name: etcd_api.status(host, self.endpoint(host)) for host in self.members()}
        named = etcd_api.one_leader(list(states.values()))
        for host in self.members():
            if states[host.name]["header"]["member_id"] == named:
                return host
        raise SystemFailed(f"etcd's leader {named} is none of its members")

    def lose(self, host: RemoteHost) -> float:
        ended = kill(self._jobs[host.name])
        self._lost.append(host.name)
        self._end(host)
        return ended.ended

    def regain(self) -> None:
        again = [host for host in self.carriers if host.name in self._lost]
        for host in again:
            self._jobs[host.name] = self.session.start(host, self.name, self.command(host))
        for host in again:
            self._await(host, 60.0)
        self._lost = []

    def agree(self) -> tuple[int, int]:
        return etcd_api.agreed(self.members()[0], self.copies())

    # -- what it is -----------------------------------------------------------------------------------------------

    def version(self) -> str:
        return str(etcd_api.status(self.carriers[0], self.endpoint(self.carriers[0]))["version"])

    def variables(self) -> dict[str, str]:
        """etcd tells its settings to nobody: the flags of the first member, and who leads."""
        flags = {name: str(value) for name, value in self.options(self.carriers[0]).items()}
        return {**flags, "leader": self.leader().name}

    def notes(self) -> tuple[str, ...]:
        built = ("etcd 3.5.11, built here; etcd 3.2.0 was published",) if self.program.built else ()
        return (*built, DURABLE)
