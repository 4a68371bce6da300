"""A service level objective: the latency that must be kept, and what the search for the highest rate may cost."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from benchbook.given.bounds import Minutes, Seconds
from benchbook.yamlfile import Strict


class Slo(Strict):
    """99% of the requests take at most `p99_ms` (ms; 0 = nothing is asked, and nothing is searched for).

    A load lasts `time_s`, and longer where the rate is so low that a p99 would be made of few requests. The search ends
    when the highest rate that keeps it and the lowest that breaks it are `within` of each other (a share), or after
    `most_trials` loads, or when `most_min` minutes are over.
    """

    p99_ms: Annotated[float, Field(ge=0, le=86_400_000, allow_inf_nan=False)] = 0.0
    time_s: Seconds = 10
    within: Annotated[float, Field(ge=0.005, le=0.5)] = 0.05
    most_trials: Annotated[int, Field(ge=5, le=1000, strict=True)] = 40
    most_min: Minutes = 20.0

    @property
    def asked(self) -> bool:
        """Whether there is anything to search for."""
        return self.p99_ms > 0

    def lasts_s(self, rate: float) -> int:
        """Seconds of a load at this offered rate (1/s, 0 = closed loop)."""
        return self.time_s if rate <= 0 else max(self.time_s, min(LONGEST_S, int(REQUESTS / rate) + 1))


# A percentile stands where at least 10 requests are beyond it: for p99 1,000 are the least (stats.latency).
REQUESTS = 2000
LONGEST_S = 600
