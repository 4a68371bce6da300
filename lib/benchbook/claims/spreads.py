"""The spread of each part from all that is like it: with few repetitions, each alone knows its own badly.

Either part by part: the variances of its kind are moderated (see stats.moderation), per figure compared, for a ratio
of two ratios varies twice as much as a ratio. Parts of one kind compare figures of the same units, rates with rates,
times (s, ms) with times, on one scale. Or from the figures that it compares (see figure_spreads).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from benchbook.claims.figure_spreads import (
    FigureSpreads,
    RepeatedFigures,
    cancels_blocks,
    compares_starts,
    figure_spreads,
    levels_of,
    sharing,
)
from benchbook.claims.oddity import oddity
from benchbook.claims.parts import Part, Spread
from benchbook.claims.terms import Term
from benchbook.grouping import grouped
from benchbook.published import arithmetic
from benchbook.published.tables import Published
from benchbook.published.time_units import is_time
from benchbook.stats.moderation import LEAST_FEATURES, Moderated, moderate

PartKey = tuple[str | bytes, ...]
# Figures that vary so unlike that they know less than this of a comparison leave it to the comparisons.
_ENOUGH_DF = 3.0


def moderated(claims: Sequence[Sequence[Part]], published: Published, figures: RepeatedFigures) -> list[list[Part]]:
    """The same parts with borrowed spreads, where their kind has enough of them; below two repetitions nothing is.

    Raises what `figures` raises.
    """
    every = [part for part in chain.from_iterable(claims) if part.n > 1]
    by_part, by_figure = _of_parts(every, published, figures), _of_figures(every, published, figures)
    return [[_with(part, (by_figure, by_part), published) for part in parts] for parts in claims]


def _with(part: Part, found: Sequence[Mapping[PartKey, Spread]], published: Published) -> Part:
    same = _same(part, published)
    known = [spreads[same] for spreads in found if same in spreads]
    if not known or part.n < 2:
        return part
    # Taking each time what has more degrees of freedom makes 7 of 100 ledgers wrong at n = 3 (simulated).
    return replace(part, borrowed=known[0] if known[0].df >= _ENOUGH_DF else max(known, key=lambda spread: spread.df))


def _of_figures(parts: Sequence[Part], published: Published, figures: RepeatedFigures) -> dict[PartKey, Spread]:
    """Of comparisons within one unit, from all figures of that unit that any of them compares."""
    known: dict[PartKey, Spread] = {}
    for members in _by_kind((p for p in parts if cancels_blocks(p) and not figures.one_trial(p.terms)), published):
        distinct = {_same(part, published): part for part in members}
        terms = {term.key: term for part in members for term in part.terms}
        if len(_units(members[0], published)) == 1:
            known |= _of_one_unit(distinct, figure_spreads(list(terms.values()), figures))
    return known


def _of_one_unit(parts: Mapping[PartKey, Part], found: FigureSpreads | None) -> dict[PartKey, Spread]:
    return dict(zip(parts, found.of(list(parts.values())), strict=True)) if found else {}


def _of_parts(parts: Sequence[Part], published: Published, figures: RepeatedFigures) -> dict[PartKey, Spread]:
    """Part by part among its kind. Figures of one trial share what befell it: comparisons of them are a kind apart.

    Comparisons of two systems, or tables, share what a start did to all of either, and so does none within one: as many
    as there are know no more of it, and those within know nothing of it.
    """
    known: dict[PartKey, Spread] = {}
    for within in (True, False):
        of_this = (part for part in parts if figures.one_trial(part.terms) is within)
        for members in _by_kind(of_this, published):
            shares = sharing((term for part in members for term in part.terms), figures.system)
            # Two claims may speak of the same comparison: it informs the others once.
            distinct = {_same(part, published): part for part in members if not compares_starts(part, shares)}
            known |= dict(zip(distinct, _spreads(list(distinct.values())), strict=False))
    return known


def _by_kind(parts: Iterable[Part], published: Published) -> Iterable[list[Part]]:
    return grouped(parts, lambda part: (part.scale, *_units(part, published))).values()


def _units(part: Part, published: Published) -> list[str]:
    return sorted({dimension(term, published) for term in part.terms})


def dimension(term: Term, published: Published) -> str:
    """What a term's columns measure: "time" in whatever unit, else their unit; levels do not count.

    Effects are logs of ratios: that one table prints s and another ms is nothing to them.
    """
    table = published.tables[term.table]
    units = {table.fields[name].unit for name in arithmetic.names(term.metric) if name in table.metrics}
    return "time" if units and all(map(is_time, units)) else ", ".join(sorted(units))


def _same(part: Part, published: Published) -> PartKey:
    """A comparison and its inverse vary alike."""
    sign = -1.0 if part.effects.size and part.effects[0] < 0 else 1.0
    return (part.scale, *_units(part, published), np.round(sign * part.effects, 12).tobytes())


def _spreads(parts: Sequence[Part]) -> list[Spread]:
    """Moderated by each other; empty where there are too few to know anything of each other."""
    if len(parts) < LEAST_FEATURES:
        return []
    figures = np.array([part.figures for part in parts])
    own = np.array([part.spread.variance for part in parts])
    dfs = np.array([part.spread.df for part in parts])
    found = moderate(own / figures, dfs, covariate=levels_of([part.terms for part in parts]))
    if found.prior_df == 0:
        return []
    return [_spread(part, found, i, figures[i]) for i, part in enumerate(parts)]


def _spread(part: Part, found: Moderated, i: int, figures: float) -> Spread:
    odd = oddity(part.effects) if found.own[i] else ""
    return Spread(max(float(found.variances[i]) * figures, part.least_variance), float(found.dfs[i]), odd)
