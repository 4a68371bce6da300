"""What sysbench 1.0 and 1.1 print: the output of one client, or of several that drove one load, as figures and series.

A run that did not end well, or whose output is cut, is a named failure and never a zero.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from benchbook.analysis.checks import Check
from benchbook.campaign.record import Record
from benchbook.errors import OutputNotParseable, WorkloadFailed
from benchbook.hosts.agent import Ended
from benchbook.hosts.host_models import Json
from benchbook.stats.latency import merge_histograms, named_percentiles
from benchbook.workloads import generator_output
from benchbook.workloads.base import Outcome, Ran
from benchbook.workloads.generator_output import Seconds, quantities
from benchbook.workloads.printed_load import series

# sysbench's histogram ends here, and what took longer is counted in its last bucket: a percentile that reads so is a
# lower bound.
LONGEST_MS = 100_000.0
# The host and the source in the series of what belongs to all clients, and to one of several.
ALL, ONE_OF_SEVERAL = "all clients", "sysbench of a client"
# A record of a load whose queue was full says under this key after how many seconds the load had ended.
QUEUE_FULL_AFTER_S = "queue_full_after_s"

_QUEUE_FULL = "The event queue is full"
# 0.5 and before (`--test=FILE`): "threads: 8, tps: 1.00, reads: 2.00, ..., response time: 70.55ms (95%)".
_OLD = re.compile(r"^ *approx\. +\d+ percentile:|, response time: [\d.]+ms|^sysbench 0\.\d", re.MULTILINE)

_SUMMED = ("transactions", "tps", "queries", "qps", "reads", "writes", "other", "ignored_errors", "reconnects",
           "events", "latency_sum_ms")  # fmt: skip
_TIMES = ("total_time_s", "latency_min_ms", "latency_max_ms")
# Of clients together these are the highest; all others are sums.
_HIGHEST = ("latency_ms",)
# Read off the histogram where sysbench does not print them; p999_ms would be 99.9%.
_PERCENTILES = ("p95_ms",)


@dataclass(frozen=True)
class Output:
    """A whole run. `histogram` holds (upper bound in ms, count); sysbench's buckets are 1.8% wide.

    `seconds` are the lines of `--report-interval`, and of an open loop how many transactions waited for a thread then.
    """

    threads: int
    summary: dict[str, float]
    seconds: Seconds
    histogram: list[tuple[float, int]]


# -- one client -----------------------------------------------------------------------------------------------------


def parse(text: str) -> Output:
    """Return a whole run's output, with `_PERCENTILES` off its histogram beside the percentile that it prints.

    Raise WorkloadFailed when sysbench says that it failed or did not one transaction, OutputNotParseable when
    something that a whole run prints is missing (a killed run stops in mid-output).
    """
    if _OLD.search(text):
        raise OutputNotParseable("this is the output of sysbench 0.5 or older, which has no histogram: use 1.0 or 1.1")
    if "Checkpoint report:" in text:
        said = "sysbench's --report-checkpoints sets its counters to 0, so that its last report is of a part of the run"
        raise OutputNotParseable(f"{said}: leave report-checkpoints out")
    found = generator_output.run_of("sysbench", text, "threads", *_SUMMED, *_TIMES)
    summary = {name: quantity.value for name, quantity in found.figures.items()}
    if found.problem:
        hint = ": take `mysql-ignore-errors` out of the options to see the error" if summary["ignored_errors"] else ""
        raise WorkloadFailed(f"{found.problem}{hint}")
    buckets = found.histogram
    if not buckets:
        raise OutputNotParseable("sysbench's output has no latency histogram")
    # It prints the mean with two decimals, which of 0.065 ms are 8% more.
    summary["latency_mean_ms"] = summary["latency_sum_ms"] / summary["events"]
    summary = {**named_percentiles(buckets, _PERCENTILES), **summary}
    return Output(int(found.levels["threads"]), summary, found.seconds, buckets)


# -- several clients ------------------------------------------------------------------------------------------------


def outcome(ran: Sequence[Ran]) -> Outcome:
    """Return the outcome of a load that one or several clients have driven together. Raise as `parse`."""
    outputs = [parse(each.text) for each in ran]
    whole = merged(outputs)
    series_of_all, proof = load_series(ran, outputs, whole), clients_proof(ran, outputs)
    return Outcome(quantities(whole.summary), series_of_all, whole.histogram, proof)


def queue_full(ran: Sequence[Ran]) -> Outcome | None:
    """Return the rates of a load until the queue of a client was full; None where that is not what ended it.

    Transactions wait for a thread in a queue of 100,000. When it is full, sysbench 1.0.20 ends with status 1 and no
    closing report (tests/fixtures/sysbench/queue_full.txt). There is no latency in what it had printed until then: the
    transactions that waited longest were never answered.
    """

    def is_full(each: Ran) -> bool:
        problem = generator_output.failure("sysbench", each.text + each.complaint) or ""
        return each.ended.reason == "exited" and _QUEUE_FULL in problem and ";" not in problem

    if not all(is_full(each) or each.ended.reason == "stopped" for each in ran) or not any(map(is_full, ran)):
        return None
    outputs = [_while_running(each.text) for each in ran]
    seconds = _merged_seconds([output.seconds for output in outputs])
    if not any("tps" in figures for _, figures in seconds):
        return None
    whole = Output(sum(each.threads for each in outputs), _means(seconds), seconds, [])
    proof = {**clients_proof(ran, outputs), QUEUE_FULL_AFTER_S: whole.summary["total_time_s"]}
    return Outcome(quantities(whole.summary), load_series(ran, outputs, whole), [], proof)


def _while_running(text: str) -> Output:
    """Return what a run has printed while it ran, without a closing report."""
    said = generator_output.begun("sysbench", text)
    threads = [figures["threads"] for _, figures in said.seconds if "threads" in figures]
    return Output(int(threads[-1]) if threads else 0, _means(said.seconds), said.seconds, [])


def _means(seconds: Seconds) -> dict[str, float]:
    lines = [(t, figures) for t, figures in seconds if "tps" in figures]
    means = {name: sum(figures[name] for _, figures in lines) / max(1, len(lines)) for name in ("tps", "qps")}
    return {**means, "total_time_s": lines[-1][0] if lines else 0.0}


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
    summary |= {
        "total_time_s": of_all(max, "total_time_s"),
        "latency_min_ms": of_all(min, "latency_min_ms"),
        "latency_mean_ms": summary["latency_sum_ms"] / summary["events"],
        "latency_max_ms": of_all(max, "latency_max_ms"),
        **named_percentiles(histogram, outputs[0].summary),
    }
    threads, seconds = sum(each.threads for each in outputs), _merged_seconds([each.seconds for each in outputs])
    return Output(threads, summary, seconds, histogram)


def _merged_seconds(parts: Sequence[Seconds]) -> Seconds:
    """Return the seconds that every client tells of, figure by figure."""
    told = [{(t, name): value for t, figures in part for name, value in figures.items()} for part in parts]
    merged: dict[float, dict[str, float]] = {}
    for t, name in sorted(set.intersection(*map(set, told))):
        merged.setdefault(t, {})[name] = (max if name in _HIGHEST else sum)(part[t, name] for part in told)
    return list(merged.items())


# -- for the record -------------------------------------------------------------------------------------------------


def latency_range(record: Record) -> list[Check]:
    """Return a failed check where a percentile is the end of sysbench's histogram: it took this long or longer."""
    capped = [name for name, each in record.summary.items() if name[0] == "p" and each.value >= LONGEST_MS]
    beyond = f"{', '.join(capped)}: 100 s is where sysbench's histogram ends, so that it took this long or longer"
    return [Check(record.id, "latency range", False, beyond)] if capped else []


def interval_series(output: Output, ended: Ended, client: str, source: str = "sysbench") -> pd.DataFrame:
    """Return the 1-s intervals as rows of the long table. The load ends when sysbench does: t is counted from there."""
    begin = ended.ended - output.summary["total_time_s"]
    return series("sysbench", output.seconds, client, source, begin=begin)


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
