"""ApacheBench (`ab`): its command lines, and the progress that it announces."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from benchbook.hosts.jobs import Command

# ab gives up on a request after this long: what is behind the server may retry for more than 10 s before it answers.
REQUEST_TIMEOUT_S = 90
MOST_REQUESTS = 50_000_000
_COMPLETED = re.compile(rb"^(?:Completed|Finished) (\d+) requests", re.MULTILINE)


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


class AbProgress:
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
