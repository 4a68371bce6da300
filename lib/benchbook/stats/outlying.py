"""Cells in which one repetition stands apart, or whose repetitions lie at two levels: tested over all cells at once.

What is usual between repetitions is taken from all cells (moderation), so that three repetitions can show an outlier.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from benchbook.stats.estimates import Array
from benchbook.stats.moderation import moderate
from benchbook.stats.tails import t_tail

LEAST_FOR_OUTLIER, LEAST_FOR_LEVELS = 3, 4
_KNOWN = 1e6
_DRAWS, _PARTS = 100_000, 20
_SEED = 1


@dataclass(frozen=True)
class Outlying:
    """A cell, what is odd about it, by how much (log ratio of the one, or of the upper level, to the others), and p.

    `repetition` is the position of the one that stands apart. p is corrected for all cells (Bonferroni).
    """

    cell: str
    kind: Literal["outlier", "two levels"]
    shift: float
    p_value: float
    repetition: int | None = None


def outlying(cells: Mapping[str, Sequence[float]], *, alpha: float) -> list[Outlying]:
    """Cells that differ from what is usual, from the logs of their repetitions; half of `alpha` for each kind.

    Over all cells together, the chance that normal repetitions show any is at most `alpha`.
    """
    logs = {name: np.asarray(values, dtype=np.float64) for name, values in cells.items() if len(values) > 1}
    if not logs:
        return []
    usual = moderate([v.var(ddof=1) for v in logs.values()], [v.size - 1.0 for v in logs.values()])
    prior = min(usual.prior_df, _KNOWN)
    variances = usual.prior_variances if prior else np.zeros(len(logs))
    trials = sum(v.size for v in logs.values())
    found: list[Outlying] = []
    for (name, values), variance in zip(logs.items(), variances, strict=True):
        one = _outlier(name, values, prior, float(variance), trials)
        two = _levels(name, values, prior, float(variance), len(logs))
        odd = [each for each in (one, two) if each is not None and each.p_value < alpha / 2]
        found += [min(odd, key=lambda one: one.p_value)] if odd else []
    return found


def _outlier(name: str, values: Array, prior: float, variance: float, trials: int) -> Outlying | None:
    """The repetition farthest from the others, in standard errors of its prediction from them."""
    n = values.size
    if n < LEAST_FOR_OUTLIER:
        return None
    others = (values.sum() - values) / (n - 1)
    # Sum of squares of the others: what is left of all when one is taken out.
    left = np.maximum(((values - values.mean()) ** 2).sum() - (values - others) ** 2 * (n - 1) / n, 0)
    freedom = prior + n - 2
    error = np.sqrt((prior * variance + left) / freedom * (1 + 1 / (n - 1)))
    t = np.abs(values - others) / np.maximum(error, np.finfo(float).tiny)
    at = int(t.argmax())
    p = min(1.0, 2 * float(t_tail(t[at], freedom)) * trials)
    return Outlying(name, "outlier", float(values[at] - others[at]), p, at)


def _levels(name: str, values: Array, prior: float, variance: float, cells: int) -> Outlying | None:
    if values.size < LEAST_FOR_LEVELS:
        return None
    rising = np.sort(values)
    # In steps, so that campaigns share what is simulated; downwards, which believes the prior less.
    prior = 2.0 ** math.floor(math.log2(prior)) if prior else 0.0
    score = float(_score(rising[None, :], prior, np.array([variance]))[0])
    null = _null(values.size, prior)
    p = (1 + float((null >= score).sum())) / (1 + null.size)
    at = _best_split(rising[None, :])[0]
    shift = float(rising[at:].mean() - rising[:at].mean())
    return Outlying(name, "two levels", shift, min(1.0, p * cells))


def _between(rising: Array) -> Array:
    """Sum of squares between the two sides of each split with two or more on each side; rows of rising values."""
    n = rising.shape[1]
    sides = np.arange(2, n - 1)
    below = np.cumsum(rising, axis=1)[:, 1 : n - 2] / sides
    above = (rising.sum(axis=1, keepdims=True) - below * sides) / (n - sides)
    return np.asarray((above - below) ** 2 * sides * (n - sides) / n)


def _best_split(rising: Array) -> list[int]:
    return [int(at) + 2 for at in _between(rising).argmax(axis=1)]


def _score(rising: Array, prior: float, variance: Array) -> Array:
    """F of the best split: between its sides over within them, the prior's variance counted in."""
    between = _between(rising).max(axis=1)
    within = ((rising - rising.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) - between
    spread = (prior * variance + np.maximum(within, 0)) / (prior + rising.shape[1] - 2)
    return np.asarray(between / np.maximum(spread, np.finfo(float).tiny))


@lru_cache(maxsize=32)
def _null(n: int, prior: float) -> Array:
    """Scores of normal repetitions whose variances follow the prior; simulated, always with the same numbers."""
    rng = np.random.default_rng(_SEED)
    scale = np.sqrt(prior / rng.chisquare(prior, _DRAWS)) if prior else np.ones(_DRAWS)
    # In parts: all at once, of 34 repetitions, would be the most memory that a page takes.
    scores = []
    for part in np.split(scale, _PARTS):
        rising = np.sort(rng.standard_normal((part.size, n)) * part[:, None], axis=1)
        scores.append(_score(rising, prior, np.ones(part.size)))
    return np.concatenate(scores)


def in_percent(log_ratio: float) -> float:
    """A log ratio as a change in percent."""
    return 100 * math.expm1(log_ratio)
