"""What the figures of a sync show of its samples."""

from __future__ import annotations

import pandas as pd

# A row per line of a figure: the figure's file, the panel with its unit, the line, and the sampled metric.
INDICATORS = pd.DataFrame(
    [
        ("sync-lag", "rows behind (rows)", "rows", "lag", "rows"),
        ("sync-lag", "seconds behind (s)", "seconds", "lag", "seconds"),
        ("sync-throughput", "per second (1/s)", "MySQL: transactions", "sysbench", "tps"),
        ("sync-throughput", "per second (1/s)", "DM: row jobs", "dm", "job_tps"),
        ("sync-throughput", "per second (1/s)", "TiDB: statements", "tidb", "qps"),
        ("sync-throughput", "per second (1/s)", "TiDB: transactions", "tidb", "tps"),
        ("sync-dm", "events and jobs (1/s)", "binlog events", "dm", "events_qps"),
        ("sync-dm", "events and jobs (1/s)", "row jobs", "dm", "job_tps"),
        ("sync-dm", "relay log written (B/s)", "relay log written", "dm", "relay_bytes"),
        ("sync-dm", "90% of DM's transactions (ms)", "90% of DM's transactions", "dm", "txn_p90_ms"),
        ("sync-tidb", "explicit commits (1/s)", "explicit commits", "tidb", "tps"),
        ("sync-tidb", "95% of explicit commits (ms)", "95% of explicit commits", "tidb", "txn_p95_ms"),
        *(
            ("sync-tidb", "statements by type (1/s)", name, "tidb", f"qps.{name}")
            for name in ("Begin", "Insert", "Replace", "Update", "Delete")
        ),
        *(("sync-tidb", "query duration (ms)", f"{q}%", "tidb", f"p{q}_ms") for q in (80, 95, 99)),
    ],
    columns=["figure", "panel", "line", "source", "metric"],
)
