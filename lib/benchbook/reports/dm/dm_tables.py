"""DM's records beside the published tables: each printed cell with its measured counterpart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pandas as pd

from benchbook.analysis.measured import over_repetitions
from benchbook.analysis.results import Row, Table
from benchbook.campaign.design import Levels
from benchbook.campaign.record import Record
from benchbook.grouping import grouped
from benchbook.published.tables import Published, PublishedTable

# Components of one run are the rows of a table: the figures of each are in the record under this word.
COMPONENTS = {
    "MySQL": "mysql",
    "DM": "dm",
    "DM relay log unit": "relay",
    "DM binlog replication unit": "dm",
    "TiDB": "tidb",
}
# What stands under "system" where nothing is planned; older records name DM itself there, and not its upstream.
NOT_MEASURED = "dm"
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


def tables(published: Published, records: Sequence[Record], planned: Collection[str] = ()) -> list[Table]:
    """The published tables in long form, measured beside published; then what the report lacks.

    `planned` are the systems of a campaign: a table without a record has rows for each of them.
    """
    return [*(_table(table, records, planned) for table in published.tables.values()), *beyond(records)]


def _table(table: PublishedTable, records: Sequence[Record], planned: Collection[str]) -> Table:
    by_system = grouped((r for r in records if r.table == table.id), lambda r: r.system)
    # A report is shown beside what was published even before anything was measured, or planned.
    by_system = by_system or {system: [] for system in planned or (NOT_MEASURED,)}
    rows = [
        row
        for system, mine in sorted(by_system.items())
        for levels, index in _lines(table, mine)
        for row in _rows(table, system, levels, index, mine)
    ]
    levels = [name for name in table.levels if name not in OUTCOMES]
    columns = ["system", *levels, "metric", "unit", "published", "measured"]
    return Table(id=table.id, title=table.title, columns=columns, rows=rows)


def _lines(table: PublishedTable, records: Sequence[Record]) -> list[tuple[Levels, int | None]]:
    """Levels of each printed line with its number; then of those that only the run has."""
    names = [name for name in table.levels if name not in OUTCOMES]
    printed = table.frame[names].to_dict("records")
    lines: list[tuple[Levels, int | None]] = [
        ({str(name): _plain(value) for name, value in line.items() if pd.notna(value)}, index)
        for index, line in enumerate(printed)
    ]
    if "component" in names:
        return lines
    for record in records:
        levels = {name: record.levels[name] for name in names if name in record.levels}
        if all(levels != known for known, _ in lines):
            lines.append((levels, None))
    return lines


def _component(levels: Levels) -> str | None:
    return str(levels["component"]) if "component" in levels else None


def _plain(value: Any) -> str | int | float:
    return value if isinstance(value, str) else int(value)


def _rows(
    table: PublishedTable, system: str, levels: Levels, index: int | None, records: Sequence[Record]
) -> Iterable[Row]:
    known = () if "component" in levels else tuple(levels.items())
    mine = [r for r in records if all(r.levels.get(name) == value for name, value in known)]
    outcomes = [name for name in OUTCOMES if name in table.levels]
    for metric in (*table.metrics, *outcomes):
        cell: Any = None if index is None else table.frame.at[index, metric]
        published = None if cell is None or pd.isna(cell) else float(cell)
        found = over_repetitions(mine, _name(table.id, _component(levels), metric))
        if published is None and "component" in levels:
            continue  # of a component the report prints only what it has
        yield Row.model_validate(
            {
                "system": system,
                **levels,
                "metric": metric,
                "unit": table.fields[metric].unit,
                "published": published,
                "measured": found,
            }
        )


def _name(table: str, component: str | None, metric: str) -> str:
    name = metric if component is None else f"{COMPONENTS[component]}_{metric}"
    return NAMES.get((table, metric)) or NAMES.get((table, name)) or name


# What the reports have no column for, of every sync.
BEYOND = (
    "catch_up_s",
    "lag_max_rows",
    "lag_max_s",
    "jobs",
    "txn_mean_ms",
    "tidb_qps_insert",
    "tidb_qps_replace",
    "tidb_qps_update",
    "tidb_qps_delete",
)


def beyond(records: Sequence[Record]) -> list[Table]:
    """Lag, catch-up and statements by type of every sync, by its table and levels; none without a sync."""
    ordered = sorted(records, key=lambda r: (r.table, int(r.levels.get("worker_count", 0))))
    groups = grouped(
        (r for r in ordered if "catch_up_s" in r.summary), lambda r: (r.system, r.table, *r.levels.items())
    )
    rows = [
        Row.model_validate(
            {
                "system": mine[0].system,
                "table": mine[0].table,
                **mine[0].levels,
                "metric": name,
                "unit": mine[0].summary[name].unit,
                "published": None,
                "measured": over_repetitions(mine, name),
            }
        )
        for mine in groups.values()
        for name in BEYOND
        if name in mine[0].summary
    ]
    columns = ["system", "table", "workload", "worker_count", "metric", "unit", "published", "measured"]
    return [Table(id="lag", title="Replication lag and catch-up", columns=columns, rows=rows)] if rows else []
