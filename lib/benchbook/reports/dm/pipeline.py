"""Upstream, DM and target: how the three get to the state that a trial starts from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeVar

from benchbook.campaign.design import digest
from benchbook.errors import SystemFailed, TrialFailed
from benchbook.hosts.endpoint import at
from benchbook.hosts.fanout import together
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.probes.probe import make, of_others, of_profile
from benchbook.probes.scrape import Scraped, Target, scraping
from benchbook.probes.watch import Watched, watching
from benchbook.profiles import Profile
from benchbook.reports.dm import dm_summary
from benchbook.reports.dm.checksum import EqualRows, KeptRows
from benchbook.reports.dm.task import Databases
from benchbook.systems import mysql
from benchbook.systems.base import About, System
from benchbook.systems.dm_config import META
from benchbook.systems.dm_server import DM
from benchbook.systems.mysql import MysqlServer, Purpose
from benchbook.systems.sql import executing, queries
from benchbook.systems.statements import reading_s
from benchbook.systems.tidb import TiDB
from benchbook.workloads import sysbench
from benchbook.workloads.sysbench_output import check_ended

UPSTREAM = Purpose(
    binlog="mysql-bin",
    published="MySQL 5.7",
    identity="-row-binlog",
    called=", row binlog",
    notes=("row binlog with one flush per commit group, and one flush of the redo log per commit",),
)

# What a trial finds: something of another one; no server or file of DM, and no database in the target; or DM that runs
# for a trial of its kind.
_Stands = Literal["used", "as new", "ready to load", "ready to sync"]


T = TypeVar("T")


def _nothing() -> Any:
    """No rows to prove."""


def _ready_for(*, sync: bool) -> _Stands:
    return "ready to sync" if sync else "ready to load"


@dataclass
class Pipeline:
    """The servers of a DM report on the hosts of a session; `program` is sysbench on the client host."""

    session: Session
    profile: Profile
    databases: Databases
    seed: int
    program: str
    upstream: MysqlServer

    def __post_init__(self) -> None:
        self.target = TiDB(self.session, self.profile)
        self._stands: _Stands = "used"
        self._kept = KeptRows(self.databases.kept)
        flavor = self.upstream.flavor
        self.dm = DM(self.session, self.upstream.endpoints()[0], self.target.endpoints()[0], flavor)

    @property
    def client(self) -> Host:
        """The host that drives the upstream load."""
        return self.session.with_role("client")[0]

    def install(self) -> None:
        """Raises HostUnusable where a program is missing on a host."""
        for system in (self.upstream, self.target, self.dm):
            system.install()

    def about(self) -> dict[str, About]:
        """What the three are, by name."""
        return {system.name: system.about() for system in (self.upstream, self.target, self.dm)}

    def begin(self, say: Callable[[str], None]) -> None:
        """Upstream with its prepared data, an empty target, and nothing of DM: whatever ran or broke before."""
        say("removing what DM left, and bringing upstream and target to their starting state")
        self._stands = "used"
        self._kept.forget()
        self.dm.stop()
        together(self.dm.wipe, lambda: self._start_upstream(say), self._start_target)
        self._stands = "as new"

    def fresh(self, *, sync: bool, check_disk: Callable[[], None]) -> None:
        """DM as new: no task, no relay log, no checkpoint, an empty target; the binlog begins with the trial."""
        if self._stands != _ready_for(sync=sync):
            if self._stands != "as new":
                self.clean()
            self._stands = "used"
            if sync:
                self._fill_sync()
            self._start_dm()
        self._stands = "used"
        together(check_disk, self.dm.ready)

    def clean(self, *, then: bool | None = None, prove: Callable[[], T] = _nothing) -> T:
        """What a trial wrote goes at its end, not only when the next begins; `prove` reads its rows before they do.

        `then`: whether the next one is a sync, for which DM is started as soon as it may; None where none follows. A
        task begins a second after its worker, however soon it is asked for: dm-worker looks for tasks once a second.
        Returns what `prove` returns, and raises what it raises.
        """
        self._stands = "used"
        with ThreadPoolExecutor(max_workers=5, thread_name_prefix="clean") as pool:
            proving, stopped = pool.submit(prove), pool.submit(self.dm.stop)
            emptied = pool.submit(self._empty, proving.result, stopped.result)
            filled = pool.submit(self._fill_for, then, proving.result)
            renewed = pool.submit(self._renew_dm, then, stopped.result)
        emptied.result()
        self._stands = renewed.result() if filled.result() else "used"
        return proving.result()

    def _empty(self, proved: Callable[[], object], stopped: Callable[[], object]) -> None:
        """The target, once its rows are `proved`.

        DM's own tables stay, without a row: to drop them takes TiDB 0.2 s, and to make them as long in the next trial.
        As it stops DM writes its checkpoint into them: one that is left is where the next task begins, without a dump.
        """
        proved()
        with executing(self.target.hosts[0], self.target.endpoints()[0]) as execute:
            for database in (*self.databases.kept, self.databases.sync):
                execute(f"DROP DATABASE IF EXISTS `{database}`")
            stopped()
            for (table,) in execute(f"SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{META}'"):
                execute(f"DELETE FROM `{META}`.`{table}`")

    def _renew_dm(self, then: bool | None, stopped: Callable[[], object]) -> _Stands:
        stopped()
        self.dm.wipe()
        return "as new" if then is None else _ready_for(sync=then) if _succeeds(self._start_dm) else "used"

    def _start_dm(self) -> None:
        self._kept.begin(mysql.begin_binlog_anew(self.upstream))
        self.dm.start()

    def _fill_for(self, then: bool | None, proved: Callable[[], object]) -> bool:
        """Whether the next one, if it is a sync, finds its rows: they take the place of those that are `proved`."""
        proved()
        return _succeeds(self._fill_sync) if then else True

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
        """The last words of each server that has ended although nobody asked it to."""
        found = []
        for system in (self.upstream, self.target, self.dm):
            try:
                system.check_alive()
            except SystemFailed as problem:
                found.append(str(problem))
        return found

    def upstream_untouched(self) -> bool:
        """Whether nothing was written to the upstream since the trial began; asked before the next one's begins."""
        return self._kept.untouched(mysql.binlog_position(self.upstream))

    def prove(self, database: str, *, untouched: bool) -> EqualRows:
        """Counts and checksums of every table, source against target; whether the trial left the upstream `untouched`.

        Raises RowsDiffer.
        """
        takes_s = reading_s(self.databases.rows(database))
        source, target = (
            partial(executing, system.hosts[0], system.endpoints()[0], timeout_s=takes_s)
            for system in (self.upstream, self.target)
        )
        return self._kept.prove(source, target, database, untouched=untouched)

    def dataset(self, database: str, rows: int) -> sysbench.Dataset:
        """The tables of one of the upstream's databases."""
        return sysbench.Dataset(self.databases.tables, rows, database)

    def _start_upstream(self, say: Callable[[str], None]) -> None:
        def fill() -> None:
            pattern = {self.databases.sync_pattern: self.databases.sync_rows}
            for database, rows in (self.databases.kept | pattern).items():
                say(f"preparing {database}: {self.databases.tables} tables of {rows:,} rows, once for this dataset")
                self._prepare(database, rows)
            mysql.begin_binlog_anew(self.upstream)

        _start_from(self.upstream, digest([self.upstream.identity, self.databases, self.seed]), fill)

    def _start_target(self) -> None:
        """Without any database: a TiDB that makes its own tables takes two seconds longer than one that has them."""
        _start_from(self.target, digest([self.target.identity, "empty"]), lambda: None)

    def _prepare(self, database: str, rows: int) -> None:
        """Fill a database of the upstream anew, and count what is in it."""
        endpoint, dataset = self.upstream.endpoints()[0], self.dataset(database, rows)
        queries(self.client, endpoint, [f"DROP DATABASE IF EXISTS `{database}`", f"CREATE DATABASE `{database}`"])
        threads = self.profile.sysbench.prepare_threads
        command = sysbench.prepare(self.program, endpoint, dataset, threads=threads, seed=self.seed)
        with self.session.following(self.client, "prepare", command) as job:
            ended = job.wait()
            printed = job.stdout().decode(errors="replace") + job.stderr()
        check_ended(ended, printed, f"sysbench prepare on {self.client.name}")
        counts = [f"SELECT COUNT(*) FROM sbtest{table}" for table in range(1, dataset.tables + 1)]
        found = queries(self.client, endpoint, counts, database=database, timeout_s=reading_s(rows))
        for table, ((count,),) in enumerate(found, 1):
            if count != rows:
                raise SystemFailed(f"after prepare, {database}.sbtest{table} holds {count} rows, not {rows}")


