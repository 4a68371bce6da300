"""The outputs of several clients that drove one load together, made one; of a single client, its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from benchbook.hosts.about import Json
from benchbook.stats.latency import merge_histograms, percentile
from benchbook.workloads.generator import Ran
from benchbook.workloads.sysbench_output import IntervalLine, Output
from benchbook.workloads.sysbench_stream import interval_series

# The host and the source in the series of what belongs to all clients, and to one of several.
ALL, ONE_OF_SEVERAL = "all clients", "sysbench of a client"
_SUMMED = (
    "transactions",
    "tps",
    "queries",
    "qps",
    "reads",
    "writes",
    "other",
    "ignored_errors",
    "reconnects",
    "events",
    "latency_sum_ms",
)


def merged(outputs: Sequence[Output]) -> Output:
    """The outputs of clients that drove one load together, as that of one.

    Counts and rates are added; the time is the longest; the mean latency is that of all events, and percentiles are
    read off the added histograms (those of clients cannot be averaged). Of a second's p95, which comes without a
    histogram, the highest is kept: what all clients together would have seen is not above it.
    """
    if len(outputs) == 1:
        return outputs[0]
    parts = [output.summary for output in outputs]
    histogram = merge_histograms(output.histogram for output in outputs)
    summary = {name: sum(part[name] for part in parts) for name in _SUMMED}
    percentiles = [name for name in parts[0] if name.startswith("p") and name.endswith("_ms")]
    summary |= {
        "total_time_s": max(part["total_time_s"] for part in parts),
        "latency_min_ms": min(part["latency_min_ms"] for part in parts),
        "latency_mean_ms": summary["latency_sum_ms"] / summary["events"],
        "latency_max_ms": max(part["latency_max_ms"] for part in parts),
        **{name: float(percentile(histogram, float(name[1:-3]), beyond=0).value or 0) for name in percentiles},
    }
    return Output(
        sum(output.threads for output in outputs),
        sum(output.rate for output in outputs),
        summary,
        lines_together(outputs),
        histogram,
        queues_together(outputs),
    )


def queues_together(outputs: Sequence[Output]) -> dict[int, int]:
    """The queues of all clients, in the seconds that every one has told of."""
    queues = [output.queues for output in outputs]
    return {t: sum(queue[t] for queue in queues) for t in _in_all(queues)}


def lines_together(outputs: Sequence[Output]) -> list[IntervalLine]:
    """The seconds that every client has told of."""
    by_second = [{interval.t: interval for interval in output.intervals} for output in outputs]
    return [_added([part[t] for part in by_second]) for t in _in_all(by_second)]


def _in_all(parts: Sequence[Mapping[int, object]]) -> list[int]:
    return sorted(set.intersection(*(set(part) for part in parts)))


def _added(seconds: Sequence[IntervalLine]) -> IntervalLine:
    total = {
        name: sum(getattr(each, name) for each in seconds)
        for name in ("threads", "tps", "qps", "read", "write", "other", "errors", "reconnects")
    }
    return IntervalLine(t=seconds[0].t, latency_ms=max(each.latency_ms for each in seconds), **total)


def series_of(ran: Sequence[Ran], outputs: Sequence[Output], whole: Output) -> pd.DataFrame:
    """Rows of the long table: source `sysbench` is the load; of several clients each has rows of its own as well."""
    if len(ran) == 1:
        return interval_series(whole, ran[0].ended, ran[0].client)
    last = max((each.ended for each in ran), key=lambda ended: ended.ended)
    each = [
        interval_series(o, r.ended, r.client).assign(source=ONE_OF_SEVERAL) for r, o in zip(ran, outputs, strict=True)
    ]
    return pd.concat([interval_series(whole, last, ALL), *each], ignore_index=True)


def proof_of(ran: Sequence[Ran], outputs: Sequence[Output]) -> Json:
    """What the record keeps of each of several clients; `apart_s`: how far apart they began, by their own clocks."""
    if len(ran) == 1:
        return {}
    begun = [r.ended.ended - o.summary["total_time_s"] for r, o in zip(ran, outputs, strict=True)]
    clients = {r.client: {"threads": o.threads, "tps": o.summary["tps"]} for r, o in zip(ran, outputs, strict=True)}
    return {"clients": clients, "apart_s": max(begun) - min(begun)}
