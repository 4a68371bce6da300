"""Records with known figures, for tests of what is made of them."""

from __future__ import annotations

from typing import Any

from benchbook.campaign.record import Failure, Quantity, Record

SUMMARY = {
    "tps": Quantity(value=2000, unit="1/s"), "p95_ms": Quantity(value=6, unit="ms"),
    "latency_mean_ms": Quantity(value=4, unit="ms"), "latency_max_ms": Quantity(value=100, unit="ms"),
    "total_time_s": Quantity(value=10, unit="s"), "events": Quantity(value=20000, unit="1"),
    "ignored_errors": Quantity(value=0, unit="1"), "reconnects": Quantity(value=0, unit="1"),
}  # fmt: skip


def record(name: str = "r01-tidb-a-threads8", **changes: Any) -> Record:
    """A done record: 8 threads for 10 s at 2000 transactions/s and 4 ms each."""
    known = {
        "id": name, "identity": "0" * 12, "status": "done", "report": "r", "campaign": "c", "table": "oltp_insert",
        "system": "tidb", "levels": {"workload": "oltp_insert", "threads": 8}, "repetition": 1, "order": 0,
        "asked": {"time_s": 10, "rate": 0}, "client": "executor", "started": 1000.0, "ended": 1010.0,
        "summary": SUMMARY, "histogram": [(1.5, 10)],
    }  # fmt: skip
    return Record.model_validate({**known, **changes})


def failed(name: str = "r01-tidb-a-threads8", **changes: Any) -> Record:
    why = Failure(kind="WorkloadFailed", message="sysbench: FATAL", tail=["FATAL"])
    return record(name, **{"status": "failed", "summary": {}, "ended": 0, "started": 0, "failure": why, **changes})


def with_values(**values: float) -> dict[str, Quantity]:
    return {**SUMMARY, **{name: SUMMARY[name].model_copy(update={"value": value}) for name, value in values.items()}}
