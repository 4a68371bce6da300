"""Trials of a sysbench report: one workload at one number of threads against one system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pandas as pd

from benchbook import systems
from benchbook.campaign.design import Trial, digest
from benchbook.campaign.early_stop import RateWatcher, both
from benchbook.campaign.environment import Environment, SystemDescription
from benchbook.campaign.experiment import Measurement
from benchbook.campaign.progress import TPS
from benchbook.errors import SystemFailed
from benchbook.hosts.fanout import on_each
from benchbook.hosts.host_facts import survey
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.jobs import Command, Job, remote_program
from benchbook.hosts.remote_host import RemoteHost
from benchbook.hosts.session import Session
from benchbook.probes.watch import Probe, host_probe, mysql_probe, watching
from benchbook.profiles import Profile
from benchbook.stats.stopping import StopRule
from benchbook.systems.base import System
from benchbook.systems.sql import SqlEndpoint, query
from benchbook.workloads import sysbench
from benchbook.workloads.crowd import Crowd, shares
from benchbook.workloads.merging import merged, parse_all, proof_of, series_of
from benchbook.workloads.sysbench_stream import check_end, summarise


@dataclass
class SysbenchOltp:
    """The experiment; `options` are the report's own sysbench options. Fields below `seed` live while it runs."""

    inventory: Inventory
    profile: Profile
    names: list[str]
    options: dict[str, str]
    time_s: int
    rate: int
    seed: int
    stop_rule: StopRule | None = field(default=None, kw_only=True)
    _session: Session = field(init=False)
    _systems: dict[str, System] = field(init=False, default_factory=dict)
    _running: str = field(init=False, default="")
    _programs: dict[str, str] = field(init=False, default_factory=dict)

    # -- the campaign's view ------------------------------------------------------------------------------------

    def hosts(self) -> list[str]:
        return [*self.inventory.require("client"), *systems.check_names(self.names, self.inventory)]

    @contextmanager
    def running(self) -> Iterator[Environment]:
        """Connect, check, install. Raises HostUnusable before anything has been loaded."""
        with Session(self.inventory, self.hosts()) as self._session:
            surveyed = survey(self._session, disk_gb=self.profile.disk_gb)
            version = self._find_sysbench()
            self._systems = {name: systems.make(name, self._session, self.profile) for name in self.names}
            for system in self._systems.values():
                system.install()
            yield Environment.of(surveyed, load_generator=version)
            self._stop()

    def _find_sysbench(self) -> str:
        """Locate sysbench on every client; its version, or versions. Raises HostUnusable where it is missing."""
        found = on_each("looking for sysbench", self.clients, sysbench.find)
        self._programs = {name: program for name, (program, _) in found.items()}
        versions = "; ".join(dict.fromkeys(version for _, version in found.values()))
        return f"{versions}, on {len(found)} hosts together" if len(found) > 1 else versions

    def begin(self, block: Sequence[Trial], say: Callable[[str], None]) -> dict[str, SystemDescription]:
        """The block's system, alone, in the state that the profile's `reset` names."""
        system = self._systems[block[0].cell.system]
        if self._running and self._running != system.name:
            self._stop()
        dataset = self._dataset_identity(system)
        say(f"bringing {system.name} to its starting state")
        if not system.can_reset:
            system.ready()
            self._prepare_in_place(system, dataset, say)
        elif self.profile.reset == "none" and self._running == system.name and self._alive(system):
            return {}
        else:
            self._start_from(system, dataset, say)
        self._running = system.name
        return {system.name: self._about(system)}

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        """Probes, load, parse; a server that died takes the blame before the load generator does."""
        system = self._systems[trial.cell.system]
        with watching(self._session, self._probes(system)) as watched:
            crowd = Crowd(self._session, self.commands(trial))
            watcher = RateWatcher(self.stop_rule, lambda: crowd.stop(sysbench.STOP_FILE)) if self.stop_rule else None
            ran = crowd.wait(both(on_rate, watcher), expected_s=self.time_s)
        system.check_alive()
        outputs = parse_all(ran)
        output = merged(outputs)
        return Measurement(
            command="\n".join(each.command.typed for each in ran),
            client=ran[0].client,
            started=min(each.ended.started for each in ran),
            ended=max(each.ended.ended for each in ran),
            exit_status=0,
            summary=summarise(output),
            histogram=output.histogram,
            output="\n".join(each.text + each.complaint for each in ran),
            proof={
                "probe_cores": watched.cores,
                **proof_of(ran, outputs),
                **({"stopping": watcher.proof()} if watcher else {}),
            },
            series=pd.concat([watched.series, series_of(ran, outputs, output)], ignore_index=True),
        )

    def commands(self, trial: Trial) -> list[tuple[RemoteHost, Command]]:
        """The load of a trial: what is run on each client host; one without a thread, or a rate, is left out."""
        threads = int(trial.cell.levels["threads"])
        clients = self.clients[: min(threads, self.rate or threads)]
        endpoints = self._systems[trial.cell.system].endpoints()
        parts = zip(clients, shares(threads, len(clients)), shares(self.rate, len(clients)), strict=True)
        return [
            (host, sysbench.run(self._programs[host.name], endpoints, self._load(trial, host, threads, rate)))
            for host, threads, rate in parts
        ]

    def expected_s(self, trial: Trial) -> float:
        return float(self.time_s)

    def rate_unit(self, trial: Trial) -> str:
        return TPS

    # -- steps --------------------------------------------------------------------------------------------------

    @property
    def clients(self) -> list[RemoteHost]:
        """The hosts that drive the load together."""
        return self._session.with_role("client")

    @property
    def client(self) -> RemoteHost:
        """The one of them that prepares the data and asks the questions."""
        return self.clients[0]

    @property
    def _dataset(self) -> sysbench.Dataset:
        return sysbench.Dataset(self.profile.sysbench.tables, self.profile.sysbench.table_size)

    def _dataset_identity(self, system: System) -> str:
        return digest([system.identity, self._dataset, self.seed])

    def _load(self, trial: Trial, client: RemoteHost, threads: int, rate: int) -> sysbench.SysbenchLoad:
        options = sysbench.also_ignoring(self.options, self._systems[trial.cell.system].retried_errors)
        script = client.push(remote_program("workloads", "stoppable.lua")) if self.stop_rule else ""
        workload = str(trial.cell.levels["workload"])
        return sysbench.SysbenchLoad(workload, threads, self.time_s, self._dataset, 1, rate, options, script)

    def _start_from(self, system: System, dataset: str, say: Callable[[str], None]) -> None:
        """Restore the prepared data, preparing it first where there is none; then start and wait until it serves."""
        if system.has(dataset):
            restart_only = self.profile.reset != "restore" and self._running == system.name
            system.stop()
            if not restart_only:
                system.reset(dataset)
        else:
            system.refresh(None)
            self._prepare_in_place(system, dataset, say)
            system.stop()
            system.keep(dataset)
        system.start()
        system.ready()

    def _prepare_in_place(self, system: System, dataset: str, say: Callable[[str], None]) -> None:
        if not system.can_reset:
            self._make_database(system)
            if system.has(dataset):
                return
        self._make_database(system)
        rows = self._dataset.tables * self._dataset.table_size
        say(f"preparing {self._dataset.tables} tables, {rows:,} rows, once for this dataset")
        jobs = [self._session.start(self.client, "prepare", self._prepare_command(e)) for e in system.endpoints()]
        for job in jobs:
            self._await_prepare(job, say)
        self._check_dataset(system)
        if not system.can_reset:
            system.keep(dataset)

    def _prepare_command(self, endpoint: SqlEndpoint) -> Command:
        threads = self.profile.sysbench.prepare_threads
        return sysbench.prepare(
            self._programs[self.client.name], endpoint, self._dataset, threads=threads, seed=self.seed
        )

    def _await_prepare(self, job: Job, say: Callable[[str], None]) -> None:
        tables = [0]

        def count(data: bytes) -> None:
            tables[0] += data.count(b"Inserting")
            say(f"preparing: table {tables[0]} of {self._dataset.tables}")

        ended = job.wait(on_output=count)
        self._session.forget(job)
        check_end(ended, job.stdout().decode(errors="replace") + job.stderr())
        job.remove()

    def _make_database(self, system: System) -> None:
        for endpoint in system.endpoints():
            query(self.client, endpoint, f"CREATE DATABASE IF NOT EXISTS `{self._dataset.database}`")

    def _check_dataset(self, system: System) -> None:
        """Every table of every server holds as many rows as were asked for."""
        counts = " UNION ALL ".join(f"SELECT {i}, COUNT(*) FROM sbtest{i}" for i in range(1, self._dataset.tables + 1))
        for endpoint in system.endpoints():
            rows = query(self.client, endpoint, counts, database=self._dataset.database)
            wrong = {f"sbtest{i}": n for i, n in rows if n != self._dataset.table_size}
            if wrong:
                raise SystemFailed(
                    f"{endpoint}: after prepare, tables do not hold {self._dataset.table_size} rows: {wrong}"
                )

    def _probes(self, system: System) -> list[Probe]:
        watched = [(h, e) for h, e in zip(system.hosts, system.endpoints(), strict=False)]
        sql = [mysql_probe(host, endpoint, host.name) for host, endpoint in watched]
        if not watched:
            sql = [mysql_probe(self.client, endpoint, system.name) for endpoint in system.endpoints()]
        machines = {host.name: host for host in (*self.clients, *system.hosts)}
        return [*map(host_probe, machines.values()), *sql]

    def _about(self, system: System) -> SystemDescription:
        return SystemDescription(**vars(system.about()), dataset=vars(self._dataset))

    def _alive(self, system: System) -> bool:
        try:
            system.check_alive()
        except SystemFailed:
            return False
        return True

    def _stop(self) -> None:
        if self._running:
            self._systems[self._running].stop()
            self._running = ""
