"""Whether scaled levels can be compared as the report compares its own: two that are one there, a step made wider."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from benchbook.campaign.scaled_levels import LevelScaling
from benchbook.claims.decide import Decision
from benchbook.claims.hypothesis import Hypothesis
from benchbook.claims.parts import Part
from benchbook.claims.room import LEANS_TO_HOLDING, NoRoom
from benchbook.claims.terms import Figure, Rows, Term, counted
from benchbook.published.declarations import Scalar
from benchbook.published.tables import Published

# Levels are whole numbers: a step between two that are rounded may be so much wider than the published one.
_AS_WIDE = 1.25
_NEEDS = "the published levels (-p levels=published), or a machine with more cores"


@dataclass(frozen=True)
class AsRun:
    """A claim about the rows that were run alike here, and a sentence on what differs from its published rows."""

    claim: Hypothesis
    note: str = ""


def at_equal_levels(claim: Hypothesis, published: Published, scaling: LevelScaling | None) -> AsRun:
    """The claim at the lowest level that all its tables were run at, where one published level was run unequally.

    100 threads are 2 here in a table that begins with 50 of them, and 1 in one that begins with 100: what the report
    says at equal threads is asked at 1 thread of both. The lowest, for there the machine has most room.
    """
    terms = [term for _, term in claim.speaks_of(published)]
    rows = _rows_run_alike(terms, scaling) if scaling else {}
    if scaling is None or not rows:
        return AsRun(claim)

    def moved(table: str, levels: Rows) -> Rows:
        return {name: rows.get((table, name, value), value) for name, value in levels.items()}

    def change(figure: Figure) -> Figure:
        over = figure.over
        if over is not None:
            over = over.model_copy(update={"rows": moved(over.table or figure.table, over.rows)})
        return figure.model_copy(update={"rows": moved(figure.table, figure.rows), "over": over})

    at = {name: scaling.here(table, name, row) for (table, name, _), row in rows.items()}
    note = f"Compared at {counted({name: level for name, level in at.items() if level is not None})} in every table"
    if (run := claim.with_figures(change)) is claim:
        return AsRun(claim)
    return AsRun(run, f"{note}, because {'; '.join(_ran_unequally(terms, scaling))}.")


def _rows_run_alike(terms: Sequence[Term], scaling: LevelScaling) -> dict[tuple[str, str, Scalar], int]:
    """Table, level's name and published value -> the published value that was run as in all other tables."""
    found: dict[tuple[str, str, Scalar], int] = {}
    for name, values in _levels_of_all(terms).items():
        if len(values) != 1:
            continue
        (value,) = values
        maps = {term.table: scaling.levels.get(term.table, {}).get(name, {}) for term in terms}
        ran = {each.get(str(value)) for each in maps.values()}
        alike = ran.intersection(*(each.values() for each in maps.values()))
        if len(ran) < 2 or None in ran or not alike:
            continue
        lowest = min(level for level in alike if level is not None)
        for table, each in maps.items():
            found[table, name, value] = next(int(row) for row, here in each.items() if here == lowest)
    return found


def _levels_of_all(terms: Sequence[Term]) -> dict[str, set[Scalar]]:
    """Name of a level that all terms have -> its values."""
    names = set.intersection(*(set(term.rows) for term in terms)) if terms else set()
    return {name: {term.rows[name] for term in terms} for name in sorted(names)}


def _ran_unequally(terms: Sequence[Term], scaling: LevelScaling) -> list[str]:
    """Each published level that two terms share and that was run differently for them, in words."""
    said: dict[str, None] = {}
    for one, other in combinations(terms, 2):
        for name in [name for name, value in one.rows.items() if other.rows.get(name) == value]:
            ran = [scaling.here(term.table, name, one.rows[name]) for term in (one, other)]
            if None not in ran and ran[0] != ran[1]:
                counts = [counted({name: value}) for value in ran if value is not None]
                what = f"{counted({name: one.rows[name]})} stand for"
                said.setdefault(f"{what} {counts[0]} in one table and {counts[1]} in another")
    return list(said)


def unequal(parts: Sequence[Part], scaling: LevelScaling | None) -> NoRoom | None:
    """Whether a comparison at one published level was run at different levels, because its tables are scaled apart."""
    if scaling is None:
        return None
    found = (why for part in parts for why in _ran_unequally(part.terms, scaling))
    return next((NoRoom(why, _NEEDS) for why in found), None)


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
