"""What a hypothesis is: one class with its keys in claims.yaml, its checks, its comparisons and its words.

claims.yaml chooses the class by `hypothesis:`. The kit's own are found by entry points of the group
`benchbook.hypotheses`, as are those of any installed package (docs/extending-hypothesis.md shows one).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

import numpy as np
import pandas as pd
from pydantic import Field

from benchbook.claims.evidence import PUBLISHED, Evidence, as_published
from benchbook.claims.parts import Part
from benchbook.claims.terms import Figure, Term, weighed
from benchbook.published import arithmetic
from benchbook.published.tables import Published
from benchbook.stats.estimates import Array
from benchbook.yamlfile import Strict

Share = Annotated[float, Field(gt=0, lt=1)]
AtLeast = Annotated[float, Field(ge=1)]
ID = r"^[a-z0-9][a-z0-9-]*$"
# Numerator and denominator of a figure, as they enter its log.
_SIGNS = (1, -1)


class NotHere(Strict):
    """Why a claim cannot be judged somewhere: it applies when everything that it names holds.

    `systems`: the judged system is one of these; `profiles`: the campaign ran with one of these; `asked`: the campaign
    asked for something (not 0, not empty) under each of these names, such as `rate`; `below`: it asked for less than
    this number under each of these names, such as `time_s`; `stand_ins`: another product or version runs in the place
    of one that the claim is about. `needs` says what would decide it. `if_it_fails`: what holds here all the same is
    reproduced, as where a stand-in lacks what the claim may come from.
    """

    systems: list[str] = Field(default_factory=list)
    profiles: list[str] = Field(default_factory=list)
    asked: list[str] = Field(default_factory=list)
    below: dict[str, float] = Field(default_factory=dict)
    stand_ins: bool = False
    if_it_fails: bool = False
    why: str
    needs: str = ""

    def applies(self, system: str, asked: Mapping[str, object], stand_ins: Sequence[str] = ()) -> bool:
        """Whether all conditions hold; one without conditions holds everywhere. `stand_ins`: what stands for what."""
        return (
            (not self.systems or system in self.systems)
            and (not self.stand_ins or bool(stand_ins))
            and (not self.profiles or asked.get("profile") in self.profiles)
            and all(asked.get(name) for name in self.asked)
            and all(isinstance(n := asked.get(name), int | float) and n < least for name, least in self.below.items())
        )


class Conditions(Strict):
    """From which busy share of its CPU on a machine leaves a rise no room; null: that does not matter here.

    `machine` is judged where the rise begins (the lowest level), `client`, on a machine of its own, wherever it loads.
    `everywhere`: the figure needs spare CPU wherever it was measured, as that of a program that keeps up with another.
    `retest`: how alike a metric must rank the settings in two repetitions before another can be seen to follow it.
    `filled`: the recorded figure that says which share of a cache was in use at most. A claim that a larger one gives
    more than a smaller one needs the smaller one full.
    """

    machine: Share | None = 0.95
    client: Share | None = 0.9
    everywhere: bool = False
    retest: Share | None = 0.3
    filled: str = ""


@dataclass(frozen=True, eq=False)
class Arm:
    """One system's figures, and the report that they are compared with."""

    published: Published
    evidence: Evidence
    system: str

    def values(self, term: Term) -> pd.Series[float]:
        """A metric by repetition, of the system that the term is about. Raises NotMeasured."""
        return self.evidence.values(term, self.system_of(term))

    def logs(self, term: Term) -> pd.Series[float]:
        """The logs of a metric by repetition. Raises NotMeasured."""
        values = self.values(term)
        return pd.Series(np.log(values), index=values.index, dtype="float64")

    def one_trial(self, terms: Sequence[Term]) -> bool:
        """Were these terms all measured in one trial?"""
        return len({self.evidence.trial_of(term, self.system_of(term)) for term in terms}) == 1

    def resolution(self, terms: Sequence[Term], signs: Sequence[float] = ()) -> float:
        """Variance that rounding gives an effect of these terms; `signs` as of `weighed`."""
        return sum(
            weight**2 * self._rounding(term, column)
            for term, weight in weighed(terms, signs)
            for column in arithmetic.names(term.metric)
        )

    def _rounding(self, term: Term, column: str) -> float:
        """Of one column of a term's metric; levels were set and not measured, and have none."""
        table = self.published.tables[term.table]
        if column not in table.metrics:
            return 0.0
        return self.evidence.rounding(term._replace(metric=column), self.system_of(term), table.fields[column].unit)

    def sampling(self, terms: Sequence[Term], signs: Sequence[float] = ()) -> float:
        """Variance that the number of requests in a trial gives an effect of these terms: of percentiles."""
        return sum(
            weight**2 * self.evidence.sampling(term._replace(metric=column), self.system_of(term))
            for term, weight in weighed(terms, signs)
            for column in arithmetic.names(term.metric)
        )

    def lost(self, term: Term) -> list[tuple[Term, float]]:
        """Share of CPU that others took while each column of a term was measured."""
        columns = [term._replace(metric=column) for column in arithmetic.names(term.metric)]
        return [(column, self.evidence.lost(column, self.system_of(column))) for column in columns]

    def compared(
        self,
        what: str,
        effects: Array,
        region: tuple[float, float],
        terms: Sequence[Term],
        against: Sequence[Term] = (),
    ) -> Part:
        """The comparison of a figure's `terms`, two if it is a quotient, with those of another figure, if there is one.

        `effects` are the logs of the first less those of the second. What they cannot be known better than comes with
        it.
        """
        every = (*terms, *against)
        signs = (*_SIGNS[: len(terms)], *(-sign for sign in _SIGNS[: len(against)]))
        resolution, sampling = self.resolution(every, signs), self.sampling(every, signs)
        return Part(what, effects, *region, terms=every, signs=signs, resolution=resolution, sampling=sampling)

    def system_of(self, term: Term) -> str:
        """The one that the term names, or that alone ran its rows, or else the arm's own."""
        # The report's own tables are one arm: what its rows are about stands in their levels.
        return self.system if self.system == PUBLISHED else self.named(term) or self.system

    def named(self, term: Term) -> str:
        """The system that the term is about whichever is judged; "" where it is about the judged one."""
        return term.system or self.evidence.ran_by(term)

    def printed(self) -> Arm:
        """The report's own figures as an arm of one repetition."""
        return Arm(self.published, as_published(self.published), PUBLISHED)


