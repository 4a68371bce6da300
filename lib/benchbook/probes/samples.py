"""Samples as probes write them -> the long table of a record: t, host, source, metric, value, unit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

COLUMNS = ["t", "host", "source", "metric", "value", "unit"]

# What is a level and not a counter; every other sampled value only ever grows and is turned into a rate.
_LEVELS = {
    "load.1min": "1",
    "procs_running": "tasks",
    "procs_blocked": "tasks",
    "memory.total": "B",
    "memory.available": "B",
    "memory.cached": "B",
    "memory.dirty": "B",
    "answer_ms": "ms",
    "Threads_running": "threads",
    "Threads_connected": "threads",
}


def empty() -> pd.DataFrame:
    """The long table without a row."""
    kinds = {"t": "float64", "value": "float64"}
    return pd.DataFrame({name: pd.Series(dtype=kinds.get(name, "object")) for name in COLUMNS})


def to_series(samples: Sequence[dict[str, Any]], host: str, source: str) -> pd.DataFrame:
    """Samples `{"t": s, "v": {name: number}}` as the long table; counters become rates per second.

    A rate stands at the end of its interval. A counter that falls was reset: that interval is left out. A sample
    with an error ends the interval before it, so that no rate is drawn across a gap.
    """
    rows: list[tuple[float, str, float, str]] = []
    before: dict[str, Any] | None = None
    for sample in samples:
        if "v" not in sample:
            before = None
            continue
        rows += _levels(sample)
        rows += _rates(before, sample) if before else []
        before = sample
    frame = pd.DataFrame(rows, columns=["t", "metric", "value", "unit"])
    return frame.assign(host=host, source=source)[COLUMNS] if rows else empty()


def _levels(sample: dict[str, Any]) -> list[tuple[float, str, float, str]]:
    return [(sample["t"], name, float(v), unit) for name, v in sample["v"].items() if (unit := _level_unit(name))]


def _level_unit(name: str) -> str | None:
    """The unit of a level; None for a counter. Resident memory is named after the processes that hold it."""
    return "B" if name.startswith("rss.") else _LEVELS.get(name)


def _rates(before: dict[str, Any], sample: dict[str, Any]) -> list[tuple[float, str, float, str]]:
    seconds = sample["t"] - before["t"]
    grown = [
        (name, value - before["v"][name])
        for name, value in sample["v"].items()
        if _level_unit(name) is None and name in before["v"]
    ]
    return [(sample["t"], name, d / seconds, _rate_unit(name)) for name, d in grown if d >= 0 and seconds > 0]


def _rate_unit(name: str) -> str:
    if name.startswith("cpu.") or name.endswith("busy_s"):
        return "cores" if name.startswith("cpu.") else "1"
    return "B/s" if "bytes" in name.lower() or name.endswith("_written") else "1/s"


def busy_cores(series: pd.DataFrame) -> pd.DataFrame:
    """CPU in use per sample and host, in cores: [t, host, busy].

    Idle and iowait are not use; steal is counted, because it is time that this host did not get.
    """
    cpu = series[(series.source == "host") & series.metric.str.startswith("cpu.")]
    used = cpu[~cpu.metric.isin(["cpu.idle", "cpu.iowait"])]
    return used.groupby(["t", "host"]).value.sum().rename("busy").reset_index()
