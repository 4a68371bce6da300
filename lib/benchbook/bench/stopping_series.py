"""The stopping rule on seven kinds of series whose long-run mean is known: what it stops, and what intervals hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import signal

from benchbook.campaign import early_stop
from benchbook.profiles import Stopping
from benchbook.stats.estimates import Array
from benchbook.stats.stopping import StopDecision, StopRule, replay, taught

# Seconds that each series lasts: the published duration, over which a drift's mean is taken.
LASTS_S = 1200
LEVEL = 1000.0
NOISE = 0.02
DIP_S = 5
PERIOD_S = 60
# What a stalled server still answers, as a share.
_LEFT = 0.02
# A rule that takes no load for one that moves.
NEVER = 1e-12
Rates = tuple[Array, float]
Make = Callable[[np.random.Generator, int], Rates]


def white(rng: np.random.Generator, loads: int) -> Rates:
    """White noise: base rates of shape (loads, seconds) before noise, and their long-run mean, as shares."""
    return np.ones((loads, LASTS_S)), 1.0


def checkpoints(rng: np.random.Generator, loads: int, *, first_s: int = PERIOD_S) -> Rates:
    """Half of the rate for 5 s of every 60; the first begins within `first_s`."""
    phase = rng.integers(0, first_s, (loads, 1))
    low = (np.arange(LASTS_S) - phase) % PERIOD_S < DIP_S
    return np.where(low, 0.5, 1.0), 1 - 0.5 * DIP_S / PERIOD_S


def stalls(rng: np.random.Generator, loads: int, *, every_s: int, first_s: int = 0) -> Rates:
    """Stalls of 5 s, by chance once in `every_s` on average; with `first_s`, one begins within that."""
    begins = rng.random((loads, LASTS_S + DIP_S)) < 1 / every_s
    if first_s:
        begins[np.arange(loads), DIP_S + rng.integers(1, first_s, loads)] = True
    stalled = signal.lfilter(np.ones(DIP_S), [1], begins.astype(float), axis=1)[:, DIP_S:] > 0
    share = 1 - (1 - 1 / every_s) ** DIP_S
    return np.where(stalled, _LEFT, 1.0), 1 - (1 - _LEFT) * share


def regimes(rng: np.random.Generator, loads: int) -> Rates:
    """Two levels 10% apart, each lasting 60 to 120 s."""
    lasts = rng.uniform(60, 120, (loads, LASTS_S // 60 + 2))
    ends = np.cumsum(lasts, axis=1) - lasts[:, :1] * rng.random((loads, 1))
    passed = (np.arange(LASTS_S)[None, :, None] >= ends[:, None, :]).sum(axis=2)
    return np.where((passed + rng.integers(0, 2, (loads, 1))) % 2, 0.9, 1.0), 0.95


def drift(rng: np.random.Generator, loads: int) -> Rates:
    """15% lower after 20 min; the mean is that of the published duration."""
    return np.tile(1 - 0.15 * np.arange(LASTS_S) / LASTS_S, (loads, 1)), 1 - 0.15 / 2


# Each with the lag-1 correlation of its noise.
SERIES: dict[str, tuple[Make, float]] = {
    "white noise": (white, 0.0),
    "AR(0.7)": (white, 0.7),
    "checkpoints every 60 s": (checkpoints, 0.0),
    "random stalls, one in 60 s": (lambda rng, n: stalls(rng, n, every_s=60), 0.0),
    "random stalls, one in 300 s": (lambda rng, n: stalls(rng, n, every_s=300), 0.0),
    "slow regimes": (regimes, 0.0),
    "drift of -15%": (drift, 0.0),
    "stall at the start, one in 300 s": (lambda rng, n: stalls(rng, n, every_s=300, first_s=10), 0.0),
    "checkpoint at the start": (lambda rng, n: checkpoints(rng, n, first_s=10), 0.0),
}
BEFORE = StopRule(maximum_s=LASTS_S, unsteady=NEVER)
AFTER = early_stop.rule(Stopping(maximum_s=LASTS_S), None, period_s=PERIOD_S)


def made(name: str, *, loads: int, noise: float, seed: int) -> Rates:
    """Rates of shape (loads, seconds), none below 0, and the true mean of each load of this kind."""
    rng = np.random.default_rng(seed)
    make, phi = SERIES[name]
    base, mean = make(rng, loads)
    shocks = rng.standard_normal(base.shape)
    shocks[:, 1:] *= np.sqrt(1 - phi**2)
    wanders = signal.lfilter([1], [1, -phi], shocks, axis=1)
    return np.maximum(LEVEL * base * (1 + noise * wanders), 0), LEVEL * mean


def on_seven(*, loads: int, noise: float = NOISE, seed: int = 1) -> list[dict[str, object]]:
    """A row per series and rule: "before" knows nothing; "first" is a cell's first load, "later" its second one.

    stopped (share of loads called precise before their maximum or at it), coverage (of their 95% intervals; None
    without), wrong (stops whose interval misses, as a share of all loads), median_s (until the stop).
    """
    rows = []
    for name in SERIES:
        rates, mean = made(name, loads=loads, noise=noise, seed=seed)
        earlier, _ = made(name, loads=loads, noise=noise, seed=seed + 1)
        rules = {
            "before": [BEFORE] * loads,
            "first": [AFTER] * loads,
            "later": [taught(AFTER, [before]) for before in earlier],
        }
        for which, used in rules.items():
            ends = [replay(row, rule=rule) for row, rule in zip(rates, used, strict=True)]
            rows.append({"series": name, "rule": which, **summary(ends, mean)})
    return rows


def summary(ends: Sequence[StopDecision], mean: float) -> dict[str, object]:
    """What came of these loads, whose true mean is known."""
    tight = [end for end in ends if end.precise]
    held = sum(end.interval is not None and end.interval.contains(mean) for end in tight)
    return {
        "stopped": len(tight) / len(ends),
        "coverage": held / len(tight) if tight else None,
        "wrong": (len(tight) - held) / len(ends),
        "median_s": float(np.median([end.elapsed_s for end in tight])) if tight else None,
    }
