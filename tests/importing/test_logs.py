"""Imported logs are a campaign like any other, and one of which nobody knows on what it ran."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pytest
from kit import FIXTURES, Home
from records import record
from rich.console import Console
from typer.testing import CliRunner

import benchbook
from benchbook import cli
from benchbook.analysis.trials import cells
from benchbook.campaign.environment import IMPORTED
from benchbook.campaign.record import Quantity
from benchbook.compare.pair import CompareParameters, compare
from benchbook.errors import BadInput
from benchbook.importing import logs
from benchbook.published import data_package
from benchbook.reports.kind import kind_of
from benchbook.reports.logs_kind import LogsKind

LEVELS = "{workload}/{threads}-{repetition}.txt"
PRINTED = """\
sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)
$ sysbench oltp_insert --mysql-password=verysecret run
Number of threads: {threads}
[ 1s ] thds: {threads} tps: {tps} qps: {tps} (r/w/o: 0.00/{tps}/0.00) lat (ms,95%): 2.00 err/s: 0.00 reconn/s: 0.00
    transactions:                        {events}    ({tps} per sec.)
    total time:                          10.0000s
    total number of events:              {events}
         avg:                                 {mean}
         95th percentile:                     2.00
    execution time (avg/stddev):   9.9/0.00
"""
# tps of repetitions 1, 2 and 3: means 110 and 200; of the first, s = 10, and t(2) s / sqrt(3) = 4.303 * 5.774 = 24.84.
TPS = {4: (100, 110, 120), 8: (190, 200, 210)}


def write(folder: Path, tps: Mapping[int, tuple[int, ...]] = TPS) -> Path:
    """Write a file per run, as PATTERN names them."""
    for threads, rates in tps.items():
        for number, rate in enumerate(rates, start=1):
            path = folder / "insert" / f"{threads}-{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            mean = f"{1000 * threads / rate:.2f}"
            path.write_text(PRINTED.format(threads=threads, tps=f"{rate}.00", events=10 * rate, mean=mean))
    return folder


Said = Callable[..., tuple[int, str]]


@pytest.fixture
def said(home: Home) -> Said:
    """Import, and return exit status and what was said."""

    def run(source: Path, levels: str = LEVELS, system: str = "mysql:8.0.36", name: str = "mine") -> tuple[int, str]:
        console = Console(width=400, file=io.StringIO(), record=True)
        status = logs.run([str(source)], levels, system, name, console)
        return status, console.export_text()

    return run


def test_files_become_trials_and_cells_with_intervals(tmp_path: Path, said: Said, home: Home) -> None:
    status, text = said(write(tmp_path / "out"))
    assert (status, "6 records in 2 cells of mine; circumstances unknown" in text) == (0, True)
    report = benchbook.open_campaign("mine")
    trials = report.trials()
    assert set(trials.workload) == {"insert"}
    assert sorted(zip(trials.threads, trials.repetition, trials.tps, strict=True))[:2] == [(4, 1, 100.0), (4, 2, 110.0)]
    assert trials.attrs["units"]["p95_ms"] == "ms"
    few = cells(report.figures("tps")).set_index("threads").loc[4]
    assert (few.measured, few.n, few.system) == (110.0, 3, "mysql")
    assert few.high - few.measured == pytest.approx(24.84, abs=0.01)
    assert sorted(report.seconds("tps", source="sysbench").value) == [100.0, 110.0, 120.0, 190.0, 200.0, 210.0]
    assert report.environment.systems["mysql"].version == "8.0.36"
    assert "0 failed (0.00%)" not in report.failures().data
    (kept,) = home.path.glob("data/runs/mine/*/trials/r01-mysql-insert-threads4/output.txt")
    assert "--mysql-password=<hidden>" in kept.read_text()
    assert kind_of("mine").record_checks(report.records[0])[0].check == "Little's law"
    assert data_package.validate("mine").report.restaged_by == "logs"


def test_a_record_of_a_log_answers_for_its_errors_and_for_percentiles_that_are_bounds() -> None:
    """etcd prints no count: 100/s for 10 s are 1,000, of which 1 is 0.10%. sysbench tells times up to 100 s."""
    kind = LogsKind()
    printed = {"tps": (100, "1/s"), "total_time_s": (10, "s"), "failed": (1, "1"), "p95_ms": (100_000, "ms")}
    summary = {name: Quantity(value=value, unit=unit) for name, (value, unit) in printed.items()}
    (errors,) = kind.record_checks(record(table="etcd_benchmark", levels={}, summary=summary))
    assert (errors.ok, errors.found) == (True, "1 failed (0.10%)")
    summary |= {name: Quantity(value=2, unit="1") for name in ("reconnects", "non_2xx")}
    (errors,) = kind.record_checks(record(table="ab", levels={}, summary=summary))
    assert (errors.ok, errors.found) == (False, "2 failed (0.20%), 2 reconnects")
    del summary["reconnects"]
    found = kind.record_checks(record(table="sysbench_by_rate", levels={}, summary=summary))
    assert [(each.check, each.ok) for each in found] == [("errors", True), ("latency range", False)]


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("--authenticate=s3cret -t 4", "--authenticate=<hidden> -t 4"),
        ("configuration.authenticate = my s3cret", "configuration.authenticate = <hidden>"),
        ("--uri redis://:s3cret@db:6379", "--uri redis://:<hidden>@db:6379"),
        ("mysql://u:s3@cret@db:4000/x", "mysql://u:<hidden>@db:4000/x"),
        ("--mysql-password=s3@cret --threads=4", "--mysql-password=<hidden> --threads=4"),
        ("--mysql-password='my s3cret' --threads=4", "--mysql-password=<hidden> --threads=4"),
        ("$ redis-benchmark -h db -a s3cret -c 50", "$ redis-benchmark -h db -a <hidden> -c 50"),
        ("memtier_benchmark -p 6379 -a s3cret -P redis", "memtier_benchmark -p 6379 -a <hidden> -P redis"),
        ("go-tpc tpcc -P 4000 -p s3cret run", "go-tpc tpcc -P 4000 -p <hidden> run"),
        ("mysqlslap -uroot -ps3cret -P 3306 -q 'select 1'", "mysqlslap -uroot -p<hidden> -P 3306 -q 'select 1'"),
        ("mariadb-slap -uroot -p's 3cret' -P 3306", "mariadb-slap -uroot -p<hidden> -P 3306"),
        ("MYSQL_PWD=s3cret sysbench", "MYSQL_PWD=<hidden> sysbench"),
        # go-ycsb lists its properties, HammerDB its settings (`print dict`) and what it changes.
        ('"mysql.password"="s3cret"', '"mysql.password"=<hidden>'),
        ("Command line: -p db.passwd=s3cret -t", "Command line: -p db.passwd=<hidden> -t"),
        (" pg_superuserpass = s3cret", " pg_superuserpass = <hidden>"),
        ('{"password":"s3cret","x":1}', '{"password":<hidden>,"x":1}'),
        ("diset tpcc mysql_pass s3cret", "diset tpcc mysql_pass <hidden>"),
        ("diset tpcc pg_pass {my s3cret}", "diset tpcc pg_pass <hidden>"),
        # As src/generic/gencli.tcl of HammerDB 6 puts them together; a public `print dict` aligns its signs.
        (
            "Changed tpcc:pg_superuserpass from a to my s3cret for PostgreSQL ",
            "Changed tpcc:pg_superuserpass from <hidden> to <hidden> for PostgreSQL ",
        ),
        (
            "x\nhammerdb>Value s3 cret for tpcc:pg_pass is the same as existing value s3 cret, no change made",
            "x\nhammerdb>Value <hidden> for tpcc:pg_pass is the same as existing value <hidden>, no change made",
        ),
        (
            " pg_pass             = my s3cret\n pg_dbase            = tpcc",
            " pg_pass             = <hidden>\n pg_dbase            = tpcc",
        ),
        # Several on one line: of the server, and of what else the line names.
        ("redis-benchmark --pass s3 -a s4cret -c 5", "redis-benchmark --pass <hidden> -a <hidden> -c 5"),
        ("redis-benchmark -a s3 --user x --pass=s4", "redis-benchmark -a <hidden> --user x --pass=<hidden>"),
        ("redis-benchmark -u redis://:s3@db -a 's 4'", "redis-benchmark -u redis://:<hidden>@db -a <hidden>"),
        ("redis-benchmark -a s3; redis-benchmark -a s4", "redis-benchmark -a <hidden> redis-benchmark -a <hidden>"),
        ("go-tpc --password=s3 tpcc -P 4000 -p s4 run", "go-tpc --password=<hidden> tpcc -P 4000 -p <hidden> run"),
        # As public threads of ab, curl, etcd's benchmark, hey and wrk show theirs; of a server's SQL, too.
        ('hey -H "Authorization: Bearer eyJh.x" http://h/', 'hey -H "Authorization: Bearer <hidden>" http://h/'),
        ("ab -A u:s3cret -n 9 http://h/", "ab -A u:<hidden> -n 9 http://h/"),
        ("./benchmark --user root:s3cret put", "./benchmark --user root:<hidden> put"),
        ("curl -uroot:s3cret http://h/", "curl -uroot:<hidden> http://h/"),
        ("sshpass -ps3cret ssh h", "sshpass -p<hidden> ssh h"),
        ('CREATE USER a IDENTIFIED BY "s3 cret";', "CREATE USER a IDENTIFIED BY <hidden>;"),
        (r'mysql -e "ALTER USER a IDENTIFIED BY \"s3\""', 'mysql -e "ALTER USER a IDENTIFIED BY <hidden>"'),
        ("GRANT ALL TO a IDENTIFIED BY PASSWORD '*6B'", "GRANT ALL TO a IDENTIFIED BY PASSWORD <hidden>"),
        ("Changed tpcc:pg_pass from s3 to s4", "Changed tpcc:pg_pass from <hidden> to <hidden>"),
        (f"postgresql://u:{'s3' * 500}@db/x", "postgresql://u:<hidden>@db/x"),
        ("ALTER USER postgres WITH PASSWORD 's3 cret';", "ALTER USER postgres WITH PASSWORD <hidden>;"),
        ("CREATE USER u IDENTIFIED BY 's3cret';", "CREATE USER u IDENTIFIED BY <hidden>;"),
        ("sshpass -p s3cret ssh h", "sshpass -p <hidden> ssh h"),
        ("DBPASS=s3 rootPassword: s4", "DBPASS=<hidden> rootPassword: <hidden>"),
        ("--db-password2=s3 --password1\ts4", "--db-password2=<hidden> --password1\t<hidden>"),
        (
            "POSTGRES_PASSWORD_2=s3 DB_PWD=s4 REDISCLI_AUTH=s5",
            "POSTGRES_PASSWORD_2=<hidden> DB_PWD=<hidden> REDISCLI_AUTH=<hidden>",
        ),
        ("MYSQL_PWD=s3 AWS_SECRET_ACCESS_KEY=s4", "MYSQL_PWD=<hidden> AWS_SECRET_ACCESS_KEY=<hidden>"),
        (
            "--auth-token s3 --secret-key=s4 INFLUX_TOKEN=s5",
            "--auth-token <hidden> --secret-key=<hidden> INFLUX_TOKEN=<hidden>",
        ),
        ("-p azurecosmos.primaryKey=s3 -p table=x", "-p azurecosmos.primaryKey=<hidden> -p table=x"),
        # As a dict of Python, JSON in a shell's word or in JSON, Ruby, Go, JavaScript, XML, ADO and a table have them.
        ("{'password': 's 3', 'x': 1}", "{'password': <hidden>, 'x': 1}"),
        (r'"{\"password\": \"s 3\", \"x\": 1}"', r'"{\"password\": <hidden>, \"x\": 1}"'),
        (r'"password": "s\"3", "x": 1', '"password": <hidden>, "x": 1'),
        (":password => 's 3', password := s4", ":password => <hidden>, password := <hidden>"),
        ('createUser({user: "u", pwd: "s3"})', 'createUser({user: "u", pwd: <hidden>})'),
        ("<password>s3</password>", "<password><hidden>"),
        ("Uid=u;Pwd=s3;AccountKey=s4", "Uid=u;Pwd=<hidden>"),
        ("| mysql.password | s3 |", "| mysql.password | <hidden> |"),
        ("u:s3@cret@tcp(127.0.0.1:4000)/x", "u:<hidden>@tcp(127.0.0.1:4000)/x"),
        ("SET PASSWORD FOR u = PASSWORD('s 3')", "SET PASSWORD FOR u = PASSWORD(<hidden>)"),
        ("redis-cli CONFIG SET requirepass s3", "redis-cli CONFIG SET requirepass <hidden>"),
        ("keydb-benchmark -a s3 -c 5", "keydb-benchmark -a <hidden> -c 5"),
        ("oha -a u:s3 http://h/", "oha -a u:<hidden> http://h/"),
        ("mongosh -u u -p s3; sqlcmd -U sa -P s4", "mongosh -u u -p <hidden> sqlcmd -U sa -P <hidden>"),
        ("-H 'X-API-Key: s3' -H 'Authorization: s4'", "-H 'X-API-Key: <hidden> -H 'Authorization: <hidden>'"),
        ('{"Authorization": "Bearer s3"}', '{"Authorization": "Bearer <hidden>"}'),
        # What is no secret stays: words of English that end so (Debian's wamerican), and what goes on.
        ("cache_bypass=1 --bypass 2", "cache_bypass=1 --bypass 2"),
        ("Compass: x, 'encompass': 3", "Compass: x, 'encompass': 3"),
        ("--passes=3 --passive 1 pass_rate: 2", "--passes=3 --passive 1 pass_rate: 2"),
        ("wrk -c 4 http://127.0.0.1:8080/x", "wrk -c 4 http://127.0.0.1:8080/x"),
        ("redis-benchmark -P 16 -c 4", "redis-benchmark -P 16 -c 4"),
        ("go-ycsb run mongodb -P w -p threadcount=4", "go-ycsb run mongodb -P w -p threadcount=4"),
        ("password_encryption = md5, old_passwords: 0", "password_encryption = md5, old_passwords: 0"),
        ("num_tokens: 256 --key-pattern=R:R key_size=16", "num_tokens: 256 --key-pattern=R:R key_size=16"),
    ],
)
def test_a_secret_is_not_kept(line: str, kept: str) -> None:
    assert logs._without_secrets(line) == kept


def test_published_figures_that_are_typed_in_stay_at_the_next_import(tmp_path: Path, said: Said, home: Home) -> None:
    source = write(tmp_path / "out")
    said(source)
    (file,) = (home.path / "data" / "published" / "mine").glob("*.csv")
    head, *rows = file.read_text().splitlines()
    place = head.split(",").index("tps")
    typed = [",".join([*(cells := row.split(","))[:place], "123", *cells[place + 1 :]]) for row in rows]
    file.write_text("\n".join([head, *typed]) + "\n")
    said(write(source, {16: (300, 310, 320)}))
    kept = pd.read_csv(file).set_index("threads").tps
    assert kept.loc[[4, 8]].tolist() == [123, 123]
    assert pd.isna(kept.loc[16])
    file.write_text(file.read_text() + ",".join("32" if name == "threads" else "99" for name in head.split(",")) + "\n")
    said(source)
    assert pd.read_csv(file).set_index("threads").tps.loc[32] == 99, "of a cell that no log is of"


def test_the_same_files_are_the_same_campaign(tmp_path: Path, said: Said, home: Home) -> None:
    source = write(tmp_path / "out")
    first = said(source)[1]
    kept = source / "insert" / "4-1.txt"
    kept.write_text(kept.read_text(), encoding="utf-16")  # as PowerShell redirects
    assert said(source)[1] == first
    assert len(list(home.path.glob("data/runs/mine/*/plan.json"))) == 1


def test_what_cannot_be_told_is_left_out_in_a_sentence(tmp_path: Path, said: Said) -> None:
    source = write(tmp_path / "out")
    (source / "insert" / "notes.txt").write_text("what I did on Monday")
    (source / "insert" / "16-1.txt").write_text((source / "insert" / "8-1.txt").read_text() + "\n")
    (source / "insert" / "9-1.txt").write_bytes((source / "insert" / "4-2.txt").read_bytes())
    (source / "insert" / "5-1.txt").write_text((FIXTURES / "sysbench" / "killed.txt").read_text())
    status, text = said(source)
    assert status == BadInput.exit_status
    assert text.count("left out: ") == 4
    for what in (
        "notes.txt: not the output of a load generator that is known",
        "16-1.txt: threads is 16 by its name and 8 by what is printed",
        "the same as ",
        "5-1.txt: the output of sysbench is cut",
    ):
        assert what in text
    assert "6 records in 2 cells of mine" in text


def test_a_link_that_leads_to_itself_is_no_file(tmp_path: Path, said: Said) -> None:
    link = tmp_path / "out.txt"
    link.symlink_to(link)
    with pytest.raises(BadInput, match="no such file or folder"):
        said(link, name="")


def test_of_the_runs_of_a_file_those_that_do_not_count_are_left_out(tmp_path: Path, said: Said) -> None:
    """JMH prints orders of magnitude where a unit is too coarse (public tables of serialization are full of them)."""
    folder = tmp_path / "out"
    folder.mkdir()
    row = "Serialization.{}  avgt    5  {}  ms/op\n"
    (folder / "some.txt").write_text(row.format("text", "≈ 10⁻³         ") + row.format("json", "0.001 ±  0.001"))
    (folder / "none.txt").write_text(row.format("sbe", "≈ 10⁻⁶         "))
    status, text = said(folder, levels="", system="")
    assert (status, text.count("left out: "), "1 record in 1 cell" in text) == (BadInput.exit_status, 2, True)
    for name in ("some.txt: run 1 of 2: JMH prints the order of its figure, ", "none.txt: JMH prints the order of "):
        assert name in text
    (kept,) = benchbook.open_campaign("mine").records
    assert kept.proof[IMPORTED]["run"] == 2, "the second of its file"
    assert benchbook.open_campaign("mine").trials().duration_s.isna().all(), "JMH does not say how long it ran"


def test_runs_of_equal_levels_are_no_repetitions_unless_it_is_said(tmp_path: Path, said: Said) -> None:
    _, text = said(write(tmp_path / "out", {4: (100, 110)}), levels="")
    assert "2 runs of sysbench have the levels of another one: they stand apart, by `file`" in text
    trials = benchbook.open_campaign("mine").trials()
    assert sorted(zip(trials.file, trials.tps, strict=True)) == [("4-1.txt", 100.0), ("4-2.txt", 110.0)]
    assert set(trials.repetition) == {1}
    assert set(trials.workload) == {"oltp_insert"}


def test_levels_may_come_from_a_csv(tmp_path: Path, said: Said) -> None:
    source = write(tmp_path / "out", {4: (100, 110)})
    csv = tmp_path / "levels.csv"
    csv.write_text("file,workload,repetition,engine\ninsert/4-1.txt,w,1,rocks\ninsert/4-2.txt,w,1,inno\n")
    said(source, levels=str(csv))
    trials = benchbook.open_campaign("mine").trials()
    assert sorted(zip(trials.engine, trials.tps, strict=True)) == [("inno", 110.0), ("rocks", 100.0)]


def test_no_comparison_and_no_verdict_forgets_where_they_come_from(tmp_path: Path, said: Said) -> None:
    said(write(tmp_path / "out"))
    said(write(tmp_path / "again", {4: (50, 51, 52), 8: (90, 91, 92)}))
    found = compare(CompareParameters(a="mine~1", b="mine", metric=["tps"]))
    assert (found.verdict, found.gate.names) == ("refused", [IMPORTED])
    assert "circumstances unknown of A" in str(found.gate.unfair[0])
    # One pair has no history.
    assert compare(CompareParameters(a="mine~1", b="mine", metric=["tps"], accept=[IMPORTED])).verdict == "differs"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no such file or folder"),
        ([".", "--levels", "plain.txt"], "it names no level"),
        ([".", "--name", "tidb_v7_1_3_sysbench"], "was not imported"),
    ],
)
def test_bad_input_is_refused(
    arguments: list[str], said: str, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(write(tmp_path / "out"))
    done = CliRunner().invoke(cli.app, ["import", "logs", *arguments])
    assert isinstance(done.exception, BadInput)
    assert said in str(done.exception)
