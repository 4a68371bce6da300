"""`benchbook new --from`: a report's files drafted from its document, each guess with its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from kit import Home

from benchbook import new, parameters, paths, published
from benchbook.audit.report_audit import audit
from benchbook.claims import ledger
from benchbook.documents.columns import concurrency_of
from benchbook.documents.tables import reading
from benchbook.drafting.draft import Draft, draft
from benchbook.drafting.guesses import GUESSES, SYSTEM, unconfirmed
from benchbook.errors import BadInput
from benchbook.hosts.inventory import load_inventory
from benchbook.profiles import load_profile
from benchbook.published import data_package
from benchbook.published.report_file import TableDesign
from benchbook.reports.kind import RunRequest, kind_of

SYSBENCH = """# MariaDB 10.11 under sysbench

MariaDB version: 10.11.6. Measured 2024-03-05.

| Role | CPU | Memory | Count |
|------|-----|--------|-------|
| database server | 8 cores | 32 GB | 2 |

```shell
sysbench oltp_common --mysql-host=$HOST --tables=8 --table-size=100000 --threads=8 prepare
sysbench $WORKLOAD --db-driver=mysql --mysql-host=$HOST --mysql-ignore-errors=1213,1205 \\
  --threads=$THREADS --time=120 --report-interval=10 run
```

## Point select

| Threads | TPS | 95% latency (ms) |
|--:|--:|--:|
| 4 | 21.03k | 260us |
| 8 | 39,518.02 | 0.31 |

Throughput rises with the threads.

## Update non-index

| Threads | TPS | 95% latency (ms) |
|--:|--:|--:|
| 8 | 4,012.87 | 3.43 |
| 4 | 2,210.10 | 2.91 |
"""
VERSIONS = """# AcmeDB 4.2 against AcmeDB 4.1

`sysbench oltp_read_only --threads=64 --tables=32 --table-size=1000000 --time=300 run`

```
sysbench oltp_read_only --tables=32 --table-size=1000000 --time=300 run
```

| Threads | 4.1 (tps) | 4.2 (tps) | Improvement | 4.2 p95 (ms) |
|--:|--:|--:|--:|--:|
| 8 | 1,812.40 | 2,011.75 | 11.0% | 4.65 |
| 32 | 6,120.55 | 7,160.20 | 17.0% | 5.47 |

AcmeDB 4.2 is 17% faster than 4.1 with 32 threads. It is faster in all cases.
"""
PGBENCH = """# pgbench on PostgreSQL 16.2

```
pgbench -h $HOST -U postgres -i -s 50 bench
pgbench -h $HOST -U postgres -c 32 -j 4 -T 60 -S -M prepared bench
```

| Clients | TPS | Latency average (ms) |
|--|--|--|
| 8 | 41,200 | 0.194 |
| 16 | 78,310 | 0.204 |
"""
PARTS = """# Replication

