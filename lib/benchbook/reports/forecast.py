"""What a run can say of each claim, and how long it takes, before it runs.

What hosts can say is asked of the rule that judges it afterwards (`judge.scope_of`), with the cores as busy as they
may be: N clients of a closed loop have N requests under way (Denning & Buzen 1978, ACM Computing Surveys 10(3)), and
each host works on a request with one core, so that N times the hosts on a machine are busy. Where no level counts
clients, all cores are. A run may say more, and less only where a host works with several cores at one request, or
beside them (garbage collection, compaction). Once a campaign of the same plan is recorded on the same inventory, its
busy cores take the place of the bound, its figures and spreads that of the prior, its times that of the usual ones.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchbook import paths
from benchbook.analysis.cpu_use import BusyCell, Machine
from benchbook.analysis.results import JudgedClaim
from benchbook.analysis.trials import figures_of, of_records
from benchbook.campaign import repetitions, store
from benchbook.campaign.design import Cell, ClaimForecast, RunForecast, Trial, blocks, distinct_cells
from benchbook.campaign.environment import Asked
from benchbook.campaign.experiment import Experiment
from benchbook.campaign.repetitions import SHARES, WORTH_A_REPETITION, OpenClaim, RepetitionCost
from benchbook.campaign.scaled_levels import of_plan, published_levels, trials_as_published
from benchbook.campaign.store import Campaign
from benchbook.claims import contrasts, decisions, evidence, judge, ledger, undecided
from benchbook.claims.capacity import Capacity, clients_in
from benchbook.claims.contrasts import Contrast
from benchbook.claims.decisions import MOST_AHEAD, Decision
from benchbook.claims.evidence import Evidence, NotMeasured
from benchbook.claims.hypothesis import Hypothesis, SystemFigures
from benchbook.claims.judge import JudgedSystem
from benchbook.claims.ledger import Ledger
from benchbook.hosts import capacity
from benchbook.published.hardware import server_processors
from benchbook.reports.kind import RunRequest

# Standard deviation of the log of one figure between repetitions. Of recorded smoke campaigns (loads of 2 and 3 s on
# two shared cores; TiDB twice, DTM) the medians over their claims were 0.14, 0.20 and 0.09. Loads of half a minute and
# more are assumed to vary a third as much; one recorded campaign replaces either.
SPREAD_SHORT, SPREAD_LONG, LONG_S = 0.15, 0.05, 30.0
# Seconds of wall time beside the loads, medians of the same campaigns: before the first trial, per block, per trial.
PREPARE_S, BLOCK_S, BESIDE_S = 30.0, 5.0, 4.0
TOO_LONG = "The plan alone takes longer than the budget: name fewer workloads or levels, or shorter loads."
NONE_ADDED = "No repetition that fits into the budget is likely to decide a claim that the plan leaves open."


@dataclass(frozen=True)
class _Recorded:
    """The campaign that a forecast goes by, and its contrasts by system and claim."""

    campaign: Campaign
    compared: Mapping[tuple[str, str], list[Contrast]]


def forecast(request: RunRequest, asked: Asked, trials: Sequence[Trial], budget_s: float | None = None) -> RunForecast:
    """Return what these hosts can say of every claim, what deciding it takes, and the wall time of the plan.

    With `budget_s`, what the plan leaves of it goes to repetitions for the claims of which most is decided in a second,
    for as long as they fit. Raise HostUnusable where a host cannot be asked for its cores.
    """
    last, experiment, cells = _last(request, asked), request.experiment(), distinct_cells(trials)
    costs, prepare_s = _costs(trials, experiment, last)
    prepare_s += _rehearsals_s(request, experiment, last, costs)
    # A trial of DM's also waits for the target, and takes longer than its load.
    load_s = asked.get("time_s") or max(map(experiment.expected_s, trials), default=0.0)
    spread = SPREAD_LONG if load_s >= LONG_S else SPREAD_SHORT
    # Where repetitions may be added, as a budget asks for, the run shares the error rate among so many looks.
    repeating = asked.get("repeat") or ({} if budget_s is None else {"looks": SHARES})
    looks = int(repeating.get("looks", 1))
    known = ledger.load(request.published)
    claims: list[tuple[ClaimForecast, OpenClaim | None]] = []
    if known is not None:
        expected = planned(request, trials_as_published(trials, of_plan(asked)))
        busy = _busy(request, asked, cells, last)
        for system in _systems(expected.systems, asked, last):
            figures = SystemFigures(request.published, expected, system.name)
            cores = server_processors(request.published.report)
            may = Capacity(figures, busy, of_plan(asked), planned=last is None, published_cores=cores)
            free = [replace(cell, machines=[replace(m, share=0.0) for m in cell.machines]) for cell in busy]
            idle = replace(may, busy=free) if last is None else may
            compared, missing = judge.compare(known, figures)
            answers = _answers(known, figures, compared, last, spread, looks)
            for claim in judge.judged_on(known, figures):
                row = _says(claim, system, may, idle, missing.get(claim.id) or compared[claim.id])
                answer, open_claim = answers.get(claim.id), None
                if answer and row.speaks in ("both ways", "confirm only", "refute only"):
                    its = undecided.cells_of(claim, system.name, cells, request.published, may.scaling)
                    row = row.model_copy(update=_takes(answer, its, costs))
                    open_claim = OpenClaim(claim.id, tuple(its), _chances(answer, _repetitions_of(its, trials)))
                claims.append((row, open_claim))
    sources = _sources(asked, last, spread if any(open_claim for _, open_claim in claims) else None, budget_s)
    wall_s = prepare_s + len(blocks(trials)) * costs.block_s + costs.of(trial.cell for trial in trials)
    if budget_s is None:
        return RunForecast(claims=[row for row, _ in claims], wall_s=wall_s, sources=sources)
    within = _budgeted(claims, costs, budget_s - wall_s)
    most = max((claim.budgeted or 0 for claim in within), default=0)
    said = _rule(trials, most, budget_s) if most else TOO_LONG if wall_s > budget_s else NONE_ADDED
    return RunForecast(claims=within, wall_s=wall_s, sources=[*sources, said])


def planned(request: RunRequest, trials: Sequence[Trial]) -> Evidence:
    """Return the evidence of a plan as if the printed figures came out; `trials` have published levels."""
    kind, nothing = request.kind, figures_of(of_records([]))
    beside = kind.beside(request.published, kind.figures(request.published, nothing), trials)
    return evidence.planned(beside, trials)


def _systems(names: Sequence[str], asked: Asked, last: _Recorded | None) -> list[JudgedSystem]:
    """Return the systems of a run; what one stands in for is known once it has run."""
    known = [judge.system_of(name, last.campaign) if last else JudgedSystem(name) for name in names]
    beside = {system.name: system.stand_ins for system in known}
    return [replace(system, asked=asked, beside=beside) for system in known]


def _answers(
    known: Ledger,
    figures: SystemFigures,
    compared: Mapping[str, Sequence[Contrast]],
    last: _Recorded | None,
    spread: float,
    looks: int,
) -> dict[str, Decision]:
    """Return what two repetitions are likely to answer to a system's claims; so many `looks` share the error rate."""
    seen = last.compared if last else {}
    assumed = {id: _assumed(mine, seen.get((figures.system, id)), figures, spread) for id, mine in compared.items()}
    likely = {id: mine for id, mine in assumed.items() if mine}
    return dict(zip(likely, decisions.decide(list(likely.values()), alpha=known.alpha, shares=looks), strict=True))


