"""What only the DM reports' notebooks show.

Functions of what was recorded; each returns a table or a figure for one cell.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd
from IPython.display import HTML
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from benchbook.analysis import formatting
from benchbook.analysis.recorded import Recorded
from benchbook.analysis.results import Table
from benchbook.campaign.record import Record
from benchbook.display import show
from benchbook.plots import panels
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
    "relay log (B/s)": {("dm", "relay_bytes"): "relay log written"},
    "transaction time (ms)": {("dm", "txn_p90_ms"): "90% of DM's transactions"},
}
TIDB = {
    "transactions (1/s)": {("tidb", "tps"): "explicit commits"},
    "transaction duration (ms)": {("tidb", "txn_p95_ms"): "95% of explicit commits"},
    "statements by type (1/s)": {
        ("tidb", f"qps.{name}"): name for name in ("Begin", "Insert", "Replace", "Update", "Delete")
    },
    "query duration (ms)": {("tidb", f"p{q}_ms"): f"{q}%" for q in (80, 95, 99)},
}
NOTHING = "No sync was measured in this campaign."


def proofs(report: Recorded) -> HTML:
    """Per published table: trials, tables and rows compared, chunks, differences."""
    rows = [_proof(table, mine) for table, mine in _by_table(report.records)]
    return (
        show.table(rows, "Source against target after every trial") if rows else show.paragraph("Nothing was proved.")
    )


def _proof(table: str, records: Sequence[Record]) -> dict[str, object]:
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
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record.table, []).append(record)
    return list(found.items())


# -- series ---------------------------------------------------------------------------------------------------------


def syncs(report: Recorded) -> list[Record]:
    """The syncs of the first repetition that has any: the figures show one of each, the records have all."""
    mine = [r for r in report.records if r.table in SYNC]
    first = min((r.repetition for r in mine), default=0)
    return sorted((r for r in mine if r.repetition == first), key=_order)


def _order(record: Record) -> tuple[int, int, str]:
    return SYNC.index(record.table), int(record.levels.get("worker_count", 0)), str(record.levels.get("workload"))


def label(record: Record) -> str:
    """What tells this trial from the others of its table."""
    words = {
        "sync_worker_count": f"{record.levels.get('worker_count')} workers",
        "sync_distribution": str(record.levels.get("statement_type")),
    }
    return words.get(
        record.table, f"{record.levels.get('threads')} threads, {record.levels.get('worker_count')} workers"
    )


def lag(report: Recorded) -> HTML:
    """Lag in rows and in seconds, a row of panels per sync, with the end of the upstream load marked."""
    rows = {"rows behind": {("lag", "rows"): "rows"}, "seconds behind": {("lag", "seconds"): "seconds"}}
    caption = "Lag of the target, and its catch-up after the load's end (line)"
    return _panels(report, rows, "lag", "replication lag", caption)


def lag_table(report: Recorded) -> HTML:
    """The largest lag and the time to catch up, of every sync, mean over repetitions with intervals."""
    found = next((table for table in report.tables() if table.id == "lag"), None)
    if found is None:
        return show.paragraph(NOTHING)
    return show.table(_wide(found), "Lag and catch-up of every sync, mean [95% interval over repetitions]")


def _wide(table: Table) -> list[dict[str, object]]:
    lines: dict[tuple[Any, ...], dict[str, object]] = {}
    for row in table.rows:
        extra = row.model_extra or {}
        about = {"table": extra["table"], "workload": extra["workload"], "worker-count": extra["worker_count"]}
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
    figure, axes = panels.panels(len(rows) * len(records), columns=len(rows) if len(rows) > 1 else 2, height=1.9)
    words = []
    for index, record in enumerate(records):
        series = report.campaign.series(record.id)
        for at, (title, lines) in enumerate(rows.items()):
            axis = axes[index * len(rows) + at]
            _draw(axis, series, record, lines)
            axis.set_title(f"{label(record)}: {title}", fontsize=8)
        words.append(_in_words(series, record, next(iter(rows.values()))))
    _finish(figure, axes)
    alt = f"{what} over time, a row of panels per sync. {'; '.join(words)}."
    return panels.show(figure, alt, f"{caption}.", save_as=report.figure_file(f"sync-{name}"))


def _draw(axis: Axes, series: pd.DataFrame, record: Record, lines: dict[tuple[str, str], str]) -> None:
    for number, ((source, metric), name) in enumerate(lines.items()):
        part = _part(series, record, source, metric)
        look: dict[str, Any] = {
            "color": (*panels.COLOURS, panels.PUBLISHED)[number % 5],
            "marker": panels.MARKERS[number % 4],
        }
        axis.plot(part.t, part.value, label=name, markersize=3, linewidth=1, **look)
    axis.axvline(_load_s(record, series), color=panels.PUBLISHED, linewidth=0.8, linestyle=":")
    axis.set_ylim(bottom=0)
    axis.yaxis.set_major_formatter(EngFormatter(sep=""))
    axis.legend(frameon=False, fontsize=7)


def _part(series: pd.DataFrame, record: Record, source: str, metric: str) -> pd.DataFrame:
    """One metric of a trial, t in seconds since the load began."""
    mine = series[(series.source == source) & (series.metric == metric)]
    part = mine[(mine.t >= record.started - 1) & (mine.t <= record.ended)]
    return part.assign(t=part.t - record.started).sort_values("t")


def _load_s(record: Record, series: pd.DataFrame) -> float:
    """How long the upstream load lasted: to sysbench's last interval."""
    part = _part(series, record, "sysbench", "tps")
    return float(part.t.max()) if len(part) else float(record.asked["time_s"])


