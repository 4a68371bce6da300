"""What `compare --json` prints: a comparison, or the history of a campaign, for programs."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from benchbook.campaign.store import Campaign
from benchbook.compare import history
from benchbook.compare.cell_row import CellRow, Outcome
from benchbook.compare.cells import Effects
from benchbook.compare.pair import Comparison


class _Said(BaseModel):
    model_config = ConfigDict(frozen=True)


class CampaignJson(_Said):
    report: str
    campaign: str
    records: int


class DifferenceJson(_Said):
    """A fact in which two environments differ, with both values as text."""

    name: str
    where: str
    a: str
    b: str
    standing: str


class EffectJson(_Said):
    """What campaigns of the same system differ by, in the cells of one table, system and metric.

    `spread` is a standard deviation relative to the level, `df` the degrees of freedom that it is known with.
    """

    table: str
    system: str
    metric: str
    spread: float
    df: float
    campaigns: int


class HistoryJson(_Said):
    """`campaigns` are the ids that count; `differ` names, for others on the inventory, the facts that differ."""

    campaigns: list[str]
    effects: list[EffectJson]
    sentence: str
    differ: dict[str, list[str]] = {}


class ComparisonJson(_Said):
    """All of a comparison; every ratio is b / a, `margin` the share within which a difference does not matter."""

    a: CampaignJson
    b: CampaignJson
    verdict: str
    exit_status: int
    sentence: str
    margin: float
    counts: dict[Outcome, int]
    history: HistoryJson
    differences: list[DifferenceJson]
    cells: list[CellRow]
    left_out: list[str]
    lost: list[str]


def of_comparison(found: Comparison) -> ComparisonJson:
    """All of it."""
    return ComparisonJson(
        a=_campaign(found.a),
        b=_campaign(found.b),
        verdict=found.verdict,
        exit_status=found.exit_status,
        sentence=" ".join(filter(None, (found.sentence(), found.undecided()))),
        margin=found.margin,
        counts=found.counts,
        history=HistoryJson(
            campaigns=[one.id for one in found.history.campaigns],
            effects=_effects(found.effects),
            sentence=found.history_note(),
        ),
        differences=[DifferenceJson.model_validate(vars(difference)) for difference in found.gate.differences],
        cells=found.rows,
        left_out=found.left_out,
        lost=found.lost,
    )


def of_history(listing: history.Listing) -> HistoryJson:
    """The history of one campaign, and why other campaigns do not count."""
    return HistoryJson(
        campaigns=[one.id for one in listing.history.campaigns],
        effects=_effects(listing.effects),
        sentence=listing.sentence(),
        differ={other.campaign.id: list(other.differs) for other in listing.others if other.differs},
    )


def _effects(effects: Effects) -> list[EffectJson]:
    return [
        EffectJson(
            table=group.table,
            system=group.system,
            metric=group.metric,
            spread=effect.variance**0.5,
            df=effect.df,
            campaigns=effect.campaigns,
        )
        for group, effect in effects.items()
    ]


def _campaign(campaign: Campaign) -> CampaignJson:
    return CampaignJson(report=campaign.report, campaign=campaign.id, records=len(campaign.records()))
