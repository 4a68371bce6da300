"""The spread of a comparison from the spreads of the figures that it compares, and theirs from each other.

Three repetitions of one comparison tell its spread with two degrees of freedom. Its figures were repeated beside all
others of their unit: an additive model of figures and repetitions (blocks) takes out what a whole repetition shares,
and leaves each figure a variance of its own (Box, Hunter & Hunter 2005, *Statistics for Experimenters*, ch. 4). These
are moderated by each other, and a comparison varies by the sum of its figures' variances, with Satterthwaite's degrees
of freedom (1946, Biometrics Bulletin 2(6)): those of two figures, or four, in place of one difference's own.

Systems take turns within a repetition, each freshly started: a split-plot design (ibid., ch. 9). What a start does to
all figures of its system cancels in a comparison within the system, and is in every one of two systems. So it is with
tables: a disk that is slow in one repetition slows the loads of a table that writes, and not those of one that reads.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from benchbook.claims.oddity import oddity
from benchbook.claims.parts import Part, Spread
from benchbook.claims.terms import Term, TermKey
from benchbook.stats.campaign_effect import with_component
from benchbook.stats.estimates import Array
from benchbook.stats.moderation import LEAST_FEATURES, moderate

# By so many standard errors the factor of pairing, and what starts differ by, are taken high. As the factor comes, 6 of
# 100 ledgers are wrong at n = 3 (simulated, five noises), and so 5.
_CAUTION = 0.5
# What is known of pairing before any comparison was seen, in comparisons: that it brings nothing.
_UNPAIRED = 3
# Of the variance of a figure: what another one differs from it by, if both say the same.
_COPY = 0.01
# Weights of figures that add up to less have cancelled.
_NOTHING = 1e-9


@dataclass(frozen=True)
class RepeatedFigures:
    """What the repetitions of a campaign say of its figures.

    `logs`: of a term by repetition. `one_trial`: were these terms measured in one trial, as the rates of a program's
    two ends are? `system`: the one that a term is about.
    """

    logs: Callable[[Term], pd.Series[float]]
    one_trial: Callable[[Sequence[Term]], bool]
    system: Callable[[Term], str]


@dataclass(frozen=True)
class FigureSpreads:
    """The moderated spread of every figure of one unit; `most_df`: no comparison has more degrees of freedom.

    `systems`: that of each figure, or its table in it; `starts`: what each start of a system did to all of its figures,
    in logs, a row per system and a column per repetition. `copies`: figures whose spread is that of another one.
    """

    spreads: dict[TermKey, Spread]
    most_df: float
    systems: Mapping[TermKey, str] = field(default_factory=dict)
    starts: pd.DataFrame = field(default_factory=pd.DataFrame)
    copies: frozenset[TermKey] = frozenset()

    def of(self, parts: Sequence[Part]) -> list[Spread]:
        """The spread of one repetition's effect of each of these comparisons, which are all different.

        Figures of one repetition that lie near each other in time may share more than all of them do: then differences
        vary less than the sum of their figures' variances says, all by one factor, which these comparisons tell.
        """
        weights = [_by_key(part) for part in parts]
        sums = [self._sum(of_part) for of_part in weights]
        apart = [_of_starts(of_part, self.systems) for of_part in weights]
        seen = [
            p.spread.variance / s.variance
            for p, s, of_systems in zip(parts, sums, apart, strict=True)
            if s.variance > 0 and not of_systems
        ]
        paired = (_UNPAIRED + sum(seen)) / (_UNPAIRED + len(seen))
        # A variance that is a part of itself less than it is costs more than one that is as much more.
        paired *= 1 + _CAUTION * math.sqrt(2 / self.most_df)
        alike = [replace(one, variance=paired * one.variance) for one in sums]
        found = [self._with_starts(one, of_systems) for one, of_systems in zip(alike, apart, strict=True)]
        return [
            replace(one, variance=max(one.variance, part.least_variance))
            for part, one in zip(parts, found, strict=True)
        ]

    def _with_starts(self, one: Spread, of_systems: Mapping[str, float]) -> Spread:
        """The spread of a comparison of systems: what their starts differ by has as many degrees as starts, less 1."""
        if not of_systems:
            return one
        names = list(of_systems)
        seen = (self.starts.loc[names].T.dropna() @ pd.Series(of_systems)).to_numpy(dtype=np.float64)
        # A start is known from the figures measured in it, by the mean of these.
        within = sum(weight**2 * self._of_a_mean(system) for system, weight in of_systems.items())
        df = seen.size - 1.0
        # Taken high as well: as it comes, 95% intervals of tables 10% apart cover 93% at n = 3, and so 95% (simulated).
        between = float(seen.var(ddof=1)) * (1 + _CAUTION * math.sqrt(2 / df))
        variance, df = with_component(one.variance, one.df, between, within, df)
        return Spread(variance, df, one.odd)

    def _of_a_mean(self, system: str) -> float:
        """The variance of the mean of a system's figures over one start, as if they varied independently."""
        counted = [figure for figure in self.spreads if figure not in self.copies]
        mine = [self.spreads[figure].variance for figure in counted if self.systems[figure] == system]
        return sum(mine) / len(mine) ** 2

    def _sum(self, weights: Mapping[TermKey, float]) -> Spread:
        """As if the figures varied independently of each other."""
        shares = [
            (weight**2 * self.spreads[figure].variance, self.spreads[figure]) for figure, weight in weights.items()
        ]
        whole, uncertain = sum(v for v, _ in shares), sum(v**2 / spread.df for v, spread in shares)
        df = min(whole**2 / uncertain, self.most_df) if uncertain > 0 else self.most_df
        odd = next((spread.odd for variance, spread in shares if variance and spread.odd), "")
        return Spread(whole, df, odd)


