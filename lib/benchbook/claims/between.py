"""Hypotheses about named figures: a ratio is what was published, figures stand in an order, one lies above others."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import Field

from benchbook.claims.hypothesis import Arm, AtLeast, Hypothesis, Share
from benchbook.claims.parts import Part, at_least, within
from benchbook.claims.printed_levels import check_factors, levels_along
from benchbook.claims.terms import Figure, Over, Rows, Term, contrast, logs, name, words
from benchbook.claims.words import bound
from benchbook.published.declarations import Scalar
from benchbook.published.tables import Published


class Ratio(Hypothesis, Figure):
    """The figure over its `over` is what the report's table gives, within `tolerance` (relative)."""

    over: Over
    tolerance: Share

    def parts(self, arm: Arm) -> list[Part]:
        region = within(self.tolerance, of=math.exp(float(logs(self, arm.printed().values).iloc[0])))
        effects = np.asarray(logs(self, arm.values), dtype=np.float64)
        return [replace(arm.compared(name(self, arm.published), effects, region, self.terms()), main=True)]

    def speaks_of(self, published: Published) -> list[tuple[str, Term]]:
        return [("rows", term) for term in self.terms()]

    def room(self, published: Published) -> list[Term]:
        return rises_from(self)

    def tested_as(self) -> str:
        return f"the published ratio, within {self.tolerance:.0%}"


class Order(Hypothesis):
    """Each of `figures` is larger than the next, at least `at_least` times."""

    figures: list[Figure] = Field(min_length=2)
    at_least: AtLeast = 1.0

    def parts(self, arm: Arm) -> list[Part]:
        return [_above(a, b, {}, self.at_least, arm) for a, b in pairwise(self.figures)]

    def speaks_of(self, published: Published) -> list[tuple[str, Term]]:
        return [(f"figures.{i}", term) for i, figure in enumerate(self.figures) for term in figure.terms()]

    def room(self, published: Published) -> list[Term]:
        return [term for figure in self.figures for term in rises_from(figure)]

    def with_figures(self, change: Callable[[Figure], Figure]) -> Self:
        return self.model_copy(update={"figures": [change(figure) for figure in self.figures]})

    def tested_as(self) -> str:
        return f"each {bound(self.at_least, 'above')} the next"


class Dominates(Hypothesis):
    """`figure` is at least `at_least` times each of `above`, at every level of `factor` if there is one."""

    figure: Figure
    above: list[Figure] = Field(min_length=1)
    factor: str | None = None
    levels: list[Scalar] = Field(default_factory=list)
    at_least: AtLeast = 1.0

    def parts(self, arm: Arm) -> list[Part]:
        levels = self._levels(arm.published)
        return [_above(self.figure, below, level, self.at_least, arm) for below in self.above for level in levels]

    def speaks_of(self, published: Published) -> list[tuple[str, Term]]:
        figures = [self.figure, *self.above]
        return [("rows", t) for level in self._levels(published) for figure in figures for t in figure.terms(level)]

    def check(self, published: Published, file: Path) -> None:
        check_factors(self.figure, self._factors(), self.levels, published, self.id, file)

    def with_figures(self, change: Callable[[Figure], Figure]) -> Self:
        # Along a factor the levels are the claim's and not a figure's.
        changed = {"figure": change(self.figure), "above": [change(each) for each in self.above]}
        return self if self.factor else self.model_copy(update=changed)

    def tested_as(self) -> str:
        along = f" at every value of {self.factor.replace('_', ' ')}" if self.factor else ""
        return f"{bound(self.at_least, 'above')} each of the others{along}"

    def _factors(self) -> list[str]:
        return [self.factor] if self.factor else []

    def _levels(self, published: Published) -> list[Rows]:
        return levels_along(self.figure, self._factors(), self.levels, published)


def _above(a: Figure, b: Figure, level: Rows, ratio: float, arm: Arm) -> Part:
    where = f", {words(level)}" if level else ""
    what = f"{name(a, arm.published)} against {name(b, arm.published)}{where}"
    effects = contrast(logs(a, arm.values, level), logs(b, arm.values, level))
    return arm.compared(what, effects, at_least(ratio), a.terms(level), b.terms(level))


def rises_from(figure: Figure) -> list[Term]:
    """The lower level of a figure that compares two levels of one metric along a number: 50 of 200 over 50 threads."""
    terms = figure.terms()
    if len(terms) < 2 or terms[0][:2] != terms[1][:2]:
        return []
    upper, lower = terms[0].rows, terms[1].rows
    moved = [key for key, value in upper.items() if lower.get(key) != value]
    numbers = [(upper[key], lower.get(key)) for key in moved]
    rises = all(isinstance(a, int | float) and isinstance(b, int | float) and a > b for a, b in numbers)
    return [terms[1]] if moved and rises else []
