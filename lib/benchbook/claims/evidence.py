"""Figures per repetition, in the terms of the published tables, whatever kind of report they come from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from benchbook.analysis.beside import levels_of
from benchbook.analysis.schema import as_level
from benchbook.campaign.design import Cell, Trial, distinct_cells
from benchbook.claims.figures import Term
from benchbook.errors import BenchbookError
from benchbook.published.tables import Published

PUBLISHED = "published"


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
    `cells` are what was planned, with its published levels.
    """

    frames: dict[str, pd.DataFrame]
    systems: list[str]
    set_apart: Mapping[str, frozenset[str]] | None = None
    cells: Sequence[Cell] = ()
    # Claims of a ledger ask for the same figures again and again.
    _known: dict[tuple[object, ...], "pd.Series[float]"] = field(default_factory=dict, repr=False)

    def values(self, term: Term, system: str) -> "pd.Series[float]":
        """Return the metric of `term` by repetition, each above 0. Raise NotMeasured."""
        key = (*term.key, system)
        if key not in self._known:
            self._known[key] = self._values(term, system)
        return self._known[key]

    def _values(self, term: Term, system: str) -> "pd.Series[float]":
        frame = self._rows(term, system)
        try:
            column = frame[term.metric] if term.metric in frame else frame.eval(term.metric, engine="python")
        except pd.errors.UndefinedVariableError as missing:
            # What a load records stands in all its rows: another campaign of the same one lacks it as well.
            needs = f"a load generator or a probe that records `{term.metric}`, which none of this campaign does"
            raise NotMeasured(f"{term} was not measured", needs) from missing
        values = pd.Series(column, index=frame.index, dtype="float64").set_axis(frame["repetition"]).dropna()
        if values.empty:
            raise NotMeasured(f"{term} was not measured")
        if not (np.isfinite(values) & (values > 0)).all():
            wrong = next(value for value in values if not (np.isfinite(value) and value > 0))
            why = f"{term} was measured as {wrong:g}, so that no ratio can be formed"
            raise NotMeasured(why, "repetitions in which it is above 0, as longer loads may bring")
        return values

    def points(self, table: str, system: str, metrics: Sequence[str]) -> pd.DataFrame:
        """Return [repetition, *metrics] of every row of a table that has all of them."""
        frame = self.frames.get(table, pd.DataFrame(columns=["system", "repetition", *metrics]))
        return frame[frame["system"] == system].reindex(columns=["repetition", *metrics]).dropna()

    def _rows(self, term: Term, system: str) -> pd.DataFrame:
        frame = self.frames.get(term.table)
        if frame is None:
            raise NotMeasured(f"no trial of table {term.table} was measured")
        if system not in set(frame["system"]):
            # An endpoint, or a system of the user's own package, may have been left out.
            raise NotMeasured(f"{term} was not measured", f"a campaign with {system} among its systems")
        wanted = np.ones(len(frame), dtype=np.bool_)
        for name, value in {"system": system, **term.rows}.items():
            if name not in frame.columns:
                raise NotMeasured(f"{term} was not measured")
            wanted &= (frame[name] == value).fillna(False).to_numpy(dtype=np.bool_)
        frame = frame[wanted]
        if frame["repetition"].duplicated().any():
            raise NotMeasured(f"{term} was measured under several settings at once")
        return frame


def ran_by(term: Term, cells: Iterable[Cell]) -> str:
    """Return the system that alone was to run the term's rows; "" where several were, or none: then the judged one.

    `cells` have their published levels. Of a table that was left out, a text that only one system has as a level of
    another table (a version) tells.
    """
    known = list(cells)
    found = {cell.system for cell in known if term.speaks_of(cell.table, cell.levels)}
    if not found:
        texts = [(name, value) for name, value in term.rows.items() if isinstance(value, str)]
        having = [{cell.system for cell in known if cell.levels.get(name) == value} for name, value in texts]
        found = {system for each in having if len(each) == 1 for system in each}
    return found.pop() if len(found) == 1 else ""


def measured(figures: pd.DataFrame, systems: Sequence[str], trials: Sequence[Trial]) -> Evidence:
    """Return the evidence of a campaign.

    figures : of the published tables, as `Kind.figures` returns them.
    trials : those of the plan, at the published levels that they stand for.
    """
    return _evidence(figures, figures.attrs["levels"], systems, trials)


def _evidence(
    figures: pd.DataFrame, levels: Sequence[str], systems: Iterable[str], trials: Sequence[Trial]
) -> Evidence:
    frames = {str(id): _wide(part, levels) for id, part in figures.groupby("table", sort=False, observed=True)}
    cells = [trial.cell for trial in trials]
    apart = {id: frozenset(chain(*(cell.levels for cell in cells if cell.table == id))) for id in frames}
    return Evidence(frames, sorted(systems), apart, cells)


def planned(beside: pd.DataFrame, trials: Sequence[Trial]) -> Evidence:
    """Return what a plan will measure, as if the printed figures came out, twice.

    beside : schema.BESIDE of the plan, of which nothing is measured yet.
    trials : those of the plan, at the published levels that they stand for.
    """
    levels = levels_of(beside)
    cells = distinct_cells(trials)
    rows = beside[["table", "system", *levels]].to_dict("records")
    will = [any(_gives(cell, row, levels) for cell in cells if cell.table == row["table"]) for row in rows]
    # As an array: of no rows, a list would name no columns.
    printed = (
        beside[np.array(will, dtype=np.bool_)]
        .dropna(subset="published")
        .drop_duplicates(["table", "system", *levels, "metric"])
    )
    twice = pd.concat([printed.assign(value=printed.published, repetition=n) for n in (1, 2)])
    return _evidence(twice, levels, set(map(str, twice.system)), trials)


def _gives(cell: Cell, row: Mapping[Any, Any], levels: Sequence[str]) -> bool:
    """Whether a cell's trials give a table's row: it has these levels, or others, as parts of a trial (components)."""
    known = {as_level(name): value for name, value in cell.levels.items()}
    own = [name for name in levels if pd.notna(row[name])]
    return any(name not in known for name in own) or all(known[name] == row[name] for name in own)


def _wide(figures: pd.DataFrame, levels: Sequence[str]) -> pd.DataFrame:
    """Return a row per system, levels and repetition, with a column per metric."""
    mine = [name for name in levels if figures[name].notna().any()]
    keys = ["repetition", "system", *mine]
    plain = figures.astype(dict.fromkeys(("system", "metric", *mine), object))
    found = plain.set_index([*keys, "metric"]).value.unstack("metric").reset_index()
    return found.rename_axis(columns=None)


@lru_cache(maxsize=16)
def as_published(published: Published) -> Evidence:
    """Return the printed figures as if they were one repetition of a system called "published"."""
    frames = {
        id: table.frame[[*table.levels, *table.metrics]].assign(system=PUBLISHED, repetition=1)
        for id, table in published.tables.items()
    }
    return Evidence(frames, [PUBLISHED])
