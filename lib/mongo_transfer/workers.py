"""The worker processes: each with its share of readers, writers and cache, and the crew as their parent sees it.

Documents never pass between processes: the parent hands out ranges, gathers counts, and ends them all.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from multiprocessing import connection, parent_process
from multiprocessing.process import BaseProcess
from typing import Any, cast

from mongo_transfer import tally
from mongo_transfer.cache import Batch, Cache
from mongo_transfer.clients import connect
from mongo_transfer.errors import TransferFailed
from mongo_transfer.ranges import Range
from mongo_transfer.reader import Reader
from mongo_transfer.settings import Settings, shares
from mongo_transfer.tally import Counts, ShareEnded, ShareFailure, Tick, Wanted, usage
from mongo_transfer.writer import Writer

_TICK_SECONDS = 1.0
# No single batch takes a healthy server this long.
_SILENCE_SECONDS = 30.0
Link = connection.Connection


@dataclass(frozen=True)
class Share:
    """What one worker gets of the settings' threads and slots."""

    readers: int
    writers: int
    slots: int


@dataclass(frozen=True)
class Start:
    """Tells an idle worker to go, and how many bytes of BSON the target takes for a document."""

    document_limit: int


def run(link: Link, settings: Settings, share: Share) -> None:
    """Entry point of the process: waits for its start, works until its parent has no more ranges, fails, or is told
    to stop (SIGTERM)."""
    stop = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    threading.Thread(target=_die_with_parent, daemon=True).start()
    start: Start | None = link.recv()
    if start is None:
        return link.send(ShareEnded())
    Worker(link, settings, share, start.document_limit, stop).work()


def _die_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


class Worker:
    """Runs the threads, counts, and keeps its parent informed."""

    def __init__(
        self, link: Link, settings: Settings, share: Share, document_limit: int, stop: threading.Event
    ) -> None:
        self._link, self._share, self._stop = link, share, stop
        self._sending, self._asking, self._counting = threading.Lock(), threading.Lock(), threading.Lock()
        self._counts: defaultdict[str, Counts] = defaultdict(Counts)
        patience = min(settings.connect_seconds, max(settings.retry_seconds, 1.0))
        silence = max(settings.retry_seconds, _SILENCE_SECONDS)
        self._clients = [connect(each, patience, answer_seconds=silence) for each in (settings.source, settings.target)]
        self._cache = Cache(share.slots, stop)
        self._reading = share.readers
        self._writer = Writer(self._clients[1], settings.retry_seconds, stop)
        self._reader = Reader(
            source=self._clients[0],
            target=self._clients[1],
            cache=self._cache,
            stop=stop,
            batch_size=settings.batch_size,
            read_ahead=settings.read_ahead(share.readers, share.slots),
            document_limit=document_limit,
            retry_seconds=settings.retry_seconds,
            on_read=lambda part, documents: self._count(part, Counts(read=documents)),
            on_known=lambda part, documents: self._count(part, Counts(already_there=documents)),
            write_now=self._write,
        )

    def work(self) -> None:
        """Reads and writes until all is done, then reports a last time."""
        with ThreadPoolExecutor(self._share.readers + self._share.writers) as pool:
            readers = [pool.submit(self._read_ranges) for _ in range(self._share.readers)]
            writers = [pool.submit(self._write_batches) for _ in range(self._share.writers)]
            is_whole = False
            try:
                is_whole = self._watch({*readers, *writers})
            finally:
                self._stop.set()
        self._tell_failure([*readers, *writers], is_whole=is_whole)
        self._send(self._tick())
        self._send(ShareEnded())
        for client in self._clients:
            client.close()

    def _watch(self, waiting: set[Future[None]]) -> bool:
        """Until all threads have ended; whether they came to the end of their work, and nobody said stop before."""
        while waiting and not self._stop.is_set():
            finished, waiting = wait(waiting, timeout=_TICK_SECONDS, return_when=FIRST_EXCEPTION)
            if any(future.exception() for future in finished):
                return False
            self._send(self._tick())
        return not self._stop.is_set()

    def _tell_failure(self, futures: list[Future[None]], *, is_whole: bool) -> None:
        errors = [error for future in futures if (error := future.exception())]
        for error in errors:
            if not isinstance(error, TransferFailed):
                raise error
        if errors:
            self._send(ShareFailure(str(errors[0])))
        elif not is_whole:
            # Its parent, if that was who said stop, is not listening for this.
            self._send(ShareFailure("a worker process was told to end (SIGTERM) before its work was done"))

    def _read_ranges(self) -> None:
        while not self._stop.is_set() and (part := self._next_range()):
            self._reader.read(part)
        with self._counting:
            self._reading -= 1
            is_last = self._reading == 0
        if is_last:
            self._cache.close()

    def _next_range(self) -> Range | None:
        # One at a time, so that an answer goes to the reader that asked; and none once the parent says to stop.
        with self._asking:
            if self._stop.is_set():
                return None
            self._send(Wanted())
            answer: Range | None = self._link.recv()
            return answer

    def _write_batches(self) -> None:
        while batch := self._cache.take():
            try:
                self._write(batch)
            finally:
                self._cache.release(1, len(batch))

    def _write(self, batch: Batch) -> None:
        self._count(batch.range, self._writer.write(batch))

    def _count(self, part: Range, counts: Counts) -> None:
        with self._counting:
            self._counts[part.namespace].add(counts)

    def _tick(self) -> Tick:
        with self._counting:
            counts = {namespace: replace(each) for namespace, each in self._counts.items()}
        return Tick(counts, usage(), self._cache.most_in_flight)

    def _send(self, message: Any) -> None:
        with self._sending:
            self._link.send(message)


_GLANCE_SECONDS = 0.5
_GOODBYE_SECONDS = 5.0


@dataclass
class Member:
    """One worker process, what it said last, and whether it has ended by itself."""

    process: BaseProcess
    link: Link
    tick: tally.Tick = field(default_factory=lambda: tally.Tick({}, tally.Usage()))
    has_ended: bool = False


class Crew:
    """All workers of a transfer, idle at first. `run` works through the ranges; `stop` ends what still runs.

    Workers are spawned, never forked: a process with threads (a notebook's kernel, pymongo's monitors) cannot be forked
    safely.
    """

    def __init__(self, settings: Settings) -> None:
        self._parts: list[Range] = []
        self.members = list(_started(settings))

    def run(self, parts: list[Range], document_limit: int) -> Iterator[None]:
        """Yields about twice a second, so that the caller can show progress, until all ranges are on the target."""
        # Longest first (taken from the end): the last minutes of a transfer are then busy ones.
        self._parts = sorted(parts, key=lambda part: part.documents)
        for member in self.members:
            _tell(member, Start(document_limit))
        yield from self._heard()

    def _heard(self) -> Iterator[None]:
        while waiting := [member for member in self.members if not member.has_ended]:
            links = {member.link: member for member in waiting}
            for ready in connection.wait(list(links), timeout=_GLANCE_SECONDS):
                self._listen(links[cast(Link, ready)])
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
        yield from [_start(settings, Share(*each)) for each in split]


def _start(settings: Settings, share: Share) -> Member:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=run, args=(theirs, settings, share), daemon=True)
    process.start()
    theirs.close()
    return Member(process, ours)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    # Inherited by the children: Ctrl-C, which a terminal sends to all of them, reaches the parent only, and what the
    # parent asks of a child that has just begun waits until the child can do it (run).
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
