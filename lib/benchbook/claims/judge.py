"""From a recorded campaign to its claims with verdicts: reads from top to bottom.

Each claim gets two answers. *Here*: does it hold, fail, or is it open on these hosts, from the repetitions alone
(decisions)? *For the report*: what could these hosts say of it whatever came out (capacity)? The verdict on a page is
the first where the second lets it be one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import pandas as pd

from benchbook.analysis import cpu_use, results
from benchbook.analysis.cpu_use import BusyCell
from benchbook.analysis.trials import figures_of, of_records
from benchbook.campaign.design import Trial
from benchbook.campaign.environment import ALIKE, IMPORTED, UNKNOWN, Asked
from benchbook.campaign.scaled_levels import LevelScaling, published_levels, trials_as_published
from benchbook.campaign.store import Campaign
from benchbook.claims import contrasts, decisions, evidence, ledger, verdict_text
from benchbook.claims.capacity import Capacity, Scope
from benchbook.claims.contrasts import Contrast
from benchbook.claims.decisions import Decision
from benchbook.claims.evidence import Evidence, NotMeasured
from benchbook.claims.figures import Term
from benchbook.claims.hypothesis import Hypothesis, SystemFigures
from benchbook.claims.ledger import Ledger
from benchbook.published.hardware import server_processors
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

    def stand_ins_of(self, claim: Hypothesis, figures: SystemFigures) -> list[str]:
        """Return those of the judged system, and of the others that the claim is about."""
        others = [said for name in claim.systems(figures) if name != self.name for said in self.beside.get(name, [])]
        return list(dict.fromkeys([*self.stand_ins, *others]))


class ReportKind(Protocol):
    """What puts the figures of a campaign in the terms of the published tables; a kind of report is one."""

    def figures(self, published: Published, figures: pd.DataFrame) -> pd.DataFrame:
        """Return the figures of the published tables."""

    def systems(self, published: Published, trials: Sequence[Trial]) -> list[str]:
        """Return the systems that stand beside the published tables."""


def of_campaign(campaign: Campaign, published: Published, kind: ReportKind) -> list[results.JudgedClaim]:
    """Return every claim of the report's ledger on every system of the campaign; empty without a ledger.

    Raise BadInput. Where repetitions are added for claims that are open, each look at them gets an equal share of the
    ledger's alpha (Bonferroni), or looking again would make claims look decided.
    """
    known = ledger.load(published)
    if known is None:
        return []
    found, busy = evidence_of(campaign, published, kind), busy_cells(campaign)
    judged = [system_of(name, campaign) for name in found.systems] or [JudgedSystem("", asked=campaign.asked)]
    beside = {system.name: system.stand_ins for system in judged}
    how: dict[str, Any] = {"shares": campaign.shares, "busy": busy, "scaling": campaign.scaling}
    how["published_cores"] = server_processors(published.report)
    return [
        claim for system in judged for claim in judge(known, published, found, replace(system, beside=beside), **how)
    ]


def evidence_of(campaign: Campaign, published: Published, kind: ReportKind) -> Evidence:
    """Return what a campaign has measured, in the terms of the published tables."""
    trials = trials_as_published(campaign.trials, campaign.scaling)
    figures = kind.figures(published, figures_of(of_records(campaign.records(), campaign.scaling)))
    return evidence.measured(figures, kind.systems(published, trials), trials)


def busy_cells(campaign: Campaign) -> list[BusyCell]:
    """Return how much CPU was in use in every cell of a campaign, by its published levels."""
    origin, use = campaign.plan.planned_from, cpu_use.of_campaign(campaign)
    hosts = origin.settings.get("hosts", {}) if origin else {}
    cpus = {name: said["cpus"] for name, said in hosts.items() if "cpus" in said}
    found = cpu_use.busy_cells(campaign.records(), use, campaign.environment(), cpus)
    scaling = campaign.scaling
    return [replace(c, levels=published_levels(c.table, c.levels, scaling), ran=c.levels) for c in found]


def judge(
    known: Ledger,
    published: Published,
    found: Evidence,
    system: JudgedSystem,
    *,
    shares: float = 1,
    busy: Sequence[BusyCell] = (),
    scaling: LevelScaling | None = None,
    published_cores: int | None = None,
) -> list[results.JudgedClaim]:
    """Return the ledger's claims on one system: the family over which Holm corrects.

    A claim that names the systems it compares is judged once, with those of the first one that it names. `busy` says
    how much CPU was in use in the cells, `scaling` which levels stand for the published ones, `published_cores` how
    many cores the published servers had.
    """
    figures = SystemFigures(published, found, system.name)
    capacity = Capacity(figures, busy, scaling, published_cores=published_cores)
    compared, missing = compare(known, figures)
    answers = dict(
        zip(compared, decisions.decide(list(compared.values()), alpha=known.alpha, shares=shares), strict=True)
    )
    return [
        _missing(claim, system, known, missing[claim.id])
        if claim.id in missing
        else _judged(claim, system, known, figures, capacity, answers[claim.id], compared[claim.id])
        for claim in judged_on(known, figures)
    ]


def judged_on(known: Ledger, figures: SystemFigures) -> list[Hypothesis]:
    """Return the claims that are judged on this system: the family over which Holm corrects."""
    return [claim for claim in known.claims if _belongs(claim, figures)]


def compare(known: Ledger, figures: SystemFigures) -> tuple[dict[str, list[Contrast]], dict[str, NotMeasured]]:
    """Return each claim's contrasts by its id, spreads pooled over cells; and of the other claims what is missing."""
    compared: dict[str, list[Contrast]] = {}
    missing: dict[str, NotMeasured] = {}
    for claim in judged_on(known, figures):
        try:
            compared[claim.id] = contrasts_of(claim, figures)
        except NotMeasured as reason:
            missing[claim.id] = reason
    pooled = contrasts.with_pooled(list(compared.values()), figures.logs, figures.dimension, figures.trial_of)
    return dict(zip(compared, pooled, strict=True)), missing


