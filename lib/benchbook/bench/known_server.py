"""A server whose capacity is known: one at a time, first come first served, exponential service times.

    known_server.py MU SEED

It prints its port, and serves one connection after another until it is ended: a byte is a request, and a byte its
answer. Plain Python, so that it starts at once. When an answer is due does not depend on when this process woke up for
the one before: what it can do is MU a second.
"""

from __future__ import annotations

import os
import random
import socket
import sys
import time
from collections.abc import Callable

ADDRESS = "127.0.0.1"


def undisturbed() -> bool:
    """Have this process go before all ordinary ones; whether that was allowed.

    On a busy machine it would wake up late, and its capacity not be known any more. It needs a tenth of a core.
    """
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        return False
    return True


def serve(mu: float, seed: int) -> None:
    undisturbed()
    dice = random.Random(seed)
    with socket.create_server((ADDRESS, 0)) as listening:
        print(listening.getsockname()[1], flush=True)
        while True:
            client, _ = listening.accept()
            with client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _answer(client, lambda: dice.expovariate(mu))


def _answer(client: socket.socket, service_s: Callable[[], float]) -> None:
    """Until the client has gone."""
    free = time.monotonic()
    while True:
        free, waiting = _arrived(client, free)
        if not waiting:
            return
        for _ in range(waiting):
            free += service_s()
            until(free)
            if not _said(client):
                return


def _arrived(client: socket.socket, free: float) -> tuple[float, int]:
    """When the next of the waiting requests is begun, and how many wait; 0 when no more will come."""
    try:
        waiting = _read(client, socket.MSG_DONTWAIT)
    except BlockingIOError:
        waiting = _read(client)
        return time.monotonic(), waiting
    # They came while the server was busy.
    return free, waiting


def _read(client: socket.socket, flags: int = 0) -> int:
    try:
        return len(client.recv(4096, flags))
    except ConnectionError:
        # A client that ends its load leaves answers unread.
        return 0


def _said(client: socket.socket) -> bool:
    """Whether there was anybody to take the answer."""
    try:
        return bool(client.send(b"."))
    except ConnectionError:
        return False


def until(moment: float) -> None:
    """Sleep until then, on the monotonic clock (s)."""
    left = moment - time.monotonic()
    if left > 0:
        time.sleep(left)


if __name__ == "__main__":
    serve(float(sys.argv[1]), int(sys.argv[2]))
