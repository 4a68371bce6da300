"""What pgbench prints, of version 9.6 and later: its progress, its closing report, and the times that the kit adds."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from benchbook.errors import OutputNotParseable

_NUMBER = r"([\d.]+|-?nan)"
_PROGRESS = re.compile(rf"^progress: ([\d.]+) s, {_NUMBER} tps, lat {_NUMBER} ms stddev {_NUMBER}", re.IGNORECASE)
# What follows on the line differs by version and options: ", 0 failed, lag 0.242 ms, 0 retried, 0 retries".
_COUNTED = re.compile(r", (\d+) (failed|retries)\b")
# name of the figure -> how the closing report prints it; the first group is the figure.
_FIGURES = {
    "threads": r"number of clients: (\d+)",
    "events": r"number of transactions actually processed: (\d+)",
    "latency_mean_ms": r"latency average = ([\d.]+) ms",
}
_OPTIONAL = {
    "failed": r"number of failed transactions: (\d+)",
    "retries": r"total number of retries: (\d+)",
    "latency_stddev_ms": r"latency stddev = ([\d.]+) ms",
    "lag_mean_ms": r"rate limit schedule lag: avg ([\d.]+)",
    "connecting_ms": r"initial connection time = ([\d.]+) ms",
    "reconnect_mean_ms": r"average connection time = ([\d.]+) ms",
}
# Since 14 only this one is printed; before, both were. With --connect it holds the time of connecting again.
_TPS = r"tps = ([\d.]+) \((?:excluding connections establishing|without initial connection time|including reconn.*)\)"
_TPS_CONNECTING = r"tps = ([\d.]+) \(including connections establishing\)"
_FATAL = re.compile(r"^pgbench: (?:fatal|error): .*|^.*Run was aborted.*", re.MULTILINE)
_NONE_DONE = re.compile(r"^number of transactions actually processed: 0\b", re.MULTILINE)
_MARK = "benchbook: "


@dataclass(frozen=True)
class ProgressLine:
    """One line of `--progress`: seconds since the load began, and the rates and times since the line before."""

    t: float
    tps: float
    latency_ms: float
    failed: int = 0
    retries: int = 0


@dataclass(frozen=True)
class PgbenchOutput:
    """All that one run has printed.

    `figures`: as the closing report says them, by the names of a record's summary; `tps` is without, `tps_connecting`
    with the time in which the clients connected. `histogram` holds (upper bound in ms, count) of the transactions that
    were logged; `ended` is when the load did (s since the epoch, by the client's clock; 0 where nobody said).
    """

    figures: dict[str, float]
    progress: list[ProgressLine]
    histogram: list[tuple[float, int]] = field(default_factory=list)
    ended: float = 0.0

    @property
    def total_time_s(self) -> float:
        """Seconds of load, without those in which the clients connected."""
        return self.figures["events"] / self.figures["tps"] if self.figures["tps"] else 0.0


def parse_progress(line: str) -> ProgressLine | None:
    """A line of progress; None for any other. Where nothing was done, times are printed as nan: they become 0."""
    match = _PROGRESS.match(line)
    if match is None:
        return None
    tps, latency = (0.0 if "nan" in match[i].lower() else float(match[i]) for i in (2, 3))
    counted = {name: int(count) for count, name in _COUNTED.findall(line)}
    return ProgressLine(float(match[1]), tps, latency, counted.get("failed", 0), counted.get("retries", 0))


def failure(text: str) -> str | None:
    """What pgbench itself calls fatal; None if nothing is."""
    said = list(dict.fromkeys(_FATAL.findall(text)))
    if not said and _NONE_DONE.search(text):
        # Its time runs from when its clients begin to connect.
        return "not one transaction was done: connecting took all of the time"
    return "; ".join(said[:4]) or None


def parse(text: str) -> PgbenchOutput:
    """Raises OutputNotParseable, naming what is missing."""
    figures = {name: _figure(pattern, text) for name, pattern in _FIGURES.items()}
    found = {name: match for name, pattern in _OPTIONAL.items() if (match := re.search(pattern, text))}
    figures |= {name: float(match[1]) for name, match in found.items()}
    figures["tps"] = _figure(_TPS, text)
    figures["tps_connecting"] = _with_connecting(figures, text)
    progress = [line for line in map(parse_progress, text.splitlines()) if line]
    histogram, ended = _added(text)
    return PgbenchOutput(figures, progress, histogram, ended)


def _figure(pattern: str, text: str) -> float:
    match = re.search(pattern, text)
    if match is None:
        raise OutputNotParseable(f"pgbench's output has no {pattern!r}")
    return float(match[1])


def _with_connecting(figures: dict[str, float], text: str) -> float:
    """As old versions print it: transactions over all of the time, that in which the clients connected among it."""
    if match := re.search(_TPS_CONNECTING, text):
        return float(match[1])
    events, tps = figures["events"], figures["tps"]
    return events / (events / tps + figures.get("connecting_ms", 0.0) / 1000) if tps else 0.0


def _added(text: str) -> tuple[list[tuple[float, int]], float]:
    """What pgbench_timed.py has printed at the end, if it ran: buckets in ms, and when the load ended."""
    lines = [line for line in text.splitlines() if line.startswith(_MARK)]
    if not lines:
        return [], 0.0
    said = json.loads(lines[-1].removeprefix(_MARK))
    return [(us / 1000, count) for us, count in said["buckets_us"]], float(said["ended"])
