"""go-tpc as a load generator: PingCAP's TPC-C, with its consistency conditions as the proof of every load.

Output: what it prints with `--output json`, each line with the time that remote/stamped.py puts before it.

Login: go-tpc takes a password nowhere but on its command line, so it logs in by an account that has none there.
PostgreSQL's driver reads a password file. For the MySQL protocol an account without a password is made. It has rights
on the database of TPC-C alone, is let in from the client host alone, and is dropped after the load: who works on the
client host could use it that long (after a load that failed, until the next one). Nobody's password is shown.

Books: the consistency conditions themselves (TPC-C 5.11, clause 3.3.2) are asked by `go-tpc tpcc check`. They hold also
for a database that has lost a transaction as a whole; what was acknowledged is counted here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd
from pydantic import Field

from benchbook.analysis import checks
from benchbook.analysis.checks import Check
from benchbook.campaign.record import Quantity, Record
from benchbook.errors import OutputNotParseable, SystemFailed, WorkloadFailed
from benchbook.hosts.agent import Command, program_on
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.host_models import Json
from benchbook.hosts.session import Session
from benchbook.probes import samples
from benchbook.profiles import LoadSize
from benchbook.systems import psql, sql
from benchbook.systems.base import System
from benchbook.workloads import generator_output
from benchbook.workloads.base import Level, Load, Outcome, Ran, one_port
from benchbook.workloads.printed_load import Prepared, PrintedLoad, failures

# As the report names it.
DATABASE = "tpcc"
NEW_ORDER, PAYMENT = "NEW_ORDER", "PAYMENT"
# Lines of errors that are kept; go-tpc prints one for each that it passes over.
MOST_LINES = 500
# A thread begins with some sixty statements to prepare, and ends with the transaction that is under way.
SLACK_S = 600
# TPC-C 5.11, clause 5.2.5.3: 90% of new orders are answered within 5 s.
LONGEST_MS = 5000.0


# -- its output -------------------------------------------------------------------------------------------------------

_STAMPED = re.compile(r"^(\d+\.\d+) (.*)$")
# Errors that `--ignore-error` passes over have a date in brackets before them.
_PASSED_OVER = re.compile(r"^\[[\d :-]+\] execute run failed, err (.*)$")
NO_CONNECTION = "connection refresh failed"
FAILED = "_ERR"
# Its histograms (measurement.go: one significant figure, from 1 ms on) tell times in steps of half a millisecond, wider
# above 16 ms: up to 6%. The sum of the times is exact.
MOST_SHOWN = 5
# Figures that a record has as they are printed.
PRINTED = ("tpmc", "tpm_total", "efficiency_percent", *(f"new_order_{p}_ms" for p in ("p50", "p90", "p95", "p99")))
# Half of the last digit that it prints of a time in seconds.
_HALF_S = 0.05


@dataclass(frozen=True)
class Operation:
    """One kind of transaction, in one line or in the summary.

    `tpm` = how many a minute since the first one ended, which was `takes_s` before; both are printed with one decimal.
    """

    count: int
    tpm: float
    sum_ms: float
    takes_s: float = 0.0

    @property
    def lasted_s(self) -> float:
        """Since its first one ended: as its rate tells it, and within what is printed as such.

        Of what is as rare as failures the rate alone tells little: 18 in 7,200 s are 0.1 a minute, which is 10,800 s.
        """
        by_rate = self.count * 60 / self.tpm if self.tpm else 0.0
        return min(max(by_rate, self.takes_s - _HALF_S), self.takes_s + _HALF_S)


Operations = Mapping[str, Operation]


@dataclass(frozen=True)
class GoTpcOutput:
    """`told` are its lines while it ran: when, and what was done since the one before; `errors` how often each came."""

    figures: Mapping[str, Quantity]
    summary: Operations
    told: list[tuple[float, Operations]]
    errors: dict[str, int]


def parse(text: str) -> GoTpcOutput:
    """Return all that one run has printed.

    Raise OutputNotParseable, naming what is missing, and WorkloadFailed where not one new order was done.
    """
    lines = list(_stamped(text))
    tables = [(at, json.loads(line)) for at, line in lines if line.startswith("[{")]
    summary = next((rows for _, rows in tables if _is(rows, "[Summary]")), None)
    errors = _errors(line for _, line in lines)
    if summary is None:
        raise OutputNotParseable("go-tpc's output has no summary")
    if not any("tpmC" in rows[0] for _, rows in tables):
        why = "; ".join(f"{text} ({count:,} times)" for text, count in errors.items()) or "it tells of no error"
        raise WorkloadFailed(f"go-tpc: {why}: not one new order was done")
    return GoTpcOutput(
        figures=generator_output.run_of("go_tpc", text, *PRINTED, "new_order_latency_max_ms").figures,
        summary=_operations(summary),
        told=[(at, _operations(rows)) for at, rows in tables if _is(rows, "[Current]")],
        errors=errors,
    )


def rate_at(line: str) -> tuple[float, float] | None:
    """When, and transactions a second since the line before; 0 while it finds no server. None for any other line."""
    match = _STAMPED.match(line)
    if match is None:
        return None
    at, said = float(match[1]), match[2]
    if said.startswith("[{") and _is(rows := json.loads(said), "[Current]"):
        return at, float(succeeded(_operations(rows)))
    return (at, 0.0) if NO_CONNECTION in said else None


def succeeded(operations: Operations) -> int:
    """Transactions that did not fail. The 1% of new orders that TPC-C has rolled back are among them."""
    return sum(each.count for name, each in operations.items() if not name.endswith(FAILED))


def unsuccessful(operations: Operations) -> int:
    return sum(each.count for name, each in operations.items() if name.endswith(FAILED))


def _stamped(text: str) -> Iterator[tuple[float, str]]:
    for match in map(_STAMPED.match, text.splitlines()):
        if match:
            yield float(match[1]), match[2]


def _is(rows: list[dict[str, Any]], prefix: str) -> bool:
    """Whether these are transactions: of keying and think times (`--wait`) it prints the means alone, headed alike."""
    return str(rows[0].get("Prefix", "")).startswith(prefix) and "Count" in rows[0]


def _operations(rows: list[dict[str, Any]]) -> dict[str, Operation]:
    return {
        str(row["Operation"]): Operation(
            count=int(row["Count"]),
            tpm=_number(row, "TPM"),
            sum_ms=_number(row, "Sum(ms)"),
            takes_s=_number(row, "Takes(s)"),
        )
        for row in rows
    }


def _number(row: Mapping[str, Any], name: str) -> float:
    try:
        return float(str(row[name]))
    except (KeyError, ValueError) as problem:
        raise OutputNotParseable(f"go-tpc's output has no {name!r} in {row}") from problem


def _errors(lines: Iterator[str]) -> dict[str, int]:
    """Count the errors that it passed over, without what differs from one to the next (values, addresses)."""
    found: dict[str, int] = {}
    for match in filter(None, map(_PASSED_OVER.match, lines)):
        error = re.sub(r"\(.*?\)|(?<!Error )(?<!\d)\d+", "", match[1].rpartition("failed ")[2])[:200].strip()
        found[error] = found.get(error, 0) + 1
    return dict(sorted(found.items(), key=lambda each: -each[1])[:MOST_SHOWN])


# -- how it logs in ---------------------------------------------------------------------------------------------------

ACCOUNT = "benchbook_tpcc"
PASSFILE, CAFILE = "pgpass", "ca.pem"


@dataclass(frozen=True)
class Login:
    """The words of the command line, and what must be there beside: environment, and files of the job's folder."""

    words: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)