def _belongs(claim: Hypothesis, figures: SystemFigures) -> bool:
    """A claim about certain systems belongs to the first of them; to every system's ledger if that was not planned."""
    named = claim.systems(figures)
    return not named or named[0] == figures.system or named[0] not in figures.evidence.systems


def contrasts_of(claim: Hypothesis, figures: SystemFigures) -> list[Contrast]:
    """Return the contrasts that a claim is made of, each with its published effect. Raise NotMeasured."""
    # Levels between those that are compared must have been measured too.
    for _, term in claim.speaks_of(figures.published):
        figures.values(term)
    mine, theirs = claim.contrasts(figures), claim.contrasts(figures.printed())
    for contrast in mine:
        if not contrast.n:
            raise NotMeasured(f"no repetition has all of: {contrast.what}")
    return [replace(one, published=other.mean) for one, other in zip(mine, theirs, strict=True)]


def scope_of(claim: Hypothesis, system: JudgedSystem, capacity: Capacity, compared: Sequence[Contrast]) -> Scope:
    """Return what a campaign can say of a claim whatever comes out: before it runs, and when it has run."""
    if IMPORTED in system.asked:
        return Scope("nothing", f"these are imported logs, {UNKNOWN}", "a run on hosts that are known", "open")
    stand_ins = system.stand_ins_of(claim, capacity.figures)
    unrun = claim.unrun(system.name, system.asked, stand_ins)
    if unrun is None:
        if sides := _sides_that_run_alike(capacity.figures, system.asked.get(ALIKE, {}), compared):
            needs = "servers, or settings, that differ as those of the report did"
            return Scope("nothing", f"what it compares runs alike here ({sides})", needs, "not run")
        return capacity.scope(claim, compared)
    why = f"{unrun.why} ({'; '.join(stand_ins)})" if unrun.stand_ins else unrun.why
    return Scope("nothing", why, unrun.needs, "not run")


def _sides_that_run_alike(figures: SystemFigures, like: Mapping[str, str], compared: Sequence[Contrast]) -> str:
    """Return the sides of a contrast that chance alone sets apart: systems or tables; "" where there is none.

    All that a figure's trial ran with is weighed: where the weights of each cancel out, nothing is left to compare.
    """
    decides = _named_by_system(figures)

    def ran_with(term: Term, *, several_tables: bool) -> str:
        system = figures.system_of(term)
        rows = {name: value for name, value in term.rows.items() if name not in decides}
        tables: object = term.table
        if several_tables:
            mine = [each for each in figures.published.report.design if each.table == term.table]
            rows, each_fixed = ({**mine[0].fixed, **rows}, False) if len(mine) == 1 else (rows, True)
            tables = [(d.workload, d.load, d.options, d.fixed if each_fixed else {}) for d in mine] or term.table
        return str((like.get(system, system), term.metric, sorted(rows.items(), key=str), tables))

    for contrast in compared:
        names = {term.table for term in contrast.terms}
        ran = [ran_with(term, several_tables=len(names) > 1) for term in contrast.terms]
        if contrast.weights and max(map(abs, contrasts.summed(ran, contrast.weights).values())) < 1e-9:
            systems = {figures.system_of(term) for term in contrast.terms}
            return " and ".join(sorted(systems if len(systems) > 1 else names))
    return ""


