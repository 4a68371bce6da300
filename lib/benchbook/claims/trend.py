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
    difference,
    level_named,
    levels_along,
    logs,
    name,
    refuse,
    step,
)
from benchbook.claims.hypothesis import AtLeast, Hypothesis, Share, SystemFigures
from benchbook.claims.verdict_text import bound
from benchbook.published.declarations import Scalar
from benchbook.published.tables import Published

Level = Scalar | list[Scalar]


class FigureCurve:
    """A figure at every level, as logs by repetition, and how to compare two of its levels."""

    def __init__(self, claim: "Trend", figures: SystemFigures) -> None:
        self.claim, self.figures, self.levels = claim, figures, claim.levels_in(figures.published)
        self.name = name(claim, figures.published)
        self._logs = [logs(claim, figures.values, level) for level in self.levels]

    @property
    def last(self) -> int:
        return len(self.levels) - 1

    def index(self, value: Level) -> int:
        """Return the number of a level as the claim writes it."""
        return self.levels.index(level_named(self.claim.factors(), value))

    def compare(self, a: int, b: int, region: tuple[float, float]) -> Contrast:
        """Return level number `a` against level number `b`."""
        of, against = self.claim.terms(self.levels[a]), self.claim.terms(self.levels[b])
        what = f"{self.name}, {step(self.levels[a], self.levels[b])}"
        return self.figures.contrast(what, difference(self._logs[a], self._logs[b]), region, of, against)


class Trend(Hypothesis, Figure):
    """A figure along `factor` (several levels may move together), over `levels` or all that are printed, rising."""

    factor: str | list[str]
    levels: list[Level] = Field(default_factory=list)

    @abstractmethod
    def compared(self, curve: FigureCurve) -> list[Contrast]:
        """Return the comparisons between levels that must all hold."""

    def contrasts(self, figures: SystemFigures) -> list[Contrast]:
        return self.compared(FigureCurve(self, figures))

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

    def compared(self, curve: FigureCurve) -> list[Contrast]:
        return [curve.compare(curve.last, 0, at_least(self.at_least))]

    def tested_as(self) -> str:
        return f"{bound(self.at_least)} {self.from_to()}"


class Decreases(Trend):
    """The first level is at least `at_least` times the last."""

    at_least: AtLeast = 1.0

    def compared(self, curve: FigureCurve) -> list[Contrast]:
        return [curve.compare(curve.last, 0, at_most(self.at_least))]

    def tested_as(self) -> str:
        falls = f"falls at least {self.at_least:g}-fold" if self.at_least > 1 else "falls"
        return f"{falls} {self.from_to()}"


class Flat(Trend):
    """Every level lies within `tolerance` of the first."""

    tolerance: Share

    def compared(self, curve: FigureCurve) -> list[Contrast]:
        return [curve.compare(index, 0, within(self.tolerance)) for index in range(1, curve.last + 1)]

    def tested_as(self) -> str:
        return f"every value along {self.factors_in_words()} within {self.tolerance:.0%} of the first"


class SaturatesAt(Trend):
    """Rises by `at_least` up to the level `at`, is then within `tolerance` of it to `until`, and, if `falls`, falls."""

    at: Level
    until: Level | None = None
    at_least: AtLeast = 1.1
    tolerance: Share
    falls: StrictBool = False

    def compared(self, curve: FigureCurve) -> list[Contrast]:
        at, until = curve.index(self.at), curve.last if self.until is None else curve.index(self.until)
        rise = curve.compare(at, 0, at_least(self.at_least))
        level = [curve.compare(index, at, within(self.tolerance)) for index in range(at + 1, until + 1)]
        fall = [curve.compare(curve.last, until, at_most(1.0))] if self.falls else []
        return [rise, *level, *fall]

    def check(self, published: Published, file: Path) -> None:
        super().check(published, file)
        self.check_named("at", self.at, published, file)
        self.check_named("until", self.until, published, file)
        levels = self.levels_in(published)
        at, last = levels.index(level_named(self.factors(), self.at)), len(levels) - 1
        until = last if self.until is None else levels.index(level_named(self.factors(), self.until))
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

    def compared(self, curve: FigureCurve) -> list[Contrast]:
        at = curve.index(self.at)
        strict = (0, curve.last) if self.inside else ()
        others = [index for index in range(curve.last + 1) if index != at]
        return [curve.compare(at, i, at_least(1.0) if i in strict else at_least(1 - self.tolerance)) for i in others]

    def check(self, published: Published, file: Path) -> None:
        super().check(published, file)
        self.check_named("at", self.at, published, file)

    def tested_as(self) -> str:
        margin = f" by more than {self.tolerance:.0%}" if self.tolerance else ""
        ends = ", and both ends lie below it" if self.inside else ""
        return f"no value along {self.factors_in_words()} beats that at {_said(self.at)}{margin}{ends}"


def _said(value: Level) -> str:
    return "/".join(map(str, value)) if isinstance(value, list) else str(value)
