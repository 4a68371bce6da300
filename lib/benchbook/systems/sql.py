"""SQL over the MySQL protocol, through the SSH connection of a host: the driver itself needs nothing but SSH."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import pymysql
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from benchbook.errors import BadInput, ConnectionLost
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.systems import statements
from benchbook.systems.statements import ANSWERED_S, identifier

# A configuration of OpenSSL with which a client proves itself by no key but one that `unshown_pair` is not of: whether
# a server asks or not, it shows no certificate (SSL_CONF_cmd(3), ClientSignatureAlgorithms).
SHOWS_NONE = """\
openssl_conf = all
[all]
ssl_conf = tls
[tls]
system_default = any
[any]
ClientSignatureAlgorithms = ed448
"""


# A server is believed that an authority of the endpoint's `tls_ca` vouches for, else one that this machine trusts; of
# the latter, which vouch for anybody, only by the name that it was called.
def tls_context(endpoint: Endpoint) -> ssl.SSLContext:
    """Return the settings of a client that believes this server as its `tls_ca` says."""
    made = ssl.create_default_context(cadata=endpoint.tls_ca or None)
    # Certificates of an authority of one's own name a database server, and rarely the address that it is called by.
    made.check_hostname = not endpoint.tls_ca
    return made


def authorities(endpoint: Endpoint) -> str:
    """Return the certificates of those who may vouch for this server, as text. Raise BadInput where none are known."""
    if endpoint.tls_ca:
        return endpoint.tls_ca
    known = ssl.get_default_verify_paths()
    for file in filter(None, (known.cafile, known.openssl_cafile, "/etc/ssl/certs/ca-certificates.crt")):
        if Path(file).is_file():
            return Path(file).read_text(encoding="utf-8")
    said = "this machine has no file of the authorities that it trusts"
    fix = "name the file with the certificate of the server's authority in tls_ca"
    raise BadInput(said, key="endpoints.*.tls", value=str(endpoint), fix=fix)


@lru_cache(maxsize=1)
def unshown_pair() -> tuple[str, str]:
    """Key and certificate of a client, for a program that takes no TLS without: no server gets to see them.

    They are of a kind that TLS 1.3 has no signatures for (RFC 8446, 4.2.3), so that a client has none to show, as most
    have. Before TLS 1.3 it would show this one to a server that asks, as MySQL's own settings have it do, which then
    refuses it: SHOWS_NONE keeps it back there.
    """
    key, name = ec.generate_private_key(ec.SECP256K1()), x509.Name([])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365))
        .sign(key, SHA256())
    )
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return plain.decode(), made.public_bytes(Encoding.PEM).decode()


# What the server says to a wrong account (ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR).
DENIED = (1045, 1698)
# What PyMySQL says where there is none (CR_SSL_CONNECTION_ERROR).
NO_TLS = 2026
# Deadlock, changed record, lock wait timeout: sysbench's own default. A report's `--mysql-ignore-errors` replaces that
# default; on tables smaller than the published ones rows collide.
RETRIED = (1213, 1020, 1205)
RETRY_NOTE = "errors 1213, 1020 and 1205 (deadlock, changed record, lock wait) are retried, as by sysbench's default"
_BOUNDS = ("max_connections", "max_user_connections", "max_prepared_stmt_count")
_TIDB = re.compile(r"-TiDB-v(\d+)\.(\d+)")
# Before, TiDB tells MySQL's default of `max_connections` and heeds a setting of its own (its release notes, 6.2.0).
_TIDB_HEEDS = (6, 2)


@contextmanager
def connection(
    via: Host, endpoint: Endpoint, database: str | None = None, timeout_s: float = ANSWERED_S
) -> Iterator[pymysql.Connection[Any]]:
    """A connection from host `via` to the endpoint; a statement is given up after `timeout_s`.

    Raise pymysql.MySQLError and ConnectionLost.
    """
    link = pymysql.Connection(
        host=endpoint.address,
        user=endpoint.user,
        password=endpoint.password,
        database=database,
        autocommit=True,
        defer_connect=True,
        read_timeout=timeout_s,
        write_timeout=timeout_s,
        connect_timeout=10,
        ssl=tls_context(endpoint) if endpoint.tls else None,
        ssl_disabled=not endpoint.tls,
    )
    with via.connected(endpoint.address, endpoint.port) as sock:
        sock.settimeout(10)
        # The name that the server's certificate must bear is the endpoint's own.
        link.connect(sock=sock)
        try:
            if endpoint.tls and not isinstance(getattr(link, "_sock", None), ssl.SSLSocket):
                # Older PyMySQL goes on without.
                raise pymysql.OperationalError(NO_TLS, "the server offers no TLS")
            yield link
        finally:
            link.close()


def query(
    via: Host,
    endpoint: Endpoint,
    statement: str,
    *,
    database: str | None = None,
    timeout_s: float = ANSWERED_S,
) -> list[tuple[Any, ...]]:
    """Return the rows of one statement. Raise SystemFailed with the server's own words, or after `timeout_s`."""
    return queries(via, endpoint, [statement], database=database, timeout_s=timeout_s)[0]


