"""What was scraped while DM worked -> the reports' columns, and the series of the figures. Pure: no host, no server.

A rate is growth over the seconds from the load's begin to the end of the growth, so that catching up counts and idling
does not. What TiDB executes of the row jobs is divided by their seconds, so that a statement for each job is one, and
the last of a load before is no rate of a tenth of a second. Durations are from histograms: what the reports call
transaction time is a panel of quantiles, the lowest of which is the 90th; it is taken here as well, and the mean stands
beside it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from benchbook.campaign.record import Quantity
from benchbook.probes import prometheus, samples

MIB = 2**20
# CPU time is in every scrape, and so tells of those that were without a series that came later (`prometheus`).
DM_MATCH = "dm_(relay|syncer|loader)_|process_cpu_seconds_total"
TIDB_MATCH = (
    "tidb_server_(query_total|handle_query_duration_seconds)|tidb_session_transaction_duration_seconds"
    "|tidb_executor_statement_total|process_cpu_seconds_total"
)
JOBS, ADDED = "dm_syncer_finished_jobs_total", "dm_syncer_added_jobs_total"
READ = "dm_syncer_binlog_transform_cost_count"
ROWS = {"type": ["insert", "update", "del"]}
EVENTS = {"type": ["write_rows", "update_rows", "delete_rows"]}
UPSTREAM = ("Com_insert", "Com_update", "Com_delete")
STATEMENTS = ("Begin", "Commit", "Insert", "Replace", "Update", "Delete")
EXPLICIT = {"txn_mode": "pessimistic", "type": "commit"}
PANEL = 0.9


def grown(frame: pd.DataFrame, metric: str, **labels: str | Sequence[str]) -> float:
    """Growth of a counter over the frame; 0 for one that was never scraped."""
    chosen = prometheus.where(frame, **labels)
    return prometheus.increase(chosen, metric) if prometheus.has(chosen, metric) else 0.0


def per_second(frame: pd.DataFrame, began: float, metric: str, **labels: str | Sequence[str]) -> float:
    """Growth per second of `seconds_of_growth`; 0 without growth."""
    seconds = seconds_of_growth(frame, began, metric, **labels)
    return grown(frame, metric, **labels) / seconds if seconds else 0.0


def seconds_of_growth(frame: pd.DataFrame, began: float, metric: str, **labels: str | Sequence[str]) -> float:
    """From `began` to where the last growth of a counter is taken to have ended (s); 0 without growth."""
    chosen = prometheus.where(frame, **labels)
    if not prometheus.has(chosen, metric):
        return 0.0
    rates = prometheus.rate(chosen, metric)
    until = float(rates.t[rates.value > 0].max())
    return _ended(rates[rates.t <= until], began) - began if until > began else 0.0


def _ended(rates: pd.DataFrame, began: float) -> float:
    """When growth ended in the last interval of `rates`: as soon as at the rate of the interval before, if not later.

    Work that is through somewhere between two scrapes would be divided by seconds of idling: half a second of three.
    """
    t, value = rates.t.to_numpy(), rates.value.to_numpy()
    if len(t) < 2 or t[-2] <= began or not value[-2] > 0:
        return float(t[-1])
    return float(t[-2] + (t[-1] - t[-2]) * min(1.0, value[-1] / value[-2]))


def quantile(frame: pd.DataFrame, metric: str, q: float, **labels: str | Sequence[str]) -> float:
    """Over the whole frame; NaN where nothing was observed."""
    chosen = prometheus.where(frame, **labels)
    if not prometheus.has(chosen, f"{metric}_bucket"):
        return math.nan
    return float(prometheus.histogram_quantile(chosen, metric, q).value.iloc[-1])


def mean(frame: pd.DataFrame, metric: str, **labels: str | Sequence[str]) -> float:
    chosen = prometheus.where(frame, **labels)
    if not prometheus.has(chosen, f"{metric}_sum"):
        return math.nan
    return prometheus.mean_from_histogram(chosen, metric)


def quantities(values: Mapping[str, tuple[float, str]]) -> dict[str, Quantity]:
    """Only what was measured: a figure without an observation is left out."""
    return {name: Quantity(value=v, unit=unit) for name, (v, unit) in values.items() if math.isfinite(v) and v >= 0}


def with_updates_once(dm: pd.DataFrame) -> pd.DataFrame:
    """The scrapes of dm-worker, in which an update is one job whatever DM made of it; its series is one for all queues.

    In its safe mode, the first 300 s of every sync, DM carries out an update as a DELETE and a REPLACE and counts both
    (syncer/dml.go of 1.0.7, genUpdateSQLs): jobs would be no rows, and a target far behind would have more of them than
    its upstream. How many updates so many jobs are is told by those that DM had added when it had read so many: an
    event of sysbench's updates is one row.
    """
    added, read, done = (
        _total(dm, metric, kind) for metric, kind in ((ADDED, "update"), (READ, "update_rows"), (JOBS, "update"))
    )
    if not added.any() or not read.any():
        return dm
    source, label = dm.source.iloc[0], (("type", "update"),)
    rows = [(t, source, JOBS, label, float(np.interp(jobs, added, read))) for t, jobs in done.items()]
    updates = pd.DataFrame(rows, columns=prometheus.COLUMNS)
    of_updates = dm.labels.map(lambda labels: ("type", "update") in labels)
    return pd.concat([dm[(dm.metric != JOBS) | ~of_updates], updates], ignore_index=True)


def _total(frame: pd.DataFrame, metric: str, kind: str) -> pd.Series[float]:
    """Return a counter of this type by the times of all scrapes, over all its series; 0 where it was not there yet."""
    mine = prometheus.where(frame[frame.metric == metric], type=kind)
    return mine.groupby("t").value.sum().reindex(np.unique(frame.t), fill_value=0.0)


# -- dump and load --------------------------------------------------------------------------------------------------


def of_full(
    dm: pd.DataFrame, tidb: pd.DataFrame, *, dump_s: float, load_s: float, load_bytes: int, rows_per_statement: float
) -> dict[str, Quantity]:
    """Columns of the dump and load tables. MB are the reports' (2**20 bytes); bytes are those of the data files."""
    load, commit = "dm_loader_txn_duration_time", "tidb_session_transaction_duration_seconds"
    # DM drops its own histogram the moment a load ends; TiDB's, of the same transactions, outlives a short load.
    own = quantile(dm, load, PANEL)
    txn, txn_mean = (
        (own, mean(dm, load))
        if math.isfinite(own)
        else (quantile(tidb, commit, PANEL, **EXPLICIT), mean(tidb, commit, **EXPLICIT))
    )
    return quantities(
        {
            "dump_time_s": (dump_s, "s"),
            "dump_mb_s": (load_bytes / MIB / dump_s if dump_s else math.nan, "MB/s"),
            "load_time_s": (load_s, "s"),
            "load_mb_s": (load_bytes / MIB / load_s if load_s else math.nan, "MB/s"),
            "data_gb": (load_bytes / 2**30, "GB"),
            "rows_per_statement": (rows_per_statement, "rows"),
            "txn_time_s": (txn, "s"),
            "txn_mean_s": (txn_mean, "s"),
            "tidb_p99_s": (quantile(tidb, "tidb_server_handle_query_duration_seconds", 0.99), "s"),
        }
    )


