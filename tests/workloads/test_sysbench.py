"""The sysbench report as data: its cells, its command lines, and what becomes of each way in which sysbench may end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from kit import FIXTURES, INVENTORY, ROOT, Home

from benchbook import published
from benchbook.campaign.design import Cell, plan
from benchbook.errors import BadInput, HostUnusable, WorkloadFailed
from benchbook.hosts.agent import Command, Ended
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.inventory import load_inventory
from benchbook.profiles import SysbenchSize, load_profile
from benchbook.published.tables import Published
from benchbook.reports.kind import RunRequest
from benchbook.reports.load import load_kind as report
from benchbook.reports.planning import at_published_levels, trials
from benchbook.workloads import sysbench
from benchbook.workloads.base import Load, check_end
from benchbook.workloads.clients import RateReader
from benchbook.workloads.sysbench_output import interval_series, parse, quantities

NAME = "tidb_v7_1_3_sysbench"
IGNORED = "mysql-ignore-errors"
PRINTED = (FIXTURES / "sysbench" / "read_write.txt").read_text()


@pytest.fixture(scope="module")
def tables() -> Published:
    return published.load(NAME, ROOT / "data" / "published")


def asked_for(**given: Any) -> report.LoadParameters:
    return report.LoadParameters.model_validate({"inventory": INVENTORY, **given})


# -- cells --------------------------------------------------------------------------------------------------------


def test_every_published_row_is_a_cell(tables: Published) -> None:
    cells = report.LoadKind().cells(tables, asked_for())
    assert len(cells) == 15
    for name, table in tables.tables.items():
        ours = [c.levels["threads"] for c in cells if c.table == name]
        assert ours == [int(v) for v in table.frame["threads"]]


def test_systems_workloads_and_threads_can_be_chosen(tables: Published) -> None:
    assert len(report.LoadKind().cells(tables, asked_for(systems=["tidb", "mariadb"]))) == 30
    cells = report.LoadKind().cells(tables, asked_for(workloads=["oltp_insert"], threads=[2, 4]))
    assert [(c.system, c.levels) for c in cells] == [
        ("tidb", {"workload": "oltp_insert", "threads": 2}), ("tidb", {"workload": "oltp_insert", "threads": 4}),
    ]  # fmt: skip
    assert asked_for(systems=["x", "y", "x"]).names() == ["x", "y"]


def test_what_was_asked_for_holds_everything_that_could_change_a_figure(home: Home, tables: Published) -> None:
    profile, lab = load_profile("tiny"), load_inventory(INVENTORY)
    asked = RunRequest(report.LoadKind(), tables, asked_for(), profile, lab).asked()
    assert (asked["time_s"], asked["tables"], asked["table_size"], asked["reset"]) == (2, 4, 2000, "restart")
    longer = RunRequest(report.LoadKind(), tables, asked_for(time_s=7, rate=50), profile, lab).asked()
    assert (longer["time_s"], longer["rate"]) == (7, 50)
    assert report.LoadKind().builds(RunRequest(report.LoadKind(), tables, asked_for(), profile, lab)) == ["tidb"]
    beside = RunRequest(report.LoadKind(), tables, asked_for(system="mariadb"), profile, lab)
    assert report.LoadKind().builds(beside) == []


def test_what_cannot_run_is_refused_before_anything_is_connected(home: Home, tables: Published) -> None:
    profile, lab = load_profile("tiny"), load_inventory(INVENTORY)
    made = report.LoadKind().experiment(RunRequest(report.LoadKind(), tables, asked_for(), profile, lab))
    assert sysbench.options_of(made.generator.options)["mysql-ignore-errors"] == "1062,2013,8028,9007"
    options = sysbench.options_of(made.generator.options)
    assert options["auto-inc"] == "false"
    assert "db-driver" not in options
    with pytest.raises(BadInput, match="unknown system"):
        RunRequest(report.LoadKind(), tables, asked_for(system="tibd"), profile, lab).experiment()


# -- command lines ------------------------------------------------------------------------------------------------

ENDS = [Endpoint(f"127.0.90.1{i}", 4000, "root", "hush-3c1d") for i in (1, 2)]
DATASET = sysbench.Dataset(4, 1000)
GENERATOR = sysbench.Sysbench(SysbenchSize(time_s=1, tables=4, table_size=1000), [], 1)


def asked(threads: int = 1, time_s: int = 1, rate: int = 0, ends: list[Endpoint] = ENDS, **options: str) -> Command:
    load = Load({"workload": "oltp_insert"}, threads, time_s, rate)
    return sysbench.run("sysbench", ends, DATASET, load, {name.replace("_", "-"): o for name, o in options.items()})


def test_the_load_is_the_report_s_command_line() -> None:
    words = [str(word) for word in asked(50, 1200, auto_inc="false").argv]
    assert words[:3] == ["sysbench", "oltp_insert", "run"]
    assert set(words) >= {
        "--mysql-host=127.0.90.11,127.0.90.12", "--mysql-port=4000", "--mysql-user=root", "--mysql-db=sbtest",
        "--threads=50", "--time=1200", "--report-interval=1", "--tables=4", "--table-size=1000", "--histogram=on",
        "--auto-inc=false",
    }  # fmt: skip
    assert not [word for word in words if word.startswith("--rate")]
    rated = asked(50, 1200, rate=300)
    assert "--rate=300" in rated.argv
    assert rated.timeout_s > 1200


def test_a_switch_without_a_value_is_given_as_it_is_printed() -> None:
    """sysbench 1.0.20 says "invalid option: --skip-trx=" of one with an empty value."""
    options = sysbench.options_of(["--skip-trx", "--rand-type=uniform", "--db-driver=mysql"])
    argv = asked(**options).argv
    assert [word for word in argv if "trx" in str(word) or "rand" in str(word)] == ["--skip-trx", "--rand-type=uniform"]


def test_the_password_is_in_a_secret_file_and_in_no_argument() -> None:
    for command in (asked(), sysbench.prepare("sysbench", ENDS[0], DATASET, threads=8, seed=7)):
        assert not [word for word in command.argv if "hush" in str(word)]
        assert command.secrets == {"password.cnf": "mysql-password=hush-3c1d\n"}
        assert "--config-file={job}/password.cnf" in command.argv
    assert "hush" not in repr(ENDS[0])


@pytest.mark.parametrize(
    ("password", "line"),
    [
        ("plain#1", "plain#1"),
        ("two words", '"two words"'),
        ("a,b", '"a,b"'),
        ("#hash", '"#hash"'),
        ("it's", "it's"),
        ("it's one", '"it\'s one"'),
        ('say "x"', "'say \"x\"'"),
        ("", ""),
    ],
)
def test_a_password_that_sysbench_would_cut_stands_in_quotes(password: str, line: str) -> None:
    """As sysbench 1.0.20 was seen to log in with each of them: without quotes it was denied those that have some."""
    end = Endpoint("127.0.90.12", 4000, "root", password)
    command = sysbench.prepare("sysbench", end, DATASET, threads=1, seed=7)
    assert command.secrets == {"password.cnf": f"mysql-password={line}\n"}


def test_a_password_that_sysbench_has_no_way_to_read_is_refused() -> None:
    end = Endpoint("127.0.90.12", 4000, "root", 'it\'s "hush"')
    with pytest.raises(BadInput, match="both kinds of quotes") as refused:
        sysbench.prepare("sysbench", end, DATASET, threads=1, seed=7)
    assert "hush" not in str(refused.value)


def test_preparing_is_seeded_and_takes_no_more_threads_than_tables() -> None:
    argv = sysbench.prepare("sysbench", ENDS[1], DATASET, threads=8, seed=7).argv
    assert {"--rand-seed=7", "--threads=4", "--tables=4", "--table-size=1000", "prepare"} <= set(argv)
    assert "--mysql-host=127.0.90.12" in argv


def test_servers_of_one_system_share_a_port() -> None:
    ends = [ENDS[0], Endpoint("127.0.90.12", 4001, "root", "")]
    with pytest.raises(BadInput, match=r"one port on all servers \(got \[4000, 4001\]\)"):
        asked(ends=ends)


# -- ends ---------------------------------------------------------------------------------------------------------


def ended(reason: str = "exited", status: int | None = 0, signal: int | None = None) -> Ended:
    return Ended(reason=reason, exit=status, signal=signal, started=1000.0, ended=1004.0)


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (ended(status=1), r"^sysbench ended with status 1: FATAL: oh$"),
        (ended(status=None, signal=9), r"^sysbench was killed by signal 9: FATAL: oh$"),
        (
            ended("lease", None, 15),
            r"^sysbench was ended by its host: its lease had run out, for no driver renewed it .*: FATAL: oh$",
        ),
        (ended("timeout", None, 15), "was ended by its host: it took longer than it may"),
        (ended("stopped", 0), "stopped from outside"),
        (ended("unsupervised", None), r"^the supervisor of sysbench was killed: FATAL: oh$"),
        (ended(), r"^sysbench ended with status 0: FATAL: oh$"),
    ],
)
def test_an_end_that_is_none_of_its_own_is_a_failure_with_its_output(end: Ended, said: str) -> None:
    with pytest.raises(WorkloadFailed, match=said) as caught:
        check_end(end, "[ 1s ] ...\nFATAL: oh\n", GENERATOR.name, GENERATOR.failure)
    assert getattr(caught.value, "output", "").endswith("FATAL: oh\n")


def test_every_figure_of_the_summary_has_its_unit() -> None:
    summary = quantities(parse(PRINTED).summary)
    units = [summary[name].unit for name in ("tps", "qps", "p95_ms", "total_time_s", "events")]
    assert units == ["1/s", "1/s", "ms", "s", "1"]


def test_intervals_are_placed_on_the_host_s_clock() -> None:
    """The load took 3.8619 s and ended at 1004: its first second ended at 1004 - 3.8619 + 1."""
    series = interval_series(parse(PRINTED), ended(), "executor")
    tps = series[series.metric == "tps"]
    assert tps.t.tolist() == pytest.approx([1001.1381, 1002.1381, 1003.1381])
    assert tps.value.tolist() == [49.83, 20.46, 34.97]
    assert set(series.host) == {"executor"}
    assert set(tps.unit) == {"1/s"}
    assert set(series[series.metric == "latency_ms"].unit) == {"ms"}


@pytest.mark.parametrize(
    ("own", "errors", "both"),
    [
        ("1062,2013,1205", (1213, 1205), "1062,2013,1205,1213"),
        ("all", (1213, 1205), "all"),
        ("", (7,), "7"),
        ("", (), ""),
    ],
)
def test_errors_that_a_system_retries_are_added_once_and_after_the_report_s_own(
    own: str, errors: tuple[int, ...], both: str
) -> None:
    """`sysbench --help`: list of errors to ignore, or "all"."""
    given, wanted = ({"auto-inc": "false", **({IGNORED: e} if e else {})} for e in (own, both))
    assert sysbench.also_ignoring(given, errors) == wanted


def test_another_protocol_has_another_driver_and_options_of_its_name() -> None:
    end = Endpoint("127.0.90.13", 5432, "bench", "hush", tls=True, protocol="pgsql")
    command = asked(ends=[end])
    assert {"--db-driver=pgsql", "--pgsql-host=127.0.90.13", "--pgsql-port=5432", "--pgsql-user=bench"} <= set(
        command.argv
    )
    assert not [word for word in command.argv if "mysql" in str(word)]
    assert (command.secrets, command.env) == ({"password.cnf": "pgsql-password=hush\n"}, {"PGSSLMODE": "require"})


def test_rates_are_read_line_by_line_however_the_output_is_cut() -> None:
    seen: list[tuple[float, float]] = []
    reader = RateReader(lambda line: (float(line), 2.0) if line.strip() else None, lambda *rate: seen.append(rate))
    for part in (b"1\n2", b"0\r3", b"0\n\n4"):
        reader(part)
    assert seen == [(1, 2), (20, 2), (30, 2)]
    assert reader.text == "1\n20\r30\n\n4"


def test_a_report_has_one_load_generator(tables: Published) -> None:
    first, *others = tables.report.design
    assert report.load_of(tables).name == "sysbench"
    mixed = [first.model_copy(update={"load": "pgbench"}), *others]
    with pytest.raises(BadInput, match=r"design\.\*\.load: one report is restaged by one load generator"):
        report.load_of(Published(tables.report.model_copy(update={"design": mixed}), tables.tables))
    unknown = [each.model_copy(update={"load": "other"}) for each in tables.report.design]
    with pytest.raises(
        BadInput, match=r"no such load generator \(got 'other'\)\. Fix: there are: .*pgbench, redis_benchmark, sysb"
    ):
        report.load_of(Published(tables.report.model_copy(update={"design": unknown}), tables.tables))


def test_each_design_is_run_with_its_own_options(tables: Published) -> None:
    """Those of the first one were given to all; then those of a table's last one to all workloads of the table."""
    first, *others = tables.report.design
    zipfian = {"workload": "oltp_read_only", "options": ["--rand-type=zipfian"]}
    own = [first, first.model_copy(update=zipfian), *others]
    mixed = Published(tables.report.model_copy(update={"design": own}), tables.tables)
    asked = report.LoadParameters.model_validate({"inventory": "lab_tidb", "threads": [1]})
    trials = report.LoadKind().experiment(
        RunRequest(report.LoadKind(), mixed, asked, load_profile("smoke"), load_inventory("lab_tidb"))
    )
    trials._systems = {"tidb": cast(Any, None)}
    trials._driver = cast(Any, SimpleNamespace(commands=lambda *_: list(trials.generator.options)))
    levels = [(each.table, {"workload": each.workload, "threads": 1}) for each in own]
    planned = plan([Cell(table=t, system="tidb", levels=at) for t, at in levels], 1, seed=1, asked={})
    expected = {(each.table, each.workload): each.options for each in own}
    given = {(t.cell.table, t.cell.levels["workload"]): cast(object, trials.commands(t)) for t in planned}
    assert given == expected


