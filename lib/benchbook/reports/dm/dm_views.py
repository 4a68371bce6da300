"""What only the DM reports' notebooks show.

Functions of what was recorded; each returns a table, or a frame for a figure, for one cell.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from IPython.display import HTML

from benchbook.analysis import formatting
from benchbook.analysis.recorded import Recorded
from benchbook.analysis.trials import over_repetitions
from benchbook.campaign.record import Record
from benchbook.display import show
from benchbook.grouping import grouped
from benchbook.reports.dm.task import LADDER, ROWS, STATEMENT_SIZE, SYNC

# By panel, (source, metric): what a line is called. Every panel has one unit.
Panels = dict[str, dict[tuple[str, str], str]]


@dataclass(frozen=True)
class SyncView:
    """What `watched` shows: a name for it, and its panels."""

    about: str
    panels: Panels


LAG = SyncView(
    "Replication lag",
    {"rows behind": {("lag", "rows"): "rows"}, "seconds behind": {("lag", "seconds"): "seconds"}},
)
THROUGHPUT = SyncView(
    "Throughput of MySQL, DM and TiDB",
    {
        "per second": {
            ("sysbench", "tps"): "MySQL: transactions",
            ("dm", "job_tps"): "DM: row jobs",
            ("tidb", "qps"): "TiDB: statements",
            ("tidb", "tps"): "TiDB: transactions",
        }
    },
)
INDICATORS = SyncView(
    "DM's key indicators",
    {
        "events and jobs (1/s)": {("dm", "events_qps"): "binlog events", ("dm", "job_tps"): "row jobs"},
        "relay log written (B/s)": {("dm", "relay_bytes"): "relay log written"},
        "90% of DM's transactions (ms)": {("dm", "txn_p90_ms"): "90% of DM's transactions"},
    },
)
TIDB = SyncView(
    "TiDB's key indicators",
    {
        "explicit commits (1/s)": {("tidb", "tps"): "explicit commits"},
        "95% of explicit commits (ms)": {("tidb", "txn_p95_ms"): "95% of explicit commits"},
        "statements by type (1/s)": {
            ("tidb", f"qps.{name}"): name for name in ("Begin", "Insert", "Replace", "Update", "Delete")
        },
        "query duration (ms)": {("tidb", f"p{q}_ms"): f"{q}%" for q in (80, 95, 99)},
    },
)
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
NOTHING = "No sync was measured in this campaign."


def beside(report: Recorded) -> HTML:
    """Each published table beside what was measured, below what the profile asked for that the report did not."""
    said = asked_otherwise(report.campaign.asked, {trial.cell.table for trial in report.campaign.trials})
    return show.stack([*map(show.paragraph, said), show.beside(report.beside(), report.published)])


def asked_otherwise(asked: Mapping[str, Any], tables: Collection[str]) -> list[str]:
    """A sentence each where an upstream was held to a rate, and where dumps were cut otherwise than the report's."""
    rate, ladder = asked.get("rate") or 0, asked.get("ladder_rate") or 0
    said = []
    if rate or (ladder and LADDER in tables):
        where = "In every sync" if rate else "Where worker-counts are compared"
        held = f"the upstream was held to {rate or ladder:,} transactions/s"
        said.append(f"{where} {held}: jobs at that rate are what DM was asked for, and not all that it can do.")
    rows, size = asked.get("split_rows") or ROWS, asked.get("statement_size") or STATEMENT_SIZE
    if (rows, size) != (ROWS, STATEMENT_SIZE) and any(table not in SYNC for table in tables):
        cut = (
            f"chunks of {rows:,} rows and statements of {size:,} bytes ({ROWS:,} and {STATEMENT_SIZE:,} in the report)"
        )
        said.append(
            f"Dumps are cut into {cut}, where a table does not vary them: small tables have few as large as those."
        )
    return said


def proofs(report: Recorded) -> HTML:
    """Per published table: trials, tables and rows compared, chunks, differences."""
    by_table = grouped(report.records, lambda record: record.table)
    rows = [_proof(table, mine) for table, mine in by_table.items()]
    return (
        show.table(rows, "Source against target after every trial") if rows else show.paragraph("Nothing was proved.")
    )


