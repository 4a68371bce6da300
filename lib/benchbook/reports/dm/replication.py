"""Trials of DM's reports: one task each, from an untouched upstream to a target that is proved to hold the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from benchbook.campaign.design import Trial
from benchbook.campaign.environment import Environment, SystemDescription
from benchbook.campaign.experiment import Experiment, Measurement
from benchbook.campaign.progress import TPS
from benchbook.hosts.agent import Ended
from benchbook.hosts.command_line import quote
from benchbook.hosts.fanout import in_parallel
from benchbook.hosts.host import blaming_disks
from benchbook.hosts.host_facts import survey
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.session import Session
from benchbook.hosts.tuning import reach_again
from benchbook.profiles import Profile
from benchbook.reports.dm import dm_log
from benchbook.reports.dm.outcome import DmOutcome
from benchbook.reports.dm.pipeline import UPSTREAM, Pipeline
from benchbook.reports.dm.task import LADDER, SYNC, Databases, task_of
from benchbook.systems import dm_config, mysql
from benchbook.systems.dm_server import MASTER, WORKER
from benchbook.workloads.base import Load
from benchbook.workloads.clients import DistributedLoad
from benchbook.workloads.sysbench import Sysbench

ROLES = ("client", "mysql", "tidb", MASTER, WORKER)
# Of recorded smoke campaigns: seconds that DM takes to begin a sync, to catch up and to stop, and those of a whole dump
# and load.
CATCH_UP_S, FULL_S = 12.0, 20.0


@dataclass
class DmReplication(Experiment):
    """The experiment; `generator` drives an upstream, with the report's options; `upstreams` take turns.

    `pipeline` is the one that runs, while it runs.
    """

    inventory: Inventory
    profile: Profile
    databases: Databases
    generator: Sysbench
    time_s: int
    rate: int
    ladder_rate: int | None = None
    upstreams: Sequence[str] = ("mysql57",)
    pipeline: Pipeline = field(init=False)
    _pipelines: dict[str, Pipeline] = field(init=False)

    # -- the campaign's view ------------------------------------------------------------------------------------

    def hosts(self) -> list[str]:
        return [name for role in ROLES for name in self.inventory.require(role)]

    @contextmanager
    def running(self) -> Iterator[Environment]:
        """Connect, check, install; leaving removes everything that DM wrote."""
        with Session(self.inventory, self.hosts()) as session:
            surveyed = survey(session, disk_gb=self.profile.disk_gb, timed_here=True)
            client = session.with_role("client")[0]
            version = self.generator.find(client)
            self._pipelines = {
                name: Pipeline(session, self.profile, self.databases, self.generator, upstream)
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
        # Before data are prepared, of the loads upstream.
        for trial in block:
            if trial.cell.table in SYNC:
                self.generator.check_options(self.pipeline.client, str(trial.cell.levels["workload"]))
        self.pipeline.begin(say)
        return {name: SystemDescription(**vars(about)) for name, about in self.pipeline.about().items()}

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        """One task. Raise TaskPaused with DM's own words, and RowsDiffer when source and target are not the same.

        The proof is counts and checksums of every table.
        """
        sync = trial.cell.table in SYNC
        dm = self.pipeline.dm
        task = task_of(trial, self.databases, self.profile.dm, dm.folder, dm.target, dm.dump_program)
        self.pipeline.fresh(sync=sync)
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

    def _full(self, trial: Trial, task: dm_config.Task, on_rate: Callable[[float, float], None]) -> Measurement:
        progress: list[tuple[float, float]] = []
        started = time.time()
        with self.pipeline.observing() as watched:
            self.pipeline.dm.start_task(task)
            status = self.pipeline.until(lambda s: s.stage == "Finished", progress, on_rate)
        ended, count = time.time(), dm_log.count_command(quote([task.dumped_data]))
        log, statements = in_parallel(
            self.pipeline.dm.log, lambda: self.pipeline.dm.worker.run(count, timeout=600).stdout
        )
        return DmOutcome(task, self._names, started, ended, watched).full(
            sample_s=self.profile.dm.sample_s,
            load_bytes=status.load_bytes or 0,
            progress=progress,
            log=log,
            statements=statements,
        )

    def _sync(self, trial: Trial, task: dm_config.Task, on_rate: Callable[[float, float], None]) -> Measurement:
        self.pipeline.dm.start_task(task)
        self.pipeline.until(lambda s: s.unit == "Sync" and s.stage == "Running")
        self.pipeline.settle()
        started = time.time()
        with self.pipeline.observing() as watched:
            command, load, printed = self._load(trial, on_rate)
            self.pipeline.drain()
            ended = time.time()
        return DmOutcome(task, self._names, started, ended, watched).sync(command=command, load=load, printed=printed)

    @property
    def _names(self) -> dict[str, str]:
        """Which host is what, for a record's series."""
        client, worker, target = self.pipeline.client, self.pipeline.dm.worker, self.pipeline.target.hosts[0]
        return {"client": client.name, "dm": worker.name, "tidb": target.name}

    # -- sync ---------------------------------------------------------------------------------------------------

    def _load(self, trial: Trial, on_rate: Callable[[float, float], None]) -> tuple[str, Ended, str]:
        """Drive the upstream; a task that pauses meanwhile ends the load at once. Return command, end and output."""
        generator, client = self.pipeline.filling(self.databases.sync, self.databases.sync_rows), self.pipeline.client
        # Offered upstream, transactions/s; 0 is a closed loop.
        rate = self.rate if self.ladder_rate is None or trial.cell.table != LADDER else self.ladder_rate
        load = Load(trial.cell.levels, int(trial.cell.levels["threads"]), self.time_s, rate)
        command = generator.command(client, self.pipeline.upstream.endpoints(), load)

        def seen(second: float, rate: float) -> None:
            on_rate(second, rate)
            self.pipeline.look()

        upstream = DistributedLoad(self.pipeline.session, generator.name, [(client, command)], generator.rate_in)
        (ran,) = upstream.wait(seen, expected_s=self.time_s)
        self.pipeline.look()
        generator.check(ran)
        return command.typed, ran.ended, ran.text + ran.complaint
