"""The campaigns of one report, inventory and profile: their cells over time, and who changed at each change."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict
from scipy import stats

from benchbook import published
from benchbook.campaign.store import Campaign
from benchbook.compare import gate, history
from benchbook.compare.catalogue import Catalogue
from benchbook.compare.cells import CELL, check_metrics, direction, values
from benchbook.compare.history import Listing, same_systems
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
    mine = Catalogue(asked.report).runs()
    if mine.empty:
        one_of(asked.report, published.known_reports(), "report")
        fix = f"run it: benchbook report {asked.report}"
        raise BadInput("nothing has been recorded of this report", key="report", value=asked.report, fix=fix)
    where: dict[str, str] = {}
    for column, value in (("inventory", asked.inventory), ("profile", asked.profile)):
        where[column] = one_of(value or str(mine[column].iloc[-1]), sorted(set(mine[column])), column)
        mine = mine[mine[column] == where[column]]
    campaigns = [Campaign(Path(folder)) for folder in mine.folder]
    check_metrics(asked.metric, [record for campaign in campaigns for record in campaign.records()])
    every = [values(c, same_systems(c), asked.metric).assign(campaign=c.id) for c in campaigns]
    found = points(pd.concat(every))
    return ReportHistory(asked.report, **where, campaigns=mine, points=found, changes=changes(found))


def points(found: pd.DataFrame) -> pd.DataFrame:
    """[*POINTS]: a row per cell, metric and campaign of [*CELL, campaign, value], campaigns in the order of time.

    `low` and `high` are a 95% Student interval over repetitions, missing below two of them; `log` is the mean of
    their logarithms and `variance` that of one of them. Values that are not above 0 have no logarithm: left out.
    """
    known = found[found.value > 0]
    known = known.assign(log=np.log(known.value), cell=known.groupby(CELL, sort=False).ngroup())
    grouped = known.sort_values("cell", kind="stable").groupby([*CELL, "campaign"], sort=False)
    value = {"mean": ("value", "mean"), "std": ("value", "std"), "n": ("value", "size")}
    found = grouped.agg(**value, log=("log", "mean"), variance=("log", "var"))
    half = stats.t.ppf(0.975, np.maximum(found.n - 1, 1)) * found["std"] / np.sqrt(found.n)
    return found.assign(low=found["mean"] - half, high=found["mean"] + half).reset_index()[POINTS]


def changes(found: pd.DataFrame) -> pd.DataFrame:
    """[*CHANGES]: a row per change of a cell's level, from campaign `before` to `campaign`. `found` as `points`.

    `called`: faster, slower, or changed where the unit does not say which side is better.
    """
    groups = list(found.groupby(CELL, sort=False, observed=True))
    rows = [
        {**dict(zip(CELL, key, strict=True)), **_row(part, change, str(key[-1]))}
        for key, part in groups
        for change in level_changes(
            part.log.to_numpy(), list(zip(part.n, part.variance, strict=True)), alpha=_ALPHA / len(groups)
        )
    ]
    return pd.DataFrame(rows, columns=CHANGES)


def _row(part: pd.DataFrame, change: LevelChange, unit: str) -> dict[str, object]:
    names = part.campaign.tolist()
    return {
        "before": names[change.at - 1],
        "campaign": names[change.at],
        **{name: getattr(change, name) for name in ("ratio", "low", "high", "p_value")},
        "called": direction(unit, change.ratio),
    }
