"""The tidb-server itself, whatever its store: its command line, and how a new one lets the kit in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchbook.build import programs
from benchbook.errors import SystemFailed
from benchbook.hosts.endpoint import Endpoint, bracketed
from benchbook.hosts.jobs import LONGEST_S, Command
from benchbook.systems.sql import executing, query, try_login

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.remote_host import RemoteHost

# TiDB samples mutex contention, for which Go (1.23 and later) follows frame pointers; the hash that unistore takes of a
# contended key (go-farm's assembly) leaves its own value in that register, and the server dies of a segmentation fault
# within seconds of hot rows. This has Go unwind by its tables instead.
STEADY = {"GODEBUG": "tracefpunwindoff=1"}
# Every three seconds TiDB looks for a table to analyze, one that never was or of which half has changed since: of the
# small tables of a lab that is another one each time, and on two cores 30 to 50% of that second's throughput (TiDB 6.5,
# tables of 10,000 rows). The published tables of millions of rows do not change by half within a load.
ANALYZES_BY_ITSELF = "tidb_enable_auto_analyze"
NOT_ANALYZED = (
    f"{ANALYZES_BY_ITSELF} is off: half of a table of 10,000 rows changes within seconds, and to analyze it again took "
    "two cores a third of a second's throughput; of tables as large as the published ones so much does not change in a "
    "load"
)
# unistore imports no sorted files. An index that is to be made of them fails at that first, then is made row by row in
# two steps more, each announced to all servers: 32 tables of 1,000 rows took 16.9 s in place of 10.3 (TiDB 6.5).
IMPORTS_SORTED = "tidb_ddl_enable_fast_reorg"
_SETTABLE = "SHOW GLOBAL VARIABLES WHERE variable_name IN ({})"
# The tidb-server that is built here unless a version is named. Reports of several releases run it, so which one it
# stands in for is for each of them to say.
_BUILT_NOTE = "a stand-in, no release: TiDB's release-6.5 branch at commit e307642d9fa5 (unistore inside)"


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
        "-socket",
        "",
        *(["-config", "{job}/tidb.toml"] if config else []),
    ]
    secrets = {"tidb.toml": config} if config else {}
    # What it spills to disk stands in a folder per server of TMPDIR, which would be left in /tmp for good.
    return Command(argv, timeout_s=LONGEST_S, grace_s=10, env={**STEADY, "TMPDIR": temp}, secrets=secrets)


def switch_off(host: RemoteHost, endpoint: Endpoint, names: Sequence[str]) -> None:
    """Set these global variables to OFF. What this version of TiDB does not know, it cannot use."""
    wanted = ", ".join(f"'{name}'" for name in names)
    with executing(host, endpoint) as execute:
        for name, _ in execute(_SETTABLE.format(wanted)):
            execute(f"SET GLOBAL {name} = OFF")


def let_in(host: RemoteHost, endpoint: Endpoint) -> str | None:
    """A new TiDB lets root in without a password: set the one of `endpoint`.

    None once its login works, else why not; "denied" where a password is set, and another one.
    """
    blank = Endpoint(endpoint.address, endpoint.port, endpoint.user, "")
    if try_login(host, blank) is not None:
        return "denied"
    user, password = (text.replace("\\", "\\\\").replace("'", "\\'") for text in (endpoint.user, endpoint.password))
    try:
        query(host, blank, f"ALTER USER '{user}'@'%' IDENTIFIED BY '{password}'")
    except SystemFailed as problem:
        # Another server of the same cluster was let in since.
        return None if try_login(host, endpoint) is None else str(problem)
    return try_login(host, endpoint)
