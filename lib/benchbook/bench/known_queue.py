"""A service whose knee is known: one server, Poisson arrivals, exponential service times (M/M/1), in order.

Its time in the system is exponential at rate mu - lambda, so that its p99 is ln(100) / (mu - lambda): Kleinrock (1975),
Queueing Systems I, sec. 3.2. The highest rate that keeps a p99 is lambda = mu - ln(100) / p99. Simulated here, and as a
real server on loopback with a client that sends by schedule, whatever has been answered.
"""

from __future__ import annotations

import math
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from benchbook.bench import known_server
from benchbook.bench.known_server import ADDRESS
from benchbook.knee.offered_load import OfferedLoad
from benchbook.stats.estimates import Array

# What is in the system at first is not what will be there: so many seconds of each load do not count.
WARM_S = 1.0


def true_knee(mu: float, p99_ms: float) -> float:
    """The highest rate (1/s) at which 99% of the requests take at most `p99_ms`; the server does `mu` a second."""
    return mu - math.log(100) / (p99_ms / 1000)


# -- simulated ----------------------------------------------------------------------------------------------------


def simulated(rate: float, *, mu: float, seconds: float, rng: np.random.Generator) -> OfferedLoad:
    """A load on the simulated server; `rate` 0 is a closed loop, which does what the server can."""
    if rate == 0:
        return OfferedLoad(0, mu * (1 + rng.normal(0, 1 / math.sqrt(mu * seconds))), seconds, None)
    count = int((WARM_S + seconds) * rate * 1.2) + 100
    arrival = rng.exponential(1 / rate, count).cumsum()
    left = arrival + _sojourns(arrival, rng.exponential(1 / mu, count))
    return observed(rate, arrival, left, seconds)


def _sojourns(arrival: Array, service: Array) -> Array:
    """Lindley (1952), Proc. Cambridge Phil. Soc. 48(2): a wait is what is left of the one before, or nothing."""
    more = np.concatenate([[0.0], (service[:-1] - np.diff(arrival)).cumsum()])
    return np.asarray(more - np.minimum.accumulate(more) + service)


def observed(rate: float, scheduled: Array, left: Array, seconds: float) -> OfferedLoad:
    """What a load came to, from the times (s) at which its requests were due and were answered.

    Answers after the end do not count, as with a load generator that ends then.
    """
    ended = WARM_S + seconds
    counted = (left > WARM_S) & (left <= ended)
    due = counted & (scheduled > WARM_S)
    p99 = float(np.percentile(left[due] - scheduled[due], 99)) * 1000 if due.sum() >= 1000 else None
    return OfferedLoad(rate, float(counted.sum()) / seconds, seconds, p99)


# -- real ---------------------------------------------------------------------------------------------------------


@contextmanager
def serving(mu: float, seed: int) -> Iterator[int]:
    """A server of this capacity (1/s) in a process of its own while the block lasts; its port."""
    argv = [sys.executable, known_server.__file__, str(mu), str(seed)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline())
        finally:
            server.terminate()


def driven(port: int, rate: float, *, seconds: float, rng: np.random.Generator) -> OfferedLoad:
    """A load on the real server, offered by a Poisson schedule; `rate` 0 keeps eight requests under way."""
    with socket.create_connection((ADDRESS, port)) as server:
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if rate == 0:
            return _closed(server, seconds)
        count = int((WARM_S + seconds) * rate * 1.2) + 100
        due = rng.exponential(1 / rate, count).cumsum()
        due = due[due < WARM_S + seconds]
        began = time.monotonic()
        sending = threading.Thread(target=_send, args=(server, began + due), daemon=True)
        sending.start()
        left = _answers(server, began, seconds)[: len(due)]
        sending.join()
    answered = np.concatenate([left, np.full(len(due) - len(left), np.inf)])
    return observed(rate, due, answered, seconds)


def _send(server: socket.socket, due: Array) -> None:
    for moment in due:
        known_server.until(float(moment))
        server.send(b".")


def _answers(server: socket.socket, began: float, seconds: float) -> list[float]:
    """The times of all answers until the end, s since the load began."""
    left: list[float] = []
    while (now := time.monotonic() - began) < WARM_S + seconds:
        server.settimeout(max(0.001, WARM_S + seconds - now))
        try:
            arrived = len(server.recv(4096))
        except TimeoutError:
            break
        left += [time.monotonic() - began] * arrived
    server.settimeout(None)
    return left


def _closed(server: socket.socket, seconds: float) -> OfferedLoad:
    began, answered = time.monotonic(), 0
    server.send(b"." * 8)
    while time.monotonic() < began + seconds:
        arrived = len(server.recv(4096))
        answered += arrived
        server.send(b"." * arrived)
    return OfferedLoad(0, answered / (time.monotonic() - began), seconds, None)
