"""One comparison and the region that its claim puts it in: what every hypothesis is made of.

A part holds one effect per repetition, so that what a whole repetition shares (a slow hour, a cold machine) cancels:
the logarithm of a ratio of two figures of that repetition, or a rank correlation over its points. The mean over
repetitions has a Student interval; the claim says in which region the true mean lies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from scipy.special import stdtr, stdtrit

from benchbook.stats.estimates import Array

Scale = Literal["ratio", "tau"]
_LARGEST = 700.0


@dataclass(frozen=True)
class Part:
    """`effects`: one per repetition, logs of ratios or taus; `low` and `high` bound the claimed region on that scale.

    `published` is the same effect in the published table. `weight` is this part's share of the evidence against the
    claim; `main` marks the part that a reader is shown first.
    """

    what: str
    effects: Array
    low: float = -math.inf
    high: float = math.inf
    published: float = math.nan
    scale: Scale = "ratio"
    weight: float = 1.0
    main: bool = False

    @property
    def n(self) -> int:
        return int(self.effects.size)

    @property
    def mean(self) -> float:
        return float(self.effects.mean()) if self.n else math.nan

    @property
    def error(self) -> float:
        """Standard error of the mean; NaN below two repetitions."""
        # Differences below rounding are none: a figure that repeats exactly has no spread.
        spread = float(self.effects.std(ddof=1)) if self.n > 1 else math.nan
        return 0.0 if spread < 1e-12 else spread / math.sqrt(self.n)

    def inside(self, effect: float) -> bool:
        return self.low < effect < self.high

    def shown(self, effect: float) -> float:
        """On the scale that people read: a ratio, or tau. What exceeds any float is cut to what does not."""
        return math.exp(min(effect, _LARGEST)) if self.scale == "ratio" else effect

    def published_as(self, effect: float) -> Part:
        return replace(self, published=effect)


def interval(part: Part, alpha: float) -> tuple[float, float]:
    """Two-sided Student interval of the mean effect at confidence 1 - alpha; NaN below two repetitions."""
    # Student (1908), Biometrika 6(1), of differences within blocks.
    half = float(stdtrit(part.n - 1, 1 - alpha / 2)) * part.error if part.n > 1 else math.nan
    return part.mean - half, part.mean + half


def p_inside(part: Part) -> float:
    """One-sided p value against "the effect lies outside the region"; 1 below two repetitions."""
    # Schuirmann (1987), J. Pharmacokinet. Biopharm. 15(6): both one-sided tests must reject.
    return max(_p_above(part, part.low), _p_above(_mirrored(part), -part.high))


def p_outside(part: Part) -> float:
    """One-sided p value against "the effect lies in the region": from the bound that it is furthest beyond."""
    return min(_p_above(_mirrored(part), -part.low), _p_above(part, part.high))


def _p_above(part: Part, bound: float) -> float:
    """p value against "the effect is at most `bound`"."""
    if math.isinf(bound):
        return 0.0 if bound < 0 else 1.0
    if part.n < 2:
        return 1.0
    gap = part.mean - bound
    if part.error == 0:
        return 0.0 if gap > 0 else 1.0
    return float(stdtr(part.n - 1, -gap / part.error))


def _mirrored(part: Part) -> Part:
    return replace(part, effects=-part.effects)


def at_least(ratio: float) -> tuple[float, float]:
    """The region of ratios above `ratio`, as logs."""
    return math.log(ratio), math.inf


def within(tolerance: float, *, of: float = 1.0) -> tuple[float, float]:
    """The region from (1 - tolerance) x `of` to `of` / (1 - tolerance), as logs: as far down as up."""
    edge, centre = -math.log(1 - tolerance), math.log(of)
    return centre - edge, centre + edge
