"""Trials of DM's reports: one task each, from an untouched upstream to a target that is proved to hold the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pandas as pd

from benchbook.campaign.design import Trial
from benchbook.campaign.environment import Environment, SystemDescription
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.progress import TPS
from benchbook.errors import BenchbookError, HostUnusable
from benchbook.hosts.about import Json
from benchbook.hosts.host_facts import survey
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.jobs import Ended
from benchbook.hosts.remote_host import quote
from benchbook.hosts.session import Session
from benchbook.probes import prometheus
from benchbook.probes.scrape import Scraped
from benchbook.probes.watch import Watched
from benchbook.profiles import Profile
from benchbook.reports.dm import dm_summary, dump_statements, worker_log
from benchbook.reports.dm.observed import observing, samples_of, series_of
from benchbook.reports.dm.pipeline import Pipeline
from benchbook.reports.dm.task import SYNC, TASK, Databases, task_of
from benchbook.reports.dm.task_watch import TaskWatch
from benchbook.systems import dm_config
from benchbook.systems.dm_server import MASTER, WORKER
from benchbook.workloads import sysbench, sysbench_output
from benchbook.workloads.sysbench_stream import IntervalReader, check_end, interval_series

ROLES = ("client", "mysql", "tidb", MASTER, WORKER)
# Per row: binlog upstream and its copy in the relay log (five events), and the row's text in a dump.
BINLOG_ROW_B, DUMP_ROW_B = 620, 300
# The fastest upstream load seen here is a tenth of this; it only bounds the disk that a sync may need.
FASTEST_ROWS_S = 100_000


@dataclass
class DmReplication:
    """The experiment; `options` are the report's sysbench options. `pipeline` lives while it runs."""

    inventory: Inventory
    profile: Profile
    databases: Databases
    options: dict[str, str]
    time_s: int
    rate: int
    seed: int
    pipeline: Pipeline = field(init=False)

    # -- the campaign's view ------------------------------------------------------------------------------------

    def hosts(self) -> list[str]:
        return [name for role in ROLES for name in self.inventory.require(role)]

    @contextmanager
    def running(self) -> Iterator[Environment]:
        """Connect, check, install; leaving removes everything that DM wrote."""
        with Session(self.inventory, self.hosts()) as session:
            surveyed = survey(session, disk_gb=self.profile.disk_gb)
            program, version = sysbench.find(session.with_role("client")[0])
            self.pipeline = Pipeline(session, self.profile, self.databases, self.seed, program)
            self.pipeline.install()
            try:
                yield Environment.of(surveyed, load_generator=version)
            finally:
                self.pipeline.stop()

    def begin(self, block: Sequence[Trial], say: Callable[[str], None]) -> dict[str, SystemDescription]:
        """Upstream with its prepared data, an empty target, and nothing of DM: whatever ran or broke before."""
        self.pipeline.begin(say)
        return {name: SystemDescription(**vars(about)) for name, about in self.pipeline.about().items()}

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        """One task. Raises TaskPaused with DM's own words, and RowsDiffer when source and target are not the same."""
        sync = trial.cell.table in SYNC
        task = self._task(trial)
        self.pipeline.fresh(sync=sync, check_disk=lambda: self._check_disk(trial))
        measured = self._sync(trial, task, on_rate) if sync else self._full(trial, task, on_rate)
        self.pipeline.clean()
        return measured

    def expected_s(self, trial: Trial) -> float:
        return 2.0 * self.time_s + self.profile.dm.settle_s if trial.cell.table in SYNC else 5.0

    def rate_unit(self, trial: Trial) -> str:
        """A sync shows the load upstream, a dump and load the bytes loaded."""
        return TPS if trial.cell.table in SYNC else "MiB/s"

    # -- dump and load ------------------------------------------------------------------------------------------

    @property
    def _watch(self) -> TaskWatch:
        return TaskWatch(self.pipeline, self.profile.dm)

    def _task(self, trial: Trial) -> dm_config.Task:
        dm = self.pipeline.dm
        return task_of(trial, self.databases, self.profile.dm.split_rows, dm.folder, dm.target, dm.dump_program)

    def _full(self, trial: Trial, task: dm_config.Task, on_rate: Callable[[float, float], None]) -> Measurement:
        progress: list[tuple[float, float]] = []
        started = time.time()
        with observing(self.pipeline, self.profile.dm.sample_s) as (watched, scraped):
            self.pipeline.dm.start_task(task)
            status = self._watch.until(lambda s: s.stage == "Finished", progress, on_rate)
            time.sleep(self.profile.dm.sample_s)  # until the last scrape of the load has surely been taken
        ended, text = time.time(), self.pipeline.dm.log()
        dump, load = (worker_log.finished(text, TASK, unit) for unit in ("Dump", "Load"))
        counted = self.pipeline.dm.worker.shell(
            dump_statements.count_command(quote([task.dumped_data])), timeout=600
        ).stdout
        samples = samples_of(scraped)
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
            host=self.pipeline.dm.worker.name, source="dm", metric="loaded_bytes", unit="B"
        )
        return Measurement(
            command="dm-ctl start-task task.yaml",
            client=self.pipeline.client.name,
            started=started,
            ended=ended,
            exit_status=None,
            summary=summary,
            histogram=[],
            output=dm_config.redacted(task),
            proof=self._proof(trial, watched, scraped, f"dumped_data.{TASK}"),
            series=series_of(self.pipeline, watched, samples, loaded),
        )

    def _sync(self, trial: Trial, task: dm_config.Task, on_rate: Callable[[float, float], None]) -> Measurement:
        self.pipeline.dm.start_task(task)
        self._watch.until(lambda s: s.unit == "Sync" and s.stage == "Running")
        self._watch.settle()
        with observing(self.pipeline, self.profile.dm.sample_s) as (watched, scraped):
            command, ended, text = self._load(trial, on_rate)
            self._watch.drain()
            time.sleep(self.profile.dm.sample_s)  # until the scrape after the last row has surely been taken
        finished = time.time()
        self.pipeline.dm.pause_task(TASK)
        output, samples = sysbench_output.parse(text), samples_of(scraped)
        began = ended.ended - output.summary["total_time_s"]
        mysql = watched.series[watched.series.source == "mysql"]
        lag = dm_summary.lag(samples["dm"], mysql)
        summary = dm_summary.of_sync(samples["dm"], samples["tidb"], output.summary, lag, began, ended.ended)
        rows = [
            interval_series(output, ended, self.pipeline.client.name),
            dm_summary.lag_series(lag, self.pipeline.dm.worker.name),
        ]
        return Measurement(
            command=command,
            client=self.pipeline.client.name,
            started=began,
            ended=finished,
            exit_status=ended.exit,
            summary=summary,
            histogram=output.histogram,
            output=f"{text}\n{dm_config.redacted(task)}",
            proof={**self._proof(trial, watched, scraped, "relay_log"), **self._checkpoint()},
            series=series_of(self.pipeline, watched, samples, *rows),
        )

    # -- sync ---------------------------------------------------------------------------------------------------

    def _load(self, trial: Trial, on_rate: Callable[[float, float], None]) -> tuple[str, Ended, str]:
        """Drive the upstream; a task that pauses meanwhile ends the load at once. Returns command, end and output."""
        levels, dataset = trial.cell.levels, self.pipeline.dataset(self.databases.sync, self.databases.sync_rows)
        load = sysbench.SysbenchLoad(
            str(levels["workload"]), int(levels["threads"]), self.time_s, dataset, 1, self.rate, self.options
        )
        command = sysbench.run(self.pipeline.program, self.pipeline.upstream.endpoints(), load)
        job = self.pipeline.session.start(self.pipeline.client, "sysbench", command)
        reader = IntervalReader(on_rate)

        def follow(data: bytes) -> None:
            reader(data)
            self._watch.look()

        try:
            ended = job.wait(on_output=follow, every_s=0.1, expected_s=self.time_s)
        except BenchbookError:
            self.pipeline.session.end(job)
            raise
        self.pipeline.session.forget(job)
        text, complaint = reader.text, job.stderr()
        job.remove()
        self._watch.look()
        check_end(ended, text + complaint)
        return command.typed, ended, text + complaint

    def _checkpoint(self) -> Json:
        status = self.pipeline.dm.status(TASK)
        return {"checkpoint": str(status.checkpoint), "upstream": str(status.upstream), "synced": status.synced}

    # -- proof and disk -----------------------------------------------------------------------------------------

    def _proof(self, trial: Trial, watched: Watched, scraped: Scraped, wrote: str) -> Json:
        """Counts and checksums of every table, and what the trial had on disk. Raises RowsDiffer."""
        evidence = self.pipeline.prove(self.databases.of(trial.cell.table))
        return {
            "tables": [vars(each) for each in evidence],
            "same": True,
            "disk_bytes": {
                wrote: self.pipeline.dm.bytes_in(wrote),
                "bound": self._disk_bytes(trial),
                "binlog": self.pipeline.upstream.binlog_bytes(),
            },
            **watched.proof,
            "probe_cores": {**watched.cores, **scraped.cores},
        }

    def _check_disk(self, trial: Trial) -> None:
        needed, free = self._disk_bytes(trial), self.pipeline.dm.free_bytes()
        if free < needed:
            raise HostUnusable(
                f"too little disk for dumps and relay log on host {self.pipeline.dm.worker.name}: the trial may need "
                f"{needed / 1e9:.1f} GB",
                file=self.inventory.file,
                key=f"hosts.{self.pipeline.dm.worker.name}.workdir",
                value=f"{free / 1e9:.1f} GB free",
                fix="free some, name another folder, or offer a lower rate",
            )

    def _disk_bytes(self, trial: Trial) -> int:
        """At most: the dump, and for a sync the relay log of the fastest upstream."""
        database = self.databases.of(trial.cell.table)
        dumped = self.databases.rows(database) * self.databases.tables * DUMP_ROW_B
        per_s = self.rate * 4 or FASTEST_ROWS_S
        return dumped + (self.time_s * per_s * BINLOG_ROW_B if trial.cell.table in SYNC else 0)
