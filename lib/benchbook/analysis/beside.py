"""The published tables with what was measured beside them: one frame, from which pages, results.json and claims come.

figures = in_tables(published, figures_of(trials))    # a row per trial, table, its levels and metric
beside(published, figures, systems, levels)           # a row per cell, system and metric, as published and measured
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from benchbook import paths
from benchbook.analysis.samples import evenly
from benchbook.analysis.schema import BESIDE, FIGURES, as_level, typed
from benchbook.analysis.trials import cells
from benchbook.errors import BadInput
from benchbook.published.tables import Published, PublishedTable
from benchbook.stats.estimates import Interval

# Points along a curve: as many as can be read.
MOST_POINTS = 20
# The columns of `beside` that are no levels.
_NO_LEVELS = {column.name for column in BESIDE.columns}


def in_tables(published: Published, figures: pd.DataFrame) -> pd.DataFrame:
    """Return the figures of the published tables at the levels that these have; see `schema.FIGURES`.

    Trials of one repetition that differ in other levels alone are averaged; a level that no trial of a table has is no
    difference between them, and each belongs to every printed value of it. Raise BadInput where a column is printed in
    one unit and was measured in another: they stand in one row.
    """
    parts = [_in_table(published, table, figures) for table in published.tables.values()]
    levels = dict.fromkeys(name for table in published.tables.values() for name in _levels(table))
    known = [part for part in parts if len(part)]
    found = typed(pd.concat(known) if known else pd.DataFrame(), FIGURES, levels=list(levels))
    found.attrs |= {name: figures.attrs[name] for name in ("report", "campaign") if name in figures.attrs}
    return found


def _levels(table: PublishedTable) -> list[str]:
    return [as_level(name) for name in (*table.fixed, *table.levels)]


def _in_table(published: Published, table: PublishedTable, figures: pd.DataFrame) -> pd.DataFrame:
    mine = figures[(figures.table == table.id) & figures.metric.isin(table.metrics)]
    for name, unit in mine[["metric", "unit"]].drop_duplicates().itertuples(index=False):
        if unit != table.fields[name].unit:
            raise BadInput(
                f"the column is measured in {unit}",
                file=paths.published_dir(published.report.name) / "datapackage.json",
                key=f"{table.id}.{name}.unit",
                value=table.fields[name].unit,
                fix=f"give it, and its numbers, in {unit}, or give the column another name",
            )
    there = [name for name in _levels(table) if name in mine and mine[name].notna().any()]
    keys = ["table", "system", *there, "repetition", "metric", "unit"]
    grouped = mine.groupby(keys, sort=False, observed=True, dropna=False)
    found = grouped.agg(value=("value", "mean"), trial=("trial", "first")).reset_index()
    if lacking := [name for name in table.levels if as_level(name) not in there]:
        printed = table.frame[table.levels].rename(columns=as_level)
        shared = [as_level(name) for name in table.levels if name not in lacking]
        return _merged(found, printed.drop_duplicates(), shared, "left")
    return found


def _merged(left: pd.DataFrame, right: pd.DataFrame, on: list[str], how: Literal["left", "outer"]) -> pd.DataFrame:
    """Merge whatever the types of the columns: a level is a whole number here and a category there."""
    if not on:
        return left.merge(right, how="cross")
    plain = dict.fromkeys(on, object)
    return left.astype(plain).merge(right.astype(plain), on=on, how=how)


def beside(
    published: Published, figures: pd.DataFrame, systems: Sequence[str], levels: Collection[str]
) -> pd.DataFrame:
    """Return a row per cell, system and metric, as it was published and measured; see `schema.BESIDE`.

    figures : as `in_tables` returns them; a cell that was measured and not published follows those of its system.
    levels : of the trials. A constant of a published table (its duration, say) stands in a row only if it is one: what
        was held constant in the report need not be what was held constant here.
    """
    found = cells(figures)
    parts = [
        _beside(table, found[found.table == table.id], systems, [as_level(n) for n in table.fixed if n in levels])
        for table in published.tables.values()
    ]
    names = dict.fromkeys(str(name) for part in parts for name in part if name not in {*_NO_LEVELS, "line"})
    return typed(pd.concat(parts), BESIDE, levels=list(names))


def _beside(table: PublishedTable, measured: pd.DataFrame, systems: Sequence[str], fixed: list[str]) -> pd.DataFrame:
    levels = [*fixed, *map(as_level, table.levels)]
    keys = ["system", *levels, "metric"]
    printed = _printed(table).assign(**{as_level(name): value for name, value in table.fixed.items()})
    printed = printed[[*levels, "metric", "line", "published"]]
    planned = pd.DataFrame({"system": list(systems)}, dtype=object).merge(printed, how="cross")
    measured = measured.reindex(columns=[*keys, "measured", "low", "high", "n"])
    # A constant of the table that its trials do not have as a level is the same for all of them.
    held = {as_level(name): value for name, value in table.fixed.items() if as_level(name) in fixed}
    for name, value in held.items():
        measured[name] = measured[name].astype(object).fillna(value)
    both = _merged(planned, measured, keys, "outer")
    # As printed; what was only measured comes last, in the order of the metrics.
    places = {name: place for place, name in enumerate(table.metrics)}
    order = pd.DataFrame({
        "system": both.system.map({name: place for place, name in enumerate(systems)}),
        "line": both.line.fillna(len(table.frame)),
        "level": both.groupby(levels, dropna=False, sort=False).ngroup() if levels else 0,
        "metric": both.metric.map(places),
    })  # fmt: skip
    both = both.loc[order.sort_values(["system", "line", "level", "metric"], kind="stable").index]
    both = both[both.published.notna() | both.measured.notna()]
    units = both.metric.map({name: table.fields[name].unit for name in table.metrics})
    return both.assign(table=table.id, unit=units, n=both.n.fillna(0))


def _printed(table: PublishedTable) -> pd.DataFrame:
    """Return [*levels, line (its place), metric, published], a row per cell of the table, whether printed or not."""
    names = {name: as_level(name) for name in table.levels}
    frame = table.frame[[*names, *table.metrics]].rename(columns=names).assign(line=range(len(table.frame)))
    levels = [*names.values(), "line"]
    found = frame.melt(levels, var_name="metric", value_name="published")
    return found.astype(dict.fromkeys(levels, object)).where(found.notna(), np.nan)


def levels_of(beside: pd.DataFrame | Mapping[str, Any]) -> list[str]:
    """Return the columns of such a frame, or of a row of it, that are levels, in their order."""
    return [str(name) for name in beside if name not in _NO_LEVELS and not str(name).endswith("_run")]


def in_rows(beside: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows, as results.json has them: what a row lacks is left out, and a whole level has no point."""
    levels = levels_of(beside)
    rows = [{str(k): v for k, v in row.items() if pd.notna(v)} for row in beside.to_dict("records")]
    return [{**row, **{n: _whole(row[n]) for n in levels if n in row}} for row in rows]


