"""TiDB: one tidb-server per host of role `tidb`, each with an embedded store (unistore) of its own.

What any tidb-server needs, whatever its store, stands here too: its command line, and how a new one lets the kit in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from benchbook.build import programs
from benchbook.errors import SystemFailed
from benchbook.hosts.agent import Command
from benchbook.hosts.endpoint import Endpoint, bracketed
from benchbook.hosts.fanout import on_each
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.hosts.timeouts import LONGEST_S
from benchbook.probes import probe_file
from benchbook.profiles import Profile
from benchbook.systems.base import System, wrong_password
from benchbook.systems.sql import RETRIED, RETRY_NOTE, executing, queries, try_login
from benchbook.systems.statements import failed, identifier, making_account

# TiDB samples mutex contention, for which Go (1.23 and later) follows frame pointers; the hash that unistore takes of a
# contended key (go-farm's assembly) leaves its own value in that register, and the server dies of a segmentation fault
# within seconds of hot rows. This has Go unwind by its tables instead.
STEADY = {"GODEBUG": "tracefpunwindoff=1"}
# Every three seconds TiDB looks for a table to analyze, one that never was or of which half has changed since: of the
# small tables of a lab that is another one each time, and on two cores 30 to 50% of that second's throughput (TiDB 6.5,
# tables of 10,000 rows). The published tables of millions of rows do not change by half within a load.
ANALYZES_BY_ITSELF = "tidb_enable_auto_analyze"
NOT_ANALYZED = (
    f"{ANALYZES_BY_ITSELF} is off: small tables change by half within seconds, and analyzing them again cost two cores "
    "a third of a second's throughput each time; the published tables change far less within a load"
)
# unistore imports no sorted files. An index that is to be made of them fails at that first, then is made row by row in
# two steps more, each announced to all servers: 32 tables of 1,000 rows took 16.9 s in place of 10.3 (TiDB 6.5).
IMPORTS_SORTED = "tidb_ddl_enable_fast_reorg"
_SETTABLE = "SHOW GLOBAL VARIABLES WHERE variable_name IN ({})"
# The tidb-server that is built here unless a version is named. Reports of several releases run it, so which one it
# stands in for is for each of them to say.
_BUILT_NOTE = "a stand-in, no release: TiDB's release-6.5 branch at commit e307642d9fa5 (unistore inside)"
# A change to one Region is one request to the store, and one to two Regions is two. The published tables of millions of
# rows are many Regions of 96 MiB, so that a row and its entries in an index stand in two; a small table is one Region.
# With rows and indexes apart, an update of an indexed column took 1.6 times the CPU of one without; in one Region 1.2
# times (TiDB 6.5 on unistore, tables of 1,000 rows, 4 clients). A cluster's unistore splits by size alone.
_APART = (
    "rows and index of a small table are split into two Regions by hand, as size splits the published tables: an index "
    "adds a sixth to the CPU of an update within one Region, over half across two"
)


# It logs in where TiDB has made root for this account of the machine alone; where that is, is too long for a socket.
_BY_SOCKET = """\
import os, sys
sys.path.insert(0, sys.argv[1])
import pymysql
os.chdir(sys.argv[2])
with open(sys.argv[3]) as statements, pymysql.connect(unix_socket="{socket}", user="root") as link:
    for statement in statements:
        link.cursor().execute(statement)
