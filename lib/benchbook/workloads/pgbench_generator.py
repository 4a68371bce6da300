"""pgbench as a load generator: PostgreSQL's own, with its built-in scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import pandas as pd
from pydantic import Field

from benchbook.analysis import checks
from benchbook.analysis.checks import Check
from benchbook.campaign.record import Quantity, Record
from benchbook.errors import SystemFailed, WorkloadFailed
from benchbook.hosts.about import Json
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.jobs import Command, program_on
from benchbook.probes import samples
from benchbook.profiles import LoadSize
from benchbook.stats.latency import percentile
from benchbook.systems import psql
from benchbook.systems.statements import reading_s
from benchbook.workloads import pgbench_books, pgbench_output
from benchbook.workloads.generator import Level, Load, LoadGenerator, Outcome, Ran, Store, check_end
from benchbook.workloads.pgbench_books import Books

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session

DATABASE, ACCOUNTS = "pgbench", "pgbench_accounts"
ROWS = 100_000  # accounts of one branch, that is for each unit of scale
SCRIPTS = {"select_only": "select-only", "simple_update": "simple-update", "tpcb_like": "tpcb-like"}
UNITS = {"tps": "1/s", "tps_connecting": "1/s", "threads": "threads", "total_time_s": "s"}
# pgbench's time runs from when its clients begin to connect, which took 128 of them 1.7 s on two busy cores: what that
# takes is added to the time of the load.
CONNECTS_PER_S = 64
# Of the transactions so many may fail before a record's check says so.
MOST_FAILED = 0.01


class PgbenchSize(LoadSize):
    """`scale` branches of 100,000 accounts; of `logged` (a share) of the transactions the time is kept.

    A log of every transaction is some 30 bytes each: at 100,000 a second over minutes a share of it says as much.
    """

    scale: int = Field(ge=1, le=1_000_000)
    logged: float = Field(1.0, gt=0, le=1)


@dataclass(frozen=True)
class PgbenchData:
    """The prepared data."""

    scale: int
    database: str = DATABASE


class Pgbench(LoadGenerator[PgbenchSize]):
    """`workload` is one of pgbench's built-in scripts; `options` are those of the published command line."""

    name = "pgbench"
    program = "pgbench"
    package = "postgresql-contrib"
    protocols = ("pgsql",)
    workloads = frozenset(SCRIPTS)
    known_options = frozenset({"protocol", "jobs", "connect", "max-tries"})
    Size = PgbenchSize
    prints_every_s = 1.0
    # In its log, too, with --rate: "the latency ... is calculated from the scheduled start times" (its manual, --rate).
    open_loop = True

    def __init__(self, size: PgbenchSize, options: Sequence[str], seed: int) -> None:
        super().__init__(size, options, seed)
        self._books: dict[str, Books] = {}

    def find(self, client: RemoteHost) -> str:
        self.programs[client.name] = psql.program(client, self.program, package=self.package)
        psql.program(client, "psql", package="postgresql-client")
        return self.version(client)

    @classmethod
    def asked(cls, size: PgbenchSize) -> dict[str, object]:
        return {"scale": size.scale, "logged": size.logged, "report_interval_s": 1}

    # -- its data -------------------------------------------------------------------------------------------------

    @property
    def dataset(self) -> PgbenchData:
        return PgbenchData(self.size.scale)

    def prepare(self, session: Session, client: RemoteHost, store: Store, say: Callable[[str], None]) -> None:
        store.make_database(client, DATABASE)
        rows = self.size.scale * ROWS
        say(f"preparing {rows:,} accounts, once for this dataset")
        for end in store.copies():
            with session.following(client, "prepare", self._filling(client, end)) as job:
                ended = job.wait()
                check_end(ended, job.stdout().decode(errors="replace") + job.stderr(), "pgbench -i", self.failure)
            found = store.row_counts(client, end, DATABASE, [ACCOUNTS], reading_s(rows))[ACCOUNTS]
            if found != rows:
                raise SystemFailed(f"{end}: holds {found} accounts after preparing {rows}")

    def _filling(self, client: RemoteHost, endpoint: Endpoint) -> Command:
        how = ["--initialize", "--quiet", f"--scale={self.size.scale}"]
        argv = [self.programs[client.name], *how, psql.reached(endpoint, DATABASE, "pgpass")]
        return Command(argv, timeout_s=7200 + self.size.scale * 60, secrets={"pgpass": psql.pass_line(endpoint)})

    # -- its loads ------------------------------------------------------------------------------------------------

    def reading_options(self, client: RemoteHost, workload: str) -> list[str]:
        return [self.programs[client.name], *self.options, "--builtin=list"]

    def command(self, client: RemoteHost, endpoints: Sequence[Endpoint], load: Load) -> Command:
        """The published one, for so many seconds, with a log of each transaction.

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

    def rate_in(self, line: str) -> tuple[float, float] | None:
        seen = pgbench_output.parse_progress(line)
        return (seen.t, seen.tps) if seen else None

    def failure(self, text: str) -> str | None:
        return pgbench_output.failure(text)

    def outcome(self, ran: Sequence[Ran]) -> Outcome:
        (one,) = ran
        output = pgbench_output.parse(one.text)
        return Outcome(_summary(output), _series(one, output), output.histogram, ended=output.ended or None)

    # -- after it -------------------------------------------------------------------------------------------------

    @property
    def _read_s(self) -> float:
        """Its history may have as many rows as its accounts, and more."""
        return reading_s(10 * self.size.scale * ROWS)

    def before(self, client: RemoteHost, store: Store) -> None:
        self._books = {str(end): pgbench_books.read(client, end, DATABASE, self._read_s) for end in store.copies()}

    def prove(self, client: RemoteHost, store: Store, levels: Mapping[str, Level], outcome: Outcome) -> Json:
        workload, events = str(levels["workload"]), int(outcome.summary["events"].value)
        said = {}
        for end in store.copies():
            after = pgbench_books.read(client, end, DATABASE, self._read_s)
            if wrong := after.wrong(self._books[str(end)], workload, events):
                raise WorkloadFailed(f"{end}: pgbench's books do not balance after {events:,} transactions: {wrong}")
            said[str(end)] = {"before": asdict(self._books[str(end)]), "after": asdict(after)}
        return {"books": said}

    @classmethod
    def record_checks(cls, record: Record) -> list[Check]:
        """Little's law, failed transactions, and the books."""
        events, failed = record.summary["events"].value, record.summary["failed"].value
        share = failed / max(1.0, events + failed)
        books = record.proof.get("books", {})
        balanced = [f"{end}: {said['after']['rows']:,} rows of history add up" for end, said in books.items()]
        return [
            checks.little(_with_reconnecting(record), own_time=True),
            Check(record.id, "errors", share <= MOST_FAILED, f"{failed:g} failed ({share:.2%})"),
            Check(record.id, "pgbench's books", bool(balanced), "; ".join(balanced) or "were not looked at"),
        ]


