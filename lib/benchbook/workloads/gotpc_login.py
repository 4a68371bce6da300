"""How go-tpc logs in, which takes a password nowhere but on its command line: by an account that has none there.

PostgreSQL's driver reads a password file. For the MySQL protocol an account without a password is made. It has rights
on the database of TPC-C alone, is let in from the client host alone, and is dropped after the load: who works on the
client host could use it that long (after a load that failed, until the next one). Nobody's password is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchbook.systems import psql, sql

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.endpoint import Endpoint
    from benchbook.hosts.remote_host import RemoteHost

ACCOUNT = "benchbook_tpcc"
PASSFILE, CAFILE = "pgpass", "ca.pem"


@dataclass(frozen=True)
class GoTpcLogin:
    """The words of the command line, and what must be there beside: environment, and files of the job's folder."""

    words: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)


def login(endpoint: Endpoint) -> GoTpcLogin:
    """How to log in to this server, and to those that share its account."""
    if endpoint.protocol == "pgsql":
        how = f"sslmode={'require' if endpoint.tls else 'disable'}"
        words = ["--driver=postgres", f"--user={endpoint.user}", f"--conn-params={how}"]
        return GoTpcLogin(words, {"PGPASSFILE": PASSFILE}, {PASSFILE: psql.pass_line(endpoint)})
    # Without a word go-tpc takes TLS wherever the server offers it, as a MySQL out of the box does.
    tls = f"--conn-params=tls={'true' if endpoint.tls else 'false'}"
    words = ["--driver=mysql", f"--user={ACCOUNT}", tls]
    # Where Go looks for authorities, in place of the machine's.
    return (
        GoTpcLogin(words, {"SSL_CERT_FILE": CAFILE}, {CAFILE: endpoint.tls_ca})
        if endpoint.tls_ca
        else GoTpcLogin(words)
    )


@contextmanager
def let_in(client: RemoteHost, ends: Sequence[Endpoint], database: str) -> Iterator[None]:
    """The account is there as long as the block runs."""
    make(client, ends, database)
    try:
        yield
    finally:
        drop(client, ends)


def make(client: RemoteHost, ends: Sequence[Endpoint], database: str) -> None:
    """Make the account on each server that needs one, new where one was left. Raises SystemFailed."""
    for end in _without_file(ends):
        who = _from(client, end)
        rights = f"GRANT ALL PRIVILEGES ON `{database}`.* TO {who}"
        sql.queries(client, end, [f"DROP USER IF EXISTS {who}", f"CREATE USER {who}", rights])


def drop(client: RemoteHost, ends: Sequence[Endpoint]) -> None:
    """Drop the account where there is one. Raises SystemFailed."""
    for end in _without_file(ends):
        sql.query(client, end, f"DROP USER IF EXISTS {_from(client, end)}")


def _without_file(ends: Sequence[Endpoint]) -> list[Endpoint]:
    return [end for end in ends if end.protocol != "pgsql"]


def _from(client: RemoteHost, end: Endpoint) -> str:
    """The account, from the client host only, as the server sees it."""
    host = str(sql.query(client, end, "SELECT USER()")[0][0]).rpartition("@")[2]
    return f"'{ACCOUNT}'@'{host}'"
