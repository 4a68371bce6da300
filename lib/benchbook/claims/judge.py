"""From a recorded campaign to its claims with verdicts: reads from top to bottom."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from benchbook.analysis import cpu_use, headroom, results
from benchbook.analysis.headroom import BusyCell
from benchbook.campaign.environment import Asked
from benchbook.campaign.record import Record
from benchbook.campaign.scaled_levels import LevelScaling, as_published, published_levels, trials_as_published
from benchbook.campaign.store import Campaign
from benchbook.claims import evidence, ledger_check, level_steps, own_drift, room, spreads, taken_cpu, words
from benchbook.claims.ahead import chances
from benchbook.claims.decide import Decision, decide
from benchbook.claims.evidence import Evidence, NotMeasured, Tables
from benchbook.claims.figure_spreads import RepeatedFigures
from benchbook.claims.hypothesis import Arm, Hypothesis
from benchbook.claims.ledger import Ledger
from benchbook.claims.parts import Part, interval
from benchbook.claims.room import NoRoom
from benchbook.claims.taken_cpu import CorrectedEvidence
from benchbook.errors import BenchbookError
from benchbook.published.tables import Published


@dataclass(frozen=True)
class JudgedSystem:
    """A judged system: its name, what to call it in a sentence, what stands in for what, and what was asked for.

    `fewer`: what of a stand-in is one where the published system had several. `beside`: what the campaign's other
    systems stand in for, by name, for claims that are about several of them.
    """

    name: str
    title: str = ""
    stand_ins: list[str] = field(default_factory=list)
    fewer: str = ""
    asked: Asked = field(default_factory=dict)
    beside: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def called(self) -> str:
        return self.title or self.name


def of_campaign(
    campaign: Campaign, published: Published, tables: Tables, compared: Callable[[Sequence[Record]], Sequence[Record]]
) -> list[results.JudgedClaim]:
    """Every claim of the report's ledger on every system of the campaign; empty without a ledger. Raises BadInput.

    Where repetitions are added for claims that are open, each look at them gets an equal share of the ledger's alpha
    (Bonferroni), or looking again would make claims look decided.
    """
    ledger = ledger_check.load(published)
    if ledger is None:
        return []
    recorded = campaign.records()
    records = as_published(recorded, campaign.scaling)
    trials = trials_as_published(campaign.trials, campaign.scaling)
    found = evidence.measured(published, tables, compared(records), trials)
    tables_with_room = {term.table for claim in ledger.claims for term in claim.needs_room(published)}
    in_them = [record for record in recorded if record.table in tables_with_room]
    busy = _busy(campaign, in_them)
    systems = [_system(name, campaign) for name in found.systems] or [JudgedSystem("", asked=campaign.asked)]
    beside = {system.name: system.stand_ins for system in systems}
    return [
        claim
        for system in systems
        for claim in judge(
            ledger,
            published,
            found,
            replace(system, beside=beside),
            shares=campaign.shares,
            busy=busy,
            scaling=campaign.scaling,
        )
    ]


def _busy(campaign: Campaign, records: Sequence[Record]) -> list[BusyCell]:
    environment = campaign.environment()
    found = headroom.busy_cells(records, cpu_use.of_campaign(campaign), environment.machines)
    scaling = campaign.scaling
    return [replace(c, levels=published_levels(c.table, c.levels, scaling), ran=c.levels) for c in found]


def judge(
    ledger: Ledger,
    published: Published,
    found: Evidence,
    system: JudgedSystem,
    *,
    shares: int = 1,
    busy: Sequence[BusyCell] = (),
    scaling: LevelScaling | None = None,
) -> list[results.JudgedClaim]:
    """The ledger's claims on one system: the family over which Holm corrects.

    A claim that names the systems it compares is judged once, with those of the first one that it names. `busy` says
    how much CPU was in use in the cells, so that a machine without room contradicts no rise; `scaling`, which levels
    stand for the published ones.
    """
    evidences = taken_cpu.corrected(found, published)
    arm = Arm(published, evidences.without, system.name)
    claims = [claim for claim in ledger.claims if _belongs(claim, arm)]
    as_run = {claim.id: level_steps.at_equal_levels(claim, published, scaling) for claim in claims}
    reasons: dict[str, NotTestable] = {}
    parts: dict[str, list[Part]] = {}
    left_out: dict[str, str] = {}
    for claim in claims:
        try:
            _refuse_conditions(claim, arm, system)
            comparable = _comparable(parts_of(claim, arm, evidences, as_run[claim.id].claim), scaling)
            parts[claim.id], left_out[claim.id] = room.with_room(claim, comparable, arm, busy)
        except NotTestable as reason:
            reasons[claim.id] = reason
        except NotMeasured as reason:
            reasons[claim.id] = NotTestable(str(reason), reason.needs)
    compared = own_drift.widened(list(parts.values()), arm)
    parts = dict(
        zip(
            parts,
            spreads.moderated(compared, published, RepeatedFigures(arm.logs, arm.one_trial, arm.system_of)),
            strict=True,
        )
    )
    decisions = dict(zip(parts, decide(list(parts.values()), alpha=ledger.alpha, shares=shares), strict=True))
    notes: dict[str, str] = {}
    for claim in claims:
        if claim.id in parts:
            decision, run = decisions[claim.id], as_run[claim.id]
            seen = left_out[claim.id] or room.unseen(run.claim, decision, arm, busy)
            notes[claim.id] = " ".join(filter(None, (run.note, seen)))
            no_room = room.lacking(run.claim, decision, arm, busy, fewer=system.fewer)
            lacked = (
                no_room
                or level_steps.too_wide(decision, scaling)
                or room.too_alike(claim, decision, arm)
                or room.excused(claim, decision, system.name, system.asked)
            )
            if lacked:
                reasons[claim.id] = _measured_all_the_same(lacked, decision, run.note)
    judged = [
        _not_testable(claim, system, reasons[claim.id])
        if claim.id in reasons
        else _judged(claim, arm, system, decisions[claim.id], parts[claim.id], notes[claim.id])
        for claim in claims
    ]
    return [claim.model_copy(update={"alpha": ledger.alpha}) for claim in judged]


def _belongs(claim: Hypothesis, arm: Arm) -> bool:
    """A claim about certain systems belongs to the first of them; to every system's ledger if that was not planned."""
    named = claim.systems(arm)
    return not named or named[0] == arm.system or named[0] not in arm.evidence.systems


