"""What dm-worker and mydumper leave in text: runs of units in a log, rows in the files of a dump. Needs no host.

DM drops a task's load metrics the moment the load ends, so its last second is only in the log. Its format is that of
pingcap/log: `[time] [LEVEL] [file:line] [message] [key=value]...`, with Go strings where needed.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from benchbook.documents.units import SECONDS
from benchbook.errors import OutputNotParseable

_WORD = r'"(?:[^"\\]|\\.)*"|[^\s\[\]="]*'
_PART = re.compile(rf"\[({_WORD})(?:=({_WORD}))?\]")
_HEAD = re.compile(
    r"\[(?P<time>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3} [+-]\d\d:\d\d)\] \[(?P<level>[A-Z]+)\] \[[^\]]*\] ?"
)
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
# Go writes minutes as `m`.
_SECONDS = {**SECONDS, "m": SECONDS["min"]}

# What DM says when a unit has done its work, with its own measure of the time.
_DONE = ("dump data finished", "all data files have been finished")


@dataclass(frozen=True)
class Line:
    """One line: t in s since the epoch; fields as text."""

    t: float
    level: str
    message: str
    fields: dict[str, str]


@dataclass(frozen=True)
class UnitRun:
    """One run of a unit (Dump, Load or Sync): begin and end in s since the epoch, and DM's own time for the work in s.

    `stage` is what it ended with (Finished, Paused, Stopped). What is still running, or was killed, has no end.
    """

    unit: str
    began: float
    ended: float | None = None
    stage: str | None = None
    seconds: float | None = None


def lines(text: str) -> Iterator[Line]:
    """Yield the lines of a log; what is not in its format (a Go panic) is left out."""
    for line in text.splitlines():
        if head := _HEAD.match(line):
            yield _line(head, line[head.end() :])


def unit_runs(text: str, task: str) -> list[UnitRun]:
    """Return every run of every unit of this task, in order."""
    runs: list[UnitRun] = []
    for line in lines(text):
        if line.message == "start to run" and line.fields.get("subtask") == task:
            runs.append(UnitRun(line.fields["unit"], line.t))
        elif runs and task in (line.fields.get("subtask"), line.fields.get("task")):
            runs[-1] = _continued(runs[-1], line)
    return runs


def finished(runs: Sequence[UnitRun], task: str, unit: str) -> UnitRun:
    """The last of a task's runs that is of this unit. Raise OutputNotParseable if there is none that finished."""
    done = [run for run in runs if run.unit == unit and run.stage == "Finished"]
    if not done:
        raise OutputNotParseable(f"dm-worker's log has no finished {unit} of task {task}")
    return done[-1]


def seconds(duration: str) -> float:
    """Return a Go duration (`1m2.5s`, `312.376µs`, `0s`) in seconds."""
    parts = _AMOUNT.findall(duration)
    if not parts or "".join(amount + unit for amount, unit in parts) != duration:
        raise OutputNotParseable(f"{duration!r} is no duration")
    return sum(float(amount) * _SECONDS[unit] for amount, unit in parts)


def _line(head: re.Match[str], rest: str) -> Line:
    parts = [(_plain(part[1]), None if part[2] is None else _plain(part[2])) for part in _PART.finditer(rest)]
    message = next((key for key, value in parts[:1] if value is None), "")
    when = dt.datetime.strptime(head["time"], "%Y/%m/%d %H:%M:%S.%f %z")
    return Line(when.timestamp(), head["level"], message, {key: value for key, value in parts if value is not None})


def _plain(word: str) -> str:
    return str(json.loads(word)) if word.startswith('"') else word


def _continued(run: UnitRun, line: Line) -> UnitRun:
    if line.message in _DONE:
        return replace(run, seconds=seconds(line.fields["cost time"]))
    if line.message == "unit process returned" and line.fields.get("unit") == run.unit:
        return replace(run, ended=line.t, stage=line.fields["stage"])
    return run


# One line per row, as mydumper writes them. The last statement of a file is whatever was left, so it is kept apart.
COUNT_ROWS = (
    r"FNR==1 {if (n) last[n]++; n=0} /^INSERT INTO/ {if (n) full[n]++; n=0} /^\(/ {n++} "
    r'END {if (n) last[n]++; for (i in full) print "full", i, full[i]; for (i in last) print "last", i, last[i]}'
)
_COUNT = re.compile(r"(full|last) (\d+) (\d+)")


def count_command(folder: str) -> str:
    """Shell words that print the counts of a dump's data files; the folder must already be quoted for the shell."""
    return f"find {folder} -name '*.sql' ! -name '*-schema*.sql' -exec awk '{COUNT_ROWS}' {{}} +"


def rows_per_statement(printed: str) -> float:
    """Mean rows of the statements that were filled up to --statement-size; of all, where no file has a second one.

    Raise OutputNotParseable when nothing was counted.
    """
    counts = [(kind, int(rows), int(times)) for kind, rows, times in _COUNT.findall(printed)]
    chosen = [(rows, times) for kind, rows, times in counts if kind == "full"] or [each[1:] for each in counts]
    if not chosen:
        raise OutputNotParseable(f"no INSERT statement was counted in the dump: {printed.strip()[:200]!r}")
    return sum(rows * times for rows, times in chosen) / sum(times for _, times in chosen)