def test_rows_that_do_not_say_which_workload_they_are_of_are_refused(tables: Published) -> None:
    """Loads of 1,000 and 9,000 transactions/s were two repetitions of one cell, of 5,000."""
    first = tables.report.design[0]
    both = [first, first.model_copy(update={"name": "second", "workload": "oltp_read_only"})]
    mixed = Published(tables.report.model_copy(update={"design": both}), tables.tables)
    asked = report.LoadParameters.model_validate({"inventory": "lab_tidb"})
    with pytest.raises(BadInput, match=r"oltp_point_select\.schema\.fields: .* several workloads do not say which"):
        report.LoadKind().cells(mixed, asked)


def test_a_campaign_with_other_options_is_another_one(tables: Published) -> None:
    """Whoever changed her report's options went on with the campaign that was begun with the old ones."""
    asked = report.LoadParameters.model_validate({"inventory": "lab_tidb", "threads": [1]})
    first, *others = tables.report.design
    changed = [first.model_copy(update={"options": ["--rand-type=zipfian"]}), *others]
    found = []
    for design in (tables.report.design, changed):
        published = Published(tables.report.model_copy(update={"design": design}), tables.tables)
        request = RunRequest(report.LoadKind(), published, asked, load_profile("smoke"), load_inventory("lab_tidb"))
        found.append(trials(request, at_published_levels(request)))
    before, after = found
    assert [one.id for one in before] == [one.id for one in after]
    assert not {one.identity for one in before} & {one.identity for one in after}


