"""sysbench: the published command lines, parameterised."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchbook.errors import HIDDEN, BadInput
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.jobs import Command
from benchbook.systems import tls
from benchbook.workloads.generator import one_port

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost

# sysbench's name of the driver for each protocol that it speaks; its options of a connection begin like it.
DRIVERS = {"mysql": "mysql", "pgsql": "pgsql"}
# OpenSSL's configuration, in a job's folder.
_OPENSSL = "openssl.cnf"
# The file in a job's folder that asks a stoppable load to end (remote/stoppable.lua).
STOP_FILE = "stop"
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
    range-size reconnect secondary simple_ranges simple-ranges skip_trx skip-trx sum_ranges sum-ranges validate
    warmup-time""".split()
)
# Statements that a thread of these prepares for each table, and how many of them are of ranges.
PREPARED = {
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
# How long sysbench may take beyond its load: connecting, and finishing the transactions under way.
SLACK_S = 120


@dataclass(frozen=True)
class Dataset:
    """What `prepare` makes: `tables` tables of `table_size` rows."""

    tables: int
    table_size: int
    database: str = "sbtest"


@dataclass(frozen=True)
class SysbenchLoad:
    """One run: a workload of sysbench's own Lua scripts; `rate` is the offered transactions/s, 0 = closed loop.

    With a rate, a thread of sysbench's own puts transactions into a queue by a Poisson schedule, which waits for no
    answer; their time counts from then on (seen of 1.0.20: 20-ms events of 2 threads at 200/s took up to 1,640 ms
    after 3 s). Left out is by how much that thread is late itself, where the client's CPU is full, and what still
    waits in the queue at the end. A queue that is full, at 100,000, ends the load: a failed trial,
    and in a search for the highest rate one that was offered too much.

    `script` is the path on the client of `stoppable.lua`, through which a load can be asked to stop; "" runs the
    workload itself, as published.
    """

    workload: str
    threads: int
    time_s: int
    dataset: Dataset
    rate: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    script: str = ""


def options_of(printed: Iterable[str]) -> dict[str, str]:
    """Printed options (`--name=value`) by name, without how to connect, which is ours to say."""
    pairs = [option.lstrip("-").partition("=") for option in printed if option.startswith("--")]
    return {name: value for name, _, value in pairs if name != "db-driver"}


def printed(options: Mapping[str, str]) -> list[str]:
    """Options as words. A switch without a value stays one: `--skip-trx=` is no option to sysbench."""
    return [f"--{name}={value}" if value else f"--{name}" for name, value in options.items()]


def prepared(workload: str, tables: int, options: Mapping[str, str]) -> int:
    """Statements that one thread keeps prepared on its server; 0 where that is not known."""
    if options.get("db-ps-mode") == "disable":
        return 0
    every, of_ranges = PREPARED.get(workload, (0, 0))
    ranges = options.get("range-selects", options.get("range_selects", "on")) in ("", "on", "true", "1")
    return tables * (every if ranges else every - of_ranges)


def find(client: RemoteHost) -> tuple[str, str]:
    """sysbench on the client host: its path and what it calls itself. Raises HostUnusable where it is missing."""
    program = client.require_program("sysbench", package="sysbench")
    return program, client.run([program, "--version"]).stdout.strip()


def also_ignoring(options: Mapping[str, str], errors: Sequence[int]) -> dict[str, str]:
    """The options with these server errors added to those that `mysql-ignore-errors` names, unless these are `all`."""
    named = [code for code in options.get("mysql-ignore-errors", "").split(",") if code]
    codes = dict.fromkeys(named if "all" in named else [*named, *map(str, errors)])
    return {**options, **({"mysql-ignore-errors": ",".join(codes)} if codes else {})}


def _target(endpoints: Sequence[Endpoint], database: str) -> list[str]:
    first = endpoints[0]
    driver = _driver(first)
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


def _driver(endpoint: Endpoint) -> str:
    if endpoint.protocol not in DRIVERS:
        raise BadInput(
            "sysbench does not speak the protocol of this server",
            key="protocol",
            value=endpoint.protocol,
            fix=f"choose a system that speaks {' or '.join(DRIVERS)}",
        )
    return DRIVERS[endpoint.protocol]


def _environment(endpoint: Endpoint) -> dict[str, str]:
    """For TLS; a job runs in the folder of its files."""
    asked = {"pgsql": {"PGSSLMODE": "require"}, "mysql": {"OPENSSL_CONF": _OPENSSL}}
    return asked[_driver(endpoint)] if endpoint.tls else {}


def _secrets(endpoint: Endpoint) -> dict[str, str]:
    """The password goes by a file that only the login can read: arguments stand in every process list.

    For TLS to MySQL sysbench 1.0 takes three files of the folder that it runs in, and nothing less. Of these a server
    refuses the client's certificate where it sees it, so the fourth has OpenSSL keep that back.
    """
    files = {"password.cnf": f"{_driver(endpoint)}-password={_written(endpoint)}\n"}
    if endpoint.tls and _driver(endpoint) == "mysql":
        key, certificate = tls.unshown_pair()
        files |= {"cacert.pem": tls.authorities(endpoint), "client-key.pem": key, "client-cert.pem": certificate}
        files |= {_OPENSSL: tls.SHOWS_NONE}
    return files


def _written(endpoint: Endpoint) -> str:
    """The password as sysbench's configuration file takes it: in quotes where it would be cut, as at a blank.

    There is no way to write one that holds both kinds of quotes and needs them. Raises BadInput.
    """
    if not _CUT.search(endpoint.password):
        return endpoint.password
    for quote in ('"', "'"):
        if quote not in endpoint.password:
            return f"{quote}{endpoint.password}{quote}"
    raise BadInput(
        "sysbench cannot be given a password with both kinds of quotes beside a blank, a comma, or at its ends",
        key="password",
        value=HIDDEN,
        fix=f"give the account {endpoint.user} at {endpoint} another password",
    )


def prepare(program: str, endpoint: Endpoint, dataset: Dataset, *, threads: int, seed: int) -> Command:
    """Fill one server with the dataset."""
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


def run(program: str, endpoints: Sequence[Endpoint], load: SysbenchLoad) -> Command:
    """Drive the load; threads are spread over the servers in turn."""
    argv = [
        program,
        load.script or load.workload,
        "run",
        "--config-file={job}/password.cnf",
        *_target(endpoints, load.dataset.database),
        f"--threads={load.threads}",
        f"--time={load.time_s}",
        "--report-interval=1",
        f"--tables={load.dataset.tables}",
        f"--table-size={load.dataset.table_size}",
        "--histogram=on",
        *printed(load.options),
        *([f"--rate={load.rate}"] if load.rate else []),
    ]
    env = {**_environment(endpoints[0]), **({"BENCHBOOK_WORKLOAD": load.workload} if load.script else {})}
    return Command(argv, timeout_s=load.time_s + SLACK_S, env=env, secrets=_secrets(endpoints[0]))
