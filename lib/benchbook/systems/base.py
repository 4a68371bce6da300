"""The verbs that every system under test answers.

install   put the pinned artefact on its hosts (only if it is not there), or find the installed one
start     start its servers, under supervision; `ready` returns once they serve
reset     go back to a dataset that `keep` has set aside, or to an empty state
stop      end the servers
version, config, endpoints   what it is, how it is set, where it listens
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from benchbook.errors import SystemFailed
from benchbook.hosts.jobs import Ended, Job
from benchbook.hosts.remote_host import RemoteHost
from benchbook.hosts.session import Session
from benchbook.profiles import Profile
from benchbook.systems.sql import SqlEndpoint

# Of what a server printed before it died, so many characters of each end go into the record.
_KEPT = 50_000
_PANIC = ("panic: ", "fatal error: ")

RETRY_NOTE = "errors 1213, 1020 and 1205 (deadlock, changed record, lock wait) are retried, as by sysbench's default"


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
    return SystemFailed(f"{who} has died ({how}): {last_words(said) or 'no word'}", output=_shortened(said))


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


class System(ABC):
    """A system under test on the hosts of a session."""

    name: str
    can_reset = True
    # Server errors after which sysbench's own default is to try again: deadlock, changed record, lock wait timeout. A
    # report's `--mysql-ignore-errors` replaces that default; on tables smaller than the published ones rows collide.
    retried_errors: tuple[int, ...] = (1213, 1020, 1205)

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
        """Raises SystemFailed when a server of its own has ended; nobody's server here is asked nothing."""
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
    def endpoints(self) -> list[SqlEndpoint]: ...

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
