"""A session: the hosts of an inventory, connected, with a lease that a thread renews until the session ends."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from benchbook.errors import BenchbookError
from benchbook.hosts.fanout import on_each, try_on_each
from benchbook.hosts.jobs import Command, Job, reap
from benchbook.hosts.remote_host import RemoteHost

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.inventory import Inventory

T = TypeVar("T")
RENEW_EVERY_S = 3.0


def check_reachable(inventory: Inventory, names: Iterable[str]) -> None:
    """Connect to these hosts, all at once, and hang up. Raises HostUnusable, or FanOutFailed for several."""
    hosts = [RemoteHost(inventory, name) for name in dict.fromkeys(names)]
    on_each("connecting", hosts, _call_on)


def _call_on(host: RemoteHost) -> None:
    host.connect()
    host.close()


class Session:
    """Use as a context manager: entering connects to the hosts that are asked for, leaving ends all that it started."""

    def __init__(self, inventory: Inventory, names: Iterable[str]) -> None:
        self.inventory = inventory
        self.hosts = {name: RemoteHost(inventory, name) for name in dict.fromkeys(names)}
        self.id = uuid.uuid4().hex[:12]
        self.reaped: dict[str, list[str]] = {}
        # What stands as long as the session does, by whoever started it (probes): the session ends it with the rest.
        self.standing: dict[tuple[str, ...], Any] = {}
        self._jobs: list[Job] = []
        self._left: list[Job] = []
        self._over = threading.Event()
        self._renewer = threading.Thread(target=self._renew, name="lease", daemon=True)

    def __enter__(self) -> Session:
        self.each("connecting", self._arrive)
        self._renewer.start()
        self.reaped = {
            n: names for n, names in self.each("looking for leftovers", self._reap, timeout=180).items() if names
        }
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None) -> None:
        for job in reversed(self._jobs):
            self._end(job)
        self._over.set()
        self._renewer.join(timeout=10)
        try_on_each(self.hosts.values(), lambda host: host.close(), timeout=130)

    def reach(self) -> None:
        """Return once every host of the session is connected, within the lease. Raises HostUnreachable."""
        self.each("reaching the hosts", RemoteHost.connect, timeout=self.inventory.ssh.lease_s + 60)

    def each(self, what: str, step: Callable[[RemoteHost], T], *, timeout: float = 60.0) -> dict[str, T]:
        """`step` on every host of the session."""
        return on_each(what, self.hosts.values(), step, timeout=timeout)

    def with_role(self, role: str) -> list[RemoteHost]:
        """The session's hosts with this role; raises BadInput where the inventory has none."""
        return [self.hosts[name] for name in self.inventory.require(role)]

    def start(self, host: RemoteHost, name: str, command: Command) -> Job:
        """Start a long job on a host; it ends with the session at the latest."""
        for left in [job for job in self._left if job.host is host]:
            self.end(left)
        job = Job.start(host, name, command, self.lease(host))
        self._jobs.append(job)
        return job

    def end(self, job: Job) -> None:
        """Stop a job (if it still runs) and forget it."""
        job.stop()
        self.forget(job)

    def forget(self, job: Job) -> None:
        """A job that has ended by itself: nothing is left to stop."""
        for jobs in (self._jobs, self._left):
            if job in jobs:
                jobs.remove(job)

    def abandon(self, job: Job) -> None:
        """End a job that nobody follows any more: now, or, where its host is away, before the next one starts there."""
        try:
            self.end(job)
        except BenchbookError:
            self._left.append(job)

    @contextmanager
    def following(self, host: RemoteHost, name: str, command: Command) -> Iterator[Job]:
        """A job that the block follows to its end, and whose output it reads; if that fails, the job is ended."""
        job = self.start(host, name, command)
        try:
            yield job
        except BenchbookError:
            self.abandon(job)
            raise
        self.forget(job)
        job.remove()

    @property
    def running(self) -> set[str]:
        """Names of the folders of the jobs that have been started and neither ended nor forgotten."""
        return {job.folder.rpartition("/")[2] for job in self._jobs}

    def lease(self, host: RemoteHost) -> str:
        return host.path("leases", self.id)

    def _arrive(self, host: RemoteHost) -> None:
        host.connect()
        if not host.root.startswith("/"):
            # Jobs run in folders of their own: every path they are given must be absolute.
            host.root = f"{host.sftp.normalize('.')}/{host.root}"
        host.mkdir(host.path("jobs"), host.path("leases"))
        host.touch(self.lease(host))

    def _reap(self, host: RemoteHost) -> list[str]:
        return reap(host, self.lease(host))

    def tidy(self, step: Callable[[], object]) -> None:
        """Do what belongs to the end of a run: a host that is away then must not spoil what has been measured."""
        try:
            step()
        except BenchbookError as problem:
            print(f"benchbook: {problem}; what still runs ends with its lease")

    def _end(self, job: Job) -> None:
        """Leaving must end as much as it can: a host that is gone ends the job itself when the lease runs out."""
        try:
            job.stop()
            job.remove()
        except BenchbookError as problem:
            print(f"benchbook: could not stop a job on {job.host.name}; its lease ends it: {problem}")

    def _renew(self) -> None:
        while not self._over.wait(RENEW_EVERY_S):
            try_on_each(self.hosts.values(), self._hold, timeout=RENEW_EVERY_S * 2)

    def _hold(self, host: RemoteHost) -> None:
        try:
            host.touch(self.lease(host))
        except OSError as problem:
            # Somebody has removed the folder, say. Raised as it is, it would end the renewal on every host.
            raise BenchbookError(f"{host.name}: the lease cannot be renewed: {problem}") from problem
