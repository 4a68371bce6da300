"""What a sysbench run leaves: its stream of rates while it runs, how it ended, and its figures for the record."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from benchbook.campaign.record import Quantity
from benchbook.errors import WorkloadFailed
from benchbook.hosts.jobs import Ended
from benchbook.probes import samples
from benchbook.workloads import sysbench_output


class IntervalReader:
    """Cuts the stream into lines and passes each interval's rate on."""

    def __init__(self, on_rate: Callable[[float, float], None]) -> None:
        self._on_rate, self._rest = on_rate, ""
        self._parts: list[str] = []

    def __call__(self, data: bytes) -> None:
        text = data.decode(errors="replace")
        self._parts.append(text)
        *lines, self._rest = (self._rest + text).split("\n")
        for seen in filter(None, map(sysbench_output.parse_interval, lines)):
            self._on_rate(float(seen.t), seen.tps)

    @property
    def text(self) -> str:
        return "".join(self._parts)


def check_end(ended: Ended, text: str, name: str = "sysbench") -> None:
    """Raises WorkloadFailed unless the program ended by itself with status 0; its output goes along."""
    if ended.reason == "exited" and ended.exit == 0:
        return
    said = sysbench_output.failure(text)
    how = {
        "lease": "ended by its host: the driver was away",
        "timeout": "ended: it took too long",
        "stopped": "stopped from outside",
    }.get(ended.reason) or (f"killed by signal {ended.signal}" if ended.signal else f"ended with status {ended.exit}")
    raise WorkloadFailed(f"{name} {how}{': ' + said if said else ''}", output=text)


def summarise(output: sysbench_output.Output) -> dict[str, Quantity]:
    """Every figure of the closing report with its unit."""
    return {
        name: Quantity(value=value, unit=sysbench_output.UNITS.get(name, "1")) for name, value in output.summary.items()
    }


def interval_series(output: sysbench_output.Output, ended: Ended, client: str) -> pd.DataFrame:
    """The 1-s intervals as rows of the long table. The load ends when sysbench does, so t is counted from there."""
    begin = ended.ended - output.summary["total_time_s"]
    units = {"tps": "1/s", "qps": "1/s", "latency_ms": "ms", "errors": "1/s", "reconnects": "1/s", "threads": "threads"}
    rows = [
        (begin + i.t, client, "sysbench", name, float(getattr(i, name)), unit)
        for i in output.intervals
        for name, unit in units.items()
    ]
    return pd.DataFrame(rows, columns=samples.COLUMNS) if rows else samples.empty()
