"""What a sysbench run leaves: its stream of rates while it runs, how it ended, and its figures for the record."""

from __future__ import annotations

import pandas as pd

from benchbook.campaign.record import Quantity
from benchbook.hosts.jobs import Ended
from benchbook.probes import samples
from benchbook.workloads import generator, sysbench_output


def rate_in(line: str) -> tuple[float, float] | None:
    """Second and tps of an interval line; None for any other line."""
    seen = sysbench_output.parse_interval(line)
    return (float(seen.t), seen.tps) if seen else None


def check_end(ended: Ended, text: str, name: str = "sysbench") -> None:
    """Raises WorkloadFailed unless sysbench ended by itself with status 0 and says nothing is fatal.

    A prepare with two threads or more ends with status 0 although it could not connect: seen of sysbench 1.0.20
    (tests/fixtures/sysbench/prepare_cannot_connect.txt).
    """
    generator.check_end(ended, text, name, sysbench_output.failure)


def summarise(output: sysbench_output.Output) -> dict[str, Quantity]:
    """Every figure of the closing report with its unit."""
    return {name: Quantity(value=value, unit=sysbench_output.unit(name)) for name, value in output.summary.items()}


def interval_series(output: sysbench_output.Output, ended: Ended, client: str) -> pd.DataFrame:
    """The 1-s intervals as rows of the long table. The load ends when sysbench does, so t is counted from there."""
    begin = ended.ended - output.summary["total_time_s"]
    units = {"tps": "1/s", "qps": "1/s", "latency_ms": "ms", "errors": "1/s", "reconnects": "1/s", "threads": "threads"}
    rows = [
        (begin + i.t, client, "sysbench", name, float(getattr(i, name)), unit)
        for i in output.intervals
        for name, unit in units.items()
    ]
    rows += [(begin + t, client, "sysbench", "queue_length", float(n), "1") for t, n in output.queues.items()]
    return pd.DataFrame(rows, columns=samples.COLUMNS) if rows else samples.empty()
