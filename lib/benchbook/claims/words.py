"""What a verdict says in words: how the claim was tested, a sentence to quote, and what would decide it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchbook.claims.decide import MOST_REPETITIONS, Decision
from benchbook.claims.parts import Part, interval, probability_inside

_UNIT = {"ratio": "times", "tau": "tau"}
# Between these a leaning tells nothing.
_AGAINST, _FOR = 0.3, 0.7
UNKNOWN = "nothing known"


def bound(ratio: float, above_1: str = "higher") -> str:
    """The bound of a ratio, for a test: "at least 1.2x", or `above_1` where any ratio above 1 will do."""
    return f"at least {ratio:g}x" if ratio > 1 else above_1


_OPENING = {"reproduced": "Reproduced on", "contradicted": "Contradicted on", "inconclusive": "Inconclusive on"}


def sentence(decision: Decision, system: str, parts: Sequence[Part]) -> str:
    """Words to quote: where, what, how much, how sure, what the claim needs, what was published."""
    part = decision.part
    opening = f"{_OPENING[decision.verdict]} {system}"
    said = f"{opening}: {measured(decision)}. {_needs(part)}"
    rest = f"{_rest(decision, len(parts))}{_odd(parts)}{_drifting(parts)}{_corrected(part)}"
    return f"{said}{_leaning(decision)}{_against(decision, parts)}{rest}"


def measured(decision: Decision) -> str:
    """The effect with its interval, and over how many repetitions."""
    part = decision.part
    if part.n < 2:
        # Ranks of one repetition are held against the next one's: two of them make one figure.
        few = "in one repetition" if part.scale == "ratio" else "in fewer than three repetitions"
        return f"{_effect(part)} {few}, which cannot judge"
    low, high = (_bound(part, limit) for limit in interval(part, decision.alpha))
    return f"{_effect(part)}, {confidence(decision.alpha)} interval {low} to {high} over {part.n} repetitions"


def _leaning(decision: Decision) -> str:
    if decision.verdict != "inconclusive" or decision.part.n < 2:
        return ""
    if leans(decision.leaning) == UNKNOWN:
        return " The repetitions speak neither for it nor against it."
    return f" The probability that it holds here is {chance(decision.leaning)}."


def _against(decision: Decision, parts: Sequence[Part]) -> str:
    """The comparison that speaks most against an open claim, where the one that it is shown by speaks for it."""
    part, known = decision.part, [part for part in parts if part.n > 1]
    if decision.verdict != "inconclusive" or not known or not part.inside(part.mean):
        return ""
    worst = min(known, key=probability_inside)
    if worst.inside(worst.mean):
        return ""
    return f" Against it speaks: {_effect(worst)}, where the claim needs {region(worst)}."


def leans(leaning: float | None) -> str:
    """How probable it is that an open claim holds here: "leans to holding, 0.93"."""
    if leaning is None or math.isnan(leaning) or _AGAINST <= leaning <= _FOR:
        return UNKNOWN
    return f"leans {'to holding' if leaning > _FOR else 'against'}, {chance(leaning)}"


def chance(probability: float) -> str:
    """Two decimals; what rounds to 0 or 1 is said to be below 0.01 or above 0.99."""
    if 0.005 <= probability < 0.995:
        return f"{probability:.2f}"
    return "below 0.01" if probability < 0.5 else "above 0.99"


def _effect(part: Part) -> str:
    return f"{part.what}, {effect(part.shown(part.mean), _UNIT[part.scale])}"


def effect(value: float, unit: str) -> str:
    """ "0.88x (-12%)"; without a percentage beyond a doubling or below 0.5%; "tau 0.71"."""
    if unit == "tau":
        return f"tau {number(value)}"
    change = f" ({value - 1:+.0%})" if 0.5 <= value < 2 and abs(value - 1) >= 0.005 else ""
    return f"{number(value)}x{change}"


def _bound(part: Part, limit: float) -> str:
    return number(part.shown(limit)) + ("x" if part.scale == "ratio" else "")


def _odd(parts: Sequence[Part]) -> str:
    """Cells that differ in kind from the others, by name."""
    odd = [f"{part.what}: {part.spread.odd}" for part in parts if part.n > 1 and part.spread.odd]
    return f" Judged by their own spread: {'; '.join(odd)}." if odd else ""


def _drifting(parts: Sequence[Part]) -> str:
    """Comparisons with a figure that drifts, by name."""
    found = [f"{part.what} by {math.expm1(part.drift):+.1%}" for part in parts if part.drift]
    said = (
        "Seems to drift, per repetition (1 figure in 20 does so by chance), so its interval holds for the first and the"
    )
    return f" {said} last: {'; '.join(found)}." if found else ""


def _corrected(part: Part) -> str:
    """That others' use of CPU was taken out, where it moves the effect by 1% or more."""
    if math.isnan(part.recorded) or abs(part.mean - part.recorded) < 0.01:
        return ""
    as_recorded = effect(part.shown(part.recorded), _UNIT[part.scale])
    return f" Corrected for CPU that other programs or virtual machines took; as recorded: {as_recorded}."


def _needs(part: Part) -> str:
    return f"The claim needs {region(part)}{published(part)}."


def published(part: Part) -> str:
    """The published effect, as the end of a sentence; empty where the report prints none."""
    return "" if math.isnan(part.published) else f"; published: {_bound(part, part.published)}"


def region(part: Part) -> str:
    """The claimed region in words."""
    low, high = (_bound(part, limit) if math.isfinite(limit) else "" for limit in (part.low, part.high))
    if not low:
        return f"less than {high}"
    return f"{low} to {high}" if high else f"more than {low}"


def _rest(decision: Decision, parts: int) -> str:
    if parts < 2 or decision.verdict != "reproduced":
        return ""
    return f" {'Both' if parts == 2 else f'All {parts}'} comparisons of the claim hold."


def decides(decision: Decision) -> str:
    """What would settle the claim; empty where it is settled."""
    if decision.verdict != "inconclusive":
        return ""
    if decision.part.n < 2:
        least = "two" if decision.part.scale == "ratio" else "three"
        return f"more repetitions: {least} are the least, the lab profile takes five"
    if decision.part.drift:
        return "more repetitions, to see whether it drifts; if it does, a reset or a restart before each"
    if decision.needed is None:
        return f"more than {MOST_REPETITIONS} repetitions, if they vary as these did"
    return f"about {decision.needed} repetitions, if they vary as these did"


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
    # 999.7 in three digits is 1e+03.
    if value >= 999.5:
        return "1,000"
    return "under 0.001" if 0 < value < 0.001 else f"{value:.3g}"
