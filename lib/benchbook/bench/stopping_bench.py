"""What the stopping rule does on real series: part of `make bench`. Coverage, and the time it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchbook.stats.autocorrelation import series_interval
from benchbook.stats.estimates import Array
from benchbook.stats.steady import steady_state
from benchbook.stats.stopping import StopDecision, StopRule, replay

# The rule is started anew every so many seconds into the long series: starts less than a stop apart share their noise.
EVERY_S = 5
TARGETS = (0.02, 0.05, 0.1)


@dataclass(frozen=True)
class LongLoad:
    """A load that is recorded for far longer than the rule would need; `rate` offered transactions/s, 0 = closed loop.

    An open loop far below saturation has a known true mean: the rate that is offered. The mean of a closed loop is what
    the machine can do, and known only as the mean of a long steady series, where there is one.
    """

    workload: str
    threads: int
    rate: int
    seconds: int

    def in_words(self) -> str:
        how = f"{self.rate}/s offered" if self.rate else "closed loop"
        return f"{self.workload}, {self.threads} threads, {how}, {self.seconds} s"


# Arrivals are Poisson: seconds vary by 1/sqrt(rate) at the least, 2 and 7%. The open loops last as long as published.
LOADS = (
    LongLoad("oltp_point_select", 16, 4000, 1200),
    LongLoad("oltp_update_non_index", 16, 200, 1200),
    LongLoad("oltp_point_select", 16, 0, 240),
    LongLoad("oltp_update_non_index", 16, 0, 240),
)


def on_series(
    rates: Array, *, offered: float, minimum_s: float, longest_s: float, published_s: float | None
) -> list[dict[str, object]]:
    """The rule, begun again and again along one long load of 1-s rates; a row per target.

    target; starts; stops (how many of them ended as tight as asked before the longest); apart (how many of these lie
    one after the other and share no second); covered (share of the stops whose 95% interval holds the truth: `offered`,
    or for 0 the mean of the whole steady series; null without either); covered_apart (the same of those apart); seconds
    (median until a stop); of_published (that as a share of the published duration); fixed_s (the duration that,
    without a rule, is expected to be as tight: the long series' own interval scaled by the square root of time);
    of_fixed.
    """
    steady = steady_state(rates)
    whole = steady.of(rates) if steady.reached else rates
    truth = offered or (float(whole.mean()) if steady.reached else None)
    rules = [StopRule(maximum_s=longest_s, minimum_s=minimum_s, target=target) for target in TARGETS]
    return [_row(whole, rule, truth, published_s) for rule in rules]


def _row(whole: Array, rule: StopRule, truth: float | None, published_s: float | None) -> dict[str, object]:
    starts = range(0, max(1, whole.size - int(rule.maximum_s)), EVERY_S)
    ends = {start: replay(whole[start : start + int(rule.maximum_s)], rule=rule) for start in starts}
    tight = {start: end for start, end in ends.items() if end.precise}
    apart = [tight[start] for start in _apart(tight)]
    seconds = float(np.median([end.elapsed_s for end in tight.values()])) if tight else None
    fixed_s = whole.size * (series_interval(whole).relative_half_width / rule.target) ** 2
    return {
        "target": rule.target,
        "starts": len(starts),
        "stops": len(tight),
        "apart": len(apart),
        "covered": _covered([*tight.values()], truth),
        "covered_apart": _covered(apart, truth),
        "seconds": seconds,
        "of_published": seconds / published_s if seconds and published_s else None,
        "fixed_s": fixed_s,
        "of_fixed": seconds and seconds / fixed_s,
    }


def _apart(tight: dict[int, StopDecision]) -> list[int]:
    """Starts of stops that follow one another without sharing a second."""
    chosen: list[int] = []
    free = 0.0
    for start, end in tight.items():
        if start >= free:
            chosen.append(start)
            free = start + end.elapsed_s
    return chosen


def _covered(ends: Sequence[StopDecision], truth: float | None) -> float | None:
    """Share of the intervals that hold the truth; None without a truth or without intervals."""
    if not ends or truth is None:
        return None
    return float(np.mean([end.interval is not None and end.interval.contains(truth) for end in ends]))


def in_words(rows: list[dict[str, object]]) -> str:
    """The rows as text, three digits."""
    return pd.DataFrame(rows).round(3).to_string(index=False)
