"""What only the DM reports' notebooks show.

Functions of what was recorded; each returns a table or a figure for one cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
from IPython.display import HTML

from benchbook.analysis import formatting, points
from benchbook.analysis.recorded import Recorded
from benchbook.analysis.results import Table
from benchbook.campaign.record import Record
from benchbook.display import show
from benchbook.grouping import grouped
from benchbook.plots import curves as level_curves
from benchbook.plots import picture, timelines
from benchbook.reports.dm.task import SYNC

# (source, metric): what a line is called. Every panel has one unit.
THROUGHPUT = {
    ("sysbench", "tps"): "MySQL: transactions",
    ("dm", "job_tps"): "DM: row jobs",
    ("tidb", "qps"): "TiDB: statements",
    ("tidb", "tps"): "TiDB: transactions",
}
INDICATORS = {
    "events and jobs (1/s)": {("dm", "events_qps"): "binlog events", ("dm", "job_tps"): "row jobs"},
    "relay log written (B/s)": {("dm", "relay_bytes"): "relay log written"},
    "90% of DM's transactions (ms)": {("dm", "txn_p90_ms"): "90% of DM's transactions"},
}
TIDB = {
    "explicit commits (1/s)": {("tidb", "tps"): "explicit commits"},
    "95% of explicit commits (ms)": {("tidb", "txn_p95_ms"): "95% of explicit commits"},
    "statements by type (1/s)": {
        ("tidb", f"qps.{name}"): name for name in ("Begin", "Insert", "Replace", "Update", "Delete")
    },
    "query duration (ms)": {("tidb", f"p{q}_ms"): f"{q}%" for q in (80, 95, 99)},
}
MEASURED = "DM, measured"
NOTHING = "No sync was measured in this campaign."


def proofs(report: Recorded) -> HTML:
    """Per published table: trials, tables and rows compared, chunks, differences."""
    rows = [_proof(table, mine) for table, mine in _by_table(report.records)]
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


def _by_table(records: Iterable[Record]) -> list[tuple[str, list[Record]]]:
    return list(grouped(records, lambda record: record.table).items())


# -- series ---------------------------------------------------------------------------------------------------------


def syncs(report: Recorded) -> list[Record]:
    """The syncs of the first repetition that has any: the figures show one of each, the records have all."""
    mine = [r for r in report.records if r.table in SYNC]
    first = min((r.repetition for r in mine), default=0)
    return sorted((r for r in mine if r.repetition == first), key=_order)


def _order(record: Record) -> tuple[int, int, str, str]:
    workers, workload = int(record.levels.get("worker_count", 0)), str(record.levels.get("workload"))
    return SYNC.index(record.table), workers, workload, record.system


def label(record: Record) -> str:
    """What tells this trial from the others of its table."""
    words = {
        "sync_worker_count": f"{record.levels.get('worker_count')} workers",
        "sync_distribution": str(record.levels.get("statement_type")),
    }
    return words.get(
        record.table, f"{record.levels.get('threads')} threads, {record.levels.get('worker_count')} workers"
    )


def _labels(records: Sequence[Record]) -> dict[str, str]:
    """The label of each trial, by its id; with its system where there are several."""
    several = len({record.system for record in records}) > 1
    return {record.id: f"{record.system}: {label(record)}" if several else label(record) for record in records}


def lag(report: Recorded) -> HTML:
    """Lag in rows and in seconds, two panels per sync, with the end of the upstream load marked."""
    rows = {"rows behind": {("lag", "rows"): "rows"}, "seconds behind": {("lag", "seconds"): "seconds"}}
    caption = "Lag of the target, and its catch-up after the load's end (line)"
    return _panels(report, rows, "lag", "replication lag", caption)


def lag_table(report: Recorded) -> HTML:
    """The largest lag and the time to catch up, of every sync, mean over repetitions with intervals."""
    found = next((table for table in report.tables() if table.id == "lag"), None)
    if found is None:
        return show.paragraph(NOTHING)
    return show.table(_wide(found), "Lag and catch-up of every sync, mean [95% interval over repetitions]")


def _wide(table: Table) -> list[dict[str, Any]]:
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in table.rows:
        extra = row.model_extra or {}
        about = {
            "system": extra["system"],
            "table": extra["table"],
            "workload": extra["workload"],
            "worker-count": extra["worker_count"],
        }
        line = lines.setdefault(tuple(extra.values()), about)
        line[f"{row.metric} ({row.unit})"] = formatting.with_interval(row.measured)
    return list(lines.values())


def throughput(report: Recorded) -> HTML:
    """Upstream, DM and TiDB on one time axis, a panel per sync."""
    caption = "Throughput of MySQL, DM and TiDB on one time axis; the line is the end of the upstream load"
    return _panels(report, {"per second": THROUGHPUT}, "throughput", "throughput", caption)


def indicators(report: Recorded) -> HTML:
    """DM's key indicators, which the report shows as a screenshot."""
    return _panels(report, INDICATORS, "dm", "DM's key indicators", "DM's key indicators in every sync")


