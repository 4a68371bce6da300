"""Another address of a server, which stops passing bytes on at a given one: a transfer is then surely in mid-copy."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mongo_transfer.settings import MongoEndpoint

from .conftest import SECONDS, Server

_PIECE = 4096


class Relay:
    """Passes `budget` bytes towards `server` (None: all), holds the rest back until `release`; answers all pass."""

    def __init__(self, host: str, server: Server, budget: int | None) -> None:
        self.endpoint = MongoEndpoint(f"mongodb://{host}:27017/")
        self._to = (server.host, 27017)
        self._left = budget
        self._changed = threading.Condition()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server((host, 27017))
        threading.Thread(target=self._accept, daemon=True).start()

    def wait(self) -> None:
        """Until the budget is used up; fails the test if that does not come."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._left == 0, SECONDS), f"{self._left} bytes have not come"

    def release(self) -> None:
        """From now on everything passes."""
        with self._changed:
            self._left = None
            self._changed.notify_all()

    def close(self) -> None:
        """Nobody is at this address any more, and whoever was connected is not."""
        # A close alone does not wake the thread that waits in accept.
        for each in (self._listener, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self.release()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self._to)
            except OSError:
                near.close()
                continue
            self._sockets += [near, far]
            threading.Thread(target=self._pump, args=(near, far, True), daemon=True).start()
            threading.Thread(target=self._pump, args=(far, near, False), daemon=True).start()

    def _pump(self, origin: socket.socket, to: socket.socket, is_counted: bool) -> None:
        with suppress(OSError):
            while data := origin.recv(_PIECE):
                while data:
                    allowed = self._allowed(len(data)) if is_counted else len(data)
                    to.sendall(data[:allowed])
                    data = data[allowed:]
        for each in (origin, to):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _allowed(self, asked: int) -> int:
        """How many of so many bytes may pass now; waits until it is at least one."""
        with self._changed:
            self._changed.wait_for(lambda: self._left != 0)
            if self._left is None:
                return asked
            allowed = min(asked, self._left)
            self._left -= allowed
            self._changed.notify_all()
            return allowed


@contextmanager
def relay(host: str, server: Server, budget: int | None = None) -> Iterator[Relay]:
    """A relay at `host`, closed at the end."""
    found = Relay(host, server, budget)
    try:
        yield found
    finally:
        found.close()
