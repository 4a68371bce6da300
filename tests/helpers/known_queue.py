"""A service whose knee is known: one server, Poisson arrivals, exponential service times (M/M/1), in order.

Its time in the system is exponential at rate mu - lambda, so that its p99 is ln(100) / (mu - lambda): Kleinrock (1975),
Queueing Systems I, sec. 3.2. The highest rate that keeps a p99 is lambda = mu - ln(100) / p99. Simulated here.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from benchbook.campaign.max_rate import Knee, OfferedLoad, Slo, step
from benchbook.stats.estimates import Array

# What is in the system at first is not what will be there: so many seconds of each load do not count.
WARM_S = 1.0


def true_knee(mu: float, p99_ms: float) -> float:
    """The highest rate (1/s) at which 99% of the requests take at most `p99_ms`; the server does `mu` a second."""
    return mu - math.log(100) / (p99_ms / 1000)


# -- simulated ----------------------------------------------------------------------------------------------------


def simulated(rate: float, *, mu: float, seconds: float, rng: np.random.Generator) -> OfferedLoad:
    """A load on the simulated server; `rate` 0 is a closed loop, which does what the server can."""
    if rate == 0:
        return OfferedLoad(0, mu * (1 + rng.normal(0, 1 / math.sqrt(mu * seconds))), seconds, None)
    count = int((WARM_S + seconds) * rate * 1.2) + 100
    arrival = rng.exponential(1 / rate, count).cumsum()
    left = arrival + _sojourns(arrival, rng.exponential(1 / mu, count))
    return observed(rate, arrival, left, seconds)


def _sojourns(arrival: Array, service: Array) -> Array:
    """Lindley (1952), Proc. Cambridge Phil. Soc. 48(2): a wait is what is left of the one before, or nothing."""
    more = np.concatenate([[0.0], (service[:-1] - np.diff(arrival)).cumsum()])
    return np.asarray(more - np.minimum.accumulate(more) + service)


def observed(rate: float, scheduled: Array, left: Array, seconds: float) -> OfferedLoad:
    """What a load came to, from the times (s) at which its requests were due and were answered.

    Answers after the end do not count, as with a load generator that ends then.
    """
    ended = WARM_S + seconds
    counted = (left > WARM_S) & (left <= ended)
    due = counted & (scheduled > WARM_S)
    p99 = float(np.percentile(left[due] - scheduled[due], 99)) * 1000 if due.sum() >= 1000 else None
    return OfferedLoad(rate, float(counted.sum()) / seconds, seconds, p99)


# -- searched -----------------------------------------------------------------------------------------------------


def searched(measure: Callable[[float], OfferedLoad], slo: Slo) -> Knee:
    """The knee of whatever `measure` drives a load on, at the offered rate (1/s) that it is told."""
    loads: list[OfferedLoad] = []
    while not isinstance(found := step(loads, slo), Knee):
        loads.append(measure(found))
    return found


def on_simulated(seed: int) -> tuple[Knee, float]:
    """Return the knee found and the true one, of a server whose capacity (700 to 1,300/s) the seed draws."""
    rng = np.random.default_rng(seed)
    mu, slo = rng.uniform(700.0, 1300.0), Slo(p99_ms=20)
    found = searched(lambda rate: simulated(rate, mu=mu, seconds=slo.lasts_s(rate), rng=rng), slo)
    return found, true_knee(mu, slo.p99_ms)
