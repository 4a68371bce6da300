"""One comparison and the region that its claim puts it in: what every hypothesis is made of.

A part holds one effect per repetition, so that what a whole repetition shares (a slow hour, a cold machine) cancels:
the logarithm of a ratio of two figures of that repetition, or a rank correlation over its points. The mean over
repetitions has a Student interval; the claim says in which region the true mean lies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from benchbook.claims.terms import Term, weighed
from benchbook.stats.estimates import Array
from benchbook.stats.tails import t_quantile, t_tail

Scale = Literal["ratio", "tau"]
_LARGEST = 700.0


@dataclass(frozen=True)
class Spread:
    """How much one repetition's effect varies: variance (squared unit of the effects) and its degrees of freedom.

    `odd` says in words why the part kept its own spread where others were moderated; empty if it did not.
    """

    variance: float
    df: float
    odd: str = ""


@dataclass(frozen=True)
class Part:
    """`effects`: one per repetition, logs of ratios or taus; `low` and `high` bound the claimed region on that scale.

    `published` is the same effect in the published table. `weight` is this part's share of the evidence against the
    claim; `main` marks the part that a reader is shown first. `terms` are the figures that it compares, `signs` how
    their logs add up to an effect (1 and -1; empty where they do not), `averaged` of how many comparisons like it an
    effect is the mean; `resolution` is the variance that their rounding gives one effect, `sampling` that of the number
    of requests in one trial (of a tau: of points). `borrowed` takes the place of the effects' own spread. `drift` is
    the change of the effect per repetition, where one of the figures drifts. `recorded` is the mean effect before it
    was corrected for CPU that others took (NaN: it was not), `correction_error` the standard error that the correction
    brings.
    """

    what: str
    effects: Array
    low: float = -math.inf
    high: float = math.inf
    published: float = math.nan
    scale: Scale = "ratio"
    weight: float = 1.0
    main: bool = False
    terms: tuple[Term, ...] = ()
    signs: tuple[int, ...] = ()
    averaged: int = 1
    resolution: float = 0.0
    sampling: float = 0.0
    drift: float = 0.0
    recorded: float = math.nan
    correction_error: float = 0.0
    borrowed: Spread | None = None

    @property
    def n(self) -> int:
        return int(self.effects.size)

    @cached_property
    def mean(self) -> float:
        return float(self.effects.mean()) if self.n else math.nan

    @cached_property
    def spread(self) -> Spread:
        """Borrowed, or else the effects' own, and never below the least; NaN below two repetitions."""
        if self.borrowed is not None:
            return self.borrowed
        variance = float(self.effects.var(ddof=1)) if self.n > 1 else math.nan
        # Differences below rounding are none: a figure that repeats exactly has no spread.
        return Spread(max(0.0 if variance < 1e-24 else variance, self.least_variance), self.n - 1)

    @cached_property
    def weights(self) -> list[tuple[Term, float]]:
        """Each figure once, with how often its log is in an effect: a share in a mean over several comparisons."""
        return [(term, sign / self.averaged) for term, sign in weighed(self.terms, self.signs)]

    @property
    def figures(self) -> float:
        """How many figures' variances an effect holds: a mean of L ratios, of 2 L figures, that of 2 / L."""
        return sum(weight**2 for _, weight in self.weights) or 1.0

    @property
    def least_variance(self) -> float:
        """What rounding and the number of requests give one effect even if nothing else varies."""
        return self.resolution + self.sampling

    @cached_property
    def error(self) -> float:
        """Standard error of the mean; NaN below two repetitions."""
        return self.error_of(self.n)

    def error_of(self, n: int) -> float:
        """Standard error of a mean over `n` repetitions; what is off by the same each time does not average out."""
        # Where there is a drift, of either end of a straight line: Draper & Smith (1998), sec. 1.4, with order 1 to n.
        parts = 1 / n + (3 * (n - 1) / (n * (n + 1)) if self.drift else 0.0)
        every_time = self.resolution + self.correction_error**2
        return math.sqrt(self.spread.variance * parts + every_time) if self.n > 1 else math.nan

    def half_width(self, n: int, alpha: float) -> float:
        """Of the interval at confidence 1 - alpha with `n` repetitions, at the spread seen."""
        # Degrees of freedom: each repetition adds one, what was borrowed stays.
        return float(t_quantile(1 - alpha / 2, self.spread.df + n - self.n)) * self.error_of(n)

    @property
    def drifted(self) -> float:
        """How far the first and the last repetition lie from the mean by the drift; a verdict must hold for both."""
        return abs(self.drift) * (self.n - 1) / 2

    def inside(self, effect: float) -> bool:
        return self.low < effect < self.high

    def decided(self, alpha: float) -> bool:
        """Whether the whole interval at confidence 1 - alpha lies in the region."""
        low, high = interval(self, alpha)
        return self.low < low and high < self.high

    def holds_if_rounded(self) -> bool:
        """Whether the mean lies in the region, or as near to it as rounding may have moved it."""
        # A value rounded to steps of w is off by w / 2 at most, which is the root of 3 times its variance w^2 / 12.
        room = math.sqrt(3 * self.resolution * max(1, len(self.terms)))
        return self.low - room < self.mean < self.high + room

    def shown(self, effect: float) -> float:
        """On the scale that people read: a ratio cut to what a float holds, or tau from -1 to 1."""
        return math.exp(min(effect, _LARGEST)) if self.scale == "ratio" else max(-1.0, min(1.0, effect))

    def published_as(self, effect: float) -> Part:
        return replace(self, published=effect)


