"""From parts to verdicts: every claim of a ledger at once, so that their number is accounted for.

A claim is *reproduced* when every part's interval lies in its region, *contradicted* when one part's lies wholly
outside, else *inconclusive*. The intervals are as wide as Holm's step-down over the claims asks for, so that the chance
that any verdict of a ledger is wrong stays at `alpha`: of each claim one verdict alone can be wrong, at one end of its
interval. A *leaning* says beside it how probable it is that the claim
holds here.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchbook.analysis.results import Verdict
from benchbook.claims.parts import Part, p_inside, p_outside, probability_inside
from benchbook.stats.comparison import holm

# More repetitions than this are no answer to "how many would decide it".
MOST_REPETITIONS = 100


@dataclass(frozen=True)
class Decision:
    """A claim's verdict, the part that it is shown by, the error rate of that part's interval, and Holm's p value.

    `p_value` is NaN where nothing could be tested; `needed` repetitions would decide it at the spread seen, None where
    it is decided, or where more than MOST_REPETITIONS, or a first second repetition, would be needed.
    """

    verdict: Verdict
    part: Part
    alpha: float
    p_value: float
    needed: int | None = None
    leaning: float = math.nan


@dataclass(frozen=True)
class _Tested:
    inside: float
    outside: float

    @property
    def p(self) -> float:
        """Of the direction that the repetitions speak for. A claim holds or fails: one verdict alone can wrong it.

        Nothing has to be paid for the other one: Jones & Tukey (2000), Psychological Methods 5(4); the partitioning
        principle: Stefansson, Kim & Hsu (1988), Statistical Decision Theory and Related Topics IV(2).
        """
        return min(self.inside, self.outside)


def decide(claims: Sequence[Sequence[Part]], *, alpha: float = 0.05, shares: int = 1) -> list[Decision]:
    """A verdict per claim; a claim is its parts, of which every one must hold.

    They have one of `shares` equal shares of `alpha` (Bonferroni), which p values count as intervals do.
    """
    tested = [_test(parts) for parts in claims]
    each = np.array([t.p if t is not None else math.nan for t in tested])
    # Holm (1979), Scand. J. Statist. 6(2); that it also bounds wrong directions: Shaffer (1980), Ann. Statist. 8(6).
    # Twice: the last claims of a ledger have a 95% interval inside their region, too, and not one of 90%.
    adjusted = np.minimum(1.0, shares * np.maximum(holm(each), 2 * each))
    known = sorted(p for p in adjusted if not math.isnan(p))
    rejected = sum(p < alpha for p in known)
    order = sorted((t.p, i) for i, t in enumerate(tested) if t is not None)
    rank = {index: place for place, (_, index) in enumerate(order)}
    decisions = [
        _decision(parts, t, float(p), _level(rank.get(i, 0), rejected, len(known), alpha / shares), alpha)
        for i, (parts, t, p) in enumerate(zip(claims, tested, adjusted, strict=True))
    ]
    return [replace(d, leaning=leaning(parts)) for d, parts in zip(decisions, claims, strict=True)]


def leaning(parts: Sequence[Part]) -> float:
    """Probability that all parts hold, as if they were independent; NaN where one has fewer than two repetitions.

    It lies between its bounds, 1 - sum(1 - p) below (Bonferroni) and the smallest p above. Parts that share a level
    depend on each other in both directions (steps along a curve against, comparisons with one reference level for).
    Simulated with 4 repetitions, of claims given 0.6 hold 0.62 to 0.66 along a curve and 0.70 to 0.73 with one
    reference level; of those given 0.6 by the joint distribution of the cells 0.62 to 0.65, and 0.69.
    """
    return math.prod(probability_inside(part) for part in parts)


def _test(parts: Sequence[Part]) -> _Tested | None:
    """None if no part has two repetitions."""
    if all(part.n < 2 for part in parts):
        return None
    # All parts must hold: Berger (1982), Technometrics 24(4), the largest p value is a test of the whole. That one
    # fails: Bonferroni over the parts, by weight.
    total = sum(part.weight for part in parts)
    outside = min(p_outside(part) * total / part.weight for part in parts)
    return _Tested(max(map(p_inside, parts)), min(1.0, outside))


def _level(rank: int, rejected: int, tested: int, alpha: float) -> float:
    """The error rate of the claim's interval: each of its ends has that of Holm's step for this claim.

    Those that Holm does not reach share the step at which it stopped.
    """
    return 2 * alpha / max(2, tested - min(rank, rejected))


def _decision(parts: Sequence[Part], tested: _Tested | None, p: float, level: float, alpha: float) -> Decision:
    main = next((part for part in parts if part.main), None)
    if tested is None:
        return Decision("inconclusive", main or parts[0], level, math.nan)
    if p >= alpha:
        return Decision("inconclusive", _open(parts, main, level), level, p, _needed(parts, level))
    if tested.inside <= tested.outside:
        return Decision("reproduced", main or max(parts, key=p_inside), level, p)
    total = sum(part.weight for part in parts)
    worst = min(parts, key=lambda part: p_outside(part) / part.weight)
    # A reader is shown the main part first, wherever it fails by itself.
    shown = main if main is not None and 2 * p_outside(main) < level * main.weight / total else worst
    return Decision("contradicted", shown, level * shown.weight / total, p)


def _open(parts: Sequence[Part], main: Part | None, level: float) -> Part:
    """The part that keeps the claim open: the main one if it is itself undecided."""
    if main is not None and not main.decided(level):
        return main
    return max(parts, key=p_inside)


def _needed(parts: Sequence[Part], level: float) -> int | None:
    """Repetitions until, at the means and spreads seen, all intervals lie inside, or the first one lies outside."""
    total = sum(part.weight for part in parts)
    outside = [part for part in parts if not part.inside(part.mean)]
    if outside:
        counts = [_repetitions(part, level * part.weight / total) for part in outside]
        return min((count for count in counts if count is not None), default=None)
    found = [_repetitions(part, level) for part in parts if not part.decided(level)]
    return None if None in found else max((count for count in found if count is not None), default=None)


def _repetitions(part: Part, level: float) -> int | None:
    """The least n whose interval would not reach a bound of the region."""
    gap = min(abs(part.mean - bound) for bound in (part.low, part.high) if math.isfinite(bound))
    # A drift goes on: more repetitions take first and last further apart.
    if part.n < 2 or gap == 0 or part.drift:
        return None
    counts = range(part.n + 1, MOST_REPETITIONS + 1)
    # Quantile and error both shrink with every repetition: the first n that is enough is found by bisection.
    found = bisect_left(counts, True, key=lambda n: part.half_width(n, level) < gap)
    return counts[found] if found < len(counts) else None