class Hypothesis(Strict, ABC):
    """A claim, as a statement that repetitions can support or contradict; one class per value of `hypothesis:`.

    `where` is the section of the report; `own_table` says how the report's own table contradicts its text.
    """

    hypothesis: str
    id: str = Field(pattern=ID)
    statement: str
    where: str
    not_here: list[NotHere] = Field(default_factory=list)
    own_table: str | None = None
    conditions: Conditions = Conditions()

    @abstractmethod
    def speaks_of(self, published: Published) -> list[tuple[str, Term]]:
        """Every figure that the claim speaks of, with the key that it stands under; asked for after `check`."""

    @abstractmethod
    def parts(self, arm: Arm) -> list[Part]:
        """The comparisons that must all hold. Raises NotMeasured."""

    @abstractmethod
    def tested_as(self) -> str:
        """The test with its bounds, as a clause: "at least 1.2x from the fewest to the most threads"."""

    def in_tables(self) -> set[str]:
        """Where `speaks_of` names no figure, the tables that the claim is about as a whole."""
        return set()

    def check(self, published: Published, file: Path) -> None:
        """What its terms alone do not show: that its levels are printed, in an order that makes sense. BadInput."""

    def refused(
        self, system: str, asked: Mapping[str, object], stand_ins: Sequence[str] = (), *, fails: bool = False
    ) -> NotHere | None:
        """Why it cannot be judged on this system in a campaign that was asked for this; None where it can.

        `stand_ins` says what runs in the place of the systems that it is about: nothing, before it is known. `fails`:
        why it cannot be held against it that it fails there.
        """
        reasons = (each for each in self.not_here if each.if_it_fails is fails)
        return next((each for each in reasons if each.applies(system, asked, stand_ins)), None)

    def with_figures(self, change: Callable[[Figure], Figure]) -> Self:
        """The claim about other rows of the same tables; itself, where its levels are not those of single figures."""
        return self

    def room(self, published: Published) -> list[Term]:
        """Where a machine without spare capacity could not show the claim: its lowest levels. None: anywhere."""
        return []

    def too_alike(self, arm: Arm) -> str:
        """Why the settings differ too little here for the claim to show, with the figure that decides; else empty."""
        return ""

    def needs_room(self, published: Published) -> list[Term]:
        """As `room`; or every figure, where its conditions say that it needs spare CPU wherever it was measured."""
        every = self.conditions.everywhere
        return [term for _, term in self.speaks_of(published)] if every else self.room(published)

    def systems(self, arm: Arm) -> list[str]:
        """The systems that its figures are about whichever is judged; empty for a claim about the judged one alone."""
        return list(dict.fromkeys(name for _, term in self.speaks_of(arm.published) if (name := arm.named(term))))