def _by_key(part: Part) -> dict[TermKey, float]:
    return {term.key: weight for term, weight in part.weights}


def compares_starts(part: Part, shares: Mapping[TermKey, str]) -> bool:
    """Is what a start does to all figures that share it in the effect? `shares` as of `sharing`."""
    if not part.signs:
        return len({shares[term.key] for term in part.terms}) > 1
    return bool(_of_starts(_by_key(part), shares))


def _of_starts(weights: Mapping[TermKey, float], shares: Mapping[TermKey, str]) -> dict[str, float]:
    """What figures share a start with -> how often what its starts do is in a comparison, where it does not cancel."""
    sums: dict[str, float] = {}
    for figure, weight in weights.items():
        sums[shares.get(figure, "")] = sums.get(shares.get(figure, ""), 0.0) + weight
    return {system: weight for system, weight in sums.items() if abs(weight) > _NOTHING}


def cancels_blocks(part: Part) -> bool:
    """Is it a comparison of figures as such, in which what a whole repetition shares cancels?"""
    return part.scale == "ratio" and bool(part.signs) and sum(part.signs) == 0


def figure_spreads(terms: Sequence[Term], figures: RepeatedFigures) -> FigureSpreads | None:
    """Of figures of one unit; None where too few of them were repeated to know anything of each other."""
    logs = pd.DataFrame({place: figures.logs(term) for place, term in enumerate(terms)}).T.to_numpy(dtype=np.float64)
    firsts = _firsts(terms, logs, figures)
    distinct = sorted(set(firsts))
    of_terms = sharing([terms[place] for place in distinct], figures.system)
    residuals, dfs, starts = additive_residuals(logs[distinct], list(of_terms.values()))
    if (dfs > 0).sum() < LEAST_FEATURES:
        return None
    squares = np.nansum(residuals**2, axis=1)
    # Below rounding errors there is no difference.
    variances = np.where(squares < 1e-24, 0.0, np.divide(squares, dfs, out=np.zeros(len(dfs)), where=dfs > 0))
    found = moderate(variances, dfs, covariate=levels_of([[terms[place]] for place in distinct]))
    if found.prior_df == 0:
        return None
    odd = [oddity(row[~np.isnan(row)]) if own else "" for row, own in zip(residuals, found.own, strict=True)]
    known = zip(distinct, found.variances, found.dfs, odd, strict=True)
    by_place = {place: Spread(float(variance), float(df), said) for place, variance, df, said in known}
    spreads = {term.key: by_place[first] for term, first in zip(terms, firsts, strict=True)}
    systems = {term.key: of_terms[terms[first].key] for term, first in zip(terms, firsts, strict=True)}
    copies = frozenset(term.key for place, term in enumerate(terms) if firsts[place] != place)
    return FigureSpreads(spreads, float(dfs.sum()), systems, starts, copies)