def of_rows(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the frame of which `in_rows` made these rows."""
    names = dict.fromkeys(name for row in rows for name in row if name not in _NO_LEVELS)
    return typed(pd.DataFrame(list(rows)), BESIDE, levels=list(names))


def measured_in(row: Mapping[str, Any]) -> Interval | None:
    """Return what was measured of such a row, with its interval; None where nothing was."""
    if "measured" not in row:
        return None
    return Interval(row["measured"], row.get("low", np.nan), row.get("high", np.nan), row["n"])


def _whole(level: Any) -> Any:
    """Return a level as it was given: in a column with gaps, whole numbers have become floats."""
    return int(level) if isinstance(level, float) and level.is_integer() else level


def few_points(frame: pd.DataFrame, x: str) -> tuple[pd.DataFrame, str]:
    """Return a curve's points [x, who, ...] at published levels and, evenly, others; a sentence if some lack."""
    if frame[x].nunique() <= MOST_POINTS:
        return frame, ""
    levels = sorted(set(frame[x]))
    kept = {*frame[frame.who == "published"][x], *evenly(levels, MOST_POINTS)}
    return frame[frame[x].isin(kept)], f"{len(kept)} of {len(levels)} values of {x} are shown."


def curves_apart(frame: pd.DataFrame, *, x: str, panel: str, levels: Iterable[str]) -> pd.DataFrame:
    """Return the frame with a `panel` of its own for each curve, where one would hold several points at an `x`.

    Of `levels`, columns as well, those that tell the points apart are named: "mixed, value_bytes 64".
    """
    at = frame.groupby([panel, x], observed=True)
    varied = [name for name in levels if name not in (x, panel) and (at[name].nunique() > 1).any()]
    if not varied:
        return frame
    texts = [frame[name].map(_value).astype(str).radd(f"{name} ") for name in varied]
    return frame.assign(**{panel: [", ".join(words) for words in zip(frame[panel].astype(str), *texts, strict=True)]})


def _value(level: str | float | None) -> str:
    """Return a number without needless decimals; a dash for a table without this level."""
    return "-" if pd.isna(level) else f"{level:g}" if isinstance(level, float) else str(level)
