"""One worker process: its share of the readers, writers and cache. Documents never pass between processes."""

from __future__ import annotations

import os
import signal
import threading
from collections import defaultdict
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from multiprocessing import connection, parent_process
from typing import Any

from benchbook.transfer.cache import Batch, Cache
from benchbook.transfer.clients import connect
from benchbook.transfer.failures import TransferFailed
from benchbook.transfer.ranges import Range
from benchbook.transfer.reader import Reader
from benchbook.transfer.settings import Settings
from benchbook.transfer.tally import Counts, ShareEnded, ShareFailure, Tick, Wanted, usage
from benchbook.transfer.writer import Writer

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
