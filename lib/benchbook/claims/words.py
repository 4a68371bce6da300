"""What a verdict says in words: how the claim was tested, a sentence to quote, and what would decide it."""

from __future__ import annotations

import math
from typing import Any

from benchbook.claims.decide import MOST_REPETITIONS, Decision
from benchbook.claims.ledger import Claim, Correlates, Dominates, Flat, Order, PeakAt, Ratio, SaturatesAt
from benchbook.claims.parts import Part, interval

_UNIT = {"ratio": "times", "tau": "tau"}


def tested_as(claim: Claim) -> str:
    """The hypothesis with its bounds."""
    kind = claim.hypothesis.replace("_", " ")
    if isinstance(claim, Correlates):
        return f"correlates: Kendall's tau over all points above {claim.at_least:g}"
    if isinstance(claim, Order | Dominates):
        return f"{kind}: each ratio {_bound(claim.at_least)}"
    if isinstance(claim, Ratio):
        return f"ratio: as published, within {claim.tolerance:.0%}"
    along = " and ".join(claim.factors()).replace("_", " ")
    return f"{kind} along {along}: {_along(claim)}"


def _along(claim: Any) -> str:
    if isinstance(claim, Flat):
        return f"every level within {claim.tolerance:.0%} of the first"
    if isinstance(claim, SaturatesAt):
        until = f" up to {_level(claim.until)}" if claim.until is not None else ""
        fall = ", then falls" if claim.falls else ""
        return f"{_bound(claim.at_least)} until {_level(claim.at)}, then within {claim.tolerance:.0%}{until}{fall}"
    if isinstance(claim, PeakAt):
        margin = f" by more than {claim.tolerance:.0%}" if claim.tolerance else ""
        ends = "; both ends lie below" if claim.inside else ""
        return f"no level beats {_level(claim.at)}{margin}{ends}"
    step = "falling" if claim.hypothesis == "increases" else "rising"
    return f"end to end {_bound(claim.at_least)}, no step {step} by more than {claim.dip:.0%}"


def _level(value: Any) -> str:
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)


def _bound(at_least: float) -> str:
    return f"at least {at_least:g} times" if at_least > 1 else "above 1"


_OPENING = {"reproduced": "Reproduced on", "contradicted": "Contradicted on", "inconclusive": "Inconclusive on"}


def sentence(decision: Decision, system: str, parts: int) -> str:
    """Words to quote: where, what, how much, how sure, what the claim needs, what was published."""
    part = decision.part
    if part.n < 2:
        return f"Inconclusive on {system}: {_effect(part)} in one repetition, which cannot judge. {_needs(part)}"
    low, high = (number(part.shown(bound)) for bound in interval(part, decision.alpha))
    bounds = f"{confidence(decision.alpha)} interval {low} to {high} over {part.n} repetitions"
    opening = f"{_OPENING[decision.verdict]} {system}"
    return f"{opening}: {_effect(part)} ({bounds}). {_needs(part)}{_rest(decision, parts)}"


def _effect(part: Part) -> str:
    was = f"{number(part.shown(part.mean))} times" if part.scale == "ratio" else f"tau {number(part.mean)}"
    return f"{part.what}, {was}"


def _needs(part: Part) -> str:
    published = "" if math.isnan(part.published) else f"; published: {number(part.shown(part.published))}"
    return f"The claim needs {region(part)}{published}."


def region(part: Part) -> str:
    """The claimed region in words."""
    low, high = (part.shown(bound) if math.isfinite(bound) else None for bound in (part.low, part.high))
    if low is None:
        return f"less than {number(high)}"
    return f"more than {number(low)}" if high is None else f"{number(low)} to {number(high)}"


def _rest(decision: Decision, parts: int) -> str:
    return f" All {parts} comparisons of the claim hold." if parts > 1 and decision.verdict == "reproduced" else ""


def decides(decision: Decision) -> str:
    """What would settle the claim; empty where it is settled."""
    if decision.verdict != "inconclusive":
        return ""
    if decision.part.n < 2:
        return "more repetitions: two are the least, the lab profile takes five"
    if decision.needed is None:
        return f"more than {MOST_REPETITIONS} repetitions at the spread seen, or a quieter host"
    return f"about {decision.needed} repetitions at the spread seen, or a quieter host"


def unit(part: Part) -> str:
    return _UNIT[part.scale]


def confidence(alpha: float) -> str:
    """99.7%: as many digits as tell it from 100%."""
    digits = max(0, math.ceil(-math.log10(alpha)) - 2)
    return f"{100 * (1 - alpha):.{digits}f}%"


def number(value: float | None) -> str:
    """Three significant digits; a ratio beyond a thousandfold is as good as unbounded."""
    if value is None or math.isnan(value):
        return "–"
    if abs(value) > 1000:
        return "over 1,000"
    return "under 0.001" if 0 < value < 0.001 else f"{value:.3g}"
