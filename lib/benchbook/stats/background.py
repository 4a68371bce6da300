"""What a system does beside its load: work that returns (checkpoints), and stalls that a short load may not have met.

A load of 40 s can lie between two checkpoints a minute apart, and then looks calmer than the system is. So a load is
judged over whole periods only, and what stalls it may have missed widens its interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from benchbook.stats.estimates import Array
from benchbook.stats.tails import chi2_quantile, normal_above

# A second below this share of the median is part of a stall, from two in a row on: one alone is a late report.
_STALLED = 0.25
_LEAST_STALL = 2
# Chance to see a period in noise, per series; any load covers periods shorter than so many samples.
_CHANCE = 0.01
_SHORTEST = 4
_MOST_OF_SERIES = 3
_MEMORY = 30
_AS_HIGH = 0.9


@dataclass(frozen=True)
class Background:
    """What is known before a load: `period_s` of the slowest work that returns, and how long a stall may last.

    `seen_s` seconds of earlier loads of the same cell had `stalls` stalls. All 0: nothing is known, nothing is asked.
    `moved`: one of these loads was not steady over its whole length.
    """

    period_s: float = 0.0
    stall_s: float = 0.0
    seen_s: float = 0.0
    stalls: int = 0
    moved: bool = False


UNKNOWN = Background()


def learned(known: Background, earlier: Sequence[Array]) -> Background:
    """`known`, and what earlier loads of the same cell have shown: rates of 1 s each, one array per load."""
    periods = (slowest_period(rates) for rates in earlier)
    return replace(
        known,
        period_s=max([known.period_s, *periods]),
        seen_s=known.seen_s + sum(rates.size for rates in earlier),
        stalls=known.stalls + sum(stalls_in(rates) for rates in earlier),
    )


def slowest_period(values: Array) -> float:
    """The longest period, in samples, that stands out of the noise of a series; 0 where none does.

    From 4 samples to a third of the series are looked at, for waves and for pulses (checkpoints).
    """
    return max(_wave(values), _pulse(values))


def _wave(values: Array) -> float:
    # Fisher (1929), Proc. R. Soc. A 125, eq. 3, on the periodogram relative to that of an AR(1) with the series' own
    # lag-1 correlation: noise of that kind has no period.
    if np.ptp(values) == 0:
        return 0.0
    off = values - values.mean()
    power = float((off**2).sum())
    frequency = np.fft.rfftfreq(values.size)
    looked_at = (frequency >= _MOST_OF_SERIES / max(values.size, 1)) & (frequency <= 1 / _SHORTEST)
    if power <= 0 or looked_at.sum() < 2:
        return 0.0
    phi = float((off[1:] * off[:-1]).sum()) / power
    red = 1 / (1 + phi**2 - 2 * phi * np.cos(2 * math.pi * frequency[looked_at]))
    shares = np.abs(np.fft.rfft(off))[looked_at] ** 2 / red
    if not shares.any():
        return 0.0
    g = shares / shares.sum()
    # The first term of Fisher's sum bounds the chance that any of m shares exceeds g: m (1 - g)^(m - 1).
    out = g.size * (1 - g) ** (g.size - 1) < _CHANCE
    return float(1 / frequency[looked_at][out].min()) if out.any() else 0.0


def _pulse(values: Array) -> float:
    """The first lag whose correlation is as high as any, where that is beyond chance."""
    n, off = values.size, values - values.mean()
    most, power = n // _MOST_OF_SERIES, float((off**2).sum())
    if power <= 0 or most <= _MEMORY:
        return 0.0
    rho = np.array([float((off[lag:] * off[: n - lag]).sum()) / power for lag in range(1, most + 1)])
    # Bartlett (1946), J. R. Stat. Soc. Suppl. 8: how far a correlation at a long lag strays from 0.
    error = math.sqrt((1 + 2 * float((rho[:_MEMORY] ** 2).sum())) / n)
    later = rho[_SHORTEST - 1 :]
    beyond = later > normal_above(_CHANCE / most) * error
    return float(_SHORTEST + (beyond & (later >= _AS_HIGH * later.max())).argmax()) if beyond.any() else 0.0


def without_period(values: Array, period: int) -> Array:
    """Whole periods of samples less what returns in each; each period's mean and the size of the noise stay."""
    turns = values.reshape(-1, period)
    means = turns.mean(axis=1, keepdims=True)
    within = turns - means
    # The profile took its share of the noise within the turns: one turn in all.
    return np.asarray((means + (within - within.mean(axis=0)) * math.sqrt(len(turns) / (len(turns) - 1))).ravel())


def stalled(values: Array) -> NDArray[np.bool_]:
    """Which samples are next to nothing: below a quarter of the median."""
    return np.asarray(values < _STALLED * np.median(values))


def stalls_in(values: Array) -> int:
    """Stretches of 2 samples or more below a quarter of the median."""
    edges = np.flatnonzero(np.diff(np.r_[False, stalled(values), False].astype(int)))
    return int((edges[1::2] - edges[::2] >= _LEAST_STALL).sum())


def missed(
    known: Background, stalls: int, seconds: float, *, here: float | None = None, confidence: float = 0.95
) -> tuple[float, float]:
    """How far the long-run rate may lie below and above a mean over `seconds` with `stalls`, as shares of the rate.

    `here`: stalls a second of the part that the mean is over, where that is not all of it.
    Stalls come by chance (Poisson), each costing up to `stall_s` seconds. Their number per second is bounded on each
    side at `confidence`: Garwood (1936), Biometrika 28. None seen in T s still allows 3 per T s.
    """
    if not known.stall_s:
        return 0.0, 0.0
    count, whole = known.stalls + stalls, known.seen_s + seconds
    most = chi2_quantile(confidence, 2 * (count + 1)) / 2 / whole
    least = chi2_quantile(1 - confidence, 2 * count) / 2 / whole if count else 0.0
    here = stalls / seconds if here is None else here
    return max(0.0, most - here) * known.stall_s, max(0.0, here - least) * known.stall_s
