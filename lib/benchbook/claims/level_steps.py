"""Whether scaled levels can be compared as the report compares its own: two that are one there, a step made wider."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from benchbook.campaign.scaled_levels import LevelScaling
from benchbook.claims.decide import Decision
from benchbook.claims.parts import Part
from benchbook.claims.room import LEANS_TO_HOLDING, NoRoom
from benchbook.claims.terms import counted

# Levels are whole numbers: a step between two that are rounded may be so much wider than the published one.
_AS_WIDE = 1.25
_NEEDS = "the published levels (-p levels=published), or a machine with more cores"


def unequal(parts: Sequence[Part], scaling: LevelScaling | None) -> NoRoom | None:
    """Whether a comparison at one published level was run at different levels, because its tables are scaled apart."""
    if scaling is None:
        return None
    for one, other in (pair for part in parts for pair in combinations(part.terms, 2)):
        for name in [name for name, value in one.rows.items() if other.rows.get(name) == value]:
            ran = [scaling.here(term.table, name, term.rows[name]) for term in (one, other)]
            if None not in ran and ran[0] != ran[1]:
                counts = [counted({name: value}) for value in ran if value is not None]
                why = f"{counted({name: one.rows[name]})} stand for {counts[0]} in one table and {counts[1]} in another"
                return NoRoom(why, _NEEDS)
    return None


def too_wide(decision: Decision, scaling: LevelScaling | None) -> NoRoom | None:
    """Whether a figure changed more than claimed over a step that scaling made wider than the published one.

    From 1 to 2 threads is a longer way than from 15 to 20: what stays within bounds over it holds all the same, what
    does not says nothing of the shorter one.
    """
    part = decision.part
    bound = max(abs(part.low), abs(part.high))
    open_or_held = decision.verdict == "reproduced" or decision.leaning >= LEANS_TO_HOLDING
    if scaling is None or open_or_held or part.scale != "ratio" or not abs(part.mean) > bound:
        return None
    steps = [step for step in _scaled_steps(part, scaling) if step[0] > _AS_WIDE * step[1]]
    if not steps:
        return None
    return NoRoom(max(steps)[2], _NEEDS)


def _scaled_steps(part: Part, scaling: LevelScaling) -> Iterator[tuple[float, float, str]]:
    """How many times higher each scaled level of a comparison is, here and in the report; and both in words."""
    if len(part.terms) != 2:
        return
    one, other = part.terms
    for name in one.rows.keys() & other.rows.keys():
        ran = [level for term in (one, other) if (level := scaling.here(term.table, name, term.rows[name]))]
        printed = [row for term in (one, other) if isinstance(row := term.rows[name], int | float) and row > 0]
        if not len(ran) == len(printed) == 2:
            continue
        (low, high), (below, above) = sorted(ran), sorted(printed)
        here, published = f"{high / low:.3g} times as many", f"{above:g} against {below:g}, {above / below:.3g} times"
        said = f"{counted({name: high})} stand against {low}, {here}, where the report has {published}"
        yield high / low, above / below, said
