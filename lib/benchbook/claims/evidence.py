"""Figures per repetition, in the terms of the published tables, whatever kind of report they come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from benchbook.analysis.records_at import RecordsAt
from benchbook.analysis.results import Table
from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.record import Record
from benchbook.campaign.validity import lost_share
from benchbook.claims.ran_by import ran_by
from benchbook.claims.terms import Term
from benchbook.errors import BenchbookError
from benchbook.published.tables import Published
from benchbook.stats.estimates import Array
from benchbook.stats.latency import percentile
from benchbook.stats.rounding import Width

Tables = Callable[[Published, Sequence[Record], Sequence[Trial]], list[Table]]
PUBLISHED = "published"
# p95_ms, p99_ms: of a load's own histogram. Those of Prometheus (mysql_p95_ms) have other names and wider buckets.
_PERCENTILE = re.compile(r"p(\d\d?)_ms")
Found = TypeVar("Found")
# Percentile's name (p95_ms) -> the standard error that its number of requests gives its log.
Errors = Callable[[Record], Mapping[str, float]]


class NotMeasured(BenchbookError):
    """The evidence lacks what a claim speaks of; the message says what, `needs` what would decide the claim."""

    def __init__(self, why: str, needs: str = "a campaign that measures this") -> None:
        super().__init__(why)
        self.needs = needs


@dataclass(frozen=True, eq=False)
class Evidence:
    """Per published table one row per system, levels and repetition, a column per level and metric.

    `systems` were planned, whether or not anything of them was measured. `set_apart`: the levels that tell the trials
    of a table apart; its other levels (a run's component) are parts of one trial. All, where a table is not named.
    `cells` are what was planned, with its published levels. `recorded`: the figures as they were recorded, where
    `frames` has them otherwise.
    """

    frames: dict[str, pd.DataFrame]
    systems: list[str]
    set_apart: Mapping[str, frozenset[str]] = field(default_factory=dict)
    cells: Sequence[Cell] = ()
    recorded: Mapping[str, pd.DataFrame] | None = None
    # Claims of a ledger ask for the same figures again and again.
    _asked: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False)

    def values(self, term: Term, system: str) -> pd.Series[float]:
        """The metric of `term` by repetition, each above 0. Raises NotMeasured."""
        return self._once((term.table, term.metric, *term.rows.items(), system), lambda: self._values(term, system))

    def rounding(self, term: Term, system: str, unit: str) -> float:
        """Variance that rounding gives the log of the metric of `term`, a column in `unit`. Raises NotMeasured."""
        width = self._once((term.table, term.metric, unit), lambda: Width.of(self._recorded(term), unit))
        return width.log_variance(float(self.values(term, system).mean()))

    def sampling(self, term: Term, system: str) -> float:
        """Variance that the number of requests in one trial gives the log of `term`, a column that is a percentile.

        The mean over repetitions; 0 for other metrics, and where no histogram was recorded. Raises NotMeasured.
        """
        return self._mean(term, system, _sampling(term.metric))

    def lost(self, term: Term, system: str) -> float:
        """Share of CPU that others took while `term`, a column, was measured: the mean over repetitions, else 0."""
        return self._mean(term, system, lost_beside(term.metric))

    def _mean(self, term: Term, system: str, column: str) -> float:
        """Of a column in the rows of `term`; 0 where the table has no such column, or the rows nothing in it."""
        if term.table not in self.frames or column not in self.frames[term.table].columns:
            return 0.0
        found = self._rows(term, system)[column].dropna()
        return float(found.mean()) if len(found) else 0.0

    def ran_by(self, term: Term) -> str:
        """The system that alone was to run these rows; "" where several were, or none."""
        return self._once(("ran by", term.table, *term.rows.items()), lambda: ran_by(term, self.cells))

    def trial_of(self, term: Term, system: str) -> tuple[object, ...]:
        """What is the same for all terms that one trial measured, and for no others."""
        names = self.set_apart.get(term.table, frozenset(term.rows))
        return term.table, system, *sorted((name, str(term.rows[name])) for name in names & set(term.rows))

    def _once(self, key: tuple[Any, ...], find: Callable[[], Found]) -> Found:
        if key not in self._asked:
            self._asked[key] = find()
        found: Found = self._asked[key]
        return found

    def _values(self, term: Term, system: str) -> pd.Series[float]:
        frame = self._rows(term, system)
        try:
            # To have pandas read the name of a column as arithmetic takes a hundred times as long.
            plain = term.metric in frame.columns
            column = frame[term.metric] if plain else frame.eval(term.metric, engine="python")
            found = pd.Series(column, index=frame.index, dtype="float64")
        except pd.errors.UndefinedVariableError as missing:
            # What a load records stands in all its rows: another campaign of the same one lacks it as well.
            needs = f"a load generator or a probe that records `{term.metric}`, which none of this campaign does"
            raise NotMeasured(f"{term} was not measured", needs) from missing
        values = found.set_axis(frame["repetition"]).dropna()
        if values.empty:
            raise NotMeasured(f"{term} was not measured")
        if not (np.isfinite(values) & (values > 0)).all():
            wrong = next(value for value in values if not (np.isfinite(value) and value > 0))
            why = f"{term} was measured as {wrong:g}, so that no ratio can be formed"
            raise NotMeasured(why, "repetitions in which it is above 0, as longer loads may bring")
        return values

    def points(self, table: str, system: str, metrics: Sequence[str]) -> pd.DataFrame:
        """[repetition, *metrics] of every row of a table that has both metrics."""
        frame = self.frames.get(table, pd.DataFrame(columns=["system", "repetition", *metrics]))
        mine = frame[frame["system"] == system].reindex(columns=["repetition", *metrics])
        return mine.dropna()

    def _recorded(self, term: Term) -> Array:
        """Every value above 0 of a metric as it was recorded, whatever its row and system."""
        found = (self.recorded or self.frames)[term.table][term.metric].dropna().to_numpy(dtype=np.float64)
        return found[found > 0]

    def _rows(self, term: Term, system: str) -> pd.DataFrame:
        return self._once(("rows", term.table, *term.rows.items(), system), lambda: self._matching(term, system))

    def _matching(self, term: Term, system: str) -> pd.DataFrame:
        frame = self.frames.get(term.table)
        if frame is None:
            raise NotMeasured(f"nothing of table {term.table} was measured")
        if system not in set(frame["system"]):
            # An endpoint, or a system of the user's own package, may have been left out.
            raise NotMeasured(f"{term} was not measured", f"a campaign with {system} among its systems")
        for name, value in {"system": system, **term.rows}.items():
            if name not in frame.columns:
                raise NotMeasured(f"{term} was not measured")
            frame = frame[(frame[name] == value).fillna(False).astype(bool)]
        if frame["repetition"].duplicated().any():
            raise NotMeasured(f"{term} was measured under several settings at once")
        return frame


def sampling_errors(record: Record) -> dict[str, float]:
    """Percentile's name (p95_ms) -> what the number of requests makes of its log's standard error in this record."""
    named = (
        {name: match for name in record.summary if (match := _PERCENTILE.fullmatch(name))} if record.histogram else {}
    )
    return {name: percentile(record.histogram, float(match[1]), beyond=0).error for name, match in named.items()}


def measured(
    published: Published,
    tables: Tables,
    records: Sequence[Record],
    trials: Sequence[Trial],
    errors: Errors = sampling_errors,
) -> Evidence:
    """The evidence of a campaign: its records put beside the published tables one repetition at a time.

    `errors` may know what `sampling_errors` would say, without looking into the records.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    for repetition in sorted({record.repetition for record in records}):
        mine = [record for record in records if record.repetition == repetition]
        for table in tables(published, mine, trials):
            if table.id in published.tables:
                of_table = [record for record in mine if record.table == table.id]
                rows.setdefault(table.id, []).extend(_wide(table, repetition, of_table, errors))
    planned = [t for t in tables(published, [], trials) if t.id in published.tables]
    systems = {str((row.model_extra or {})["system"]) for t in planned for row in t.rows}
    apart = {id: frozenset(chain(*(t.cell.levels for t in trials if t.cell.table == id))) for id in rows}
    frames = {id: pd.DataFrame(found) for id, found in rows.items() if found}
    return Evidence(frames, sorted(systems), apart, [trial.cell for trial in trials])


def _wide(table: Table, repetition: int, records: Sequence[Record], errors: Errors) -> list[dict[str, Any]]:
    """One mapping per system and levels with all metrics that this repetition has."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    rows = [(row.model_extra or {}, row.metric, row.measured) for row in table.rows if row.measured is not None]
    at = RecordsAt(set.intersection(*(set(levels) - {"system"} for levels, *_ in rows)) if rows else (), records)
    for levels, metric, measured in rows:
        line = found.setdefault(tuple(levels.items()), {**levels, "repetition": repetition})
        line[metric] = measured.value
        mine = [r for r in at.records(str(levels.get("system")), levels) if metric in r.summary]
        if len(mine) == 1:
            line |= _about(metric, mine[0], errors)
    return list(found.values())


def _about(metric: str, record: Record, errors: Errors) -> dict[str, float]:
    """What a figure's record says of how far to believe it."""
    said = {}
    if _PERCENTILE.fullmatch(metric) and record.histogram:
        said[_sampling(metric)] = errors(record)[metric] ** 2
    if (share := lost_share(record.proof)) is not None:
        said[lost_beside(metric)] = share
    return said


def lost_beside(metric: str) -> str:
    """The column that holds the share of CPU that others took while a metric was measured."""
    return f"{metric} by lost CPU"


def _sampling(metric: str) -> str:
    """The column that holds what a percentile's number of requests makes of its log variance."""
    return f"{metric} by its requests"


@lru_cache(maxsize=16)
def as_published(published: Published) -> Evidence:
    """The printed figures as if they were one repetition of a system called "published"."""
    frames = {
        id: table.frame[[*table.levels, *table.metrics]].assign(system=PUBLISHED, repetition=1)
        for id, table in published.tables.items()
    }
    return Evidence(frames, [PUBLISHED])
