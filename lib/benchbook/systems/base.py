"""The verbs that every system under test answers.

install   put the pinned artefact on its hosts (only if it is not there), or find the installed one
start     start its servers, under supervision; `ready` returns once they serve
reset     go back to a dataset that `keep` has set aside, or to an empty state
stop      end the servers
version, config, endpoints   what it is, how it is set, where it listens
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from benchbook.errors import SystemFailed
from benchbook.hosts import taken_port
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.jobs import Ended, Job
from benchbook.probes import known_probes
from benchbook.probes.probe import Probe, of_file
from benchbook.probes.probe_file import ProbeFile
from benchbook.profiles import Profile

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session

# Of what a server printed before it died, so many characters of each end go into the record.
_KEPT = 50_000
_PANIC = ("panic: ", "fatal error: ")


@dataclass(frozen=True)
class About:
    """What a system is, for the record and the page; `stand_in_for` names what it replaces here, and how it differs."""

    name: str
    version: str
    title: str
    stand_in_for: str | None = None
    notes: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)


def await_answer(
    who: str, knock: Callable[[], str | None], *, timeout_s: float, enough: tuple[str, ...] = ()
) -> str | None:
    """Knock until the answer is None (it serves) or one of `enough`, and return that answer.

    `knock` raises by itself when the server has died. Raises SystemFailed with the last answer after `timeout_s`.
    """
    patient = Retrying(
        retry=retry_if_result(lambda said: said is not None and said not in enough),
        stop=stop_after_delay(timeout_s),
        wait=wait_fixed(0.05),
        retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
    )
    said = patient(knock)
    if said is not None and said not in enough:
        raise SystemFailed(f"{who} does not serve after {timeout_s:g} s: {said}")
    return said


def died(who: str, job: Job, ended: Ended) -> SystemFailed:
    """The error for a server that ended although nobody asked it to; what it printed goes along as `output`."""
    said = job.stdout().decode(errors="replace") + job.stderr()
    how = f"signal {ended.signal}" if ended.signal else f"status {ended.exit}"
    what = ended.from_outside(who) or f"{who} has died ({how})"
    why = taken_port.in_words(job.host, said) or last_words(said) or "no word"
    return SystemFailed(f"{what}: {why}", output=_shortened(said))


def last_words(said: str) -> str:
    """Why a program ended, of all that it printed: where Go names a panic, that and not the trace after it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    named = [i for i, line in enumerate(lines) if line.startswith(_PANIC)]
    if not named:
        return " | ".join(lines[-5:])
    # Below it stands the signal, if there was one, then the goroutine that failed, innermost call first.
    return " | ".join(lines[named[0] : named[0] + 8])


def _shortened(said: str) -> str:
    """Both ends of what a server printed: a Go trace names its reason first, other programs last."""
    starts = [at for name in _PANIC if (at := said.find(name)) >= 0]
    said = said[min(starts, default=0) :]
    return said if len(said) <= 2 * _KEPT else f"{said[:_KEPT]}\n[...]\n{said[-_KEPT:]}"


class NamedServer:
    """What a server's class declares before any host is known; the inventory and the build ask for it by its name.

    `role` is the role of its hosts ("" = its name); the ports are where it listens when the inventory does not say;
    `builds` are the folders of env/systems/ that it is built from, or fetched by; `instead` is the server that takes
    its place where it cannot be fetched.
    """

    name: str
    role: ClassVar[str] = ""
    default_port: ClassVar[int | None] = None
    default_status_port: ClassVar[int | None] = None
    builds: ClassVar[tuple[str, ...]] = ()
    instead: ClassVar[str] = ""

    @classmethod
    def role_name(cls) -> str:
        """The role that its hosts carry in an inventory."""
        return cls.role or cls.name


class System(NamedServer, ABC):
    """A system under test on the hosts of a session, found by name (entry point `benchbook.systems`).

    `protocol` is what its endpoints speak: a load generator says which ones it can drive. `watched_by` names the probes
    that watch each of its servers (entry point `benchbook.probes`, or a file env/probes/NAME.py). `period_s` is how
    often its slowest work in the background returns: no load of it ends early before several such periods.
    """

    protocol: ClassVar[str]
    watched_by: ClassVar[tuple[str, ...]] = ()
    can_reset: ClassVar[bool] = True
    run_by_kit: ClassVar[bool] = True
    # Server errors, by their numbers, after which a load generator is to try again instead of giving up.
    retried_errors: ClassVar[tuple[int, ...]] = ()
    # Seconds from one turn to the next of the slowest work that it does beside the load and that a load can be expected
    # to cover. Not known: a minute, as often as WiredTiger and TiDB's statistics write. 0: it does none.
    period_s: ClassVar[float] = 60.0

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

    @abstractmethod
    def stop(self) -> None: ...

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

    def make_database(self, client: RemoteHost, database: str) -> None:
        """Make an empty database of this name on every server, where there is none; `client` asks for it."""
        raise SystemFailed(f"{self.name} has no databases that the kit can make")

    def row_counts(
        self, client: RemoteHost, endpoint: Endpoint, database: str, tables: Sequence[str]
    ) -> dict[str, int]:
        """How many rows each of these tables holds on one server."""
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
        """Stop, go back to a dataset, start, and wait until it serves."""
        self.stop()
        self.reset(dataset)
        self.start()
        self.ready()
