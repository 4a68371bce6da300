"""ApacheBench (`ab`): its command lines, the progress that it announces, and what its summary says.

A run is to be made with `-l` (else answers whose lengths differ count as failed) and without `-q`; stderr, where `ab`
names its errors and says whether it came to its end, is kept with the output.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchbook.errors import OutputNotParseable, WorkloadFailed
from benchbook.hosts.agent import Command

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


# Only a run that came to its end prints one of these; an interrupted one prints a summary all the same.
_WHOLE = re.compile(r"^Finished \d+ requests$|\.\.done$", re.MULTILINE)
_SAYS_IT_FAILED = re.compile(r"^ab: .+|apr_\w+: .+|^Total of \d+ requests completed|.+ \(70007\)$", re.MULTILINE)
_PERCENTILE = re.compile(r"^ +(\d+)% +(\d+)(?: \(longest request\))?$", re.MULTILINE)
_NUMBER = r"([\d.]+)"


@dataclass(frozen=True)
class AbSummary:
    """One run, closed loop: `concurrency` clients, each of which sends the next request when its last one is answered.

    `failed` and `non_2xx` are counts among the `complete` requests, and one request may be in both. Percentiles are
    keyed 50, 66, 75, 80, 90, 95, 98, 99 and 100 and are whole milliseconds, as `ab` rounds them.
    """

    complete: int
    failed: int
    non_2xx: int
    requests_per_s: float
    time_s: float
    concurrency: int
    mean_ms: float
    percentiles_ms: dict[int, float]


def parse(text: str) -> AbSummary:
    """The summary of one whole run.

    Raises WorkloadFailed when `ab` says that it failed, was interrupted or completed nothing, OutputNotParseable when
    its output lacks what a whole run prints.
    """
    _refuse_failed(text)
    complete = int(_field(text, "Complete requests"))
    if complete == 0:
        raise WorkloadFailed("ab completed no request")
    return AbSummary(
        complete=complete,
        failed=int(_field(text, "Failed requests")),
        non_2xx=_non_2xx(text),
        requests_per_s=_positive(text, "Requests per second"),
        time_s=_positive(text, "Time taken for tests"),
        concurrency=int(_field(text, "Concurrency Level")),
        mean_ms=_positive(text, "Time per request"),
        percentiles_ms=_percentiles(text),
    )


def failure(text: str) -> str | None:
    """What `ab` itself says has failed; None if it says nothing of the kind."""
    return "; ".join(match.group(0).strip() for match in _SAYS_IT_FAILED.finditer(text)) or None


def _refuse_failed(text: str) -> None:
    if said := failure(text):
        raise WorkloadFailed(f"ab failed: {said}")
    if "Benchmarking " not in text:
        raise OutputNotParseable(f"this is not the output of ab: it begins {text[:80]!r}")
    if not _WHOLE.search(text):
        raise WorkloadFailed("ab was ended before its run was over")


def _field(text: str, label: str) -> str:
    # The first match is meant: "Time per request" is printed for one client first, then divided by the concurrency.
    match = re.search(rf"^{label}: +{_NUMBER}(?: |$)", text, re.MULTILINE)
    if match is None:
        raise OutputNotParseable(f"ab's output has no line {label!r}")
    return match.group(1)


def _positive(text: str, label: str) -> float:
    value = float(_field(text, label))
    if value <= 0:
        raise OutputNotParseable(f"ab's {label!r} is {value:g}")
    return value


def _non_2xx(text: str) -> int:
    # `ab` leaves this line out when there is nothing to count: the one field whose absence means zero.
    return int(_field(text, "Non-2xx responses")) if "Non-2xx responses:" in text else 0


def _percentiles(text: str) -> dict[int, float]:
    found = {int(percent): float(ms) for percent, ms in _PERCENTILE.findall(text)}
    if not {50, 95, 99, 100} <= found.keys():
        raise OutputNotParseable("ab's output has no whole table of percentiles: it needs two requests or more")
    return found