| items | qps | tps | 95% Latency (ms) |
|--|--|--|--|
| MySQL | 15.10k | 15.10k | 121.08 |
| relay | - | 11.3MB/s | 45us (read) |
| TiDB | 18.53k (Begin/Commit 2.4k Replace 13.80k) | 2.27k | 29 |
"""


def drafted(folder: Path, text: str) -> Draft:
    (folder / "mine.md").write_text(text)
    return draft(reading(str(folder / "mine.md")), "mine")


def laid_down(home: Home, text: str) -> list[Path]:
    (home.path / "mine.md").write_text(text)
    return new.create_report("mine", source=str(home.path / "mine.md"))


def designs(home: Home, text: str) -> list[TableDesign]:
    laid_down(home, text)
    return published.load("mine").report.design


def test_a_report_of_sysbench_is_laid_down_whole_and_can_be_planned(home: Home) -> None:
    assert paths.notebook("mine") in laid_down(home, SYSBENCH)
    found = data_package.validate("mine")
    assert ledger.load(found)
    assert not [one for one in audit(found).findings if one.severity == "contradiction"]
    select = found.tables["point_select"]
    assert select.frame.to_dict("records")[0] | {} == {
        "threads": 4, "tps": 21030.0, "p95_ms": 0.26, "tps_printed": "21.03k", "p95_ms_printed": "260us",
    }  # fmt: skip
    design = found.report.design[0]
    assert design.workload == "oltp_point_select"
    assert design.fixed == {"tables": 8, "table_size": 100000, "time_s": 120, "report_interval_s": 10}
    assert design.options == ["--db-driver=mysql", "--mysql-ignore-errors=1213,1205"]
    assert [(one.name, one.version) for one in found.report.systems] == [("MariaDB", "10.11.6")]
    host = found.report.hosts[0]
    assert (host.name, host.cpu, host.memory, host.count) == ("database server", "8 cores", "32 GB", 2)
    kind = kind_of("mine")
    said = parameters.check(kind.Parameters, "mine", parameters.defaults("mine"))
    RunRequest(kind, found, said, load_profile(said.profile), load_inventory(said.inventory)).experiment()
    assert len(kind.cells(found, said)) == 4


def test_check_lists_what_nobody_has_confirmed_the_least_sure_first(home: Home) -> None:
    laid_down(home, SYSBENCH)
    guesses = unconfirmed("mine")
    assert [one.sure for one in guesses] == sorted(one.sure for one in guesses)
    lines = SYSBENCH.split("\n")
    assert all(lines[one.line - 1].strip() for one in guesses)
    status, said = home.run("check", "mine")
    assert (status, f"{len(guesses)} guesses not confirmed" in said) == (0, True)
    kept = yaml.safe_load((paths.published_dir("mine") / GUESSES).read_text())["guesses"][1:]
    (paths.published_dir("mine") / GUESSES).write_text(yaml.safe_dump({"guesses": kept}))
    assert len(unconfirmed("mine")) == len(guesses) - 1


def test_versions_in_columns_become_rows_and_a_sentence_a_claim_that_the_table_bears_out(tmp_path: Path) -> None:
    made = drafted(tmp_path, VERSIONS)
    (text,) = made.tables.values()
    assert text.splitlines() == [
        "version,threads,tps,improvement_percent,p95_ms",
        "4.1,8,1812.40,,",
        "4.1,32,6120.55,,",
        "4.2,8,2011.75,11.0,4.65",
        "4.2,32,7160.20,17.0,5.47",
    ]
    assert made.report["restaged_by"] == "versions"
    assert made.report["document"]["product"] == "AcmeDB"
    claims = {claim["hypothesis"]: claim for claim in made.claims}
    assert claims["ratio"]["rows"] == {"version": "4.2", "threads": 32}
    assert claims["ratio"]["over"] == {"rows": {"version": "4.1", "threads": 32}}
    assert claims["dominates"]["figure"]["rows"] == {"version": "4.2"}
    opposite = drafted(tmp_path, VERSIONS.replace("2,011.75", "1,711.75"))
    assert "dominates" not in {claim["hypothesis"] for claim in opposite.claims}


def test_versions_are_held_against_each_other_at_the_same_threads(tmp_path: Path) -> None:
    rows = "| Version | Threads | TPS |\n|--|--|--|\n| 4.1 | 8 | 100 |\n| 4.1 | 16 | 150 |\n| 4.2 | 16 | 180 |\n"
    text = (
        f"# AcmeDB 4.2 against AcmeDB 4.1\n\n`sysbench oltp_read_only --time=300 run`\n\n{rows}\n4.2 is 20% faster.\n"
    )
    (claim,) = [claim for claim in drafted(tmp_path, text).claims if claim["hypothesis"] == "ratio"]
    assert claim["rows"] == {"version": "4.2", "threads": 16}
    assert claim["over"] == {"rows": {"version": "4.1", "threads": 16}}


@pytest.mark.parametrize(
    "shell",
    [
        "for c in 8 16; do PGPASSWORD=x {} > $c.log; done",
        "docker exec -it pg {}  # reads alone",
        "kubectl -n default exec pg-0 -c postgres -- {}",
        "taskset -c 0-3 sudo -u postgres /usr/lib/postgresql/16/bin/{}",
        "pgbench --version\npgbench (PostgreSQL) 16.2\n{}",
    ],
)
def test_a_command_is_read_whatever_starts_it_and_what_stands_around_it_is_not(home: Home, shell: str) -> None:
    command = "pgbench -h $HOST -U postgres -c 32 -j 4 -T 60 -S -M prepared bench"
    assert command in PGBENCH
    (entry,) = designs(home, PGBENCH.replace(command, shell.format(command)))
    assert (entry.workload, entry.options) == ("select_only", ["--protocol=prepared", "--jobs=4"])
    assert entry.fixed == {"scale": 50, "time_s": 60}


COMMAND = "sysbench oltp_read_only --tables=8 --table-size=100000 --time=60 --threads=$t run"


@pytest.mark.parametrize(
    ("loop", "levels"),
    [
        (f"for t in 1 8 16; do {COMMAND}; done", [1, 8, 16]),
        (f"for t in {{1,2,4}}; do\n  {COMMAND} > $t.log\ndone", [1, 2, 4]),
        (f"for t in $(seq 8 8 24)\ndo\n  {COMMAND.replace('$t', '${t}')}\ndone", [8, 16, 24]),
        (f"for t in {{1..3}}; do {COMMAND}; done", [1, 2, 3]),
        (f'LEVELS="4 8 12"\nfor t in $LEVELS; do {COMMAND}; done', [4, 8, 12]),
    ],
)
def test_rows_that_nothing_names_are_the_rounds_of_the_printed_loop(home: Home, loop: str, levels: list[int]) -> None:
    table = "| TPS | 95% latency (ms) |\n|--|--|\n| 101.5 | 9.9 |\n| 180.2 | 10.4 |\n| 320.7 | 12.1 |\n"
    (entry,) = designs(home, f"# MySQL 8.0.36\n\n```\n{loop}\n```\n\n{table}")
    frame = published.load("mine").tables[entry.table].frame
    assert (entry.workload, list(frame["threads"])) == ("oltp_read_only", levels)
    assert sorted(frame) == ["p95_ms", "threads", "tps"]
    assert [one.sure for one in unconfirmed("mine") if one.guess.startswith("the rounds of the loop")] == [0.4]
    longer = drafted(home.path, f"# MySQL 8.0.36\n\n```\n{loop}\n```\n\n{table}| 400.1 | 15.0 |\n")
    assert longer.report["design"] == []


@pytest.mark.parametrize("heading", ["TPS ({} threads)", "{} threads", "Threads={}"])
def test_levels_of_threads_in_the_headings_are_levels_and_no_versions(home: Home, heading: str) -> None:
    heads = " | ".join(heading.format(level) for level in (8, 16))
    rows = (
        f"TPS of each version:\n\n| Version | {heads} |\n|--|--|--|\n| 4.1 | 1,000 | 1,900 |\n| 4.2 | 1,100 | 2,000 |\n"
    )
    (entry,) = designs(home, f"# AcmeDB 4.2 against AcmeDB 4.1\n\n`{COMMAND}`\n\n{rows}")
    table = published.load("mine").tables[entry.table]
    assert len(table.frame) == 4
    assert table.value("tps", threads=16, version="4.1") == 1900


@pytest.mark.parametrize(
    ("heading", "level"),
    [
        ("TPS (8 threads)", "8"), ("Threads=8", "8"), ("1,000 clients", "1000"), ("QPS at client: 4", "4"),
        ("v2 client QPS", ""), ("TPS, 2/4 client machines", ""), ("4 client nodes", ""), ("Client 95% latency", ""),
        ("clients 95th", ""), ("client 1", ""), ("8 GB", ""), ("16 nodes", ""),
    ],
)  # fmt: skip
def test_a_heading_names_a_level_of_threads_or_none(heading: str, level: str) -> None:
    assert concurrency_of(heading) == level


def test_workloads_down_and_threads_across_are_a_design_for_each_workload(home: Home) -> None:
    heads = "| Workload | 8 threads | 16 threads |\n|--|--|--|\n"
    rows = f"{heads}| oltp_point_select | 10,000 | 19,000 |\n| oltp_read_write | 500 | 900 |\n"
    made = designs(home, f"# AcmeDB\n\n`{COMMAND}`\n\n## Throughput (TPS)\n\n{rows}")
    assert [one.workload for one in made] == ["oltp_point_select", "oltp_read_write"]
    assert published.load("mine").tables["oltp_read_write"].value("tps", threads=16) == 900


def test_protocols_in_a_column_are_a_design_each_and_a_heading_goes_before_the_command(home: Home) -> None:
    rows = "| Protocol | Clients | TPS |\n|--|--|--|\n| simple | 1 | 1,000 |\n| prepared | 1 | 1,900 |\n"
    more = "## Sweep (simple mode)\n\n| Clients | TPS |\n|--|--|\n| 1 | 990 |\n"
    made = designs(
        home, f"# Pooler\n\n```\npgbench -c 10 -t 100000 -S --protocol extended\n```\n\n## Reads\n\n{rows}\n{more}"
    )
    assert [(one.workload, one.options) for one in made] == [
        ("select_only", ["--protocol=simple"]), ("select_only", ["--protocol=prepared"]),
        ("select_only", ["--protocol=simple"]),
    ]  # fmt: skip


def test_a_load_that_is_named_and_not_printed_is_drafted_from_the_names_of_its_workloads(home: Home) -> None:
    rows = "| Workload | Threads | TPS |\n|--|--|--|\n| oltp_read_only | 8 | 3,110 |\n| oltp_read_write | 8 | 956 |\n"
    made = designs(home, f"# AcmeDB\n\nRun by sysbench 1.0.20 on 4 × 50,000 rows.\n\n{rows}")
    assert [(one.workload, one.fixed) for one in made] == [
        (name, {"tables": 4, "table_size": 50_000}) for name in ("oltp_read_only", "oltp_read_write")
    ]


@pytest.mark.parametrize(
    ("shell", "table", "why"),
    [
        ("wrk -t 4 -c 8", "| Clients | TPS |\n|--|--|\n| 8 | 990 |", "names none of sysbench, pgbench, go_tpc"),
        ("pgbench -c 8 -f own.sql", "| Clients | TPS |\n|--|--|\n| 8 | 990 |", "no workload of pgbench is named"),
        (COMMAND, "| Mode | TPS |\n|--|--|\n| a | 990 |\n| b | 880 |", "how many threads or clients"),
        ("pgbench -c 8 -S", "| TPS | p95 (ms) |\n|--|--|\n| 990 | 9 |\n| 880 | 8 |", "nothing tells its rows apart"),
        ("pgbench -c 8 -S", "| Fill factor | TPS |\n|--|--|\n| 70 | 990 |\n| 90 | 880 |", "pgbench cannot vary fill"),
    ],
)
def test_why_a_table_is_not_run_is_said(home: Home, shell: str, table: str, why: str) -> None:
    source = home.write("mine.md", f"# AcmeDB\n\n```\n{shell}\n```\n\n{table}\n")
    status, said = home.run("new", "mine", "--from", str(source))
    assert (status, why in " ".join(said.split())) == (0, True)


def test_the_product_of_a_title_and_the_language_of_the_words_are_read(tmp_path: Path) -> None:
    flags = "flags: fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2"
    rows = "| 并发数 | TPS |\n|--|--|\n| 8 | 3,110 |\n| 16 | 4,531 |\n"
    text = f"# MySQL性能测试报告\n\n## 压测服务器配置\n\n```\n{flags}\n```\n\n## 性能测试结果\n\n`{COMMAND}`\n\n{rows}"
    made = drafted(tmp_path, text)
    assert (made.report["systems"], made.report["language"]) == ([{"name": "MySQL"}], "zh")


def test_versions_in_headings_stay_versions_where_all_ran_at_one_level_of_threads(tmp_path: Path) -> None:
    heads = "| Run | 4.1 TPS (8 threads) | 4.2 TPS (8 threads) |\n|--|--|--|\n"
    rows = f"{heads}| 1 | 1,000 | 1,900 |\n| 2 | 1,100 | 2,000 |\n"
    (text,) = drafted(tmp_path, f"# AcmeDB 4.2 against AcmeDB 4.1\n\n{rows}").tables.values()
    assert text.splitlines()[0].startswith("version,")


@pytest.mark.parametrize(
    "shell",
    [
        "for t in 1 8 16; do echo $t; done\n" + COMMAND,
        f"for t in 1 8 16; do {COMMAND.replace(' run', ' prepare')}; done\n{COMMAND.replace('$t', '16')}",
        f"for t in 1 ²; do {COMMAND}; done",
        f"for t in $(seq   ); do {COMMAND}; done",
    ],
)
def test_a_loop_that_is_not_round_the_load_names_no_threads(tmp_path: Path, shell: str) -> None:
    table = "| TPS |\n|--|\n| 101.5 |\n| 180.2 |\n| 320.7 |\n"
    made = drafted(tmp_path, f"# MySQL 8.0.36\n\n```\n{shell}\n```\n\n{table}")
    assert [one for one in made.guesses if one.guess.startswith("the rounds of the loop")] == []


def test_a_column_of_values_or_prices_is_no_host(tmp_path: Path) -> None:
    parts = "## Database server\n\n| Part | Value |\n|--|--|\n| CPU | 8 cores |\n| RAM | 32 GB |\n| OS | Debian |\n"
    priced = "## Bill\n\n| Part | node-b | Price |\n|--|--|--|\n| CPU | 16 cores | $900 |\n| RAM | 64 GB | $300 |\n"
    hosts = drafted(tmp_path, f"{SYSBENCH}\n{parts}\n{priced}").report["hosts"]
    assert [host["name"] for host in hosts] == ["database server", "Database server", "node-b"]
    heads = "## Loader\n\n| Part | Value | Notes | Price |\n|--|--|--|--|\n"
    noted = f"{heads}| CPU | 8 cores | fast | $9 |\n| RAM | 32 GB | | $3 |\n"
    assert drafted(tmp_path, f"{SYSBENCH}\n{noted}").report["hosts"][-1]["name"] == "Loader"


def test_a_report_of_pgbench_names_its_load_and_its_system(home: Home) -> None:
    laid_down(home, PGBENCH)
    found = published.load("mine")
    (design,) = found.report.design
    assert (design.load, design.workload, design.fixed) == ("pgbench", "select_only", {"scale": 50, "time_s": 60})
    assert design.options == ["--protocol=prepared", "--jobs=4"]
    assert parameters.defaults("mine")["system"] == "postgresql"


def test_what_a_cell_says_beside_its_figure_is_kept_and_never_taken_for_another(tmp_path: Path) -> None:
    (text,) = drafted(tmp_path, PARTS).tables.values()
    rows = [dict(zip(text.splitlines()[0].split(","), line.split(","), strict=False)) for line in text.splitlines()[1:]]
    assert [row["qps_begin_commit"] for row in rows] == ["", "", "2400"]
    assert [row["qps_replace_printed"] for row in rows] == ["", "", "13.80k"]
    assert [row["tps"] for row in rows] == ["15100", "", "2270"]
    assert [row["p95_ms"] for row in rows] == ["121.08", "0.045", "29"]
    assert "tps is printed as '11.3MB/s'" in rows[1]["note"]


def test_a_document_that_nothing_here_can_run_is_there_to_be_read(home: Home) -> None:
    written = laid_down(home, PARTS)
    assert paths.notebook("mine") not in written
    assert published.load("mine").report.restaged_by is None
    status, said = home.run("check", "mine")
    assert (status, "guesses not confirmed" in said) == (0, True)


def test_a_document_without_measurements_is_refused(home: Home) -> None:
    with pytest.raises(BadInput, match="no table of measurements") as caught:
        laid_down(home, "# A poem\n\nNothing is measured.\n")
    assert "benchbook audit" in str(caught.value.fix)
    assert not paths.published_dir("mine").exists()


def test_a_system_that_stands_in_for_the_document_s_is_said_and_a_kind_beside_a_document_refused(home: Home) -> None:
    command = "sysbench oltp_read_only --tables=10 --table-size=100000 --time=60 --threads=64 run"
    table = "| Threads | TPS |\n|---|---|\n| 16 | 1,702 |\n| 32 | 2,702 |\n"
    source = home.write("doc.md", f"# MySQL 8.0.36 on new machines\n\n```\n{command}\n```\n\n{table}")
    new.create_report("my_mysql", source=str(source))
    (guess,) = [one for one in unconfirmed("my_mysql") if one.key == SYSTEM]
    assert (guess.guess, guess.printed, guess.line, guess.file) == ("mariadb", "MySQL", 1, "notebooks/my_mysql.ipynb")
    assert "MariaDB stands in for MySQL." in paths.notebook("my_mysql").read_text()
    with pytest.raises(BadInput, match="it is read from the document's tables"):
        new.create_report("my_other", "versions", str(source))


PROXIES = """# Proxies