def _firsts(terms: Sequence[Term], logs: Array, figures: RepeatedFigures) -> list[int]:
    """The place of each figure, or of an earlier one of its trial that it moves with: sagas, and their statements.

    Such figures know no more of a spread than one of them: DTM's three rates, taken for three figures, made 95% and
    99.7% intervals of 3 repetitions miss the truth in 5.6 and 0.5%, 4.0 and 0.3% as one (simulated).
    """
    # What a whole repetition shares makes no figures alike.
    apart = logs - np.nanmean(logs, axis=1, keepdims=True)
    apart -= np.nanmean(apart, axis=0)
    found: list[int] = []
    for place, term in enumerate(terms):
        alike = (
            first
            for first in dict.fromkeys(found)
            if _moves_with(apart[place], apart[first]) and figures.one_trial([terms[first], term])
        )
        found.append(next(alike, place))
    return found


def _moves_with(a: Array, b: Array) -> bool:
    """Whether two figures' logs differ by nothing but a hundredth of what varies; both around their means."""
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return False
    return bool(np.nanvar(a - b) < _COPY * np.nanvar(a))


def sharing(terms: Iterable[Term], system: Callable[[Term], str]) -> dict[TermKey, str]:
    """What each figure shares its starts with: the others of its system's table, or of its system if there are none."""
    tables = {term.key: (system(term), term.table) for term in terms}
    counts = Counter(tables.values())
    return {key: ": ".join(table) if counts[table] > 1 else table[0] for key, table in tables.items()}


def additive_residuals(logs: Array, systems: Sequence[str]) -> tuple[Array, Array, pd.DataFrame]:
    """What neither a figure nor a start of its system explains, each figure's degrees of freedom, and the starts.

    `logs` has shape (figures, repetitions), NaN where one was not measured; so have the residuals. `systems`: what each
    figure shares its starts with. Starts have a row per system and a column per repetition; what they do is known but
    for a constant of each system.
    """
    residuals, dfs, starts = np.full(logs.shape, math.nan), np.zeros(len(logs)), {}
    of_figure = np.array(systems, dtype=object)
    # No system has anything in common with another one: each by itself, which is faster.
    for name in dict.fromkeys(systems):
        mine = of_figure == name
        residuals[mine], dfs[mine], starts[name] = _within(logs[mine])
    return residuals, dfs, pd.DataFrame.from_dict(starts, orient="index")


def _within(logs: Array) -> tuple[Array, Array, Array]:
    """As `additive_residuals`, of figures of one system.

    Every value loses as many degrees of freedom as the fit follows it (its leverage), so that a figure's sum of squares
    over its degrees of freedom is its variance without bias where all vary alike.
    """
    figures, repetitions = logs.shape
    measured = ~np.isnan(logs)
    row, column = np.nonzero(measured)
    design = np.hstack([np.eye(figures)[row], np.eye(repetitions)[column]])
    solved = np.linalg.pinv(design)
    fit = design @ solved
    residuals, left = np.full(logs.shape, math.nan), np.zeros(logs.shape)
    residuals[measured] = logs[measured] - fit @ logs[measured]
    left[measured] = 1 - np.diag(fit)
    dfs = left.sum(axis=1)
    starts = np.where(measured.any(axis=0), (solved @ logs[measured])[figures:], math.nan)
    # One that nothing else was repeated beside is explained whole, but for rounding.
    return residuals, np.where(dfs < 1e-9, 0.0, dfs), starts


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
