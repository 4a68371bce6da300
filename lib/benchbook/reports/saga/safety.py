"""Whether nothing was lost: books after every trial, failing branches, a killed server.

Functions of what was recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from IPython.display import HTML

from benchbook.analysis import formatting
from benchbook.analysis.recorded import Recorded
from benchbook.analysis.trials import Measured, over_repetitions
from benchbook.campaign.record import Record
from benchbook.display import show
from benchbook.reports.saga.ladder import KILLED
from benchbook.reports.saga.saga_tables import FAILING, LADDER, cells, of_table


def invariants(report: Recorded) -> HTML:
    """Per rung: trials, global transactions, and how many trials each invariant holds in."""
    parts = []
    for table in (LADDER, FAILING, KILLED):
        for called, _, mine in cells(of_table(report.records, table)):
            parts.append(_invariant_row(called, table, mine))
    return (
        show.table(parts, "Books after every trial; retried: DB transactions and sagas run again after a deadlock")
        if parts
        else show.paragraph("No saga has been recorded.")
    )


def _invariant_row(called: dict[str, object], table: str, records: Sequence[Record]) -> dict[str, object]:
    ends = [r.proof["global"] for r in records]
    row = {
        **called,
        "rung": f"{called['rung']}{', DTM killed' if table == KILLED else ''}",
        "trials": len(records),
        "sagas": formatting.number(sum(e["started"] for e in ends)),
        "rolled back": formatting.number(sum(e["rolled_back"] for e in ends)),
    }
    for name in records[0].proof["invariants"]:
        found = [r.proof["invariants"][name] for r in records]
        wrong = [f["found"] for f in found if not f["holds"]]
        row[name] = f"in {len(found) - len(wrong)} of {len(found)}" + (f" ({wrong[0]})" if wrong else "")
    # Older records have another count: of the whole block so far.
    retried = [r.proof["retried"] for r in records if "retried" in r.proof]
    row["retried"] = formatting.number(sum(retried) if len(retried) == len(records) else None)
    return row


def failing(report: Recorded) -> HTML:
    """Failing TransIn branches: share rolled back, latency of a commit and of a compensation, state of the books."""
    rows = []
    for called, _, mine in cells(of_table(report.records, FAILING)):
        branches = [r.proof["branches"] for r in mine]
        rows.append(
            {
                **called,
                "rolled back": _percent(over_repetitions(mine, "rolled_back_share")),
                "Global-TPS": formatting.with_interval(over_repetitions(mine, "global_tps")),
                "committed p50 / p95 (ms)": _both(mine, ""),
                "rolled back p50 / p95 (ms)": _both(mine, "rolled_back_"),
                "compensations": formatting.number(_events(branches, "executed")),
                "held back": formatting.number(_events(branches, "skipped")),
                "sum of balances": ", ".join(dict.fromkeys(map(_sum, mine))).replace(", off by", ","),
            }
        )
    return (
        show.table(rows, "A share of TransIn branches fails; held back: compensations that the barrier let do nothing")
        if rows
        else show.paragraph("Not in this run (fail = 0).")
    )


def _sum(record: Record) -> str:
    return str(record.proof["invariants"]["sum of balances unchanged"]["found"])


def _events(branches: Iterable[dict[str, dict[str, int]]], event: str) -> int:
    return sum(b.get(op, {}).get(event, 0) for b in branches for op in ("out.compensate", "in.compensate"))


def _both(records: Sequence[Record], prefix: str) -> str:
    """Mean p50 and p95, which stay on one line."""
    found = [over_repetitions(records, f"{prefix}{p}_ms") for p in ("p50", "p95")]
    return "\u00a0/\u00a0".join(formatting.number(m.value if m else None) for m in found)


def _percent(m: Measured | None) -> str:
    if m is None:
        return "–"
    return (
        f"{m.value:.1%}" if m.low is None or m.high is None else f"{m.value:.1%} [{max(0.0, m.low):.1%}, {m.high:.1%}]"
    )


def killed(report: Recorded) -> HTML:
    """DTM killed in mid-load and started again: what was under way, and when all of it had ended."""
    mine = of_table(report.records, KILLED)
    if not mine:
        return show.paragraph(
            "Not in this run; -p kill_dtm=true adds it. The project's tests do it on the real server each time."
        )
    rows = [
        {
            **called,
            "repetition": r.repetition,
            "under way when killed": r.proof["killed"]["under_way"],
            "DTM away (s)": formatting.number(r.summary["down_s"].value),
            "until all had ended (s)": formatting.number(r.summary["recovery_s"].value),
            "requests without an answer": r.proof["global"]["failed"],
            **{name: "yes" if about["holds"] else about["found"] for name, about in r.proof["invariants"].items()},
        }
        for called, _, records in cells(mine)
        for r in records
    ]
    return show.table(rows, "DTM killed (SIGKILL) under load and started again")
