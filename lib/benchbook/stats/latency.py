"""Latency percentiles from histograms, as deep and as fine as the samples allow, and Little's law.

Percentiles of clients cannot be averaged; their histograms can be added. A histogram is a sequence of (bucket's
latency in ms, count), as `sysbench --histogram` prints it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from hdrh.histogram import HdrHistogram

from benchbook.errors import BadInput

Histogram: TypeAlias = Sequence[tuple[float, int]]

BEYOND = 10
_NAME = re.compile(r"(?:^|_)p(\d{1,2})(\d*)(?:_|$)")


@dataclass(frozen=True)
class LittleCheck:
    """Requests in flight by tps x latency, their ratio to the threads, and whether the two agree."""

    in_flight: float
    ratio: float
    holds: bool


def merge_histograms(histograms: Iterable[Histogram]) -> list[tuple[float, int]]:
    """One histogram of all clients, by rising latency; counts of equal buckets are added."""
    total: Counter[float] = Counter()
    for histogram in histograms:
        for bound, count in histogram:
            if count < 0 or not math.isfinite(bound) or bound < 0:
                raise BadInput(
                    "a bucket needs a latency and a count of 0 or more", key="histogram", value=(bound, count)
                )
            total[float(bound)] += int(count)
    return sorted((bound, count) for bound, count in total.items() if count)


def hdr_buckets(encoded: str) -> list[tuple[float, int]]:
    """Buckets in ms of an HdrHistogram of microseconds, as base64 (as in `.hlog` files)."""
    steps = HdrHistogram.decode(encoded.encode()).get_recorded_iterator()
    return [(item.value_iterated_to * 0.001, int(item.count_added_in_this_iter_step)) for item in steps]


def percentile(histogram: Histogram, percent: float, *, beyond: int = BEYOND) -> float | None:
    """The latency that `percent` of the requests do not exceed, in ms; None unless `beyond` requests lie beyond it.

    With 10 requests beyond, their number itself is uncertain by 1/sqrt(10) = 32% (Poisson); with fewer, a percentile is
    one request's story: p99 needs 1,000 samples, p99.9 10,000.
    """
    if not 0 < percent < 100:
        raise BadInput("must lie between 0 and 100", key="percent", value=percent, fix="e.g. 95")
    rows = merge_histograms([histogram])
    ends = np.cumsum([0, *(count for _, count in rows)])
    samples = int(ends[-1])
    # Nearest rank: Hyndman & Fan (1996), Am. Stat. 50(4), definition 1; rounding keeps 0.95 * 200 at 190.
    rank = math.ceil(round(percent / 100 * samples, 9))
    if samples == 0 or samples - rank < beyond:
        return None
    return rows[int(np.searchsorted(ends, rank)) - 1][0]


def percent_of(name: str) -> float | None:
    """Return the percentile that a metric is named for: 95.0 of "p95_ms", 99.9 of "tidb_p999_s"; None of others."""
    found = _NAME.search(name)
    if found is None:
        return None
    return 100.0 if found[1] + found[2] == "100" else float(f"{found[1]}.{found[2]}")


def named_percentiles(histogram: Histogram, names: Iterable[str]) -> dict[str, float]:
    """Return those of `names` that are percentiles, read off a histogram however few requests lie beyond; in ms."""
    asked = {name: percent for name in names if (percent := percent_of(name)) is not None}
    found = {name: percentile(histogram, percent, beyond=0) for name, percent in asked.items()}
    return {name: ms for name, ms in found.items() if ms is not None}


def little(threads: float, tps: float, mean_latency_ms: float, *, tolerance: float) -> LittleCheck:
    """Check a closed loop without think time: threads = tps x mean latency, within `tolerance` (relative).

    Little (1961), Operations Research 9(3): L = lambda W. A ratio below 1 means threads that wait outside the measured
    latency (a saturated client, start-up); above 1 means more in flight than threads, which cannot be.
    """
    if threads <= 0 or tps < 0 or mean_latency_ms < 0:
        raise BadInput("needs threads, and neither tps nor latency below 0", value=(threads, tps, mean_latency_ms))
    in_flight = tps * mean_latency_ms / 1000
    ratio = in_flight / threads
    return LittleCheck(in_flight, ratio, abs(ratio - 1) <= tolerance)
