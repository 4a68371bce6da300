"""A load at an offered rate, and what several of them at one rate decide: the latency is kept, or it is broken."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchbook.stats.intervals import mean_interval

Verdict = Literal["kept", "broken", "open", "undecided"]

# One load decides where its p99 is off by this factor, until the search ends there: the ends are confirmed.
FAR = 2.0
# Loads at one rate from which their own spread decides, and after which nothing more is tried.
LEAST, MOST = 3, 6
# Of the interval at each of up to four looks. The two ends then hold the true knee in 98% of searches of 10-s loads on
# simulated servers, in 92% of 6-s loads, whose p99 is low by as much (`bench knee_coverage`).
CONFIDENCE = 0.95
# So many standard errors of Poisson arrivals fewer than were offered: by chance in one load of 30,000.
SHORT = 4.0


@dataclass(frozen=True)
class OfferedLoad:
    """Requests/s that were offered (0 = closed loop) and answered, seconds, and p99 (ms) from the scheduled start.

    `p99_ms` is None where there were too few requests to say.
    """

    rate: float
    achieved: float
    seconds: float
    p99_ms: float | None

    @property
    def saturated(self) -> bool:
        """Whether fewer were answered than chance explains: the rest still wait, however fast the answered ones were.

        A Poisson count over T seconds at rate r has a standard deviation of sqrt(r T), a rate sqrt(r / T).
        """
        return self.rate > 0 and self.achieved < self.rate - SHORT * math.sqrt(self.rate / self.seconds)


def excess(load: OfferedLoad, p99_ms: float) -> float | None:
    """The logarithm of its p99 over the one to keep; of a saturated load at least that of `FAR`; None if not known."""
    found = None if not load.p99_ms else math.log(load.p99_ms / p99_ms)
    if load.saturated:
        return max(math.log(FAR), found or 0.0)
    return found


def verdict(loads: Sequence[OfferedLoad], p99_ms: float) -> Verdict:
    """What loads at one rate say; "open" where one more may decide.

    The unit is the load: an interval of the mean of their logarithms, never of the requests within one.
    """
    found = [value for value in (excess(load, p99_ms) for load in loads) if value is not None]
    if found and all(value >= math.log(FAR) for value in found):
        return "broken"
    if found and all(value <= -math.log(FAR) for value in found):
        return "kept"
    if len(found) >= LEAST:
        interval = mean_interval(found, confidence=CONFIDENCE)
        if interval.low > 0:
            return "broken"
        if interval.high < 0:
            return "kept"
    return "open" if len(loads) < MOST else "undecided"
