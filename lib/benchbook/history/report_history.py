"""The campaigns of one report, inventory and profile: their cells over time, and who changed at each change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd
from pydantic import BaseModel, ConfigDict

from benchbook import published
from benchbook.campaign.store import Campaign
from benchbook.compare import gate, history
from benchbook.compare.cells import CELL, metrics_of, published_metrics
from benchbook.compare.history import Listing
from benchbook.errors import BadInput, counted
from benchbook.given.named import one_of
from benchbook.history import cell_history
from benchbook.history.cell_history import FIXED
from benchbook.memory import recorded_runs
from benchbook.stats.level_changes import LEAST_CAMPAIGNS

DIFFERENCES = ["before", "campaign", "fact", "place", "was", "became"]


class HistoryParameters(BaseModel):
    """`report` whose campaigns; `inventory` and `profile`: those of its latest unless given; `metric` as published."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    report: str
    inventory: str = ""
    profile: str = ""
    metric: list[str] = []


@dataclass(frozen=True, eq=False)
class ReportHistory:
    """`campaigns`: rows of `benchbook.runs()`, oldest first; `points` and `changes` as `cell_history` makes them."""

    report: str
    inventory: str
    profile: str
    campaigns: pd.DataFrame
    points: pd.DataFrame
    changes: pd.DataFrame

    def __repr__(self) -> str:
        return f"<ReportHistory: {self.sentence()}>"

    @property
    def too_few(self) -> bool:
        """Whether there are fewer campaigns than could show a change: then nothing is known of levels."""
        return len(self.campaigns) < LEAST_CAMPAIGNS

    def sentence(self) -> str:
        """How many campaigns, of what, and how many changes hold."""
        count, cells = len(self.campaigns), self.points.groupby(CELL, observed=True).ngroups
        where = f"{self.report} on {self.inventory}, profile {self.profile}"
        of = f"{counted(count, 'campaign')} of {where}, {counted(cells, 'cell')}"
        if self.too_few:
            return f"{of}: {LEAST_CAMPAIGNS} campaigns are the least that can show a change."
        steps = self.changes.campaign.nunique()
        said = ", ".join(f"{n} {called}" for called, n in self.changes.called.value_counts().items())
        return f"{of}: {f'the level changed at {steps} of them ({said})' if steps else 'no level has changed'}."

    @cached_property
    def differences(self) -> pd.DataFrame:
        """[*DIFFERENCES]: every recorded fact that changed where a level did, from the campaign before to the first of
        the new level, in the words of `benchbook compare`.
        """
        pairs = self.changes[["before", "campaign"]].drop_duplicates()
        rows = [row for pair in pairs.itertuples(index=False, name=None) for row in self._differences(*pair)]
        return pd.DataFrame(rows, columns=DIFFERENCES)

    def _differences(self, before: str, campaign: str) -> list[dict[str, str]]:
        a, b = self._campaign(before), self._campaign(campaign)
        systems = {name: name for name in a.environment().systems if name in b.environment().systems}
        return [
            {"before": before, "campaign": campaign, "fact": d.name, "place": d.where, "was": d.a, "became": d.b}
            for d in gate.check(a, b, systems).differences
        ]

    @cached_property
    def repeats(self) -> Listing:
        """The latest campaign's history of repeated campaigns, which `compare` counts."""
        return history.listed(self._campaign(self.campaigns.campaign.iloc[-1]))

    def _campaign(self, name: str) -> Campaign:
        from_here = dict(zip(self.campaigns.campaign, self.campaigns.folder, strict=True))
        return Campaign(Path(from_here[name]))


def report_history(asked: HistoryParameters) -> ReportHistory:
    """Raises BadInput for an unknown report or one without a campaign.

    So it does for an inventory, a profile or a metric that none of its campaigns has.
    """
    known = recorded_runs.runs(asked.report)
    if known.empty:
        one_of(asked.report, published.known_reports(), "report")
        fix = f"run it: make report REPORT={asked.report}"
        raise BadInput("nothing has been recorded of this report", key="report", value=asked.report, fix=fix)
    mine = pd.DataFrame(known)
    where: dict[str, str] = {}
    for column, value in (("inventory", asked.inventory), ("profile", asked.profile)):
        where[column] = one_of(value or str(mine[column].iloc[-1]), sorted(set(mine[column])), column)
        mine = mine[mine[column] == where[column]]
    trials = known.trials()
    trials = trials[trials.campaign.isin(list(mine.campaign))]
    found = cell_history.points(trials, _wanted(asked.report, trials, asked.metric))
    return ReportHistory(asked.report, **where, campaigns=mine, points=found, changes=cell_history.changes(found))


def _wanted(report: str, trials: pd.DataFrame, metrics: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Table -> the metrics that it is looked at by: those that were asked for, else those that `compare` takes."""
    for name in metrics:
        one_of(name, [column for column in trials.columns if column in trials.attrs["units"]], "metric")
    printed = published_metrics(report)
    there = {str(table): mine for table, mine in trials.groupby("table", observed=True)}
    order = [*(table for table in printed if table in there), *sorted(there.keys() - printed.keys())]
    return {table: metrics or metrics_of(table, _recorded(there[table]), printed) for table in order}


def _recorded(trials: pd.DataFrame) -> dict[str, str]:
    """The metrics that any of these trials has, with their units."""
    named = {name: unit for name, unit in trials.attrs["units"].items() if name not in FIXED and name in trials}
    return {name: unit for name, unit in named.items() if trials[name].notna().any()}