def queries(
    via: Host,
    endpoint: Endpoint,
    asked: Sequence[str],
    *,
    database: str | None = None,
    timeout_s: float = ANSWERED_S,
) -> list[list[tuple[Any, ...]]]:
    """Return the rows of each of these statements, over one connection; each may take `timeout_s`.

    Raise SystemFailed with the server's own words.
    """
    with executing(via, endpoint, database, timeout_s) as execute:
        return [execute(statement) for statement in asked]


@contextmanager
def executing(
    via: Host, endpoint: Endpoint, database: str | None = None, timeout_s: float = ANSWERED_S
) -> Iterator[Callable[[str], list[tuple[Any, ...]]]]:
    """Asks for the rows of one statement after the other, over one connection; each may take `timeout_s`.

    Raise SystemFailed with the server's own words.
    """
    asked = "login"
    try:
        with connection(via, endpoint, database, timeout_s) as link, link.cursor() as cursor:

            def execute(statement: str) -> list[tuple[Any, ...]]:
                nonlocal asked
                asked = statement
                cursor.execute(statement)
                return list(cursor.fetchall())

            yield execute
    except (pymysql.MySQLError, ConnectionLost) as problem:
        # What PyMySQL says of a syntax error repeats the statement.
        cause = None if statements.holds_secret(asked) else problem
        raise statements.failed(endpoint, asked, _said(problem)) from cause


def version(via: Host, endpoint: Endpoint) -> str:
    return str(query(via, endpoint, "SELECT VERSION()")[0][0])


def variables(via: Host, endpoint: Endpoint) -> dict[str, str]:
    """Return the server's whole configuration."""
    return {str(name): str(value) for name, value in query(via, endpoint, "SHOW GLOBAL VARIABLES")}


def bounds(via: Host, endpoint: Endpoint) -> dict[str, int]:
    """Return the settings that bound how much of a load the server takes at once; 0 is no limit, and left out."""
    names = ", ".join(f"'{name}'" for name in ("version", *_BOUNDS))
    rows = query(via, endpoint, f"SHOW VARIABLES WHERE variable_name IN ({names})")
    found = {str(name).lower(): str(value) for name, value in rows}
    tidb = _TIDB.search(found.get("version", ""))
    if tidb and (int(tidb[1]), int(tidb[2])) < _TIDB_HEEDS:
        return {}
    return {name: int(found[name]) for name in _BOUNDS if found.get(name, "").isdecimal() and int(found[name])}


def make_database(via: Host, endpoint: Endpoint, database: str) -> None:
    query(via, endpoint, f"CREATE DATABASE IF NOT EXISTS {identifier(database)}")


def row_counts(
    via: Host, endpoint: Endpoint, database: str, tables: Sequence[str], timeout_s: float = ANSWERED_S
) -> dict[str, int]:
    counts = [f"SELECT COUNT(*) FROM {identifier(name)}" for name in tables]
    found = queries(via, endpoint, counts, database=database, timeout_s=timeout_s)
    return {name: int(n) for name, ((n,),) in zip(tables, found, strict=True)}


def try_login(via: Host, endpoint: Endpoint) -> str | None:
    """None when a login works; "denied" for a wrong account; else why the server does not answer (yet)."""
    try:
        with connection(via, endpoint) as link:
            link.ping(reconnect=False)
    except pymysql.MySQLError as problem:
        return "denied" if problem.args and problem.args[0] in DENIED else _said(problem)
    except (ConnectionLost, EOFError, OSError) as problem:
        return _said(problem)
    return None


def _said(problem: BaseException) -> str:
    return ": ".join(str(part) for part in problem.args) or type(problem).__name__
