"""Hypotheses along a factor: a figure increases, decreases, is flat, saturates or has its peak at a level."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from benchbook.claims.ledger import Along, Decreases, Flat, Increases, PeakAt, Rows, SaturatesAt
from benchbook.claims.ledger_check import level_at, levels_of
from benchbook.claims.parts import Part, at_least, within
from benchbook.claims.terms import Lookup, contrast, logs, name, step
from benchbook.published.tables import Published
from benchbook.stats.estimates import Array


class _Curve:
    """A figure at every level, as logs by repetition, and how to compare two of its levels."""

    def __init__(self, claim: Along, published: Published, lookup: Lookup) -> None:
        self.levels = levels_of(claim, published)
        self.name = name(claim, published)
        self._logs = [logs(claim, lookup, level) for level in self.levels]

    def part(self, a: int, b: int, region: tuple[float, float], **more: Any) -> Part:
        """Level number `a` against level number `b`."""
        what = f"{self.name}, {step(self.levels[a], self.levels[b])}"
        return Part(what, self._effects(a, b), *region, **more)

    def _effects(self, a: int, b: int) -> Array:
        return contrast(self._logs[a], self._logs[b])

    def index(self, level: Rows) -> int:
        return self.levels.index(level)

    @property
    def last(self) -> int:
        return len(self.levels) - 1


def parts(claim: Along, published: Published, lookup: Lookup) -> list[Part]:
    """What must hold for the claim; raises NotMeasured."""
    return _FAMILY[type(claim)](claim, _Curve(claim, published, lookup))


def _increases(claim: Increases, curve: _Curve) -> list[Part]:
    # From end to end is the claim; a step within may not speak against it. Each half of the evidence counts for one.
    main = curve.part(curve.last, 0, at_least(claim.at_least), main=True, weight=max(1, curve.last))
    return [main, *_steps(curve, at_least(1 - claim.dip))]


def _decreases(claim: Decreases, curve: _Curve) -> list[Part]:
    main = curve.part(curve.last, 0, _at_most(claim.at_least), main=True, weight=max(1, curve.last))
    return [main, *_steps(curve, _at_most(1 - claim.dip))]


def _at_most(ratio: float) -> tuple[float, float]:
    return -math.inf, -math.log(ratio)


def _steps(curve: _Curve, region: tuple[float, float]) -> list[Part]:
    """Each level against the one before; with two levels there is no step but the whole."""
    return [curve.part(b, a, region) for a, b in pairwise(range(curve.last + 1))] if curve.last > 1 else []


def _flat(claim: Flat, curve: _Curve) -> list[Part]:
    return [curve.part(index, 0, within(claim.tolerance)) for index in range(1, curve.last + 1)]


def _saturates(claim: SaturatesAt, curve: _Curve) -> list[Part]:
    at = curve.index(level_at(claim, claim.at))
    until = curve.index(level_at(claim, claim.until)) if claim.until is not None else curve.last
    rise = curve.part(at, 0, at_least(claim.at_least))
    level = [curve.part(index, at, within(claim.tolerance)) for index in range(at + 1, until + 1)]
    fall = [curve.part(curve.last, until, _at_most(1.0))] if claim.falls else []
    return [rise, *level, *fall]


def _peak(claim: PeakAt, curve: _Curve) -> list[Part]:
    at = curve.index(level_at(claim, claim.at))
    strict = (0, curve.last) if claim.inside else ()
    others = [index for index in range(curve.last + 1) if index != at]
    return [curve.part(at, i, at_least(1.0 if i in strict else 1 - claim.tolerance)) for i in others]


_FAMILY: dict[type, Callable[[Any, _Curve], list[Part]]] = {
    Increases: _increases,
    Decreases: _decreases,
    Flat: _flat,
    SaturatesAt: _saturates,
    PeakAt: _peak,
}
