"""What a verdict says in words: a sentence to quote, what would decide it, and how figures are written."""

import math

from benchbook.analysis.results import Here
from benchbook.claims.contrasts import Contrast
from benchbook.claims.decisions import MOST_REPETITIONS, Decision

_SPEAKS = {
    "both ways": "It speaks for or against the report",
    "confirm only": "It can confirm the report and not refute it",
    "refute only": "It can refute the report and not confirm it",
    "nothing": "It says nothing of the report",
}


def here(decision: Decision, system: str, contrasts: int) -> str:
    """Return what holds here in a sentence: effect, interval, what the claim needs, what was published."""
    shown = decision.shown
    said = f"On {system}: {measured(decision)}. The claim needs {region(shown)}{published(shown)}: "
    if decision.here == "holds":
        every = "" if contrasts < 2 else f", in {'both' if contrasts == 2 else f'all {contrasts}'} comparisons"
        return f"{said}it holds here{every}."
    if decision.here == "fails":
        return f"{said}it fails here."
    known = (
        ""
        if math.isnan(decision.probability)
        else f"; the probability that it holds here is {chance(decision.probability)}"
    )
    return f"{said}it is open here{known}."


def for_report(speaks: str, because: str, too_near: Here | None = None) -> str:
    """Return what that says of the report, in a sentence; `too_near` a bound to be this with other cores, too."""
    there = {"open": "", "holds": "outside", "fails": "inside"}
    other = f"; these figures do not, for other cores may show them {there[too_near]} that range" if too_near else ""
    return f"{_SPEAKS[speaks]}{other}{f': {because}' if because else ''}."


def measured(decision: Decision) -> str:
    """Return the effect with its interval, and over how many repetitions."""
    shown = decision.shown
    said = f"{shown.what}, {effect(shown.shown(shown.mean), shown.unit)}"
    if shown.n < 2:
        # Ranks of one repetition are held against the next one's: two of them make one figure.
        few = "in one repetition" if shown.unit == "times" else "in fewer than three repetitions"
        return f"{said} {few}, which cannot judge"
    low, high = (_bound(shown, limit) for limit in shown.interval(decision.alpha))
    return f"{said}, {confidence(decision.alpha)} interval {low} to {high} over {shown.n} repetitions"


def decides(decision: Decision) -> str:
    """Return what would settle the claim here; empty where it is settled."""
    if decision.here != "open":
        return ""
    if decision.shown.n < 2:
        least = "two" if decision.shown.unit == "times" else "three"
        return f"more repetitions: {least} are the least, the lab profile takes five"
    if decision.needed is None:
        return f"more than {MOST_REPETITIONS} repetitions, if they vary as these did"
    return f"about {decision.needed} repetitions, if they vary as these did"


def chance(probability: float) -> str:
    """Return two decimals; what rounds to 0 or 1 is said to be below 0.01 or above 0.99."""
    if 0.005 <= probability < 0.995:
        return f"{probability:.2f}"
    return "below 0.01" if probability < 0.5 else "above 0.99"


def bound(ratio: float, above_1: str = "higher") -> str:
    """Return the bound of a ratio, for a test: "at least 1.2x", or `above_1` where any ratio above 1 will do."""
    return f"at least {ratio:g}x" if ratio > 1 else above_1


def effect(value: float, unit: str) -> str:
    """Return "0.88x (-12%)"; without a percentage beyond a doubling or below 0.5%; "tau 0.71"."""
    if unit == "tau":
        return f"tau {number(value)}"
    change = f" ({value - 1:+.0%})" if 0.5 <= value < 2 and abs(value - 1) >= 0.005 else ""
    return f"{number(value)}x{change}"


def _bound(contrast: Contrast, limit: float) -> str:
    return number(contrast.shown(limit)) + ("x" if contrast.unit == "times" else "")


def published(contrast: Contrast) -> str:
    """Return the published effect, as the end of a clause; empty where the report prints none."""
    return "" if math.isnan(contrast.published) else f" (published: {_bound(contrast, contrast.published)})"


def region(contrast: Contrast) -> str:
    """Return the claimed region in words."""
    low, high = (_bound(contrast, limit) if math.isfinite(limit) else "" for limit in (contrast.low, contrast.high))
    if not low:
        return f"less than {high}"
    return f"{low} to {high}" if high else f"more than {low}"


def confidence(alpha: float) -> str:
    """Return 99.7%: as many digits as tell it from 100%."""
    digits = max(0, math.ceil(-math.log10(alpha)) - 2)
    return f"{100 * (1 - alpha):.{digits}f}%"


def number(value: float | None) -> str:
    """Return three significant digits; a ratio beyond a thousandfold is as good as unbounded."""
    if value is None or math.isnan(value):
        return "–"
    if abs(value) > 1000:
        return "over 1,000"
    # 999.7 in three digits is 1e+03.
    if value >= 999.5:
        return "1,000"
    return "under 0.001" if 0 < value < 0.001 else f"{value:.3g}"
