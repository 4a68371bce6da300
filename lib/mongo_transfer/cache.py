"""The cache between readers and writers: a hard bound on batches that are read and not yet written.

A reader takes slots before it asks the source for batches, and the writer gives one back once the target has
acknowledged its batch: a batch being fetched or written counts too. Buckets are capacity, not an order: any writer
takes the oldest batch.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from mongo_transfer.ranges import Range

_GLANCE_SECONDS = 0.5


@dataclass(frozen=True)
class Batch:
    """Documents of one range on their way: raw BSON, and where each starts (see `raw.offsets`)."""

    range: Range
    data: bytes
    bounds: list[int]

    def __len__(self) -> int:
        return len(self.bounds) - 1


class Cache:
    """At most `slots` batches between source and target; `most_in_flight` is the most documents it ever held."""

    def __init__(self, slots: int, stop: threading.Event) -> None:
        self._free = slots
        self._stop = stop
        self._changed = threading.Condition()
        self._batches: deque[Batch] = deque()
        self._is_closed = False
        self._in_flight = 0
        self.most_in_flight = 0

    def reserve(self, slots: int = 1) -> bool:
        """Takes slots, all or none, waiting as long as it takes; False if the transfer stops meanwhile."""
        with self._changed:
            while not self._stop.is_set():
                if self._free >= slots:
                    self._free -= slots
                    return True
                self._changed.wait(_GLANCE_SECONDS)
        return False

    def release(self, slots: int = 1, documents: int = 0) -> None:
        """Gives slots back, and with them the documents that were put into them."""
        if not slots:
            return
        with self._changed:
            self._free += slots
            self._in_flight -= documents
            self._changed.notify_all()

    def put(self, batch: Batch) -> None:
        """Hands a batch to the writers; the caller holds its slot, which passes on with it."""
        with self._changed:
            self._in_flight += len(batch)
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
            self._batches.append(batch)
            self._changed.notify_all()

    def take(self) -> Batch | None:
        """The oldest batch, waited for; None once the cache is closed and empty, or the transfer stops."""
        with self._changed:
            while not self._stop.is_set():
                if self._batches:
                    return self._batches.popleft()
                if self._is_closed:
                    return None
                self._changed.wait(_GLANCE_SECONDS)
        return None

    def close(self) -> None:
        """No more batches will come: writers end when they have emptied it."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
