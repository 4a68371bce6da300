"""DM's records beside the published tables: each printed cell with its measured counterpart."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from benchbook.analysis.beside import in_tables
from benchbook.analysis.schema import FIGURES, typed
from benchbook.published.tables import Field, Published, PublishedTable

# Components of one run are the rows of a table: the figures of each are in the record under this word.
COMPONENTS = {
    "MySQL": "mysql",
    "DM": "dm",
    "DM relay log unit": "relay",
    "DM binlog replication unit": "dm",
    "TiDB": "tidb",
}
COMPONENT = "component"
# Columns that a record knows by another name; DM's own rate in alpha is its rate of jobs.
NAMES = {
    ("dump", "speed_mb_s"): "dump_mb_s",
    ("load", "speed_mb_s"): "load_mb_s",
    ("load", "txn_latency_s"): "txn_time_s",
    ("load_pool_size", "speed_mb_s"): "load_mb_s",
    ("load_rows_per_statement", "speed_mb_s"): "load_mb_s",
    ("sync_result", "relay_mb_s"): "relay_mb_s",
    ("result", "dm_tps"): "job_tps",
}
# Levels of the report that are outcomes: they are measured as well.
OUTCOMES = ("rows_per_statement", "data_gb")


def figures_in_tables(published: Published, figures: pd.DataFrame) -> pd.DataFrame:
    """Return the figures of the published tables (schema.FIGURES); the components of one run are rows of a table."""
    parts = [_named(table, figures[figures.table == table.id]) for table in published.tables.values()]
    named = typed(pd.concat(parts), FIGURES, levels=[*figures.attrs["levels"], COMPONENT])
    named.attrs |= {name: figures.attrs[name] for name in ("report", "campaign") if name in figures.attrs}
    return in_tables(published, named)


def _named(table: PublishedTable, figures: pd.DataFrame) -> pd.DataFrame:
    """Return the figures under the names of the table's columns; of a component the report prints only what it has."""
    if COMPONENT not in table.levels:
        names = {_name(table.id, None, metric): metric for metric in table.metrics}
        return figures.assign(metric=figures.metric.map(names)).dropna(subset="metric")
    about = figures[["table", "system", "repetition", "trial", "value", "unit"]]
    parts = [
        about[figures.metric == _name(table.id, row[COMPONENT], metric)].assign(component=row[COMPONENT], metric=metric)
        for row in table.cells
        for metric in table.metrics
        if pd.notna(row[metric])
    ]
    return pd.concat(parts)


def with_outcomes(published: Published) -> Published:
    """Return the report with its levels that are outcomes as metrics of their tables."""
    tables = {
        id: replace(table, fields={name: _measured(name, field) for name, field in table.fields.items()})
        for id, table in published.tables.items()
    }
    return replace(published, tables=tables)


def _measured(name: str, field: Field) -> Field:
    return replace(field, role="metric") if name in OUTCOMES else field


def _name(table: str, component: str | None, metric: str) -> str:
    name = metric if component is None else f"{COMPONENTS[component]}_{metric}"
    return NAMES.get((table, metric)) or NAMES.get((table, name)) or name
