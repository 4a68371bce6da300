"""Figures that rise or fall from one repetition to the next, unlike those beside them: no mean stands for them.

What all figures share (a machine that slows down) cancels in every comparison. What one of them does by itself (a
table that grows, a cache that fills) does not, and three to seven repetitions hardly show it in a comparison of two
noisy figures. Held against all figures of its unit it shows sooner.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchbook.claims.hypothesis import Arm
from benchbook.claims.parts import Part
from benchbook.claims.terms import TermKey, unit
from benchbook.stats.estimates import Array
from benchbook.stats.moderation import moderate
from benchbook.stats.tails import t_tail

# Three repetitions leave a slope one degree of freedom: intervals that hold for the first and the last were as wide as
# [0.05, 67] for a figure that rose 1.9 times (TiDB, smoke), and without them 4.5% of ledgers are wrong.
LEAST_REPETITIONS, LEAST_FIGURES = 5, 4
# Of figures that do not drift, this share is named as well, and their intervals get wider without need: with 0.01
# (tried), one cell that loses 2% per repetition at 3% noise makes 17% of ledgers wrong at n = 7, with 0.05 8%.
BY_CHANCE = 0.05


def widened(claims: Sequence[Sequence[Part]], arm: Arm) -> list[list[Part]]:
    """The same parts; those with a figure that drifts, in the order of the repetitions, with the drift they show.

    In a mean over several comparisons one of many figures weighs little, and among many one seems to drift by chance:
    there as many have to as make up one comparison's.
    """
    drifting = _found(claims, arm)

    def drifts_by_itself(part: Part) -> bool:
        return sum(term.key in drifting for term in part.terms) >= part.averaged

    return [[with_drift(part) if drifts_by_itself(part) else part for part in parts] for parts in claims]


def with_drift(part: Part) -> Part:
    """The part with the slope of its effects over repetitions."""
    return replace(part, drift=float(_slopes(part.effects[None, :])[0]))


def drifts(logs: Array) -> NDArray[np.bool_]:
    """Which figures drift unlike the others: logs of shape (figures, repetitions in their order), all of one unit."""
    figures, n = logs.shape
    if n < LEAST_REPETITIONS or figures < LEAST_FIGURES:
        return np.zeros(figures, dtype=bool)
    apart = logs - logs.mean(axis=1, keepdims=True)
    # The median: one steep figure does not make the others look as if they went the other way.
    apart = apart - np.median(apart, axis=0)
    slopes, order = _slopes(apart), np.arange(n) - (n - 1) / 2
    residuals = ((apart - np.outer(slopes, order)) ** 2).sum(axis=1) / (n - 2)
    known = moderate(np.where(residuals < 1e-24, 0.0, residuals), np.full(figures, n - 2.0))
    # Student's t of a slope by least squares: Draper & Smith (1998), Applied Regression Analysis, sec. 1.4.
    errors = np.sqrt(known.variances / (order @ order))
    t = np.divide(np.abs(slopes), errors, out=np.zeros(figures), where=errors > 0)
    return np.asarray(2 * t_tail(t, known.dfs) < BY_CHANCE)


def _slopes(values: Array) -> Array:
    """Change per repetition, least squares; values of shape (rows, repetitions)."""
    n = values.shape[1]
    order = np.arange(n) - (n - 1) / 2
    return np.asarray(values @ order / (order @ order)) if n > 1 else np.zeros(len(values))


def _found(claims: Sequence[Sequence[Part]], arm: Arm) -> set[TermKey]:
    """The figures of all parts that drift, unit by unit."""
    terms = {term.key: term for parts in claims for part in parts for term in part.terms}
    kinds: dict[str, list[TermKey]] = {}
    for figure, term in terms.items():
        kinds.setdefault(unit(term, arm.published), []).append(figure)
    found: set[TermKey] = set()
    for keys in kinds.values():
        logs = pd.DataFrame({place: arm.logs(terms[figure]) for place, figure in enumerate(keys)}).T
        # The repetitions that most figures have; a figure without one of them is left out.
        whole = logs.dropna(axis=1, thresh=math.ceil(len(logs) / 2)).sort_index(axis=1).dropna()
        found |= {keys[place] for place in whole.index[drifts(whole.to_numpy(dtype=np.float64))]}
    return found