def _login(endpoint: Endpoint) -> Login:
    """Return how to log in to this server, and to those that share its account."""
    if endpoint.protocol == "pgsql":
        how = f"sslmode={'require' if endpoint.tls else 'disable'}"
        words = ["--driver=postgres", f"--user={endpoint.user}", f"--conn-params={how}"]
        return Login(words, {"PGPASSFILE": PASSFILE}, {PASSFILE: psql.pass_line(endpoint)})
    # Without a word go-tpc takes TLS wherever the server offers it, as a MySQL out of the box does.
    tls = f"--conn-params=tls={'true' if endpoint.tls else 'false'}"
    words = ["--driver=mysql", f"--user={ACCOUNT}", tls]
    # Where Go looks for authorities, in place of the machine's.
    return Login(words, {"SSL_CERT_FILE": CAFILE}, {CAFILE: endpoint.tls_ca}) if endpoint.tls_ca else Login(words)


@contextmanager
def with_account(client: Host, ends: Sequence[Endpoint], database: str) -> Iterator[None]:
    """The account is there as long as the block runs."""
    make_account(client, ends, database)
    try:
        yield
    finally:
        drop_account(client, ends)


def make_account(client: Host, ends: Sequence[Endpoint], database: str) -> None:
    """Make the account on each server that needs one, new where one was left. Raise SystemFailed."""
    for end in _without_file(ends):
        who = _from(client, end)
        rights = f"GRANT ALL PRIVILEGES ON `{database}`.* TO {who}"
        sql.queries(client, end, [f"DROP USER IF EXISTS {who}", f"CREATE USER {who}", rights])