# -- sync -----------------------------------------------------------------------------------------------------------


def of_sync(
    dm: pd.DataFrame, tidb: pd.DataFrame, sysbench: Mapping[str, float], lag: pd.DataFrame, began: float, ended: float
) -> dict[str, Quantity]:
    """Columns of the sync tables; the load ran from `began` to `ended` (s since the epoch)."""
    seconds = seconds_of_growth(dm, began, JOBS, **ROWS)
    return quantities(
        {
            "mysql_qps": (sysbench["qps"], "1/s"),
            "mysql_tps": (sysbench["tps"], "1/s"),
            "mysql_p95_ms": (sysbench["p95_ms"], "ms"),
            "mysql_events": (sysbench["events"], "1"),
            "mysql_errors": (sysbench["ignored_errors"], "1"),
            "catch_up_s": (max(0.0, began + seconds - ended), "s"),
            "lag_max_rows": (float(lag["rows"].max()), "rows"),
            "lag_max_s": (float(lag["seconds"].max()), "s"),
            **_of_dm(dm, began),
            **_of_tidb(tidb, began, seconds),
        }
    )


def _of_dm(dm: pd.DataFrame, began: float) -> dict[str, tuple[float, str]]:
    txn, read = "dm_syncer_txn_duration_time", "dm_relay_read_binlog_duration"
    return {
        "relay_mb_s": (per_second(dm, began, "dm_relay_write_size_sum") / MIB, "MB/s"),
        "relay_p95_ms": (1000 * quantile(dm, read, 0.95), "ms"),
        "dm_qps": (per_second(dm, began, READ, **EVENTS), "1/s"),
        "dm_p95_ms": (1000 * quantile(dm, txn, 0.95), "ms"),
        "job_tps": (per_second(dm, began, JOBS, **ROWS), "1/s"),
        "jobs": (grown(dm, JOBS, **ROWS), "rows"),
        "txn_time_ms": (1000 * quantile(dm, txn, PANEL), "ms"),
        "txn_mean_ms": (1000 * mean(dm, txn), "ms"),
    }


