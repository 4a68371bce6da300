"""Global transactions over `ab`: the rungs of the report's ladder, the command line, and its progress."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchbook.errors import BadInput
from benchbook.hosts.jobs import Command

MODES = ("no_dtm", "dtm", "dtm_barrier")
# A global transaction that DTM retries takes more than 10 s; ab gives up on a request after this long.
REQUEST_TIMEOUT_S = 90
MOST_REQUESTS = 50_000_000
_COMPLETED = re.compile(rb"^(?:Completed|Finished) (\d+) requests", re.MULTILINE)


@dataclass(frozen=True)
class Rung:
    """One step of the ladder: who coordinates, how many SQL a branch has, and what share of TransIn branches fail."""

    mode: str
    sql_per_branch: int
    fail: float = 0.0

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise BadInput("unknown mode", key="rungs", value=self.mode, fix=f"one of {', '.join(MODES)}")
        if self.sql_per_branch < 0 or self.sql_per_branch % 2:
            raise BadInput("a branch runs pairs of INSERT and UPDATE", key="rungs", value=self.sql_per_branch,
                           fix="give an even number of SQL")  # fmt: skip

    @classmethod
    def of(cls, levels: Mapping[str, str | int | float]) -> Rung:
        """The rung that a trial's levels name."""
        return cls(str(levels["mode"]), int(levels["sql_per_branch"]), float(levels.get("fail", 0.0)))

    @classmethod
    def parse(cls, text: str) -> Rung:
        """`MODE:SQL`, as a notebook's parameter says it."""
        mode, _, sql = text.partition(":")
        if not sql.isdigit():
            raise BadInput("not a rung", key="rungs", value=text, fix="write MODE:SQL, for example dtm_barrier:2")
        return cls(mode, int(sql))

    @property
    def with_dtm(self) -> bool:
        return self.mode != "no_dtm"

    @property
    def barrier(self) -> bool:
        return self.mode == "dtm_barrier"

    @property
    def keeps_books(self) -> bool:
        """Branches that fail need the barrier: else their compensations undo what was never done."""
        return self.barrier or not self.fail

    @property
    def path(self) -> str:
        """What a client asks the business service for."""
        query = f"dtm={int(self.with_dtm)}&barrier={int(self.barrier)}&pairs={self.sql_per_branch // 2}"
        return f"/saga?{query}&fail={self.fail:g}" if self.fail else f"/saga?{query}"

    @property
    def label(self) -> str:
        """For tables and axes."""
        who = {"no_dtm": "no DTM", "dtm": "DTM", "dtm_barrier": "DTM + barrier"}[self.mode]
        work = f"{self.sql_per_branch} SQL" if self.sql_per_branch else "empty"
        return f"{who}, {work}" + (f", {self.fail:.0%} fail" if self.fail else "")


def for_requests(program: str, url: str, *, concurrency: int, requests: int, longest_s: float) -> Command:
    """Closed loop of `concurrency` clients until `requests` are answered: none is under way at its end."""
    wanted = min(MOST_REQUESTS, max(requests, 2 * concurrency))
    return _ab(program, ["-n", wanted, "-c", concurrency], url, longest_s)


def for_seconds(program: str, url: str, *, concurrency: int, seconds: int) -> Command:
    """Closed loop of `concurrency` clients for about `seconds`; some requests are left unanswered at its end."""
    return _ab(program, ["-t", seconds, "-n", MOST_REQUESTS, "-c", concurrency], url, seconds + REQUEST_TIMEOUT_S)


def _ab(program: str, how: list[object], url: str, longest_s: float) -> Command:
    # Its progress and the line that tells a whole run go to stderr: kept with the rest, as its parser wants it.
    # -l: answers may differ in length.
    argv = ["sh", "-c", 'exec "$@" 2>&1', "sh", program, "-l", "-s", REQUEST_TIMEOUT_S, *how, url]
    return Command(argv, timeout_s=longest_s)


def shown(command: Command) -> str:
    """The command line as a reader would type it."""
    return " ".join(str(word) for word in command.argv[4:])


class Progress:
    """Reads ab's output as it comes and passes on the rate between the tenths that it announces."""

    def __init__(self, on_rate: Callable[[float, float], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._on_rate, self._clock = on_rate, clock
        self._began = self._last = clock()
        self._done, self._seen = 0, b""

    def __call__(self, data: bytes) -> None:
        self._seen += data
        found = _COMPLETED.findall(self._seen)
        done, now = int(found[-1]) if found else 0, self._clock()
        if done > self._done and now > self._last:
            self._on_rate(now - self._began, (done - self._done) / (now - self._last))
            self._done, self._last = done, now

    @property
    def text(self) -> str:
        return self._seen.decode(errors="replace")
