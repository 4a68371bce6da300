"""One load from all client hosts at once: threads and rate shared out, started together, followed to the end."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from benchbook.errors import BenchbookError
from benchbook.hosts.agent import Command, Job
from benchbook.hosts.fanout import on_each
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.workloads.base import Ran


def shares(total: int, clients: int) -> list[int]:
    """`total` shared out as evenly as whole numbers go, the first getting what is over: 400 over 3 is 134, 133, 133."""
    each, over = divmod(total, clients)
    return [each + (index < over) for index in range(clients)]


class RateReader:
    """Cuts a job's output into lines as it comes and passes on the rates that `rate_in` finds in them.

    A carriage return ends a line too: some programs write one rate over the other.
    """

    def __init__(
        self, rate_in: Callable[[str], tuple[float, float] | None], on_rate: Callable[[float, float], None]
    ) -> None:
        self._rate_in, self._on_rate, self._rest = rate_in, on_rate, ""
        self._parts: list[str] = []

    def __call__(self, data: bytes) -> None:
        text = data.decode(errors="replace")
        self._parts.append(text)
        *lines, self._rest = re.split(r"[\r\n]", self._rest + text)
        for second, rate in filter(None, map(self._rate_in, lines)):
            self._on_rate(second, rate)

    @property
    def text(self) -> str:
        """All that has come so far."""
        return "".join(self._parts)


class DistributedLoad:
    """Jobs of one load, one on each client, started together as `name`.

    `rate_in` finds second and rate in a line that is printed while the load runs.
    """

    def __init__(
        self,
        session: Session,
        name: str,
        commands: Sequence[tuple[Host, Command]],
        rate_in: Callable[[str], tuple[float, float] | None],
    ) -> None:
        self._session, self._name, self._rate_in = session, name, rate_in
        self._commands = {host.name: command for host, command in commands}
        self._jobs: dict[str, Job] = {}
        try:
            on_each(f"starting {name}", [host for host, _ in commands], self._start, at_once=len(commands))
        except BenchbookError:
            # What has begun on the others must not load the next trial.
            for job in self._jobs.values():
                session.abandon(job)
            raise

    def _start(self, host: Host) -> None:
        self._jobs[host.name] = self._session.start(host, self._name, self._commands[host.name])

    def wait(self, on_rate: Callable[[float, float], None], *, expected_s: float) -> list[Ran]:
        """Until all have ended; `on_rate(second, rate)` gets the sum over the clients.

        Where one ends badly the others are stopped: a part of the load is not the load.
        """
        summed = _Summed(on_rate, len(self._jobs))
        jobs = [self._jobs[name] for name in self._commands]
        if len(jobs) == 1:
            return [self._follow(jobs[0], summed, expected_s)]
        with ThreadPoolExecutor(len(jobs), thread_name_prefix="load-client") as pool:
            todo = {pool.submit(self._follow, job, summed, expected_s): job for job in jobs}
            try:
                wait(todo, return_when=FIRST_EXCEPTION)
            finally:
                # Interrupted, or a host is lost: who follows a job ends with it.
                for unfinished, job in todo.items():
                    if not unfinished.done():
                        self._session.abandon(job)
        # Those that were stopped because another failed come last: the one that failed is to be named.
        return sorted((each.result() for each in todo), key=lambda ran: ran.ended.reason == "stopped")

    def _follow(self, job: Job, summed: _Summed, expected_s: float) -> Ran:
        reader = RateReader(self._rate_in, summed.of(job.host.name))
        try:
            ended = job.wait(on_output=reader, every_s=0.1, expected_s=expected_s)
            complaint = job.stderr()
        except BenchbookError:
            self._session.abandon(job)
            raise
        if ended.exit != 0 and ended.reason != "stopped":
            for other in self._jobs.values():
                if other is not job:
                    self._session.abandon(other)
        self._session.forget(job)
        job.remove()
        return Ran(job.host.name, self._commands[job.host.name], ended, reader.text, complaint)


class _Summed:
    """Passes on the sum of a second's rates once every client has told its own."""

    def __init__(self, on_rate: Callable[[float, float], None], clients: int) -> None:
        self._on_rate, self._clients = on_rate, clients
        self._seconds: dict[float, dict[str, float]] = {}
        self._lock = threading.Lock()

    def of(self, client: str) -> Callable[[float, float], None]:
        """Return where the client's rates go."""
        return lambda second, rate: self._seen(client, second, rate)

    def _seen(self, client: str, second: float, rate: float) -> None:
        with self._lock:
            told = self._seconds.setdefault(second, {})
            told[client] = rate
            if len(told) == self._clients:
                self._on_rate(second, sum(self._seconds.pop(second).values()))
