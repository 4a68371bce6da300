"""The worker processes as their parent sees them: hands out ranges, gathers counts, and ends them all."""

from __future__ import annotations

import multiprocessing.context
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import connection
from multiprocessing.process import BaseProcess
from typing import Any, cast

from benchbook.transfer import tally, worker
from benchbook.transfer.failures import TransferFailed
from benchbook.transfer.ranges import Range
from benchbook.transfer.settings import Settings, shares

_GLANCE_SECONDS = 0.5
_GOODBYE_SECONDS = 5.0


@dataclass
class Member:
    """One worker process, what it said last, and whether it has ended by itself."""

    process: BaseProcess
    link: worker.Link
    tick: tally.Tick = field(default_factory=lambda: tally.Tick({}, tally.Usage()))
    has_ended: bool = False


class Crew:
    """All workers of a transfer, idle at first. `run` works through the ranges; `stop` ends what still runs.

    Made before any connection is: a process with one thread is forked, which costs no imports. One with several (a
    notebook's kernel) cannot be forked safely and spawns its workers.
    """

    def __init__(self, settings: Settings) -> None:
        self._parts: list[Range] = []
        self.members = list(_started(settings))

    def run(self, parts: list[Range], document_limit: int) -> Iterator[None]:
        """Yields about twice a second, so that the caller can show progress, until all ranges are on the target."""
        # Longest first (taken from the end): the last minutes of a transfer are then busy ones.
        self._parts = sorted(parts, key=lambda part: part.documents)
        for member in self.members:
            _tell(member, worker.Start(document_limit))
        yield from self._heard()

    def _heard(self) -> Iterator[None]:
        while waiting := [member for member in self.members if not member.has_ended]:
            links = {member.link: member for member in waiting}
            for ready in connection.wait(list(links), timeout=_GLANCE_SECONDS):
                self._listen(links[cast(worker.Link, ready)])
            yield

    def _listen(self, member: Member) -> None:
        try:
            message = member.link.recv()
        except (EOFError, ConnectionError) as error:
            member.has_ended = True
            member.process.join(_GOODBYE_SECONDS)
            raise TransferFailed(f"a worker process ended with status {member.process.exitcode}") from error
        self._heed(member, message)

    def _heed(self, member: Member, message: Any) -> None:
        match message:
            case tally.Wanted():
                _tell(member, self._parts.pop() if self._parts else None)
            case tally.Tick():
                member.tick = message
            case tally.ShareEnded():
                member.has_ended = True
            case tally.ShareFailure():
                raise TransferFailed(message.text)

    def stop(self) -> None:
        """Ends every worker: asked first, so that batches in hand are written and counted, then killed."""
        self._parts.clear()
        for member in self.members:
            _tell(member, None)
            member.process.terminate()
        self._gather(time.monotonic() + _GOODBYE_SECONDS)
        for member in self.members:
            member.process.join(_GOODBYE_SECONDS if member.has_ended else 0)
            member.process.kill()
            member.process.join()

    def _gather(self, deadline: float) -> None:
        while time.monotonic() < deadline:
            # A second failure, or a link that is gone, is no news to somebody who is stopping.
            with suppress(TransferFailed, OSError):
                for _ in self._heard():
                    if time.monotonic() >= deadline:
                        return
                return

    def counts(self) -> dict[str, tally.Counts]:
        """Counts by namespace over all workers."""
        return tally.merged([member.tick.counts for member in self.members])

    def usage(self) -> tally.Usage:
        """CPU seconds and memory of this process and all workers; the peak is the sum of each one's own peak."""
        used = [tally.usage(), *(member.tick.usage for member in self.members)]
        return tally.Usage(sum(u.cpu for u in used), sum(u.resident for u in used), sum(u.peak for u in used))

    def most_in_flight(self) -> int:
        """An upper bound on the documents that were between source and target at one time."""
        return sum(member.tick.most_in_flight for member in self.members)


def _tell(member: Member, message: Any) -> None:
    # Of a worker that is gone its link tells when it is listened to: it names how the process ended.
    with suppress(OSError):
        member.link.send(message)


def _started(settings: Settings) -> Iterator[Member]:
    count = settings.worker_count()
    split = zip(
        shares(settings.source_threads, count),
        shares(settings.target_threads, count),
        shares(settings.slots, count),
        strict=True,
    )
    with _interrupts_held():
        yield from [_start(settings, worker.Share(*each)) for each in split]


def _start(settings: Settings, share: worker.Share) -> Member:
    context = _context()
    ours, theirs = context.Pipe()
    process = context.Process(target=worker.run, args=(theirs, settings, share), daemon=True)
    process.start()
    theirs.close()
    return Member(process, ours)


def _context() -> multiprocessing.context.ForkContext | multiprocessing.context.SpawnContext:
    return (
        multiprocessing.get_context("fork") if threading.active_count() == 1 else multiprocessing.get_context("spawn")
    )


@contextmanager
def _interrupts_held() -> Iterator[None]:
    # Inherited by the children: Ctrl-C, which a terminal sends to all of them, reaches the parent only, and what the
    # parent asks of a child that has just begun waits until the child can do it (worker.run).
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
