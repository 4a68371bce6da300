"""SQL statements: how long one may take, how an error quotes one that failed, and names and strings in MySQL's.

A password stands neither in what is quoted of a statement nor in what its server said of it.
"""

from __future__ import annotations

import re

from benchbook.errors import SystemFailed
from benchbook.hosts.endpoint import Endpoint

# Seconds after which a statement is given up that reads no data to speak of.
ANSWERED_S = 300.0
# Slower than any server seen: the limit only ends what hangs.
_ROWS_PER_S = 20_000
_SHOWN = 80
# What follows one of these words may be a password (IDENTIFIED BY '...', PASSWORD '...').
_SECRET_FOLLOWS = re.compile(r"\b(?:identified|password)\b", re.IGNORECASE)
# What follows one of these repeats the statement: a syntax error of MySQL, MariaDB and TiDB, and one of PostgreSQL.
_REPEATED_AFTER = re.compile(r"\bnear\b|\bLINE \d+:")


def reading_s(rows: int) -> float:
    """Return seconds after which a statement is given up that reads so many rows."""
    return ANSWERED_S + rows / _ROWS_PER_S


def identifier(name: str) -> str:
    """Return a name as MySQL and those that speak its language read it."""
    return "`" + name.replace("`", "``") + "`"


def literal(value: str) -> str:
    """Return a string as they read it."""
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def making_account(user: str, password: str, how: str = "") -> tuple[str, str, str]:
    """Return statements that make an account that may do all, from any host; the second one holds its password.

    `how` names the way to authenticate (`WITH ...`) where it is not the server's own.
    """
    account = f"{literal(user)}@'%'"
    return (
        f"CREATE USER IF NOT EXISTS {account}",
        f"ALTER USER {account} IDENTIFIED {how}BY {literal(password)}",
        f"GRANT ALL ON *.* TO {account} WITH GRANT OPTION",
    )


def holds_secret(statement: str) -> bool:
    """Return whether a password may stand in the statement."""
    return _SECRET_FOLLOWS.search(statement) is not None


def failed(endpoint: Endpoint, statement: str, said: str) -> SystemFailed:
    """The error for a statement that failed: how it begins, and what the server said, without what may be a secret."""
    if secret := _SECRET_FOLLOWS.search(statement):
        statement = f"{statement[: secret.end()]} ..."
        if repeated := _REPEATED_AFTER.search(said):
            said = f"{said[: repeated.start()]}..."
    return SystemFailed(f"{endpoint}: `{statement[:_SHOWN]}`: {said}")
