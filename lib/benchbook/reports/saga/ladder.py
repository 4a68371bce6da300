"""Trials of the DTM report: sysbench alone, the ladder of global transactions, and what happens when things fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace

from benchbook.campaign.design import Trial
from benchbook.campaign.environment import Environment, SystemDescription
from benchbook.campaign.experiment import Experiment, Measurement
from benchbook.campaign.progress import TPS
from benchbook.campaign.record import Quantity
from benchbook.errors import SystemFailed, TrialFailed, WorkloadFailed
from benchbook.hosts import timeouts
from benchbook.hosts.agent import Command, Ended, Job
from benchbook.hosts.fanout import in_parallel
from benchbook.hosts.host import Host, blaming_disks
from benchbook.hosts.host_facts import survey
from benchbook.hosts.host_models import Json
from benchbook.hosts.inventory import Inventory
from benchbook.hosts.session import Session
from benchbook.hosts.tuning import reach_again
from benchbook.probes.watch import watching
from benchbook.profiles import Profile
from benchbook.reports.driving import Driver
from benchbook.reports.saga import saga_summary
from benchbook.reports.saga.rungs import Rung
from benchbook.reports.starting_state import StartingState
from benchbook.systems import mysql
from benchbook.systems.dtm import RETRIED, Dtm, SagaService, load_schemas, store_purpose
from benchbook.systems.health import blaming
from benchbook.systems.mysql import MysqlServer
from benchbook.workloads import ab
from benchbook.workloads.base import check_end
from benchbook.workloads.sysbench import Sysbench

ROLES = ("client", "mysql", "dtm", "business")
SYSBENCH, KILLED = "mysql_write_only", "saga_killed"
UNDER_WAY_BEFORE_KILL = 50


class InvariantViolated(TrialFailed):
    """After a load behind the barrier the books are not in order."""


# DTM retries at the earliest 10 s after a transaction stalled, and looks for such every 3 s.
SETTLE_S = 90.0


def until(holds: Callable[[], bool], what: str, *, every_s: float = 0.05) -> None:
    """Return once `holds` does. Raise SystemFailed after SETTLE_S."""
    if not timeouts.until(holds, SETTLE_S, every_s=every_s):
        raise SystemFailed(f"waited {SETTLE_S:g} s in vain for {what}")


@dataclass
class SagaLadder(Experiment):
    """The experiment. MySQL is prepared, set aside and restored as for sysbench; DTM and the business run on it.

    `stores` names the servers, which take turns. Fields below live while it runs.
    """

    inventory: Inventory
    profile: Profile
    generator: Sysbench
    time_s: int
    accounts: int
    stores: Sequence[str] = ("mysql57",)
    _session: Session = field(init=False)
    _stores: dict[str, MysqlServer] = field(init=False)
    _store: MysqlServer = field(init=False)
    _start: StartingState = field(init=False)
    _driver: Driver = field(init=False)
    _dtm: Dtm = field(init=False)
    _business: SagaService = field(init=False)
    _ab: str = field(init=False, default="")
    # What loads of one kind (store, URL, clients) answered the last time, requests/s.
    _rates: dict[tuple[str, str, int], float] = field(init=False, default_factory=dict)

    # -- the campaign's view ------------------------------------------------------------------------------------

    def hosts(self) -> list[str]:
        return [name for role in ROLES for name in self.inventory.require(role)]

    @contextmanager
    def running(self) -> Iterator[Environment]:
        """Connect, check, install. Raise HostUnusable before anything has been loaded."""
        with Session(self.inventory, self.hosts()) as self._session:
            surveyed = survey(self._session, disk_gb=self.profile.disk_gb)
            self._stores = mysql.make(self.stores, self._session, self.profile, store_purpose())
            self._turn_to(self.stores[0])
            probes = self.profile.probes
            self._driver = Driver(self._session, self.generator, [self.client], self.time_s, watched_by=probes)
            reset, fill = self.profile.reset, lambda: load_schemas(self._store)
            self._start = StartingState(self._session, self.client, self._stores, self.generator, reset, fill)
            version = self._driver.find()
            self._ab = self.client.require_program("ab", package="apache2-utils")
            for store in self._stores.values():
                store.install()
            for service in (self._dtm, self._business):
                service.install()
            said = self.client.run([self._ab, "-V"]).stdout
            yield Environment.of(surveyed, load_generator=f"{version}, {ab_version(said)}")
            self._session.tidy(self._stop_services)
            self._session.tidy(self._start.stop)

    @property
    def client(self) -> Host:
        """The one host of clients: ab drives from one, and the rung of sysbench that it is compared with must too."""
        return self._session.with_role("client")[0]

    def _turn_to(self, store: str) -> None:
        """Have this server hold DTM's tables and the business's; what ran on another one is stopped before."""
        self._store = self._stores[store]
        self._dtm = Dtm(self._session, self._store.endpoints()[0])
        self._business = SagaService(self._session, self._store.endpoints()[0], self._dtm.api, self.accounts)

    def expected_s(self, trial: Trial) -> float:
        return float(self.time_s)

    def begin(self, block: Sequence[Trial], say: Callable[[str], None]) -> dict[str, SystemDescription]:
        """Start DTM and the business service on the store in its starting state; return what serves."""
        reach_again(self._session)
        self._stop_services()
        if self._store is not self._stores[block[0].cell.system]:
            self._turn_to(block[0].cell.system)
        # Before data are prepared.
        for trial in block:
            if trial.cell.table == SYSBENCH:
                self._driver.check_options(str(trial.cell.levels["workload"]))
        found = self._start.bring(block[0].cell.system, say)
        say("starting DTM and the business service")
        in_parallel(self._dtm.servers.start, self._business.servers.start)
        in_parallel(self._dtm.servers.ready, self._business.servers.ready)
        self._business.reset()
        known = in_parallel(self._dtm.about, self._business.about)
        return {**found, **{about.name: SystemDescription(**vars(about)) for about in known}}

    def measure(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        """One rung. Raise InvariantViolated when books behind a barrier are not in order."""
        servers = (self._store, self._dtm.servers, self._business.servers)
        with blaming(*servers), blaming_disks(self._session.hosts.values()):
            return self._sysbench(trial, on_rate) if trial.cell.table == SYSBENCH else self._saga(trial, on_rate)

    def rate_unit(self, trial: Trial) -> str:
        return TPS if trial.cell.table == SYSBENCH else "requests/s"

    # -- sysbench alone -----------------------------------------------------------------------------------------

    def _sysbench(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        before = self._counters()
        measured = self._driver.measure(self._store, trial.cell.levels, on_rate)
        counted = mysql.counted_between(before, self._counters())
        seconds, events = measured.summary["total_time_s"].value, measured.summary["events"].value
        added = {
            "db_tps": Quantity(value=counted[mysql.COMMITS] / seconds, unit="1/s"),
            # As the report has it: sysbench's own count, with BEGIN and COMMIT.
            "ops": measured.summary["qps"],
            "row_statements_per_s": Quantity(value=mysql.statements(counted) / seconds, unit="1/s"),
            "db_tx_per_global": Quantity(value=counted[mysql.COMMITS] / events, unit="1"),
            "sql_per_global": Quantity(value=mysql.statements(counted) / events, unit="1"),
        }
        return replace(measured, summary={**measured.summary, **added}, proof={**measured.proof, "counted": counted})

    # -- global transactions ------------------------------------------------------------------------------------

    def _saga(self, trial: Trial, on_rate: Callable[[float, float], None]) -> Measurement:
        rung, killing = Rung.of(trial.cell.levels), trial.cell.table == KILLED
        load = (self._store.name, self._business.url + rung.path, int(trial.cell.levels["concurrency"]))
        command = self._command(load, killing=killing)
        # They empty tables of their own, side by side.
        in_parallel(self._dtm.forget, self._business.reset)
        with watching(self._session, self._driver.probes(self._store)) as watched:
            before, asked = self._counters(), self._dtm.selects
            ended, text, killed = self._drive(command, on_rate, kill=killing)
            self._settle()
            counted = mysql.counted_between(before, self._still_counters())
        counted["Com_select"] -= self._dtm.selects - asked
        printed = ab.parse(text)
        # The counters have been read: what is asked here is not among the load's statements.
        stats, books, ends = in_parallel(self._business.stats, self._business.books, self._dtm.ends)
        proof = {
            "global": stats["global"],
            "branches": stats["branches"],
            "books": books,
            "dtm_ends": ends,
            "counted": counted,
            "retried": stats[RETRIED],
            "ab": printed,
        }
        figures = saga_summary.summarise(printed, stats, counted)
        if killed:
            proof["killed"] = {"under_way": killed["under_way"]}
            figures |= {name: Quantity(value=killed[name], unit="s") for name in ("down_s", "recovery_s")}
        proof["invariants"] = saga_summary.invariants(rung, proof)
        self._refuse(rung, proof, text, why=stats["first_failure"])
        if not killing:
            self._rates[load] = printed["tps"]
        return Measurement(
            command=ab.shown(command),
            client=self.client.name,
            started=ended.started,
            ended=ended.ended,
            exit_status=ended.exit,
            summary=figures,
            histogram=saga_summary.buckets(stats["latency"]["committed"]),
            output=text,
            proof={**watched.proof, **proof},
            series=watched.series,
            # How long DTM was down, and took to recover, is told by the driver's clock.
            timed_by_driver=bool(killed),
        )

    def _command(self, load: tuple[str, str, int], *, killing: bool) -> Command:
        """Return ab's command line for so many requests as take about `time_s`: none is under way at its end.

        A short load before it opens connections, and says how many that are.
        """
        _, url, clients = load
        warming = ab.for_seconds(self._ab, url, concurrency=clients, seconds=max(1, self.time_s // 20))
        tried = ab.parse(self.client.run(warming.argv, timeout=warming.timeout_s).stdout)["tps"]
        self._settle()
        requests = round(self._rates.get(load, tried) * self.time_s)
        if killing:
            # What is asked of a dead server fails at once: more requests, so that some are left when it comes back.
            requests = 5 * max(requests, UNDER_WAY_BEFORE_KILL)
        longest_s = 20 * self.time_s + ab.REQUEST_TIMEOUT_S
        return ab.for_requests(self._ab, url, concurrency=clients, requests=requests, longest_s=longest_s)

    def _drive(
        self, command: Command, on_rate: Callable[[float, float], None], *, kill: bool
    ) -> tuple[Ended, str, Json]:
        """Run ab to its end; returns how it ended, what it printed, and what a killed DTM left and took to recover."""
        reader = ab.AbProgress(on_rate)
        with ExitStack() as stack:
            job = stack.enter_context(self._session.following(self.client, "ab", command))
            killed = self._kill_dtm(job) if kill else {}
            ended = job.wait(on_output=reader, every_s=0.1, expected_s=self.time_s)
        # The next load's login is made beside what is asked of this one.
        check_end(ended, reader.text, f"ab on {self.client.name}", ab.failure)
        if kill and not killed:
            raise WorkloadFailed("the load was over before DTM could be killed", output=reader.text)
        return ended, reader.text, killed

    def _kill_dtm(self, load: Job) -> Json:
        """End DTM as a crash does once transactions flow, and start it again; nothing if the load is over by then.

        Return once those have ended that were under way: the load goes on, and others always are.
        """

        def flows() -> bool:
            return saga_summary.ended(self._business.stats()) >= UNDER_WAY_BEFORE_KILL

        until(lambda: flows() or load.status() is not None, "the load to flow")
        if load.status() is not None:
            return {}
        self._dtm.servers.crash(self._dtm.host)
        at, cut_off = time.monotonic(), self._dtm.not_ended()
        self._dtm.servers.start()
        self._dtm.servers.ready()
        down_s = time.monotonic() - at
        until(lambda: not cut_off & self._dtm.not_ended(), "the global transactions that were cut off", every_s=0.2)
        return {"under_way": len(cut_off), "down_s": down_s, "recovery_s": time.monotonic() - at}

    def _settle(self) -> None:
        """Return once nothing is in flight and every transaction has ended."""
        until(lambda: self._business.stats()["in_flight"] == 0, "the requests in flight")
        until(lambda: not self._dtm.not_ended(), "the global transactions under way", every_s=0.1)

    def _refuse(self, rung: Rung, proof: Json, text: str, why: str) -> None:
        """Without a barrier the books may be off and are shown so; behind one they may not."""
        unknown = round(max(proof["ab"]["non_2xx"], proof["global"]["failed"]))
        if unknown and "killed" not in proof:
            first = f"; the first: {why}" if why else ""
            raise WorkloadFailed(f"{unknown} requests ended neither by commit nor by rollback{first}", output=text)
        if (wrong := saga_summary.violated(proof["invariants"])) and rung.keeps_books:
            raise InvariantViolated("; ".join(wrong), output=text)

    # -- steps --------------------------------------------------------------------------------------------------

    def _counters(self) -> dict[str, int]:
        return mysql.counters(self._store.hosts[0], self._store.endpoints()[0])

    def _still_counters(self) -> dict[str, int]:
        """Return them once DTM's last merged writes are through: they are the same from one look to the next."""
        seen = [self._counters()]

        def still() -> bool:
            seen.append(self._counters())
            return mysql.statements(seen[-2]) == mysql.statements(seen[-1])

        until(still, "DTM's last merged writes", every_s=0.3)
        return seen[-1]

    def _stop_services(self) -> None:
        in_parallel(self._business.servers.stop, self._dtm.servers.stop)


def ab_version(text: str) -> str:
    """`ab 2.3 …` of the first line that `ab -V` prints."""
    words = text.split("Version", 1)[-1].split()
    return f"ab {words[0]}" if words else "ab"
