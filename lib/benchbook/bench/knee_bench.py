"""The search for the knee where the knee is known: part of `make bench`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from benchbook.bench.known_queue import driven, serving, simulated, true_knee
from benchbook.bench.known_server import undisturbed
from benchbook.knee.offered_load import OfferedLoad
from benchbook.knee.search import Knee, step
from benchbook.knee.slo import Slo

SLO = Slo(p99_ms=20)
# Of real loads, to spare minutes.
SHORT = Slo(p99_ms=20, time_s=5)
# Capacities are drawn anew for each run, 1/s: the knee lies between 470 and 1,070.
LEAST, MOST = 700.0, 1300.0
RUNS, SIMULATED, AT_ONCE = 20, 1000, 7


def searched(measure: Callable[[float], OfferedLoad], slo: Slo = SLO) -> Knee:
    """The knee of whatever `measure` drives a load on, at the offered rate (1/s) that it is told."""
    loads: list[OfferedLoad] = []
    while not isinstance(found := step(loads, slo), Knee):
        loads.append(measure(found))
    return found


def on_simulated(seed: int) -> tuple[Knee, float]:
    """The knee that is found, and the true one, of a simulated server whose capacity the seed draws."""
    rng = np.random.default_rng(seed)
    mu = rng.uniform(LEAST, MOST)
    found = searched(lambda rate: simulated(rate, mu=mu, seconds=SLO.lasts_s(rate), rng=rng), SLO)
    return found, true_knee(mu, SLO.p99_ms)


def on_real(seed: int) -> tuple[Knee, float]:
    """The same of a real server on loopback."""
    undisturbed()
    rng = np.random.default_rng(seed)
    mu = rng.uniform(LEAST, MOST)
    with serving(mu, seed) as port:
        found = searched(lambda rate: driven(port, rate, seconds=SHORT.lasts_s(rate), rng=rng), SHORT)
    return found, true_knee(mu, SHORT.p99_ms)


def knee(console: Console) -> dict[str, Any]:
    """the search for the highest rate that keeps a p99 on a real server whose knee is known: 20 runs, 7 at a time"""
    with ProcessPoolExecutor(AT_ONCE, mp_context=get_context("spawn")) as pool:
        rows = [_row(*each) for each in pool.map(on_real, range(RUNS))]
    return _said(rows, console)


def knee_coverage(console: Console) -> dict[str, Any]:
    """the same search on 1,000 simulated servers: how often its interval holds the true knee; no host is needed"""
    return _said([_row(*on_simulated(seed)) for seed in range(SIMULATED)], console)


def _row(found: Knee, true: float) -> dict[str, float]:
    high = np.inf if found.high is None else found.high
    return {
        "true": true,
        "found": np.nan if found.rate is None else found.rate,
        "found / true": np.nan if found.rate is None else found.rate / true,
        "low": found.low,
        "high": high,
        "holds": float(found.low <= true <= high),
        "loads": found.loads,
    }


def _said(rows: list[dict[str, float]], console: Console) -> dict[str, Any]:
    frame = pd.DataFrame(rows)
    if len(frame) <= RUNS:
        console.print(frame.round(3).to_string(index=False), markup=False)
    off = (frame["found / true"] - 1).abs()
    return {
        "runs": len(frame),
        "within_5%": float((off <= 0.05).mean()),
        "furthest": float(off.max()),
        "mean_ratio": float(frame["found / true"].mean()),
        "interval_holds": float(frame.holds.mean()),
        "interval_width": float((frame.high / frame.low - 1).median()),
        "loads": float(frame.loads.mean()),
        "rows": rows,
    }
