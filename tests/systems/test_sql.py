"""How servers are asked by SQL: what an error quotes, how long a statement may take, what is left on a host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pymysql
import pytest
from fabric import Result

from benchbook.errors import RemoteFailed, SystemFailed, WorkloadFailed
from benchbook.hosts.agent import Command, Ended
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.host import Host
from benchbook.hosts.session import Session
from benchbook.profiles import SysbenchSize
from benchbook.systems import psql, sql, statements
from benchbook.systems.base import DIALECTS
from benchbook.systems.tidb import TiDB
from benchbook.workloads import go_tpc
from benchbook.workloads.base import LoadGenerator
from benchbook.workloads.go_tpc import GoTpc, GoTpcSize
from benchbook.workloads.pgbench import Pgbench, PgbenchSize
from benchbook.workloads.sysbench import Sysbench

END = Endpoint("127.0.78.1", 4000, "root", "s3cret")
NOBODY = cast(Host, None)
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("pymysql.err.OperationalError: (1819, 'Require Password Length: 8')", "Require Password Length: 8"),
        (f"pymysql.err.ProgrammingError: (1064, {TIDB_SYNTAX!r})", "ALTER USER"),
        ("pymysql.err.OperationalError: (1698, \"Access denied for user 'root'@'localhost'\")", "denied"),
    ],
)
def test_a_password_that_a_new_server_does_not_take_stands_in_no_error(words: str, said: str) -> None:
    refuses = SimpleNamespace(
        name="db1",
        python="python3",
        push=lambda local: "/root/pymysql.zip",
        secret_files=lambda files: nullcontext("/root/secrets"),
        run=lambda argv, check: SimpleNamespace(exited=1, stderr=f"Traceback\n{words}\n"),
    )
    system = cast(TiDB, SimpleNamespace(servers=SimpleNamespace(jobs={"db1": SimpleNamespace(folder="/root/job")})))
    told = TiDB.first_login(system, cast(Host, refuses), END)
    assert said in str(told)
    assert "s3cret" not in str(told)


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


# -- how long a statement may take ------------------------------------------------------------------------------------

POSTGRES = Endpoint("127.0.78.1", 5432, "ann", "s3cret", protocol="pgsql")
HUNDRED_MILLION = 100_000_000


class Asked:
    """Takes the place of `query` or `queries`: each statement, with how long it may take."""

    def __init__(self) -> None:
        self.found: list[tuple[str, float]] = []

    def query(self, _: Host, end: Endpoint, statement: str, *, database: str, timeout_s: float) -> list[Any]:
        self.found.append((statement, timeout_s))
        return [["7"]]

    def queries(self, _: Host, end: Endpoint, asked: list[str], *, database: str, timeout_s: float) -> list[Any]:
        return [self.query(_, end, statement, database=database, timeout_s=timeout_s) for statement in asked]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    made = Asked()
    monkeypatch.setattr(psql, "query", made.query)
    monkeypatch.setattr(sql, "queries", made.queries)
    return made


def test_a_statement_may_take_longer_the_more_rows_it_reads() -> None:
    assert statements.reading_s(0) == statements.ANSWERED_S == 300
    # At 20,000 rows a second.
    assert statements.reading_s(HUNDRED_MILLION) == 300 + 5000


@pytest.mark.parametrize(("protocol", "quote"), [("mysql", "`"), ("pgsql", '"')])
def test_every_table_is_counted_by_a_statement_of_its_own(asked: Asked, protocol: str, quote: str) -> None:
    counts = DIALECTS[protocol].row_counts(NOBODY, END, "shop", ["a", "b"], 5300.0)
    assert counts == {"a": 7, "b": 7}
    assert asked.found == [(f"SELECT COUNT(*) FROM {quote}{name}{quote}", 5300.0) for name in "ab"]


@pytest.mark.parametrize(("end", "verb"), [(END, "ANALYZE TABLE"), (POSTGRES, "VACUUM (ANALYZE)")])
def test_statistics_are_collected_table_by_table(asked: Asked, end: Endpoint, verb: str) -> None:
    go_tpc.analyse(NOBODY, end, "tpcc", 60_600.0)
    assert asked.found == [(f"{verb} {table}", 60_600.0) for table in go_tpc.TABLES]


def following(*, status: int) -> Session:
    """A session each job of which ends so."""
    ended = Ended("exited", status, None, 0, 1)
    job = SimpleNamespace(wait=lambda **_: ended, stdout=lambda: b"out ", stderr=lambda: "and err")
    return cast(Session, SimpleNamespace(following=lambda *_: nullcontext(job)))


@pytest.mark.parametrize(
    ("load", "takes_s"),
    [
        (Sysbench(SysbenchSize(tables=1, table_size=HUNDRED_MILLION, time_s=2, prepare_threads=1), [], 1), 5300.0),
        # As long as everything else that go-tpc does with so many warehouses.
        (GoTpc(GoTpcSize(warehouses=100, time_s=2), [], 1), 600 + 600 * 100.0),
        (Pgbench(PgbenchSize(scale=1000, time_s=2), [], 1), 5300.0),
    ],
)
def test_prepared_rows_are_counted_for_as_long_as_their_number_asks_for(
    load: LoadGenerator[Any], takes_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Counted(Exception):
        """Seen: what follows does not matter."""

    def count(client: Host, end: Endpoint, database: str, tables: list[str], timeout_s: float) -> dict[str, int]:
        raise Counted(timeout_s)

    session = following(status=0)
    monkeypatch.setattr(go_tpc, "with_account", lambda *_: nullcontext())
    load.programs["client"] = load.program
    store = SimpleNamespace(
        copies=lambda: [END],
        endpoints=lambda: [END],
        make_database=lambda *_: None,
        lay_out=lambda *_: None,
        row_counts=count,
    )
    with pytest.raises(Counted) as found:
        load.prepare(session, cast(Host, SimpleNamespace(name="client")), store, lambda _: None)
    assert found.value.args == (takes_s,)


def test_what_fills_a_server_and_ends_badly_is_named_with_its_output() -> None:
    load = Pgbench(PgbenchSize(scale=1, time_s=2), [], 1)
    client, command = cast(Host, SimpleNamespace(name="client")), Command(["pgbench"], 1)
    assert load.fill(following(status=0), client, [command] * 2) == ["out and err"] * 2
    with pytest.raises(WorkloadFailed, match=r"^pgbench prepare on client ended with status 1$") as failed:
        load.fill(following(status=1), client, [command])
    assert failed.value.output == "out and err"


def test_a_driver_of_mysql_waits_for_an_answer_as_long_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, Any]] = []

    def connect(**how: Any) -> Any:
        made.append(how)
        return SimpleNamespace(connect=lambda sock: None, close=lambda: None, cursor=lambda: nullcontext(cursor))

    cursor = SimpleNamespace(execute=lambda statement: None, fetchall=lambda: ((1,),))
    monkeypatch.setattr(pymysql, "Connection", connect)
    link = SimpleNamespace(settimeout=lambda seconds: None)
    via = cast(Host, SimpleNamespace(connected=lambda *to: nullcontext(link)))
    assert sql.query(via, END, "SELECT 1", timeout_s=5300.0) == [(1,)]
    sql.query(via, END, "SELECT 1")
    assert [(how["read_timeout"], how["write_timeout"]) for how in made] == [(5300.0, 5300.0), (300.0, 300.0)]


class Client:
    """One whose programs give what `run` makes of their words; and the files that are there."""

    inventory = SimpleNamespace(program=lambda name: f"/bin/{name}")
    name = "client"
    secret_files = Host.secret_files

    def __init__(self, run: Callable[[list[str], float], Result]) -> None:
        self._run, self.files = run, dict[str, str]()

    def path(self, *parts: str) -> str:
        return "/".join(("/root", *parts))

    def which(self, name: str) -> dict[str, str]:
        return {name: name}

    def mkdir(self, *paths: str) -> None:
        """A file has its folder."""

    def write(self, path: str, content: str) -> None:
        self.files[path] = content

    def run(self, argv: list[str], *, check: bool = False, timeout: float = 60.0) -> Result:
        if argv[0] == "rm":
            self.files = {path: content for path, content in self.files.items() if not path.startswith(argv[-1])}
            return Result(connection=None, stdout="", stderr="", exited=0)
        return self._run(argv, timeout)


def test_psql_is_given_up_in_the_words_of_the_kit_and_not_with_its_command_line() -> None:
    def give_up(argv: list[str], timeout: float) -> Result:
        raise RemoteFailed("db1", " ".join(argv), None, f"no end within {timeout:g} s")

    host = cast(Host, Client(give_up))
    with pytest.raises(SystemFailed) as caught:
        psql.query(host, POSTGRES, "VACUUM (ANALYZE)", timeout_s=5300.0)
    assert str(caught.value) == "127.0.78.1:5432: `VACUUM (ANALYZE)`: no end within 5300 s"


# -- password files ---------------------------------------------------------------------------------------------------

LINE = "*:*:*:ann:s3cret\n"


def test_every_psql_has_a_password_file_of_its_own_that_goes_with_it() -> None:
    """However it ends. One name for all would be written by one thread while the psql of another reads it."""
    seen: list[str] = []

    def answer(argv: list[str], timeout: float) -> Result:
        ((path, content),) = host.files.items()
        assert f"passfile='{path}'" in argv[-1]
        assert content == LINE
        seen.append(path)
        if len(seen) == 3:
            raise RemoteFailed("db1", "psql", None, "no end")
        return Result(connection=None, stdout="1\n", stderr="", exited=2 if len(seen) == 2 else 0)

    host = Client(answer)
    via = cast(Host, host)
    assert psql.query(via, POSTGRES, "SELECT 1") == [["1"]]
    for _ in range(2):
        with pytest.raises(SystemFailed):
            psql.query(via, POSTGRES, "SELECT 1")
    assert (len(set(seen)), host.files) == (3, {})


def test_so_has_every_check_of_go_tpc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(go_tpc, "history_index", lambda *_: nullcontext())
    seen: list[str] = []

    def answer(argv: list[str], timeout: float) -> Result:
        ((path, content),) = host.files.items()
        assert argv[:2] == ["env", f"PGPASSFILE={path}"]
        assert content == LINE
        seen.append(path)
        return Result(connection=None, stdout="begin to check warehouse 1 at condition 3.3.2.1\n", stderr="", exited=0)

    host = Client(answer)
    load = GoTpc(GoTpcSize(warehouses=1, time_s=2), [], 1)
    load.programs["client"] = "go-tpc"
    for _ in range(2):
        assert load._of_one(cast(Host, host), POSTGRES, []) == ["3.3.2.1"]
    assert (len(set(seen)), host.files) == (2, {})
