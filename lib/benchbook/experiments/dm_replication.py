"""Trials of DM's reports: one task each, from an untouched upstream to a target that is proved to hold the same."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from benchbook import checksum
from benchbook.campaign import Measurement
from benchbook.design import Trial, digest
from benchbook.errors import BenchbookError, HostUnusable, SystemFailed, TrialFailed, WorkloadFailed
from benchbook.experiments import dm_summary
from benchbook.experiments.dm_task import SYNC, TASK, Databases, task_of
from benchbook.experiments.sysbench_oltp import Lines, check_end, interval_series
from benchbook.hosts.facts import preflight
from benchbook.hosts.http import UNANSWERED, Door
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.jobs import Ended
from benchbook.hosts.remote_host import RemoteHost, quote
from benchbook.hosts.session import Session
from benchbook.probes import prometheus, series
from benchbook.probes.scrape import Scraped, Target, scraping
from benchbook.probes.watch import Watched, host_probe, mysql_probe, watching
from benchbook.profiles import Profile
from benchbook.systems import dm_config
from benchbook.systems.dm import DM, MASTER, WORKER
from benchbook.systems.mariadb_binlog import BinlogMariaDB
from benchbook.systems.sql import SqlEndpoint, connection, query
from benchbook.systems.tidb import TiDB
from benchbook.workloads import dm_dump, dm_log, sysbench, sysbench_output
from benchbook.workloads.dm_status import CommandRefused, Position, Status, TaskPaused

ROLES = ("client", "mysql", "tidb", MASTER, WORKER)
# Per row: binlog upstream and its copy in the relay log (five events), and the row's text in a dump.
BINLOG_ROW_B, DUMP_ROW_B = 620, 200
# The fastest upstream load seen here is a tenth of this; it only bounds the disk that a sync may need.
FASTEST_ROWS_S = 100_000
# How long DM is waited for to say itself what a dead server did to its task.
LAST_WORDS_S = 5.0
_SYNCER = re.compile(r'^dm_syncer_binlog_(file|pos)\{node="syncer",task="\w+"\} (\S+)$', re.MULTILINE)


@dataclass
class DmReplication:
    """The experiment. `options` are the report's sysbench options; fields below `seed` live while it runs."""

    inventory: Inventory
    profile: Profile
    databases: Databases
    options: dict[str, str]
    time_s: int
    rate: int
    seed: int
    _session: Session = field(init=False)
    _upstream: BinlogMariaDB = field(init=False)
    _target: TiDB = field(init=False)
    _dm: DM = field(init=False)
    _program: str = field(init=False, default="")

    # -- the campaign's view ------------------------------------------------------------------------------------

    @contextmanager
    def running(self) -> Iterator[dict[str, Any]]:
        """Connect, check, install; leaving removes everything that DM wrote."""
        hosts = [name for role in ROLES for name in self.inventory.require(role)]
        with Session(self.inventory, hosts) as self._session:
            facts, findings = preflight(self._session, disk_bytes=int(self.profile.disk_gb * 1e9))
            self._program = self.client.require_program("sysbench", package="sysbench")
            version = self.client.run([self._program, "--version"]).stdout.strip()
            self._install()
            try:
                yield {"hosts": facts, "findings": [f.as_dict() for f in findings], "load_generator": version}
            finally:
                self._stop()

    def _install(self) -> None:
        self._upstream = BinlogMariaDB(self._session, self.profile)
        self._target = TiDB(self._session, self.profile)
        self._dm = DM(self._session, self._upstream.endpoints()[0], self._target.endpoints()[0])
        for system in (self._upstream, self._target, self._dm):
            system.install()

    def begin(self, block: Sequence[Trial], say: Callable[[str], None]) -> dict[str, Any]:
        """Upstream with its prepared data, an empty target, and nothing of DM: whatever ran or broke before."""
        say("removing what DM left, and bringing upstream and target to their starting state")
        self._dm.stop()
        self._dm.wipe()
        self._start_upstream(say)
        self._target.refresh(None)
        return {system.name: vars(system.about()) for system in (self._upstream, self._target, self._dm)}

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        """One task. Raises TaskPaused with DM's own words, and RowsDiffer when source and target are not the same."""
        task = self._task(trial)
        self._fresh(trial)
        measured = self._sync(trial, task, on_rate) if trial.cell.table in SYNC else self._full(trial, task, on_rate)
        self._clean()
        return measured

    def expected_s(self, trial: Trial) -> float:
        return 2.0 * self.time_s + self.profile.dm.settle_s if trial.cell.table in SYNC else 5.0

    # -- states -------------------------------------------------------------------------------------------------

    @property
    def client(self) -> RemoteHost:
        """The host that drives the upstream load."""
        return self._session.with_role("client")[0]

    def _start_upstream(self, say: Callable[[str], None]) -> None:
        dataset = digest([self._upstream.identity, self.databases, self.seed])
        self._upstream.stop()
        if not self._upstream.has(dataset):
            self._upstream.refresh(None)
            for database, rows in self.databases.kept.items():
                say(f"preparing {database}: {self.databases.tables} tables of {rows:,} rows, once for this dataset")
                self._prepare(database, rows)
            self._upstream.forget_binlog()
            self._upstream.stop()
            self._upstream.keep(dataset)
        else:
            self._upstream.reset(dataset)
        self._upstream.start()
        self._upstream.ready()

    def _prepare(self, database: str, rows: int) -> None:
        """Fill a database of the upstream anew, and count what is in it."""
        endpoint, dataset = self._upstream.endpoints()[0], self._dataset(database, rows)
        query(self.client, endpoint, f"DROP DATABASE IF EXISTS `{database}`")
        query(self.client, endpoint, f"CREATE DATABASE `{database}`")
        threads = self.profile.sysbench.prepare_threads
        command = sysbench.prepare(self._program, endpoint, dataset, threads=threads, seed=self.seed)
        job = self._session.start(self.client, "prepare", command)
        ended = job.wait()
        self._session.forget(job)
        check_end(ended, job.stdout().decode(errors="replace") + job.stderr())
        job.remove()
        for table in range(1, dataset.tables + 1):
            ((count,),) = query(self.client, endpoint, f"SELECT COUNT(*) FROM sbtest{table}", database=database)
            if count != rows:
                raise SystemFailed(f"after prepare, {database}.sbtest{table} holds {count} rows, not {rows}")

    def _dataset(self, database: str, rows: int) -> sysbench.Dataset:
        return sysbench.Dataset(self.databases.tables, rows, database)

    def _fresh(self, trial: Trial) -> None:
        """DM as new: no task, no relay log, no meta schema, an empty target; the binlog begins with the trial."""
        self._dm.stop()
        self._dm.wipe()
        self._empty_target()
        self._check_disk(trial)
        if trial.cell.table in SYNC:
            self._prepare(self.databases.sync, self.databases.sync_rows)
        self._upstream.forget_binlog()
        self._dm.start()
        self._dm.ready()

    def _empty_target(self) -> None:
        endpoint = self._target.endpoints()[0]
        for database in (*self.databases.kept, self.databases.sync, "dm_meta"):
            query(self._target.hosts[0], endpoint, f"DROP DATABASE IF EXISTS `{database}`")

    def _check_disk(self, trial: Trial) -> None:
        needed, free = self._disk_bytes(trial), self._dm.free_bytes()
        if free < needed:
            raise HostUnusable(
                f"too little disk for dumps and relay log on host {self._dm.worker.name}: the trial may need "
                f"{needed / 1e9:.1f} GB", file=self.inventory.file, key=f"hosts.{self._dm.worker.name}.workdir",
                value=f"{free / 1e9:.1f} GB free", fix="free some, name another folder, or offer a lower rate",
            )  # fmt: skip

    def _disk_bytes(self, trial: Trial) -> int:
        """At most: the dump, and for a sync the relay log of the fastest upstream."""
        database = self.databases.of(trial.cell.table)
        dumped = self.databases.rows(database) * self.databases.tables * DUMP_ROW_B
        per_s = self.rate * 4 or FASTEST_ROWS_S
        return dumped + (self.time_s * per_s * BINLOG_ROW_B if trial.cell.table in SYNC else 0)

    def _clean(self) -> None:
        """What the trial wrote goes at its end, not only when the next begins."""
        self._dm.stop()
        self._dm.wipe()
        self._empty_target()

    def _stop(self) -> None:
        self._dm.stop()
        self._dm.wipe()
        self._target.stop()
        self._upstream.stop()

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
        dump, load = (dm_log.finished(text, TASK, unit) for unit in ("Dump", "Load"))
        counted = self._dm.worker.shell(dm_dump.count_command(quote([task.dumped_data])), timeout=600).stdout
        samples = {name: self._of(scraped, name) for name in ("dm", "tidb")}
        around = prometheus.between(samples["tidb"], load.began - self.profile.dm.sample_s, ended)
        summary = dm_summary.of_full(
            samples["dm"], around, dump_s=dump.seconds or 0.0, load_s=load.seconds or 0.0,
            load_bytes=status.load_bytes or 0, rows_per_statement=dm_dump.rows_per_statement(counted),
        )  # fmt: skip
        loaded = pd.DataFrame(progress, columns=["t", "value"]).assign(
            host=self._dm.worker.name, source="dm", metric="loaded_bytes", unit="B"
        )
        return Measurement(
            command="dm-ctl start-task task.yaml", client=self.client.name, started=started, ended=ended,
            exit_status=None, summary=summary, histogram=[], output=dm_config.redacted(task),
            proof=self._proof(trial, watched, scraped, f"dumped_data.{TASK}"),
            series=self._series(watched, samples, loaded),
        )  # fmt: skip

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
            command=command, client=self.client.name, started=began, ended=finished, exit_status=ended.exit,
            summary=summary, histogram=output.histogram, output=f"{text}\n{dm_config.redacted(task)}",
            proof={**self._proof(trial, watched, scraped, "relay_log"), **self._checkpoint()},
            series=self._series(watched, samples, *rows),
        )  # fmt: skip

    def _settle(self) -> None:
        """Let the sync idle, watched, as long as the profile says."""
        until = time.monotonic() + self.profile.dm.settle_s
        while time.monotonic() < until:
            self._look()
            time.sleep(1.0)

    def _load(self, trial: Trial, on_rate: Callable[[float, float], None]) -> tuple[str, Ended, str]:
        """Drive the upstream; a task that pauses meanwhile ends the load at once. Returns command, end and output."""
        levels, dataset = trial.cell.levels, self._dataset(self.databases.sync, self.databases.sync_rows)
        load = sysbench.Load(
            str(levels["workload"]), int(levels["threads"]), self.time_s, dataset, 1, self.rate, self.options
        )
        command = sysbench.run(self._program, self._upstream.endpoints(), load)
        job = self._session.start(self.client, "sysbench", command)
        reader = Lines(on_rate)

        def follow(data: bytes) -> None:
            reader(data)
            self._look()

        try:
            ended = job.wait(on_output=follow, every_s=0.1)
        except BenchbookError:
            self._session.end(job)
            raise
        self._session.forget(job)
        text, complaint = reader.text, job.stderr()
        job.remove()
        self._look()
        check_end(ended, text + complaint)
        return " ".join(map(str, command.argv)).replace("{job}/", ""), ended, text + complaint

    def _drain(self, ended: Ended) -> None:
        """Return once DM has read up to the upstream's end and applied all it read. Raises WorkloadFailed if never."""
        upstream, until = self._upstream.position(), time.monotonic() + self.profile.dm.drain_s
        while not self._drained(upstream):
            self._look()
            if time.monotonic() > until:
                raise WorkloadFailed(f"DM has not caught up {self.profile.dm.drain_s} s after the load's end")
            time.sleep(0.2)

    def _drained(self, upstream: Position) -> bool:
        address, _, port = self._dm.address(WORKER).partition(":")
        try:
            text = Door(self._dm.worker, address, int(port)).ask("/metrics").body
        except UNANSWERED:
            return False  # a busy worker breaks off now and then; one that has died is found by _look
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
            *map(host_probe, machines.values()),
            mysql_probe(upstream, self._upstream.endpoints()[0], upstream.name),
        ]
        tidb = self._target.hosts[0]
        status = f"http://{tidb.address}:{self._target.settings.status_port or 10080}/metrics"
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
        return pd.concat([part for part in parts if len(part)], ignore_index=True)[series.COLUMNS]

    def _until(
        self, holds: Callable[[Status], bool], progress: list[tuple[float, float]] | None = None,
        on_rate: Callable[[float, float], None] = lambda *_: None,
    ) -> Status:  # fmt: skip
        """The first status for which `holds`; notes bytes loaded so far. Raises what stops the task."""
        began = time.monotonic()
        while True:
            status = self._look()
            if progress is not None and status.loaded_bytes is not None:
                progress.append((time.time(), float(status.loaded_bytes)))
                seconds = max(0.1, time.monotonic() - began)
                on_rate(seconds, status.loaded_bytes / dm_summary.MIB / seconds)
            if holds(status):
                return status
            time.sleep(0.1)

    def _look(self) -> Status:
        """The task's status; if it failed, DM's own words and which server has died."""
        try:
            status = self._dm.status(TASK)
        except (TaskPaused, CommandRefused, SystemFailed) as said:
            died = [each for each in self._died() if each not in str(said)]
            if isinstance(said, TaskPaused):
                raise TaskPaused("; ".join([str(said), *died])) from said
            raise SystemFailed("; ".join([*died, str(said), *self._masters_words()])) from said
        if died := self._died():
            raise self._last_words("; ".join(died))
        return status

    def _died(self) -> list[str]:
        found = []
        for system in (self._upstream, self._target, self._dm):
            try:
                system.check_alive()
            except SystemFailed as problem:
                found.append(str(problem))
        return found

    def _masters_words(self) -> list[str]:
        """What dm-master says of a worker that is gone."""
        try:
            self._dm.ask_master(TASK)
        except SystemFailed as said:
            return [str(said)]
        return []

    def _last_words(self, died: str) -> TrialFailed:
        """A server has died under a task that DM has not paused yet: wait for what DM makes of it."""
        until = time.monotonic() + LAST_WORDS_S
        while time.monotonic() < until:
            try:
                self._dm.status(TASK)
            except TaskPaused as said:
                return TaskPaused(f"{said}; {died}")
            except SystemFailed as said:
                return SystemFailed(f"{died}; {said}")
            time.sleep(0.1)
        return SystemFailed(died)

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
            "tables": [vars(each) for each in evidence], "same": True,
            "disk_bytes": {wrote: self._dm.bytes_in(wrote), "bound": self._disk_bytes(trial),
                           "binlog": self._upstream.binlog_bytes()},
            "probe_cores": {**watched.cores, **scraped.cores},
        }  # fmt: skip


def _jobs(metrics: str, what: str) -> float:
    """Sum over queues and types of the row jobs that were added or finished."""
    found = re.findall(
        rf'^dm_syncer_{what}_jobs_total\{{.*type="(?:insert|update|del)"\}} (\S+)$', metrics, re.MULTILINE
    )
    return sum(map(float, found))


@contextmanager
def _executing(via: RemoteHost, endpoint: SqlEndpoint) -> Iterator[checksum.Execute]:
    with connection(via, endpoint) as link, link.cursor() as cursor:

        def execute(statement: str) -> Sequence[Sequence[Any]]:
            cursor.execute(statement)
            return list(cursor.fetchall())

        yield execute