```
sysbench oltp_read_only --threads=xx --time=30 --tables=10 --table_size=1000000 run
```

| Proxy | Threads | qps | avg(ms) |
|--|--|--|--|
| mysql | 4 | 12211.27 | 5.24 |
| gate-2.3 | 4 | 7733.67 | 8.27 |
| mysql | 8 | 23983.90 | 5.33 |
| gate-2.3 | 8 | 14864.06 | 8.61 |
"""


def test_systems_in_a_column_take_the_places_of_versions(home: Home) -> None:
    laid_down(home, PROXIES)
    (design,) = published.load("mine").report.design
    assert list(published.load("mine").tables[design.table].frame["version"].unique()) == ["mysql", "gate-2.3"]
    assert design.fixed == {"time_s": 30, "tables": 10, "table_size": 1_000_000}
    assert parameters.defaults("mine")["systems"] == ["mysql57", "mysql8"]


TOLD = """# PostgreSQL 13 against 18 by pgbench

- **Scale Factor**: 50 (~750MB data)
- **Clients**: 20
- **Threads**: 4
- **Duration**: 5 minutes per test

## Throughput (TPS)

| Test Type | PostgreSQL 13 | PostgreSQL 18 |
|--|--|--|
| standard | 3669.87 | 3520.14 |
| readonly | 35711.27 | 33298.31 |
| prepared | 3352.99 | 3277.25 |
"""


def test_settings_in_words_and_workloads_of_pgbench_in_a_column_are_designs(home: Home) -> None:
    laid_down(home, TOLD)
    designs = published.load("mine").report.design
    assert [(one.workload, one.options) for one in designs] == [
        ("tpcb_like", ["--jobs=4"]),
        ("select_only", ["--jobs=4"]),
        ("tpcb_like", ["--jobs=4", "--protocol=prepared"]),
    ]
    assert {tuple(one.fixed.items()) for one in designs} == {(("threads", 20), ("scale", 50), ("time_s", 300))}
    assert parameters.defaults("mine")["systems"] == ["postgresql", "pgbouncer"]


def test_clients_that_the_command_tells_unlike_the_table_are_a_guess_that_names_both(tmp_path: Path) -> None:
    for threads, guesses in ((16, []), (65, ["8, 16, as in the table; the command has 65"])):
        made = drafted(tmp_path, PGBENCH.replace("-c 32", f"-c {threads}"))
        assert [
            one.guess
            for one in made.guesses
            if one.key.endswith("pgbench_on_postgresql_16_2.threads") and one.sure < 0.5
        ] == guesses


@pytest.mark.parametrize(
    ("table", "key", "said"),
    [
        ("Measured with 90 clients.\n\n| Version | TPS |\n|--|--|\n| 15.6 | 41,200 |\n| 16.2 | 78,310 |",
         "threads", "32, as in the command; the words about the table have 90"),
        ("| Version | TPS (90 clients) |\n|--|--|\n| 15.6 | 41,200 |\n| 16.2 | 78,310 |",
         "threads", "32, as in the command; the words about the table have 90"),
        ("## TPS at 32 clients\n\n| Version | TPS |\n|--|--|\n| 15.6 | 41,200 |\n| 16.2 | 78,310 |", "threads", ""),
        ("| Clients | Scale | TPS |\n|--|--|--|\n| 32 | 200 | 41,200 |\n| 64 | 200 | 78,310 |",
         "scale", "200, as in the table; the command has 50"),
    ],
)  # fmt: skip
def test_what_the_words_or_a_column_tell_unlike_the_command_is_the_least_sure_guess(
    tmp_path: Path, table: str, key: str, said: str
) -> None:
    before, _, _ = PGBENCH.replace("pgbench -h $HOST -U postgres -i -s 50 bench\n", "").partition("| Clients")
    made = drafted(tmp_path, f"{before.replace('-c 32', '-s 50 -c 32')}{table}\n")
    unlike = [(one.guess, one.sure) for one in made.guesses if re.search(rf"^\w+\.{key}$", one.key) and one.sure < 0.4]
    assert len(made.report["design"]) == 1
    assert unlike == ([(said, 0.3)] if said else [])


def test_what_was_run_again_is_no_system(tmp_path: Path) -> None:
    rows = "| Phase | TPS |\n|--|--|\n| Warmup | 3952.08 |\n| Run 1 | 3976.44 |\n"
    made = drafted(tmp_path, f"# pgbench\n\n- Clients: 32\n\n{rows}")
    assert (made.load, next(iter(made.tables.values())).splitlines()[0]) == ("", "phase,tps")


ARMS = """# A proxy