def _of_tidb(tidb: pd.DataFrame, began: float, seconds: float) -> dict[str, tuple[float, str]]:
    """Statements by type and transactions over the `seconds` of the jobs; all queries until they end themselves."""

    def rate(metric: str, **labels: str) -> tuple[float, str]:
        return (grown(tidb, metric, **labels) / seconds if seconds else 0.0), "1/s"

    duration, by_type = "tidb_server_handle_query_duration_seconds", "tidb_executor_statement_total"
    types = {f"tidb_qps_{t.lower()}": rate(by_type, type=t) for t in STATEMENTS}
    commits = "tidb_session_transaction_duration_seconds_count"
    return {
        **types,
        "tidb_qps": (per_second(tidb, began, "tidb_server_query_total", result="OK"), "1/s"),
        "tidb_qps_begin_commit": types["tidb_qps_begin"],
        "tidb_tps": rate(commits, **EXPLICIT),
        "tidb_p95_ms": (1000 * quantile(tidb, duration, 0.95), "ms"),
        "tidb_p99_ms": (1000 * quantile(tidb, duration, 0.99), "ms"),
    }


# -- series ---------------------------------------------------------------------------------------------------------


def lag(dm: pd.DataFrame, mysql: pd.DataFrame, began: float) -> pd.DataFrame:
    """Return how far the target is behind: [t, rows, seconds], at the scrapes of dm-worker.

    `mysql` is the upstream's part of the long table, `began` when its load did (s since the epoch). In rows: changed
    upstream and not yet applied. In seconds: since the upstream had as many rows changed as the target has now; 0 once
    all are applied.
    """
    jobs = prometheus.where(dm, **ROWS)
    if not prometheus.has(jobs, JOBS):
        return pd.DataFrame({"t": [], "rows": [], "seconds": []}, dtype="float64")
    there, changed = _since(began, *_upstream(mysql))
    applied = prometheus.rate(jobs, JOBS)
    t = applied.t.to_numpy()
    done = (applied.value * np.diff(t, prepend=float(dm.t.min()))).cumsum().to_numpy()
    behind = np.maximum(0.0, np.interp(t, there, changed) - done)
    since = t - np.interp(done, *_rising(changed, there))
    return pd.DataFrame({"t": t, "rows": behind, "seconds": np.where(behind < 0.5, 0.0, np.maximum(0.0, since))})


