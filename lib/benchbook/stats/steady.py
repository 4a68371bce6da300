"""Where a run's steady state begins, if it has one: the warm-up is cut by the data, not by a constant.

After Barrett et al. (2017), Virtual Machine Warmup Blows Hot and Cold, OOPSLA, sec. 4: change points on mean and
variance, segments equivalent to the final one form the steady state, and "none" is a result. Two things are added for
per-second series: seconds are autocorrelated, so the noise is judged by its long-run variance, and a rise may be
gradual, so a straight rise that ends (or does not) competes with the staircase that change points make of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchbook.stats.background import stalled
from benchbook.stats.change_points import change_points
from benchbook.stats.estimates import Array, Values, vector

Kind = Literal["flat", "warm-up", "slow-down", "none", "too short"]

MINIMUM_SAMPLES = 10
# Levels within this share of each other count as equal; less than the other share of the samples is no steady state.
_TOLERANCE, _LEAST_SHARE = 0.02, 1 / 3
_PENALTY = 5.0
_SIGMAS = 3.0
_LEAST_NOISE = 1e-3
_ROUNDING = 1e-12
_SPREAD_RATIO = 3.0
_MAX_INTERRUPTION = 0.1
_BRIDGE = 3
_LEFT_OF_TAIL = 0.6


@dataclass(frozen=True)
class SteadyState:
    """Class of a series, the first sample of its steady state (None without one), its level and the change points."""

    kind: Kind
    start: int | None
    level: float
    drift: float
    changes: tuple[int, ...]
    n: int
    reason: str

    @property
    def reached(self) -> bool:
        """Whether there is a steady state to take a mean of."""
        return self.start is not None

    def of(self, values: Values) -> Array:
        """The steady samples of `values` (none without a steady state)."""
        found = np.asarray(values, dtype=float)
        return found[self.n :] if self.start is None else found[self.start :]


@dataclass(frozen=True)
class _Noise:
    sigma: float
    inflation: float

    def error(self, samples: int) -> float:
        """Standard error of a mean of so many samples in a row."""
        return self.sigma * math.sqrt(min(self.inflation / samples, 1.0))


def steady_state(values: Values) -> SteadyState:
    """Classify a series in time order, where higher is faster (tps; pass the negative of a latency).

    flat: steady from the first sample; warm-up: steady after a lower (or unsettled) beginning; slow-down: steady after
    a higher beginning; none: still changing, or steady for less than a third of the samples; too short: fewer than 10
    samples. Levels within 2% of each other count as equal. `drift` is the relative change of the fitted line from the
    first to the last steady sample.

    White noise is called flat in 97 to 100% of simulations from 10 samples on. Strong autocorrelation (0.9) in few
    samples cannot be told from drift: flat in 60% at 60 samples, 81% at 120, 98% at 300; most of the rest is "none".
    """
    found = vector(values, minimum=0)
    if found.size < MINIMUM_SAMPLES:
        why = f"{found.size} samples; {MINIMUM_SAMPLES} are the least that can show a change"
        return SteadyState("too short", None, math.nan, math.nan, (), found.size, why)
    if np.ptp(found) == 0:
        return SteadyState("flat", 0, float(found[0]), 0.0, (), found.size, "all samples are equal")
    noise = _noise(found)
    changes = _change_points(found, noise)
    start = _steady_start(found, changes, noise)
    rise = _straight_rise(found, changes, noise)
    return _classify(found, changes, start if rise is None else rise, noise)


def _noise(values: Array) -> _Noise:
    """Spread around the local level and how much autocorrelation inflates the variance of a mean (AR(1))."""
    phi = float(np.clip(min(_lag_one(half) for half in np.array_split(values, 2)), 0, 0.95))
    # Differences do not see the level: var(diff) = 2 sigma^2 (1 - phi); their median does not see steps either.
    step = max(1.4826 * float(np.median(np.abs(np.diff(values)))), _LEAST_NOISE * float(np.ptp(values)))
    sigma = step / math.sqrt(2 * (1 - phi))
    return _Noise(sigma, (1 + phi) / (1 - phi))


def _lag_one(values: Array) -> float:
    t = np.arange(values.size)
    off = values - np.polyval(np.polyfit(t, values, 1), t)
    power = float((off**2).sum())
    # The line takes two degrees of freedom, which lowers the estimate: Marriott & Pope (1954), Biometrika 41.
    # Off an exact line there is only rounding, whose correlation says nothing.
    exact = power <= _ROUNDING * float(((values - values.mean()) ** 2).sum())
    phi = 0.0 if exact else float((off[1:] * off[:-1]).sum() / power)
    return phi + (2 + 4 * max(phi, 0)) / values.size


def _change_points(values: Array, noise: _Noise) -> tuple[int, ...]:
    """First samples of the segments after the first; least squares on the level and on the size of the steps."""
    level = values / (noise.sigma * math.sqrt(noise.inflation))
    steps = np.abs(np.diff(values, prepend=values[1]))
    # Half-normal: mean 0.80 s, median 0.67 s, standard deviation 0.60 s.
    typical = float(np.median(steps)) * 0.6028 / 0.6745
    signal = np.column_stack([level, np.minimum(steps / typical, 6.0) if typical else np.zeros_like(steps)])
    return tuple(change_points(signal, least=2, penalty=_PENALTY * math.log(values.size)))


def _steady_start(values: Array, changes: tuple[int, ...], noise: _Noise) -> int | None:
    """Start of the earliest run of segments like the last long one, short interruptions (a checkpoint) included."""
    n = values.size
    bounds = list(zip((0, *changes), (*changes, n), strict=True))
    low, high = max(bounds, key=lambda b: b[1] - max(b[0], n // 2))
    start, like, unlike, unlike_in_all = None, 0, 0, 0
    for a, b in reversed(bounds):
        alike = _alike(values[a:b], values[low:high], noise)
        if alike:
            like += b - a
        else:
            unlike, unlike_in_all = unlike + b - a, unlike_in_all + b - a
        if unlike_in_all > _MAX_INTERRUPTION * n:
            break
        # An interruption is bridged by a longer stretch of the same level before it, never by a chance few samples.
        # A warm-up does not begin at the level that it rises to: what does, and then falls, has stalled.
        if like >= _BRIDGE * unlike or (alike and a == 0):
            start, like, unlike = a, 0, 0
    return start


def _alike(segment: Array, reference: Array, noise: _Noise) -> bool:
    gap = abs(segment.mean() - reference.mean())
    error = math.hypot(noise.error(segment.size), noise.error(reference.size))
    if gap > max(_TOLERANCE * abs(reference.mean()), _SIGMAS * error):
        return False
    if min(segment.size, reference.size) < MINIMUM_SAMPLES:
        return True
    return bool(segment.std() < _SPREAD_RATIO * reference.std() or segment.std() <= _TOLERANCE * abs(reference.mean()))


def _straight_rise(values: Array, changes: tuple[int, ...], noise: _Noise) -> int | None:
    """First sample after a straight rise (or fall) to a level, where that explains the series better than steps do."""
    if not changes:
        return None
    scale = noise.sigma**2 * noise.inflation
    stairs = sum(float(((part - part.mean()) ** 2).sum()) for part in np.split(values, changes))
    bends = np.arange(3.0, values.size + 1)
    errors = _bend_errors(values, bends)
    if (float(((values - values.mean()) ** 2).sum()) - errors.min()) / scale < _PENALTY * math.log(values.size):
        return None
    # Schwarz (1978), Ann. Statist. 6(2): log(n) per parameter; level, slope and bend against 2k - 1 of the stairs.
    saved = (2 * len(changes) + 1 - 3) * math.log(values.size)
    return int(bends[errors.argmin()]) if errors.min() / scale < stairs / scale + saved else None


def _bend_errors(values: Array, bends: Array) -> Array:
    """Sum of squares around a straight line up to each bend that goes on flat."""
    y, t = values - values.mean(), np.arange(values.size)
    # x = min(t - bend, 0), whose sums over t are known in closed form; one pass over the series serves all bends.
    sum_x, sum_xx = -bends * (bends + 1) / 2, bends * (bends + 1) * (2 * bends + 1) / 6
    upto = bends.astype(int) - 1
    sum_xy = np.cumsum(t * y)[upto] - bends * np.cumsum(y)[upto]
    return np.asarray(float((y**2).sum()) - sum_xy**2 / (sum_xx - sum_x**2 / values.size))


def _classify(values: Array, changes: tuple[int, ...], start: int | None, noise: _Noise) -> SteadyState:
    n = values.size
    if start is None or n - start < max(_LEAST_SHARE * n, MINIMUM_SAMPLES / 2):
        why = f"still changing in the last {_LEAST_SHARE:.0%} of the samples"
        return SteadyState("none", None, math.nan, math.nan, changes, n, why)
    begin = _past_the_tail(values, start, noise)
    steady = values[start if begin is None else begin :]
    level = float(steady.mean())
    drift = _drift(steady, noise)[0] / level if level else math.nan
    if begin is None:
        return SteadyState("none", None, math.nan, drift, changes, n, f"drifts by {drift:+.1%} over its calmest part")
    kind: Kind = "flat" if begin == 0 else "slow-down" if _higher(values[:begin], level) else "warm-up"
    why = "no change beyond noise and tolerance" if begin == 0 else f"the first {begin} samples differ from the rest"
    return SteadyState(kind, begin, level, drift, changes, n, why)


def _higher(before: Array, level: float) -> bool:
    """Whether the beginning lies above the level by more than tolerance and its own noise."""
    error = float(before.std()) / math.sqrt(before.size)
    return bool(before.mean() - level > max(_TOLERANCE * abs(level), _SIGMAS * error))


def _past_the_tail(values: Array, start: int, noise: _Noise) -> int | None:
    """`start`, or up to two tenths later where the slow tail of a warm-up ends; None if what is left still drifts."""
    n = values.size
    for begin in range(start, max(start, min(start + n // 5, int((1 - _LEFT_OF_TAIL) * n))) + 1, max(n // 20, 1)):
        drift, error = _drift(_without_stalls(values[begin:]), noise)
        if abs(drift) <= max(_TOLERANCE * abs(float(values[begin:].mean())), _SIGMAS * error):
            return begin
        if start == 0:
            break
    return None


def _without_stalls(values: Array) -> Array:
    """The level in place of seconds of next to nothing, where these are few: a stall at one end is no drift."""
    low = stalled(values)
    return np.where(low, np.median(values), values) if low.mean() <= _MAX_INTERRUPTION else values


def _drift(steady: Array, noise: _Noise) -> tuple[float, float]:
    """Change of the least-squares line over the samples, and its standard error, in the unit of the data."""
    t = np.arange(steady.size) - (steady.size - 1) / 2
    spread = float((t**2).sum())
    slope = float((t * steady).sum()) / spread
    return slope * (steady.size - 1), noise.sigma * math.sqrt(noise.inflation / spread) * (steady.size - 1)
