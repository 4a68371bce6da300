"""ApacheBench (`ab`): its command lines, the progress that it announces, and what its summary says.

A run is to be made with `-l` (else answers whose lengths differ count as failed) and without `-q`; stderr, where `ab`
names its errors and says whether it came to its end, is kept with the output.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from benchbook.errors import OutputNotParseable, WorkloadFailed
from benchbook.hosts.agent import Command
from benchbook.workloads import generator_output

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
    """Return the command line as a reader would type it."""
    return " ".join(str(word) for word in command.argv[4:])


class AbProgress:
    """Reads ab's output as it comes and passes on the rate between the tenths that it announces.

    Several that come at once are one step: nobody reads ab's output while DTM is killed and recovers.
    """

    def __init__(self, on_rate: Callable[[float, float], None]) -> None:
        self._on_rate = on_rate
        self._began = self._last = time.monotonic()
        self._done, self._seen = 0, b""

    def __call__(self, data: bytes) -> None:
        self._seen += data
        found = _COMPLETED.findall(self._seen)
        done, now = int(found[-1]) if found else 0, time.monotonic()
        if done > self._done and now > self._last:
            self._on_rate(now - self._began, (done - self._done) / (now - self._last))
            self._done, self._last = done, now

    @property
    def text(self) -> str:
        return self._seen.decode(errors="replace")


# Only a run that came to its end prints one of these; an interrupted one prints a summary all the same.
_WHOLE = re.compile(r"^Finished \d+ requests$|\.\.done$", re.MULTILINE)


def parse(text: str) -> dict[str, float]:
    """Return the figures of one whole run, by the names of generators/outputs/ab.yaml.

    `failed` and `non_2xx` are counts among the `events`, and one request may be in both. Percentiles are whole
    milliseconds, as `ab` rounds them. Raise WorkloadFailed when `ab` says that it failed, was interrupted or completed
    nothing, OutputNotParseable when its output lacks what a whole run prints.
    """
    if "Benchmarking " in text and not _WHOLE.search(text):
        raise WorkloadFailed(f"ab was ended before its run was over: {failure(text) or 'it does not say why'}")
    run = generator_output.run_of("ab", text, "threads")
    if run.problem:
        raise WorkloadFailed(run.problem)
    figures = {name: quantity.value for name, quantity in run.figures.items()}
    if lacking := [name for name in ("p50_ms", "p95_ms", "p99_ms", "latency_max_ms") if name not in figures]:
        needs = "it needs two requests or more"
        raise OutputNotParseable(f"ab's output has no table of percentiles ({', '.join(lacking)}): {needs}")
    # `ab` leaves this line out when there is nothing to count.
    return {"non_2xx": 0.0, **figures}


def failure(text: str) -> str | None:
    """Return what `ab` itself says has failed; None if it says nothing of the kind."""
    return generator_output.failure("ab", text)
