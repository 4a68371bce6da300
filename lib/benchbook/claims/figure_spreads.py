"""The spread of a comparison from the spreads of the figures that it compares, and theirs from each other.

Three repetitions of one comparison tell its spread with two degrees of freedom. Its figures were repeated beside all
others of their unit: an additive model of figures and repetitions (blocks) takes out what a whole repetition shares,
and leaves each figure a variance of its own (Box, Hunter & Hunter 2005, *Statistics for Experimenters*, ch. 4). These
are moderated by each other, and a comparison varies by the sum of its figures' variances, with Satterthwaite's degrees
of freedom (1946, Biometrics Bulletin 2(6)): those of two figures, or four, in place of one difference's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchbook.claims.oddity import oddity
from benchbook.claims.parts import Part, Spread
from benchbook.claims.terms import Term, TermKey
from benchbook.stats.estimates import Array
from benchbook.stats.moderation import LEAST_FEATURES, moderate

# By so many standard errors the factor of pairing is taken high: as it comes, 6 of 100 ledgers are wrong at n = 3
# (simulated, five noises), and so 5.
_CAUTION = 0.5
# What is known of pairing before any comparison was seen, in comparisons: that it brings nothing.
_UNPAIRED = 3


@dataclass(frozen=True)
class RepeatedFigures:
    """What the repetitions of a campaign say of its figures.

    `logs`: of a term by repetition. `one_trial`: were these terms measured in one trial, as the rates of a program's
    two ends are?
    """

    logs: Callable[[Term], pd.Series[float]]
    one_trial: Callable[[Sequence[Term]], bool]


@dataclass(frozen=True)
class FigureSpreads:
    """The moderated spread of every figure of one unit; `most_df`: no comparison has more degrees of freedom."""

    spreads: dict[TermKey, Spread]
    most_df: float

    def of(self, parts: Sequence[Part]) -> list[Spread]:
        """The spread of one repetition's effect of each of these comparisons, which are all different.

        Figures of one repetition that lie near each other in time may share more than all of them do: then differences
        vary less than the sum of their figures' variances says, all by one factor, which these comparisons tell.
        """
        sums = [self._sum(part) for part in parts]
        seen = [p.spread.variance / s.variance for p, s in zip(parts, sums, strict=True) if s.variance > 0]
        paired = (_UNPAIRED + sum(seen)) / (_UNPAIRED + len(seen))
        # A variance that is a part of itself less than it is costs more than one that is as much more.
        paired *= 1 + _CAUTION * math.sqrt(2 / self.most_df)
        return [
            Spread(max(paired * one.variance, part.least_variance), one.df, one.odd)
            for part, one in zip(parts, sums, strict=True)
        ]

    def _sum(self, part: Part) -> Spread:
        """As if the figures varied independently of each other."""
        weights: dict[TermKey, int] = {}
        for term, sign in zip(part.terms, part.signs, strict=True):
            weights[term.key] = weights.get(term.key, 0) + sign
        shares = [
            (weight**2 * self.spreads[figure].variance, self.spreads[figure]) for figure, weight in weights.items()
        ]
        whole, uncertain = sum(v for v, _ in shares), sum(v**2 / spread.df for v, spread in shares)
        df = min(whole**2 / uncertain, self.most_df) if uncertain > 0 else self.most_df
        odd = next((spread.odd for variance, spread in shares if variance and spread.odd), "")
        return Spread(whole, df, odd)


def cancels_blocks(part: Part) -> bool:
    """Is it a comparison of figures as such, in which what a whole repetition shares cancels?"""
    return part.scale == "ratio" and bool(part.signs) and sum(part.signs) == 0


def figure_spreads(terms: Sequence[Term], logs: Callable[[Term], pd.Series[float]]) -> FigureSpreads | None:
    """Of figures of one unit; None where too few of them were repeated to know anything of each other."""
    table = pd.DataFrame({place: logs(term) for place, term in enumerate(terms)}).T
    residuals, dfs = additive_residuals(table.to_numpy(dtype=np.float64))
    if (dfs > 0).sum() < LEAST_FEATURES:
        return None
    squares = np.nansum(residuals**2, axis=1)
    # Below rounding errors there is no difference.
    variances = np.where(squares < 1e-24, 0.0, np.divide(squares, dfs, out=np.zeros(len(dfs)), where=dfs > 0))
    found = moderate(variances, dfs, covariate=levels_of([[term] for term in terms]))
    if found.prior_df == 0:
        return None
    odd = [oddity(row[~np.isnan(row)]) if own else "" for row, own in zip(residuals, found.own, strict=True)]
    known = zip(terms, found.variances, found.dfs, odd, strict=True)
    spreads = {term.key: Spread(float(variance), float(df), said) for term, variance, df, said in known}
    return FigureSpreads(spreads, float(dfs.sum()))


def additive_residuals(logs: Array) -> tuple[Array, Array]:
    """What neither a figure nor a repetition explains, and each figure's degrees of freedom.

    `logs` has shape (figures, repetitions), NaN where one was not measured; so have the residuals. Every value loses as
    many degrees of freedom as the fit follows it (its leverage), so that a figure's sum of squares over its degrees of
    freedom is its variance without bias where all vary alike.
    """
    figures, repetitions = logs.shape
    measured = ~np.isnan(logs)
    row, column = np.nonzero(measured)
    design = np.hstack([np.eye(figures)[row], np.eye(repetitions)[column]])
    fit = design @ np.linalg.pinv(design)
    residuals, left = np.full(logs.shape, math.nan), np.zeros(logs.shape)
    residuals[measured] = logs[measured] - fit @ logs[measured]
    left[measured] = 1 - np.diag(fit)
    dfs = left.sum(axis=1)
    # One that nothing else was repeated beside is explained whole, but for rounding.
    return residuals, np.where(dfs < 1e-9, 0.0, dfs)


def levels_of(compared: Sequence[Sequence[Term]]) -> Array | None:
    """Log of the level that each comparison is at, if all of them have one number in common, such as threads."""
    names = [{name for term in terms for name in _numbers(term)} for terms in compared]
    common = sorted(set.intersection(*names)) if names else []
    if len(common) != 1:
        return None
    name = common[0]
    return np.array([np.mean([math.log(n[name]) for t in terms if name in (n := _numbers(t))]) for terms in compared])


def _numbers(term: Term) -> dict[str, float]:
    return {name: float(value) for name, value in term.rows.items() if isinstance(value, int | float) and value > 0}
