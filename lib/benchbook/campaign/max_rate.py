"""The highest rate under an SLO: the knee of latency against offered load, with its interval.

Given what was measured, `step` says which rate to offer next, or what was found. A rate is decided by as many loads as
that takes. The bracket is halved until its ends are as close as was asked for; then each end is measured until several
loads have decided it. An end that turns out otherwise sends the search on. Nothing is kept between calls.

A search is a campaign of its own in the folder of the campaign that it belongs to (`knee/`): its trials are recorded as
any others, with the offered rate as a level, and nothing of the campaign's own tables and claims knows of them. What it
has found is read off its records each time, so that one that was interrupted goes on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from benchbook.campaign import design, store
from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.environment import Asked, Environment
from benchbook.campaign.experiment import Experiment
from benchbook.campaign.progress import Listener
from benchbook.campaign.record import Record
from benchbook.campaign.retry_policy import TRIES
from benchbook.campaign.run import run
from benchbook.campaign.store import Campaign
from benchbook.grouping import grouped
from benchbook.stats import latency
from benchbook.stats.estimates import mean_interval
from benchbook.user_input.bounds import Minutes, Seconds
from benchbook.user_input.yaml_file import Strict

# The level that says how many transactions a second are offered; 0 = closed loop.
RATE = "rate"
# Where a campaign keeps its searches, a folder for each.
FOLDER = "knee"
# A percentile stands where at least 10 requests are beyond it: for p99 1,000 are the least (stats.latency).
REQUESTS, LONGEST_S = 2000, 600
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
# An open loop cannot do more than a closed one does with the same threads; two closed loads differ by some percent.
ABOVE_CLOSED = 1.1
# Below this share of what a closed loop does nothing is looked for.
LOWEST = 1 / 500
_ALL_BROKE = "it was broken at every rate that was offered"
# Of the conditions of a campaign, those that are none of a search in it.
_OTHERS = ("repeat",)
# System, table, and every level but the two that a search sets: what is searched by itself.
_Searching = tuple[str, str, tuple[tuple[str, str | int | float], ...]]


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
        """Return seconds of a load at this offered rate (1/s, 0 = closed loop)."""
        return self.time_s if rate <= 0 else max(self.time_s, min(LONGEST_S, int(REQUESTS / rate) + 1))


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
    """Return what loads at one rate say; "open" where one more may decide.

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


# -- the next rate -----------------------------------------------------------------------------------------------------


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
    """Return the rate to offer next (0 = closed loop, which comes first), or the knee."""
    closed = [load.achieved for load in loads if load.rate == 0]
    if not closed:
        return 0.0
    verdicts = by_rate(loads, slo)
    first_open = next((rate for rate, said in verdicts.items() if said == "open"), None)
    coming = first_open or _next_rate(loads, slo, verdicts, ABOVE_CLOSED * max(closed))
    if not isinstance(coming, Knee) and len(loads) >= slo.most_trials:
        return knee(loads, slo, f"the {slo.most_trials} loads that were allowed are over")
    return coming


def by_rate(loads: Sequence[OfferedLoad], slo: Slo) -> dict[float, Verdict]:
    """Return what each offered rate came to, by rising rate."""
    rates = sorted({load.rate for load in loads if load.rate > 0})
    return {rate: verdict([load for load in loads if load.rate == rate], slo.p99_ms) for rate in rates}


def _next_rate(loads: Sequence[OfferedLoad], slo: Slo, verdicts: Mapping[float, Verdict], most: float) -> float | Knee:
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
    """Return a whole rate between the two, which sysbench takes no other; 0 where they are close enough."""
    middle = round(math.sqrt(low * high) if low else high / 2)
    return float(middle) if high > low * (1 + within) and low < middle < high else 0.0


def bracket(verdicts: Mapping[float, Verdict]) -> tuple[float, float | None]:
    """Return the highest rate below all that broke it which kept it (0: none), and the lowest that broke it."""
    high = min((rate for rate, said in verdicts.items() if said == "broken"), default=None)
    kept = [rate for rate, said in verdicts.items() if said == "kept" and (high is None or rate < high)]
    return max(kept, default=0.0), high


def knee(loads: Sequence[OfferedLoad], slo: Slo, ended: str) -> Knee:
    """Return what the loads so far say."""
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


# -- the search as a campaign ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KneeSearch:
    """What must be kept, and how the loads are driven."""

    slo: Slo
    experiment: Experiment


