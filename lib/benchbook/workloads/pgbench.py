"""pgbench as a load generator: PostgreSQL's own, with its built-in scripts; its output of version 9.6 and later.

The proof of a load are pgbench's own books: what must be equal in its tables whenever no transaction is under way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from pydantic import Field

from benchbook.analysis import checks
from benchbook.analysis.checks import Check
from benchbook.campaign.record import Record
from benchbook.errors import SystemFailed, WorkloadFailed
from benchbook.hosts.agent import Command, program_on
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.host_models import Json
from benchbook.hosts.session import Session
from benchbook.profiles import LoadSize
from benchbook.stats.latency import named_percentiles
from benchbook.systems import psql
from benchbook.systems.base import System
from benchbook.systems.statements import reading_s
from benchbook.workloads import generator_output
from benchbook.workloads.base import Level, Load, Outcome, Ran
from benchbook.workloads.printed_load import Prepared, PrintedLoad, failures, series

DATABASE, ACCOUNTS = "pgbench", "pgbench_accounts"
ROWS = 100_000  # accounts of one branch, that is for each unit of scale
SCRIPTS = {"select_only": "select-only", "simple_update": "simple-update", "tpcb_like": "tpcb-like"}
# pgbench's time runs from when its clients begin to connect, which took 128 of them 1.7 s on two busy cores: what that
# takes is added to the time of the load.
CONNECTS_PER_S = 64


# -- its output -------------------------------------------------------------------------------------------------------

# What differs from one client to the next in what is the same error.
_CLIENT = re.compile(r"client \d+ (?:script \d+ )?")
# With --failures-detailed (15 and later).
_FAILED_KINDS = re.compile(r"^number of (serialization|deadlock) failures: (\d+)", re.MULTILINE)
_FAILED = re.compile(r"^number of failed transactions: (\d+)", re.MULTILINE)
_NONE_DONE = re.compile(r"^number of transactions actually processed: 0\b", re.MULTILINE)
_MARK = "benchbook: "
_PERCENTILES = ("p50_ms", "p95_ms", "p99_ms")


def failure(text: str) -> str | None:
    """Return what pgbench itself calls fatal, the most frequent first; None if nothing is."""
    said = generator_output.failure("pgbench", _CLIENT.sub("", text))
    if said or not _NONE_DONE.search(text):
        return said
    failed = _FAILED.search(text)
    if failed and int(failed[1]):
        kinds = sorted(((int(n), kind) for kind, n in _FAILED_KINDS.findall(text) if int(n)), reverse=True)
        named = ", ".join(f"{n:,} {kind} failures" for n, kind in kinds) or f"{int(failed[1]):,} transactions failed"
        return f"{named}: not one transaction was done"
    # Its time runs from when its clients begin to connect.
    return "not one transaction was done: connecting took all of the time"


def _added(text: str) -> tuple[list[tuple[float, int]], float | None]:
    """Return what pgbench_timed.py has printed at the end, if it ran: buckets in ms, and when the load ended."""
    lines = [line for line in text.splitlines() if line.startswith(_MARK)]
    if not lines:
        return [], None
    said = json.loads(lines[-1].removeprefix(_MARK))
    return [(us / 1000, count) for us, count in said["buckets_us"]], float(said["ended"])


# -- its books --------------------------------------------------------------------------------------------------------

_SUMS = (
    "SELECT (SELECT sum(abalance) FROM pgbench_accounts), (SELECT sum(tbalance) FROM pgbench_tellers), "
    "(SELECT sum(bbalance) FROM pgbench_branches), coalesce(sum(delta), 0), count(*) FROM pgbench_history"
)


@dataclass(frozen=True)
class Books:
    """Sums of the balances, sum of the deltas in the history, and how many rows it has.

    `tpcb_like` books every delta to an account, a teller, a branch and the history; `simple_update` to an account and
    the history. Before any load all are 0, and the history is empty (postgresql.org/docs, pgbench, "What is the
    transaction actually performed").
    """

    accounts: int
    tellers: int
    branches: int
    history: int
    rows: int

    def wrong(self, before: Books, workload: str, events: int) -> str:
        """Return what does not fit after a load of so many transactions; empty where all does."""
        moved = {name: value - asdict(before)[name] for name, value in asdict(self).items()}
        booked = {"tpcb_like": ("accounts", "tellers", "branches"), "simple_update": ("accounts",)}.get(workload, ())
        said = [f"{name} changed by {moved[name]:,}, not by {expected:,}"
                for name in ("accounts", "tellers", "branches")
                if moved[name] != (expected := moved["history"] if name in booked else 0)]  # fmt: skip
        written = events if booked else 0
        if moved["rows"] != written:
            said.append(f"the history has {moved['rows']:,} new rows after {written:,} transactions that wrote")
        return "; ".join(said)


def read_books(client: Host, endpoint: Endpoint, database: str, timeout_s: float) -> Books:
    """Return the books of one server; to add them up may take `timeout_s`. Raise SystemFailed."""
    (sums,) = psql.query(client, endpoint, _SUMS, database=database, timeout_s=timeout_s)
    accounts, tellers, branches, history, rows = sums
    if "" in (accounts, tellers, branches):
        raise SystemFailed(f"{endpoint}: pgbench's tables are empty")
    return Books(int(accounts), int(tellers), int(branches), int(history), int(rows))


# -- the generator ----------------------------------------------------------------------------------------------------


class PgbenchSize(LoadSize):
    """`scale` branches of 100,000 accounts; of `logged` (a share) of the transactions the time is kept.

    A log of every transaction is some 30 bytes each: at 100,000 a second over minutes a share of it says as much.
    """

    scale: int = Field(ge=1, le=1_000_000)
    logged: float = Field(1.0, gt=0, le=1)


class Pgbench(PrintedLoad[PgbenchSize]):
    """`workload` is one of pgbench's built-in scripts; `options` are those of the published command line."""

    name = "pgbench"
    program = "pgbench"
    package = "postgresql-contrib"
    protocols = ("pgsql",)
    workloads = frozenset(SCRIPTS)
    known_options = frozenset({"protocol", "jobs", "connect", "max-tries"})
    option_values: ClassVar = {"protocol": ("simple", "extended", "prepared")}
    Size = PgbenchSize
    prints_every_s = 1.0
    # In its log, too, with --rate: "the latency ... is calculated from the scheduled start times" (its manual, --rate).
    open_loop = True

    def __init__(self, size: PgbenchSize, options: Sequence[str], seed: int) -> None:
        super().__init__(size, options, seed)
        self._books: dict[str, Books] = {}

    def find(self, client: Host) -> str:
        self.programs[client.name] = psql.program(client, self.program, package=self.package)
        psql.program(client, "psql", package="postgresql-client")
        return self.version(client)

    @classmethod
    def asked(cls, size: PgbenchSize) -> dict[str, object]:
        return {"scale": size.scale, "logged": size.logged, "report_interval_s": 1}

    # -- its data -------------------------------------------------------------------------------------------------

    @property
    def dataset(self) -> Prepared:
        return Prepared(self.name, {"scale": self.size.scale})

    def prepare(self, session: Session, client: Host, system: System, say: Callable[[str], None]) -> None:
        system.make_database(client, DATABASE)
        rows = self.size.scale * ROWS
        say(f"preparing {rows:,} accounts, once for this dataset")
        ends = system.copies()
        self.fill(session, client, [self._filling(client, end) for end in ends])
        for end in ends:
            found = system.row_counts(client, end, DATABASE, [ACCOUNTS], reading_s(rows))[ACCOUNTS]
            if found != rows:
                raise SystemFailed(f"{end}: holds {found} accounts after preparing {rows}")

    def _filling(self, client: Host, endpoint: Endpoint) -> Command:
        how = ["--initialize", "--quiet", f"--scale={self.size.scale}"]
        argv = [self.programs[client.name], *how, psql.reached(endpoint, DATABASE, "pgpass")]
        return Command(argv, timeout_s=7200 + self.size.scale * 60, secrets={"pgpass": psql.pass_line(endpoint)})

    # -- its loads ------------------------------------------------------------------------------------------------

    def reading_options(self, client: Host, workload: str) -> list[str]:
        return [self.programs[client.name], *self.options, "--builtin=list"]

    def command(self, client: Host, endpoints: Sequence[Endpoint], load: Load) -> Command:
        """Return the published one, for so many seconds, with a log of each transaction.

        It cleans no table before the load (`--no-vacuum`): its own way empties the history, by which the books are
        checked.
        """
        script = SCRIPTS[str(load.levels["workload"])]
        lasts_s = load.time_s + load.threads // CONNECTS_PER_S
        how = [f"--builtin={script}", "--no-vacuum", f"--client={load.threads}", f"--time={lasts_s}"]
        offered = [f"--rate={load.rate}"] if load.rate else []
        share = [f"--sampling-rate={self.size.logged:g}"] if self.size.logged < 1 else []
        told = ["--progress=1", "--log", "--log-prefix=log", f"--random-seed={self.seed}", *share]
        argv = [
            *program_on(client, "workloads", "pgbench_timed.py"),
            self.programs[client.name],
            *how,
            *offered,
            *self.options,
            *told,
            psql.reached(endpoints[0], DATABASE, "pgpass"),
        ]
        secrets = {"pgpass": psql.pass_line(endpoints[0])}
        return Command(argv, timeout_s=load.time_s + 600, grace_s=5, secrets=secrets)

    def holds(self, load: Load, servers: int) -> dict[str, int]:
        """All of its clients are those of one server."""
        return super().holds(load, 1)

    def failure(self, text: str) -> str | None:
        return failure(text)

    def outcome(self, ran: Sequence[Ran]) -> Outcome:
        """Return its figures: `tps` is without, `tps_connecting` with the time in which the clients connected.

        Lines of a time in which they still did are none of the load: pgbench counts from when they begin to connect.
        """
        (one,) = ran
        run = generator_output.run_of(self.name, one.text, "threads", "latency_mean_ms")
        figures = {name: quantity.value for name, quantity in run.figures.items()}
        events, tps, connecting_s = figures["events"], figures["tps"], figures.get("connecting_ms", 0.0) / 1000
        load_s = events / tps if tps else 0.0
        histogram, ended = _added(one.text)
        values = {
            # As old versions print it.
            "tps_connecting": events / (load_s + connecting_s) if tps else 0.0,
            "failed": 0.0,
            "retries": 0.0,
            **figures,
            "threads": float(run.levels["threads"]),
            "total_time_s": load_s,
            **named_percentiles(histogram, _PERCENTILES),
            **({"latency_max_ms": max(ms for ms, _ in histogram)} if histogram else {}),
        }
        lines = [(t, each) for t, each in run.seconds if t > connecting_s]
        begin = (ended or one.ended.ended) - load_s - connecting_s
        seconds = series(self.name, lines, one.client, self.name, begin=begin)
        return Outcome(generator_output.quantities(values), seconds, histogram, ended=ended)

    # -- after it -------------------------------------------------------------------------------------------------

    @property
    def _read_s(self) -> float:
        """Its history may have as many rows as its accounts, and more."""
        return reading_s(10 * self.size.scale * ROWS)

    def before(self, client: Host, system: System, levels: Mapping[str, Level]) -> None:
        self._books = {str(end): read_books(client, end, DATABASE, self._read_s) for end in system.copies()}

    def prove(self, client: Host, system: System, levels: Mapping[str, Level], outcome: Outcome) -> Json:
        workload, events = str(levels["workload"]), int(outcome.summary["events"].value)
        said = {}
        for end in system.copies():
            after = read_books(client, end, DATABASE, self._read_s)
            if wrong := after.wrong(self._books[str(end)], workload, events):
                raise WorkloadFailed(f"{end}: pgbench's books do not balance after {events:,} transactions: {wrong}")
            said[str(end)] = {"before": asdict(self._books[str(end)]), "after": asdict(after)}
        return {"books": said}

    @classmethod
    def record_checks(cls, record: Record) -> list[Check]:
        """Little's law, failed transactions, and the books."""
        books = record.proof.get("books", {})
        balanced = [f"{end}: {said['after']['rows']:,} rows of history add up" for end, said in books.items()]
        return [
            checks.little(_with_reconnecting(record), own_time=True),
            failures(record),
            Check(record.id, "pgbench's books", bool(balanced), "; ".join(balanced) or "were not looked at"),
        ]


def _with_reconnecting(record: Record) -> Record:
    """With `--connect` a client spends its time connecting as well, which pgbench tells apart from its latency."""
    if "reconnect_mean_ms" not in record.summary:
        return record
    mean, again = record.summary["latency_mean_ms"], record.summary["reconnect_mean_ms"]
    both = mean.model_copy(update={"value": mean.value + again.value})
    return record.model_copy(update={"summary": {**record.summary, "latency_mean_ms": both}})
