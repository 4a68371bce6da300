"""A claim's figures: what they name in the published tables, their logs per repetition, and what to call them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from benchbook.published import arithmetic, time_units
from benchbook.published.declarations import Scalar
from benchbook.stats.estimates import Array
from benchbook.yamlfile import Strict

if TYPE_CHECKING:
    from benchbook.published.tables import Published

Rows = dict[str, Scalar]
TermKey = tuple[object, ...]


class Term(NamedTuple):
    """A metric at one row of one table; `system` names the system that it is about, if not the judged one."""

    table: str
    metric: str
    rows: Rows
    system: str = ""

    @property
    def key(self) -> TermKey:
        """What tells one figure from every other."""
        return self.table, self.metric, self.system, *self.rows.items()

    def speaks_of(self, table: str, levels: Mapping[str, object]) -> bool:
        """Whether a table's cell has the term's rows; levels that it lacks (a run's component, say) set none apart."""
        return self.table == table and all(levels.get(name, value) == value for name, value in self.rows.items())

    def __str__(self) -> str:
        where = ", ".join(f"{name} {value}" for name, value in self.rows.items())
        return f"{self.metric} of {self.table}" + (f" at {where}" if where else "")


def weighed(terms: Sequence[Term], signs: Sequence[float] = ()) -> list[tuple[Term, float]]:
    """Each figure once, with how often its log is in an effect: 2, or 0, for one that stands in it twice.

    `signs` as of a Part; all 1 where there are none.
    """
    found: dict[TermKey, tuple[Term, float]] = {}
    for term, sign in zip(terms, signs or (1,) * len(terms), strict=True):
        found[term.key] = term, found.get(term.key, (term, 0.0))[1] + sign
    return list(found.values())


class Over(Strict):
    """What a figure is divided by; all but `rows` are the figure's own unless named here."""

    table: str | None = None
    metric: str | None = None
    rows: Rows = {}
    system: str | None = None


class Figure(Strict):
    """One figure of a report: `metric` in the row of `table` that has the levels `rows`, divided by `over`.

    `system` names the system of a campaign that it is about, where a claim compares two; else it is the judged one.
    """

    table: str
    metric: str
    rows: Rows = {}
    over: Over | None = None
    called: str | None = None
    system: str = ""

    def terms(self, level: Rows | None = None) -> list[Term]:
        """Numerator and, if there is one, denominator; `level` is added to the rows of both."""
        more = level or {}
        found = [Term(self.table, self.metric, {**self.rows, **more}, self.system)]
        if self.over is not None:
            table, metric = self.over.table or self.table, self.over.metric or self.metric
            system = self.system if self.over.system is None else self.over.system
            found.append(Term(table, metric, {**self.over.rows, **more}, system))
        return found


Lookup = Callable[[Term], "pd.Series[float]"]
"""Values by repetition; raises NotMeasured."""


def logs(figure: Figure, lookup: Lookup, level: Rows | None = None) -> pd.Series[float]:
    """log(figure) by repetition, of those repetitions that have all of it."""
    values = [lookup(term) for term in figure.terms(level)]
    quotient = values[0] / values[1] if len(values) > 1 else values[0]
    return pd.Series(np.log(quotient), index=quotient.index, dtype="float64").dropna()


def contrast(a: pd.Series[float], b: pd.Series[float]) -> Array:
    """a - b in each repetition that has both."""
    return np.asarray((a - b).dropna(), dtype=np.float64)


def name(figure: Figure, published: Published) -> str:
    """What people call the figure: its own name, else the column's title, with the table where there are several."""
    if figure.called:
        return figure.called
    field = published.tables[figure.table].fields.get(figure.metric)
    plain = field.title[:1].lower() + field.title[1:] if field else figure.metric
    if figure.over is not None and figure.over.rows != figure.rows:
        return f"{plain}{at(figure.rows)} over {figure.over.metric or 'that'}{at(figure.over.rows)}"
    return plain + at(figure.rows)


def at(rows: Rows) -> str:
    return f" at {words(rows)}" if rows else ""


def step(a: Rows, b: Rows) -> str:
    """Two levels of the same factors: "threads 400 against 100"."""
    names = "/".join(name.replace("_", " ") for name in a)
    upper, lower = ("/".join(str(value) for value in rows.values()) for rows in (a, b))
    return f"{names} {upper} against {lower}"


def words(rows: Rows) -> str:
    """Levels in words: "threads 400", "source threads 6, target threads 24"."""
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in rows.items())


def counted(rows: Rows) -> str:
    """Levels as one says them: "50 threads", "pool size 2"."""
    said = [(name.replace("_", " "), value) for name, value in rows.items()]
    return ", ".join(_counted(value, name) if name.endswith("s") else f"{name} {value}" for name, value in said)


def _counted(value: object, name: str) -> str:
    return f"{value} {name.removesuffix('s') if value == 1 else name}"


def unit(term: Term, published: Published) -> str:
    """The unit of a metric that is a column; empty for arithmetic over columns."""
    field = published.tables[term.table].fields.get(term.metric)
    return field.unit if field else ""


def is_time(term: Term, published: Published) -> bool:
    """Whether a term is a time (a latency, a duration per thread), which gets longer where capacity runs out.

    Arithmetic is one if it doubles where all times take twice as long, and all rates are half as high.
    """
    once, twice = (arithmetic.evaluate(term.metric, _slowed(term, published, by)) for by in (1.0, 2.0))
    return bool(once and twice and math.isclose(twice.value, 2 * once.value))


def _slowed(term: Term, published: Published, by: float) -> dict[str, arithmetic.Number]:
    """A number for each column of a term; times are so many times as long. Levels were set, and stay."""
    fields = published.tables[term.table].fields
    known: dict[str, arithmetic.Number] = {}
    for place, column in enumerate(arithmetic.names(term.metric), start=2):
        measured = fields[column].unit if column in fields and fields[column].role == "metric" else ""
        power = int(time_units.is_time(measured)) - int(time_units.is_rate(measured))
        known[column] = arithmetic.exact(place * by**power)
    return known