def drop_account(client: Host, ends: Sequence[Endpoint]) -> None:
    """Drop the account where there is one. Raise SystemFailed."""
    for end in _without_file(ends):
        sql.query(client, end, f"DROP USER IF EXISTS {_from(client, end)}")


def _without_file(ends: Sequence[Endpoint]) -> list[Endpoint]:
    return [end for end in ends if end.protocol != "pgsql"]


def _from(client: Host, end: Endpoint) -> str:
    """Return the account, from the client host only, as the server sees it."""
    host = str(sql.query(client, end, "SELECT USER()")[0][0]).rpartition("@")[2]
    return f"'{ACCOUNT}'@'{host}'"


# -- TPC-C's own books ------------------------------------------------------------------------------------------------

TABLES = ("customer", "district", "history", "item", "new_order", "order_line", "orders", "stock", "warehouse")
# Of these the initial population has a fixed number of rows for each warehouse (clause 4.3.3.1), and items in all.
ROWS = {"warehouse": 1, "district": 10, "customer": 30_000, "history": 30_000, "orders": 30_000, "stock": 100_000}
ITEMS = 100_000
# Clause 2.4.1.4: 1% of new orders name an item that is not there, and are rolled back. Five times that is another
# cause's doing.
MOST_ROLLED_BACK, ALWAYS = 0.05, 5
_COUNTS = "SELECT (SELECT sum(d_next_o_id - 1) FROM district), (SELECT count(*) FROM history)"
_INDEX = "benchbook_history"
_BEGUN = re.compile(r"begin to check warehouse (\d+) at condition ([\d.]+)\.(\d+)")


@dataclass(frozen=True)
class OrderBooks:
    """Orders that were ever entered (by the numbers of their districts), and payments (by the history)."""

    orders: int
    payments: int

    def wrong(self, before: OrderBooks, entered: tuple[int, int], paid: tuple[int, int]) -> str:
        """What does not fit after a load with so many transactions, (done, failed) of each kind; empty where all does.

        A failed one may have been done all the same, if the answer to its commit was lost.
        """
        orders, payments = self.orders - before.orders, self.payments - before.payments
        (new, failed), wrong = entered, []
        least = new - max(ALWAYS, MOST_ROLLED_BACK * new)
        if not least <= orders <= new + failed:
            wrong.append(f"{orders:,} orders were entered by {new:,} new-order transactions ({failed:,} failed)")
        if not paid[0] <= payments <= sum(paid):
            wrong.append(f"the history has {payments:,} new rows after {paid[0]:,} payments ({paid[1]:,} failed)")
        return "; ".join(wrong)


def read_books(client: Host, ends: Sequence[Endpoint], database: str, timeout_s: float) -> OrderBooks:
    """Return the books of all copies of the data together; each may take `timeout_s`. Raise SystemFailed."""
    found = [_books_of(client, end, database, timeout_s) for end in ends]
    return OrderBooks(sum(each.orders for each in found), sum(each.payments for each in found))


def _books_of(client: Host, end: Endpoint, database: str, timeout_s: float) -> OrderBooks:
    ask = psql.query if end.protocol == "pgsql" else sql.query
    ((orders, payments),) = ask(client, end, _COUNTS, database=database, timeout_s=timeout_s)
    if orders in (None, ""):
        raise SystemFailed(f"{end}: TPC-C's tables are empty")
    return OrderBooks(int(orders), int(payments))