def interval(part: Part, alpha: float) -> tuple[float, float]:
    """Two-sided Student interval of the mean effect at confidence 1 - alpha; NaN below two repetitions."""
    # Student (1908), Biometrika 6(1), of differences within blocks; with a moderated spread: Smyth (2004), eq. 4.
    half = part.half_width(part.n, alpha) + part.drifted if part.n > 1 else math.nan
    return part.mean - half, part.mean + half


def p_inside(part: Part) -> float:
    """One-sided p value against "the effect lies outside the region"; 1 below two repetitions."""
    # Schuirmann (1987), J. Pharmacokinet. Biopharm. 15(6): both one-sided tests must reject.
    return max(_p_above(part, part.low + part.drifted), _p_below(part, part.high - part.drifted))


def p_outside(part: Part) -> float:
    """One-sided p value against "the effect lies in the region": from the bound that it is furthest beyond."""
    return min(_p_below(part, part.low - part.drifted), _p_above(part, part.high + part.drifted))


def probability_inside(part: Part) -> float:
    """Posterior probability that the mean effect lies in the region; NaN below two repetitions.

    With a flat prior on the mean, the posterior is Student's t around the mean seen: Box & Tiao (1973), *Bayesian
    Inference in Statistical Analysis*, sec. 2.4.
    """
    if part.n < 2:
        return math.nan
    return max(0.0, 1 - _p_above(part, part.low) - _p_below(part, part.high))


def _p_above(part: Part, bound: float) -> float:
    """p value against "the effect is at most `bound`"."""
    return _p(part, part.mean - bound)


def _p_below(part: Part, bound: float) -> float:
    return _p(part, bound - part.mean)


def _p(part: Part, gap: float) -> float:
    if math.isinf(gap):
        return 0.0 if gap > 0 else 1.0
    if part.n < 2:
        return 1.0
    if part.error == 0:
        return 0.0 if gap > 0 else 1.0
    return float(t_tail(gap / part.error, part.spread.df))


def at_least(ratio: float) -> tuple[float, float]:
    """The region of ratios above `ratio`, as logs."""
    return math.log(ratio), math.inf


def at_most(ratio: float) -> tuple[float, float]:
    """The region of ratios below 1 / `ratio`, as logs."""
    return -math.inf, -math.log(ratio)


def within(tolerance: float, *, of: float = 1.0) -> tuple[float, float]:
    """The region from (1 - tolerance) x `of` to `of` / (1 - tolerance), as logs: as far down as up."""
    edge, centre = -math.log(1 - tolerance), math.log(of)
    return centre - edge, centre + edge
