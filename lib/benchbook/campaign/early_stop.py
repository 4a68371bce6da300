"""A running load is watched second by second, and asked to stop when its interval is as tight as asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from benchbook.profiles import Stopping
from benchbook.stats.stopping import StopDecision, StopRule, stop_decision


def rule(asked: Stopping, published_s: float | None) -> StopRule:
    """The profile's rule; a load is never longer than the published one, where a duration was published."""
    longest = min(asked.maximum_s, published_s or math.inf)
    return StopRule(maximum_s=longest, minimum_s=min(asked.minimum_s, longest), target=asked.target)


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
        found: dict[str, float | str | bool | None] = {
            "target": self.rule.target,
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