@dataclass(frozen=True)
class Searched:
    """One cell's loads so far; its levels are without the rate. `ended` says why a search was given up."""

    cell: Cell
    loads: list[OfferedLoad]
    slo: Slo
    ended: str

    @property
    def next(self) -> float | Knee:
        """The rate to offer next, or what was found."""
        return step(self.loads, self.slo)

    @property
    def knee(self) -> Knee:
        """What the loads say, whether or not the search is over."""
        found = self.next
        return found if isinstance(found, Knee) else knee(self.loads, self.slo, self.ended or "it is not over")


def offered(record: Record) -> OfferedLoad:
    """Return the load of a record; its p99 is read off all its latencies."""
    return OfferedLoad(
        rate=float(record.levels[RATE]),
        achieved=record.summary["tps"].value,
        seconds=record.summary["total_time_s"].value,
        p99_ms=latency.percentile(record.histogram, 99),
    )


def cells(trials: Sequence[Trial]) -> list[Cell]:
    """Return where a knee is looked for: every workload of every table on every system.

    At its most threads, so that they are not the limit.
    """
    found: dict[_Searching, Cell] = {}
    for trial in trials:
        key = _searching(trial.cell)
        if key not in found or int(trial.cell.levels["threads"]) > int(found[key].levels["threads"]):
            found[key] = trial.cell
    return list(found.values())


def begun(campaign: Campaign, slo: Slo) -> Campaign:
    """The search of a campaign for this objective: the one that is there, or a new one, whose plan is written."""
    kept = {name: value for name, value in campaign.asked.items() if name not in _OTHERS}
    asked: Asked = {**kept, RATE: 0, "time_s": slo.time_s, "slo": slo.model_dump()}
    first = [_at(cell, 0.0) for cell in cells(campaign.trials)]
    trials = design.plan(first, 1, seed=campaign.plan.seed, asked=asked)
    folder = campaign.folder / FOLDER / design.digest(asked)
    return store.begin_at(folder, campaign.report, asked, trials, seed=campaign.plan.seed)


def latest(campaign: Campaign) -> Campaign | None:
    """Return the search of a campaign that was begun last and has a record; None where there is none."""
    return next((one for one in reversed(of(campaign)) if one.records()), None)


def of(campaign: Campaign) -> list[Campaign]:
    """Return the searches of a campaign, in the order in which they were begun. Raise PlanBroken."""
    plans = (campaign.folder / FOLDER).glob("*/plan.json")
    return sorted((Campaign(plan.parent) for plan in plans), key=lambda one: one.plan.made)


def searched(campaign: Campaign) -> list[Searched]:
    """Return every cell of a search with its loads, in the plan's order."""
    slo, ended = Slo.model_validate(campaign.asked["slo"]), campaign.environment().repetitions_ended
    loads = grouped(campaign.records(), _searching)
    first = [trial.cell for trial in campaign.trials[: campaign.planned]]
    return [
        Searched(_without_rate(cell), [offered(record) for record in loads.get(_searching(cell), [])], slo, ended)
        for cell in first
    ]


def run_search(
    campaign: Campaign,
    experiment: Experiment,
    listen: Listener,
    stop: Callable[[], bool] = lambda: False,
    *,
    tries: int = TRIES,
) -> None:
    """Measure until every cell is decided, or what was allowed is spent. `stop` and `tries`: as `run` has them."""

    def another() -> bool:
        ended, more = _next_round(campaign, time.time() - began)
        campaign.note(Environment(repetitions_ended=ended))
        if more:
            block = design.another_block(campaign.trials, more, seed=campaign.plan.seed, asked=campaign.asked)
            campaign.extend(block)
        return bool(more)

    began = time.time() - campaign.spent_s
    run(campaign, experiment, listen, another, stop, tries=tries)


def _next_round(campaign: Campaign, spent_s: float) -> tuple[str, list[Cell]]:
    """Return the cells of the next round, with their rates; without any, why the search has ended before its end."""
    if campaign.missing():
        return "a load failed", []
    each = searched(campaign)
    more = [_at(one.cell, rate) for one in each if not isinstance(rate := one.next, Knee)]
    most_min = each[0].slo.most_min
    if more and spent_s > 60 * most_min:
        return f"the {most_min:g} min that were allowed are over", []
    return "", more


def _at(cell: Cell, rate: float) -> Cell:
    # A whole rate: sysbench takes no other.
    return cell.model_copy(update={"levels": {**cell.levels, RATE: round(rate)}})


def _without_rate(cell: Cell) -> Cell:
    levels: Mapping[str, str | int | float] = cell.levels
    return cell.model_copy(update={"levels": {name: value for name, value in levels.items() if name != RATE}})


def _searching(one: Cell | Record) -> _Searching:
    rest = {name: level for name, level in one.levels.items() if name not in ("threads", RATE)}
    return one.system, one.table, tuple(sorted(rest.items()))
