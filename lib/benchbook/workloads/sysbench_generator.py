"""sysbench as a load generator: its tables prepared and counted, its loads shared among the client hosts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from benchbook.analysis import checks
from benchbook.analysis.checks import Check
from benchbook.campaign.record import Record
from benchbook.errors import SystemFailed
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.jobs import Command, Job, remote_program
from benchbook.profiles import Profile, SysbenchSize
from benchbook.systems.limits import CONNECTIONS, STATEMENTS
from benchbook.systems.statements import reading_s
from benchbook.workloads import sysbench, sysbench_output, sysbench_overrun, sysbench_reading, sysbench_stream
from benchbook.workloads.generator import Load, LoadGenerator, Outcome, Ran, Store
from benchbook.workloads.merging import merged, proof_of, series_of

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost
    from benchbook.hosts.session import Session


class Sysbench(LoadGenerator[SysbenchSize]):
    """The workloads of sysbench's own Lua scripts; `options` are those of the published command line."""

    name = "sysbench"
    program = package = "sysbench"
    protocols = tuple(sysbench.DRIVERS)
    Size = SysbenchSize
    many_clients = open_loop = True
    stop_file = sysbench.STOP_FILE
    prints_every_s = 1.0
    workloads = sysbench.SCRIPTS
    known_options = sysbench.OPTIONS

    @classmethod
    def size_in(cls, profile: Profile) -> SysbenchSize:
        return profile.sysbench

    @classmethod
    def asked(cls, size: SysbenchSize) -> dict[str, object]:
        return {"tables": size.tables, "table_size": size.table_size, "report_interval_s": 1}

    # -- its data -----------------------------------------------------------------------------------------------

    @property
    def dataset(self) -> sysbench.Dataset:
        return sysbench.Dataset(self.size.tables, self.size.table_size)

    def prepare(self, session: Session, client: RemoteHost, store: Store, say: Callable[[str], None]) -> None:
        store.make_database(client, self.dataset.database)
        rows = self.dataset.tables * self.dataset.table_size
        say(f"preparing {self.dataset.tables} tables, {rows:,} rows, once for this dataset")
        with ExitStack() as filling:
            commands = [self._filling(client, end) for end in store.copies()]
            for job in [filling.enter_context(session.following(client, "prepare", each)) for each in commands]:
                self._await(job, say)
        store.lay_out(client, self.dataset.database, self._tables)
        self._count(client, store)

    @property
    def _tables(self) -> list[str]:
        return [f"sbtest{i}" for i in range(1, self.dataset.tables + 1)]

    def _filling(self, client: RemoteHost, endpoint: Endpoint) -> Command:
        program, threads = self.programs[client.name], self.size.prepare_threads
        return sysbench.prepare(program, endpoint, self.dataset, threads=threads, seed=self.seed)

    def _await(self, job: Job, say: Callable[[str], None]) -> None:
        tables = [0]

        def count(data: bytes) -> None:
            tables[0] += data.count(b"Inserting")
            say(f"preparing: table {tables[0]} of {self.dataset.tables}")

        ended = job.wait(on_output=count)
        printed = job.stdout().decode(errors="replace") + job.stderr()
        sysbench_stream.check_end(ended, printed, f"sysbench prepare on {job.host.name}")

    def _count(self, client: RemoteHost, store: Store) -> None:
        """Every table of every server holds as many rows as were asked for."""
        data, tables = self.dataset, self._tables
        for endpoint in store.endpoints():
            counts = store.row_counts(client, endpoint, data.database, tables, reading_s(data.table_size))
            wrong = {name: rows for name, rows in counts.items() if rows != data.table_size}
            if wrong:
                raise SystemFailed(f"{endpoint}: after prepare, tables do not hold {data.table_size} rows: {wrong}")

    # -- its loads ----------------------------------------------------------------------------------------------

    @property
    def given(self) -> dict[str, str]:
        """The published options; how to connect is ours to say."""
        return sysbench.options_of(self.options)

    def reading_options(self, client: RemoteHost, workload: str) -> list[str]:
        script = client.push(remote_program("workloads", "reads_options.lua"))
        named = ["env", f"BENCHBOOK_WORKLOAD={workload}"]
        return [*named, self.programs[client.name], script, *sysbench.printed(self.given), "options"]

    def misread(self, said: str) -> str:
        return sysbench_reading.misread(self.given, said)

    def command(self, client: RemoteHost, endpoints: Sequence[Endpoint], load: Load) -> Command:
        options = sysbench.also_ignoring(self.given, load.retried_errors)
        script = client.push(remote_program("workloads", "stoppable.lua")) if load.stoppable else ""
        part = sysbench.SysbenchLoad(
            str(load.levels["workload"]), load.threads, load.time_s, self.dataset, load.rate, options, script
        )
        return sysbench.run(self.programs[client.name], endpoints, part)

    def holds(self, load: Load, servers: int) -> dict[str, int]:
        """Its statements are prepared once per connection."""
        held = super().holds(load, servers)
        each = sysbench.prepared(str(load.levels["workload"]), self.dataset.tables, self.given)
        return {**held, STATEMENTS: held[CONNECTIONS] * each}

    def rate_in(self, line: str) -> tuple[float, float] | None:
        return sysbench_stream.rate_in(line)

    def failure(self, text: str) -> str | None:
        return sysbench_output.failure(text)

    def outcome(self, ran: Sequence[Ran]) -> Outcome:
        outputs = [sysbench_output.parse(each.text) for each in ran]
        whole = merged(outputs)
        return Outcome(
            sysbench_stream.summarise(whole), series_of(ran, outputs, whole), whole.histogram, proof_of(ran, outputs)
        )

    def overrun(self, ran: Sequence[Ran]) -> Outcome | None:
        return sysbench_overrun.outcome(ran)

    @classmethod
    def record_checks(cls, record: Record) -> list[Check]:
        """Little's law, and the errors that the report's own options ignore; of a load whose queue was full, when."""
        if (after_s := record.proof.get(sysbench_overrun.ENDED_S)) is not None:
            said = f"full after {after_s:g} s: more was offered than the server takes"
            return [Check(record.id, "queue", ok=True, found=said)]
        return checks.of_sysbench(record)
