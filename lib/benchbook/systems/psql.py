"""SQL over PostgreSQL's protocol by the psql of a host, and where Debian keeps psql and its kin."""

from __future__ import annotations

from collections.abc import Sequence

from invoke.runners import Result

from benchbook.errors import RemoteFailed
from benchbook.hosts.command_line import quote
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.systems import statements
from benchbook.systems.statements import ANSWERED_S

# Debian has a folder per major version, on nobody's PATH; what it has there in /usr/bin is a script that chooses one.
_VERSIONS = "/usr/lib/postgresql/*/bin"
# It is always there.
_DATABASE = "postgres"
# What servers and poolers say to a wrong account.
_DENIED = ("password authentication failed", "no password supplied", "SASL authentication failed")


def program(host: Host, name: str, *, package: str) -> str:
    """Path on the host of a program of PostgreSQL: as the inventory says, else the newest. Raise HostUnusable."""
    wanted = host.inventory.program(name)
    found = "" if wanted != name else host.run(f"ls -1 {_VERSIONS}/{quote([name])} | sort -V", check=False).stdout
    newest = found.split("\n")[-2] if found.strip() else host.which(wanted).get(wanted)
    if not newest:
        raise host.lacks_program(name, package=package)
    return newest


def pass_line(endpoint: Endpoint) -> str:
    """Return the line of a password file (pgpass) that lets this account in everywhere; empty without a password."""
    user, password = (text.replace("\\", "\\\\").replace(":", "\\:") for text in (endpoint.user, endpoint.password))
    return f"*:*:*:{user}:{password}\n" if password else ""


def reached(endpoint: Endpoint, database: str, passfile: str) -> str:
    """Return the connection string of libpq; the password stands in `passfile`, never on a command line."""
    said = {
        "host": endpoint.address,
        "port": str(endpoint.port),
        "user": endpoint.user,
        "dbname": database,
        "sslmode": "require" if endpoint.tls else "disable",
        "passfile": passfile,
        "connect_timeout": "10",
    }
    return " ".join(f"{name}={_quoted(value)}" for name, value in said.items())


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def query(
    via: Host,
    endpoint: Endpoint,
    statement: str,
    *,
    database: str = _DATABASE,
    timeout_s: float = ANSWERED_S,
) -> list[list[str]]:
    """Return the rows of one statement, every value as text; none that holds a secret, for it stands on a command line.

    Raise SystemFailed with the server's own words, or after `timeout_s`.
    """
    try:
        done = _asked(via, endpoint, statement, database, timeout_s)
    except RemoteFailed as problem:
        raise statements.failed(endpoint, statement, problem.output) from problem
    if done.exited != 0:
        raise statements.failed(endpoint, statement, _said(done))
    return [line.split("\t") for line in done.stdout.split("\n") if line]


def version(via: Host, endpoint: Endpoint) -> str:
    return query(via, endpoint, "SHOW server_version")[0][0]


def variables(via: Host, endpoint: Endpoint) -> dict[str, str]:
    """Return the server's whole configuration."""
    rows = query(via, endpoint, "SELECT name, current_setting(name) FROM pg_settings ORDER BY name")
    return {row[0]: row[1] if len(row) > 1 else "" for row in rows}


def bounds(via: Host, endpoint: Endpoint) -> dict[str, int]:
    """Return the settings that bound how much of a load the server takes at once."""
    return {"max_connections": int(query(via, endpoint, "SHOW max_connections")[0][0])}


def make_database(via: Host, endpoint: Endpoint, database: str) -> None:
    if [database] not in query(via, endpoint, "SELECT datname FROM pg_database"):
        query(via, endpoint, f"CREATE DATABASE {_identifier(database)}")


def row_counts(
    via: Host, endpoint: Endpoint, database: str, tables: Sequence[str], timeout_s: float = ANSWERED_S
) -> dict[str, int]:
    def count(name: str) -> int:
        statement = f"SELECT COUNT(*) FROM {_identifier(name)}"
        return int(query(via, endpoint, statement, database=database, timeout_s=timeout_s)[0][0])

    return {name: count(name) for name in tables}


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def try_login(via: Host, endpoint: Endpoint) -> str | None:
    """None when a login works; "denied" for a wrong account; else why the server does not answer (yet)."""
    done = _asked(via, endpoint, "SELECT 1", _DATABASE)
    if done.exited == 0:
        return None
    said = _said(done)
    return "denied" if any(word in said for word in _DENIED) else said


def _asked(via: Host, endpoint: Endpoint, statement: str, database: str, timeout_s: float = ANSWERED_S) -> Result:
    how = ["-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1", "-c", statement]
    psql = program(via, "psql", package="postgresql-client")
    with via.secret_files({"pgpass": pass_line(endpoint)}) as folder:
        where = reached(endpoint, database, f"{folder}/pgpass")
        return via.run([psql, *how, where], check=False, timeout=timeout_s)


def _said(done: Result) -> str:
    return " ".join((done.stderr or done.stdout).split()) or f"psql ended with status {done.exited}"