def analyse(client: Host, end: Endpoint, database: str, timeout_s: float) -> None:
    """Statistics of every table, as the report collects them after its import; each may take `timeout_s`.

    Raise SystemFailed.
    """
    if end.protocol == "pgsql":
        for table in TABLES:
            psql.query(client, end, f"VACUUM (ANALYZE) {table}", database=database, timeout_s=timeout_s)
        return
    sql.queries(client, end, [f"ANALYZE TABLE {name}" for name in TABLES], database=database, timeout_s=timeout_s)


@contextmanager
def history_index(client: Host, end: Endpoint, database: str, timeout_s: float) -> Iterator[None]:
    """An index on the history, for as long as the conditions are asked; it is no part of the load.

    To make it may take `timeout_s`.
    For condition 10 go-tpc sums up the payments of each customer by itself. Without it a server that does as it is told
    reads the history of a warehouse 30,000 times, which takes minutes. TiDB joins the two, and needs none.
    """
    ask = psql.query if end.protocol == "pgsql" else sql.query
    if "TiDB" in str(ask(client, end, "SELECT version()")[0][0]):
        yield
        return
    of = "" if end.protocol == "pgsql" else " ON history"
    made = f"CREATE INDEX {_INDEX} ON history (h_c_w_id, h_c_d_id, h_c_id)"
    ask(client, end, made, database=database, timeout_s=timeout_s)
    try:
        yield
    finally:
        ask(client, end, f"DROP INDEX {_INDEX}{of}", database=database)


def checked(text: str) -> dict[int, list[str]]:
    """The conditions that a `go-tpc tpcc check` has begun with, by warehouse; it stops at the first that fails."""
    found: dict[int, list[str]] = {}
    for warehouse, clause, number in sorted(_BEGUN.findall(text), key=lambda each: (int(each[0]), int(each[2]))):
        found.setdefault(int(warehouse), []).append(f"{clause}.{number}")
    return found


# -- the generator ----------------------------------------------------------------------------------------------------


class GoTpcSize(LoadSize):
    """`warehouses` of some 100 MB each, filled by `prepare_threads`, which also check them."""

    warehouses: int = Field(ge=1, le=100_000)
    prepare_threads: int = Field(4, ge=1, le=1000)


