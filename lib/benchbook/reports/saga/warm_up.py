"""The short load before a load of ab: it opens connections, and says how many requests the load needs.

A load is counted in requests, so that none is under way at its end, and is to last a certain time: what the same load
answered the last time says how many that are. Where nothing is known, or servers have just been started, the load
before it lasts whole seconds, which are the least that ab takes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from benchbook.hosts.agent import Command
from benchbook.workloads import ab

# Of the whole warm-up, where the servers run and have answered the same before: their connections are open already, and
# some requests for each of the load's clients find the code and the data that they need near again.
AGAIN = 0.1


class LoadAsked(NamedTuple):
    """What is asked of whom: loads of one kind have about one rate."""

    store: str
    url: str
    concurrency: int


@dataclass
class WarmUp:
    """Of loads that are to last `time_s` seconds; `program` is ab, where it stands on the client."""

    time_s: int
    program: str
    _rates: dict[LoadAsked, float] = field(init=False, default_factory=dict)
    _cold: bool = field(init=False, default=True)

    @property
    def seconds(self) -> int:
        return max(1, self.time_s // 20)

    def servers_started(self) -> None:
        """What they cached, and had open, is gone: the next warm-up is a whole one."""
        self._cold = True

    def command(self, load: LoadAsked) -> Command:
        """What is to be run before this load."""
        rate = self._rates.get(load)
        if rate is None or self._cold:
            return ab.for_seconds(self.program, load.url, concurrency=load.concurrency, seconds=self.seconds)
        return ab.for_requests(
            self.program,
            load.url,
            concurrency=load.concurrency,
            requests=round(rate * self.seconds * AGAIN),
            longest_s=self.seconds + ab.REQUEST_TIMEOUT_S,
        )

    def requests(self, load: LoadAsked, printed: str) -> int:
        """How many requests make the load as long as it should be; `printed` is what the warm-up printed."""
        tried, self._cold = ab.parse(printed).requests_per_s, False
        return round(self._rates.get(load, tried) * self.time_s)

    def loaded(self, load: LoadAsked, requests_per_s: float) -> None:
        """The rate of a whole load: the next one of its kind is as fast."""
        self._rates[load] = requests_per_s