| Clients | Direct TPS | Pooled TPS |
|--|--|--|
| 10 | 4,200 | 3,950 |
| 100 | 18,600 | 21,400 |

At 100 clients, pooled gives 15% more transactions per second than direct.
"""
COLUMN = """# A proxy

| System | Clients | TPS |
|--|--|--|
| Direct | 10 | 4,200 |
| Direct | 100 | 18,600 |
| Pooled | 10 | 3,950 |
| Pooled | 100 | 21,400 |
"""


@pytest.mark.parametrize("text", [ARMS, COLUMN])
def test_systems_of_a_report_are_no_systems_of_a_run(home: Home, text: str) -> None:
    """A level called `system` stood in the place of what ran: nothing of the report's own table was found."""
    laid_down(home, text)
    found = data_package.validate("mine")
    (table,) = found.tables.values()
    assert table.levels == ["server", "threads"]
    known = ledger.load(found)
    assert known
    assert {claim.hypothesis for claim in known.claims} >= {"increases"}


def test_repetitions_that_a_table_prints_are_runs(home: Home) -> None:
    laid_down(
        home,
        "# Runs\n\n| Repetition | Clients | TPS |\n|--|--|--|\n| 1 | 8 | 300 |\n| 2 | 8 | 310 |\n| 1 | 16 | 500 |\n",
    )
    (table,) = data_package.validate("mine").tables.values()
    assert table.levels == ["run", "threads"]


