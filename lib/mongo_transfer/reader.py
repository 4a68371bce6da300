"""Reads ranges of the source into the cache, in raw batches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import cast

from pymongo.errors import ConnectionFailure, OperationFailure

from mongo_transfer import raw
from mongo_transfer.cache import Batch, Cache
from mongo_transfer.clients import Client, patiently, reason
from mongo_transfer.errors import TransferFailed
from mongo_transfer.ranges import Range, RawBatches

# Of documents that the target holds, so many are known at most: about 100 MB.
LIMIT = 1_000_000


def digests(batches: Iterable[bytes]) -> set[bytes]:
    """Return those of the documents in these batches, of the first LIMIT."""
    documents = (document for batch in batches for document in raw.split(batch))
    return {raw.digest(document) for document in islice(documents, LIMIT)}


_SCAN_DOCUMENTS = 1000
# CursorNotFound, QueryPlanKilled, CursorKilled: the server restarted, or the collection is gone.
_LOST_CURSOR = frozenset({43, 175, 237})
_ATTEMPTS = 20


@dataclass
class _Progress:
    """How far a range has been read: what is read again after a lost server has been counted before.

    A server at rest gives a range in the same order again.
    """

    furthest: int = 0
    position: int = 0

    def begin(self) -> None:
        self.position = 0

    def again(self, documents: int) -> int:
        """How many of the next `documents` had been read before."""
        before = min(documents, self.furthest - self.position)
        self.position += documents
        self.furthest = max(self.furthest, self.position)
        return before


@dataclass(frozen=True)
class Reader:
    """Reads for one worker. `on_read` and `on_known` are told (range, documents); `write_now` serves ordered ranges."""

    source: Client
    target: Client
    cache: Cache
    stop: threading.Event
    batch_size: int
    read_ahead: int
    document_limit: int
    retry_seconds: float
    on_read: Callable[[Range, int], None]
    on_known: Callable[[Range, int], None]
    write_now: Callable[[Batch], None]

    def read(self, part: Range) -> None:
        """Reads the range to its end; after a lost server, again, but for what has arrived. Raises TransferFailed."""
        progress = _Progress()
        for attempt in range(_ATTEMPTS):
            try:
                return self._attempt(part, progress, is_repeated=attempt > 0)
            except ConnectionFailure:
                self._wait_for_servers(part)
            except OperationFailure as error:
                self._refuse_lasting(part, error)
        raise TransferFailed(f"{part.namespace}: lost {_ATTEMPTS} times while reading it")

    def _attempt(self, part: Range, progress: _Progress, *, is_repeated: bool) -> None:
        known = self._known(part) if part.is_resumed or is_repeated else set()
        progress.begin()
        with closing(part.cursor(self.source, self.batch_size * self.read_ahead)) as cursor:
            # Slots are taken before documents are asked for.
            while self.cache.reserve(self.read_ahead):
                if not self._step(part, cursor, known, progress):
                    return

    def _known(self, part: Range) -> set[bytes]:
        with closing(part.cursor(self.target, _SCAN_DOCUMENTS)) as cursor:
            return digests(cast(Iterator[bytes], cursor))

    def _step(self, part: Range, cursor: RawBatches, known: set[bytes], progress: _Progress) -> bool:
        # One answer of the source. Slots pass on with its batches; those that it does not need are given back here.
        batches: list[Batch] = []
        try:
            data = cast(bytes | None, next(cursor, None))
            batches = self._batches(part, data, known, progress) if data else []
        finally:
            self.cache.release(self.read_ahead - len(batches))
        for batch in batches:
            self._pass_on(batch)
        return data is not None

    def _batches(self, part: Range, data: bytes, known: set[bytes], progress: _Progress) -> list[Batch]:
        bounds = raw.offsets(data)
        self._refuse_long(part, data, bounds)
        again = progress.again(len(bounds) - 1)
        self.on_read(part, len(bounds) - 1 - again)
        if known:
            before, first = _without(known, data[: bounds[again]]), _without(known, data[bounds[again] :])
            self.on_known(part, len(bounds) - len(raw.offsets(first)) - again)
            data = before + first
            bounds = raw.offsets(data)
        return [Batch(part, *piece) for piece in raw.cut(data, bounds, self.batch_size)]

    def _pass_on(self, batch: Batch) -> None:
        if not batch.range.is_ordered:
            return self.cache.put(batch)
        try:
            self.write_now(batch)
        finally:
            self.cache.release(1)

    def _refuse_long(self, part: Range, data: bytes, bounds: list[int]) -> None:
        if raw.longest(bounds) <= self.document_limit:
            return
        long = next(document for document in raw.split(data) if len(document) > self.document_limit)
        raise TransferFailed(
            f"{part.namespace}: the document with _id {raw.document_id(long)!r} has {len(long)} bytes; the target "
            f"takes {self.document_limit}. Fix: shorten or remove it, or leave the collection out by --collections"
        )

    def _wait_for_servers(self, part: Range) -> None:
        try:
            for client in (self.source, self.target):
                patiently(self.retry_seconds, self.stop.is_set)(client.admin.command, "ping")
        except ConnectionFailure as error:
            raise TransferFailed(
                f"{part.namespace}: a server is lost for {self.retry_seconds:g} s: {reason(error)}"
            ) from error

    def _refuse_lasting(self, part: Range, error: OperationFailure) -> None:
        if error.code not in _LOST_CURSOR:
            raise TransferFailed(f"{part.namespace}: the source refuses to read: {reason(error)}") from error
        if not self._exists(part):
            raise TransferFailed(dropped(part.namespace)) from error

    def _exists(self, part: Range) -> bool:
        listed = patiently(self.retry_seconds, self.stop.is_set)(self.source[part.database].list_collection_names)
        return part.collection in listed


def _without(known: set[bytes], batch: bytes) -> bytes:
    return b"".join(document for document in raw.split(batch) if raw.digest(document) not in known)


def dropped(namespace: str) -> str:
    """The message for a collection that is gone, or is another one of the same name, before it was copied whole."""
    return (
        f"{namespace}: dropped or recreated on the source in mid-copy. Fix: remove it from the target, or start again "
        "once the source is at rest"
    )
