"""Samples as probes write them -> the long table of a record: t, host, source, metric, value, unit.

What a number is, its probe declares: it is never guessed from its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pandas as pd

from benchbook.errors import OutputNotParseable
from benchbook.hosts.host_models import Json

COLUMNS = ["t", "host", "source", "metric", "value", "unit"]
# What the program that calls a probe writes of itself: how late it woke, and by how much the wall clock was set.
LATE, STEP = "heartbeat.late_s", "clock.step_s"


@dataclass(frozen=True)
class Metric:
    """What a sampled number is: a level as it stands, or a counter, which becomes a rate per second.

    `unit` is that of the series: of a level its own, of a counter that of its growth per second (of one of ms "ms/s").
    """

    unit: str
    counter: bool = False


def empty() -> pd.DataFrame:
    """Return the long table without a row."""
    kinds = {"t": "float64", "value": "float64"}
    return pd.DataFrame({name: pd.Series(dtype=kinds.get(name, "object")) for name in COLUMNS})


def table(rows: Sequence[tuple[float, str, str, str, float, str]]) -> pd.DataFrame:
    """Return the long table of these rows, in the order of COLUMNS."""
    return pd.DataFrame(rows, columns=COLUMNS) if rows else empty()


def to_series(samples: Sequence[Json], host: str, source: str, metrics: Mapping[str, Metric]) -> pd.DataFrame:
    """Samples `{"t": s, "v": {name: number}}` as the long table; counters become rates per second.

    `metrics` says of each sampled name what it is (a name that ends in `*`: of all that begin like it). A rate stands
    at the end of its interval. A counter that falls was reset: that interval is left out. A sample with an error ends
    the interval before it, so that no rate is drawn across a gap; one that follows another at once (the last of a
    trial, behind a tick) ends none, for a rate of milliseconds tells how coarsely is counted. How late the probe woke
    (`heartbeat.late_s`) and by how much the wall clock was set meanwhile (`clock.step_s`, where it was) stand beside.
    Raise OutputNotParseable for a name not there, and for a value that is no number.
    """
    rows: list[tuple[float, str, float, str]] = []
    before: Json | None = None
    known = {name: _declared(name, source, metrics) for sample in samples for name in sample.get("v", {})}
    _check_numbers(samples, source)
    gaps = sorted(after["t"] - first["t"] for first, after in pairwise(samples))
    at_once = gaps[len(gaps) // 2] / 10 if gaps else 0.0
    for sample in samples:
        rows += _heartbeat(sample)
        if "v" not in sample:
            before = None
            continue
        rows += [(sample["t"], name, float(v), known[name].unit) for name, v in _of(sample, known, counter=False)]
        if before and 0 <= sample["t"] - before["t"] < at_once:
            continue
        rows += _rates(before, sample, known) if before else []
        before = sample
    frame = pd.DataFrame(rows, columns=["t", "metric", "value", "unit"])
    return frame.assign(host=host, source=source)[COLUMNS] if rows else empty()


def _heartbeat(sample: Json) -> list[tuple[float, str, float, str]]:
    """A probe that could not be loaded has left one line without."""
    told = [(LATE, sample.get("late")), (STEP, sample.get("step") or None)]
    return [(sample["t"], name, float(value), "s") for name, value in told if value is not None]


def _declared(name: str, source: str, metrics: Mapping[str, Metric]) -> Metric:
    if name in metrics:
        return metrics[name]
    for pattern, metric in metrics.items():
        if pattern.endswith("*") and name.startswith(pattern[:-1]):
            return metric
    raise OutputNotParseable(f"the probe {source} sampled {name!r}, which it does not declare")


def _check_numbers(samples: Sequence[Json], source: str) -> None:
    for sample in samples:
        for name, value in sample.get("v", {}).items():
            if not isinstance(value, int | float):
                raise OutputNotParseable(f"the probe {source} sampled {name!r} as {value!r}, which is no number")


def _of(sample: Json, known: Mapping[str, Metric], *, counter: bool) -> list[tuple[str, float]]:
    return [(name, value) for name, value in sample["v"].items() if known[name].counter is counter]


def _rates(before: Json, sample: Json, known: Mapping[str, Metric]) -> list[tuple[float, str, float, str]]:
    seconds = sample["t"] - before["t"]
    counted = _of(sample, known, counter=True)
    grown = [(name, value - before["v"][name]) for name, value in counted if name in before["v"]]
    return [(sample["t"], name, d / seconds, known[name].unit) for name, d in grown if d >= 0 and seconds > 0]
