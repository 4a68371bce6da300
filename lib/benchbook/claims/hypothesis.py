"""What a hypothesis is: one class with its keys in claims.yaml, its checks, its contrasts and its words.

claims.yaml chooses the class by `hypothesis:`. The kit's own are found by entry points of the group
`benchbook.hypotheses`, as are those of any installed package (docs/extending-hypothesis.md shows one).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from benchbook.claims.contrasts import Contrast, summed
from benchbook.claims.evidence import PUBLISHED, Evidence, as_published, ran_by
from benchbook.claims.figures import Term, dimension
from benchbook.published import arithmetic
from benchbook.published.tables import Published
from benchbook.stats import rounding
from benchbook.user_input.bounds import matching
from benchbook.user_input.yaml_file import Strict

Share = Annotated[float, Field(gt=0, lt=1)]
AtLeast = Annotated[float, Field(ge=1)]
ID = r"[a-z0-9][a-z0-9-]*"


class NotRun(Strict):
    """Where what a claim is about is not run, so that nothing here speaks of it: when everything holds that it names.

    `systems`: the judged system is one of these; `profiles`: the campaign ran with one of these; `asked`: the campaign
    asked for something (not 0, not empty) under each of these names, such as `rate`; `below`: it asked for less than
    this number under each of these names, such as `time_s`; `stand_ins`: another product or version runs in the place
    of one that the claim is about. `needs` says what would decide it. All of it is known before the run.
    """

    systems: list[str] = Field(default_factory=list)
    profiles: list[str] = Field(default_factory=list)
    asked: list[str] = Field(default_factory=list)
    below: dict[str, float] = Field(default_factory=dict)
    stand_ins: bool = False
    why: str
    needs: str = ""

    def applies(self, system: str, asked: Mapping[str, object], stand_ins: Sequence[str] = ()) -> bool:
        """Return whether all conditions hold. `stand_ins` says what stands for what."""
        return (
            (not self.systems or system in self.systems)
            and (not self.stand_ins or bool(stand_ins))
            and (not self.profiles or asked.get("profile") in self.profiles)
            and all(asked.get(name) for name in self.asked)
            and all(isinstance(n := asked.get(name), int | float) and n < least for name, least in self.below.items())
        )


@dataclass(frozen=True, eq=False)
class SystemFigures:
    """One system's figures, and the report that they are compared with."""

    published: Published
    evidence: Evidence
    system: str

    def values(self, term: Term) -> "pd.Series[float]":
        """Return a metric by repetition, of the system that the term is about. Raise NotMeasured."""
        return self.evidence.values(term, self.system_of(term))

    def logs(self, term: Term) -> "pd.Series[float]":
        """Return the logs of a metric by repetition. Raise NotMeasured."""
        values = self.values(term)
        return pd.Series(np.log(values), index=values.index, dtype="float64")

    def log_mean(self, term: Term) -> float:
        """Return the mean log of a metric over its repetitions. Raise NotMeasured."""
        return float(self.logs(term).mean())

    def dimension(self, term: Term) -> str:
        return dimension(term, self.published)

    def trial_of(self, term: Term) -> tuple[object, ...]:
        """Return what is the same for all terms that one trial measured."""
        names = (self.evidence.set_apart or {}).get(term.table, frozenset(term.rows))
        return term.table, self.system_of(term), *sorted((n, str(term.rows[n])) for n in names & set(term.rows))

    def contrast(
        self, what: str, region: tuple[float, float], of: Sequence[Term], against: Sequence[Term] = ()
    ) -> Contrast:
        """Return the comparison of a figure (`of`: numerator, denominator) with another one, if there is one.

        Raise NotMeasured.
        """
        weights = (*(1.0, -1.0)[: len(of)], *(-1.0, 1.0)[: len(against)])
        return self.weighted(what, region, (*of, *against), weights)

    def weighted(
        self, what: str, region: tuple[float, float], terms: Sequence[Term], weights: Sequence[float]
    ) -> Contrast:
        """Return the sum of so many times each term's log, in every repetition that has them all. Raise NotMeasured."""
        logs = pd.concat([self.logs(term) for term in terms], axis=1).dropna()
        effects = logs.to_numpy(dtype=np.float64) @ np.array(weights)
        digits = self.rounding(terms, weights)
        return Contrast(what, effects, *region, terms=tuple(terms), weights=tuple(weights), rounding=digits)

    def rounding(self, terms: Sequence[Term], weights: Sequence[float]) -> float:
        """Return the variance that rounding gives an effect, of columns that were measured; levels have none."""
        found, of_key = 0.0, {term.key: term for term in terms}
        for key, weight in summed(map(attrgetter("key"), terms), weights).items():
            term = of_key[key]
            table = self.published.tables[term.table]
            for column in set(arithmetic.names(term.metric)) & set(table.metrics):
                recorded = self.evidence.frames[term.table][column].dropna().to_numpy(dtype=np.float64)
                value = float(self.values(term._replace(metric=column)).mean())
                unit = table.fields[column].unit
                found += weight**2 * rounding.log_variance(value, recorded[recorded > 0], unit)
        return found

    def system_of(self, term: Term) -> str:
        """Return the one that the term names, or that alone ran its rows, or else the judged one."""
        # The report's own tables are those of one system: what its rows are about stands in their levels.
        return self.system if self.system == PUBLISHED else self.named(term) or self.system

    def named(self, term: Term) -> str:
        """Return the system that the term is about whichever is judged; "" where it is about the judged one."""
        return term.system or ran_by(term, self.evidence.cells)

    def printed(self) -> "SystemFigures":
        """Return the report's own figures, as one repetition of a system."""
        return SystemFigures(self.published, as_published(self.published), PUBLISHED)


class Hypothesis(Strict, ABC):
    """A claim, as a statement that repetitions can support or contradict; one class per value of `hypothesis:`.

    `where` is the section of the report; `own_table` says how the report's own table contradicts its text.
    """

    hypothesis: str
    id: Annotated[str, matching(ID, "a name of lower-case letters, digits and -")]
    statement: str
    where: str
    not_run: list[NotRun] = Field(default_factory=list)
    own_table: str | None = None

    @abstractmethod
    def speaks_of(self, published: Published) -> list[tuple[str, Term]]:
        """Return every figure that the claim speaks of, with the key that it stands under; asked after `check`."""

    @abstractmethod
    def contrasts(self, figures: SystemFigures) -> list[Contrast]:
        """Return the comparisons that must all hold. Raise NotMeasured."""

    @abstractmethod
    def tested_as(self) -> str:
        """Return the test with its bounds, as a clause: "at least 1.2x from the fewest to the most threads"."""

    def in_tables(self) -> set[str]:
        """Return, where `speaks_of` names no figure, the tables that the claim is about as a whole."""
        return set()

    def check(self, published: Published, file: Path) -> None:
        """Raise BadInput for what its terms do not show: that its levels are printed, in an order with a sense."""

    def unrun(self, system: str, asked: Mapping[str, object], stand_ins: Sequence[str] = ()) -> NotRun | None:
        """Return why nothing speaks of it on this system in a campaign that was asked for this; None where it does.

        `stand_ins` says what runs in the place of the systems that it is about: nothing, before it is known.
        """
        return next((each for each in self.not_run if each.applies(system, asked, stand_ins)), None)

    def systems(self, figures: SystemFigures) -> list[str]:
        """Return the systems that it is about whichever is judged; none for a claim about the judged one alone."""
        return list(
            dict.fromkeys(name for _, term in self.speaks_of(figures.published) if (name := figures.named(term)))
        )