def test_a_prepare_that_could_not_connect_has_failed_although_it_ends_with_status_0() -> None:
    printed = (FIXTURES / "sysbench" / "prepare_cannot_connect.txt").read_text()
    ended = Ended("exited", 0, None, 0.0, 1.0)
    with pytest.raises(
        WorkloadFailed, match=r"^sysbench ended with status 0: FATAL: unable to connect to MySQL server"
    ) as caught:
        check_end(ended, printed, GENERATOR.name, GENERATOR.failure)
    assert caught.value.output == printed
    for good in ("Creating table 'sbtest1'...\nInserting 1000 records into 'sbtest1'\n", PRINTED):
        check_end(ended, good, GENERATOR.name, GENERATOR.failure)


OLD = r"{} on host a is too old.*/opt/sysbench.*install sysbench 1.0"
OF_COREUTILS = "true (GNU coreutils) 9.1\nCopyright (C) 2022 Free Software Foundation, Inc."


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("sysbench 0.4.12", OLD.format("sysbench 0.4.12")),
        ("sysbench 0.5", OLD.format("sysbench 0.5")),
        ("sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)", ""),
        ("sysbench 1.1.0-df89d34 (using bundled LuaJIT 2.1.0-beta3)", ""),
        # As /bin/true says its version: quoted by its first line.
        (OF_COREUTILS, r"says no version of it: 'true \(GNU coreutils\) 9.1' \(got '/opt/sysbench'\)"),
    ],
)
def test_versions_before_1_0_are_refused_before_the_first_load(version: str, said: str) -> None:
    client = SimpleNamespace(
        name="a",
        inventory=SimpleNamespace(file="env/hosts/x.yaml", program=lambda name: name),
        require_program=lambda name, package: "/opt/sysbench",
        run=lambda argv, check=True: SimpleNamespace(stdout=f"{version}\n", stderr="", exited=0),
    )
    generator = sysbench.Sysbench(cast(Any, None), [], 1)
    if not said:
        assert generator.find(cast(Any, client)) == version
        return
    with pytest.raises(HostUnusable, match=f"programs.sysbench: .*{said}"):
        generator.find(cast(Any, client))


