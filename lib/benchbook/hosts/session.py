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

from benchbook.errors import BenchbookError, ConnectionLost, HostUnusable, ReservationLost
from benchbook.hosts.agent import Command, Ended, Job, agent_on
from benchbook.hosts.fanout import Outcomes, on_each, try_on_each
from benchbook.hosts.heartbeat import monotonic_s
from benchbook.hosts.host import Host, with_retry
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.reservation import check_free, in_words, reserve
from benchbook.hosts.timeouts import (
    ANSWERS_WITHIN_S,
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
        check_free(hosts, wait_s=wait_s)
    finally:
        try_on_each(hosts, lambda host: host.close())


class Lease:
    """One reserved host. The host asks `guard` before anything is done on it, the session's thread renews it."""

    def __init__(self, session: Session, host: Host, file: str) -> None:
        self.session, self.host, self.file, self.lost = session, host, file, False
        self._renewed, self._renewing = monotonic_s(), threading.local()

    def guard(self) -> None:
        """Raise ReservationLost. After more than a lease without a sign of life, the host is asked first."""
        if self.lost or not self.session.leaving:
            self.session.check()
        silent_s = monotonic_s() - self._renewed
        if silent_s > self.session.inventory.ssh.lease_s and not getattr(self._renewing, "now", False):
            self.renew()

    def renew(self) -> None:
        """Give a sign of life. Raise ReservationLost when the host is another's by now."""
        began, self._renewing.now = monotonic_s(), True
        try:
            if not self.host.renew_lease(self.file, self.session.id):
                self.lost = True
                held = self.host.read(self.file)
                taker = in_words(json.loads(held)) if held else "another driver, which has ended by now"
                self.session.end_reservation(
                    f"lost its reservation of {self.host.name} to {taker}. This driver had given no sign of life for "
                    f"longer than its lease of {self.session.inventory.ssh.lease_s:g} s (stopped, or cut off), so the "
                    "host has ended what it ran there"
                )
        finally:
            self._renewing.now = False
        self._renewed = began

    def end_with_boot(self) -> None:
        """Raise ReservationLost, for the host was started anew, with which every reservation there ends.

        What `tune` had set is gone as well: what is measured from here on would not compare with what was before.
        """
        self.lost = True
        self.session.end_reservation(
            f"host {self.host.name} rebooted during the run, which ended everything there and reset its "
            "settings. Run the same command again: it runs only what is missing"
        )


class Session:
    """Use as a context manager: entering connects to the hosts that are asked for and reserves them, leaving ends all.

    They are reserved one by one, in an order that is the same for every driver: of two that want the same hosts, one
    gets all.

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
        # Per host, folders of jobs of drivers that are gone.
        self._displaced: dict[str, list[str]] = {}
        self.leaving = False
        self._lost = ""
        self._over = threading.Event()
        self._renewer = threading.Thread(target=self._renew, name="lease", daemon=True)

    def __enter__(self) -> Session:
        try:
            self.each("connecting", with_retry(Host.connect))
            self._renewer.start()
            self._reserve()
            patience_s = self.inventory.ssh.lease_s + REAPED_S + COMMAND_S
            reaped = self.each("ending what drivers that are gone left", with_retry(self._reap), timeout=patience_s)
            self.reaped = {name: ended for name, ended in reaped.items() if ended}
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None) -> None:
        self._leave()

    def _leave(self) -> None:
        self.leaving = True
        left = [job.host.name for job in reversed(self._jobs) if not self._end(job)]
        self._over.set()
        if self._renewer.is_alive():
            self._renewer.join(timeout=RENEWER_ENDED_S)
        self._release(but=left)
        try_on_each(self.hosts.values(), lambda host: host.close(), timeout=CLOSED_S)

    def _reserve(self) -> None:
        self.each("looking at what hosts they are", with_retry(Host.probe))
        for host in sorted(self.hosts.values(), key=lambda host: (host.probe().place, host.probe().sshd_address)):
            taken = reserve(host, self.id)
            host.lease = Lease(self, host, taken["file"])
            self._displaced[host.name] = taken["displaced"]

    def _release(self, *, but: Iterable[str]) -> None:
        """Give the hosts back, except where something of ours may still run: its lease ends that, and this with it."""
        hosts = self.hosts.values()
        busy = {self.hosts[name].probe().place for name in but}
        held = {host.probe().place: host for host in hosts if host.lease and not host.lease.lost}
        free = [host for place, host in held.items() if place not in busy]
        try_on_each(free, lambda host: host.run([*agent_on(host), "release", self.id]), timeout=ANSWERS_WITHIN_S)
        for host in hosts:
            host.lease = None

    def renew(self, *, timeout: float) -> Outcomes[None]:
        """Give a sign of life on every host that is held; one that does not answer is asked again the next time."""
        held = {host.name: host.lease for host in self.hosts.values() if host.lease}
        hosts = [self.hosts[name] for name in held]
        return try_on_each(hosts, lambda host: held[host.name].renew(), timeout=timeout)

    def verify(self) -> None:
        """Raise ReservationLost where a host of the session is another's, ConnectionLost where one does not say."""
        if self.leaving:
            return
        failed = self.renew(timeout=ANSWERS_WITHIN_S).failed
        self.check()
        for name, problem in failed.items():
            raise ConnectionLost(f"{name}: it does not say whether it is still reserved for this driver: {problem}")

    def end_reservation(self, why: str) -> None:
        """Raise ReservationLost; from here on, every host of the session does."""
        self._lost = why
        self.check()

    def check(self) -> None:
        """Raise ReservationLost once a host of the session is another's."""
        if self._lost:
            raise ReservationLost(self._lost)

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
        if host.lease is None:
            raise HostUnusable("nothing is started on a host that is not reserved", key=f"hosts.{host.name}")
        job = Job.start(host, name, command, self.id, host.lease.file)
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

    def _reap(self, host: Host) -> list[str]:
        folders = dict.fromkeys([host.path("jobs"), *self._displaced.get(host.name, [])])
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
            self.renew(timeout=every_s * 2)
