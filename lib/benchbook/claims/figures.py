"""The figures that a claim names: their place in the published tables, their names, and what they measure."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pandas as pd

from benchbook.documents import units as time_units
from benchbook.errors import BadInput
from benchbook.published import arithmetic
from benchbook.published.declarations import Scalar
from benchbook.published.reading import known, names_in
from benchbook.published.tables import Published, PublishedTable
from benchbook.user_input.yaml_file import Strict

Rows = dict[str, Scalar]


class Term(NamedTuple):
    """A metric at one row of one table; `system` names the system that it is about, if not the judged one."""

    table: str
    metric: str
    rows: Rows
    system: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """What tells one figure from every other."""
        return self.table, self.metric, self.system, *self.rows.items()

    def speaks_of(self, table: str, levels: Mapping[str, object]) -> bool:
        """Return whether a table's cell has the term's rows; levels that it lacks (a component) set none apart."""
        return self.table == table and all(levels.get(name, value) == value for name, value in self.rows.items())

    def __str__(self) -> str:
        where = ", ".join(f"{name} {value}" for name, value in self.rows.items())
        return f"{self.metric} of {self.table}" + (f" at {where}" if where else "")


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
        """Return numerator and, if there is one, denominator; `level` is added to the rows of both."""
        more = level or {}
        found = [Term(self.table, self.metric, {**self.rows, **more}, self.system)]
        if self.over is not None:
            table, metric = self.over.table or self.table, self.over.metric or self.metric
            system = self.system if self.over.system is None else self.over.system
            found.append(Term(table, metric, {**self.over.rows, **more}, system))
        return found


# -- what to call them ------------------------------------------------------------------------------------------------


def name(figure: Figure, published: Published) -> str:
    """Return its own name, else the column's title, with the table where there are several."""
    if figure.called:
        return figure.called
    field = published.tables[figure.table].fields.get(figure.metric)
    title = field.title if field else figure.metric
    plain = title if title[1:2].isupper() else title[:1].lower() + title[1:]
    if figure.over is not None and figure.over.rows != figure.rows:
        return f"{plain}{_at(figure.rows)} over {figure.over.metric or 'that'}{_at(figure.over.rows)}"
    return plain + _at(figure.rows)


def _at(rows: Rows) -> str:
    return f" at {words(rows)}" if rows else ""


def step(a: Rows, b: Rows) -> str:
    """Return two levels of the same factors in words: "threads 400 against 100"."""
    names = "/".join(name.replace("_", " ") for name in a)
    upper, lower = ("/".join(str(value) for value in rows.values()) for rows in (a, b))
    return f"{names} {upper} against {lower}"


def words(rows: Rows) -> str:
    """Return levels in words: "threads 400", "source threads 6, target threads 24"."""
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in rows.items())


def counted(rows: Mapping[str, object]) -> str:
    """Return levels as one says them: "50 threads", "pool size 2"."""
    said = [(name.replace("_", " "), value) for name, value in rows.items()]
    return ", ".join(
        f"{value} {name.removesuffix('s') if value == 1 else name}" if name.endswith("s") else f"{name} {value}"
        for name, value in said
    )


# -- what they measure ------------------------------------------------------------------------------------------------


def dimension(term: Term, published: Published) -> str:
    """Return what a term's columns measure: "time" in whatever unit, else their unit; levels do not count."""
    table = published.tables[term.table]
    units = {table.fields[name].unit for name in arithmetic.names(term.metric) if name in table.metrics}
    return "time" if units and all(map(time_units.is_time, units)) else ", ".join(sorted(units))


def time_power(term: Term, published: Published) -> int:
    """Return 1 for a time, -1 for a rate, 0 for what a slow machine leaves as it is (a size, a share, a count)."""
    return _time_power(term.metric, term.table, published)


@lru_cache(maxsize=1000)
def _time_power(metric: str, table: str, published: Published) -> int:
    fields = published.tables[table].fields

    def where_times_are(longer: float) -> float:
        """Return the metric of made-up figures, if all times are so many times as long and rates as low."""
        given: dict[str, arithmetic.Number] = {}
        for place, column in enumerate(arithmetic.names(metric), start=2):
            unit = fields[column].unit if column in fields and fields[column].role == "metric" else ""
            power = int(time_units.is_time(unit)) - int(time_units.is_rate(unit))
            given[column] = arithmetic.exact(place * longer**power)
        found = arithmetic.evaluate(metric, given)
        return found.value if found else 0.0

    once, twice = where_times_are(1.0), where_times_are(2.0)
    return round(math.log2(twice / once)) if once and twice / once > 0 else 0


