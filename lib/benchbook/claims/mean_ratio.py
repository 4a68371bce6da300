"""A hypothesis about one figure over another on average: "the new version is 3.6% slower", said of several loads."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from pydantic import Field

from benchbook.claims.hypothesis import Arm, Hypothesis, Share
from benchbook.claims.parts import Part, within
from benchbook.claims.printed_levels import check_factors, levels_along
from benchbook.claims.terms import Figure, Over, Rows, Term, logs, name
from benchbook.published.declarations import Scalar
from benchbook.published.tables import Published
from benchbook.stats.estimates import Array


class MeanRatio(Hypothesis, Figure):
    """Over the levels of `factor`, the figure over its `over` is what the report's table gives, within `tolerance`.

    Its geometric mean, for a ratio of 2 and one of 1/2 come to no change. `same`: the claim is that nothing changes.
    """

    over: Over
    factor: str
    levels: list[Scalar] = Field(default_factory=list)
    tolerance: Share
    same: bool = False

    def parts(self, arm: Arm) -> list[Part]:
        of = 1.0 if self.same else math.exp(float(self._means(arm.printed()).mean()))
        low, high = within(self.tolerance, of=of)
        terms = tuple(term for _, term in self.speaks_of(arm.published))
        # What was not measured is told before anything else is asked of it.
        means = self._means(arm)
        many = len(self._levels(arm.published))
        what = f"{name(self, arm.published)}, mean over {self.factor.replace('_', ' ')}"
        signs = (1, -1) * many
        # Of a mean of so many, rounding and the number of requests make up the less.
        rounded, sampled = arm.resolution(terms, signs) / many**2, arm.sampling(terms, signs) / many**2
        part = Part(what, means, low, high, main=True, terms=terms, signs=signs, averaged=many)
        return [replace(part, resolution=rounded, sampling=sampled)]

    def _means(self, arm: Arm) -> Array:
        """Of the log ratios at all levels, per repetition that has them all."""
        each = [logs(self, arm.values, level) for level in self._levels(arm.published)]
        return np.asarray(pd.concat(each, axis=1).dropna().mean(axis=1), dtype=np.float64)

    def _levels(self, published: Published) -> list[Rows]:
        return levels_along(self, [self.factor], self.levels, published)

    def speaks_of(self, published: Published) -> list[tuple[str, Term]]:
        return [("rows", term) for level in self._levels(published) for term in self.terms(level)]

    def check(self, published: Published, file: Path) -> None:
        check_factors(self, [self.factor], self.levels, published, self.id, file)

    def tested_as(self) -> str:
        reference = "no change" if self.same else "the published ratio"
        return f"{reference}, within {self.tolerance:.0%}, on average over {self.factor.replace('_', ' ')}"