@pytest.mark.parametrize(
    ("help_text", "options", "waits"),
    [
        # As in 1.1 (src/sysbench.c).
        ("  --thread-init-timeout=N  wait time in seconds for worker threads to initialize [30]\n", [], ["90"]),
        ("  --thread-init-timeout=N\n", ["--thread-init-timeout=300"], ["300"]),
        # Seen of 1.0.20: "invalid option: --thread-init-timeout=60".
        ("  --thread-stack-size=SIZE  size of stack per thread [64K]\n", [], []),
    ],
)
def test_threads_may_take_longer_to_connect_where_sysbench_can_be_told(
    help_text: str, options: list[str], waits: list[str]
) -> None:
    printed = {"--version": "sysbench 1.1.0-df89d34\n", "--help": help_text}
    client = SimpleNamespace(
        name="a",
        inventory=SimpleNamespace(program=lambda name: name),
        require_program=lambda name, package: "/opt/sysbench",
        run=lambda argv, check=True: SimpleNamespace(stdout=printed[argv[1]], exited=0),
    )
    generator = sysbench.Sysbench(SysbenchSize(time_s=5, tables=4, table_size=1000), options, 1)
    generator.find(cast(Any, client))
    load = Load(levels={"workload": "oltp_insert"}, threads=200, time_s=5, rate=0)
    argv = generator.command(cast(Any, client), ENDS, load).argv
    assert [word.partition("=")[2] for word in map(str, argv) if word.startswith("--thread-init-timeout")] == waits
