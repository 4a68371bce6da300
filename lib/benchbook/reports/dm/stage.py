"""The stage of DM's trials: upstream, DM and target, how they get to a starting state, and what ends a task early."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from benchbook.campaign.design import Trial, digest
from benchbook.campaign.environment import Environment, SystemDescription
from benchbook.errors import HostUnusable, SystemFailed, TrialFailed
from benchbook.hosts.host_facts import survey
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.remote_host import RemoteHost
from benchbook.hosts.session import Session
from benchbook.profiles import Profile
from benchbook.reports.dm.task import SYNC, TASK, Databases
from benchbook.systems.dm_server import DM, MASTER, WORKER
from benchbook.systems.dm_status import CommandRefused, Status, TaskPaused
from benchbook.systems.mariadb_binlog import BinlogMariaDB
from benchbook.systems.sql import query
from benchbook.systems.tidb import TiDB
from benchbook.workloads import sysbench
from benchbook.workloads.sysbench_stream import check_end

ROLES = ("client", "mysql", "tidb", MASTER, WORKER)
# Per row: binlog upstream and its copy in the relay log (five events), and the row's text in a dump.
BINLOG_ROW_B, DUMP_ROW_B = 620, 300
# The fastest upstream load seen here is a tenth of this; it only bounds the disk that a sync may need.
FASTEST_ROWS_S = 100_000
# How long DM is waited for to say itself what a dead server did to its task.
LAST_WORDS_S = 15.0


@dataclass
class DmStage:
    """`options` are the report's sysbench options; fields below `seed` live while it runs."""

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

    def hosts(self) -> list[str]:
        return [name for role in ROLES for name in self.inventory.require(role)]

    @contextmanager
    def running(self) -> Iterator[Environment]:
        """Connect, check, install; leaving removes everything that DM wrote."""
        with Session(self.inventory, self.hosts()) as self._session:
            surveyed = survey(self._session, disk_gb=self.profile.disk_gb)
            self._program, version = sysbench.find(self.client)
            self._install()
            try:
                yield Environment.of(surveyed, load_generator=version)
            finally:
                self._stop()

    def _install(self) -> None:
        self._upstream = BinlogMariaDB(self._session, self.profile)
        self._target = TiDB(self._session, self.profile)
        self._dm = DM(self._session, self._upstream.endpoints()[0], self._target.endpoints()[0])
        for system in (self._upstream, self._target, self._dm):
            system.install()

    def begin(self, block: Sequence[Trial], say: Callable[[str], None]) -> dict[str, SystemDescription]:
        """Upstream with its prepared data, an empty target, and nothing of DM: whatever ran or broke before."""
        say("removing what DM left, and bringing upstream and target to their starting state")
        self._dm.stop()
        self._dm.wipe()
        self._start_upstream(say)
        self._target.refresh(None)
        return {
            system.name: SystemDescription(**vars(system.about()))
            for system in (self._upstream, self._target, self._dm)
        }

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
                f"{needed / 1e9:.1f} GB",
                file=self.inventory.file,
                key=f"hosts.{self._dm.worker.name}.workdir",
                value=f"{free / 1e9:.1f} GB free",
                fix="free some, name another folder, or offer a lower rate",
            )

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

    # -- what ends a task early ---------------------------------------------------------------------------------

    def _look(self) -> Status:
        """The task's status; if it failed, DM's own words and which server has died."""
        try:
            status = self._dm.status(TASK)
        except (TaskPaused, CommandRefused, SystemFailed) as said:
            died = [each for each in self._died() if each not in str(said)]
            if isinstance(said, TaskPaused):
                raise TaskPaused("; ".join([str(said), *died])) from said
            raise SystemFailed("; ".join(dict.fromkeys([*died, str(said), *self._masters_words()]))) from said
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
