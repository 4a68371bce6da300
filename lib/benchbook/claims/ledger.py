"""The shape of `data/published/<report>/claims.yaml`: one entry per statement of a report that a rerun can judge.

A claim names its figures as the published tables do: a table, a metric (a column, or arithmetic over columns), and
`rows`, the levels of one printed row. `over` divides by another figure, so that a claim is about a ratio. Never is a
published figure typed: it is taken from the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from benchbook.published.declarations import Scalar

Rows = dict[str, Scalar]
Share = Annotated[float, Field(gt=0, lt=1)]
AtLeast = Annotated[float, Field(ge=1)]
Number = Annotated[int, Field(ge=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Over(_Strict):
    """What a figure is divided by; table and metric are the figure's own unless named, `rows` are never inherited."""

    table: str | None = None
    metric: str | None = None
    rows: Rows = {}


class Term(NamedTuple):
    """A metric at one row of one table."""

    table: str
    metric: str
    rows: Rows

    def __str__(self) -> str:
        where = ", ".join(f"{name} {value}" for name, value in self.rows.items())
        return f"{self.metric} of {self.table}" + (f" at {where}" if where else "")


class Figure(_Strict):
    """One figure of a report: `metric` in the row of `table` that has the levels `rows`, divided by `over`."""

    table: str
    metric: str
    rows: Rows = {}
    over: Over | None = None
    called: str | None = None

    def terms(self, level: Rows | None = None) -> list[Term]:
        """Numerator and, if there is one, denominator; `level` is added to the rows of both."""
        more = level or {}
        found = [Term(self.table, self.metric, {**self.rows, **more})]
        if self.over is not None:
            table, metric = self.over.table or self.table, self.over.metric or self.metric
            found.append(Term(table, metric, {**self.over.rows, **more}))
        return found


class NotHere(_Strict):
    """Why a claim cannot be judged somewhere: it applies when everything that it names holds.

    `systems`: the judged system is one of these; `profiles`: the campaign ran with one of these; `asked`: the campaign
    asked for something (not 0, not empty) under each of these names, such as `rate`. `needs` says what would decide it.
    """

    systems: list[str] = []
    profiles: list[str] = []
    asked: list[str] = []
    why: str
    needs: str = ""

    def applies(self, system: str, asked: Mapping[str, object]) -> bool:
        """Whether all conditions hold; one without conditions holds everywhere."""
        return (
            (not self.systems or system in self.systems)
            and (not self.profiles or asked.get("profile") in self.profiles)
            and all(asked.get(name) for name in self.asked)
        )


class _Claim(_Strict):
    """`where` is the section of the report; `own_table` says how the report's own table contradicts its text."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    statement: str
    where: str
    not_here: list[NotHere] = []
    own_table: str | None = None


class _Along(_Claim, Figure):
    """A figure along `factor` (several levels may move together), over `levels` or all that are printed, rising."""

    factor: str | list[str]
    levels: list[Scalar | list[Scalar]] = []

    def factors(self) -> list[str]:
        return [self.factor] if isinstance(self.factor, str) else self.factor


class Increases(_Along):
    """The last level is at least `at_least` times the first, and no step falls by more than `dip`."""

    hypothesis: Literal["increases"]
    at_least: AtLeast = 1.0
    dip: Share = 0.1


class Decreases(_Along):
    """The first level is at least `at_least` times the last, and no step rises by more than `dip`."""

    hypothesis: Literal["decreases"]
    at_least: AtLeast = 1.0
    dip: Share = 0.1


class Flat(_Along):
    """Every level lies within `tolerance` of the first."""

    hypothesis: Literal["flat"]
    tolerance: Share


class SaturatesAt(_Along):
    """Rises by `at_least` up to the level `at`, is then within `tolerance` of it to `until`, and, if `falls`, falls."""

    hypothesis: Literal["saturates_at"]
    at: Scalar | list[Scalar]
    until: Scalar | list[Scalar] | None = None
    at_least: AtLeast = 1.1
    tolerance: Share
    falls: bool = False


class PeakAt(_Along):
    """No level beats `at` by more than `tolerance` (0: none does); with `inside` the first and last lie below it."""

    hypothesis: Literal["peak_at"]
    at: Scalar | list[Scalar]
    tolerance: float = Field(default=0, ge=0, lt=1)
    inside: bool = False


class Ratio(_Claim, Figure):
    """The figure over its `over` is what the report's table gives, within `tolerance` (relative)."""

    hypothesis: Literal["ratio"]
    over: Over
    tolerance: Share


class Order(_Claim):
    """Each of `figures` is larger than the next, at least `at_least` times."""

    hypothesis: Literal["order"]
    figures: list[Figure] = Field(min_length=2)
    at_least: AtLeast = 1.0


class Dominates(_Claim):
    """`figure` is at least `at_least` times each of `above`, at every level of `factor` if there is one."""

    hypothesis: Literal["dominates"]
    figure: Figure
    above: list[Figure] = Field(min_length=1)
    factor: str | None = None
    levels: list[Scalar] = []
    at_least: AtLeast = 1.0


class Correlates(_Claim):
    """Over all printed rows of `tables`, the metrics `x` and `y` rise together: Kendall's tau above `at_least`."""

    hypothesis: Literal["correlates"]
    tables: list[str] = Field(min_length=1)
    x: str
    y: str
    at_least: float = Field(default=0, ge=0, lt=1)


Along = Increases | Decreases | Flat | SaturatesAt | PeakAt
Between = Ratio | Order | Dominates
Claim = Annotated[Along | Between | Correlates, Field(discriminator="hypothesis")]


def figures_of(claim: Claim) -> list[Figure]:
    """Every figure that a claim names; one that correlates names tables and metrics instead."""
    if isinstance(claim, Correlates):
        return []
    if isinstance(claim, Order):
        return claim.figures
    return [claim.figure, *claim.above] if isinstance(claim, Dominates) else [claim]


class Ledger(_Strict):
    """All claims of a report; `alpha` bounds the chance that any of its verdicts is wrong."""

    report: str
    alpha: Share = 0.05
    claims: list[Claim] = Field(min_length=1)