class GoTpc(PrintedLoad[GoTpcSize]):
    """TPC-C's mix of five transactions, without keying and think times unless `--wait` is among the options."""

    name = "go_tpc"
    program = "go-tpc"
    builds = ("gotpc",)
    protocols = ("mysql", "pgsql")
    workloads = frozenset({"tpcc"})
    known_options = frozenset({"ignore-error", "wait", "weight", "isolation", "max-measure-latency"})
    Size = GoTpcSize

    def __init__(self, size: GoTpcSize, options: Sequence[str], seed: int) -> None:
        super().__init__(size, options, seed)
        self._books = OrderBooks(0, 0)
        self._first = 0.0

    def version(self, client: Host) -> str:
        said = client.run([self.programs[client.name], "version"]).stdout.splitlines()
        return f"go-tpc {said[-1].rpartition(' ')[2]}"

    @classmethod
    def asked(cls, size: GoTpcSize) -> dict[str, object]:
        return {"warehouses": size.warehouses, "report_interval_s": 1}

    # -- its data -------------------------------------------------------------------------------------------------

    @property
    def dataset(self) -> Prepared:
        return Prepared(self.name, {"warehouses": self.size.warehouses})

    def prepare(self, session: Session, client: Host, system: System, say: Callable[[str], None]) -> None:
        """Filled, counted, checked, and its statistics collected, as the report does."""
        system.make_database(client, DATABASE)
        ends = system.copies()
        say(f"preparing {self.size.warehouses} warehouses, once for this dataset")
        with with_account(client, ends, DATABASE):
            self.fill(session, client, [self._asking(client, [end], "prepare", ["--no-check"]) for end in ends])
            self._count(client, system)
            say("collecting statistics, checking the consistency conditions")
            for end in ends:
                analyse(client, end, DATABASE, self._longest_s)
            self._conditions(client, ends, ["--check-all"])

    def _count(self, client: Host, system: System) -> None:
        """An insert that go-tpc has given up is no error of it: what is missing is seen in the tables alone."""
        expected = {name: rows * self.size.warehouses for name, rows in ROWS.items()}
        expected["item"] = ITEMS
        for end in system.endpoints():
            counts = system.row_counts(client, end, DATABASE, list(expected), self._longest_s)
            wrong = {name: counts[name] for name, rows in expected.items() if counts[name] != rows}
            if wrong:
                raise SystemFailed(f"{end}: after prepare, tables hold {wrong} rows, not {expected}")

    def _words(self, ends: Sequence[Endpoint], verb: str, threads: int) -> list[str]:
        """Its command line but for the program, and but for how it logs in."""
        where = [
            f"--host={','.join(end.address for end in ends)}",
            f"--port={one_port(ends, self.program)}",
            f"--db={DATABASE}",
        ]
        return ["tpcc", verb, *where, f"--warehouses={self.size.warehouses}", f"--threads={threads}"]

    def _asking(self, client: Host, ends: Sequence[Endpoint], verb: str, more: Sequence[str]) -> Command:
        login = _login(ends[0])
        words = self._words(ends, verb, min(self.size.prepare_threads, 10 * self.size.warehouses))
        argv = [self.programs[client.name], *words, *login.words, *more]
        return Command(argv, timeout_s=self._longest_s, env=login.env, secrets=login.secrets)

    @property
    def _longest_s(self) -> float:
        """Ten minutes a warehouse is slower than any server seen; the limit only ends what hangs."""
        return 600 + 600 * self.size.warehouses

    # -- its loads ------------------------------------------------------------------------------------------------

    def reading_options(self, client: Host, workload: str) -> list[str]:
        return [self.programs[client.name], "tpcc", "run", *self.options, "--help"]

    def command(self, client: Host, endpoints: Sequence[Endpoint], load: Load) -> Command:
        """Return the published one, with a line a second as JSON; each line gets the time of this host."""
        self._first = 0.0
        login = _login(endpoints[0])
        words = self._words(endpoints, "run", load.threads)
        how = [f"--time={load.time_s}s", *self.options, "--interval=1s", "--output=json"]
        stamped = [*program_on(client, "workloads", "stamped.py"), MOST_LINES]
        argv = [*stamped, self.programs[client.name], *words, *login.words, *how]
        return Command(argv, timeout_s=load.time_s + SLACK_S, grace_s=12, env=login.env, secrets=login.secrets)

    def rate_in(self, line: str) -> tuple[float, float] | None:
        """Its first line comes after a second."""
        if (seen := rate_at(line)) is None:
            return None
        self._first = self._first or seen[0] - 1
        return seen[0] - self._first, seen[1]

    def outcome(self, ran: Sequence[Ran]) -> Outcome:
        (one,) = ran
        output = parse(one.text)
        proof: Json = {"passed_over": output.errors} if output.errors else {}
        return Outcome(_summary(output), _series(one, output), proof=proof)

    # -- its proof ------------------------------------------------------------------------------------------------

    def before(self, client: Host, system: System, levels: Mapping[str, Level]) -> None:
        ends = system.copies()
        make_account(client, ends, DATABASE)
        self._books = read_books(client, ends, DATABASE, self._longest_s)

    def prove(self, client: Host, system: System, levels: Mapping[str, Level], outcome: Outcome) -> Json:
        """Return the consistency conditions on every copy of the data, and no acknowledged transaction is gone."""
        ends = system.copies()
        try:
            conditions = self._conditions(client, ends)
        finally:
            drop_account(client, ends)
        after, counts = read_books(client, ends, DATABASE, self._longest_s), outcome.summary
        new, paid = ((int(counts[n].value), int(counts[f"{n}_failed"].value)) for n in ("new_orders", "payments"))
        if wrong := after.wrong(self._books, new, paid):
            raise WorkloadFailed(f"TPC-C's books do not balance: {wrong}")
        return {"conditions": conditions, "books": {"before": asdict(self._books), "after": asdict(after)}}

    def _conditions(self, client: Host, ends: Sequence[Endpoint], more: Sequence[str] = ()) -> dict[str, list[str]]:
        """Return those that hold, of every copy of the data. Raise WorkloadFailed for one that does not."""
        with ThreadPoolExecutor(len(ends), thread_name_prefix="conditions") as pool:
            held = list(pool.map(lambda end: self._of_one(client, end, more), ends))
        return {str(end): names for end, names in zip(ends, held, strict=True)}

    def _of_one(self, client: Host, end: Endpoint, more: Sequence[str]) -> list[str]:
        """Return those that hold in every warehouse of one copy."""
        asked = self._asking(client, [end], "check", more)
        index = history_index(client, end, DATABASE, self._longest_s)
        with index, client.secret_files(asked.secrets) as folder:
            env = [f"{name}={folder}/{value}" for name, value in asked.env.items()]
            ended = client.run(["env", *env, *asked.argv], timeout=asked.timeout_s, check=False)
        said = ended.stdout + ended.stderr
        held = checked(said)
        wrong = self.failure(said)
        everywhere = len(held) == self.size.warehouses and len(set(map(tuple, held.values()))) == 1
        if ended.exited != 0 or wrong or not everywhere:
            why = wrong or "not all were asked"
            raise WorkloadFailed(f"{end}: TPC-C's consistency conditions do not hold: {why}", output=said)
        return held[1]

    # -- after it -------------------------------------------------------------------------------------------------

    @classmethod
    def record_checks(cls, record: Record) -> list[Check]:
        """Little's law, failed transactions, TPC-C's limit of a new order's time, and its consistency conditions."""
        slow = record.summary["new_order_p90_ms"].value
        held = record.proof.get("conditions", {})
        said = "; ".join(f"{end}: {len(names)} conditions hold" for end, names in held.items())
        return [
            *([] if _waits(record) else [checks.little(record, own_time=True)]),
            failures(record),
            Check(record.id, "new orders in time", slow <= LONGEST_MS, f"90% within {slow:g} ms, of 5,000"),
            Check(record.id, "TPC-C's conditions", bool(held), said or "were not asked"),
        ]


