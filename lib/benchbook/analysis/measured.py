"""Records of a campaign as tables: one row per trial and metric, and the mean of each cell with its interval."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache

import pandas as pd

from benchbook import paths
from benchbook.analysis.records_at import RecordsAt
from benchbook.analysis.results import Measured, Row, Table
from benchbook.campaign.design import Levels, Trial
from benchbook.campaign.record import Record
from benchbook.errors import BadInput
from benchbook.published.tables import Published, PublishedTable
from benchbook.stats.comparison import ratio_interval
from benchbook.stats.estimates import DegenerateDataWarning, Interval
from benchbook.stats.intervals import mean_interval


def trials(records: Sequence[Record]) -> pd.DataFrame:
    """Long: table, system, the levels, repetition, order, metric, value, unit; one row per trial and metric."""
    rows = [
        {
            "table": r.table,
            "system": r.system,
            **r.levels,
            "repetition": r.repetition,
            "order": r.order,
            "trial": r.id,
            "metric": metric,
            "value": quantity.value,
            "unit": quantity.unit,
        }
        for r in records
        for metric, quantity in r.summary.items()
    ]
    columns = ["table", "system", "repetition", "order", "trial", "metric", "value", "unit"]
    return pd.DataFrame(rows, columns=None if rows else columns)


def interval(values: Sequence[float]) -> Measured:
    """Mean over repetitions with its 95% Student interval; below two repetitions there is no interval."""
    return _measured(lambda: mean_interval(list(values)))


def over_repetitions(records: Sequence[Record], metric: str) -> Measured | None:
    """Mean of a metric over these records with its interval; None where no record has it."""
    values = [record.summary[metric].value for record in records if metric in record.summary]
    return interval(values) if values else None


def paired_ratio(pairs: Sequence[tuple[float, float]]) -> Measured:
    """Geometric mean of first over second, with its 95% interval; a single pair gives no interval."""
    over, under = zip(*pairs, strict=True)
    return _measured(lambda: ratio_interval(over, under))


def _measured(estimate: Callable[[], Interval]) -> Measured:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        found = estimate()
    bounds = [None if math.isnan(bound) else bound for bound in (found.low, found.high)]
    return Measured(value=found.estimate, low=bounds[0], high=bounds[1], n=found.n)


def cells(records: Sequence[Record], levels: Sequence[str], metrics: Sequence[str]) -> pd.DataFrame:
    """Per system, table, levels and metric: value (mean over repetitions), low, high, n."""
    frame = trials(records)
    frame = frame[frame.metric.isin(list(metrics))]
    keys = ["system", "table", *levels, "metric", "unit"]
    rows = []
    for key, part in frame.groupby(keys, sort=False) if len(frame) else []:
        m = interval(part.value.tolist())
        rows.append({**dict(zip(keys, key, strict=True)), "value": m.value, "low": m.low, "high": m.high, "n": m.n})
    return pd.DataFrame(rows, columns=[*keys, "value", "low", "high", "n"])


def beside(published: Published, records: Sequence[Record], trials: Sequence[Trial]) -> list[Table]:
    """Each published table in long form with what was measured beside it; levels measured but not published follow.

    A constant of a published table (its duration, say) stands in a row only if the trials have it as a level: what
    was held constant in the report need not be what was held constant here.
    """
    systems = list(dict.fromkeys(trial.cell.system for trial in trials))
    varied = {name for trial in trials for name in trial.cell.levels}
    return [_table(published, table_id, records, systems, varied) for table_id in published.tables]


def _table(
    published: Published, table_id: str, records: Sequence[Record], systems: Sequence[str], varied: set[str]
) -> Table:
    table = published.tables[table_id]
    mine = [r for r in records if r.table == table_id]
    _check_units(published, table_id, mine)
    fixed = {name: value for name, value in table.fixed.items() if name in varied}
    at = RecordsAt([*fixed, *table.levels], mine)
    rows = [
        _row(metric, system, {**fixed, **levels}, table.fields[metric].unit, cell, _printed(table, metric, levels))
        for system in systems
        for levels in _levels(table, mine)
        for cell in [at.records(system, {**fixed, **levels})]
        for metric in table.metrics
    ]
    columns = ["system", *fixed, *table.levels, "metric", "unit", "published", "measured"]
    return Table(id=table_id, title=table.title, columns=columns, rows=rows)


def _check_units(published: Published, table_id: str, records: Sequence[Record]) -> None:
    """Raises BadInput where a column is printed in one unit and was measured in another: they stand in one row."""
    for name in (table := published.tables[table_id]).metrics:
        measured = {record.summary[name].unit for record in records if name in record.summary}
        if other := sorted(measured - {table.fields[name].unit}):
            raise BadInput(
                f"the column is measured in {other[0]}",
                file=paths.published_dir(published.report.name) / "datapackage.json",
                key=f"{table_id}.{name}.unit",
                value=table.fields[name].unit,
                fix=f"give it, and its numbers, in {other[0]}, or give the column another name",
            )


def _printed(table: PublishedTable, metric: str, levels: Levels) -> float | None:
    return _value(table, metric, tuple(levels.items()))


@lru_cache(maxsize=65_536)
def _value(table: PublishedTable, metric: str, levels: tuple[tuple[str, str | int | float], ...]) -> float | None:
    """Evidence asks for the same printed numbers once per repetition."""
    return table.value(metric, **dict(levels))


def _levels(table: PublishedTable, records: Sequence[Record]) -> list[Levels]:
    """Published combinations first, in the order of the report; then those that only the run has."""
    names = table.levels
    published = [{name: row[name] for name in names} for row in table.cells]
    ran = [{name: r.levels[name] for name in names if name in r.levels} for r in records]
    return list({tuple(levels.items()): levels for levels in [*published, *ran]}.values())


def _row(
    metric: str, system: str, levels: Levels, unit: str, records: Sequence[Record], published: float | None
) -> Row:
    found = over_repetitions(records, metric)
    return Row.model_validate(
        {"system": system, **levels, "metric": metric, "unit": unit, "published": published, "measured": found}
    )
