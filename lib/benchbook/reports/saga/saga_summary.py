"""What a saga trial comes to: its figures, and whether the books are in order. Pure functions of what was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchbook.campaign.record import Quantity
from benchbook.reports.saga.rungs import Rung
from benchbook.stats.latency import hdr_buckets, percentile
from benchbook.systems import mysql
from benchbook.systems.dtm import ENDS

PERCENTILES = (50, 95, 99)
# Statements by type, per global transaction.
BY_TYPE = {"Com_insert": "inserts", "Com_update": "updates", "Com_delete": "deletes", "Com_select": "selects"}


def ended(stats: Mapping[str, Any]) -> int:
    """Global transactions that came to an end, committed or rolled back."""
    return int(stats["global"]["committed"] + stats["global"]["rolled_back"])


def summarise(ab: Mapping[str, float], stats: Mapping[str, Any], counted: Mapping[str, int]) -> dict[str, Quantity]:
    """Return every figure of a trial with its unit.

    global_tps is ab's own count of answers; db_tps and ops are the server's counters over the same load, divided by
    the same seconds: commits that wrote something, and statements that read or changed rows.
    """
    seconds, whole = ab["total_time_s"], ended(stats)
    values = {
        "global_tps": ((ab["events"] - ab["non_2xx"]) / seconds, "1/s"),
        "db_tps": (counted[mysql.COMMITS] / seconds, "1/s"),
        "ops": (mysql.statements(counted) / seconds, "1/s"),
        "events": (float(whole), "1"),
        "total_time_s": (seconds, "s"),
        # The same requests, seen from both ends; one that was cut off on its way is known to one end only.
        "errors": (float(max(ab["non_2xx"], stats["global"]["failed"])), "1"),
        "rolled_back_share": (stats["global"]["rolled_back"] / max(1, whole), "1"),
        **_per_global(counted, whole),
        **_latencies(stats["latency"]["committed"], ""),
        **_latencies(stats["latency"]["rolled_back"], "rolled_back_"),
    }
    return {name: Quantity(value=value, unit=unit) for name, (value, unit) in values.items()}


def _per_global(counted: Mapping[str, int], whole: int) -> dict[str, tuple[float, str]]:
    if not whole:
        return {}
    each = {
        "db_tx_per_global": counted[mysql.COMMITS],
        "sql_per_global": mysql.statements(counted),
        "begins_and_commits_per_global": counted["Com_begin"] + counted["Com_commit"],
        **{f"{name}_per_global": counted.get(counter, 0) for counter, name in BY_TYPE.items()},
    }
    return {name: (count / whole, "1") for name, count in each.items()}


def _latencies(latency: Mapping[str, Any], prefix: str) -> dict[str, tuple[float, str]]:
    """Mean, maximum, and the percentiles that the number of samples supports."""
    if not latency["count"]:
        return {}
    histogram = buckets(latency)
    found = {p: percentile(histogram, p) for p in PERCENTILES}
    return {
        f"{prefix}latency_mean_ms": (latency["mean_ms"], "ms"),
        f"{prefix}latency_max_ms": (latency["max_ms"], "ms"),
        **{f"{prefix}p{p}_ms": (value, "ms") for p, value in found.items() if value is not None},
    }


def buckets(latency: Mapping[str, Any]) -> list[tuple[float, int]]:
    """Return the service's histogram of one outcome in ms; empty where nothing ended so."""
    return hdr_buckets(latency["hdr_us"]) if latency["count"] else []


# -- the books ------------------------------------------------------------------------------------------------------


def invariants(rung: Rung, proof: Mapping[str, Any]) -> dict[str, dict[str, object]]:
    """What must hold after a load: name -> {holds, found}. `proof` is what the trial's record keeps under that name."""
    return {
        "every global transaction ended": _ended(rung, proof),
        "sum of balances unchanged": _sum(proof["books"]),
        "every branch exactly once": _once(rung, proof),
    }


def _ended(rung: Rung, proof: Mapping[str, Any]) -> dict[str, object]:
    """By DTM's own store where it coordinates (a client that was cut off does not know), else by the service."""
    counts = proof["global"]
    if not rung.with_dtm:
        open_ones = counts["started"] - counts["committed"] - counts["rolled_back"]
        return _found(open_ones == 0, f"{open_ones:,} of {counts['started']:,} without an end")
    open_ones = sum(count for status, count in proof["dtm_ends"].items() if status not in ENDS)
    known = sum(proof["dtm_ends"].values())
    missing = 0 if proof.get("killed") else counts["started"] - known
    return _found(open_ones == 0 and missing == 0, f"{open_ones:,} of {known:,} without an end")


def _sum(books: Mapping[str, Any]) -> dict[str, object]:
    off = books["balance_sum"] - books["balance_expected"]
    return _found(off == 0, f"off by {off:+,}" if off else "off by 0")


def _once(rung: Rung, proof: Mapping[str, Any]) -> dict[str, object]:
    """No step twice, no compensation without its action, every transaction's amounts cancel, accounts match the log."""
    books, branches = proof["books"], proof["branches"]
    wrong = {
        "steps repeated": books["repeated_steps"],
        "compensations of nothing": books["bare_compensations"],
        "transactions unbalanced": books["unbalanced_transactions"],
        "accounts off their log": books["accounts_not_matching_the_log"],
    }
    if not proof.get("killed"):
        # Two for each that committed, TransOut's alone for each that was rolled back.
        wanted = 2 * proof["global"]["committed"] + proof["global"]["rolled_back"]
        wrong["actions too few or too many"] = abs(_actions(branches) - wanted)
    said = ", ".join(f"{count:,} {what}" for what, count in wrong.items() if count)
    return _found(not said, said or f"{_actions(branches):,} actions, none repeated")


def _actions(branches: Mapping[str, Mapping[str, int]]) -> int:
    return sum(branches.get(step, {}).get("executed", 0) for step in ("out.action", "in.action"))


def _found(holds: bool, found: str) -> dict[str, object]:
    return {"holds": bool(holds), "found": found}


def violated(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [f"{name}: {about['found']}" for name, about in found.items() if not about["holds"]]