def _says(
    claim: Hypothesis, system: JudgedSystem, may: Capacity, idle: Capacity, compared: Sequence[Contrast] | NotMeasured
) -> ClaimForecast:
    """Return what these hosts can say of a claim, with cores as busy as they `may` be, and while they are `idle`."""
    if isinstance(compared, NotMeasured):
        return ClaimForecast(
            claim=claim.id, system=system.name, speaks="not run", reason=str(compared), needs=compared.needs
        )
    scope = judge.scope_of(claim, system, may, compared)
    speaks = "not run" if scope.otherwise == "not run" else scope.speaks
    said = {"claim": claim.id, "system": system.name, "speaks": speaks, "reason": scope.because, "needs": scope.needs}
    best = judge.scope_of(claim, system, idle, compared).speaks
    return ClaimForecast.model_validate({**said, "at_best": "" if best in (scope.speaks, "nothing") else best})


def _takes(answer: Decision, cells: Sequence[Cell], costs: RepetitionCost) -> dict[str, object]:
    """Return how many repetitions are likely to decide it, and in how many minutes."""
    repetitions = answer.needed if answer.here == "open" else 2
    each_s = costs.of(cells) + costs.block_s * len({cell.system for cell in cells})
    return {"repetitions": repetitions, "minutes": repetitions * each_s / 60 if repetitions else None}


def _last(request: RunRequest, asked: Asked) -> _Recorded | None:
    """Return the latest campaign of the same plan on the same inventory that was recorded here."""
    conditions = ("profile", "inventory", "systems", "time_s", "scaled")
    here = [
        folder for folder in store.recorded(request.published.report.name) if folder.is_relative_to(paths.runs_dir(""))
    ]
    for campaign in store.readable(reversed(here)):
        if all(campaign.asked.get(name) == asked.get(name) for name in conditions):
            return _Recorded(campaign, _compared(request, campaign))
    return None


