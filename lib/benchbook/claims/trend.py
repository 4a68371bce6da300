"""Hypotheses along a factor: a figure increases, decreases, is flat, saturates or has its peak at a level."""

from abc import abstractmethod
from pathlib import Path

from pydantic import Field, StrictBool

from benchbook.claims.contrasts import Contrast, at_least, at_most, within
from benchbook.claims.figures import (
    Figure,
    Rows,
    Term,
    check_factors,
    check_level,
    level_named,
    levels_along,
    name,
    refuse,
    step,
)
from benchbook.claims.hypothesis import AtLeast, Hypothesis, Share, SystemFigures
from benchbook.claims.verdict_text import bound
from benchbook.published.declarations import Scalar
from benchbook.published.tables import Published

Level = Scalar | list[Scalar]
Step = tuple[int, int, tuple[float, float]]
"""The numbers of two levels, and the region of the first one's figure over the second one's, as logs."""


class Trend(Hypothesis, Figure):
    """A figure along `factor` (several levels may move together), over `levels` or all that are printed, rising."""

    factor: str | list[str]
    levels: list[Level] = Field(default_factory=list)

    @abstractmethod
    def steps(self, levels: list[Rows]) -> list[Step]:
        """Return the comparisons that must all hold."""

    def contrasts(self, figures: SystemFigures) -> list[Contrast]:
        levels = self.levels_in(figures.published)
        called, terms = name(self, figures.published), [self.terms(level) for level in levels]
        return [
            figures.contrast(f"{called}, {step(levels[a], levels[b])}", region, terms[a], terms[b])
            for a, b, region in self.steps(levels)
        ]

    def place(self, value: Level, levels: list[Rows]) -> int:
        """Return the number of a level as the claim writes it."""
        return levels.index(level_named(self.factors(), value))

    def factors(self) -> list[str]:
        return [self.factor] if isinstance(self.factor, str) else self.factor

    def levels_in(self, published: Published) -> list[Rows]:
        return levels_along(self, self.factors(), self.levels, published)

    def speaks_of(self, published: Published) -> list[tuple[str, Term]]:
        return [("rows", term) for level in self.levels_in(published) for term in self.terms(level)]

    def check(self, published: Published, file: Path) -> None:
        check_factors(self, self.factors(), self.levels, published, self.id, file)
        levels = self.levels_in(published)
        if len(levels) < 2:
            fix = "name more levels, or widen `rows`"
            refuse("needs at least two levels", file, f"{self.id}.levels", levels, fix)

    def check_named(self, key: str, value: Level | None, published: Published, file: Path) -> None:
        """Raise BadInput unless the level under `key` is printed."""
        if value is not None:
            check_level(self.factors(), value, published.tables[self.table], f"{self.id}.{key}", file)

    def factors_in_words(self) -> str:
        return " and ".join(self.factors()).replace("_", " ")

    def from_to(self) -> str:
        """Return "from the fewest to the most threads"."""
        least, most = ("fewest", "most") if self.factors_in_words().endswith("s") else ("smallest", "largest")
        return f"from the {least} to the {most} {self.factors_in_words()}"


class Increases(Trend):
    """The last level is at least `at_least` times the first."""

    at_least: AtLeast = 1.0

    def steps(self, levels: list[Rows]) -> list[Step]:
        return [(len(levels) - 1, 0, at_least(self.at_least))]

    def tested_as(self) -> str:
        return f"{bound(self.at_least)} {self.from_to()}"


class Decreases(Trend):
    """The first level is at least `at_least` times the last."""

    at_least: AtLeast = 1.0

    def steps(self, levels: list[Rows]) -> list[Step]:
        return [(len(levels) - 1, 0, at_most(self.at_least))]

    def tested_as(self) -> str:
        falls = f"falls at least {self.at_least:g}-fold" if self.at_least > 1 else "falls"
        return f"{falls} {self.from_to()}"


class Flat(Trend):
    """Every level lies within `tolerance` of the first."""

    tolerance: Share

    def steps(self, levels: list[Rows]) -> list[Step]:
        return [(level, 0, within(self.tolerance)) for level in range(1, len(levels))]

    def tested_as(self) -> str:
        return f"every value along {self.factors_in_words()} within {self.tolerance:.0%} of the first"


class SaturatesAt(Trend):
    """Rises by `at_least` up to the level `at`, is then within `tolerance` of it to `until`, and, if `falls`, falls."""

    at: Level
    until: Level | None = None
    at_least: AtLeast = 1.1
    tolerance: Share
    falls: StrictBool = False

    def steps(self, levels: list[Rows]) -> list[Step]:
        at, until, last = self._places(levels)
        level = [(each, at, within(self.tolerance)) for each in range(at + 1, until + 1)]
        fall = [(last, until, at_most(1.0))] if self.falls else []
        return [(at, 0, at_least(self.at_least)), *level, *fall]

    def _places(self, levels: list[Rows]) -> tuple[int, int, int]:
        last = len(levels) - 1
        return self.place(self.at, levels), last if self.until is None else self.place(self.until, levels), last

    def check(self, published: Published, file: Path) -> None:
        super().check(published, file)
        self.check_named("at", self.at, published, file)
        self.check_named("until", self.until, published, file)
        at, until, last = self._places(self.levels_in(published))
        if at == 0 or until < at or (self.falls and until == last):
            fix = "saturation needs a lower level to rise from, and `falls` a level after `until`"
            refuse("there is nothing before, or nothing after it", file, f"{self.id}.at", self.at, fix)

    def tested_as(self) -> str:
        until = f" up to {_said(self.until)}" if self.until is not None else ""
        fall = ", then falls" if self.falls else ""
        rise = f"{bound(self.at_least)} up to {self.factors_in_words()} {_said(self.at)}"
        return f"{rise}, then within {self.tolerance:.0%}{until}{fall}"


class PeakAt(Trend):
    """No level beats `at` by more than `tolerance` (0: none does); with `inside` the first and last lie below it."""

    at: Level
    tolerance: float = Field(default=0, ge=0, lt=1)
    inside: StrictBool = False

    def steps(self, levels: list[Rows]) -> list[Step]:
        at, strict = self.place(self.at, levels), (0, len(levels) - 1) if self.inside else ()
        others = [level for level in range(len(levels)) if level != at]
        return [(at, i, at_least(1.0 if i in strict else 1 - self.tolerance)) for i in others]

    def check(self, published: Published, file: Path) -> None:
        super().check(published, file)
        self.check_named("at", self.at, published, file)

    def tested_as(self) -> str:
        margin = f" by more than {self.tolerance:.0%}" if self.tolerance else ""
        ends = ", and both ends lie below it" if self.inside else ""
        return f"no value along {self.factors_in_words()} beats that at {_said(self.at)}{margin}{ends}"


def _said(value: Level) -> str:
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)
