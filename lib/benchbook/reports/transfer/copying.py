"""Trials of the DDT report: one engine moves the data set once, under probes; then both sides are compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial

import pandas as pd

from benchbook.campaign.design import Trial
from benchbook.campaign.environment import Environment, SystemDescription
from benchbook.campaign.experiment import Experiment, Measurement
from benchbook.errors import TrialFailed, WorkloadFailed
from benchbook.hosts.agent import Ended, Job
from benchbook.hosts.fanout import in_parallel
from benchbook.hosts.host import Host
from benchbook.hosts.host_facts import survey
from benchbook.hosts.host_models import Survey
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.session import Session
from benchbook.hosts.tuning import reach_again
from benchbook.probes.probe import Probe, make, of_documents, of_jobs, of_others, of_profile
from benchbook.probes.watch import watching
from benchbook.profiles import Profile
from benchbook.reports.driving import StallDetector
from benchbook.reports.transfer import engines
from benchbook.reports.transfer.client_python import (
    DATABASE,
    environment,
    longest_s,
    prove_copy,
    python,
    python_path,
    tool,
)
from benchbook.reports.transfer.engines import CopyCounts, Engine
from benchbook.reports.transfer.transfer_summary import CopyRun, rate_series, summarise, unsure
from benchbook.systems import mongo
from benchbook.systems.health import Monitored, blaming
from benchbook.systems.mongo import MongoServer, OwnServer
from benchbook.workloads.base import check_end

# What our transfer moves on the kit's own server in a second; for the time to go only.
GUESSED_RATE = 8000.0
# A smoke trial lasts a second or two: at one sample a second there would be nothing to average.
SAMPLE_EVERY_S = 0.5
JOB = "transfer"


@dataclass
class Transfer(Experiment):
    """The experiment. Fields below `seed` live while it runs."""

    inventory: Inventory
    profile: Profile
    names: list[str]
    server: str
    ddt_jar: str
    documents: int
    seed: int
    _session: Session = field(init=False)
    _source: MongoServer = field(init=False)
    _target: MongoServer = field(init=False)
    _engines: dict[str, Engine] = field(init=False, default_factory=dict)
    _surveyed: Survey = field(init=False, default_factory=Survey)
    _loaded: bool = field(init=False, default=False)

    # -- the campaign's view ------------------------------------------------------------------------------------

    def hosts(self) -> list[str]:
        return [*self.inventory.require("client"), *mongo.check(self.inventory, self.server)]

    @contextmanager
    def running(self) -> Iterator[Environment]:
        """Connect, check, install. Raise HostUnusable before anything has been loaded."""
        self._loaded = False
        with Session(self.inventory, self.hosts()) as self._session:
            surveyed = survey(self._session, disk_gb=self.profile.disk_gb)
            self._surveyed = surveyed
            python(self.client)
            sizes = self.profile.transfer
            self._engines = {n: engines.make(n, self.client, self.ddt_jar, sizes.ddt_heap_mb) for n in self.names}
            self._source, self._target = (
                mongo.make(self._session, side, self.server, sizes.cache_gb) for side in mongo.SIDES
            )
            for server in (self._source, self._target):
                server.install()
            for engine in self._engines.values():
                engine.install()
            yield Environment.of(surveyed)
            self._session.tidy(self._source.servers.stop)
            self._session.tidy(self._remove_copy)

    def begin(self, block: Sequence[Trial], say: Callable[[str], None]) -> dict[str, SystemDescription]:
        """Start an empty target, and a source that holds the data set and is only ever read; return what serves."""
        engine = self._engines[block[0].cell.system]
        reach_again(self._session)
        with blaming(self._source.servers, self._target.servers):
            self._target.servers.kill()
            self._target.start(fresh=True)
            if not self._loaded or (isinstance(self._source, OwnServer) and not self._source.runs):
                self._load(say)
        about = (self._source.about(), self._target.about(), engine.about())
        return {each.name: SystemDescription(**vars(each)) for each in about}

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        """Room on the target, probes, transfer, proof. Raise TrialFailed where source and target differ."""
        engine, levels = self._engines[trial.cell.system], trial.cell.levels
        sides, stall_s = (self._source, self._target), self.profile.transfer.stall_s
        command = engine.command(levels, self._source.endpoint, self._target.endpoint)
        servers = [side.servers for side in sides]
        with blaming(*servers), ExitStack() as probing:
            watch = watching(self._session, self._probes())
            _, watched = in_parallel(self._make_room, lambda: probing.enter_context(watch))
            with self._session.following(self.client, JOB, command) as job:
                look = CopyWatch(engine, job, servers, stall_s, self._target.weigh, self.documents)
                ended = job.wait(every_s=0.1, on_look=look)
                moved, output = self._read(engine, job, ended)
            # The copy is over: the probes end while it is read back.
            prove = partial(prove_copy, self._session, self.client, *sides, documents=self.documents, output=output)
            _, proof = in_parallel(probing.close, prove)
        load = CopyRun(moved, ended, watched.series, self.client.name)
        summary = summarise(load)
        return Measurement(
            command=command.typed,
            client=self.client.name,
            started=ended.started,
            ended=ended.ended,
            exit_status=ended.exit,
            summary=summary,
            histogram=[],
            output=output,
            proof={
                **proof,
                **watched.proof,
                "said": moved.about,
                "unsure": unsure(load),
            },
            series=pd.concat([watched.series, rate_series(load)], ignore_index=True),
        )

    def expected_s(self, trial: Trial) -> float:
        return engines.ENGINES[trial.cell.system].beside_s + self.documents / GUESSED_RATE

    def rate_unit(self, trial: Trial) -> str:
        return "documents/s"

    # -- steps --------------------------------------------------------------------------------------------------

    @property
    def client(self) -> Host:
        """The host that the transfer runs on."""
        return self._session.with_role("client")[0]

    def _load(self, say: Callable[[str], None]) -> None:
        self._source.servers.stop()
        self._source.start(fresh=False)
        say(f"making sure that the source holds {self.documents:,} documents")
        self._tool("load", self._source, "--documents", self.documents, "--seed", self.seed)
        self._loaded = True

    def _make_room(self) -> None:
        for server in (self._source, self._target):
            server.servers.check_alive()
        if isinstance(self._target, OwnServer):
            self._target.ask({"dropDatabase": 1}, DATABASE)
        else:
            self._tool("clear", self._target)

    def _remove_copy(self) -> None:
        """It has been read back, and the next run makes its own; the source's data set is loaded once."""
        if isinstance(self._target, OwnServer):
            self._target.remove()
        elif self._loaded:
            self._tool("clear", self._target)

    def _tool(self, name: str, server: MongoServer, *options: object) -> None:
        tool(self._session, self.client, name, server.endpoint, *options, within_s=longest_s(self.documents))

    def _read(self, engine: Engine, job: Job, ended: Ended) -> tuple[CopyCounts, str]:
        """Return what the engine says of its run. Raise TrialFailed unless it ended well and wrote all documents."""
        stdout, stderr = job.stdout().decode(errors="replace"), job.stderr()
        output, who = engine.kept(stdout + stderr), f"{engine.name} on {self.client.name}"
        try:
            if said := ended.from_outside(who):
                raise WorkloadFailed(said)
            # A failed transfer says more in its report than by its status.
            moved = engine.read(stdout, stderr)
            check_end(ended, output, who, lambda _: None, engine.good_statuses)
            moved.refuse_part(self.documents, who)
        except TrialFailed as problem:
            problem.output = output
            raise
        return moved, output

    def _probes(self) -> list[Probe]:
        watched: dict[str, dict[str, str]] = {self.client.name: {"transfer": JOB}}
        for server in (self._source, self._target):
            if server.host is not None:
                watched.setdefault(server.host.name, {})[server.side] = server.folder
        hosts = {name: self._session.hosts[name] for name in watched}
        processes = [of_jobs(hosts[n], each, every_s=SAMPLE_EVERY_S) for n, each in watched.items()]
        of_machines = [make("host", host, every_s=SAMPLE_EVERY_S) for host in self._machines(hosts)]
        # A side that the kit does not run is watched from the client.
        servers = [(side.host or self.client, side.listens, side.name) for side in (self._source, self._target)]
        also = of_profile(self.profile.probes, hosts.values(), servers)
        # The target's own count, once a second: every engine's documents are taken from it alike.
        at, python_there, env = self._target.endpoint, python_path(self.client), environment(self.client)
        whose = (self._target.name, at.url, DATABASE, at.password)
        counting = of_documents(self.client, *whose, python=python_there, env=env)
        return [*of_machines, *of_others(hosts.values()), *processes, counting, *also]

    def _machines(self, hosts: dict[str, Host]) -> list[Host]:
        """One host per machine, the client first: lab hosts that share a kernel show the same figures."""
        first: dict[str, Host] = {}
        for name, host in hosts.items():
            first.setdefault(self._surveyed.machine_of(name), host)
        return list(first.values())