def test_each_test_is_drafted_once_and_only_what_the_words_say(tmp_path: Path) -> None:
    """Three of the sentences are true of the cells at their levels; the others would be tests of other cells."""
    text = """# Two versions

## Update

| Clients | Fern16 TPS | Fern17 TPS | Fern16 p99 (ms) | Fern17 p99 (ms) |
|--:|--:|--:|--:|--:|
| 1 | 1,000 | 1,070 | 1.4 | 1.3 |
| 16 | 10,000 | 11,200 | 2.1 | 1.9 |
| 64 | 20,000 | 24,000 | 4.8 | 3.6 |

Fern16 is faster at every count. Fern17 is slower at every count.
Fern17 is faster at every count. Fern16 is faster than Fern17 at every count.
Fern17 is 12% faster with 16 clients. At 16 clients it leads by 12%. At 64 clients, Fern17 delivers 12% more TPS.
At 64, Fern17 is 7% faster. At 64 clients, Fern17 leads Fern16 by 20%.
Fern16 at 16 clients is 20% slower than Fern17 at 64 clients. Fern17 has 7% lower p99 at every count.
"""
    claims = drafted(tmp_path, text).claims
    assert [(one["hypothesis"], one["statement"]) for one in claims if "over" in one or "above" in one] == [
        ("dominates", "Fern17 is faster at every count."),
        ("ratio", "Fern17 is 12% faster with 16 clients."),
        ("ratio", "At 64 clients, Fern17 leads Fern16 by 20%."),
    ]
