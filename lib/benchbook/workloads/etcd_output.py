"""What etcd's own benchmark tool prints: a bar while it runs, and a report at its end."""

from __future__ import annotations

import re
from dataclasses import dataclass

from benchbook.errors import OutputNotParseable

# The bar is drawn anew so often (pb.v1, DEFAULT_REFRESH_RATE), whatever becomes of the load.
BAR_EVERY_S = 0.2
_BAR = re.compile(r"^ *(\d+) / \d+ +[\d.]+%")
_NUMBER = r"([\d.e+-]+)"
# name of the figure -> how the report prints it; times are in seconds.
_TIMES = {
    "total_time_s": rf"Total:\s+{_NUMBER} secs",
    "latency_max_ms": rf"Slowest:\s+{_NUMBER} secs",
    "latency_min_ms": rf"Fastest:\s+{_NUMBER} secs",
    "latency_mean_ms": rf"Average:\s+{_NUMBER} secs",
    "latency_stddev_ms": rf"Stddev:\s+{_NUMBER} secs",
    "p50_ms": rf"\b50% in {_NUMBER} secs",
    "p95_ms": rf"\b95% in {_NUMBER} secs",
    "p99_ms": rf"\b99% in {_NUMBER} secs",
}
_TPS = rf"Requests/sec:\s+{_NUMBER}"
_BUCKET = re.compile(rf"^  {_NUMBER} \[(\d+)\]\t\|", re.MULTILINE)
_ERROR = re.compile(r"^  \[(\d+)\]\t(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class EtcdOutput:
    """All that one run has printed.

    `figures` by the names of a record's summary; `events` are requests that were answered without an error, of which
    `histogram` holds (upper bound in ms, count). `errors` are the others, by what was answered. `done` is how many
    requests had been answered each time that the bar was drawn.
    """

    figures: dict[str, float]
    histogram: list[tuple[float, int]]
    errors: dict[str, int]
    done: list[int]

    @property
    def failed(self) -> int:
        return sum(self.errors.values())


def done_in(line: str) -> int | None:
    """How many requests a drawn bar counts; None for any other line."""
    match = _BAR.match(line)
    return int(match[1]) if match else None


def parse(text: str) -> EtcdOutput:
    """Raises OutputNotParseable, naming what is missing."""
    figures = {name: _figure(pattern, text) * (1000 if name.endswith("_ms") else 1) for name, pattern in _TIMES.items()}
    histogram = [(float(upper) * 1000, int(count)) for upper, count in _BUCKET.findall(text) if int(count)]
    figures |= {"tps": _figure(_TPS, text), "events": float(sum(count for _, count in histogram))}
    done = [count for line in re.split(r"[\r\n]", text) if (count := done_in(line)) is not None]
    return EtcdOutput(figures, histogram, errors(text), done)


def errors(text: str) -> dict[str, int]:
    """Requests that failed, by what was answered."""
    return {said: int(count) for count, said in _ERROR.findall(text.partition("Error distribution:")[2])}


def _figure(pattern: str, text: str) -> float:
    match = re.search(pattern, text)
    if match is None:
        raise OutputNotParseable(f"the output of etcd's benchmark has no {pattern!r}")
    return float(match[1])