def _proof(table: str, records: Sequence[Record]) -> dict[str, Any]:
    tables = [each for record in records for each in record.proof["tables"]]
    return {
        "table": table,
        "trials": len(records),
        "tables compared": len(tables),
        "rows at the source": f"{sum(t['source_rows'] for t in tables):,}",
        "rows at the target": f"{sum(t['target_rows'] for t in tables):,}",
        "chunks": sum(t["chunks"] for t in tables),
        "differences": sum(len(t["differences"]) for t in tables),
    }


# -- series ---------------------------------------------------------------------------------------------------------


def syncs(report: Recorded) -> list[Record]:
    """The syncs of the first repetition that has any: the figures show one of each, the records have all."""

    def order(record: Record) -> tuple[int, int, str, str]:
        workers, workload = int(record.levels.get("worker_count", 0)), str(record.levels.get("workload"))
        return SYNC.index(record.table), workers, workload, record.system

    mine = [r for r in report.records if r.table in SYNC]
    first = min((r.repetition for r in mine), default=0)
    return sorted((r for r in mine if r.repetition == first), key=order)


def label(record: Record) -> str:
    """What tells this trial from the others of its table."""
    words = {
        "sync_worker_count": f"{record.levels.get('worker_count')} workers",
        "sync_distribution": str(record.levels.get("statement_type")),
    }
    return words.get(
        record.table, f"{record.levels.get('threads')} threads, {record.levels.get('worker_count')} workers"
    )


def lag_table(report: Recorded) -> HTML:
    """The largest lag and the time to catch up, of every sync, mean over repetitions with intervals."""
    records = [record for record in report.records if "catch_up_s" in record.summary]
    records.sort(key=lambda record: (record.table, int(record.levels.get("worker_count", 0))))
    groups = grouped(records, lambda record: (record.system, record.table, *record.levels.items())).values()
    if not groups:
        return show.paragraph(NOTHING)
    rows = [
        {
            **{"system": mine[0].system, "table": mine[0].table, "workload": mine[0].levels["workload"]},
            "worker-count": mine[0].levels["worker_count"],
            **{
                f"{metric} ({mine[0].summary[metric].unit})": formatting.with_interval(over_repetitions(mine, metric))
                for metric in BEYOND
                if metric in mine[0].summary
            },
        }
        for mine in groups
    ]
    return show.table(rows, "Lag and catch-up of every sync, mean [95% interval over repetitions]")


def watched(report: Recorded, view: SyncView) -> pd.DataFrame:
    """What a view shows of the syncs: [trial, panel, line, t (s since the upstream load began), value].

    `attrs["ends"]`: when the upstream load of each trial ended (s); `attrs["shown"]`: which of them, where there are
    others. Empty where no sync was measured.
    """
    records = syncs(report)
    several = len({record.system for record in records}) > 1
    parts = [pd.DataFrame(columns=["trial", "panel", "line", "t", "value"])] if not records else []
    ends = {}
    for record in records:
        trial = f"{record.system}: {label(record)}" if several else label(record)
        series = report.campaign.series(record.id)
        inside = series[(series.t >= record.started - 1) & (series.t <= record.ended)]
        inside = inside.assign(t=inside.t - record.started).sort_values("t")
        load = inside[(inside.source == "sysbench") & (inside.metric == "tps")]
        ends[trial] = float(load.t.max()) if len(load) else float(record.asked["time_s"])
        for panel, lines in view.panels.items():
            for (source, metric), line in lines.items():
                found = inside[(inside.source == source) & (inside.metric == metric)][["t", "value"]]
                # One row without a value draws nothing, and keeps the panel.
                kept = found if len(found) else pd.DataFrame({"t": [0.0], "value": [float("nan")]})
                parts.append(kept.assign(trial=trial, panel=panel, line=line))
    frame = pd.concat(parts, ignore_index=True)
    frame.attrs |= {"about": view.about if records else NOTHING, "since": "the upstream load", "ends": ends}
    if len(records) < sum(record.table in SYNC for record in report.records):
        frame.attrs["shown"] = f"Shown is repetition {records[0].repetition} of each sync."
    return frame
