"""From a recorded campaign to its claims with verdicts: reads from top to bottom."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from benchbook.analysis import results
from benchbook.campaign.environment import Asked
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.claims import along, between, evidence, ledger_check, together, words
from benchbook.claims.decide import Decision, decide
from benchbook.claims.evidence import PUBLISHED, Evidence, NotMeasured, Tables
from benchbook.claims.ledger import Claim, Correlates, Dominates, Ledger, Order, Ratio
from benchbook.claims.parts import Part, interval
from benchbook.errors import BenchbookError
from benchbook.published.tables import Published


@dataclass(frozen=True)
class JudgedSystem:
    """A judged system: its name, what to call it in a sentence, what stands in for what, and what was asked for."""

    name: str
    title: str = ""
    stand_ins: list[str] = field(default_factory=list)
    asked: Asked = field(default_factory=dict)

    @property
    def called(self) -> str:
        return self.title or self.name


def of_campaign(
    campaign: Campaign, published: Published, tables: Tables, compared: Callable[[Sequence[Record]], Sequence[Record]]
) -> list[results.JudgedClaim]:
    """Every claim of the report's ledger on every system of the campaign; empty without a ledger. Raises BadInput.

    Where repetitions are added until claims are decided, each look at them gets an equal share of the ledger's alpha
    (Bonferroni), or looking often would make claims look decided.
    """
    ledger = ledger_check.load(published)
    if ledger is None:
        return []
    found = evidence.measured(published, tables, compared(campaign.records()), campaign.trials)
    systems = [_system(name, campaign) for name in found.systems] or [JudgedSystem("", asked=campaign.asked)]
    return [claim for system in systems for claim in judge(ledger, published, found, system, looks=campaign.looks)]


def judge(
    ledger: Ledger, published: Published, found: Evidence, system: JudgedSystem, *, looks: int = 1
) -> list[results.JudgedClaim]:
    """The ledger's claims on one system: the family over which Holm corrects."""
    parts: dict[str, list[Part]] = {}
    reasons: dict[str, tuple[str, str]] = {}
    for claim in ledger.claims:
        try:
            _refuse_conditions(claim, system)
            parts[claim.id] = parts_of(claim, published, found, system.name)
        except NotTestable as reason:
            reasons[claim.id] = (str(reason), reason.needs)
        except NotMeasured as reason:
            reasons[claim.id] = (str(reason), "a campaign that measures this")
    decisions = dict(zip(parts, decide(list(parts.values()), alpha=ledger.alpha / looks), strict=True))
    return [
        _judged(claim, system, decisions[claim.id], parts[claim.id])
        if claim.id in parts
        else _not_testable(claim, system, *reasons[claim.id])
        for claim in ledger.claims
    ]


class NotTestable(BenchbookError):
    """A condition under which the ledger says that a claim has no meaning; `needs` says what would decide it."""

    def __init__(self, why: str, needs: str) -> None:
        super().__init__(why)
        self.needs = needs


def _refuse_conditions(claim: Claim, system: JudgedSystem) -> None:
    for condition in claim.not_here:
        if condition.applies(system.name, system.asked):
            raise NotTestable(condition.why, condition.needs)


def parts_of(claim: Claim, published: Published, found: Evidence, system: str) -> list[Part]:
    """The comparisons that a claim is made of, each with its published effect. Raises NotMeasured."""
    printed = evidence.as_published(published)
    mine, theirs = (_parts(claim, published, *arms) for arms in ((found, system), (printed, PUBLISHED)))
    for part in mine:
        if not part.n:
            raise NotMeasured(f"no repetition has all of: {part.what}")
    return [part.published_as(other.mean) for part, other in zip(mine, theirs, strict=True)]


def _parts(claim: Claim, published: Published, found: Evidence, system: str) -> list[Part]:
    lookup = partial(found.values, system=system)
    if isinstance(claim, Correlates):
        return together.parts(claim, published, found, system)
    if isinstance(claim, Ratio | Order | Dominates):
        printed = partial(evidence.as_published(published).values, system=PUBLISHED)
        return between.parts(claim, published, lookup, printed)
    return along.parts(claim, published, lookup)


def agrees_with_its_table(claim: Claim, published: Published) -> bool:
    """Whether the published figures themselves, taken as exact, satisfy the claim."""
    printed = evidence.as_published(published)
    return all(part.inside(part.mean) for part in _parts(claim, published, printed, PUBLISHED))


def _system(name: str, campaign: Campaign) -> JudgedSystem:
    about = campaign.environment().systems
    arms = {trial.cell.system for trial in campaign.trials}
    # The systems that another arm is about are no part of this one.
    mine = [s for key, s in about.items() if key == name or key not in arms]
    pairs = [(s.stand_in_for, s.title) for s in mine if s.stand_in_for]
    stand_ins = [_stand_in(what, [title for other, title in pairs if other == what]) for what in dict(pairs)]
    return JudgedSystem(name, about[name].title if name in about else "", stand_ins, campaign.asked)


def _stand_in(what: str, titles: list[str]) -> str:
    names = list(dict.fromkeys(titles))
    return f"{' and '.join(names)} {'stands' if len(names) == 1 else 'stand'} in for {what}"


def _judged(claim: Claim, system: JudgedSystem, decision: Decision, parts: Sequence[Part]) -> results.JudgedClaim:
    part = decision.part
    low, high = (part.shown(bound) for bound in interval(part, decision.alpha))
    tested = not math.isnan(decision.p_value)
    said = [words.sentence(decision, system.called, len(parts)), claim.own_table, *(f"{s}." for s in system.stand_ins)]
    return results.JudgedClaim(
        **_head(claim, system),
        verdict=decision.verdict,
        what=part.what,
        effect=part.shown(part.mean),
        unit=words.unit(part),
        interval=(_finite(low), _finite(high)) if part.n > 1 else None,
        confidence=1 - decision.alpha if part.n > 1 else None,
        region=_region(part),
        n=part.n,
        published=_finite(part.shown(part.published)),
        p_value=decision.p_value if tested else None,
        decide=words.decides(decision),
        needed=decision.needed,
        sentence=" ".join(filter(None, said)),
        parts=[_part(p) for p in parts],
    )


def _part(part: Part) -> results.ClaimPart:
    return results.ClaimPart(
        what=part.what,
        effect=_finite(part.shown(part.mean)),
        region=_region(part),
        n=part.n,
        published=_finite(part.shown(part.published)),
    )


def _not_testable(claim: Claim, system: JudgedSystem, why: str, needs: str) -> results.JudgedClaim:
    said = f"Not testable here: {why}."
    return results.JudgedClaim(**_head(claim, system), verdict="not testable here", decide=needs, sentence=said)


def _head(claim: Claim, system: JudgedSystem) -> dict[str, Any]:
    return {
        "id": claim.id,
        "statement": claim.statement,
        "where": claim.where,
        "system": system.name,
        "hypothesis": words.tested_as(claim),
    }


def _region(part: Part) -> results.Bounds:
    low, high = (_finite(part.shown(bound)) if math.isfinite(bound) else None for bound in (part.low, part.high))
    return low, high


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
