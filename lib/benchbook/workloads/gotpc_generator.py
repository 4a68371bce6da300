"""go-tpc as a load generator: PingCAP's TPC-C, with its consistency conditions as the proof of every load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import pandas as pd
from pydantic import Field

from benchbook.analysis import checks
from benchbook.analysis.checks import Check
from benchbook.campaign.record import Quantity, Record
from benchbook.errors import SystemFailed, WorkloadFailed
from benchbook.hosts.about import Json
from benchbook.hosts.jobs import Command, program_on
from benchbook.hosts.secret_files import secret_files
from benchbook.probes import samples
from benchbook.profiles import LoadSize
from benchbook.workloads import gotpc_books, gotpc_login, gotpc_output
from benchbook.workloads.generator import Level, Load, LoadGenerator, Outcome, Ran, Store, check_end, one_port
from benchbook.workloads.gotpc_books import OrderBooks
from benchbook.workloads.gotpc_output import GoTpcOutput, Operation, Operations

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.endpoint import Endpoint
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session

# As the report names it.
DATABASE = "tpcc"
NEW_ORDER, PAYMENT = "NEW_ORDER", "PAYMENT"
# Lines of errors that are kept; go-tpc prints one for each that it passes over.
MOST_LINES = 500
# A thread begins with some sixty statements to prepare, and ends with the transaction that is under way.
SLACK_S = 600
# Of the transactions so many may fail before a record's check says so.
MOST_FAILED = 0.01
# TPC-C 5.11, clause 5.2.5.3: 90% of new orders are answered within 5 s.
LONGEST_MS = 5000.0
UNITS = {"tps": "1/s", "tpmc": "1/min", "tpm_total": "1/min", "total_time_s": "s", "efficiency_percent": "%"}


class GoTpcSize(LoadSize):
    """`warehouses` of some 100 MB each, filled by `prepare_threads`, which also check them."""

    warehouses: int = Field(ge=1, le=100_000)
    prepare_threads: int = Field(4, ge=1, le=1000)


@dataclass(frozen=True)
class Warehouses:
    """The prepared data."""

    warehouses: int
    database: str = DATABASE


class GoTpc(LoadGenerator[GoTpcSize]):
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

    def version(self, client: RemoteHost) -> str:
        said = client.run([self.programs[client.name], "version"]).stdout.splitlines()
        return f"go-tpc {said[-1].rpartition(' ')[2]}"

    @classmethod
    def asked(cls, size: GoTpcSize) -> dict[str, object]:
        return {"warehouses": size.warehouses, "report_interval_s": 1}

    # -- its data -------------------------------------------------------------------------------------------------

    @property
    def dataset(self) -> Warehouses:
        return Warehouses(self.size.warehouses)

    def prepare(self, session: Session, client: RemoteHost, store: Store, say: Callable[[str], None]) -> None:
        """Filled, counted, checked, and its statistics collected, as the report does."""
        store.make_database(client, DATABASE)
        ends = store.copies()
        say(f"preparing {self.size.warehouses} warehouses, once for this dataset")
        with gotpc_login.let_in(client, ends, DATABASE):
            with ExitStack() as filling:
                commands = [self._asking(client, [end], "prepare", ["--no-check"]) for end in ends]
                for job in [filling.enter_context(session.following(client, "prepare", each)) for each in commands]:
                    ended = job.wait()
                    check_end(
                        ended, job.stdout().decode(errors="replace") + job.stderr(), "go-tpc prepare", self.failure
                    )
            self._count(client, store)
            say("collecting statistics, checking the consistency conditions")
            for end in ends:
                gotpc_books.analyse(client, end, DATABASE, self._longest_s)
            self._conditions(client, ends, ["--check-all"])

    def _count(self, client: RemoteHost, store: Store) -> None:
        """An insert that go-tpc has given up is no error of it: what is missing is seen in the tables alone."""
        expected = {name: rows * self.size.warehouses for name, rows in gotpc_books.ROWS.items()}
        expected["item"] = gotpc_books.ITEMS
        for end in store.endpoints():
            counts = store.row_counts(client, end, DATABASE, list(expected), self._longest_s)
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

    def _asking(self, client: RemoteHost, ends: Sequence[Endpoint], verb: str, more: Sequence[str]) -> Command:
        login = gotpc_login.login(ends[0])
        words = self._words(ends, verb, min(self.size.prepare_threads, 10 * self.size.warehouses))
        argv = [self.programs[client.name], *words, *login.words, *more]
        return Command(argv, timeout_s=self._longest_s, env=login.env, secrets=login.secrets)

    @property
    def _longest_s(self) -> float:
        """Ten minutes a warehouse is slower than any server seen; the limit only ends what hangs."""
        return 600 + 600 * self.size.warehouses

    # -- its loads ------------------------------------------------------------------------------------------------

    def reading_options(self, client: RemoteHost, workload: str) -> list[str]:
        return [self.programs[client.name], "tpcc", "run", *self.options, "--help"]

    def command(self, client: RemoteHost, endpoints: Sequence[Endpoint], load: Load) -> Command:
        """The published one, with a line a second as JSON; each line gets the time of this host."""
        self._first = 0.0
        login = gotpc_login.login(endpoints[0])
        words = self._words(endpoints, "run", load.threads)
        how = [f"--time={load.time_s}s", *self.options, "--interval=1s", "--output=json"]
        stamped = [*program_on(client, "workloads", "stamped.py"), MOST_LINES]
        argv = [*stamped, self.programs[client.name], *words, *login.words, *how]
        return Command(argv, timeout_s=load.time_s + SLACK_S, grace_s=12, env=login.env, secrets=login.secrets)

    def rate_in(self, line: str) -> tuple[float, float] | None:
        """Its first line comes after a second."""
        if (seen := gotpc_output.told(line)) is None:
            return None
        self._first = self._first or seen[0] - 1
        return seen[0] - self._first, seen[1]

    def failure(self, text: str) -> str | None:
        return gotpc_output.failure(text)

    def outcome(self, ran: Sequence[Ran]) -> Outcome:
        (one,) = ran
        output = gotpc_output.parse(one.text)
        proof: Json = {"passed_over": output.errors} if output.errors else {}
        return Outcome(_summary(output), _series(one, output), proof=proof)

    # -- its proof ------------------------------------------------------------------------------------------------

    def before(self, client: RemoteHost, store: Store) -> None:
        ends = store.copies()
        gotpc_login.make(client, ends, DATABASE)
        self._books = gotpc_books.read(client, ends, DATABASE, self._longest_s)

    def prove(self, client: RemoteHost, store: Store, levels: Mapping[str, Level], outcome: Outcome) -> Json:
        """The consistency conditions on every copy of the data, and no acknowledged transaction is gone."""
        ends = store.copies()
        try:
            conditions = self._conditions(client, ends)
        finally:
            gotpc_login.drop(client, ends)
        after, counts = gotpc_books.read(client, ends, DATABASE, self._longest_s), outcome.summary
        new, paid = ((int(counts[n].value), int(counts[f"{n}_failed"].value)) for n in ("new_orders", "payments"))
        if wrong := after.wrong(self._books, new, paid):
            raise WorkloadFailed(f"TPC-C's books do not balance: {wrong}")
        return {"conditions": conditions, "books": {"before": asdict(self._books), "after": asdict(after)}}

    def _conditions(
        self, client: RemoteHost, ends: Sequence[Endpoint], more: Sequence[str] = ()
    ) -> dict[str, list[str]]:
        """Those that hold, of every copy of the data. Raises WorkloadFailed for one that does not."""
        with ThreadPoolExecutor(len(ends), thread_name_prefix="conditions") as pool:
            held = list(pool.map(lambda end: self._of_one(client, end, more), ends))
        return {str(end): names for end, names in zip(ends, held, strict=True)}

    def _of_one(self, client: RemoteHost, end: Endpoint, more: Sequence[str]) -> list[str]:
        """Those that hold in every warehouse of one copy."""
        asked = self._asking(client, [end], "check", more)
        indexed = gotpc_books.indexed(client, end, DATABASE, self._longest_s)
        with indexed, secret_files(client, asked.secrets) as folder:
            env = [f"{name}={folder}/{value}" for name, value in asked.env.items()]
            ended = client.run(["env", *env, *asked.argv], timeout=asked.timeout_s, check=False)
        said = ended.stdout + ended.stderr
        held = gotpc_books.checked(said)
        wrong = gotpc_output.failure(said)
        everywhere = len(held) == self.size.warehouses and len(set(map(tuple, held.values()))) == 1
        if ended.status != 0 or wrong or not everywhere:
            why = wrong or "not all were asked"
            raise WorkloadFailed(f"{end}: TPC-C's consistency conditions do not hold: {why}", output=said)
        return held[1]

    # -- after it -------------------------------------------------------------------------------------------------

    @classmethod
    def record_checks(cls, record: Record) -> list[Check]:
        """Little's law, failed transactions, TPC-C's limit of a new order's time, and its consistency conditions."""
        counts = record.summary
        share = counts["failed"].value / max(1.0, counts["events"].value + counts["failed"].value)
        slow = counts["new_order_p90_ms"].value
        held = record.proof.get("conditions", {})
        said = "; ".join(f"{end}: {len(names)} conditions hold" for end, names in held.items())
        return [
            *([] if _waits(record) else [checks.little(record, own_time=True)]),
            Check(record.id, "errors", share <= MOST_FAILED, f"{counts['failed'].value:g} failed ({share:.2%})"),
            Check(record.id, "new orders in time", slow <= LONGEST_MS, f"90% within {slow:g} ms, of 5,000"),
            Check(record.id, "TPC-C's conditions", bool(held), said or "were not asked"),
        ]


