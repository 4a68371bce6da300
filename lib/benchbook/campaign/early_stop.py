"""A running load is watched second by second, and asked to stop when its interval is as tight as asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchbook.profiles import Stopping
from benchbook.stats.background import Background
from benchbook.stats.estimates import Array
from benchbook.stats.stopping import StopDecision, StopRule, stop_decision, taught

# A stall of so many seconds may have been missed, for all that a load shows: its interval allows for it.
STALL_S = 5.0
# Chance that a steady load is taken for one that moves, at each look: high, so that few that do move are not seen.
UNSTEADY = 0.2


def rule(asked: Stopping, published_s: float | None, *, period_s: float = 0.0) -> StopRule:
    """The profile's rule; a load is never longer than the published one, where a duration was published.

    `period_s` is that of the system's slowest work in the background: no load ends early before several of them.
    """
    longest = min(asked.maximum_s, published_s or math.inf)
    known = Background(period_s=period_s, stall_s=STALL_S)
    least = min(asked.minimum_s, longest)
    return StopRule(maximum_s=longest, minimum_s=least, target=asked.target, background=known, unsteady=UNSTEADY)


@dataclass
class EarlierLoads:
    """The rates of the loads that this run has driven, cell by cell: what they show counts for the next of the cell.

    A run that is continued later begins anew: it knows less, and ends loads later for it.
    """

    _rates: dict[str, list[Array]] = field(default_factory=dict)

    def rule(self, cell: str, asked: StopRule, *, period_s: float) -> StopRule:
        """`asked` for a system with this period, and with all that earlier loads of the cell have shown."""
        known = replace(asked, background=replace(asked.background, period_s=period_s))
        return taught(known, self._rates.get(cell, []))

    def keep(self, cell: str, rates: Sequence[float]) -> None:
        """A load has ended after these rates, one a second."""
        if rates:
            self._rates.setdefault(cell, []).append(np.asarray(rates, dtype=np.float64))


def both(on_rate: Callable[[float, float], None], watcher: RateWatcher | None) -> Callable[[float, float], None]:
    """`on_rate`, and the watcher's look after it."""

    def seen(second: float, rate: float) -> None:
        on_rate(second, rate)
        if watcher:
            watcher.seen(rate)

    return seen


@dataclass
class RateWatcher:
    """Takes the rate of every second; calls `stop` once when `rule` is content. `decision` is what it saw last."""

    rule: StopRule
    stop: Callable[[], None]
    decision: StopDecision | None = None
    _rates: list[float] = field(default_factory=list)
    _next_s: float = 0.0

    def __post_init__(self) -> None:
        self._next_s = self.rule.looks()[0]

    def seen(self, rate: float) -> None:
        """One more second of load. Looking costs the load something: it is done at the rule's looks only."""
        self._rates.append(rate)
        if len(self._rates) >= self._next_s and not self.stopping:
            self.decision = stop_decision(self._rates, rule=self.rule)
            self._next_s = self.decision.next_look_s
            if self.decision.precise:
                self.stop()

    @property
    def stopping(self) -> bool:
        """Whether the load has been asked to stop."""
        return self.decision is not None and self.decision.precise

    def proof(self) -> dict[str, float | str | bool | None]:
        """What the record keeps: why the load ended when it did, and how tight its interval was."""
        # A load that ran to its maximum is judged whole; one that was stopped, by what stopped it.
        last = self.decision if self.decision and self.stopping else stop_decision(self._rates, rule=self.rule)
        known = self.rule.background
        found: dict[str, float | str | bool | None] = {
            "target": self.rule.target,
            "least_s": self.rule.looks()[0],
            "period_s": known.period_s,
            "seen_s": known.seen_s,
            "stalls_seen": known.stalls,
            "maximum_s": self.rule.maximum_s,
            "precise": last.precise,
            "reason": last.reason,
            "judged_s": last.elapsed_s,
            "steady": last.steady.kind,
            "steady_from_s": last.steady.start,
        }
        if last.interval is None:
            return found
        return {**found, "tps": last.interval.estimate, "half_width": last.interval.relative_half_width}