def _with_reconnecting(record: Record) -> Record:
    """With `--connect` a client spends its time connecting as well, which pgbench tells apart from its latency."""
    if "reconnect_mean_ms" not in record.summary:
        return record
    mean, again = record.summary["latency_mean_ms"], record.summary["reconnect_mean_ms"]
    both = mean.model_copy(update={"value": mean.value + again.value})
    return record.model_copy(update={"summary": {**record.summary, "latency_mean_ms": both}})


def _summary(output: pgbench_output.PgbenchOutput) -> dict[str, Quantity]:
    values = {"failed": 0.0, "retries": 0.0, **output.figures, "total_time_s": output.total_time_s}
    if output.histogram:
        shares = {name: percentile(output.histogram, share, beyond=0).value for name, share in _PERCENTILES.items()}
        values |= {name: float(ms) for name, ms in shares.items() if ms is not None}
        values["latency_max_ms"] = max(ms for ms, _ in output.histogram)
    units = {name: UNITS.get(name, "ms" if name.endswith("_ms") else "1") for name in values}
    return {name: Quantity(value=value, unit=units[name]) for name, value in values.items()}


_PERCENTILES = {"p50_ms": 50.0, "p95_ms": 95.0, "p99_ms": 99.0}


def _series(ran: Ran, output: pgbench_output.PgbenchOutput) -> pd.DataFrame:
    """The lines of progress as rows of the long table. pgbench counts from when its clients begin to connect.

    What it says of a time in which they still did is none of the load.
    """
    connecting_s = output.figures.get("connecting_ms", 0.0) / 1000
    begin = (output.ended or ran.ended.ended) - output.total_time_s - connecting_s
    units = {"tps": "1/s", "latency_ms": "ms", "failed": "1", "retries": "1"}
    rows = [
        (begin + line.t, ran.client, "pgbench", name, float(getattr(line, name)), unit)
        for line in output.progress
        if line.t > connecting_s
        for name, unit in units.items()
    ]
    return pd.DataFrame(rows, columns=samples.COLUMNS) if rows else samples.empty()
