"""What sysbench 1.0 and 1.1 print: the output of one client, or of several that drove one load, as figures and series.

A run that did not end well, or whose output is cut, is a named failure and never a zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from benchbook.campaign.record import Quantity
from benchbook.errors import OutputNotParseable, WorkloadFailed
from benchbook.hosts.about import Json
from benchbook.hosts.agent import Ended
from benchbook.probes import samples
from benchbook.stats.latency import merge_histograms, percentile
from benchbook.workloads.base import Outcome, Ran, check_end, most_frequent

# sysbench's histogram ends here, and what took longer is counted in its last bucket: a percentile that reads so is a
# lower bound.
LONGEST_MS = 100_000.0
# The host and the source in the series of what belongs to all clients, and to one of several.
ALL, ONE_OF_SEVERAL = "all clients", "sysbench of a client"
# A record of a load whose queue was full says under this key after how many seconds the load had ended.
QUEUE_FULL_AFTER_S = "queue_full_after_s"

_INTERVAL = re.compile(
    r"^\[ *(?P<t>\d+)(?:\.\d+)?s \] thds: (?P<threads>\d+) tps: (?P<tps>[\d.]+) qps: (?P<qps>[\d.]+) "
    r"\(r/w/o: (?P<read>[\d.]+)/(?P<write>[\d.]+)/(?P<other>[\d.]+)\) "
    r"lat \(ms,\d+%\): (?P<latency_ms>[\d.]+) err/s: (?P<errors>[\d.]+) reconn/s: (?P<reconnects>[\d.]+)$"
)
_QUEUE = re.compile(r"^\[ *(?P<t>\d+)(?:\.\d+)?s \] queue length: (?P<queue>\d+), concurrency: \d+$")
_BUCKET = re.compile(r"^\s*(?P<upper>[\d.]+) \|[* ]*\s(?P<count>\d+)\s*$")
_FATAL = re.compile(r"^(?:FATAL|Error): .*|^PANIC: .*", re.MULTILINE)
_QUEUE_FULL = "The event queue is full"
# 0.5 and before (`--test=FILE`): "threads: 8, tps: 1.00, reads: 2.00, ..., response time: 70.55ms (95%)".
_OLD = re.compile(r"^ *approx\. +\d+ percentile:|, response time: [\d.]+ms|^sysbench 0\.\d", re.MULTILINE)

# Where each figure of the closing report stands; (?s) because a section spans lines. Of the whole time, 1.0 prints
# "total time" and 1.1 "time elapsed".
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
    "total_time_s": r"(?:total time|time elapsed):\s+([\d.]+)s",
    "events": r"total number of events:\s+(\d+)",
    "latency_min_ms": r"(?s)Latency \(ms\):.*?min:\s+([\d.]+)",
    "latency_max_ms": r"(?s)Latency \(ms\):.*?max:\s+([\d.]+)",
    "latency_sum_ms": r"(?s)Latency \(ms\):.*?sum:\s+([\d.]+)",
}
_SUMMED = ("transactions", "tps", "queries", "qps", "reads", "writes", "other", "ignored_errors", "reconnects",
           "events", "latency_sum_ms")  # fmt: skip
# The 95th, or the one that `--percentile` asks for; the 100th is the maximum.
_PERCENTILE = re.compile(r"^ +(\d\d?)th percentile: +([\d.]+)$", re.MULTILINE)
# The last line of the report: without it, the figure before may be cut in its middle.
_END = r"execution time \(avg/stddev\):\s+([\d.]+)/\d"
_UNITS = {"tps": "1/s", "qps": "1/s", "total_time_s": "s"}
_SERIES = {"tps": "1/s", "qps": "1/s", "latency_ms": "ms", "errors": "1/s", "reconnects": "1/s", "threads": "threads"}


@dataclass(frozen=True)
class IntervalLine:
    """One line of `--report-interval`: rates (1/s) over the seconds before `t`, seconds since the load began."""

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


# -- one client -----------------------------------------------------------------------------------------------------


def parse_interval(line: str) -> IntervalLine | None:
    """Return an interval line, or None for any other line."""
    match = _INTERVAL.match(line.rstrip())
    if not match:
        return None
    rates = {name: float(value) for name, value in match.groupdict().items() if name not in ("t", "threads")}
    return IntervalLine(t=int(match["t"]), threads=int(match["threads"]), **rates)


def rate_in(line: str) -> tuple[float, float] | None:
    """Return second and tps of an interval line; None for any other line."""
    interval = parse_interval(line)
    return (float(interval.t), interval.tps) if interval else None


def failure(text: str) -> str | None:
    """Return what sysbench itself calls fatal, the most frequent first, cut where it goes on; None if nothing is."""
    return most_frequent(line.strip() for line in _FATAL.findall(text)) or None


def check_ended(ended: Ended, text: str, name: str = "sysbench") -> None:
    """Raise WorkloadFailed unless sysbench ended by itself with status 0 and calls nothing fatal.

    A prepare with two threads or more ends with status 0 although it could not connect: seen of sysbench 1.0.20
    (tests/fixtures/sysbench/prepare_cannot_connect.txt).
    """
    check_end(ended, text, name, failure)


def parse(text: str) -> Output:
    """Return a whole run's output; where another percentile is printed, `p95_ms` beside it is read off the histogram.

    Raises WorkloadFailed when sysbench says that it failed or did not one transaction, OutputNotParseable when
    something that a whole run prints is missing (a killed run stops in mid-output).
    """
    if problem := failure(text):
        raise WorkloadFailed(f"sysbench: {problem}")
    if _OLD.search(text):
        raise OutputNotParseable("this is the output of sysbench 0.5 or older, which has no histogram: use 1.0 or 1.1")
    threads = _required(text, "number of threads", r"Number of threads:\s+(\d+)")
    summary = {name: _required(text, name, pattern) for name, pattern in _SUMMARY.items()}
    _required(text, "end", _END)
    if summary["events"] == 0:
        raise WorkloadFailed(_nothing_done(summary))
    buckets = _histogram(text)
    if sum(count for _, count in buckets) == 0:
        raise OutputNotParseable("sysbench's output has no latency histogram")
    # It prints the mean with two decimals, which of 0.065 ms are 8% more.
    summary["latency_mean_ms"] = summary["latency_sum_ms"] / summary["events"]
    summary |= {f"p{percent}_ms": float(ms) for percent, ms in _PERCENTILE.findall(text)}
    if "p95_ms" not in summary:
        summary["p95_ms"] = float(percentile(buckets, 95, beyond=0).value or 0)
    return replace(_while_running(text), threads=int(threads), summary=summary, histogram=buckets)


def _nothing_done(summary: Mapping[str, float]) -> str:
    ignored, again = summary["ignored_errors"], summary["reconnects"]
    if ignored or again:
        return (
            f"sysbench: {ignored:,.0f} errors were ignored and {again:,.0f} connections made again, and not one "
            "transaction was done: take `mysql-ignore-errors` out of the options to see the error"
        )
    return f"sysbench: not one transaction ended within {summary['total_time_s']:g} s, and it tells of no error"


def _while_running(text: str) -> Output:
    """Return what a run has printed while it ran, whether or not it came to its closing report: without summary."""
    lines = text.splitlines()
    intervals = [interval for interval in map(parse_interval, lines) if interval]
    rate = re.search(r"Target transaction rate:\s+(\d+)", text)
    queues = {int(found["t"]): int(found["queue"]) for found in map(_QUEUE.match, lines) if found}
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


# -- several clients ------------------------------------------------------------------------------------------------


def outcome(ran: Sequence[Ran]) -> Outcome:
    """Return the outcome of a load that one or several clients have driven together. Raises as `parse`."""
    outputs = [parse(each.text) for each in ran]
    whole = merged(outputs)
    return Outcome(quantities(whole), load_series(ran, outputs, whole), whole.histogram, clients_proof(ran, outputs))


def queue_full(ran: Sequence[Ran]) -> Outcome | None:
    """Return the rates of a load until the queue of a client was full; None where that is not what ended it.

    Transactions wait for a thread in a queue of 100,000. When it is full, sysbench 1.0.20 ends with status 1 and no
    closing report (tests/fixtures/sysbench/queue_full.txt). There is no latency in what it had printed until then: the
    transactions that waited longest were never answered.
    """

    def is_full(each: Ran) -> bool:
        problem = failure(each.text + each.complaint) or ""
        return each.ended.reason == "exited" and _QUEUE_FULL in problem and ";" not in problem

    if not all(is_full(each) or each.ended.reason == "stopped" for each in ran) or not any(map(is_full, ran)):
        return None
    outputs = [_with_means(_while_running(each.text)) for each in ran]
    intervals = _merged_intervals(outputs)
    if not intervals:
        return None
    threads, rate = sum(each.threads for each in outputs), sum(each.rate for each in outputs)
    whole = _with_means(Output(threads, rate, {}, intervals, [], _merged_queues(outputs)))
    proof = {**clients_proof(ran, outputs), QUEUE_FULL_AFTER_S: whole.summary["total_time_s"]}
    return Outcome(quantities(whole), load_series(ran, outputs, whole), [], proof)


def _with_means(output: Output) -> Output:
    lines = output.intervals
    means = {name: sum(getattr(line, name) for line in lines) / max(1, len(lines)) for name in ("tps", "qps")}
    return replace(output, summary={**means, "total_time_s": float(lines[-1].t if lines else 0)})


def merged(outputs: Sequence[Output]) -> Output:
    """Return the outputs of clients that drove one load together, as that of one.

    Counts and rates are added; the time is the longest; the mean latency is that of all events, and percentiles are
    read off the added histograms (those of clients cannot be averaged). Of a second's p95, which comes without a
    histogram, the highest is kept: what all clients together would have seen is not above it.
    """
    if len(outputs) == 1:
        return outputs[0]
    histogram = merge_histograms(output.histogram for output in outputs)

    def of_all(combine: Callable[[list[float]], float], name: str) -> float:
        return combine([output.summary[name] for output in outputs])

    summary = {name: of_all(sum, name) for name in _SUMMED}
    percentiles = [name for name in outputs[0].summary if re.fullmatch(r"p\d+_ms", name)]
    summary |= {
        "total_time_s": of_all(max, "total_time_s"),
        "latency_min_ms": of_all(min, "latency_min_ms"),
        "latency_mean_ms": summary["latency_sum_ms"] / summary["events"],
        "latency_max_ms": of_all(max, "latency_max_ms"),
        **{name: float(percentile(histogram, float(name[1:-3]), beyond=0).value or 0) for name in percentiles},
    }
    threads, rate = sum(output.threads for output in outputs), sum(output.rate for output in outputs)
    return Output(threads, rate, summary, _merged_intervals(outputs), histogram, _merged_queues(outputs))


def _merged_intervals(outputs: Sequence[Output]) -> list[IntervalLine]:
    by_second = [{interval.t: interval for interval in output.intervals} for output in outputs]
    return [_added([part[t] for part in by_second]) for t in _in_all(by_second)]


def _added(lines: Sequence[IntervalLine]) -> IntervalLine:
    rates = ("threads", "tps", "qps", "read", "write", "other", "errors", "reconnects")
    total = {name: sum(getattr(line, name) for line in lines) for name in rates}
    return IntervalLine(t=lines[0].t, latency_ms=max(line.latency_ms for line in lines), **total)


def _merged_queues(outputs: Sequence[Output]) -> dict[int, int]:
    queues = [output.queues for output in outputs]
    return {t: sum(queue[t] for queue in queues) for t in _in_all(queues)}


def _in_all(parts: Sequence[Mapping[int, object]]) -> list[int]:
    return sorted(set.intersection(*(set(part) for part in parts)))


# -- for the record -------------------------------------------------------------------------------------------------


def quantities(output: Output) -> dict[str, Quantity]:
    units = {name: _UNITS.get(name, "ms" if name.endswith("_ms") else "1") for name in output.summary}
    return {name: Quantity(value=value, unit=units[name]) for name, value in output.summary.items()}


def interval_series(output: Output, ended: Ended, client: str, source: str = "sysbench") -> pd.DataFrame:
    """Return the 1-s intervals as rows of the long table. The load ends when sysbench does: t is counted from there."""
    begin = ended.ended - output.summary["total_time_s"]
    rows = [
        (begin + line.t, client, source, name, float(getattr(line, name)), unit)
        for line in output.intervals
        for name, unit in _SERIES.items()
    ]
    rows += [(begin + t, client, source, "queue_length", float(n), "1") for t, n in output.queues.items()]
    return pd.DataFrame(rows, columns=samples.COLUMNS) if rows else samples.empty()


def load_series(ran: Sequence[Ran], outputs: Sequence[Output], whole: Output) -> pd.DataFrame:
    """Return the load as source `sysbench`; of several clients each has rows of its own as well."""
    if len(ran) == 1:
        return interval_series(whole, ran[0].ended, ran[0].client)
    last = max((each.ended for each in ran), key=lambda ended: ended.ended)
    of_clients = [interval_series(o, r.ended, r.client, ONE_OF_SEVERAL) for r, o in zip(ran, outputs, strict=True)]
    return pd.concat([interval_series(whole, last, ALL), *of_clients], ignore_index=True)


def clients_proof(ran: Sequence[Ran], outputs: Sequence[Output]) -> Json:
    """Return each of several clients; `apart_s`: how far apart they began, by their own clocks."""
    if len(ran) == 1:
        return {}
    begun = [r.ended.ended - o.summary["total_time_s"] for r, o in zip(ran, outputs, strict=True)]
    clients = {r.client: {"threads": o.threads, "tps": o.summary["tps"]} for r, o in zip(ran, outputs, strict=True)}
    return {"clients": clients, "apart_s": max(begun) - min(begun)}
