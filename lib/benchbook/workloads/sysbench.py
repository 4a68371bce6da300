"""sysbench as a load generator: the published command lines, parameterised; its tables prepared and counted."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from benchbook.analysis import checks
from benchbook.analysis.checks import Check
from benchbook.campaign.record import Record
from benchbook.errors import HIDDEN, BadInput, HostUnusable, SystemFailed
from benchbook.hosts.agent import Command, remote_program
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.profiles import Profile, SysbenchSize
from benchbook.systems import sql
from benchbook.systems.base import CONNECTIONS, STATEMENTS, System
from benchbook.systems.statements import reading_s
from benchbook.workloads import sysbench_output
from benchbook.workloads.base import Load, Outcome, Ran, one_port
from benchbook.workloads.printed_load import PrintedLoad
from benchbook.workloads.sysbench_output import QUEUE_FULL_AFTER_S

# OpenSSL's configuration, in a job's folder.
_OPENSSL = "openssl.cnf"
# The scripts that sysbench 1.0 brings along. A script of another name is a file, or one that nobody has seen.
SCRIPTS = frozenset(
    """bulk_insert oltp_delete oltp_insert oltp_point_select oltp_read_only oltp_read_write oltp_update_index
    oltp_update_non_index oltp_write_only select_random_points select_random_ranges""".split()
)
# Of their options (src/lua/oltp_common.lua) and sysbench's own, those that change what is asked of a server: none that
# reads a file, chooses where to connect, or stands in place of what the kit sets itself (threads, time, tables).
OPTIONS = frozenset(
    """auto-inc auto_inc create_secondary create-secondary db-driver db-ps-mode delete_inserts delete-inserts
    distinct_ranges distinct-ranges events index_updates index-updates mysql-ignore-errors non_index_updates
    non-index-updates order_ranges order-ranges percentile point_selects point-selects rand-pareto-h rand-seed
    rand-spec-iter rand-spec-pct rand-spec-res rand-type rand-zipfian-exp range_selects range-selects range_size
    range-size reconnect secondary simple_ranges simple-ranges skip_trx skip-trx sum_ranges sum-ranges
    thread-init-timeout validate warmup-time""".split()
)
_IGNORED = "mysql-ignore-errors"
# How long all threads may take to connect. sysbench 1.1 waits 30 s unless it is told (src/sysbench.c); 1.0.20 waits as
# long and cannot be told. 90 is what YugabyteDB's instructions give, and within the `_SLACK_S` of a load.
_INIT_TIMEOUT, _INIT_TIMEOUT_S = "thread-init-timeout", 90
# Statements that a thread of these prepares for each table, and how many of them are of ranges.
_PREPARED = {
    "oltp_delete": (1, 0),
    "oltp_point_select": (1, 0),
    "oltp_read_only": (5, 4),
    "oltp_read_write": (9, 4),
    "oltp_update_index": (1, 0),
    "oltp_update_non_index": (1, 0),
    "oltp_write_only": (4, 0),
}
# What makes it cut a value of its configuration file (seen of 1.0.20): blanks, commas, `#` and quotes at the ends.
_CUT = re.compile(r"\s|,|^[#'\"]|['\"]$")
# A line of remote/reads_options.lua: name, type and value of an option.
_READ = re.compile(r"^read\t(\w+)\t(\w+)\t(.*)$", re.MULTILINE)
_VERSION = re.compile(r"^sysbench (\d+)\.(\d+)")
# How long sysbench may take beyond its load: connecting, and finishing the transactions under way.
_SLACK_S = 120


@dataclass(frozen=True)
class Dataset:
    """What `prepare` makes: `tables` tables of `table_size` rows."""

    tables: int
    table_size: int
    database: str = "sbtest"


# -- command lines --------------------------------------------------------------------------------------------------


def run(
    program: str, endpoints: Sequence[Endpoint], dataset: Dataset, load: Load, options: Mapping[str, str]
) -> Command:
    """Return the command that drives one of sysbench's Lua scripts; threads are spread over the servers in turn.

    With a rate, a thread of sysbench's own puts transactions into a queue by a Poisson schedule, which waits for no
    answer; their time counts from then on (seen of 1.0.20: 20-ms events of 2 threads at 200/s took up to 1,640 ms
    after 3 s). Left out is by how much that thread is late itself, where the client's CPU is full, and what still
    waits in the queue at the end. A queue that is full, at 100,000, ends the load: a failed trial,
    and in a search for the highest rate one that was offered too much.
    """
    argv = [
        program,
        str(load.levels["workload"]),
        "run",
        "--config-file={job}/password.cnf",
        *_target(endpoints, dataset.database),
        f"--threads={load.threads}",
        f"--time={load.time_s}",
        "--report-interval=1",
        f"--tables={dataset.tables}",
        f"--table-size={dataset.table_size}",
        "--histogram=on",
        *option_words(options),
        *([f"--rate={load.rate}"] if load.rate else []),
    ]
    env = _environment(endpoints[0])
    return Command(argv, timeout_s=load.time_s + _SLACK_S, env=env, secrets=_secrets(endpoints[0]))


def prepare(program: str, endpoint: Endpoint, dataset: Dataset, *, threads: int, seed: int) -> Command:
    """Return the command that fills one server with the dataset."""
    argv = [
        program,
        "oltp_common",
        "--config-file={job}/password.cnf",
        f"--threads={min(threads, dataset.tables)}",
        *_target([endpoint], dataset.database),
        "prepare",
        f"--tables={dataset.tables}",
        f"--table-size={dataset.table_size}",
        f"--rand-seed={seed}",
    ]
    # 2,000 rows/s is slower than any server seen; the limit only ends what hangs.
    longest_s = 600 + dataset.tables * dataset.table_size / 2000
    return Command(argv, timeout_s=longest_s, env=_environment(endpoint), secrets=_secrets(endpoint))


def options_of(words: Iterable[str]) -> dict[str, str]:
    """Return printed options (`--name=value`) by name, without how to connect, which is ours to say."""
    pairs = [option.lstrip("-").partition("=") for option in words if option.startswith("--")]
    return {name: value for name, _, value in pairs if name != "db-driver"}


def option_words(options: Mapping[str, str]) -> list[str]:
    """Return options as words. A switch without a value stays one: `--skip-trx=` is no option to sysbench."""
    return [f"--{name}={value}" if value else f"--{name}" for name, value in options.items()]


def also_ignoring(options: Mapping[str, str], errors: Sequence[int]) -> dict[str, str]:
    """Return the options with these server errors added to those that they ignore, unless that is `all` already."""
    named = [code for code in options.get(_IGNORED, "").split(",") if code]
    codes = dict.fromkeys(named if "all" in named else [*named, *map(str, errors)])
    return {**options, **({_IGNORED: ",".join(codes)} if codes else {})}


def misread(options: Mapping[str, str], printed: str) -> str:
    """Return which option sysbench reads otherwise than it is written, as a clause; "" where there is none.

    `printed` is the output of remote/reads_options.lua. Of a number sysbench takes what stands before the first
    character that is none, and says nothing of it: `abc` is 0, `2K` is 2.
    """
    read = {name: (kind, value) for name, kind, value in _READ.findall(printed)}
    for name, written in options.items():
        kind, value = read.get(name.replace("-", "_"), ("", ""))
        # Lua prints 14 digits.
        if written and kind == "number" and not math.isclose(_number(written), float(value), rel_tol=1e-12):
            return f"reads --{name}={written} as {value}"
    codes = options.get(_IGNORED, "").split(",") if options.get(_IGNORED) else []
    if wrong := [code for code in codes if code != "all" and not code.isdecimal()]:
        return f"has no server error {wrong[0]!r} to ignore (--{_IGNORED} takes numbers, or all)"
    return ""


def _number(written: str) -> float:
    """Read a number as C and Lua do; not a number for what is none."""
    with suppress(ValueError):
        return float(int(written, 0))
    with suppress(ValueError):
        return float(written)
    return math.nan


def _target(endpoints: Sequence[Endpoint], database: str) -> list[str]:
    first = endpoints[0]
    # sysbench's driver is called as the protocol is, and its options of a connection begin like it.
    driver = first.protocol
    # Of its two drivers, only that of MySQL has a switch for TLS; libpq is asked by an environment variable.
    safe = ["--mysql-ssl=on"] if first.tls and driver == "mysql" else []
    return [
        f"--db-driver={driver}",
        f"--{driver}-db={database}",
        f"--{driver}-host={','.join(e.address for e in endpoints)}",
        f"--{driver}-port={one_port(endpoints, 'sysbench')}",
        f"--{driver}-user={first.user}",
        *safe,
    ]


def _environment(endpoint: Endpoint) -> dict[str, str]:
    """Return what TLS needs; a job runs in the folder of its files."""
    needed = {"pgsql": {"PGSSLMODE": "require"}, "mysql": {"OPENSSL_CONF": _OPENSSL}}
    return needed[endpoint.protocol] if endpoint.tls else {}


def _secrets(endpoint: Endpoint) -> dict[str, str]:
    """Return the files that only the login can read: a password on a command line stands in every process list.

    For TLS to MySQL sysbench 1.0 takes three files of the folder that it runs in, and nothing less. Of these a server
    refuses the client's certificate where it sees it, so the fourth has OpenSSL keep that back.
    """
    files = {"password.cnf": f"{endpoint.protocol}-password={_written(endpoint)}\n"}
    if endpoint.tls and endpoint.protocol == "mysql":
        key, certificate = sql.unshown_pair()
        files |= {"cacert.pem": sql.authorities(endpoint), "client-key.pem": key, "client-cert.pem": certificate}
        files |= {_OPENSSL: sql.SHOWS_NONE}
    return files


def _written(endpoint: Endpoint) -> str:
    """Write the password as sysbench's configuration file takes it: in quotes where it would be cut, as at a blank.

    There is no way to write one that holds both kinds of quotes and needs them.
    """
    if not _CUT.search(endpoint.password):
        return endpoint.password
    for quote in ('"', "'"):
        if quote not in endpoint.password:
            return f"{quote}{endpoint.password}{quote}"
    said = "sysbench cannot be given a password with both kinds of quotes beside a blank, a comma, or at its ends"
    fix = f"give the account {endpoint.user} at {endpoint} another password"
    raise BadInput(said, key="password", value=HIDDEN, fix=fix)


# -- the generator --------------------------------------------------------------------------------------------------


class Sysbench(PrintedLoad[SysbenchSize]):
    """The workloads of sysbench's own Lua scripts; `options` are those of the published command line."""

    name = "sysbench"
    program = package = "sysbench"
    protocols = ("mysql", "pgsql")
    Size = SysbenchSize
    many_clients = open_loop = True
    prints_every_s = 1.0
    workloads = SCRIPTS
    known_options = OPTIONS
    # Those of any version: 1.0.20 has `special` and no `zipfian`, 1.1 the reverse (src/sb_rand.c).
    option_values: ClassVar = {
        "rand-type": ("uniform", "gaussian", "special", "pareto", "zipfian"),
        "db-driver": ("mysql", "pgsql"),
        "db-ps-mode": ("auto", "disable"),
    }
    database = "sbtest"

    @classmethod
    def size_in(cls, profile: Profile) -> SysbenchSize:
        return profile.sysbench

    @classmethod
    def asked(cls, size: SysbenchSize) -> dict[str, object]:
        return {"tables": size.tables, "table_size": size.table_size, "report_interval_s": 1}

    def __init__(self, size: SysbenchSize, options: Sequence[str], seed: int) -> None:
        super().__init__(size, options, seed)
        self._takes_init_timeout: set[str] = set()

    def version(self, client: Host) -> str:
        """Return its version. Raise HostUnusable for 0.4 and 0.5, which take other options and print no histogram."""
        name = super().version(client)
        found = _VERSION.match(name)
        if found and int(found[1]) < 1:
            raise HostUnusable(
                f"{name} on host {client.name} is too old: its options and its output are others",
                file=client.inventory.file,
                key="programs.sysbench",
                value=self.programs[client.name],
                fix="install sysbench 1.0 or 1.1 there, or name its path here",
            )
        if f"--{_INIT_TIMEOUT}=" in client.run([self.programs[client.name], "--help"]).stdout:
            self._takes_init_timeout.add(client.name)
        return name

    # -- its data -----------------------------------------------------------------------------------------------

    @property
    def dataset(self) -> Dataset:
        return Dataset(self.size.tables, self.size.table_size, self.database)

    def prepare(self, session: Session, client: Host, system: System, say: Callable[[str], None]) -> None:
        system.make_database(client, self.dataset.database)
        rows = self.dataset.tables * self.dataset.table_size
        say(f"preparing {self.dataset.tables} tables, {rows:,} rows, once for this dataset")
        program, threads = self.programs[client.name], self.size.prepare_threads
        commands = [prepare(program, end, self.dataset, threads=threads, seed=self.seed) for end in system.copies()]
        tables = 0

        def count(data: bytes) -> None:
            nonlocal tables
            tables += data.count(b"Inserting")
            say(f"preparing: table {tables} of {self.dataset.tables * len(commands)}")

        self.fill(session, client, commands, count)
        system.lay_out(client, self.dataset.database, self._tables)
        self._count(client, system)

    @property
    def _tables(self) -> list[str]:
        return [f"sbtest{i}" for i in range(1, self.dataset.tables + 1)]

    def _count(self, client: Host, system: System) -> None:
        """Raise SystemFailed unless every table of every server holds as many rows as were asked for."""
        data, tables = self.dataset, self._tables
        for endpoint in system.endpoints():
            counts = system.row_counts(client, endpoint, data.database, tables, reading_s(data.table_size))
            wrong = {name: rows for name, rows in counts.items() if rows != data.table_size}
            if wrong:
                raise SystemFailed(f"{endpoint}: after prepare, tables do not hold {data.table_size} rows: {wrong}")

    # -- its loads ----------------------------------------------------------------------------------------------

    def reading_options(self, client: Host, workload: str) -> list[str]:
        script = client.push(remote_program("workloads", "reads_options.lua"))
        words = option_words(options_of(self.options))
        return ["env", f"BENCHBOOK_WORKLOAD={workload}", self.programs[client.name], script, *words, "options"]

    def misread(self, printed: str) -> str:
        return misread(options_of(self.options), printed)

    def command(self, client: Host, endpoints: Sequence[Endpoint], load: Load) -> Command:
        longer = {_INIT_TIMEOUT: str(_INIT_TIMEOUT_S)} if client.name in self._takes_init_timeout else {}
        options = also_ignoring({**longer, **options_of(self.options)}, load.retried_errors)
        return run(self.programs[client.name], endpoints, self.dataset, load, options)

    def holds(self, load: Load, servers: int) -> dict[str, int]:
        """Return connections, and the statements that are prepared once for each of them (0 where not known)."""
        held, options = super().holds(load, servers), options_of(self.options)
        every, of_ranges = _PREPARED.get(str(load.levels["workload"]), (0, 0))
        if options.get("range-selects", options.get("range_selects", "on")) not in ("", "on", "true", "1"):
            every -= of_ranges
        if options.get("db-ps-mode") == "disable":
            every = 0
        return {**held, STATEMENTS: held[CONNECTIONS] * self.dataset.tables * every}

    def outcome(self, ran: Sequence[Ran]) -> Outcome:
        return sysbench_output.outcome(ran)

    def overrun(self, ran: Sequence[Ran]) -> Outcome | None:
        return sysbench_output.queue_full(ran)

    @classmethod
    def record_checks(cls, record: Record) -> list[Check]:
        """Return Little's law, ignored errors and latencies beyond its histogram; of a full queue, when it was full."""
        if (after_s := record.proof.get(QUEUE_FULL_AFTER_S)) is not None:
            found = f"full after {after_s:g} s: more was offered than the server takes"
            return [Check(record.id, "queue", ok=True, found=found)]
        return [checks.little(record), checks.errors(record), *sysbench_output.latency_range(record)]
