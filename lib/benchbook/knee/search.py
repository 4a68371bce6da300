"""The highest rate that keeps a latency, by bisection: given what was measured, what to measure next, or the knee.

A rate is decided by as many loads as that takes (`offered_load.verdict`). The bracket is halved until its ends are as
close as was asked for; then each end is measured until it has been decided by several loads. An end that turns out
otherwise sends the search on. Nothing is kept between calls: the way is gone again from the loads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchbook.knee.offered_load import LEAST, OfferedLoad, Verdict, excess, verdict
from benchbook.knee.slo import Slo

# An open loop cannot do more than a closed one does with the same threads; two closed loads differ by some percent.
ABOVE_CLOSED = 1.1
# Below this share of what a closed loop does nothing is looked for.
LOWEST = 1 / 500
_ALL_BROKE = "it was broken at every rate that was offered"


@dataclass(frozen=True)
class Knee:
    """`rate` is the highest that keeps the latency (1/s; None where none was found); its interval is `low` to `high`.

    `low` is the highest rate that kept it (0: none did), `high` the lowest that broke it (None: none did), each decided
    by repetitions. `ended` says in words why the search ended early, or found nothing.
    """

    rate: float | None
    low: float
    high: float | None
    loads: int
    ended: str = ""


def step(loads: Sequence[OfferedLoad], slo: Slo) -> float | Knee:
    """The rate to offer next (0 = closed loop, which comes first), or the knee."""
    closed = [load.achieved for load in loads if load.rate == 0]
    if not closed:
        return 0.0
    verdicts = by_rate(loads, slo)
    first_open = next((rate for rate, said in verdicts.items() if said == "open"), None)
    coming = first_open or _next(loads, slo, verdicts, ABOVE_CLOSED * max(closed))
    if not isinstance(coming, Knee) and len(loads) >= slo.most_trials:
        return knee(loads, slo, f"the {slo.most_trials} loads that were allowed are over")
    return coming


def by_rate(loads: Sequence[OfferedLoad], slo: Slo) -> dict[float, Verdict]:
    """What each offered rate came to, by rising rate."""
    rates = sorted({load.rate for load in loads if load.rate > 0})
    return {rate: verdict([load for load in loads if load.rate == rate], slo.p99_ms) for rate in rates}


def _next(loads: Sequence[OfferedLoad], slo: Slo, verdicts: Mapping[float, Verdict], most: float) -> float | Knee:
    low, high = bracket(verdicts)
    inside = [rate for rate, said in verdicts.items() if said == "undecided" and low < rate < (high or math.inf)]
    ends = [low, *inside[:1], *inside[-1:], most if high is None else high]
    gaps = [(a, b) for a, b in ((ends[0], ends[1]), (ends[-2], ends[-1])) if _middle(a, b, slo.within)]
    if gaps and gaps[0][1] > LOWEST * most:
        return _middle(*max(gaps, key=lambda gap: gap[1] / max(gap[0], 1.0)), slo.within)
    for end in (low, high):
        if end and sum(load.rate == end for load in loads) < LEAST:
            return end
    return knee(loads, slo, "")


def _middle(low: float, high: float, within: float) -> float:
    """A whole rate between the two, which sysbench takes no other; 0 where they are close enough."""
    middle = round(math.sqrt(low * high) if low else high / 2)
    return float(middle) if high > low * (1 + within) and low < middle < high else 0.0


def bracket(verdicts: Mapping[float, Verdict]) -> tuple[float, float | None]:
    """The highest rate below all that broke it which kept it (0: none), and the lowest that broke it."""
    high = min((rate for rate, said in verdicts.items() if said == "broken"), default=None)
    kept = [rate for rate, said in verdicts.items() if said == "kept" and (high is None or rate < high)]
    return max(kept, default=0.0), high


def knee(loads: Sequence[OfferedLoad], slo: Slo, ended: str) -> Knee:
    """What the loads so far say."""
    verdicts = by_rate(loads, slo)
    low, high = bracket(verdicts)
    if high is None:
        why = ended or _untold(verdicts) or "it was kept at every rate that a closed loop can do"
        return Knee(None, low, None, len(loads), why)
    if not low:
        return Knee(None, 0.0, high, len(loads), ended or _untold(verdicts) or _ALL_BROKE)
    return Knee(_crossing(loads, slo.p99_ms, low, high), low, high, len(loads), ended)


def _untold(verdicts: Mapping[float, Verdict]) -> str:
    """At which rates the loads do not agree on a verdict; empty where they do at all of them."""
    open_ = [rate for rate, said in verdicts.items() if said == "undecided"]
    if not open_:
        return ""
    span = f"{open_[0]:g}" if len(open_) == 1 else f"{open_[0]:g} to {open_[-1]:g}"
    return f"loads at {span} requests/s differ too much from each other to tell whether it was kept"


def _crossing(loads: Sequence[OfferedLoad], p99_ms: float, low: float, high: float) -> float:
    """Where a straight line through the logarithms of rate and p99 crosses the p99 to keep; within the bracket."""
    near = [(load.rate, excess(load, p99_ms)) for load in loads if low <= load.rate <= high]
    x, y = np.array([(math.log(rate), value) for rate, value in near if value is not None]).T
    slope = float(np.polyfit(x, y, 1)[0])
    at = math.exp(x.mean() - y.mean() / slope) if slope > 0 else math.sqrt(low * high)
    return float(np.clip(at, low, high))
