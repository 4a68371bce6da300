"""The driver's own heartbeat: a thread that notices when this process stood still."""

from __future__ import annotations

import threading
import time
from types import TracebackType

BEATS_EVERY_S = 0.25


class DriverHeartbeat:
    """Use as a context manager. `longest_s` is how much later than it had asked for the thread woke, at the latest."""

    def __init__(self) -> None:
        self.longest_s = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> DriverHeartbeat:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        over, before = False, time.monotonic()
        while not over:
            over, now = self._over.wait(BEATS_EVERY_S), time.monotonic()
            self.longest_s = max(self.longest_s, now - before - BEATS_EVERY_S)
            before = now
