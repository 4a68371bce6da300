"""A load of sysbench that was offered more than the server takes: its queue was full, and it gave up in mid-load.

Its worker threads take transactions out of a queue of 100,000. When that is full, sysbench 1.0.20 says so and ends
with status 1, without a closing report (tests/fixtures/sysbench/queue_full.txt): what is known is what it had printed
until then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchbook.workloads import sysbench_output
from benchbook.workloads.generator import Outcome, Ran
from benchbook.workloads.merging import lines_together, proof_of, queues_together, series_of
from benchbook.workloads.sysbench_output import Output
from benchbook.workloads.sysbench_stream import summarise

_FULL = "The event queue is full"
# A record says under this key that its load was one of these, and after how many seconds it had ended.
ENDED_S = "queue_full_after_s"


def outcome(ran: Sequence[Ran]) -> Outcome | None:
    """Its rates until the queue of a client was full; None where something else has ended it, or nothing has.

    There is no latency in it: the transactions that waited longest were never answered.
    """
    if not all(_is_full(each) or each.ended.reason == "stopped" for each in ran) or not any(map(_is_full, ran)):
        return None
    outputs = [_summed_up(sysbench_output.so_far(each.text)) for each in ran]
    lines = lines_together(outputs)
    if not lines:
        return None
    threads, rate = sum(each.threads for each in outputs), sum(each.rate for each in outputs)
    whole = _summed_up(Output(threads, rate, {}, lines, [], queues_together(outputs)))
    proof = {**proof_of(ran, outputs), ENDED_S: whole.summary["total_time_s"]}
    return Outcome(summarise(whole), series_of(ran, outputs, whole), [], proof)


def _is_full(ran: Ran) -> bool:
    """Whether that is all that it calls fatal."""
    said = sysbench_output.failure(ran.text + ran.complaint) or ""
    return ran.ended.reason == "exited" and _FULL in said and ";" not in said


def _summed_up(output: Output) -> Output:
    """With what its lines say of the whole: each of them is about a second."""
    lines = output.intervals
    means = {name: sum(getattr(line, name) for line in lines) / max(1, len(lines)) for name in ("tps", "qps")}
    return replace(output, summary={**means, "total_time_s": float(lines[-1].t if lines else 0)})