class NotTestable(BenchbookError):
    """A condition under which a claim has no meaning here; `needs` says what would decide it, `measured` what was."""

    def __init__(self, why: str, needs: str, measured: str = "") -> None:
        super().__init__(why)
        self.needs, self.measured = needs, measured


def _refuse_conditions(claim: Hypothesis, arm: Arm, system: JudgedSystem) -> None:
    stand_ins = _stand_ins(claim, arm, system)
    if found := claim.refused(system.name, system.asked, stand_ins):
        why = f"{found.why} ({'; '.join(stand_ins)})" if found.stand_ins else found.why
        raise NotTestable(why, found.needs)


def _comparable(parts: list[Part], scaling: LevelScaling | None) -> list[Part]:
    found = level_steps.unequal(parts, scaling)
    if found is not None:
        raise NotTestable(found.why, found.needs)
    return parts


def _measured_all_the_same(lacked: NoRoom, decision: Decision, note: str) -> NotTestable:
    measured = words.measured(decision) + words.published(decision.part)
    return NotTestable(lacked.why, lacked.needs, ". ".join(filter(None, (measured, note.removesuffix(".")))))


def parts_of(claim: Hypothesis, arm: Arm, evidences: CorrectedEvidence, as_run: Hypothesis | None = None) -> list[Part]:
    """The comparisons that a claim is made of, each with its published effect. Raises NotMeasured.

    `as_run`: the claim about the rows that were run here, where they are not the published ones.
    """
    mine = evidences.parts((as_run or claim).parts, arm)
    theirs = claim.parts(arm.printed())
    for part in mine:
        if not part.n:
            raise NotMeasured(f"no repetition has all of: {part.what}")
    return [part.published_as(other.mean) for part, other in zip(mine, theirs, strict=True)]


def _system(name: str, campaign: Campaign) -> JudgedSystem:
    about = campaign.environment().systems
    arms = {trial.cell.system for trial in campaign.trials}
    # The systems that another arm is about are no part of this one.
    mine = [s for key, s in about.items() if key == name or key not in arms]
    pairs = [(s.stand_in_for, s.title) for s in mine if s.stand_in_for]
    stand_ins = [_stand_in(what, [title for other, title in pairs if other == what]) for what in dict(pairs)]
    fewer = "; ".join(dict.fromkeys(s.fewer for s in mine if s.fewer))
    return JudgedSystem(name, about[name].title if name in about else "", stand_ins, fewer, campaign.asked)


def _stand_in(what: str, titles: list[str]) -> str:
    names = list(dict.fromkeys(titles))
    return f"{' and '.join(names)} {'stands' if len(names) == 1 else 'stand'} in for {what}"


def _stand_ins(claim: Hypothesis, arm: Arm, system: JudgedSystem) -> list[str]:
    """Of the judged system, and of the others that the claim is about."""
    others = [said for name in claim.systems(arm) if name != system.name for said in system.beside.get(name, [])]
    return list(dict.fromkeys([*system.stand_ins, *others]))


def _judged(
    claim: Hypothesis, arm: Arm, system: JudgedSystem, decision: Decision, parts: Sequence[Part], note: str
) -> results.JudgedClaim:
    part = decision.part
    low, high = (part.shown(bound) for bound in interval(part, decision.alpha))
    tested = not math.isnan(decision.p_value)
    said = [
        words.sentence(decision, system.called, parts),
        note,
        claim.own_table,
        *(f"{stand_in}." for stand_in in _stand_ins(claim, arm, system)),
    ]
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
        leaning=_finite(decision.leaning),
        chances=tuple(chances(parts, decision.alpha)) if tested and decision.verdict == "inconclusive" else (),
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


def _not_testable(claim: Hypothesis, system: JudgedSystem, why: NotTestable) -> results.JudgedClaim:
    measured = f" Measured all the same: {why.measured}." if why.measured else ""
    return results.JudgedClaim(
        **_head(claim, system),
        verdict="not testable here",
        reason=str(why),
        decide=why.needs,
        sentence=f"Not testable here: {why}.{measured}",
    )


def _head(claim: Hypothesis, system: JudgedSystem) -> dict[str, Any]:
    return {
        "id": claim.id,
        "statement": claim.statement,
        "where": claim.where,
        "system": system.name,
        "hypothesis": claim.tested_as(),
    }


def _region(part: Part) -> results.Bounds:
    low, high = (_finite(part.shown(bound)) if math.isfinite(bound) else None for bound in (part.low, part.high))
    return low, high


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
