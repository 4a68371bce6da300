"""Parser of what sysbench 1.0 prints: text in, samples and a summary out; a named failure rather than a zero."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from benchbook.errors import OutputNotParseable, WorkloadFailed, cut
from benchbook.stats.latency import percentile

_INTERVAL = re.compile(
    r"^\[ (?P<t>\d+)s \] thds: (?P<threads>\d+) tps: (?P<tps>[\d.]+) qps: (?P<qps>[\d.]+) "
    r"\(r/w/o: (?P<read>[\d.]+)/(?P<write>[\d.]+)/(?P<other>[\d.]+)\) "
    r"lat \(ms,(?P<percentile>\d+)%\): (?P<latency>[\d.]+) err/s: (?P<errors>[\d.]+) reconn/s: (?P<reconnects>[\d.]+)$"
)
_QUEUE = re.compile(r"^\[ (?P<t>\d+)s \] queue length: (?P<queue>\d+), concurrency: (?P<concurrency>\d+)$")
_BUCKET = re.compile(r"^\s*(?P<upper>[\d.]+) \|[* ]*\s(?P<count>\d+)\s*$")
_FATAL = re.compile(r"^(?:FATAL|Error): .*|^PANIC: .*", re.MULTILINE)

# Where each figure of the closing report stands; (?s) because a section spans lines.
_SUMMARY = {
    "transactions": r"transactions:\s+(\d+)",
    "tps": r"transactions:\s+\d+\s+\(([\d.]+) per sec",
    "queries": r"queries:\s+(\d+)",
    "qps": r"queries:\s+\d+\s+\(([\d.]+) per sec",
    "reads": r"read:\s+(\d+)",
    "writes": r"write:\s+(\d+)",
    "other": r"other:\s+(\d+)",
    "ignored_errors": r"ignored errors:\s+(\d+)",
    "reconnects": r"reconnects:\s+(\d+)",
    "total_time_s": r"total time:\s+([\d.]+)s",
    "events": r"total number of events:\s+(\d+)",
    "latency_min_ms": r"(?s)Latency \(ms\):.*?min:\s+([\d.]+)",
    "latency_max_ms": r"(?s)Latency \(ms\):.*?max:\s+([\d.]+)",
    "latency_sum_ms": r"(?s)Latency \(ms\):.*?sum:\s+([\d.]+)",
}
# The 95th, or the one that `--percentile` asks for; the 100th is the maximum.
_PERCENTILE = re.compile(r"^ +(\d\d?)th percentile: +([\d.]+)$", re.MULTILINE)
# The last line of the report: without it, the figure before may be cut in its middle.
_END = r"execution time \(avg/stddev\):\s+([\d.]+)/\d"
_UNITS = {"tps": "1/s", "qps": "1/s", "total_time_s": "s"}


@dataclass(frozen=True)
class IntervalLine:
    """One line of `--report-interval`: rates over the seconds before `t`, `t` in seconds since the load began."""

    t: int
    threads: int
    tps: float
    qps: float
    read: float
    write: float
    other: float
    latency_ms: float
    errors: float
    reconnects: float


@dataclass(frozen=True)
class Output:
    """A whole run. `histogram` holds (upper bound in ms, count); sysbench's buckets are 1.8% wide.

    `queues`: second -> transactions that waited for a thread then; of an open loop alone.
    """

    threads: int
    rate: int
    summary: dict[str, float]
    intervals: list[IntervalLine]
    histogram: list[tuple[float, int]]
    queues: Mapping[int, int] = field(default_factory=dict)


def parse_interval(line: str) -> IntervalLine | None:
    """An interval line, or None for any other line."""
    match = _INTERVAL.match(line.rstrip())
    if not match:
        return None
    f = match.groupdict()
    return IntervalLine(
        int(f["t"]),
        int(f["threads"]),
        float(f["tps"]),
        float(f["qps"]),
        float(f["read"]),
        float(f["write"]),
        float(f["other"]),
        float(f["latency"]),
        float(f["errors"]),
        float(f["reconnects"]),
    )


def failure(text: str) -> str | None:
    """What sysbench itself calls fatal, each message once, cut where it goes on; None if it calls nothing so."""
    said = list(dict.fromkeys(cut(line.strip()) for line in _FATAL.findall(text)))
    return "; ".join(said[:4]) if said else None


def unit(name: str) -> str:
    """The unit of a figure of the summary."""
    return _UNITS.get(name, "ms" if name.endswith("_ms") else "1")


def parse(text: str) -> Output:
    """A whole run's output; where another percentile is printed, `p95_ms` beside it is read off the histogram.

    Raises WorkloadFailed when sysbench says that it failed, OutputNotParseable when something that a whole run prints
    is missing (a killed run stops in mid-output) or when nothing was done.
    """
    said = failure(text)
    if said:
        raise WorkloadFailed(f"sysbench: {said}")
    threads = _required(text, "number of threads", r"Number of threads:\s+(\d+)")
    summary = {name: _required(text, name, pattern) for name, pattern in _SUMMARY.items()}
    _required(text, "end", _END)
    if summary["events"] == 0:
        raise OutputNotParseable("sysbench reports 0 events: no transaction ended within the time")
    buckets = _histogram(text)
    if sum(count for _, count in buckets) == 0:
        raise OutputNotParseable("sysbench's output has no latency histogram")
    # It prints the mean with two decimals, which of 0.065 ms are 8% more.
    summary["latency_mean_ms"] = summary["latency_sum_ms"] / summary["events"]
    summary |= {f"p{percent}_ms": float(ms) for percent, ms in _PERCENTILE.findall(text)}
    if "p95_ms" not in summary:
        summary["p95_ms"] = float(percentile(buckets, 95, beyond=0).value or 0)
    return replace(so_far(text), threads=int(threads), summary=summary, histogram=buckets)


def so_far(text: str) -> Output:
    """What a run has printed while it ran, whether or not it came to its closing report: there is no summary."""
    intervals = [seen for seen in map(parse_interval, text.splitlines()) if seen]
    rate = re.search(r"Target transaction rate:\s+(\d+)", text)
    queues = {int(seen["t"]): int(seen["queue"]) for seen in map(_QUEUE.match, text.splitlines()) if seen}
    threads = intervals[-1].threads if intervals else 0
    return Output(threads, int(rate.group(1)) if rate else 0, {}, intervals, [], queues)


def _required(text: str, name: str, pattern: str) -> float:
    match = re.search(pattern, text)
    if not match:
        tail = " | ".join(text.strip().splitlines()[-3:]) or "nothing"
        raise OutputNotParseable(f"sysbench's output has no {name}: it ends with: {tail}")
    return float(match.group(1))


def _histogram(text: str) -> list[tuple[float, int]]:
    _, found, rest = text.partition("Latency histogram")
    matches = [_BUCKET.match(line) for line in rest.partition("SQL statistics")[0].splitlines()] if found else []
    return [(float(m["upper"]), int(m["count"])) for m in matches if m]