def _succeeds(start: Callable[[], None]) -> bool:
    """Whether it could be done. The trial that is over has its figures: the next one tries again, and says why not."""
    try:
        start()
    except TrialFailed:
        return False
    return True


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


def machines_every_s(sample_s: float) -> float:
    """How often machines are sampled, where DM and TiDB are every `sample_s`.

    A dump and load may be over in a second: one sample of it is as much of the quiet around it.
    """
    return sample_s / 2


@contextmanager
def observing(pipeline: Pipeline, sample_s: float) -> Iterator[tuple[Watched, Scraped]]:
    """Watch the machines and the upstream, scrape DM and TiDB every `sample_s`, while the block runs."""
    upstream, worker, tidb = pipeline.upstream.hosts[0], pipeline.dm.worker, pipeline.target.hosts[0]
    machines = {host.name: host for host in (pipeline.client, upstream, worker, tidb)}
    ends = ((upstream, pipeline.upstream.endpoints()[0]), (tidb, pipeline.target.endpoints()[0]))
    servers = [(host, end, host.name) for host, end in ends]
    probes = [
        *(make("host", host, every_s=machines_every_s(sample_s)) for host in machines.values()),
        *of_others(machines.values()),
        make("mysql", upstream, pipeline.upstream.endpoints()[0]),
        *of_profile(pipeline.profile.probes, machines.values(), servers),
    ]
    status = f"http://{at(tidb.address, pipeline.target.status_port)}/metrics"
    targets = [
        Target(worker, "dm", pipeline.dm.metrics_url, dm_summary.DM_MATCH),
        Target(tidb, "tidb", status, dm_summary.TIDB_MATCH),
    ]
    with ExitStack() as stack:
        watched = stack.enter_context(watching(pipeline.session, probes))
        scraped = stack.enter_context(scraping(pipeline.session, targets, sample_s))
        yield watched, scraped
