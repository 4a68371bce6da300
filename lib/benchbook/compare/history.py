"""Campaigns that repeat a compared one (A/A): what campaigns of one system on one inventory differ by anyway.

Every recorded campaign of the same report on the same inventory counts, if the gate finds no difference between the two
environments: nothing has to be kept by hand. One that should not count is named in `without`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchbook.campaign.store import Campaign, readable, recorded
from benchbook.compare import cells, gate
from benchbook.compare.cells import CELL, GROUP, Group
from benchbook.errors import counted
from benchbook.stats.campaign_effect import STATED, CampaignEffect, Repeats, campaign_effects, stated
from benchbook.user_input.choices import one_of


@dataclass(frozen=True)
class Other:
    """Another campaign of the report on this inventory, and the facts in which its environment differs (none: A/A)."""

    campaign: Campaign
    differs: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class History:
    """`campaigns` that repeat a compared one; `values`: [*CELL, campaign (id), stratum, value], a row per trial.

    Campaigns of one stratum repeat each other.
    """

    campaigns: tuple[Campaign, ...]
    values: pd.DataFrame

    def effects(self, compared: pd.DataFrame, effect: float = STATED) -> dict[Group, CampaignEffect]:
        """Return the variance component of each group of cells in `compared` (with the columns CELL).

        Where no two campaigns of one side repeat it, it is `effect` as it is stated; none where that is 0.
        """
        wanted = compared[CELL].drop_duplicates()
        known = self.values[self.values.value > 0].merge(wanted, on=CELL)
        cells_of = Counter(Group(*key) for key in wanted[GROUP].itertuples(index=False, name=None))
        groups = [(Group(*map(str, key)), part) for key, part in known.groupby(GROUP, sort=False)]
        repeats = {group: _repeats(part, cells_of[group]) for group, part in groups}
        seen = campaign_effects({group: found for group, found in repeats.items() if found is not None}, effect)
        return {**(dict.fromkeys(cells_of, stated(effect)) if effect else {}), **seen}

    def sentence(self, effects: Mapping[Group, CampaignEffect]) -> str:
        """Return how many campaigns stand behind a comparison and what they differ by, or what is taken for it."""
        spreads = [effect.variance**0.5 for effect in effects.values()] or [0.0]
        spread = " to ".join(dict.fromkeys(f"{value:.1%}" for value in (min(spreads), max(spreads))))
        counted = "(standard deviation, on top of repetitions). Intervals and tests count it."
        campaigns = [effect.campaigns for effect in effects.values() if effect.campaigns]
        if not campaigns:
            taken = f"Campaigns of one system are taken to differ by {spread} {counted} --campaign-effect sets it."
            none = "No history: no two other campaigns of one side are recorded on this inventory"
            return f"{none} ({len(self.campaigns)} found). {taken}"
        return (
            f"History: {_span(campaigns)} other campaigns repeat these two on this inventory. From one to the next the "
            f"same cell differs by {spread} {counted}"
        )


def _span(values: Sequence[int]) -> str:
    return " to ".join(dict.fromkeys(map(str, (min(values), max(values)))))


def _repeats(part: pd.DataFrame, cells_in_group: int) -> Repeats | None:
    """Of one group: the campaigns that have all of its cells count, so that each speaks of the same ones."""
    logs = part.assign(log=np.log(part.value)).groupby(["stratum", "campaign", "levels"]).log
    means, errors2 = logs.mean().unstack(), (logs.var(ddof=1) / logs.size()).unstack()
    whole = means.notna().all(axis=1)
    if means.shape[1] < cells_in_group or not whole.any():
        return None
    return Repeats(means[whole], errors2[whole])


def around(
    a: Campaign, b: Campaign, systems: Mapping[str, str], metrics: Sequence[str] = (), without: Sequence[str] = ()
) -> History:
    """Return the history behind a comparison: what repeats `a` or `b`, and neither of the two.

    They must not count: the difference that is tested would make its own variance. Raise BadInput for a name in
    `without` that no campaign has.
    """
    _check_known(without)
    left_out = {a.id, b.id, *without}
    sides = ((a, systems), (b, {theirs: theirs for theirs in systems.values()}))
    found: dict[str, tuple[Campaign, str]] = {}
    for stratum, (campaign, names) in zip("ab", sides, strict=True):
        for other in others(campaign, names):
            if not other.differs and other.campaign.id not in {*left_out, *found}:
                found[other.campaign.id] = other.campaign, stratum
    named = {"a": cells.names_of(systems), "b": cells.names_of_other(systems)}
    parts = [_values(campaign, stratum, named[stratum], metrics) for campaign, stratum in found.values()]
    return History(tuple(campaign for campaign, _ in found.values()), _together(parts))


@dataclass(frozen=True, eq=False)
class Listing:
    """The history that `campaign` belongs to, itself included, and every other campaign on its inventory."""

    campaign: Campaign
    others: tuple[Other, ...]
    history: History
    effects: dict[Group, CampaignEffect]

    def sentence(self) -> str:
        """Return how many campaigns repeat each other, and whether a comparison of two of them has a history."""
        count, report = len(self.history.campaigns), self.campaign.report
        if count < 2:
            return (
                f"No other campaign of {report} on this inventory repeats {self.campaign.id}. A comparison needs two "
                "others as its history."
            )
        left = max(count - 2, 0)
        enough = "they count." if left > 1 else "two are needed to count."
        return (
            f"{count} campaigns of {report} repeat each other on this inventory. A comparison of two of them has "
            f"{counted(left, 'other')} as its history: {enough}"
        )


def listed(campaign: Campaign, metrics: Sequence[str] = (), without: Sequence[str] = ()) -> Listing:
    """What would stand behind comparisons with `campaign`. Raise BadInput for unknown metrics or names in `without`."""
    _check_known(without)
    cells.check_metrics(metrics, campaign.records())
    same, beside = same_systems(campaign), tuple(others(campaign))
    repeats = (*(other.campaign for other in beside if not other.differs), campaign)
    kept = tuple(sorted((one for one in repeats if one.id not in without), key=lambda one: one.place_in_time))
    found = History(kept, _together([_values(one, "a", same, metrics) for one in kept]))
    seen = {group: effect for group, effect in found.effects(found.values).items() if effect.campaigns}
    return Listing(campaign, beside, found, seen)


def effect_rows(effects: Mapping[Group, CampaignEffect]) -> list[dict[str, str]]:
    """Return what repeated campaigns differ by, a row to be read per table, system and metric."""
    return [
        {
            **group._asdict(),
            "campaigns": str(effect.campaigns),
            "standard deviation": f"{effect.variance**0.5:.1%}",
            "degrees of freedom": f"{effect.df:.1f}",
        }
        for group, effect in effects.items()
    ]


def others(campaign: Campaign, systems: Iterable[str] = ()) -> list[Other]:
    """Return the other recorded campaigns of its report on its inventory, oldest first, held against it by the gate."""
    names = {name: name for name in systems} or same_systems(campaign)
    beside = readable(folder for folder in recorded(campaign.report) if folder.name != campaign.id)
    here = [one for one in beside if one.asked.get("inventory") == campaign.asked.get("inventory")]
    return [Other(one, tuple(gate.check(campaign, one, names).names)) for one in here]


def same_systems(campaign: Campaign) -> dict[str, str]:
    """Return the systems that were measured, each under its own name."""
    return {name: name for name in dict.fromkeys(record.system for record in campaign.records())}


def _values(campaign: Campaign, stratum: str, names: Mapping[str, str], metrics: Sequence[str]) -> pd.DataFrame:
    return cells.values(campaign, names, metrics).assign(campaign=campaign.id, stratum=stratum)


def _together(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    if not parts:
        return pd.DataFrame(columns=[*CELL, "campaign", "stratum", "value"])
    return pd.concat(parts, ignore_index=True)


def _check_known(without: Sequence[str]) -> None:
    known = [folder.name for folder in recorded()]
    for name in without:
        one_of(name, known, "campaign", problem="no such recorded campaign", key="without")
