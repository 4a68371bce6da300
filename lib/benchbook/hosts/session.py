"""A session: the hosts of an inventory, connected, with a lease that a thread renews until the session ends."""

from __future__ import annotations

import json
import math
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TypeVar

from benchbook.errors import BenchbookError, HostUnusable, ReservationLost
from benchbook.hosts.agent import Command, Ended, Job, agent_on
from benchbook.hosts.fanout import on_each, try_on_each
from benchbook.hosts.host import Host, with_retry
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.reservation import Lease, Reservation, check_free
from benchbook.hosts.timeouts import (
    CLOSED_S,
    COMMAND_S,
    REAPED_S,
    RECONNECTED_S,
    RENEW_EVERY_S,
    RENEW_SHARE,
    RENEWER_ENDED_S,
)

T = TypeVar("T")
# A clock that is known so well need not be asked again, and no clock is asked more often.
CLOCK_ERROR_S, CLOCK_TRIES = 0.01, 8


def clock_offset(host: Host) -> tuple[float, float]:
    """Return the seconds that the host's clock is ahead of the driver's, and by how much that may be wrong.

    The exchange with the shortest round trip counts (as in NTP's clock filter); a busy host is asked more often.
    """
    error = offset = math.inf
    for _ in range(CLOCK_TRIES):
        sent = time.time()
        there = host.now()
        back = time.time()
        error, offset = min((error, offset), ((back - sent) / 2, there - (sent + back) / 2))
        if error <= CLOCK_ERROR_S:
            break
    return offset, error


def check_reachable(inventory: Inventory, names: Iterable[str], *, wait_s: float = 0.0) -> None:
    """Connect to these hosts, all at once, ask whether another driver holds one, and hang up.

    Raise HostUnusable (FanOutFailed for several hosts), and HostReserved where one is still held after `wait_s`.
    """
    hosts = [Host(inventory, name) for name in dict.fromkeys(names)]
    try:
        on_each("connecting", hosts, with_retry(Host.connect))
        check_free(inventory, hosts, wait_s=wait_s)
    finally:
        try_on_each(hosts, lambda host: host.close())


class Session:
    """Use as a context manager: entering connects to the hosts that are asked for and reserves them, leaving ends all.

    Raise HostReserved on entering when another driver holds one of them; from then on ReservationLost when one has
    taken a host over, which it can after `lease_s` without a sign of life from here.
    """

    def __init__(self, inventory: Inventory, names: Iterable[str]) -> None:
        self.inventory = inventory
        self.hosts = {name: Host(inventory, name) for name in dict.fromkeys(names)}
        self.id = uuid.uuid4().hex[:12]
        # What stands as long as the session does, by whoever started it (probes): the session ends it with the rest.
        self.standing: dict[tuple[str, ...], Any] = {}
        # What holds the settings of a host that `tune` allows, by the host's name.
        self.tuning: dict[str, Job] = {}
        # Per host, names of jobs that a driver which is gone had left there, and that were ended.
        self.reaped: dict[str, list[str]] = {}
        self._jobs: list[Job] = []
        self._left: list[Job] = []
        self._reservation = Reservation(self.id, inventory, self.hosts.values())
        self._over = threading.Event()
        self._renewer = threading.Thread(target=self._renew, name="lease", daemon=True)

    def __enter__(self) -> Session:
        try:
            self._enter()
        except BaseException:
            self._leave()
            raise
        return self

    def _enter(self) -> None:
        self.each("connecting", with_retry(Host.connect))
        self._renewer.start()
        self._reservation.take()
        patience_s = self.inventory.ssh.lease_s + REAPED_S + COMMAND_S
        reaped = self.each("ending what drivers that are gone left", with_retry(self._reap), timeout=patience_s)
        self.reaped = {name: ended for name, ended in reaped.items() if ended}

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None) -> None:
        self._leave()

    def _leave(self) -> None:
        self._reservation.leaving = True
        left = [job.host.name for job in reversed(self._jobs) if not self._end(job)]
        self._over.set()
        if self._renewer.is_alive():
            self._renewer.join(timeout=RENEWER_ENDED_S)
        self._reservation.release(but=left)
        try_on_each(self.hosts.values(), lambda host: host.close(), timeout=CLOSED_S)

    def reach(self) -> None:
        """Return once every host of the session is connected, within the lease. Raise HostUnreachable."""
        self.each("reaching the hosts", Host.connect, timeout=self.inventory.ssh.lease_s + RECONNECTED_S)

    def each(self, what: str, step: Callable[[Host], T], *, timeout: float = COMMAND_S) -> dict[str, T]:
        """`step` on every host of the session."""
        return on_each(what, self.hosts.values(), step, timeout=timeout)

    def with_role(self, role: str) -> list[Host]:
        """Return the session's hosts with this role. Raise BadInput where the inventory has none."""
        return [self.hosts[name] for name in self.inventory.require(role)]

    def start(self, host: Host, name: str, command: Command) -> Job:
        """Start a long job on a host; it ends with the session at the latest."""
        for left in [job for job in self._left if job.host is host]:
            self.end(left)
        job = Job.start(host, name, command, self.id, self._held(host).file)
        self._jobs.append(job)
        return job

    def end(self, job: Job, *, at_once: bool = False, within_s: float = 0.0) -> Ended | None:
        """Stop a job (if it still runs) and forget it; how it ended. `at_once`, `within_s`: see `Job.stop`."""
        ended = job.stop(at_once=at_once, within_s=within_s)
        self.forget(job)
        return ended

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
    def following(self, host: Host, name: str, command: Command) -> Iterator[Job]:
        """A job that the block follows to its end, whose output it reads; left before, by Ctrl-C too, it is ended."""
        job = self.start(host, name, command)
        try:
            yield job
        except BaseException:
            self.abandon(job)
            raise
        self.forget(job)
        job.remove()

    @property
    def running(self) -> set[str]:
        """Names of the folders of the jobs that have been started and neither ended nor forgotten."""
        return {job.folder.rpartition("/")[2] for job in self._jobs}

    def _held(self, host: Host) -> Lease:
        if host.lease is None:
            raise HostUnusable("nothing is started on a host that is not reserved", key=f"hosts.{host.name}")
        lease: Lease = host.lease
        return lease

    def _reap(self, host: Host) -> list[str]:
        folders = dict.fromkeys([host.path("jobs"), *self._reservation.displaced.get(host.name, [])])
        words = [*agent_on(host), "reap", self.id, *folders]
        ended: list[str] = json.loads(host.run(words, timeout=self.inventory.ssh.lease_s + REAPED_S).stdout)
        return ended

    def tidy(self, step: Callable[[], object]) -> None:
        """Do what belongs to the end of a run: a host that is away then must not spoil what has been measured."""
        try:
            step()
        except BenchbookError as problem:
            print(f"benchbook: {problem}; what still runs ends with its lease")

    def _end(self, job: Job) -> bool:
        """Leaving must end as much as it can: a host that is gone ends the job itself when the lease runs out."""
        try:
            job.stop()
            job.remove()
        except ReservationLost:
            return False  # the host has ended it, or is about to
        except BenchbookError as problem:
            print(f"benchbook: could not stop a job on {job.host.name}; its lease ends it: {problem}")
            return False
        return True

    def _renew(self) -> None:
        every_s = min(RENEW_EVERY_S, RENEW_SHARE * self.inventory.ssh.lease_s)
        while not self._over.wait(every_s):
            self._reservation.renew(timeout=every_s * 2)
