"""Each claim's effect as a strip of the page itself: positions in percent of its width, on one scale for all ratios.

Drawn by the page's template, so that its words, font and colours are the page's own, in both colour schemes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchbook.analysis.results import JudgedClaim
from benchbook.claims import words

# Ratios beyond these are off the strip, where a published value would stand at a place that is not its own.
_LEAST, _MOST = 1 / 1024, 1024.0
_EDGE = 2.0
# Of a strip, in rem: its least width and the one from which more labels are shown (style.css), a character of a label,
# and what is left free between two.
_NARROW, _ROOMY = 9.0, 16.0
_CHARACTER, _FREE = 0.45, 0.25


@dataclass(frozen=True)
class Mark:
    """A mark of a scale: position in percent, its label, and on which strips that has room: "", "roomy" ones, "no"."""

    at: float
    text: str
    shown: str


@dataclass(frozen=True)
class Ticks:
    """The scale of one unit; `at` is where no effect is."""

    unit: str
    marks: tuple[Mark, ...]
    at: float


@dataclass(frozen=True)
class Strip:
    """One claim: percentages of the width; None for what there is not. `text` says it all in words."""

    effect: float
    interval: tuple[float, float] | None
    cut: tuple[bool, bool]
    region: tuple[float, float] | None
    published: float | None
    text: str


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    log: bool

    def at(self, value: float) -> float:
        """Position in percent, never outside of the strip."""
        low, high, value = (math.log(max(x, 1e-9)) if self.log else x for x in (self.low, self.high, value))
        return _EDGE + (100 - 2 * _EDGE) * min(1.0, max(0.0, (value - low) / (high - low)))


class Forest:
    """Strips of all claims of a page; ratios share one logarithmic scale, rank correlations run from -1 to 1."""

    def __init__(self, claims: Sequence[JudgedClaim]) -> None:
        self._axes = {"times": _ratios(claims), "tau": _Axis(-1.0, 1.0, log=False)}

    def ticks(self, unit: str) -> Ticks:
        """The scale of a unit."""
        axis = self._axes[unit]
        if unit == "tau":
            return Ticks(unit, _marks([(axis.at(x), f"{x:g}") for x in (0.0, -1.0, 1.0, -0.5, 0.5)]), axis.at(0.0))
        powers = range(math.ceil(math.log2(axis.low)), math.floor(math.log2(axis.high)) + 1)
        nearest = sorted(powers, key=abs)
        return Ticks(unit, _marks([(axis.at(2.0**p), f"{2.0**p:g}x") for p in nearest]), axis.at(1.0))

    def strip(self, claim: JudgedClaim) -> Strip | None:
        """The strip of a claim; None for one without an effect."""
        axis = self._axes.get(claim.unit)
        if axis is None or not isinstance(claim.effect, float):
            return None
        low, high = claim.interval or (None, None)
        ends = (axis.low if low is None else low, axis.high if high is None else high)
        region = claim.region and tuple(
            axis.at(edge if x is None else x) for x, edge in zip(claim.region, (axis.low, axis.high), strict=True)
        )
        return Strip(
            effect=axis.at(claim.effect),
            interval=(axis.at(ends[0]), axis.at(ends[1])) if claim.interval else None,
            cut=(
                bool(claim.interval) and (low is None or low < axis.low),
                bool(claim.interval) and (high is None or high > axis.high),
            ),
            region=(region[0], region[1]) if region else None,
            published=None if claim.published is None else axis.at(claim.published),
            text=_in_words(claim, claim.effect),
        )


def _marks(wanted: Sequence[tuple[float, str]]) -> tuple[Mark, ...]:
    """All of them from left to right; those named first have their labels first."""
    narrow = _with_room(wanted, _NARROW)
    others = [each for each in wanted if each not in narrow]
    roomy = _with_room([*narrow, *others], _ROOMY)
    shown = {at: "" if (at, text) in narrow else "roomy" if (at, text) in roomy else "no" for at, text in wanted}
    return tuple(Mark(at, text, shown[at]) for at, text in sorted(wanted))


def _with_room(wanted: Sequence[tuple[float, str]], width: float) -> list[tuple[float, str]]:
    """Of labels around these positions, those that touch none before them on a strip of this width, in rem."""
    kept: list[tuple[float, str]] = []
    for at, text in wanted:
        if all(
            abs(at - other) / 100 * width >= _CHARACTER * (len(text) + len(beside)) / 2 + _FREE
            for other, beside in kept
        ):
            kept.append((at, text))
    return kept


def _ratios(claims: Sequence[JudgedClaim]) -> _Axis:
    """Wide enough for effects, claimed ranges and published values; intervals may end in an arrow."""
    mine = [claim for claim in claims if claim.unit == "times"]
    seen = [v for c in mine for v in (c.effect, c.published, *(c.region or ())) if isinstance(v, float) and v > 0]
    low, high = max(_LEAST, min([0.5, *seen]) / 1.2), min(_MOST, max([2.0, *seen]) * 1.2)
    return _Axis(low, high, log=True)


def _in_words(claim: JudgedClaim, value: float) -> str:
    parts = [f"measured {words.effect(value, claim.unit)}"]
    if claim.interval:
        low, high = claim.interval
        parts.append(f"interval {_or_open(low)} to {_or_open(high)}")
    if claim.region:
        low, high = claim.region
        said = f"{words.number(low)} to {words.number(high)}" if low is not None and high is not None else ""
        parts.append(
            f"claimed {said or (f'above {words.number(low)}' if high is None else f'below {words.number(high)}')}"
        )
    if claim.published is not None:
        parts.append(f"published {words.number(claim.published)}")
    return ", ".join(parts)


def _or_open(bound: float | None) -> str:
    return "open" if bound is None else words.number(bound)