def _compared(request: RunRequest, campaign: Campaign) -> dict[tuple[str, str], list[Contrast]]:
    known = ledger.load(request.published)
    seen = judge.evidence_of(campaign, request.published, request.kind)
    judged = [SystemFigures(request.published, seen, name) for name in seen.systems] if known else []
    return {
        (figures.system, id): mine
        for figures in judged
        if known
        for id, mine in judge.compare(known, figures)[0].items()
    }


def _busy(request: RunRequest, asked: Asked, cells: Sequence[Cell], last: _Recorded | None) -> list[BusyCell]:
    """Return the cells as busy as in the last campaign, or as they may be: one core a request and host."""
    machines = capacity.machines(request.inventory, request.experiment().hosts())
    scaling = of_plan(asked)
    may = [
        BusyCell(
            cell.table,
            cell.system,
            published_levels(cell.table, cell.levels, scaling),
            [Machine(min(1.0, clients * m.hosts / m.cores), m.cores, m.client, m.server, m.boot) for m in machines],
            ran=cell.levels,
        )
        for cell in cells
        for clients in [clients_in(cell.levels) or math.inf]
    ]
    were = judge.busy_cells(last.campaign) if last else []
    # What was seen takes the place of what may be.
    return [*{(cell.table, cell.system, *sorted(cell.ran.items())): cell for cell in (*may, *were)}.values()]


def _assumed(
    mine: Sequence[Contrast], theirs: Sequence[Contrast] | None, figures: SystemFigures, spread: float
) -> list[Contrast] | None:
    """Return the contrasts as two repetitions would show them: as the last campaign had them, else as printed.

    None where nobody knows a spread: of ranks, before a first campaign.
    """
    if theirs and all(contrast.n > 1 for contrast in theirs):
        return [_as_two(c, c.variance, min(c.df, contrasts.LENT_DF) if c.pooled else 1.0) for c in theirs]
    if not all(contrast.weights for contrast in mine):
        return None
    return [_as_two(c, max(c.rounding, spread**2 * contrasts.figures_in(c, figures.trial_of)), 1.0) for c in mine]


def _as_two(contrast: Contrast, variance: float, df: float) -> Contrast:
    return replace(contrast, effects=np.full(2, contrast.mean), pooled=(variance, df))


def _repetitions_of(cells: Sequence[Cell], trials: Sequence[Trial]) -> int:
    """Return how many repetitions of a plan hold all of these cells."""
    planned = Counter(trial.cell.key for trial in trials)
    return min((planned[cell.key] for cell in cells), default=0)


def _chances(answer: Decision, planned: int) -> tuple[float, ...]:
    """Return the chances that 1, 2, ... repetitions decide it which the `planned` ones leave open; one never does."""
    certain = (1.0,) * MOST_AHEAD if answer.here != "open" else (0.0, *answer.chances)
    known = (0.0, 0.0, *certain)
    before = known[min(planned, len(known) - 1)]
    return tuple(chance - before for chance in known[planned + 1 :])


def _costs(trials: Sequence[Trial], experiment: Experiment, last: _Recorded | None) -> tuple[RepetitionCost, float]:
    """Seconds of a block and of each cell's trials, and before the first: as they were, else as they usually are."""
    if last:
        runs, records = last.campaign.environment().runs, last.campaign.records()
        costs = repetitions.cost(last.campaign.trials, records, runs)
        if costs.of_cell and runs:
            return costs, max(0.0, min(record.started for record in records) - runs[0].began)
    of_cell = {(trial.cell.system, trial.cell.key): experiment.expected_s(trial) + BESIDE_S for trial in trials}
    return RepetitionCost(BLOCK_S, float(np.mean([*of_cell.values()] or [0.0])), of_cell), PREPARE_S


def _rehearsals_s(request: RunRequest, experiment: Experiment, last: _Recorded | None, costs: RepetitionCost) -> float:
    """Seconds of the loads before the first trial; the last campaign's time before it holds its first system's."""
    systems = experiment.rehearsed()[1 if last else 0 :]
    if not systems or not capacity.reports_free_pages(request.inventory, experiment.hosts()):
        return 0.0
    return len(systems) * (request.profile.rehearse_s + costs.block_s)


def _budgeted(
    claims: Sequence[tuple[ClaimForecast, OpenClaim | None]], costs: RepetitionCost, left_s: float
) -> list[ClaimForecast]:
    """Return the claims with the repetitions that fit into the time: those that get some first, cheapest first.

    Cells are shared: repetitions that decide no more of a claim are other claims'.
    """
    chosen = repetitions.allot([claim for _, claim in claims if claim], costs, left_s, MOST_AHEAD)
    found = [row.model_copy(update={"budgeted": _added(claim, chosen) if claim else 0}) for row, claim in claims]
    return sorted(found, key=lambda claim: (not claim.budgeted, claim.minutes or 0.0))


