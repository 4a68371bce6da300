"""Trials of DM's reports: one task each, from an untouched upstream to a target that is proved to hold the same."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import pandas as pd

from benchbook.campaign.design import Trial
from benchbook.campaign.experiment import Measurement
from benchbook.errors import BenchbookError, WorkloadFailed
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.jobs import Ended
from benchbook.hosts.remote_host import RemoteHost, quote
from benchbook.probes import prometheus
from benchbook.probes.host_probe import HostProbe
from benchbook.probes.mysql_probe import MysqlProbe
from benchbook.probes.samples import COLUMNS
from benchbook.probes.scrape import Scraped, Target, scraping
from benchbook.probes.watch import Watched, watching
from benchbook.reports.dm import checksum, dm_summary, dump_statements, worker_log
from benchbook.reports.dm.stage import DmStage
from benchbook.reports.dm.standstill import Standstill
from benchbook.reports.dm.task import SYNC, TASK, task_of
from benchbook.systems import dm_config
from benchbook.systems.dm_status import BinlogPosition, Status
from benchbook.systems.sql import connection
from benchbook.workloads import sysbench, sysbench_output
from benchbook.workloads.sysbench_stream import IntervalReader, check_end, interval_series

_SYNCER = re.compile(r'^dm_syncer_binlog_(file|pos)\{node="syncer",task="\w+"\} (\S+)$', re.MULTILINE)


@dataclass
class DmReplication(DmStage):
    """The experiment."""

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        """One task. Raises TaskPaused with DM's own words, and RowsDiffer when source and target are not the same."""
        task = self._task(trial)
        self._fresh(trial)
        measured = self._sync(trial, task, on_rate) if trial.cell.table in SYNC else self._full(trial, task, on_rate)
        self._clean()
        return measured

    def expected_s(self, trial: Trial) -> float:
        return 2.0 * self.time_s + self.profile.dm.settle_s if trial.cell.table in SYNC else 5.0

    # -- one task -----------------------------------------------------------------------------------------------

    def _task(self, trial: Trial) -> dm_config.Task:
        about = (self._dm.folder, self._dm.target, self._dm.dump_program)
        return task_of(trial, self.databases, self.profile.dm.split_rows, *about)

    def _full(self, trial: Trial, task: dm_config.Task, on_rate: Callable[[float, float], None]) -> Measurement:
        progress: list[tuple[float, float]] = []
        started = time.time()
        with self._watching() as (watched, scraped):
            self._dm.start_task(task)
            status = self._until(lambda s: s.stage == "Finished", progress, on_rate)
            time.sleep(self.profile.dm.sample_s)  # until the last scrape of the load has surely been taken
        ended, text = time.time(), self._dm.log()
        dump, load = (worker_log.finished(text, TASK, unit) for unit in ("Dump", "Load"))
        counted = self._dm.worker.shell(dump_statements.count_command(quote([task.dumped_data])), timeout=600).stdout
        samples = {name: self._of(scraped, name) for name in ("dm", "tidb")}
        around = prometheus.between(samples["tidb"], load.began - self.profile.dm.sample_s, ended)
        summary = dm_summary.of_full(
            samples["dm"],
            around,
            dump_s=dump.seconds or 0.0,
            load_s=load.seconds or 0.0,
            load_bytes=status.load_bytes or 0,
            rows_per_statement=dump_statements.rows_per_statement(counted),
        )
        loaded = pd.DataFrame(progress, columns=["t", "value"]).assign(
            host=self._dm.worker.name, source="dm", metric="loaded_bytes", unit="B"
        )
        return Measurement(
            command="dm-ctl start-task task.yaml",
            client=self.client.name,
            started=started,
            ended=ended,
            exit_status=None,
            summary=summary,
            histogram=[],
            output=dm_config.redacted(task),
            proof=self._proof(trial, watched, scraped, f"dumped_data.{TASK}"),
            series=self._series(watched, samples, loaded),
        )

    def _sync(self, trial: Trial, task: dm_config.Task, on_rate: Callable[[float, float], None]) -> Measurement:
        self._dm.start_task(task)
        self._until(lambda s: s.unit == "Sync" and s.stage == "Running")
        self._settle()
        with self._watching() as (watched, scraped):
            command, ended, text = self._load(trial, on_rate)
            self._drain(ended)
            time.sleep(self.profile.dm.sample_s)  # until the scrape after the last row has surely been taken
        finished = time.time()
        self._dm.pause_task(TASK)
        output, samples = sysbench_output.parse(text), {name: self._of(scraped, name) for name in ("dm", "tidb")}
        began = ended.ended - output.summary["total_time_s"]
        mysql = watched.series[watched.series.source == "mysql"]
        lag = dm_summary.lag(samples["dm"], mysql)
        summary = dm_summary.of_sync(samples["dm"], samples["tidb"], output.summary, lag, began, ended.ended)
        rows = [interval_series(output, ended, self.client.name), dm_summary.lag_series(lag, self._dm.worker.name)]
        return Measurement(
            command=command,
            client=self.client.name,
            started=began,
            ended=finished,
            exit_status=ended.exit,
            summary=summary,
            histogram=output.histogram,
            output=f"{text}\n{dm_config.redacted(task)}",
            proof={**self._proof(trial, watched, scraped, "relay_log"), **self._checkpoint()},
            series=self._series(watched, samples, *rows),
        )

    def _settle(self) -> None:
        """Let the sync idle, watched, as long as the profile says."""
        until = time.monotonic() + self.profile.dm.settle_s
        while time.monotonic() < until:
            self._look()
            time.sleep(1.0)

    def _until(
        self,
        holds: Callable[[Status], bool],
        progress: list[tuple[float, float]] | None = None,
        on_rate: Callable[[float, float], None] = lambda *_: None,
    ) -> Status:
        """The first status for which `holds`; notes bytes loaded so far. Raises what stops the task."""
        began = time.monotonic()
        patience = Standstill("DM's task", self.profile.dm.stall_s, lambda: self._dm.bytes_in(f"dumped_data.{TASK}"))
        while True:
            status = self._look()
            if progress is not None and status.loaded_bytes is not None:
                progress.append((time.time(), float(status.loaded_bytes)))
                seconds = max(0.1, time.monotonic() - began)
                on_rate(seconds, status.loaded_bytes / dm_summary.MIB / seconds)
            if holds(status):
                return status
            patience.see(status.where)
            time.sleep(0.1)

    def _load(self, trial: Trial, on_rate: Callable[[float, float], None]) -> tuple[str, Ended, str]:
        """Drive the upstream; a task that pauses meanwhile ends the load at once. Returns command, end and output."""
        levels, dataset = trial.cell.levels, self._dataset(self.databases.sync, self.databases.sync_rows)
        load = sysbench.SysbenchLoad(
            str(levels["workload"]), int(levels["threads"]), self.time_s, dataset, 1, self.rate, self.options
        )
        command = sysbench.run(self._program, self._upstream.endpoints(), load)
        job = self._session.start(self.client, "sysbench", command)
        reader = IntervalReader(on_rate)

        def follow(data: bytes) -> None:
            reader(data)
            self._look()

        try:
            ended = job.wait(on_output=follow, every_s=0.1, expected_s=self.time_s)
        except BenchbookError:
            self._session.end(job)
            raise
        self._session.forget(job)
        text, complaint = reader.text, job.stderr()
        job.remove()
        self._look()
        check_end(ended, text + complaint)
        return command.typed, ended, text + complaint

    def _drain(self, ended: Ended) -> None:
        """Return once DM has read up to the upstream's end and applied all it read. Raises WorkloadFailed if never."""
        upstream, until = self._upstream.position(), time.monotonic() + self.profile.dm.drain_s
        while not self._drained(upstream):
            self._look()
            if time.monotonic() > until:
                raise WorkloadFailed(f"DM has not caught up {self.profile.dm.drain_s} s after the load's end")
            time.sleep(0.2)

    def _drained(self, upstream: BinlogPosition) -> bool:
        text = self._dm.metrics("dm_syncer_")
        at = {kind: float(value) for kind, value in _SYNCER.findall(text)}
        read = (at.get("file"), at.get("pos")) == (float(upstream.file.rpartition(".")[2]), float(upstream.offset))
        return read and _jobs(text, "added") == _jobs(text, "finished")

    def _checkpoint(self) -> dict[str, Any]:
        status = self._dm.status(TASK)
        return {"checkpoint": str(status.checkpoint), "upstream": str(status.upstream), "synced": status.synced}

    # -- watching -----------------------------------------------------------------------------------------------

    @contextmanager
    def _watching(self) -> Iterator[tuple[Watched, Scraped]]:
        machines = {h.name: h for h in (self.client, self._upstream.hosts[0], self._dm.worker, self._target.hosts[0])}
        upstream = self._upstream.hosts[0]
        probes = [
            *map(HostProbe, machines.values()),
            MysqlProbe(upstream, self._upstream.endpoints()[0], upstream.name),
        ]
        tidb = self._target.hosts[0]
        status = f"http://{tidb.address}:{self._target.status_port}/metrics"
        targets = [
            Target(self._dm.worker, "dm", self._dm.metrics_url, dm_summary.DM_MATCH),
            Target(tidb, "tidb", status, dm_summary.TIDB_MATCH),
        ]
        with ExitStack() as stack:
            watched = stack.enter_context(watching(self._session, probes))
            scraped = stack.enter_context(scraping(self._session, targets, self.profile.dm.sample_s))
            yield watched, scraped

    def _of(self, scraped: Scraped, source: str) -> pd.DataFrame:
        frame = prometheus.read_samples(scraped.samples)
        mine = frame[frame.source == source]
        if mine.empty:
            failed = prometheus.failed_scrapes(scraped.samples)
            said = failed[failed.source == source].error.tolist()[-1:]
            raise WorkloadFailed(f"no scrape of {source}'s metrics succeeded: {said or 'none was made'}")
        return mine

    def _series(self, watched: Watched, samples: dict[str, pd.DataFrame], *more: pd.DataFrame) -> pd.DataFrame:
        hosts = {"dm": self._dm.worker.name, "tidb": self._target.hosts[0].name}
        parts = [watched.series, dm_summary.to_series(samples["dm"], samples["tidb"], hosts), *more]
        return pd.concat([part for part in parts if len(part)], ignore_index=True)[COLUMNS]

    # -- proof --------------------------------------------------------------------------------------------------

    def _proof(self, trial: Trial, watched: Watched, scraped: Scraped, wrote: str) -> dict[str, Any]:
        """Counts and checksums of every table, and what the trial had on disk. Raises RowsDiffer."""
        database = self.databases.of(trial.cell.table)
        ends = [
            (self._upstream.hosts[0], self._upstream.endpoints()[0]),
            (self._target.hosts[0], self._target.endpoints()[0]),
        ]
        with ExitStack() as stack:
            source, target = (stack.enter_context(_executing(host, endpoint)) for host, endpoint in ends)
            evidence = checksum.prove(source, target, database)
        return {
            "tables": [vars(each) for each in evidence],
            "same": True,
            "disk_bytes": {
                wrote: self._dm.bytes_in(wrote),
                "bound": self._disk_bytes(trial),
                "binlog": self._upstream.binlog_bytes(),
            },
            "probe_cores": {**watched.cores, **scraped.cores},
        }


def _jobs(metrics: str, what: str) -> float:
    """Sum over queues and types of the row jobs that were added or finished."""
    found = re.findall(
        rf'^dm_syncer_{what}_jobs_total\{{.*type="(?:insert|update|del)"\}} (\S+)$', metrics, re.MULTILINE
    )
    return sum(map(float, found))


@contextmanager
def _executing(via: RemoteHost, endpoint: Endpoint) -> Iterator[checksum.Execute]:
    with connection(via, endpoint) as link, link.cursor() as cursor:

        def execute(statement: str) -> Sequence[Sequence[Any]]:
            cursor.execute(statement)
            return list(cursor.fetchall())

        yield execute
