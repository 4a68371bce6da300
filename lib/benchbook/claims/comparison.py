"""Hypotheses about named figures: a ratio is what was published, figures stand in an order, one lies above others."""

import math
from itertools import pairwise
from pathlib import Path

from pydantic import Field, StrictBool

from benchbook.claims.contrasts import Contrast, at_least, within
from benchbook.claims.figures import Figure, Over, Rows, Term, check_factors, levels_along, name, words
from benchbook.claims.hypothesis import AtLeast, Hypothesis, Share, SystemFigures
from benchbook.claims.verdict_text import bound
from benchbook.published.declarations import Scalar
from benchbook.published.tables import Published


class Ratio(Hypothesis, Figure):
    """The figure over its `over` is what the report's table gives, within `tolerance` (relative)."""

    over: Over
    tolerance: Share

    def contrasts(self, figures: SystemFigures) -> list[Contrast]:
        return [self._mean(figures, within(self.tolerance, of=self._mean(figures.printed()).mean))]

    def _mean(self, figures: SystemFigures, region: tuple[float, float] = (-math.inf, math.inf)) -> Contrast:
        terms = [term for _, term in self.speaks_of(figures.published)]
        share = 2 / len(terms)
        return figures.weighted(self._called(figures.published), region, terms, (share, -share) * (len(terms) // 2))

    def _called(self, published: Published) -> str:
        return name(self, published)

    def speaks_of(self, published: Published) -> list[tuple[str, Term]]:
        return [("rows", term) for term in self.terms()]

    def tested_as(self) -> str:
        return f"the published ratio, within {self.tolerance:.0%}"


class MeanRatio(Ratio):
    """Over the levels of `factor`, the figure over its `over` is what the report's table gives, within `tolerance`.

    Its geometric mean, for a ratio of 2 and one of 1/2 come to no change. `same`: the claim is that nothing changes.
    """

    factor: str
    levels: list[Scalar] = Field(default_factory=list)
    same: StrictBool = False

    def contrasts(self, figures: SystemFigures) -> list[Contrast]:
        return [self._mean(figures, within(self.tolerance))] if self.same else super().contrasts(figures)

    def _called(self, published: Published) -> str:
        return f"{name(self, published)}, mean over {self.factor.replace('_', ' ')}"

    def speaks_of(self, published: Published) -> list[tuple[str, Term]]:
        levels = levels_along(self, [self.factor], self.levels, published)
        return [("rows", term) for level in levels for term in self.terms(level)]

    def check(self, published: Published, file: Path) -> None:
        check_factors(self, [self.factor], self.levels, published, self.id, file)

    def tested_as(self) -> str:
        reference = "no change" if self.same else "the published ratio"
        return f"{reference}, within {self.tolerance:.0%}, on average over {self.factor.replace('_', ' ')}"


class Order(Hypothesis):
    """Each of `figures` is larger than the next, at least `at_least` times."""

    figures: list[Figure] = Field(min_length=2)
    at_least: AtLeast = 1.0

    def contrasts(self, figures: SystemFigures) -> list[Contrast]:
        return [_above(a, b, {}, self.at_least, figures) for a, b in pairwise(self.figures)]

    def speaks_of(self, published: Published) -> list[tuple[str, Term]]:
        return [(f"figures.{i}", term) for i, figure in enumerate(self.figures) for term in figure.terms()]

    def tested_as(self) -> str:
        return f"each {bound(self.at_least, 'above')} the next"


class Dominates(Hypothesis):
    """`figure` is at least `at_least` times each of `above`, at every level of `factor` if there is one."""

    figure: Figure
    above: list[Figure] = Field(min_length=1)
    factor: str | None = None
    levels: list[Scalar] = Field(default_factory=list)
    at_least: AtLeast = 1.0

    def contrasts(self, figures: SystemFigures) -> list[Contrast]:
        levels = self._levels(figures.published)
        return [_above(self.figure, below, level, self.at_least, figures) for below in self.above for level in levels]

    def speaks_of(self, published: Published) -> list[tuple[str, Term]]:
        figures = [self.figure, *self.above]
        return [("rows", t) for level in self._levels(published) for figure in figures for t in figure.terms(level)]

    def check(self, published: Published, file: Path) -> None:
        check_factors(self.figure, self._factors(), self.levels, published, self.id, file)

    def tested_as(self) -> str:
        along = f" at every value of {self.factor.replace('_', ' ')}" if self.factor else ""
        return f"{bound(self.at_least, 'above')} each of the others{along}"

    def _factors(self) -> list[str]:
        return [self.factor] if self.factor else []

    def _levels(self, published: Published) -> list[Rows]:
        return levels_along(self.figure, self._factors(), self.levels, published)


def _above(a: Figure, b: Figure, level: Rows, ratio: float, figures: SystemFigures) -> Contrast:
    where = f", {words(level)}" if level else ""
    what = f"{name(a, figures.published)} against {name(b, figures.published)}{where}"
    return figures.contrast(what, at_least(ratio), a.terms(level), b.terms(level))