def _waits(record: Record) -> bool:
    """With keying and think times threads mostly wait, outside of any transaction."""
    return "--wait" in record.command


def _summary(output: GoTpcOutput) -> dict[str, Quantity]:
    every, new_orders = output.summary, output.summary[NEW_ORDER]
    total_s = max(each.lasted_s for each in every.values())
    events, failed = gotpc_output.done(every), gotpc_output.failed(every)
    values = {
        "tpmc": output.tpmc,
        "tpm_total": output.tpm_total,
        "efficiency_percent": output.efficiency_percent,
        "tps": events / total_s,
        "events": events,
        "failed": failed,
        "new_orders": new_orders.count,
        "new_orders_failed": _count(every, NEW_ORDER + gotpc_output.FAILED),
        "payments": _count(every, PAYMENT),
        "payments_failed": _count(every, PAYMENT + gotpc_output.FAILED),
        "total_time_s": total_s,
        "latency_mean_ms": _mean_ms(every),
        "latency_max_ms": max(each.times["max_ms"] for each in every.values()),
        **{f"new_order_{name}": ms for name, ms in new_orders.times.items()},
    }
    units = {name: UNITS.get(name, "ms" if name.endswith("_ms") else "1") for name in values}
    return {name: Quantity(value=float(value), unit=units[name]) for name, value in values.items()}


def _count(operations: Operations, name: str) -> int:
    found = operations.get(name, Operation(0, 0.0, 0.0, {}))
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
            ("tps", float(gotpc_output.done(operations)), "1/s"),
            ("tpmc", 60.0 * _count(operations, NEW_ORDER), "1/min"),
            ("latency_ms", _mean_ms(operations), "ms"),
            ("failed", float(gotpc_output.failed(operations)), "1"),
        )
    ]
    return pd.DataFrame(rows, columns=samples.COLUMNS) if rows else samples.empty()