def tidb(report: Recorded) -> HTML:
    """TiDB's transactions, durations and statements, which the report shows as screenshots."""
    return _panels(report, TIDB, "tidb", "TiDB's key indicators", "TiDB in every sync")


def _panels(report: Recorded, rows: dict[str, dict[tuple[str, str], str]], name: str, what: str, caption: str) -> HTML:
    records = syncs(report)
    if not records:
        return show.paragraph(NOTHING)
    called = _labels(records)
    series = {called[record.id]: _since_begin(report.campaign.series(record.id), record) for record in records}
    ends = {called[record.id]: _load_s(record, series[called[record.id]]) for record in records}
    lines = [_line(trial, part, *at) for trial, part in series.items() for at in _lines(rows)]
    figure = timelines.watched(pd.concat(lines, ignore_index=True), ends=ends, since="the upstream load")
    said = "; ".join(_in_words(trial, part, next(iter(rows.values()))) for trial, part in series.items())
    alt = f"{what} over time, a block of panels per sync. {said}."
    return picture.show(figure, alt, f"{caption}.", save_as=report.figure_file(f"sync-{name}"))


def _lines(rows: dict[str, dict[tuple[str, str], str]]) -> list[tuple[str, tuple[str, str], str]]:
    return [(panel, key, name) for panel, lines in rows.items() for key, name in lines.items()]


def _line(trial: str, series: pd.DataFrame, panel: str, key: tuple[str, str], name: str) -> pd.DataFrame:
    """[trial, panel, line, t, value] of one metric; without samples one row that draws nothing and keeps the panel."""
    found = _of(series, key)[["t", "value"]]
    kept = found if len(found) else pd.DataFrame({"t": [0.0], "value": [float("nan")]})
    return kept.assign(trial=trial, panel=panel, line=name)


def _since_begin(series: pd.DataFrame, record: Record) -> pd.DataFrame:
    """A trial's series, t in seconds since the load began, up to its end."""
    inside = series[(series.t >= record.started - 1) & (series.t <= record.ended)]
    return inside.assign(t=inside.t - record.started).sort_values("t")


def _of(series: pd.DataFrame, key: tuple[str, str]) -> pd.DataFrame:
    return series[(series.source == key[0]) & (series.metric == key[1])]


def _load_s(record: Record, series: pd.DataFrame) -> float:
    """How long the upstream load lasted: to sysbench's last interval."""
    part = _of(series, ("sysbench", "tps"))
    return float(part.t.max()) if len(part) else float(record.asked["time_s"])


def _in_words(trial: str, series: pd.DataFrame, lines: dict[tuple[str, str], str]) -> str:
    parts = [(name, _of(series, key).value) for key, name in lines.items()]
    tops = ", ".join(f"{name} up to {formatting.number(float(v.max()))}" for name, v in parts if len(v))
    return f"{trial}: {tops or 'no samples'}"


# -- curves ---------------------------------------------------------------------------------------------------------


def curves(report: Recorded, table: str, *, x: str, metrics: Sequence[str]) -> HTML:
    """Published and measured metrics of one table against a level, a panel per metric, log scales."""
    found = next(part for part in report.tables() if part.id == table)
    one = len({record.system for record in report.records}) <= 1
    who = MEASURED if one else ""
    parts = {_title(report, table, m): points.of_metric([found], m, [x], measured=who) for m in metrics}
    frame = pd.concat([part.assign(metric=title) for title, part in parts.items()], ignore_index=True)
    # A log scale has no place for a zero.
    frame = frame[frame.value > 0]
    if not (frame.who != "published").any():
        return show.paragraph("This table was not measured in this campaign.")
    figure = level_curves.curves(frame, panel="metric", x=x, metric_label="", x_label=x)
    caption = (
        f"{found.title}. Dashed: published. Solid: measured, mean with 95% interval over repetitions (none with one). "
        "Other hardware and an embedded store: compare shapes."
    )
    alt = f"Against {x}. {level_curves.points_in_words(frame, 'metric', x)}."
    return picture.show(figure, alt, caption, save_as=report.figure_file(f"{table}-{x}"))


def _title(report: Recorded, table: str, metric: str) -> str:
    about = report.published.table(table).fields[metric]
    return f"{about.title} ({about.unit})"
