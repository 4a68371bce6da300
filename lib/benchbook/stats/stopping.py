"""When a running trial may stop: its interval is as tight as asked for, its steady state reached, its minimum past.

Stopping at the first tight interval favours series that look calm by chance, and that interval covers less than it
says: 67 to 92% for "95%" when looking at every 5% of growth. So looks are few (each a quarter later than the last), two
of them in a row must agree, the spread must rest on at least 10 degrees of freedom, and the interval is computed with
0.6 of the allowed error. The four were chosen by simulation (no theorem covers short autocorrelated series; Chow &
Robbins 1965, Ann. Math. Statist. 36(2), is the limit for long ones); tests/stats/test_stats_stopping.py repeats it.
Nothing is kept between calls: the past looks are redone from the series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchbook.errors import BadInput
from benchbook.stats.autocorrelation import MINIMUM_SAMPLES, enough_interval, moves
from benchbook.stats.background import UNKNOWN, Background, learned, missed, stalls_in, without_period
from benchbook.stats.estimates import Array, Interval, Values, vector
from benchbook.stats.steady import SteadyState, steady_state

# Each look is so many times as late as the last one; the interval at a look has this share of the error that the one at
# the stop may have.
_GROWTH, _CONFIDENCE, _ERROR_SHARE = 1.25, 0.95, 0.6
# A load is judged over so many periods of the system's background work or more.
PERIODS = 5
# Where no period is known, the level is looked at over so many parts of the series.
_BATCHES = 6
# What differs at the beginning for longer than this share is taken for a level that the system goes back to.
_MOST_CUT = 0.25
# Chance that an earlier load that was steady counts as one that moved: every later load of its cell then runs whole.
_WRONGLY_MOVED = 0.001


@dataclass(frozen=True)
class _State:
    """What one look showed: the interval where there is one, else why not."""

    steady: SteadyState
    interval: Interval | None = None
    why: str = ""
    moves: bool = False


@dataclass(frozen=True)
class StopRule:
    """Seconds from the start of measuring; `maximum_s` is the published duration; `target` is a relative half width."""

    maximum_s: float
    minimum_s: float = 30.0
    target: float = 0.02
    consecutive: int = 2
    minimum_freedom: float = 10.0
    background: Background = UNKNOWN
    unsteady: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.minimum_s <= self.maximum_s:
            raise BadInput("needs 0 < minimum_s <= maximum_s", key="minimum_s", value=(self.minimum_s, self.maximum_s))
        if not (0 < self.target < 1 and self.consecutive >= 1):
            raise BadInput("needs 0 < target < 1, consecutive >= 1", key="rule", value=self)

    def looks(self) -> list[float]:
        """The seconds at which the series is judged, the last being the maximum."""
        found: list[float] = []
        at = max(self.minimum_s, PERIODS * self.background.period_s)
        while at < self.maximum_s:
            found.append(at)
            at *= _GROWTH
        return [*found, self.maximum_s]


@dataclass(frozen=True)
class StopDecision:
    """Whether to stop now, why, when to look next, and what the series says so far."""

    stop: bool
    precise: bool
    reason: str
    elapsed_s: float
    next_look_s: float
    interval: Interval | None
    steady: SteadyState


def taught(rule: StopRule, earlier: Sequence[Array]) -> StopRule:
    """`rule` for the next load of a cell whose earlier loads ran at these rates: one array per load, one rate a second.

    A slow drift does not show in a short load, but in a long one of the same cell it does.
    """
    strict = replace(rule, unsteady=_WRONGLY_MOVED)
    moved = any(_judge(rates, strict).moves for rates in earlier if rates.size >= rule.looks()[0])
    return replace(rule, background=replace(learned(rule.background, earlier), moved=moved))


def stop_decision(values: Values, *, rule: StopRule) -> StopDecision:
    """Judge a series of samples, a second apart, at the last look that lies behind it."""
    found = vector(values, minimum=0)
    past = [look for look in rule.looks() if _samples(look) <= found.size]
    states = [_judge(found[: _samples(look)], rule) for look in past[-rule.consecutive :]]
    return _decide(states, found, rule)


def _decide(states: list[_State], found: Array, rule: StopRule) -> StopDecision:
    """The decision after `found`, from what the last looks showed."""
    elapsed = float(found.size)
    coming = next((look for look in rule.looks() if _samples(look) > found.size), rule.maximum_s)
    last = states[-1] if states else _State(steady_state(found), why=_too_short(rule))
    tight = [_tight(state, rule) for state in states]
    precise = len(tight) == rule.consecutive and all(tight)
    over = elapsed + 1e-9 >= rule.maximum_s
    reason = _reason(precise, over, last, rule)
    return StopDecision(precise or over, precise, reason, elapsed, coming, last.interval, last.steady)


def replay(values: Values, *, rule: StopRule) -> StopDecision:
    """The decision at which `rule` would have ended a finished series: what stopping would have saved."""
    found = vector(values, minimum=1)
    states: list[_State] = []
    for look in rule.looks():
        so_far = found[: _samples(look)]
        if so_far.size < _samples(look):
            break
        states = [*states, _judge(so_far, rule)][-rule.consecutive :]
        decision = _decide(states, so_far, rule)
        if decision.stop:
            return decision
    return _decide(states, found, rule)


def _samples(look_s: float) -> int:
    return math.ceil(look_s - 1e-9)


def _judge(values: Array, rule: StopRule) -> _State:
    steady = steady_state(values)
    if rule.background.moved:
        return _State(steady, why="an earlier load of this cell was not steady: only the whole duration shows its mean")
    if not steady.reached or steady.of(values).size < MINIMUM_SAMPLES:
        return _State(steady, why=f"no steady state: {steady.reason}", moves=True)
    if steady.start and steady.start > _MOST_CUT * values.size:
        why = f"no steady state: the first {steady.start} s differ from the rest"
        return _State(steady, why=why, moves=True)
    period = round(rule.background.period_s)
    turns = steady.of(values).size // period if period else 0
    if period and turns < PERIODS:
        return _State(steady, why=_too_short(rule))
    judged = steady.of(values)[-turns * period :]
    noise = without_period(judged, period) if period else judged
    batch = period or max(MINIMUM_SAMPLES, judged.size // _BATCHES)
    if moves(noise, batch=batch, alpha=rule.unsteady):
        why = f"its level moves over times longer than {batch} s"
        return _State(steady, why=why, moves=True)
    # A stall before the part that is judged is known of, and yet not in its mean.
    here = stalls_in(judged) / judged.size
    allowed = missed(rule.background, stalls_in(values), values.size, here=here, confidence=_CONFIDENCE)
    return _State(steady, _interval(noise, allowed))


def _interval(noise: Array, allowed: tuple[float, float]) -> Interval:
    # A load that is offered a rate keeps to it to the transaction: its seconds may all be equal.
    widened = enough_interval(noise, confidence=1 - _ERROR_SHARE * (1 - _CONFIDENCE))
    below, above = allowed
    return replace(
        widened,
        low=widened.low - below * widened.estimate,
        high=widened.high + above * widened.estimate,
        confidence=_CONFIDENCE,
        method="autoregressive, sequential",
    )


def _too_short(rule: StopRule) -> str:
    if not rule.background.period_s:
        return "too few samples"
    return f"shorter than {PERIODS} periods of {rule.background.period_s:.0f} s of the system's background work"


def _tight(state: _State, rule: StopRule) -> bool:
    interval = state.interval
    if interval is None or interval.degrees_of_freedom < rule.minimum_freedom:
        return False
    return interval.relative_half_width <= rule.target


def _reason(precise: bool, over: bool, last: _State, rule: StopRule) -> str:
    if precise:
        return f"within {rule.target:.1%} at {rule.consecutive} looks in a row"
    end = "maximum reached; " if over else ""
    if last.interval is None:
        return f"{end}{last.why}"
    if last.interval.relative_half_width <= rule.target:
        return f"{end}tight at one look, not yet at {rule.consecutive} in a row on enough degrees of freedom"
    return f"{end}within {last.interval.relative_half_width:.1%} of the {rule.target:.1%} asked for"