# Seconds between two looks: each is a few small requests, beside a transfer that is measured.
EVERY_S = 2.0


@dataclass
class CopyWatch:
    """Called as often as one likes, it looks every EVERY_S.

    It raises SystemFailed for a server that has died, which some engines wait for for ever, and WorkloadFailed for a
    transfer that tells no news for `longest_s` while `weigh`, what the target holds, stands still as well. Once it has
    told that all its `documents` are there, it may idle for as long as the engine is known to.
    """

    engine: Engine
    job: Job
    servers: Sequence[Monitored]
    longest_s: float
    weigh: Callable[[], int]
    documents: int
    _next: float = field(init=False, default=0.0)
    _offset: int = field(init=False, default=0)
    _rest: str = field(init=False, default="")
    _told: set[str] = field(init=False, default_factory=set)
    _last: str = field(init=False, default="nothing has been copied yet")
    _patience: StallDetector = field(init=False)

    def __post_init__(self) -> None:
        what = f"the transfer by {self.engine.name}"
        self._patience = StallDetector(what, self.longest_s, self.weigh)

    def __call__(self) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY_S
        for server in self.servers:
            server.check_alive()
        if news := self.engine.news(self._fresh()) - self._told:
            self._told |= news
            self._last = max(news, key=_by_number)
            if f"{self.documents} documents" in news:
                self._patience.longest_s = max(self.longest_s, self.engine.idles_s)
        self._patience.see(self._last)

    def _fresh(self) -> str:
        """Return the whole lines since the last look of the file in which the engine tells how far it is."""
        data = self.job.host.read(f"{self.job.folder}/{self.engine.tells}", offset=self._offset)
        self._offset += len(data)
        whole, _, self._rest = (self._rest + data.decode(errors="replace")).rpartition("\n")
        return whole


def _by_number(news: str) -> tuple[int, str]:
    """The most documents come last."""
    first = news.partition(" ")[0]
    return (int(first) if first.isdigit() else -1, news)