# -- against the published tables -----------------------------------------------------------------------------------


def levels_along(figure: Figure, names: Sequence[str], given: Sequence[Any], published: Published) -> list[Rows]:
    """Return the levels of `names` that a claim goes along: `given`, else all printed; one factor of numbers rises."""
    if not names:
        return [{}]
    if given:
        return [level_named(names, value) for value in given]
    table = published.tables[figure.table]
    rows = _levels_of(names, [table.cells[number] for number in table.matching(figure.rows)])
    ordered = sorted(rows) if len(names) == 1 and names[0] in table.numeric else rows
    return [dict(zip(names, row, strict=True)) for row in ordered]


def _levels_of(names: Sequence[str], cells: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """Return the levels of these factors that stand in the rows of a table: each combination once, none with a gap."""
    rows = [tuple(row[name] for name in names) for row in cells]
    return [list(row) for row in dict.fromkeys(rows) if not any(map(pd.isna, row))]


def level_named(names: Sequence[str], value: Any) -> Rows:
    """Return a level as a claim writes it, 8 or [6, 24], by the names of its factors; empty if it has not as many."""
    values = value if isinstance(value, list) else [value]
    return dict(zip(names, values, strict=False)) if len(values) == len(names) else {}


def check_table(name: str, published: Published, file: Path, key: str) -> PublishedTable:
    """Return the table of this name. Raise BadInput."""
    known(name, list(published.tables), "unknown table", key, file)
    return published.tables[name]


def check_factors(
    figure: Figure, names: Sequence[str], given: Sequence[Any], published: Published, at: str, file: Path
) -> None:
    """Raise BadInput unless the figure's table prints its rows, has these factors and prints the levels `given`."""
    table = check_table(figure.table, published, file, f"{at}.table")
    check_rows(figure.rows, table, f"{at}.rows", file)
    for name in names:
        known(name, table.levels, "unknown level", f"{at}.factor", file)
    for value in given:
        check_level(names, value, table, f"{at}.levels", file)


def check_level(names: Sequence[str], value: Any, table: PublishedTable, key: str, file: Path) -> None:
    """Raise BadInput unless the table prints this combination of levels."""
    printed = _levels_of(names, table.cells)
    values = value if isinstance(value, list) else [value]
    if values not in printed:
        shown = ", ".join(str(row[0] if len(row) == 1 else row) for row in printed)
        problem = f"no such level of {', '.join(names)} in table {table.id}"
        raise BadInput(problem, file=file, key=key, value=value, fix=f"use one of: {shown}")


def check_term(term: Term, published: Published, file: Path, key: str) -> None:
    """Raise BadInput unless exactly one printed row has the term's levels, and a figure in it."""
    table = check_table(term.table, published, file, key)
    check_rows(term.rows, table, key, file)
    check_metric(term.metric, table, file, key)
    rows = table.matching(term.rows)
    if len(rows) != 1:
        problem = f"{len(rows)} rows of table {table.id} have these levels"
        refuse(problem, file, key, term.rows, f"name one row by its levels: {', '.join(table.levels)}")
    if pd.Series(table.frame.loc[rows].eval(term.metric, engine="python")).isna().any():
        refuse(f"table {table.id} prints nothing there", file, key, str(term), "claim what is printed")


def check_rows(rows: Rows, table: PublishedTable, key: str, file: Path) -> None:
    """Raise BadInput for a level that the table does not have, or not with this value."""
    for name, value in rows.items():
        known(name, table.levels, f"unknown level of table {table.id}", key, file)
        check_level([name], value, table, key, file)


def check_metric(metric: str, table: PublishedTable, file: Path, key: str) -> None:
    """Raise BadInput for what is not arithmetic over the table's numbers."""
    printed = [*table.metrics, *(name for name in table.levels if name in table.numeric)]
    for name in names_in(metric, file, "a metric"):
        known(name, printed, f"unknown metric of table {table.id}", key, file)


def refuse(problem: str, file: Path, key: str, value: Any, fix: str) -> NoReturn:
    raise BadInput(problem, file=file, key=key, value=value, fix=fix)
