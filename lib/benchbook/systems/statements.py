"""SQL statements in errors: which one failed, and what its server said of it; a password stands in neither."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from benchbook.errors import SystemFailed

# Named in annotations only: a chain of imports ends here.
if TYPE_CHECKING:
    from benchbook.hosts.endpoint import Endpoint

_SHOWN = 80
# What follows one of these words may be a password (IDENTIFIED BY '...', PASSWORD '...').
_SECRET_FOLLOWS = re.compile(r"\b(?:identified|password)\b", re.IGNORECASE)
# What follows one of these repeats the statement: a syntax error of MySQL, MariaDB and TiDB, and one of PostgreSQL.
_REPEATED_AFTER = re.compile(r"\bnear\b|\bLINE \d+:")


def holds_secret(statement: str) -> bool:
    """Whether a password may stand in the statement."""
    return _SECRET_FOLLOWS.search(statement) is not None


def failed(endpoint: Endpoint, statement: str, said: str) -> SystemFailed:
    """The error for a statement that failed: how it begins, and what the server said, without what may be a secret."""
    if secret := _SECRET_FOLLOWS.search(statement):
        statement, said = f"{statement[: secret.end()]} ...", _before_repetition(said)
    return SystemFailed(f"{endpoint}: `{statement[:_SHOWN]}`: {said}")


def _before_repetition(said: str) -> str:
    repeated = _REPEATED_AFTER.search(said)
    return f"{said[: repeated.start()]}..." if repeated else said
