"""Trials of DM's reports: one task each, from an untouched upstream to a target that is proved to hold the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from benchbook.campaign.design import Trial
from benchbook.campaign.environment import Environment, SystemDescription
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.progress import TPS
from benchbook.errors import HostUnusable
from benchbook.hosts.agent import Ended
from benchbook.hosts.command_line import quote
from benchbook.hosts.fanout import in_parallel
from benchbook.hosts.host import blaming_disks
from benchbook.hosts.host_facts import survey
from benchbook.hosts.host_models import Json
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.session import Session
from benchbook.hosts.tuning import reach_again
from benchbook.profiles import Profile
from benchbook.reports.dm import dm_log
from benchbook.reports.dm.outcome import DmOutcome
from benchbook.reports.dm.pipeline import UPSTREAM, Pipeline, TaskWatch, observing
from benchbook.reports.dm.task import LADDER, SYNC, TASK, Databases, task_of
from benchbook.systems import dm_config, mysql
from benchbook.systems.dm_server import MASTER, WORKER
from benchbook.workloads import sysbench
from benchbook.workloads.base import Load
from benchbook.workloads.clients import RateReader
from benchbook.workloads.sysbench import Sysbench
from benchbook.workloads.sysbench_output import check_ended, rate_in

ROLES = ("client", "mysql", "tidb", MASTER, WORKER)
# Per row: binlog upstream and its copy in the relay log (five events), and the row's text in a dump.
BINLOG_ROW_B, DUMP_ROW_B = 620, 300
# The fastest upstream load seen here is a tenth of this; it only bounds the disk that a sync may need.
FASTEST_ROWS_S = 100_000
# Of recorded smoke campaigns: seconds that DM takes to begin a sync, to catch up and to stop, and those of a whole dump
# and load.
CATCH_UP_S, FULL_S = 12.0, 20.0


@dataclass
class DmReplication:
    """The experiment; `options` are the report's sysbench options, `upstreams` take turns.

    `pipeline` is the one that runs, while it runs.
    """

    inventory: Inventory
    profile: Profile
    databases: Databases
    options: dict[str, str]
    time_s: int
    rate: int
    seed: int
    ladder_rate: int | None = None
    upstreams: Sequence[str] = ("mysql57",)
    pipeline: Pipeline = field(init=False)
    _pipelines: dict[str, Pipeline] = field(init=False)
    _load_generator: Sysbench = field(init=False)

    # -- the campaign's view ------------------------------------------------------------------------------------

    def hosts(self) -> list[str]:
        return [name for role in ROLES for name in self.inventory.require(role)]

    @contextmanager
    def running(self) -> Iterator[Environment]:
        """Connect, check, install; leaving removes everything that DM wrote."""
        with Session(self.inventory, self.hosts()) as session:
            surveyed = survey(session, disk_gb=self.profile.disk_gb, timed_here=True)
            client = session.with_role("client")[0]
            self._load_generator = Sysbench(self.profile.sysbench, sysbench.option_words(self.options), self.seed)
            version, program = self._load_generator.find(client), self._load_generator.programs[client.name]
            self._pipelines = {
                name: Pipeline(session, self.profile, self.databases, self.seed, program, upstream)
                for name, upstream in mysql.make(self.upstreams, session, self.profile, UPSTREAM).items()
            }
            for pipeline in self._pipelines.values():
                pipeline.install()
            self.pipeline = pipeline
            try:
                yield Environment.of(surveyed, load_generator=version)
            finally:
                session.tidy(self.pipeline.stop)

    def begin(self, block: Sequence[Trial], say: Callable[[str], None]) -> dict[str, SystemDescription]:
        """Upstream with its prepared data, an empty target, and nothing of DM: whatever ran or broke before."""
        reach_again(self.pipeline.session)
        wanted = self._pipelines[block[0].cell.system]
        if wanted is not self.pipeline:
            # Their servers share hosts, and so ports: one upstream at a time.
            self.pipeline.stop()
        self.pipeline = wanted
        self._check_options(block)
        self.pipeline.begin(say)
        return {name: SystemDescription(**vars(about)) for name, about in self.pipeline.about().items()}

    def _check_options(self, block: Sequence[Trial]) -> None:
        """Before data are prepared, of the loads upstream. Raise BadInput."""
        for trial in block:
            if trial.cell.table in SYNC:
                self._load_generator.check_options(self.pipeline.client, str(trial.cell.levels["workload"]))

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        """One task. Raise TaskPaused with DM's own words, and RowsDiffer when source and target are not the same.

        The proof is counts and checksums of every table.
        """
        sync = trial.cell.table in SYNC
        task = self._task(trial)
        self.pipeline.fresh(sync=sync, check_disk=lambda: self._check_disk(trial))
        # Of a target that can write nothing more, DM knows only that its statements are not answered.
        with blaming_disks(self.pipeline.session.hosts.values()):
            measured = (self._sync if sync else self._full)(trial, task, on_rate)
        tables = self.pipeline.prove(self.databases.of(trial.cell.table))
        self.pipeline.clean()
        return replace(measured, proof={"tables": [vars(each) for each in tables], "same": True, **measured.proof})

    def expected_s(self, trial: Trial) -> float:
        return CATCH_UP_S + 2.0 * self.time_s + self.profile.dm.settle_s if trial.cell.table in SYNC else FULL_S

    def rate_unit(self, trial: Trial) -> str:
        """A sync shows the load upstream, a dump and load the bytes loaded."""
        return TPS if trial.cell.table in SYNC else "MiB/s"

    # -- dump and load ------------------------------------------------------------------------------------------

    @property
    def _watch(self) -> TaskWatch:
        return TaskWatch(self.pipeline, self.profile.dm)

    def _task(self, trial: Trial) -> dm_config.Task:
        dm = self.pipeline.dm
        return task_of(trial, self.databases, self.profile.dm, dm.folder, dm.target, dm.dump_program)

    def _full(self, trial: Trial, task: dm_config.Task, on_rate: Callable[[float, float], None]) -> Measurement:
        progress: list[tuple[float, float]] = []
        started = time.time()
        with observing(self.pipeline, self.profile.dm.sample_s) as watched:
            self.pipeline.dm.start_task(task)
            status = self._watch.until(lambda s: s.stage == "Finished", progress, on_rate)
        ended, count = time.time(), dm_log.count_command(quote([task.dumped_data]))
        log, statements, wrote = in_parallel(
            self.pipeline.dm.log,
            lambda: self.pipeline.dm.worker.run(count, timeout=600).stdout,
            lambda: self._on_disk(trial, f"dumped_data.{TASK}"),
        )
        return DmOutcome(task, self._names, started, ended, watched, wrote).full(
            sample_s=self.profile.dm.sample_s,
            load_bytes=status.load_bytes or 0,
            progress=progress,
            log=log,
            statements=statements,
        )

    def _sync(self, trial: Trial, task: dm_config.Task, on_rate: Callable[[float, float], None]) -> Measurement:
        self.pipeline.dm.start_task(task)
        self._watch.until(lambda s: s.unit == "Sync" and s.stage == "Running")
        self._watch.settle()
        started = time.time()
        with observing(self.pipeline, self.profile.dm.sample_s) as watched:
            command, load, printed = self._load(trial, on_rate)
            self._watch.drain()
            ended = time.time()
        outcome = DmOutcome(task, self._names, started, ended, watched, self._on_disk(trial, "relay_log"))
        return outcome.sync(command=command, load=load, printed=printed)

    @property
    def _names(self) -> dict[str, str]:
        """Which host is what, for a record's series."""
        client, worker, target = self.pipeline.client, self.pipeline.dm.worker, self.pipeline.target.hosts[0]
        return {"client": client.name, "dm": worker.name, "tidb": target.name}

    # -- sync ---------------------------------------------------------------------------------------------------

    def _load(self, trial: Trial, on_rate: Callable[[float, float], None]) -> tuple[str, Ended, str]:
        """Drive the upstream; a task that pauses meanwhile ends the load at once. Return command, end and output."""
        levels, dataset = trial.cell.levels, self.pipeline.dataset(self.databases.sync, self.databases.sync_rows)
        load = Load(levels, int(levels["threads"]), self.time_s, self._rate(trial))
        ends = self.pipeline.upstream.endpoints()
        command = sysbench.run(self.pipeline.program, ends, dataset, load, self.options)
        reader = RateReader(rate_in, on_rate)

        def follow(data: bytes) -> None:
            reader(data)
            self._watch.look()

        with ExitStack() as stack:
            following = self.pipeline.session.following(self.pipeline.client, "sysbench", command)
            job = stack.enter_context(following)
            ended = job.wait(on_output=follow, every_s=0.1, expected_s=self.time_s)
            text, complaint = reader.text, job.stderr()
        self._watch.look()
        check_ended(ended, text + complaint)
        return command.typed, ended, text + complaint

    def _rate(self, trial: Trial) -> int:
        """Offered upstream, transactions/s; 0 is a closed loop."""
        ladder = trial.cell.table == LADDER and self.ladder_rate is not None
        return (self.ladder_rate or 0) if ladder else self.rate

    # -- disk ---------------------------------------------------------------------------------------------------

    def _on_disk(self, trial: Trial, wrote: str) -> Json:
        """Return what the trial had on disk: in a folder of DM's, and in the upstream's binlog."""
        written, logged = in_parallel(
            lambda: self.pipeline.dm.bytes_in(wrote), lambda: mysql.binlog_bytes(self.pipeline.upstream)
        )
        return {"disk_bytes": {wrote: written, "bound": self._disk_bytes(trial), "binlog": logged}}

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
        per_s = self._rate(trial) * 4 or FASTEST_ROWS_S
        return dumped + (self.time_s * per_s * BINLOG_ROW_B if trial.cell.table in SYNC else 0)
