"""Whether the machine could have shown what a claim says: room to rise, and a load generator that is not the limit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchbook.analysis.headroom import FULL, BusyCell, Machine
from benchbook.claims.decide import Decision
from benchbook.claims.hypothesis import Arm, Hypothesis
from benchbook.claims.parts import Part, interval
from benchbook.claims.terms import Term, counted, is_time

# A claim that leans to holding is open for want of repetitions and not for want of room.
LEANS_TO_HOLDING = 0.7

# A machine, the cell and the figure that were measured there, and what its use of CPU does to that figure.
_Crowd = tuple[Machine, tuple[BusyCell, Term], str]


@dataclass(frozen=True)
class NoRoom:
    """Why the machine could not show a claim, with the figure that decides, and what would test it."""

    why: str
    needs: str


def with_room(claim: Hypothesis, parts: list[Part], arm: Arm, busy: Sequence[BusyCell]) -> tuple[list[Part], str]:
    """The parts that say something of a rise, and a sentence on those left out; the main part always stays.

    A step between two levels that both fill the machine cannot rise: it speaks neither for the claim nor against it.
    """
    limit = claim.conditions.machine
    if limit is None or not claim.room(arm.published) or not any(part.main for part in parts):
        return parts, ""
    steps = [(part, "" if part.main else _full_step(part, arm, busy, limit)) for part in parts]
    left_out = [f"{part.what} ({full})" for part, full in steps if full]
    said = f"Left out, because the machine was full at both levels: {'; '.join(left_out)}." if left_out else ""
    return [part for part, full in steps if not full], said


def _full_step(part: Part, arm: Arm, busy: Sequence[BusyCell], limit: float) -> str:
    """How busy the machine was at the two levels of a step, if it was full at both; else empty."""
    if len(part.terms) != 2 or _late(part, arm):
        return ""
    for (high, _), (low, _) in _same_machine(*part.terms, arm, busy):
        if min(high.share, low.share) >= limit:
            return f"{low.share:.0%} and {high.share:.0%} of {low.cores} cores"
    return ""


def lacking(
    claim: Hypothesis, decision: Decision, arm: Arm, busy: Sequence[BusyCell], *, fewer: str = ""
) -> NoRoom | None:
    """What the machine lacked for a claim that does not hold here; None where it could have shown it.

    `fewer`: what of the judged system is one where the published one had several; empty for the published one itself.
    """
    starts, everywhere, part = claim.needs_room(arm.published), claim.conditions.everywhere, decision.part
    if not starts or not _fails(decision):
        return None
    crowded = _crowded(claim, _lack(decision), part, arm, busy) if everywhere else None
    if crowded or not (_fails_low(part, arm) or (everywhere and _late(part, arm))):
        return crowded
    return (
        (None if everywhere else _full(claim, starts, part, arm, busy))
        or _never_full(claim, part, arm, busy)
        or _cut_short(claim, part, arm, busy)
        or _client_full(claim, part, arm, busy)
        or (_fewer(part, arm, busy, fewer) if fewer and decision.verdict == "contradicted" else None)
    )


def unseen(claim: Hypothesis, decision: Decision, arm: Arm, busy: Sequence[BusyCell]) -> str:
    """That nobody saw the servers' CPU, of a claim that is contradicted and that a full machine could not have shown.

    So it is with a server that exists already, to which there is no SSH, and where a probe failed; else empty.
    """
    starts, everywhere = claim.needs_room(arm.published), claim.conditions.everywhere
    if decision.verdict != "contradicted" or claim.conditions.machine is None or not starts:
        return ""
    if _servers(starts, arm, busy) or not (everywhere or _fails_low(decision.part, arm)):
        return ""
    return "How busy the servers' CPU was is not known; a full machine could not have shown what is claimed."


def too_alike(claim: Hypothesis, decision: Decision, arm: Arm) -> NoRoom | None:
    """Whether settings that make no difference here left a claim that does not hold nothing to show."""
    why = "" if decision.verdict == "reproduced" else claim.too_alike(arm)
    return NoRoom(why, "settings that make more of a difference, as on a machine with more cores") if why else None


def excused(claim: Hypothesis, decision: Decision, system: str, asked: Mapping[str, object]) -> NoRoom | None:
    """Why it says nothing of a claim that it fails here (`if_it_fails` of its `not_here`), if it does."""
    found = claim.refused(system, asked, fails=True) if _fails(decision) else None
    return NoRoom(found.why, found.needs) if found else None


def _fails(decision: Decision) -> bool:
    """Whether a claim does not hold here, and is not open for want of repetitions alone."""
    part = decision.part
    open_alone = decision.leaning >= LEANS_TO_HOLDING or (part.n < 2 and part.inside(part.mean))
    return decision.verdict != "reproduced" and not open_alone


def _fails_low(part: Part, arm: Arm) -> bool:
    """Whether what keeps the claim from holding is a rate that is too low, or a time that is too long."""
    middle = (part.low + part.high) / 2
    return part.mean >= min(part.high, middle) if _late(part, arm) else part.mean <= max(part.low, middle)


def _late(part: Part, arm: Arm) -> bool:
    """Whether a part compares times: more is worse."""
    return bool(part.terms) and is_time(part.terms[0], arm.published)


def _full(claim: Hypothesis, starts: Sequence[Term], part: Part, arm: Arm, busy: Sequence[BusyCell]) -> NoRoom | None:
    """Whether a machine was full already where the rise begins."""
    limit = claim.conditions.machine
    # Of an order of many rises two are compared: a machine that was full for another one is no reason.
    compared = [term for term in starts if term in part.terms] or starts
    found = [each for each in _servers(compared, arm, busy) if limit is not None and each[0].share >= limit]
    if not found:
        return None
    machine, cell, term = max(found, key=lambda each: each[0].share)
    return NoRoom(f"{_busy_there(machine)} at {_ran(cell, term) or 'the lowest level'} already", _more_cores(cell))


@dataclass(frozen=True)
class _Lack:
    """How many times what it is a ratio would have to be to lie where its claim puts it; 1 where it does.

    `least` and `most` are by the ends of the interval of a claim that is contradicted; of an open one, whose interval
    reaches into the region, the mean is all there is to go by.
    """

    mean: float
    least: float
    most: float

    def __str__(self) -> str:
        low, high = sorted((self.least, self.most))
        return f"{self.mean:.3g}x" + (f" [{low:.3g}, {high:.3g}]" if low < high else "")


def _lack(decision: Decision) -> _Lack:
    """What the shown part lacks: of a ratio that is too large below 1, and `most` is then the smallest."""
    part = decision.part
    mean = _short_of(part, part.mean)
    if decision.verdict != "contradicted":
        return _Lack(math.exp(mean), math.exp(mean), math.exp(mean))
    least, most = sorted((_short_of(part, end) for end in interval(part, decision.alpha)), key=abs)
    return _Lack(math.exp(mean), math.exp(least), math.exp(most))


def _short_of(part: Part, effect: float) -> float:
    """How far an effect lies below its region; above it, negative."""
    return max(part.low - effect, 0.0) + min(part.high - effect, 0.0)


def _crowded(claim: Hypothesis, lack: _Lack, part: Part, arm: Arm, busy: Sequence[BusyCell]) -> NoRoom | None:
    """Whether a figure lacks no more than what the cores that it shares can account for.

    A machine from the limit on is full: it has nothing left for anyone, and any time may be waiting there. A claim is
    contradicted where all of its interval says that the cores do not account for it.
    """
    limit = claim.conditions.machine
    if limit is None or part.scale != "ratio" or not part.signs:
        return None
    look = _times_that_waited if _late(part, arm) else _rates_without_room
    found = list(look(part, lack, arm, busy, limit))
    if not found:
        return None
    machine, (cell, term), said = max(found, key=lambda each: each[0].share)
    at = _ran(cell, term)
    why = f"{_busy_there(machine)}{f' at {at}' if at else ''}, {said}; the claim needs {lack} what was measured"
    return NoRoom(why, "hosts of their own for what shares these cores, or more cores")


def _rates_without_room(part: Part, lack: _Lack, arm: Arm, busy: Sequence[BusyCell], limit: float) -> Iterator[_Crowd]:
    """Where more was needed than the cores had left until they count as full (utilization law, see `_cut_short`).

    A ratio that is too large for its claim lacks that in the rate below its line.
    """
    sign, needed = (1, lack.most) if lack.mean >= 1 else (-1, 1 / lack.most)
    for machine, cell, term in _servers(_signed(part, sign), arm, busy):
        left = max(limit / machine.share, 1.0) if machine.share else math.inf
        if needed > left:
            said = "which counts as full" if f"{left:.3g}" == "1" else f"which leaves room for {left:.3g}x"
            yield machine, (cell, term), said


def _times_that_waited(part: Part, lack: _Lack, arm: Arm, busy: Sequence[BusyCell], limit: float) -> Iterator[_Crowd]:
    """Where a time that is too long, or that of a ratio that is too small for it, may have been waiting for CPU.

    With the share u of m cores busy, a time is 1 / (1 - u^m) times what it is on an idle machine (M/M/m; exact for one
    and two cores, near above: Gunther 2011, Analyzing Computer System Performance with Perl::PDQ, section 2.7).
    """
    if lack.mean == 1:
        return
    for machine, cell, term in _servers(_signed(part, 1 if lack.mean < 1 else -1), arm, busy):
        waiting = 1.0 if machine.share >= limit else machine.share**machine.cores
        if max(lack.least, 1 / lack.least) * (1 - waiting) <= 1:
            up_to = "all" if waiting == 1 else f"{waiting:.0%}"
            yield machine, (cell, term), f"so that up to {up_to} of a time may be waiting for CPU"


def _signed(part: Part, sign: int) -> list[Term]:
    """The figures that stand above the line of a ratio (1), or below it (-1)."""
    return [term for term, each in zip(part.terms, part.signs, strict=True) if each == sign]


def _servers(terms: Iterable[Term], arm: Arm, busy: Sequence[BusyCell]) -> list[tuple[Machine, BusyCell, Term]]:
    """The machines with servers where these terms were measured."""
    return [
        (machine, cell, term) for cell, term in _cells(terms, arm, busy) for machine in cell.machines if machine.server
    ]


def _busy_there(machine: Machine) -> str:
    return f"{machine.share:.0%} of {machine.cores} cores are busy"


def _cut_short(claim: Hypothesis, part: Part, arm: Arm, busy: Sequence[BusyCell]) -> NoRoom | None:
    """Whether the claim needs more than the machine had left at the lower level: up to the upper one, if it was full.

    Utilization law (Denning & Buzen 1978, ACM Computing Surveys 10(3)): at the same CPU per transaction, a rate grows
    no more than the busy share does, which is 1 at most. What a full machine makes of a time is waiting for CPU,
    however little is needed; one with CPU to spare is no reason for a time.
    """
    limit = claim.conditions.machine
    if limit is None or len(part.terms) < 2 or part.scale != "ratio":
        return None
    upper, lower = part.terms[:2]
    of_waiting = _late(part, arm) or len(part.terms) > 2
    demanded, spare = (math.inf, math.inf) if of_waiting else (math.exp(part.low), 1.0)
    pairs = [
        (*pair, pair[0][0].share if pair[0][0].share >= limit else spare)
        for pair in _same_machine(upper, lower, arm, busy)
    ]
    cut = [pair for pair in pairs if pair[2] < demanded * pair[1][0].share]
    if not cut:
        return None
    (high, top), (low, cell), most = min(cut, key=lambda each: each[2] / each[1][0].share)
    below, above = (
        _ran(*at) or name for at, name in (((cell, lower), "the lower level"), ((top, upper), "the upper one"))
    )
    other = f"at {above}" if above != below else "in what it is held against"
    shares = f"{low.share:.0%} of {low.cores} cores are busy at {below} and {high.share:.0%} {other}"
    return NoRoom(f"{shares}, which {_leaves(part, arm, most / low.share)}", _more_cores(cell))


def _leaves(part: Part, arm: Arm, room: float) -> str:
    if _late(part, arm):
        return "makes the latency a matter of waiting for CPU"
    if len(part.terms) != 2:
        return f"leaves room for {room:.2g}x"
    # A rate that rose by more took less CPU per transaction at the upper level: the law's premise did not hold.
    premise = " at the same CPU per transaction" if part.mean > math.log(room) else ""
    return f"leaves room for {room:.2g}x{premise}; the claim needs {math.exp(part.low):.3g}x"


def _same_machine(
    upper: Term, lower: Term, arm: Arm, busy: Sequence[BusyCell]
) -> Iterator[tuple[tuple[Machine, BusyCell], tuple[Machine, BusyCell]]]:
    """Each machine with servers at the upper level, and the same one at the lower level."""
    high, low = (_servers([term], arm, busy) for term in (upper, lower))
    yield from ((a[:2], b[:2]) for a in high for b in low if a[0].boot == b[0].boot)


def _ran(cell: BusyCell, term: Term) -> str:
    """The levels that were run, in words."""
    return counted({name: cell.ran.get(name, value) for name, value in term.rows.items() if not isinstance(value, str)})


def _more_cores(cell: BusyCell) -> str:
    # None is less than 1.
    can = any(isinstance(value, int) and 1 < value == cell.ran.get(name, value) for name, value in cell.levels.items())
    less = "scaled levels (fewer on fewer cores), or " if can else ""
    return f"{less}a machine with more cores, or one that nothing else uses"


def _never_full(claim: Hypothesis, part: Part, arm: Arm, busy: Sequence[BusyCell]) -> NoRoom | None:
    """Whether the smaller of two caches was never full: a larger one lets through no more than it did."""
    name = claim.conditions.filled
    if not name or not part.signs:
        return None
    smaller = [
        (cell.most[name], cell, term) for cell, term in _cells(_signed(part, -1), arm, busy) if name in cell.most
    ]
    if not smaller:
        return None
    share, cell, term = max(smaller, key=lambda each: each[0])
    if share >= FULL:
        return None
    why = f"the smaller cache was filled to {share:.0%} at most at {_ran(cell, term)}"
    return NoRoom(f"{why}, so that a larger one holds no more", "more data, or a source that is faster than its target")


def _client_full(claim: Hypothesis, part: Part, arm: Arm, busy: Sequence[BusyCell]) -> NoRoom | None:
    limit = claim.conditions.client
    terms = part.terms or [term for _, term in claim.speaks_of(arm.published)]
    machines = [machine for cell, _ in _cells(terms, arm, busy) for machine in cell.machines]
    full = [m for m in machines if m.client and not m.server and limit is not None and m.share > limit]
    if not full:
        return None
    machine = max(full, key=lambda m: m.share)
    why = f"{machine.share:.0%} of the load generator's {machine.cores} cores are busy, so that it is what was measured"
    return NoRoom(why, "more client hosts, or one with more cores")


def _fewer(part: Part, arm: Arm, busy: Sequence[BusyCell], fewer: str) -> NoRoom:
    """A machine with CPU to spare, and a stand-in that does alone what several share in the published system.

    Seen on two cores that were not full: with one store behind TiKV's protocol point selects rose 2.1 times, where
    the published three stores let them rise 3.4 times.
    """
    busiest = max(_servers(part.terms, arm, busy), key=lambda each: each[0].share, default=None)
    seen = f"{_busy_there(busiest[0])} at most, so that what bounds it may be the stand-in: " if busiest else ""
    return NoRoom(f"{seen}{fewer}", "the published system itself, with as many nodes, on hosts of its own")


def _cells(terms: Iterable[Term], arm: Arm, busy: Sequence[BusyCell]) -> list[tuple[BusyCell, Term]]:
    """The cells in which these terms were measured."""
    return [(cell, term) for term in terms for cell in busy if _is_at(cell, term, arm)]


def _is_at(cell: BusyCell, term: Term, arm: Arm) -> bool:
    return cell.system == arm.system_of(term) and term.speaks_of(cell.table, cell.levels)