def _named_by_system(figures: SystemFigures) -> set[str]:
    """The levels that say which system a row is about: each has one, and no two the same."""
    values: dict[str, dict[str, set[object]]] = {}
    for cell in figures.evidence.cells:
        for name, value in cell.levels.items():
            values.setdefault(name, {}).setdefault(cell.system, set()).add(value)
    return {
        name
        for name, of in values.items()
        if len(of) > 1 and all(len(each) == 1 for each in of.values()) and len(set.union(*of.values())) == len(of)
    }


def _judged(
    claim: Hypothesis,
    system: JudgedSystem,
    known: Ledger,
    figures: SystemFigures,
    capacity: Capacity,
    decision: Decision,
    compared: Sequence[Contrast],
) -> results.JudgedClaim:
    stand_ins = system.stand_ins_of(claim, figures)
    scope = scope_of(claim, system, capacity, compared)
    verdict, near = _verdict(decision, scope, capacity, compared)
    why = capacity.full(scope.speaks, compared) if near else scope
    shown = decision.shown
    interval = shown.interval(decision.alpha)
    fewer = [f"{system.fewer[0].upper()}{system.fewer[1:]}."] if system.fewer else []
    standing = [*(f"{said}." for said in stand_ins), *fewer]
    said = [
        verdict_text.here(decision, system.title or system.name, len(compared)),
        verdict_text.for_report(scope.speaks, why.because, decision.here if near else None),
        claim.own_table,
        *standing,
    ]
    return results.JudgedClaim(
        **_head(claim, system, known),
        verdict=verdict,
        here=decision.here,
        speaks=scope.speaks,
        reason=scope.because,
        what=shown.what,
        effect=shown.shown(shown.mean),
        unit=shown.unit,
        interval=(_finite(shown.shown(interval[0])), _finite(shown.shown(interval[1]))) if shown.n > 1 else None,
        confidence=1 - decision.alpha if shown.n > 1 else None,
        region=_region(shown),
        n=shown.n,
        published=_finite(shown.shown(shown.published)),
        p_value=_finite(decision.p_value),
        decide="; for the report ".join(filter(None, (verdict_text.decides(decision), why.needs))),
        needed=decision.needed,
        leaning=_finite(decision.probability),
        chances=decision.chances if verdict == "open" else (),
        sentence=" ".join(filter(None, said)),
    )


def _verdict(
    decision: Decision, scope: Scope, capacity: Capacity, compared: Sequence[Contrast]
) -> tuple[results.Verdict, bool]:
    """Return the answer here where it speaks of the report for all that the published machine could show.

    And whether it does not by these figures alone: the campaign could say what came out here of the report.
    """
    if decision.here == "open":
        return (scope.otherwise if scope.speaks == "nothing" else "open"), False
    if not (scope.confirms if decision.here == "holds" else scope.refutes):
        return scope.otherwise, False
    added = [capacity.withheld(contrast, capacity.figures.log_mean) for contrast in compared]
    inside, outside = decisions.p_values(compared, added)
    stands = (inside if decision.here == "holds" else outside / len(compared)) < decision.alpha / 2
    return (decision.here, False) if stands else (scope.otherwise, True)


def system_of(name: str, campaign: Campaign) -> JudgedSystem:
    """Return a system of a campaign, with what it stands in for there."""
    about = campaign.environment().systems
    planned = {trial.cell.system for trial in campaign.trials}
    # The systems that were planned besides are no part of this one.
    mine = [s for key, s in about.items() if key == name or key not in planned]
    pairs = [(s.stand_in_for, s.title) for s in mine if s.stand_in_for]
    stand_ins = [_stand_in(what, [title for other, title in pairs if other == what]) for what in dict(pairs)]
    fewer = "; ".join(dict.fromkeys(s.fewer for s in mine if s.fewer))
    return JudgedSystem(name, about[name].title if name in about else "", stand_ins, fewer, campaign.asked)


def _stand_in(what: str, titles: list[str]) -> str:
    names = list(dict.fromkeys(titles))
    return f"{' and '.join(names)} {'stands' if len(names) == 1 else 'stand'} in for {what}"


def _missing(claim: Hypothesis, system: JudgedSystem, known: Ledger, why: NotMeasured) -> results.JudgedClaim:
    return results.JudgedClaim(
        **_head(claim, system, known), verdict="not run", reason=str(why), decide=why.needs, sentence=f"Not run: {why}."
    )


def _head(claim: Hypothesis, system: JudgedSystem, known: Ledger) -> dict[str, Any]:
    return {
        "id": claim.id,
        "statement": claim.statement,
        "where": claim.where,
        "system": system.name,
        "hypothesis": claim.tested_as(),
        "alpha": known.alpha,
    }


def _region(contrast: Contrast) -> results.Bounds:
    low, high = (
        _finite(contrast.shown(bound)) if math.isfinite(bound) else None for bound in (contrast.low, contrast.high)
    )
    return low, high


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
