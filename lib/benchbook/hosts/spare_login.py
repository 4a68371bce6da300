"""A login that is opened before it is needed, so that nobody waits for its handshake between two loads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING

from benchbook.errors import BenchbookError
from benchbook.hosts.hang_up import LOST, hang_up

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    import fabric


class SpareLogin:
    """At most one, opened by `attempt` in a thread of its own, and handed out once: no two commands share it."""

    def __init__(self, attempt: Callable[[], fabric.Connection]) -> None:
        self._attempt, self._lock = attempt, threading.Lock()
        self._coming: Future[fabric.Connection | None] | None = None

    def open_ahead(self) -> None:
        """Begin to open one, unless one is there or on its way."""
        with self._lock:
            if self._coming is None:
                self._coming = Future()
                threading.Thread(target=self._open, args=(self._coming,), name="spare-login", daemon=True).start()

    def take(self) -> fabric.Connection | None:
        """The one that was opened, if it still stands; None where there is none."""
        with self._lock:
            coming, self._coming = self._coming, None
        there = coming.result() if coming else None
        if there is not None and not there.is_connected:
            hang_up(there)
            return None
        return there

    def close(self) -> None:
        """Hang up, also on one that is still on its way."""
        with self._lock:
            coming, self._coming = self._coming, None
        if coming:
            coming.add_done_callback(lambda done: hang_up(done.result()))

    def _open(self, coming: Future[fabric.Connection | None]) -> None:
        try:
            opened = self._attempt()
        except (BenchbookError, *LOST):
            # Who needs a login opens one, and is told why it does not open.
            coming.set_result(None)
        except Exception as problem:
            coming.set_exception(problem)
            raise
        else:
            coming.set_result(opened)