def _waits(record: Record) -> bool:
    """With keying and think times threads mostly wait, outside of any transaction."""
    return "--wait" in record.command


def _summary(output: GoTpcOutput) -> dict[str, Quantity]:
    every, new_orders = output.summary, output.summary[NEW_ORDER]
    total_s = max(each.lasted_s for each in every.values())
    events, failed = succeeded(every), unsuccessful(every)
    values = {
        "tps": events / total_s,
        "events": events,
        "failed": failed,
        "new_orders": new_orders.count,
        "new_orders_failed": _count(every, NEW_ORDER + FAILED),
        "payments": _count(every, PAYMENT),
        "payments_failed": _count(every, PAYMENT + FAILED),
        "total_time_s": total_s,
        "latency_mean_ms": _mean_ms(every),
        "latency_max_ms": max(q.value for name, q in output.figures.items() if name.endswith("_latency_max_ms")),
        "new_order_max_ms": output.figures["new_order_latency_max_ms"].value,
    }
    return {**{name: output.figures[name] for name in PRINTED}, **generator_output.quantities(values)}


def _count(operations: Operations, name: str) -> int:
    found = operations.get(name, Operation(0, 0.0, 0.0))
    return found.count


def _mean_ms(operations: Operations) -> float:
    """Of all transactions, those that failed among them: what a thread was busy with."""
    return sum(each.sum_ms for each in operations.values()) / max(1, sum(each.count for each in operations.values()))


def _series(ran: Ran, output: GoTpcOutput) -> pd.DataFrame:
    """Its lines as rows of the long table; a second in which nothing was done has none."""
    rows = [
        (at, ran.client, "go_tpc", name, value, unit)
        for at, operations in output.told
        for name, value, unit in (
            ("tps", float(succeeded(operations)), "1/s"),
            ("tpmc", 60.0 * _count(operations, NEW_ORDER), "1/min"),
            ("latency_ms", _mean_ms(operations), "ms"),
            ("failed", float(unsuccessful(operations)), "1"),
        )
    ]
    return samples.table(rows)
