"""Whether this driver stood still: stopped, starved, or asleep with its machine."""

from __future__ import annotations

import threading
import time
from types import TracebackType

BEATS_EVERY_S = 0.25


def monotonic_s() -> float:
    """Return seconds that go on while this machine sleeps, where its system counts them."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class DriverHeartbeat:
    """A context in which a thread of its own, which waits for no host, notices that this process stood still."""

    def __init__(self) -> None:
        self._last, self._longest_s = monotonic_s(), 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> DriverHeartbeat:
        self._last = monotonic_s()
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, _: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def stood_s(self) -> float:
        """Return the longest stand (s), one that still lasts too."""
        # In this order: a stand is noted before the next beat.
        late_s = monotonic_s() - self._last - BEATS_EVERY_S if self._thread.is_alive() else 0.0
        return max(late_s, self._longest_s)

    def _beat(self) -> None:
        over = False
        while not over:
            over, woke = self._over.wait(BEATS_EVERY_S), monotonic_s()
            self._longest_s = max(self._longest_s, woke - self._last - BEATS_EVERY_S)
            self._last = woke
