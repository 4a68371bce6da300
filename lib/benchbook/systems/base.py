"""The verbs that every system under test answers.

install   put the pinned artefact on its hosts (only if it is not there), or find the installed one
start     start its servers, under supervision; `ready` returns once they serve
reset     go back to a dataset that `keep` has set aside, or to an empty state
stop      end the servers
version, config, endpoints   what it is, how it is set, where it listens
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from benchbook.errors import SystemFailed
from benchbook.hosts.endpoint import Endpoint
from benchbook.probes import known_probes
from benchbook.probes.probe import Probe, of_file
from benchbook.probes.probe_file import ProbeFile
from benchbook.profiles import Profile
from benchbook.systems.limits import Limit
from benchbook.systems.named_server import NamedServer
from benchbook.systems.statements import ANSWERED_S

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session


@dataclass(frozen=True)
class About:
    """What a system is, for the record and the page; `stand_in_for` names what it replaces here, and how it differs.

    `fewer` says what of it is one where that has several, and so may bound a rate while its hosts have CPU to spare.
    """

    name: str
    version: str
    title: str
    stand_in_for: str | None = None
    notes: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)
    fewer: str = ""


class System(NamedServer, ABC):
    """A system under test on the hosts of a session, found by name (entry point `benchbook.systems`).

    `protocol` is what its endpoints speak: a load generator says which ones it can drive. `watched_by` names the probes
    that watch each of its servers (entry point `benchbook.probes`, or a file env/probes/NAME.py).
    """

    protocol: ClassVar[str]
    watched_by: ClassVar[tuple[str, ...]] = ()
    can_reset: ClassVar[bool] = True
    run_by_kit: ClassVar[bool] = True
    # Server errors, by their numbers, after which a load generator is to try again instead of giving up.
    retried_errors: ClassVar[tuple[int, ...]] = ()
    # Seconds from one turn to the next of the slowest work that it does beside the load and that a load can be expected
    # to cover. Not known: a minute, as often as WiredTiger and TiDB's statistics write. 0: it does none.
    # Connections that the loads of this run hold to one of its servers at once (`expect`).
    clients: int = 0

    def __init__(self, session: Session, profile: Profile) -> None:
        self.session, self.profile = session, profile

    @property
    @abstractmethod
    def hosts(self) -> list[RemoteHost]:
        """The hosts that its servers run on; empty for a server that the kit does not run."""

    @abstractmethod
    def install(self) -> None:
        """Raises HostUnusable where a program is missing on a host."""

    @abstractmethod
    def start(self) -> None: ...

    @abstractmethod
    def ready(self, *, timeout_s: float = 120.0) -> None:
        """Return once all servers serve.

        Raises SystemFailed with a server's last words, HostUnusable for a wrong password.
        """

    def check_alive(self) -> None:
        """Raises SystemFailed when a server that the kit has started has ended; of others it knows nothing."""
        return None

    def expect(self, clients: int) -> None:
        """Loads hold so many connections to one server: it takes them from its next start, if the kit sets that."""
        self.clients = max(self.clients, clients)

    def limits(self, client: RemoteHost) -> list[Limit]:
        """What its running servers take at most, as they tell `client`; empty where no bound is known."""
        return []

    @abstractmethod
    def stop(self) -> None: ...

    def discard(self) -> None:
        """End its servers when nothing of what they hold is wanted: another state is put in place next."""
        self.stop()

    @abstractmethod
    def reset(self, dataset: str | None) -> None:
        """With stopped servers: put the dataset of this identity in place, or (None) an empty state."""

    @abstractmethod
    def keep(self, dataset: str) -> None:
        """With stopped servers: set the present state aside as the dataset of this identity."""

    @abstractmethod
    def has(self, dataset: str) -> bool:
        """Is the dataset of this identity set aside on every host?"""

    @abstractmethod
    def about(self) -> About:
        """Version and full configuration, asked of the running servers."""

    @abstractmethod
    def endpoints(self) -> list[Endpoint]: ...

    def copies(self) -> list[Endpoint]:
        """Those of its endpoints that have data of their own: one per copy of the data, where several share one."""
        return self.endpoints()

    def make_database(self, client: RemoteHost, database: str) -> None:
        """Make an empty database of this name on every server, where there is none; `client` asks for it."""
        raise SystemFailed(f"{self.name} has no databases that the kit can make")

    def lay_out(self, client: RemoteHost, database: str, tables: Sequence[str]) -> None:
        """Cut small tables as they would be cut if they were as large as the published ones, where this system cuts.

        Called once these tables are filled; `client` asks for it.
        """
        return None

    def row_counts(
        self,
        client: RemoteHost,
        endpoint: Endpoint,
        database: str,
        tables: Sequence[str],
        timeout_s: float = ANSWERED_S,
    ) -> dict[str, int]:
        """How many rows each of these tables holds on one server; to count one may take `timeout_s`."""
        raise SystemFailed(f"{self.name} has no tables whose rows the kit can count")

    def probes(self, client: RemoteHost, also: Sequence[ProbeFile] = ()) -> list[Probe]:
        """Its own probes, and those of `also`, that watch its servers.

        Each runs on its server's host, or on `client` where the kit runs none.
        """
        own = [(host, end, host.name) for host, end in zip(self.hosts, self.endpoints(), strict=False)]
        seen = own or [(client, end, self.name) for end in self.endpoints()]
        files = [*map(known_probes.find, self.watched_by), *also]
        return [of_file(file, host, end, about) for file in files for host, end, about in seen]

    @property
    @abstractmethod
    def identity(self) -> str:
        """What its stored data depends on: a dataset is reused only by a system with the same identity."""

    def refresh(self, dataset: str | None) -> None:
        """End it, go back to a dataset, start, and wait until it serves."""
        self.discard()
        self.reset(dataset)
        self.start()
        self.ready()