"""
_SOCKET = "root.sock"


class TidbServers(System):
    """What all systems of tidb-servers have in common.

    A new one would let everybody in as root without a password until it is set one. In TiDB's secure mode there is root
    by a socket alone, in the job's folder, for the account that TiDB runs as; the kit makes the inventory's by that.
    """

    role = "tidb"
    program_file = "tidb-server"
    takes_tables = True
    protocol = "mysql"
    default_port = 4000
    default_status_port = 10080
    ports_without_login = ("status_port",)
    versioned = "tidb"
    watched_by = ("mysql",)
    retried_errors = RETRIED

    def refused(self, host: Host) -> None:
        where = self.endpoint(host)
        problem = self.first_login(host, where)
        if problem == "denied":
            raise wrong_password(self.session.inventory.file, f"systems.{self.name}", where)
        if problem:
            raise SystemFailed(f"{self.name} on {host.name} does not let the kit in: {problem}")

    def first_login(self, host: Host, endpoint: Endpoint) -> str | None:
        """Let the kit in for the first time; return None if the login works now, else why not."""
        made = [
            *making_account(endpoint.user, endpoint.password),
            # It would win over the other from 127.0.0.1.
            "DROP USER IF EXISTS root@localhost",
        ]
        library = host.push(probe_file.zipped("pymysql", Path(__file__)))
        with host.secret_files({"accounts.sql": "\n".join(made)}) as folder:
            script = _BY_SOCKET.format(socket=_SOCKET)
            words = [host.python, "-c", script, library, self.servers.jobs[host.name].folder, f"{folder}/accounts.sql"]
            done = host.run(words, check=False)
        if done.exited == 0:
            return try_login(host, endpoint)
        said = done.stderr.strip().rpartition("\n")[2]
        # What it says of the password may hold it.
        return "denied" if "Access denied" in said else str(failed(endpoint, made[1], said))


class TiDB(TidbServers):
    """The real tidb-server, built from its Go module; the store is TiDB's embedded one, not a TiKV cluster."""

    name = "tidb"
    builds = ("tidb",)
    title = "TiDB (unistore)"
    stand_in_for = "a TiDB cluster on TiKV"
    fewer = "one embedded store (unistore) in place of TiKV's several"
    takes = ("settings",)

    def __init__(self, session: Session, profile: Profile) -> None:
        super().__init__(session, profile)
        if self.named_version:
            self.title = f"TiDB {self.named_version} (unistore)"

    def ready(self, *, timeout_s: float = 120.0) -> None:
        """Return once all serve, none analyzes tables by itself, and none asks its store for what it does not have."""
        super().ready(timeout_s=timeout_s)
        off = [ANALYZES_BY_ITSELF, IMPORTS_SORTED]
        on_each(f"setting {self.name}", self.own_hosts, lambda h: switch_off(h, self.endpoint(h), off))

    @property
    def identity(self) -> str:
        return f"tidb-regions-{self.program.identity()}"

    def command(self, host: Host) -> Command:
        where, temp = self.endpoint(host), f"{self.data(host)}.tmp"
        # It is read as part of a URL.
        store = ("-store", "unistore", "-path", quote(self.data(host)))
        return serving(self.program.on(host), where, self.status_port, temp, store, toml(self.server_settings))

    def lay_out(self, client: Host, database: str, tables: Sequence[str]) -> None:
        """Put the rows of a table that is one Region into another than its indexes; no key is a negative integer."""
        named = [identifier(table) for table in tables]
        for end in self.copies():
            regions = queries(client, end, [f"SHOW TABLE {table} REGIONS" for table in named], database=database)
            whole = [table for table, found in zip(named, regions, strict=True) if len(found) == 1]
            queries(client, end, [f"SPLIT TABLE {table} BY (0)" for table in whole], database=database)

    def notes(self) -> tuple[str, ...]:
        count = len(self.hosts)
        copies = f"{count} tidb-servers with a copy of the data each: connections are spread, data is not shared"
        return (
            built_note(self.builds[0], self.named_version),
            "data in the embedded unistore of each tidb-server: no TiKV, no Raft, no network between SQL and storage",
            NOT_ANALYZED,
            _APART,
            *([copies] if count > 1 else []),
            RETRY_NOTE,
        )


# -- any tidb-server --------------------------------------------------------------------------------------------------


def built_note(build: str, version: str) -> str:
    """Which release it is, at which commit; `version` is the one that was named, "" for the one of the bare name."""
    return programs.recipe(build).description if version else _BUILT_NOTE


def serving(
    program: str, where: Endpoint, status_port: int, temp: str, store: Sequence[object], config: str = ""
) -> Command:
    """A tidb-server at `where`; `store` are its words on the store, `config` the text of its file of settings."""
    argv = [
        program,
        *store,
        "-host",
        where.address,
        "-P",
        where.port,
        "-status-host",
        # It puts `:PORT` behind this one as it is (seen of 6.5).
        bracketed(where.address),
        "-status",
        status_port,
        "-L",
        "warn",
        "-temp-dir",
        temp,
        # Where a job begins, in its folder.
        "-socket",
        _SOCKET,
        "-initialize-secure",
        *(["-config", "{job}/tidb.toml"] if config else []),
    ]
    secrets = {"tidb.toml": config} if config else {}
    # What it spills to disk stands in a folder per server of TMPDIR, which would be left in /tmp for good.
    return Command(argv, timeout_s=LONGEST_S, grace_s=10, env={**STEADY, "TMPDIR": temp}, secrets=secrets)


def switch_off(host: Host, endpoint: Endpoint, names: Sequence[str]) -> None:
    """Set these global variables to OFF. What this version of TiDB does not know, it cannot use."""
    wanted = ", ".join(f"'{name}'" for name in names)
    with executing(host, endpoint) as execute:
        for name, _ in execute(_SETTABLE.format(wanted)):
            execute(f"SET GLOBAL {name} = OFF")


def toml(settings: Mapping[str, object]) -> str:
    """One line per setting, below the heading of its table: some servers' readers know no keys with dots."""
    tables: dict[str, list[str]] = {"": []}
    for key, value in settings.items():
        table, _, name = key.rpartition(".")
        tables.setdefault(table, []).append(f"{name} = {_written(value)}")
    return "".join(_table(name, lines) for name, lines in sorted(tables.items()))


def _table(name: str, lines: Sequence[str]) -> str:
    heading = [f"[{name}]"] if name else []
    return "".join(f"{line}\n" for line in (*heading, *lines))


def _written(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)} = {_written(part)}' for key, part in value.items())}}}"
    # What JSON writes of a number, a text, true and false is TOML as well.
    return json.dumps(value, allow_nan=False)
