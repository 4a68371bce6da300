"""What a trial of DM left when it was through, and the measurement that it makes. Pure: no host, no server."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from benchbook.campaign.experiment import Measurement
from benchbook.campaign.validity import declared_rates
from benchbook.documents.units import SECONDS
from benchbook.errors import OutputNotParseable, WorkloadFailed
from benchbook.hosts.agent import Ended
from benchbook.hosts.host_models import Json
from benchbook.probes import prometheus
from benchbook.probes.samples import COLUMNS, LATE, STEP
from benchbook.probes.watch import Watched
from benchbook.reports.dm import dm_summary
from benchbook.reports.dm.task import TASK
from benchbook.systems import dm_config
from benchbook.workloads import sysbench_output
from benchbook.workloads.sysbench_output import interval_series

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
    """The lines of a log; what is not in its format (a Go panic) is left out."""
    for line in text.splitlines():
        if head := _HEAD.match(line):
            yield _line(head, line[head.end() :])


# dm-worker's log: DM drops a task's load metrics the moment the load ends, so its last second is only in here. The
# format is that of pingcap/log: `[time] [LEVEL] [file:line] [message] [key=value]...`, with Go strings where needed.
def unit_runs(text: str, task: str) -> list[UnitRun]:
    """Every run of every unit of this task, in order."""
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
    """A Go duration (`1m2.5s`, `312.376µs`, `0s`) in seconds."""
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


# The sources of what is scraped.
SCRAPED = ("dm", "tidb")
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


@dataclass(frozen=True)
class DmRan:
    """What both kinds of trial have in common; `hosts` maps "client", "dm" and "tidb" to host names."""

    task: dm_config.Task
    hosts: Mapping[str, str]
    started: float
    ended: float
    watched: Watched
    proof: Json

    def made(self, lines: Json | None = None, **more: Any) -> Measurement:
        """The measurement, with what only one kind of trial has; `lines` says where a load's rates stand."""
        common = {"client": self.hosts["client"], "started": self.started, "ended": self.ended}
        proof = {**self.proof, **self.watched.proof}
        # Its progress and its end are what the driver saw of dm-master's answers.
        return Measurement(**{**common, **more, "proof": {**proof, **(lines or {})}}, timed_by_driver=True)


@dataclass(frozen=True)
class FullRan:
    """A dump and load: bytes of its data files, [(s since the epoch, bytes loaded)], DM's log, statements by file."""

    ran: DmRan
    sample_s: float
    load_bytes: int
    progress: list[tuple[float, float]]
    log: str
    statements: str

    def measurement(self) -> Measurement:
        """Raise OutputNotParseable for a log without a finished dump and load."""
        runs = unit_runs(self.log, TASK)
        dump, load = (finished(runs, TASK, unit) for unit in ("Dump", "Load"))
        samples = samples_of(self.ran.watched)
        summary = dm_summary.of_full(
            samples["dm"],
            prometheus.between(samples["tidb"], load.began - self.sample_s, self.ran.ended),
            dump_s=dump.seconds or 0.0,
            load_s=load.seconds or 0.0,
            load_bytes=self.load_bytes,
            rows_per_statement=rows_per_statement(self.statements),
        )
        loaded = pd.DataFrame(self.progress, columns=["t", "value"]).assign(
            host=self.ran.hosts["dm"], source="dm", metric="loaded_bytes", unit="B"
        )
        return self.ran.made(
            command="dm-ctl start-task task.yaml",
            # By DM's own log: what stands before and after is asking and waiting, and would pass for idle cores.
            started=dump.began,
            # Machines are sampled twice as often as DM (see pipeline): in so many seconds one sample begins and ends.
            ended=min(self.ran.ended, max(load.ended or self.ran.ended, dump.began + self.sample_s)),
            exit_status=None,
            summary=summary,
            histogram=[],
            output=dm_config.task_file(self.ran.task, redacted=True),
            series=series_of(self.ran.hosts, self.ran.watched, samples, loaded),
        )


@dataclass(frozen=True)
class SyncRan:
    """A sync under load: the load's command line, how its job ended, and what it printed."""

    ran: DmRan
    command: str
    load: Ended
    printed: str

    def measurement(self) -> Measurement:
        """The load ran until its job's end, for as long as it says itself."""
        output, samples = sysbench_output.parse(self.printed), samples_of(self.ran.watched)
        samples["dm"] = dm_summary.with_updates_once(samples["dm"])
        began = self.load.ended - output.summary["total_time_s"]
        watched, hosts = self.ran.watched, self.ran.hosts
        mysql = watched.series[watched.series.source == "mysql"]
        applied = dm_summary.grown(samples["dm"], dm_summary.JOBS, **dm_summary.ROWS)
        lag = dm_summary.lag(samples["dm"], dm_summary.committed(mysql, applied), began)
        summary = dm_summary.of_sync(samples["dm"], samples["tidb"], output.summary, lag, began, self.load.ended)
        rows = [
            interval_series(output, self.load, hosts["client"]),
            dm_summary.lag_series(lag, hosts["dm"]),
        ]
        return self.ran.made(
            declared_rates("sysbench", 1.0, began, self.load.ended),
            command=self.command,
            started=began,
            exit_status=self.load.exit,
            summary=summary,
            histogram=output.histogram,
            output=f"{self.printed}\n{dm_config.task_file(self.ran.task, redacted=True)}",
            series=series_of(hosts, watched, samples, *rows),
        )


def samples_of(watched: Watched) -> dict[str, pd.DataFrame]:
    """Return the scrapes of DM and of TiDB. Raise WorkloadFailed where none succeeded."""
    frame = prometheus.scraped(watched.series[watched.series.source.isin(SCRAPED)])
    for source in SCRAPED:
        if not (frame.source == source).any():
            failed = [why for who, why in watched.failed.items() if who.startswith(f"{source}@")]
            raise WorkloadFailed(f"no scrape of {source}'s metrics succeeded: {failed or 'none was made'}")
    return {source: frame[frame.source == source] for source in SCRAPED}


def series_of(
    hosts: Mapping[str, str], watched: Watched, samples: dict[str, pd.DataFrame], *more: pd.DataFrame
) -> pd.DataFrame:
    """Return all of it as rows of the long table, with rates in place of what was scraped.

    hosts : "dm" and "tidb" by the names of their hosts.
    """
    seen = watched.series
    kept = seen[~seen.source.isin(SCRAPED) | seen.metric.isin([LATE, STEP])]
    parts = [kept, dm_summary.to_series(samples["dm"], samples["tidb"], hosts), *more]
    return pd.concat([part for part in parts if len(part)], ignore_index=True)[COLUMNS]
