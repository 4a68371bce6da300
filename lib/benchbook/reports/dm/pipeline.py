"""Upstream, DM and target: how the three get to the state that a trial starts from."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass
from functools import partial

from benchbook.campaign.design import digest
from benchbook.errors import SystemFailed, TrialFailed, WorkloadFailed
from benchbook.hosts.endpoint import at
from benchbook.hosts.fanout import in_parallel
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.probes.probe import make, of_others, of_profile, of_prometheus
from benchbook.probes.watch import Watched, watching
from benchbook.profiles import Profile
from benchbook.reports.dm import checksum, dm_summary
from benchbook.reports.dm.checksum import TableProof
from benchbook.reports.dm.task import TASK, Databases
from benchbook.reports.driving import StallDetector
from benchbook.systems import mysql
from benchbook.systems.base import About, System
from benchbook.systems.dm_config import META
from benchbook.systems.dm_server import DM, CommandRefused, Status, TaskPaused
from benchbook.systems.mysql import BinlogPosition, MysqlServer, Purpose
from benchbook.systems.sql import executing, queries
from benchbook.systems.statements import reading_s
from benchbook.systems.tidb import TiDB
from benchbook.workloads.sysbench import Sysbench

UPSTREAM = Purpose(
    binlog="mysql-bin",
    published="MySQL 5.7",
    identity="-row-binlog",
    called=", row binlog",
    notes=("row binlog with one flush per commit group, and one flush of the redo log per commit",),
)


# How long DM is waited for to say itself what a dead server did to its task.
LAST_WORDS_S = 15.0
_SYNCER = re.compile(r'^dm_syncer_binlog_(file|pos)\{node="syncer",task="\w+"\} (\S+)$', re.MULTILINE)


@dataclass
class Pipeline:
    """The servers of a DM report on the hosts of a session; `generator` is found on the client host."""

    session: Session
    profile: Profile
    databases: Databases
    generator: Sysbench
    upstream: MysqlServer

    def __post_init__(self) -> None:
        self.target = TiDB(self.session, self.profile)
        # Neither a server or file of DM, nor a database in the target.
        self._is_clean = False
        flavor = self.upstream.flavor
        self.dm = DM(self.session, self.upstream.endpoints()[0], self.target.endpoints()[0], flavor)

    @property
    def client(self) -> Host:
        """The host that drives the upstream load."""
        return self.session.with_role("client")[0]

    def install(self) -> None:
        """Raise HostUnusable where a program is missing on a host."""
        for system in (self.upstream, self.target, self.dm):
            system.install()

    def about(self) -> dict[str, About]:
        """Return what the three are, by name."""
        return {system.name: system.about() for system in (self.upstream, self.target, self.dm)}

    def begin(self, say: Callable[[str], None]) -> None:
        """Upstream with its prepared data, an empty target, and nothing of DM: whatever ran or broke before."""
        say("removing what DM left, and bringing upstream and target to their starting state")
        self._is_clean = False
        self.dm.stop()
        # Without any database: a TiDB that makes its own tables takes two seconds longer than one that has them.
        empty = digest([self.target.identity, "empty"])
        start_target = partial(_start_from, self.target, empty, lambda: None)
        in_parallel(self.dm.wipe, lambda: self._start_upstream(say), start_target)
        self._is_clean = True

    def fresh(self, *, sync: bool) -> None:
        """DM as new: no task, no relay log, no checkpoint, an empty target; the binlog begins with the trial."""
        if not self._is_clean:
            self.clean()
        self._is_clean = False
        if sync:
            self._fill_sync()
        mysql.begin_binlog_anew(self.upstream)
        self.dm.start()
        self.dm.ready()

    def clean(self) -> None:
        """Remove what a trial wrote: at its end, not only when the next begins."""
        self.dm.stop()
        in_parallel(self.dm.wipe, self._empty)
        self._is_clean = True

    def _empty(self) -> None:
        """Drop the target's databases, once DM has stopped.

        DM's own tables stay, without a row: to drop them takes TiDB 0.2 s, and to make them as long in the next trial.
        As it stops DM writes its checkpoint into them: one that is left is where the next task begins, without a dump.
        """
        with executing(self.target.hosts[0], self.target.endpoints()[0]) as execute:
            for database in (*self.databases.kept, self.databases.sync):
                execute(f"DROP DATABASE IF EXISTS `{database}`")
            for (table,) in execute(f"SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{META}'"):
                execute(f"DELETE FROM `{META}`.`{table}`")

    def _fill_sync(self) -> None:
        """What a sync starts from, copied from where it was prepared; not logged: DM may be up with a new binlog."""
        tables = [f"sbtest{number}" for number in range(1, self.databases.tables + 1)]
        database, pattern = self.databases.sync, self.databases.sync_pattern
        takes_s = reading_s(self.databases.sync_rows)
        with executing(self.upstream.hosts[0], self.upstream.endpoints()[0], timeout_s=takes_s) as execute:
            for statement in (
                "SET sql_log_bin = 0",
                f"DROP DATABASE IF EXISTS `{database}`",
                f"CREATE DATABASE `{database}`",
            ):
                execute(statement)
            for table in tables:
                execute(f"CREATE TABLE `{database}`.`{table}` LIKE `{pattern}`.`{table}`")
                execute(f"INSERT INTO `{database}`.`{table}` SELECT * FROM `{pattern}`.`{table}`")
                ((count,),) = execute(f"SELECT COUNT(*) FROM `{database}`.`{table}`")
                if count != self.databases.sync_rows:
                    raise SystemFailed(f"{database}.{table} holds {count} rows, not {self.databases.sync_rows}")

    def stop(self) -> None:
        """End all three, and remove everything that DM wrote; the others' data is restored or removed by `begin`."""
        self.dm.stop()
        self.dm.wipe()
        self.target.discard()
        self.upstream.discard()

    def died(self) -> list[str]:
        """Return the last words of each server that has ended although nobody asked it to."""
        found = []
        for system in (self.upstream, self.target, self.dm):
            try:
                system.check_alive()
            except SystemFailed as problem:
                found.append(str(problem))
        return found

    def prove(self, database: str) -> list[TableProof]:
        """Return counts and checksums of every table, source against target. Raise RowsDiffer."""
        takes_s = reading_s(self.databases.rows(database))
        source, target = (
            partial(executing, system.hosts[0], system.endpoints()[0], timeout_s=takes_s)
            for system in (self.upstream, self.target)
        )
        return checksum.prove(source, target, database)

    def filling(self, database: str, rows: int) -> Sysbench:
        """Return the generator with the tables of one of the upstream's databases."""
        made = copy(self.generator)
        made.database = database
        made.size = made.size.model_copy(update={"tables": self.databases.tables, "table_size": rows})
        return made

    def _start_upstream(self, say: Callable[[str], None]) -> None:
        def fill() -> None:
            pattern = {self.databases.sync_pattern: self.databases.sync_rows}
            for database, rows in (self.databases.kept | pattern).items():
                # Of one that broke off, tables may be there.
                queries(self.client, self.upstream.endpoints()[0], [f"DROP DATABASE IF EXISTS `{database}`"])
                self.filling(database, rows).prepare(self.session, self.client, self.upstream, say)
            mysql.begin_binlog_anew(self.upstream)

        _start_from(self.upstream, digest([self.upstream.identity, self.databases, self.generator.seed]), fill)

    # -- a task, watched ----------------------------------------------------------------------------------------

    def observing(self) -> AbstractContextManager[Watched]:
        """Watch the machines and the upstream, scrape DM and TiDB every `sample_s`, while the block runs."""
        sample_s = self.profile.dm.sample_s
        upstream, worker, tidb = self.upstream.hosts[0], self.dm.worker, self.target.hosts[0]
        machines = {host.name: host for host in (self.client, upstream, worker, tidb)}
        ends = ((upstream, self.upstream.endpoints()[0]), (tidb, self.target.endpoints()[0]))
        servers = [(host, end, host.name) for host, end in ends]
        status = f"http://{at(tidb.address, self.target.status_port)}/metrics"
        probes = [
            # A dump and load may be over in a second: one sample of its machines is as much of the quiet around it.
            *(make("host", host, every_s=sample_s / 2) for host in machines.values()),
            *of_others(machines.values()),
            make("mysql", upstream, self.upstream.endpoints()[0]),
            of_prometheus(worker, "dm", self.dm.metrics_url, dm_summary.DM_MATCH, every_s=sample_s),
            of_prometheus(tidb, "tidb", status, dm_summary.TIDB_MATCH, every_s=sample_s),
            *of_profile(self.profile.probes, machines.values(), servers),
        ]
        return watching(self.session, probes)

    def until(
        self,
        holds: Callable[[Status], bool],
        progress: list[tuple[float, float]] | None = None,
        on_rate: Callable[[float, float], None] = lambda *_: None,
    ) -> Status:
        """Return the first status for which `holds`; notes bytes loaded so far. Raise what stops the task."""
        began = time.monotonic()
        patience = StallDetector("DM's task", self.profile.dm.stall_s, lambda: self.dm.bytes_in(f"dumped_data.{TASK}"))
        while True:
            status = self.look()
            if progress is not None and status.loaded_bytes is not None:
                progress.append((time.time(), float(status.loaded_bytes)))
                seconds = max(0.1, time.monotonic() - began)
                on_rate(seconds, status.loaded_bytes / dm_summary.MIB / seconds)
            if holds(status):
                return status
            patience.see(status.where)
            time.sleep(0.1)

    def settle(self) -> None:
        """Let the sync idle, watched, as long as the profile says."""
        until = time.monotonic() + self.profile.dm.settle_s
        while time.monotonic() < until:
            self.look()
            time.sleep(1.0)

    def drain(self) -> None:
        """Return once DM has read up to the upstream's end and applied all it read. Raise WorkloadFailed if never."""
        drain_s = self.profile.dm.drain_s
        upstream, until = mysql.binlog_position(self.upstream), time.monotonic() + drain_s
        while not self._drained(upstream):
            self.look()
            if time.monotonic() > until:
                raise WorkloadFailed(f"DM has not caught up {drain_s} s after the load's end")
            time.sleep(0.2)

    def _drained(self, upstream: BinlogPosition) -> bool:
        text = self.dm.metrics("dm_syncer_")
        at = {kind: float(value) for kind, value in _SYNCER.findall(text)}
        read = (at.get("file"), at.get("pos")) == (float(upstream.file.rpartition(".")[2]), float(upstream.offset))
        return read and _jobs(text, "added") == _jobs(text, "finished")

    def look(self) -> Status:
        """Return the task's status; if it failed, DM's own words and which server has died."""
        try:
            status = self.dm.status()
        except (TaskPaused, CommandRefused, SystemFailed) as said:
            died = [each for each in self.died() if each not in str(said)]
            if isinstance(said, TaskPaused):
                raise TaskPaused("; ".join([str(said), *died])) from said
            raise SystemFailed("; ".join(dict.fromkeys([*died, str(said), *self._masters_words()]))) from said
        if died := self.died():
            raise self._last_words("; ".join(died))
        return status

    def _masters_words(self) -> list[str]:
        """Return what dm-master says of a worker that is gone."""
        try:
            self.dm.ask_worker()
        except SystemFailed as said:
            return [str(said)]
        return []

    def _last_words(self, died: str) -> TrialFailed:
        """A server has died under a task that DM has not paused yet: wait for what DM makes of it."""
        until = time.monotonic() + LAST_WORDS_S
        while time.monotonic() < until:
            try:
                self.dm.status()
            except TaskPaused as said:
                return TaskPaused(f"{said}; {died}")
            except SystemFailed as said:
                return SystemFailed(f"{died}; {said}")
            time.sleep(0.1)
        return SystemFailed(died)


def _start_from(system: System, dataset: str, fill: Callable[[], None]) -> None:
    """Start it with the dataset of this identity; `fill` makes it in an empty one where it is not set aside yet."""
    if system.has(dataset):
        system.refresh(dataset)
        return
    system.refresh(None)
    fill()
    system.stop()
    system.keep(dataset)
    system.start()
    system.ready()


def _jobs(metrics: str, what: str) -> float:
    """Sum over queues and types of the row jobs that were added or finished."""
    found = re.findall(
        rf'^dm_syncer_{what}_jobs_total\{{.*type="(?:insert|update|del)"\}} (\S+)$', metrics, re.MULTILINE
    )
    return sum(map(float, found))
