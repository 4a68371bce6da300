"""How servers are asked by SQL: what an error quotes, how long a statement may take, what is left on a host."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pymysql
import pytest

from benchbook.errors import SystemFailed
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.remote_host import RemoteHost
from benchbook.systems import sql, statements, tidb_server

END = Endpoint("127.0.78.1", 4000, "root", "s3cret")
NOBODY = cast(RemoteHost, None)
# The words of TiDB 6.5 and of psql 15.
TIDB_SYNTAX = (
    "You have an error in your SQL syntax; check the manual that corresponds to your TiDB version for the right "
    'syntax to use line 1 column 42 near "s3cret\'" '
)
PSQL_SYNTAX = "ERROR: syntax error at or near \"s3cret\" LINE 1: ALTER ROLE ann PASSWORD ''s3cret' ^"


class Refuses:
    """Stands for a connection to a server that takes no ALTER USER."""

    def __init__(self, number: int, words: str) -> None:
        self.problem = pymysql.OperationalError(number, words)

    @contextmanager
    def __call__(self, *_: object, **__: object) -> Iterator[Any]:
        yield SimpleNamespace(cursor=self._cursor)

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        def execute(statement: str) -> None:
            raise self.problem

        yield SimpleNamespace(execute=execute)


def test_a_password_that_a_new_server_does_not_take_stands_in_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "connection", Refuses(1819, "Require Password Length: 8"))
    # The blank account is let in; the one with the password is not.
    monkeypatch.setattr(tidb_server, "try_login", lambda _, end: "denied" if end.password else None)
    assert tidb_server.let_in(NOBODY, END) == (
        "127.0.78.1:4000: `ALTER USER 'root'@'%' IDENTIFIED ...`: 1819: Require Password Length: 8"
    )


def test_nor_does_a_syntax_error_repeat_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "connection", Refuses(1064, TIDB_SYNTAX))
    with pytest.raises(SystemFailed) as caught:
        sql.query(NOBODY, END, "alter user 'root'@'%' identified by ''s3cret'")
    assert str(caught.value).endswith("the right syntax to use line 1 column 42 ...")
    assert "s3cret" not in str(caught.value)
    # A traceback shows an error's cause as well.
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("statement", "said", "told"),
    [
        ("SELECT nothing", "1054: Unknown column", "`SELECT nothing`: 1054: Unknown column"),
        ("SELECT " + "x" * 90, "too long", f"`SELECT {'x' * 73}`: too long"),
        ("SELEC 1", "1064: ... near 'SELEC 1'", "`SELEC 1`: 1064: ... near 'SELEC 1'"),
        ("ALTER ROLE a PASSWORD ''s3cret'", PSQL_SYNTAX, "`ALTER ROLE a PASSWORD ...`: ERROR: syntax error at or ..."),
        ("SET PASSWORD = PASSWORD('s3cret')", "1227: denied", "`SET PASSWORD ...`: 1227: denied"),
    ],
)  # fmt: skip
def test_of_a_statement_an_error_shows_how_it_begins_and_no_secret(statement: str, said: str, told: str) -> None:
    assert str(statements.failed(END, statement, said)) == f"127.0.78.1:4000: {told}"
