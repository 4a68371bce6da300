"""Looks at a transfer while it runs: its servers must live, and something must move, or the trial is over."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from benchbook.hosts.agent import Job
from benchbook.reports.standstill import Standstill
from benchbook.reports.transfer.engines import Engine
from benchbook.systems.health import Living

# Seconds between two looks: each is a few small requests, beside a transfer that is measured.
EVERY_S = 2.0


@dataclass
class CopyWatch:
    """Called as often as one likes, it looks every EVERY_S.

    It raises SystemFailed for a server that has died, which some engines wait for for ever, and WorkloadFailed for a
    transfer that tells no news for `longest_s` while `weigh`, what the target holds, stands still as well. Once it has
    told that all its `documents` are there, it may idle for as long as the engine is known to.
    """

    engine: Engine
    job: Job
    servers: Sequence[Living]
    longest_s: float
    weigh: Callable[[], int]
    clock: Callable[[], float] = time.monotonic
    documents: int | None = None
    _next: float = field(init=False, default=0.0)
    _offset: int = field(init=False, default=0)
    _rest: str = field(init=False, default="")
    _told: set[str] = field(init=False, default_factory=set)
    _last: str = field(init=False, default="nothing has been copied yet")
    _patience: Standstill = field(init=False)

    def __post_init__(self) -> None:
        what = f"the transfer by {self.engine.name}"
        self._patience = Standstill(what, self.longest_s, self.weigh, self.clock)

    def __call__(self) -> None:
        if self.clock() < self._next:
            return
        self._next = self.clock() + EVERY_S
        for server in self.servers:
            server.check_alive()
        if news := self.engine.news(self._fresh()) - self._told:
            self._told |= news
            self._last = max(news, key=_by_number)
            if f"{self.documents} documents" in news:
                self._patience.longest_s = max(self.longest_s, self.engine.idles_s)
        self._patience.see(self._last)

    def _fresh(self) -> str:
        """The whole lines since the last look of the file in which the engine tells how far it is."""
        data = self.job.host.read(f"{self.job.folder}/{self.engine.tells}", offset=self._offset)
        self._offset += len(data)
        whole, _, self._rest = (self._rest + data.decode(errors="replace")).rpartition("\n")
        return whole


def _by_number(news: str) -> tuple[int, str]:
    """The most documents come last."""
    first = news.partition(" ")[0]
    return (int(first) if first.isdigit() else -1, news)
