"""Does the gate choose? Cells of two regimes, of which others' use of the CPU must not make one count more often."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from benchbook.campaign.experiment import Measurement
from benchbook.campaign.record import Quantity
from benchbook.campaign.retry_policy import RetryPolicy, measure_undisturbed

SECONDS, CORES, FAST = 4, 2.0, 1000.0
# The slow regime does 0.8 of the fast one, and leaves 15% of the cores idle, where the fast one fills them.
SLOW, IDLE = 0.8, 0.15
# What others use of the cores during a load, drawn anew for every try, where so much of them is idle.
Others = Callable[[np.random.Generator, float], float]
OTHERS: dict[str, Others] = {
    "3%": lambda rng, idle: 0.03,
    "8%": lambda rng, idle: 0.08,
    "15%": lambda rng, idle: 0.15,
    "0 to 12%": lambda rng, idle: rng.uniform(0, 0.12),
    "3%, and 15% in a third of the loads": lambda rng, idle: 0.15 if rng.random() < 1 / 3 else 0.03,
    "3%, and what is idle": lambda rng, idle: 0.03 + idle,
}


def measure(console: Console, trials: int = 1000, seed: int = 1) -> dict[str, Any]:
    """the share of a slow regime in what counts against its true share, others using 3, 8, 15% of the CPU, or idle time

    Of 60 trials alone, one share in twenty is 12 points or more beside a true 50% by chance.
    """
    rows = [
        {"true": share, "others": name, **counted(share, draw, trials, np.random.default_rng([seed, number]))}
        for number, (share, (name, draw)) in enumerate((s, o) for s in (0.3, 0.5) for o in OTHERS.items())
    ]
    for row in rows:
        console.print(row)
    return {"trials": trials, "rows": rows}


def counted(share: float, others: Others, trials: int, rng: np.random.Generator) -> dict[str, float]:
    """Return the slow regime's share in what counts, its error, the tries per trial, and the mean rate's bias."""
    policy, tries = RetryPolicy(), 0

    def load() -> Measurement:
        nonlocal tries
        tries += 1
        slow = bool(rng.random() < share)
        return _load(slow=slow, others=others(rng, IDLE if slow else 0.0))

    rates = [
        measure_undisturbed(load, lambda said: None, lambda measured, why: None, policy).summary["tps"].value
        for _ in range(trials)
    ]
    truth = FAST * (1 - share + share * SLOW)
    slow = sum(rate < FAST for rate in rates) / trials
    error = math.sqrt(share * (1 - share) / trials)
    return {"counts": slow, "standard error": error, "tries": tries / trials, "bias": float(np.mean(rates)) / truth - 1}


def _load(*, slow: bool, others: float) -> Measurement:
    """A load of a few seconds; others use idle cores first, and take the rest from it."""
    idle = max(0.0, (IDLE if slow else 0.0) - others)
    host = {"cpu.user": CORES * (1 - idle), "cpu.idle": CORES * idle, "speed": 9000 if slow else 8000}
    rows = [
        (1000.0 + second, "db1", source, metric, value, "cores")
        for second in range(SECONDS + 1)
        for source, values in (("host", host), ("others", {"cpu": CORES * others, "cpu.make": CORES * others}))
        for metric, value in values.items()
    ]
    series = pd.DataFrame(rows, columns=["t", "host", "source", "metric", "value", "unit"])
    rate = FAST * (SLOW if slow else 1.0)
    summary = {"tps": Quantity(value=rate, unit="1/s")}
    return Measurement("load", "db1", 1000.0, 1000.0 + SECONDS, 0, summary, [], series, "", {})
