"""What go-tpc prints of a load with `--output json`, each line with the time that stamped.py puts before it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchbook.errors import OutputNotParseable

_STAMPED = re.compile(r"^(\d+\.\d+) (.*)$")
# What ends a load, or a thread of it. Errors that `--ignore-error` passes over have a date in brackets before them.
_FATAL = re.compile(
    r"^(?:\d+\.\d+ )?((?:panic|Error|fatal error): .*|failed to ping db.*|Failed to init.*|check prepare failed.*"
    r"|execute \w+ failed.*)$",
    re.MULTILINE,
)
_PASSED_OVER = re.compile(r"^\[[\d :-]+\] execute run failed, err (.*)$")
NO_CONNECTION = "connection refresh failed"
FAILED = "_ERR"
_TIMES = {"p50_ms": "50th(ms)", "p90_ms": "90th(ms)", "p95_ms": "95th(ms)", "p99_ms": "99th(ms)", "max_ms": "Max(ms)"}
# Its histograms (measurement.go: one significant figure, from 1 ms on) tell times in steps of half a millisecond, wider
# above 16 ms: up to 6%. The sum of the times is exact.
MOST_SHOWN = 5
# Half of the last digit that it prints of a time in seconds.
_HALF_S = 0.05


@dataclass(frozen=True)
class Operation:
    """One kind of transaction, in one line or in the summary.

    `tpm` = how many a minute since the first one ended, which was `takes_s` before; both are printed with one decimal.
    """

    count: int
    tpm: float
    sum_ms: float
    times: Mapping[str, float]
    takes_s: float = 0.0

    @property
    def lasted_s(self) -> float:
        """Since its first one ended: as its rate tells it, and within what is printed as such.

        Of what is as rare as failures the rate alone tells little: 18 in 7,200 s are 0.1 a minute, which is 10,800 s.
        """
        by_rate = self.count * 60 / self.tpm if self.tpm else 0.0
        return min(max(by_rate, self.takes_s - _HALF_S), self.takes_s + _HALF_S)


Operations = Mapping[str, Operation]


@dataclass(frozen=True)
class GoTpcOutput:
    """`told` are its lines while it ran: when, and what was done since the one before; `errors` how often each came."""

    tpmc: float
    tpm_total: float
    efficiency_percent: float
    summary: Operations
    told: list[tuple[float, Operations]]
    errors: dict[str, int]


def parse(text: str) -> GoTpcOutput:
    """Raises OutputNotParseable, naming what is missing."""
    lines = list(_stamped(text))
    tables = [(at, json.loads(line)) for at, line in lines if line.startswith("[{")]
    summary = next((rows for _, rows in tables if _is(rows, "[Summary]")), None)
    figures = next((rows[0] for _, rows in tables if "tpmC" in rows[0]), None)
    if summary is None or figures is None:
        what = "summary" if summary is None else "tpmC: not one new order was done"
        raise OutputNotParseable(f"go-tpc's output has no {what}")
    return GoTpcOutput(
        tpmc=_number(figures, "tpmC"),
        tpm_total=_number(figures, "tpmTotal"),
        efficiency_percent=_number(figures, "efficiency"),
        summary=_operations(summary),
        told=[(at, _operations(rows)) for at, rows in tables if _is(rows, "[Current]")],
        errors=_errors(line for _, line in lines),
    )


def told(line: str) -> tuple[float, float] | None:
    """When, and transactions a second since the line before; 0 while it finds no server. None for any other line."""
    match = _STAMPED.match(line)
    if match is None:
        return None
    at, said = float(match[1]), match[2]
    if said.startswith("[{") and _is(rows := json.loads(said), "[Current]"):
        return at, float(done(_operations(rows)))
    return (at, 0.0) if NO_CONNECTION in said else None


def failure(text: str) -> str | None:
    """What go-tpc itself calls fatal, although it may end with status 0; None if nothing is."""
    said = list(dict.fromkeys(_FATAL.findall(text)))
    return "; ".join(said[:MOST_SHOWN]) or None


def done(operations: Operations) -> int:
    """Transactions that did not fail. The 1% of new orders that TPC-C has rolled back are among them."""
    return sum(each.count for name, each in operations.items() if not name.endswith(FAILED))


def failed(operations: Operations) -> int:
    return sum(each.count for name, each in operations.items() if name.endswith(FAILED))


def _stamped(text: str) -> Iterator[tuple[float, str]]:
    for match in map(_STAMPED.match, text.splitlines()):
        if match:
            yield float(match[1]), match[2]


def _is(rows: list[dict[str, Any]], prefix: str) -> bool:
    """Whether these are transactions: of keying and think times (`--wait`) it prints the means alone, headed alike."""
    return str(rows[0].get("Prefix", "")).startswith(prefix) and "Count" in rows[0]


def _operations(rows: list[dict[str, Any]]) -> dict[str, Operation]:
    return {
        str(row["Operation"]): Operation(
            count=int(row["Count"]),
            tpm=_number(row, "TPM"),
            sum_ms=_number(row, "Sum(ms)"),
            times={name: _number(row, printed) for name, printed in _TIMES.items()},
            takes_s=_number(row, "Takes(s)"),
        )
        for row in rows
    }


def _number(row: Mapping[str, Any], name: str) -> float:
    try:
        return float(str(row[name]).rstrip("%"))
    except (KeyError, ValueError) as problem:
        raise OutputNotParseable(f"go-tpc's output has no {name!r} in {row}") from problem


def _errors(lines: Iterator[str]) -> dict[str, int]:
    """The errors that it passed over, without what differs from one to the next (values, addresses)."""
    found: dict[str, int] = {}
    for match in filter(None, map(_PASSED_OVER.match, lines)):
        said = re.sub(r"\(.*?\)|\d+", "", match[1].rpartition("failed ")[2])[:200].strip()
        found[said] = found.get(said, 0) + 1
    return dict(sorted(found.items(), key=lambda each: -each[1])[:MOST_SHOWN])
