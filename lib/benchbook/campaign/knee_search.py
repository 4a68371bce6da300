"""The search for the knee as trials: a round of loads, a rate for each cell that is not decided, until all are.

A search is a campaign of its own in the folder of the campaign that it belongs to (`knee/`): its trials are recorded as
any others, with the offered rate as a level, and nothing of the campaign's own tables and claims knows of them. What it
has found is read off its records each time, so that one that was interrupted goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchbook.campaign import design, store
from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.environment import Asked, Environment
from benchbook.campaign.experiment import Experiment
from benchbook.campaign.knee_asked import FOLDER, RATE
from benchbook.campaign.progress import Listener
from benchbook.campaign.record import Record
from benchbook.campaign.retry_policy import TRIES
from benchbook.campaign.run import run
from benchbook.campaign.store import Campaign
from benchbook.grouping import grouped
from benchbook.knee import search
from benchbook.knee.offered_load import OfferedLoad
from benchbook.knee.search import Knee
from benchbook.knee.slo import Slo
from benchbook.stats import latency

# Of the conditions of a campaign, those that are none of a search in it.
_OTHERS = ("repeat",)
# System, table, and every level but the two that a search sets: what is searched by itself.
_Searching = tuple[str, str, tuple[tuple[str, str | int | float], ...]]


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
        return search.step(self.loads, self.slo)

    @property
    def knee(self) -> Knee:
        """What the loads say, whether or not the search is over."""
        found = self.next
        return found if isinstance(found, Knee) else search.knee(self.loads, self.slo, self.ended or "it is not over")


def offered(record: Record) -> OfferedLoad:
    """The load of a record; its p99 is read off all its latencies."""
    return OfferedLoad(
        rate=float(record.levels[RATE]),
        achieved=record.summary["tps"].value,
        seconds=record.summary["total_time_s"].value,
        p99_ms=latency.percentile(record.histogram, 99).value,
    )


def cells(trials: Sequence[Trial]) -> list[Cell]:
    """Where a knee is looked for: every workload of every table on every system.

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
    """The search of a campaign that was begun last and has a record; None where there is none."""
    return next((one for one in reversed(of(campaign)) if one.records()), None)


def of(campaign: Campaign) -> list[Campaign]:
    """The searches of a campaign, in the order in which they were begun. Raises PlanBroken."""
    plans = (campaign.folder / FOLDER).glob("*/plan.json")
    return sorted((Campaign(plan.parent) for plan in plans), key=lambda one: one.plan.made)


def searched(campaign: Campaign) -> list[Searched]:
    """Every cell of a search with its loads, in the plan's order."""
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
        ended, more = _next(campaign, time.time() - began)
        campaign.note(Environment(repetitions_ended=ended))
        if more:
            block = design.another_block(campaign.trials, more, seed=campaign.plan.seed, asked=campaign.asked)
            campaign.extend(block, [])
        return bool(more)

    began = time.time() - campaign.spent_s
    run(campaign, experiment, listen, another, stop, tries=tries)


def _next(campaign: Campaign, spent_s: float) -> tuple[str, list[Cell]]:
    """The cells of the next round, with their rates; without any, why the search has ended before its end."""
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
