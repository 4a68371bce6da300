"""Whether the machine could have shown what a claim says: room to rise, and a load generator that is not the limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchbook.analysis.headroom import BusyCell, Machine
from benchbook.claims.decide import Decision
from benchbook.claims.hypothesis import Arm, Hypothesis
from benchbook.claims.terms import TIMES, Term, counted, unit

# A claim that leans to holding is open for want of repetitions and not for want of room.
LEANS_TO_HOLDING = 0.7


@dataclass(frozen=True)
class NoRoom:
    """Why the machine could not show a claim, with the figure that decides, and what would test it."""

    why: str
    needs: str


def lacking(claim: Hypothesis, decision: Decision, arm: Arm, busy: Sequence[BusyCell]) -> NoRoom | None:
    """What the machine lacked for a claim that does not hold here; None where it could have shown it."""
    starts = claim.needs_room(arm.published)
    if not starts or decision.verdict == "reproduced" or not _fails_low(decision, arm):
        return None
    return _full(claim, starts, arm, busy) or _client_full(claim, arm, busy)


def _fails_low(decision: Decision, arm: Arm) -> bool:
    """Whether what keeps the claim from holding is a rate that is too low, or a time that is too long."""
    part = decision.part
    if decision.leaning >= LEANS_TO_HOLDING or (part.n < 2 and part.inside(part.mean)):
        return False
    late = bool(part.terms) and unit(part.terms[0], arm.published) in TIMES
    middle = (part.low + part.high) / 2
    return part.mean >= min(part.high, middle) if late else part.mean <= max(part.low, middle)


def _full(claim: Hypothesis, starts: Sequence[Term], arm: Arm, busy: Sequence[BusyCell]) -> NoRoom | None:
    limit = claim.conditions.machine
    if limit is None:
        return None
    cells = [(cell, term) for term in starts for cell in busy if _is_at(cell, term, arm)]
    found = [(m, c, t) for c, t in cells for m in c.machines if m.server and m.share >= limit]
    if not found:
        return None
    machine, cell, term = max(found, key=lambda each: each[0].share)
    ran = {name: cell.ran.get(name, value) for name, value in term.rows.items() if not isinstance(value, str)}
    busy_there = f"{machine.share:.0%} of {machine.cores} cores are busy"
    if claim.conditions.everywhere:
        at = f" at {counted(ran)}" if ran else ""
        return NoRoom(f"{busy_there}{at}", "hosts of their own for what shares these cores, or more cores")
    why = f"{busy_there} at {counted(ran) or 'the lowest level'} already"
    scaled = any(cell.ran.get(name, value) != value for name, value in cell.levels.items())
    less = "" if scaled else "scaled levels (fewer on fewer cores), or "
    return NoRoom(why, f"{less}a machine with more cores, or one that nothing else uses")


def _client_full(claim: Hypothesis, arm: Arm, busy: Sequence[BusyCell]) -> NoRoom | None:
    limit = claim.conditions.client
    terms = [term for _, term in claim.speaks_of(arm.published)]
    machines = [m for t in terms for m in _machines(t, arm, busy) if m.client and not m.server]
    full = [m for m in machines if limit is not None and m.share > limit]
    if not full:
        return None
    machine = max(full, key=lambda m: m.share)
    why = f"{machine.share:.0%} of the load generator's {machine.cores} cores are busy, so that it is what was measured"
    return NoRoom(why, "more client hosts, or one with more cores")


def _machines(term: Term, arm: Arm, busy: Sequence[BusyCell]) -> list[Machine]:
    return [machine for cell in busy if _is_at(cell, term, arm) for machine in cell.machines]


def _is_at(cell: BusyCell, term: Term, arm: Arm) -> bool:
    """Levels that a cell does not have (the component of a run, say) do not set it apart."""
    same = all(cell.levels.get(name, value) == value for name, value in term.rows.items())
    return same and (cell.table, cell.system) == (term.table, arm.system_of(term))
