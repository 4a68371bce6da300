"""The spread of each part from all parts of its kind: with few repetitions, each alone knows its own badly.

Parts of one kind compare figures of the same units, rates with rates, times (s, ms) with times, on one scale. Their
variances are moderated (see stats.moderation), per figure compared: a ratio of two ratios varies twice as much as a
ratio.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchbook.claims.parts import Part, Spread
from benchbook.claims.terms import TIMES, Term
from benchbook.published import arithmetic
from benchbook.published.tables import Published
from benchbook.stats.estimates import Array
from benchbook.stats.moderation import Moderated, moderate

OUTLIER = "one repetition stands apart from the others"
REGIMES = "this cell has two regimes"
WIDER = "its repetitions vary far more than those of the other cells"


def moderated(claims: Sequence[Sequence[Part]], published: Published) -> list[list[Part]]:
    """The same parts with borrowed spreads, where their kind has enough of them; below two repetitions nothing is."""
    kinds: dict[tuple[str, ...], dict[bytes, Part]] = {}
    for part in (part for parts in claims for part in parts if part.n > 1):
        # Two claims may speak of the same comparison: it informs the others once.
        kinds.setdefault(_kind(part, published), {}).setdefault(_same(part), part)
    spreads = {
        (kind, same): spread
        for kind, parts in kinds.items()
        for same, spread in zip(parts, _spreads(list(parts.values())), strict=True)
    }
    return [[_with(part, spreads.get((_kind(part, published), _same(part)))) for part in parts] for parts in claims]


def _kind(part: Part, published: Published) -> tuple[str, ...]:
    return (part.scale, *sorted({dimension(term, published) for term in part.terms}))


def dimension(term: Term, published: Published) -> str:
    """What a term's columns measure: "time" in whatever unit, else their unit; levels do not count.

    Effects are logs of ratios: that one table prints s and another ms is nothing to them.
    """
    table = published.tables[term.table]
    units = {table.fields[name].unit for name in arithmetic.names(term.metric) if name in table.metrics}
    return "time" if units and units <= set(TIMES) else ", ".join(sorted(units))


def _same(part: Part) -> bytes:
    """A comparison and its inverse vary alike."""
    sign = -1.0 if part.effects.size and part.effects[0] < 0 else 1.0
    return np.round(sign * part.effects, 12).tobytes()


def _with(part: Part, spread: Spread | None) -> Part:
    return part if spread is None else replace(part, borrowed=spread)


def _spreads(parts: Sequence[Part]) -> list[Spread | None]:
    figures = np.array([max(1, len(part.terms)) for part in parts], dtype=np.float64)
    own = np.array([part.spread.variance for part in parts])
    dfs = np.array([part.spread.df for part in parts])
    found = moderate(own / figures, dfs, covariate=_levels(parts))
    if found.prior_df == 0:
        return [None] * len(parts)
    return [_spread(part, found, i, figures[i]) for i, part in enumerate(parts)]


def _spread(part: Part, found: Moderated, i: int, figures: float) -> Spread:
    odd = oddity(part.effects) if found.own[i] else ""
    return Spread(max(float(found.variances[i]) * figures, part.least_variance), float(found.dfs[i]), odd)


def _levels(parts: Sequence[Part]) -> Array | None:
    """Log of the level that each part is at, if all of them have one number in common, such as threads."""
    names = [{name for term in part.terms for name in _numbers(term)} for part in parts]
    common = sorted(set.intersection(*names)) if names else []
    if len(common) != 1:
        return None
    name = common[0]
    return np.array([np.mean([math.log(n[name]) for t in p.terms if name in (n := _numbers(t))]) for p in parts])


def _numbers(term: Term) -> dict[str, float]:
    return {name: float(value) for name, value in term.rows.items() if isinstance(value, int | float) and value > 0}


def oddity(effects: Array) -> str:
    """What makes the repetitions of a part vary more than those of the others, in words."""
    rising = np.sort(effects)
    gaps = np.diff(rising)
    at = int(gaps.argmax()) + 1
    within = max(float(np.ptp(rising[:at])), float(np.ptp(rising[at:])))
    if effects.size < 4 or gaps[at - 1] < 2 * within:
        return WIDER
    return OUTLIER if min(at, effects.size - at) == 1 else REGIMES