def _upstream(mysql: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Times, and rows changed until then, from the rates of the upstream's counters."""
    rates = mysql[mysql.metric.isin(UPSTREAM)].groupby("t").value.sum()
    t = rates.index.to_numpy(dtype=float)
    if not len(t):
        return np.array([0.0]), np.array([0.0])
    steps = np.diff(t, prepend=t[0] - (float(np.median(np.diff(t))) if len(t) > 1 else 1.0))
    return np.concatenate([[t[0] - steps[0]], t]), np.concatenate([[0.0], (rates.to_numpy() * steps).cumsum()])


def committed(mysql: pd.DataFrame, rows: float) -> pd.DataFrame:
    """The upstream's rates without what it rolled back, which its counters hold: `rows` were applied when all was.

    A statement that met a deadlock, and those before it in its transaction, would be rows that the target lacks for
    ever. Of when they were nothing is known: they are taken to be spread over the load.
    """
    counted = float(_upstream(mysql)[1][-1])
    return mysql.assign(value=mysql.value * (rows / counted)) if counted > rows else mysql


def _since(began: float, there: np.ndarray, changed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same, where nothing changes before the load begins: what the sample around that moment saw came after it."""
    before = there <= began
    so_far = changed[before][-1] if before.any() else 0.0
    return (
        np.concatenate([there[before], [began], there[~before]]),
        np.concatenate([changed[before], [so_far], changed[~before]]),
    )


def _rising(values: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the last moment of each value: a target that has it lags since the first change after that."""
    keep = np.concatenate([np.diff(values) > 0, [True]])
    return values[keep], at[keep]


def to_series(dm: pd.DataFrame, tidb: pd.DataFrame, hosts: Mapping[str, str], window: float = 3.0) -> pd.DataFrame:
    """Rates and quantiles as rows of the long table; `hosts` maps "dm" and "tidb" to host names."""
    parts = [
        _rate(dm, "dm", "job_tps", JOBS, "1/s", **ROWS),
        _rate(dm, "dm", "events_qps", READ, "1/s", **EVENTS),
        _rate(dm, "dm", "relay_bytes", "dm_relay_write_size_sum", "B/s"),
        _quantile(dm, "dm", "txn_p90_ms", "dm_syncer_txn_duration_time", PANEL, window),
        _quantile(dm, "dm", "load_txn_p90_ms", "dm_loader_txn_duration_time", PANEL, window),
        _rate(tidb, "tidb", "qps", "tidb_server_query_total", "1/s", result="OK"),
        _rate(tidb, "tidb", "tps", "tidb_session_transaction_duration_seconds_count", "1/s", **EXPLICIT),
        *(_rate(tidb, "tidb", f"qps.{t}", "tidb_executor_statement_total", "1/s", type=t) for t in STATEMENTS),
        *(
            _quantile(tidb, "tidb", f"p{round(q * 100)}_ms", "tidb_server_handle_query_duration_seconds", q, window)
            for q in (0.8, 0.95, 0.99)
        ),
        _quantile(tidb, "tidb", "txn_p95_ms", "tidb_session_transaction_duration_seconds", 0.95, window, **EXPLICIT),
    ]
    rows = pd.concat([part for part in parts if len(part)] or [samples.empty()], ignore_index=True)
    return rows.assign(host=rows.source.map(dict(hosts)))[samples.COLUMNS]


def _rate(
    frame: pd.DataFrame, source: str, name: str, metric: str, unit: str, **labels: str | Sequence[str]
) -> pd.DataFrame:
    chosen = prometheus.where(frame, **labels)
    if not prometheus.has(chosen, metric):
        return pd.DataFrame()
    return prometheus.rate(chosen, metric).assign(source=source, metric=name, unit=unit)


def _quantile(
    frame: pd.DataFrame, source: str, name: str, metric: str, q: float, window: float, **labels: str | Sequence[str]
) -> pd.DataFrame:
    chosen = prometheus.where(frame, **labels)
    if not prometheus.has(chosen, f"{metric}_bucket"):
        return pd.DataFrame()
    found = prometheus.histogram_quantile(chosen, metric, q, window=window).dropna(subset="value")
    return found.assign(value=1000 * found.value, source=source, metric=name, unit="ms")


def lag_series(found: pd.DataFrame, host: str) -> pd.DataFrame:
    """Return the lag as rows of the long table."""
    units = {"rows": "rows", "seconds": "s"}
    parts = [found[["t"]].assign(value=found[n], host=host, source="lag", metric=n, unit=u) for n, u in units.items()]
    return pd.concat(parts, ignore_index=True)[samples.COLUMNS]
