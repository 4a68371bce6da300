"""The campaigns of one report, inventory and profile: their cells over time, and who changed at each change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict
from scipy import stats

from benchbook import published
from benchbook.analysis.trials import level_columns
from benchbook.campaign.store import Campaign
from benchbook.compare import gate, history
from benchbook.compare.catalogue import Catalogue
from benchbook.compare.cells import CELL, direction, metrics_of, published_metrics
from benchbook.compare.history import Listing
from benchbook.errors import BadInput, counted
from benchbook.stats.level_changes import LEAST_CAMPAIGNS, LevelChange, level_changes
from benchbook.user_input.choices import one_of

NOTEBOOK = "history"
"""The notebook that shows it: not a report, so `make report` does not run it; `benchbook history --page` does."""
POINTS = [*CELL, "campaign", "mean", "low", "high", "n", "log", "variance"]
# The chance that any change is told where nothing changed, over all cells.
_ALPHA = 0.05
CHANGES = [*CELL, "before", "campaign", "ratio", "low", "high", "p_value", "called"]
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
    """`campaigns`: rows of `benchbook.runs()`, oldest first; `points` and `changes` as the functions below do them."""

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
        """Return how many campaigns, of what, and how many changes hold."""
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
    """Raise BadInput for an unknown report or one without a campaign.

    So it does for an inventory, a profile or a metric that none of its campaigns has.
    """
    catalogue = Catalogue(asked.report)
    mine = catalogue.runs()
    if mine.empty:
        one_of(asked.report, published.known_reports(), "report")
        fix = f"run it: benchbook report {asked.report}"
        raise BadInput("nothing has been recorded of this report", key="report", value=asked.report, fix=fix)
    where: dict[str, str] = {}
    for column, value in (("inventory", asked.inventory), ("profile", asked.profile)):
        where[column] = one_of(value or str(mine[column].iloc[-1]), sorted(set(mine[column])), column)
        mine = mine[mine[column] == where[column]]
    trials = catalogue.trials()
    trials = trials[trials.campaign.isin(list(mine.campaign))]
    found = points(trials, _wanted(asked.report, trials, asked.metric))
    return ReportHistory(asked.report, **where, campaigns=mine, points=found, changes=changes(found))


def _wanted(report: str, trials: pd.DataFrame, metrics: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Table -> the metrics that it is looked at by: those that were asked for, else those that `compare` takes."""
    for name in metrics:
        one_of(name, trials.attrs["metrics"], "metric")
    printed = published_metrics(report)
    there = {str(table): mine for table, mine in trials.groupby("table", observed=True)}
    order = [*(table for table in printed if table in there), *sorted(there.keys() - printed.keys())]
    return {table: metrics or metrics_of(table, _recorded(there[table]), printed) for table in order}


def _recorded(trials: pd.DataFrame) -> dict[str, str]:
    """Return the metrics that any of these trials has, with their units."""
    units = trials.attrs["units"]
    return {name: units[name] for name in trials.attrs["metrics"] if trials[name].notna().any()}


def points(trials: pd.DataFrame, wanted: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """[*POINTS]: a row per cell, metric and campaign of `catalogue().trials()`; `wanted`: table -> its metrics.

    `low` and `high` are a 95% Student interval over repetitions, missing below two of them; `log` is the mean of
    their logarithms and `variance` that of one of them. Values that are not above 0 have no logarithm: left out.
    """
    long = _long(trials, wanted)
    if long.empty:
        return pd.DataFrame(columns=POINTS)
    keys = [*CELL, "campaign"]
    grouped = long.assign(log=np.log(long.value)).groupby(keys, sort=False, observed=True)
    found = grouped.agg(mean=("value", "mean"), std=("value", "std"), n=("value", "size"), log=("log", "mean"))
    half = stats.t.ppf(0.975, np.maximum(found.n - 1, 1)) * found["std"] / np.sqrt(found.n)
    found = found.assign(low=found["mean"] - half, high=found["mean"] + half, variance=grouped.log.var())
    return found.reset_index()[POINTS]


def _long(trials: pd.DataFrame, wanted: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """[*CELL, campaign, value], cells in the order of the report and by rising levels, campaigns in that of time."""
    units: Mapping[str, str] = trials.attrs["units"]
    levels = level_columns(trials)
    known = trials.assign(levels=_in_words(trials, levels), place=trials["table"].map(_places(wanted)))
    known = known.sort_values(["place", "table", "system", *levels, "campaign", "order"], kind="stable")
    parts = [
        known.assign(metric=metric, unit=units[metric], value=known[metric])[
            known["table"].map(lambda table, metric=metric: metric in wanted.get(str(table), ())).astype(bool)
            & (known[metric] > 0)
        ]
        for metric in dict.fromkeys(name for names in wanted.values() for name in names)
        if metric in known and metric in units
    ]
    columns = [*CELL, "campaign", "value"]
    if not parts:
        return pd.DataFrame(columns=columns)
    return pd.concat(parts, ignore_index=True)[columns].astype({"table": str, "system": str, "campaign": str})


def _places(wanted: Mapping[str, Sequence[str]]) -> dict[str, int]:
    return {table: place for place, table in enumerate(wanted)}


def _in_words(trials: pd.DataFrame, levels: Sequence[str]) -> list[str]:
    """Return the levels of each trial as `compare` has them: one that only repeats the table's name says nothing."""
    columns = [[_text(value) for value in trials[name].astype(object)] for name in levels]
    tables = trials["table"].astype(str)
    rows = zip(*columns, strict=True) if columns else [()] * len(trials)
    return [
        ", ".join(f"{name} {value}" for name, value in zip(levels, row, strict=True) if value and value != table)
        for row, table in zip(rows, tables, strict=True)
    ]


def _text(value: Any) -> str:
    """As it was set: a whole number is one with a point where other trials lack the level."""
    if pd.isna(value):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def changes(found: pd.DataFrame) -> pd.DataFrame:
    """[*CHANGES]: a row per change of a cell's level, from campaign `before` to `campaign`. `found` as `points`.

    `called`: faster, slower, or changed where the unit does not say which side is better.
    """
    groups = list(found.groupby(CELL, sort=False, observed=True))
    rows = [
        {**dict(zip(CELL, key, strict=True)), **_row(part, change, str(key[-1]))}
        for key, part in groups
        for change in level_changes(part.log.to_numpy(), _spreads(part), alpha=_ALPHA / len(groups))
    ]
    return pd.DataFrame(rows, columns=CHANGES)


def _spreads(part: pd.DataFrame) -> list[tuple[int, float]]:
    return list(zip(part.n.tolist(), part.variance.tolist(), strict=True))


def _row(part: pd.DataFrame, change: LevelChange, unit: str) -> dict[str, object]:
    names = part.campaign.tolist()
    return {
        "before": names[change.at - 1],
        "campaign": names[change.at],
        "ratio": change.ratio,
        "low": change.low,
        "high": change.high,
        "p_value": change.p_value,
        "called": direction(unit, change.ratio),
    }