def _in_words(series: pd.DataFrame, record: Record, lines: dict[tuple[str, str], str]) -> str:
    parts = [(name, _part(series, record, *key).value) for key, name in lines.items()]
    tops = ", ".join(f"{name} up to {formatting.number(float(v.max()))}" for name, v in parts if len(v))
    return f"{label(record)}: {tops or 'no samples'}"


def _finish(figure: Figure, axes: Sequence[Axes]) -> None:
    for axis in axes:
        axis.set_xlim(left=0)
    figure.supxlabel("time since the upstream load began (s)", fontsize=9)


# -- curves ---------------------------------------------------------------------------------------------------------


def curves(report: Recorded, table: str, *, x: str, metrics: Sequence[str]) -> HTML:
    """Published and measured metrics of one table against a level, a panel per metric, log scales."""
    found = next(part for part in report.tables() if part.id == table)
    titles = {name: _title(report, table, name) for name in metrics}
    frame = pd.DataFrame([row for name in metrics for row in _points(found, name, titles[name], x)])
    if frame.empty or not (frame.who != "published").any():
        return show.paragraph("This table was not measured in this campaign.")
    figure = panels.curves(frame, panel="metric", x=x, metric_label="", x_label=x)
    for axis in figure.axes:
        axis.set_xscale("log", base=2)
        axis.set_xticks(sorted(set(frame[x])), labels=[_level(value) for value in sorted(set(frame[x]))], fontsize=7)
    caption = (
        f"{found.title}. Dashed: published. Solid: measured, mean with 95% interval over repetitions (none with one). "
        "Other hardware and an embedded store: compare shapes."
    )
    return panels.show(figure, _alt(frame, x), caption, save_as=report.figure_file(f"{table}-{x}"))


def _level(value: float) -> str:
    """1,024 as it is; 1500000 as 1.5M."""
    return f"{value:,.0f}" if value < 10_000 else str(EngFormatter(sep="")(value))


def _title(report: Recorded, table: str, metric: str) -> str:
    about = report.published.table(table).fields[metric]
    return f"{about.title} ({about.unit})"


def _points(table: Table, metric: str, title: str, x: str) -> Iterable[dict[str, object]]:
    for row in table.rows:
        if row.metric != metric:
            continue
        at = {"metric": title, x: (row.model_extra or {})[x]}
        if row.published:
            yield {**at, "who": "published", "value": row.published, "low": None, "high": None}
        if row.measured and row.measured.value > 0:
            m = row.measured
            yield {**at, "who": "DM, measured", "value": m.value, "low": m.low, "high": m.high}


def _alt(frame: pd.DataFrame, x: str) -> str:
    parts = []
    for (metric, who), line in frame.groupby(["metric", "who"], sort=False):
        points = line.sort_values(x).to_dict("records")
        values = ", ".join(f"{formatting.number(row['value'])} at {row[x]:g}" for row in points)
        parts.append(f"{metric}, {who}: {values}")
    return f"Against {x}. {'; '.join(parts)}."