def _added(claim: OpenClaim, blocks: Sequence[Sequence[Cell]]) -> int:
    """Return how many of these blocks repeat all of a claim's cells and help to decide it: more hardly would."""
    enough = max(claim.chances, default=0.0) - WORTH_A_REPETITION
    useful = next((n for n, chance in enumerate((0.0, *claim.chances)) if chance >= enough), 0)
    return min(sum(all(cell in block for cell in claim.cells) for block in blocks), useful)


def _rule(trials: Sequence[Trial], most: int, budget_s: float) -> str:
    """Return what to write into a profile for a run to add `most` repetitions at most."""
    planned = max((trial.repetition for trial in trials), default=0)
    rule = f"repeat: {{most_repetitions: {planned + most}, budget_min: {budget_s / 60:g}}}"
    return (
        f"The plan has {planned} repetitions. With `{rule}` in the profile, the run adds those of the last column to "
        "the claims that are still open then."
    )


def _sources(asked: Asked, last: _Recorded | None, spread: float | None, budget_s: float | None) -> list[str]:
    repeating = asked.get("repeat") if budget_s is None else None
    most = f", up to {repeating['budget_min']:g} min in all" if repeating else ""
    added = [f"Repetitions may be added for claims that are open{most}."] if repeating else []
    if last:
        return [f"Busy cores, figures, spreads and times are those of campaign {last.campaign.id}.", *added]
    assumed = (
        "Repetitions are those that would decide the claims if the published figures came out, and varied by "
        f"{spread or 0:.0%} from one repetition to the next."
    )
    return [
        "Busy cores: each host of a machine is taken to keep one core busy for each client; where no level counts "
        "clients, all cores. A run says more where cores stay free (at best), and less where a host works with several "
        "cores at one request.",
        *([assumed] if spread else []),
        "Times beside the loads are those of recorded smoke campaigns: building systems, and larger data, come on top.",
        *added,
    ]


def sentence(made: RunForecast) -> str:
    """Return what is known before the run, in a sentence."""
    found = Counter(claim.speaks for claim in made.claims)
    can = {
        "decide {} both ways": found["both ways"],
        "only confirm {}": found["confirm only"],
        "only refute {}": found["refute only"],
        "say nothing of {}": found["nothing"],
    }
    said = ", ".join(words.format(count) for words, count in can.items() if count)
    claims = f"Of {len(made.claims)} claims these hosts can {said}. " if said else ""
    if free := sum(claim.at_best == "both ways" for claim in made.claims):
        claims += f"That is with all cores as busy as they may be; if not, they decide {free} more both ways. "
    if left := found["not run"]:
        claims += f"{left} {'is' if left == 1 else 'are'} not run. "
    return f"{claims}The run takes about {_minutes(made.wall_s / 60)} min."


def rows(made: RunForecast) -> list[dict[str, str]]:
    """Return a line per claim, as short texts."""
    several = len({claim.system for claim in made.claims}) > 1
    budget = any(claim.budgeted is not None for claim in made.claims)
    more = any(claim.at_best for claim in made.claims)
    return [
        {
            "claim": claim.claim,
            **({"system": claim.system} if several else {}),
            "speaks": claim.speaks,
            **({"at best": claim.at_best or "–"} if more else {}),
            "repetitions": "–" if claim.repetitions is None else str(claim.repetitions),
            "minutes": "–" if claim.minutes is None else _minutes(claim.minutes),
            **({"added in the budget": str(claim.budgeted or "–")} if budget else {}),
            "reason": claim.reason or "–",
            "what would help": claim.needs or "–",
        }
        for claim in made.claims
    ]


def beside_outcome(made: RunForecast, judged: Sequence[JudgedClaim]) -> list[dict[str, str]]:
    """Return a line per claim: what was known before the run, and what came out."""
    came = {(claim.id, claim.system): claim for claim in judged}
    pairs = [(claim, came[claim.claim, claim.system]) for claim in made.claims if (claim.claim, claim.system) in came]
    return [
        {
            "claim": before.claim,
            "system": before.system,
            "could say": f"{before.speaks}{f', at best {before.at_best}' if before.at_best else ''}",
            "said": "not run" if after.verdict == "not run" else after.speaks or "–",
            "repetitions forecast": "–" if before.repetitions is None else str(before.repetitions),
            "measured": "–" if after.n is None else str(after.n),
            "here": after.here or "–",
            "state": after.verdict,
        }
        for before, after in pairs
    ]


def _minutes(minutes: float) -> str:
    return f"{minutes:.1f}" if minutes < 10 else f"{minutes:.0f}"
