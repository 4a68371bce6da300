"""DM's reports as cells, summaries, lag and tables: each against figures worked out by hand."""

from __future__ import annotations

import pandas as pd
import pytest
import tabled
from kit import FIXTURES
from scraped import long_table

from benchbook import published
from benchbook.analysis.beside import in_rows
from benchbook.campaign import design
from benchbook.campaign.design import Cell, Trial, plan
from benchbook.campaign.record import Quantity, Record
from benchbook.claims import ledger, undecided
from benchbook.errors import BadInput
from benchbook.hosts.agent import Ended
from benchbook.hosts.endpoint import Endpoint
from benchbook.hosts.inventory import load_inventory
from benchbook.probes.watch import Watched
from benchbook.profiles import DmSize, load_profile
from benchbook.published.tables import Published
from benchbook.reports.dm import dm_kind, dm_summary
from benchbook.reports.dm import task as task_module
from benchbook.reports.dm.dm_kind import DmParameters
from benchbook.reports.dm.outcome import DmOutcome
from benchbook.reports.kind import RunRequest
from benchbook.systems.dm_config import Task
from benchbook.workloads.sysbench import options_of

GA, ALPHA = published.load("dm_1_0_ga"), published.load("dm_1_0_alpha")


def parameters(**said: object) -> DmParameters:
    return DmParameters.model_validate({"inventory": "lab_dm_ga", **said})


def trial(table: str, **levels: str | int) -> Trial:
    return Trial(id="t", identity="i", cell=Cell(table=table, system="dm", levels=levels), repetition=1, order=0)


def unit(figure: str) -> str:
    known = {"_mb_s": "MB/s", "_gb": "GB", "_ms": "ms", "_s": "s", "rows_per_statement": "rows", "job_tps": "1/s"}
    return next((unit for end, unit in known.items() if figure.endswith(end)), "1/s" if "ps" in figure else "1")


def record(table: str, levels: dict[str, str | int], **figures: float) -> Record:
    summary = {name: Quantity(value=value, unit=unit(name)) for name, value in figures.items()}
    return Record(
        id=f"r01-{table}-{len(levels)}", identity="i", status="done", report="dm_1_0_ga", campaign="c", table=table,
        system="dm", levels=levels, repetition=1, order=0, asked={}, started=1.0, ended=2.0, summary=summary,
    )  # fmt: skip


# -- cells ----------------------------------------------------------------------------------------------------------


def test_a_cell_for_each_published_row_and_one_for_the_components_of_a_run() -> None:
    counts = pd.Series([cell.table for cell in dm_kind.DmKind().cells(GA, parameters())]).value_counts().to_dict()
    assert counts == {"dump": 2, "load": 1, "load_pool_size": 6, "load_rows_per_statement": 6, "sync_result": 1,
                      "sync_worker_count": 6, "sync_distribution": 2}  # fmt: skip
    (alpha,) = dm_kind.DmKind().cells(ALPHA, parameters())
    assert alpha.levels | {"threads": 1024, "worker_count": 256, "batch": 100} == alpha.levels


def test_every_trial_has_a_name_of_its_own() -> None:
    trials = design.plan(dm_kind.DmKind().cells(GA, parameters()), 2, seed=1, asked={})
    assert len({t.id for t in trials}) == len(trials) == 48


def test_an_unknown_table_is_refused() -> None:
    with pytest.raises(BadInput, match="unknown table"):
        dm_kind.DmKind().cells(GA, parameters(tables=["sync_results"]))


@pytest.mark.parametrize("name", ["lab_dm_ga", "lab_dm_alpha"])
def test_the_inventories_have_every_role_once(name: str) -> None:
    report = GA if name == "lab_dm_ga" else ALPHA
    made = dm_kind.DmKind().experiment(
        RunRequest(dm_kind.DmKind(), report, parameters(inventory=name), load_profile("smoke"), load_inventory(name))
    )
    assert made.databases.tables == (4 if report is GA else 2)
    assert options_of(made.generator.options) == {}


@pytest.mark.parametrize(("server", "port"), [("dm-master", 8261), ("dm-worker", 8262)])
def test_a_server_of_dm_has_not_the_port_of_sshd_even_where_nobody_names_its_own(server: str, port: int) -> None:
    lab = load_inventory("lab_dm_ga")
    named = {name: each for name, each in lab.systems.items() if name != server}
    lab = lab.model_copy(update={"systems": named, "ssh": lab.ssh.model_copy(update={"port": port})})
    with pytest.raises(BadInput, match=f"systems.{server}.port: {server} and the sshd of host dm39 .*got {port}"):
        RunRequest(dm_kind.DmKind(), GA, parameters(), load_profile("smoke"), lab).experiment()


# -- tasks ----------------------------------------------------------------------------------------------------------


def task(
    of: Trial, split_rows: int = 1000, statement_size: int = 0
) -> tuple[str, str, int | None, int | None, int, int]:
    where = task_module.databases(list(GA.tables), DmSize(), 4)
    account = Endpoint("127.0.0.1", 4000, "root", "x")
    t = task_module.task_of(
        of, where, DmSize(split_rows=split_rows, statement_size=statement_size), "/dm", account, "mydumper"
    )
    return t.mode, t.database, t.rows, t.statement_size, t.pool_size, t.worker_count


def test_tasks_follow_the_levels() -> None:
    assert task(trial("dump", table_split="off", dump_threads=4))[:3] == ("full", "dm_large", None)
    assert task(trial("dump", table_split="on", dump_threads=32))[2] == 1000
    assert task(trial("dump", table_split="on", dump_threads=32), 0)[2] == 320_000
    assert task(trial("load_pool_size", pool_size=64))[:5] == ("full", "dm_small", 1000, 1_000_000, 64)
    assert task(trial("load_pool_size", pool_size=64), 1250, 20_000)[2:4] == (1250, 20_000)
    assert task(trial("load_rows_per_statement", statement_size=62_500), 1250, 20_000)[3] == 62_500
    # A chunk must hold several statements, or its end decides their size.
    by_size = task(trial("load_rows_per_statement", statement_size=62_500, pool_size=32))
    assert by_size[2:5] == (320_000, 62_500, 32)
    assert task(trial("sync_worker_count", worker_count=1024, batch=100))[::5] == ("all", 1024)


def test_only_the_databases_that_are_needed_are_prepared() -> None:
    assert task_module.databases(["sync_result"], DmSize(), 4).kept == {}
    assert task_module.databases(["load", "load_pool_size"], DmSize(large_rows=7, small_rows=3), 4).kept == {
        "dm_large": 7, "dm_small": 3,
    }  # fmt: skip


# -- summaries ------------------------------------------------------------------------------------------------------


def scrapes(source: str, rows: list[tuple[float, str, dict[str, str], float]]) -> pd.DataFrame:
    found = [(t, source, metric, tuple(sorted(labels.items())), value) for t, metric, labels, value in rows]
    return pd.DataFrame(found, columns=["t", "source", "metric", "labels", "value"])


def jobs(*values: float) -> list[tuple[float, str, dict[str, str], float]]:
    kinds = {"queueNo": "q_0", "type": "insert"}
    return [(10.0 + i, dm_summary.JOBS, kinds, value) for i, value in enumerate(values)]


def test_a_rate_counts_from_the_loads_begin_to_the_end_of_the_growth() -> None:
    frame = scrapes("dm", [*jobs(0, 100, 300, 300), (10.0, dm_summary.JOBS, {"type": "flush"}, 5.0)])
    # 300 row jobs; the last growth was seen at 12, the load began at 10: 150/s, though it was watched for 3 s.
    assert dm_summary.per_second(frame, 10.0, dm_summary.JOBS, **dm_summary.ROWS) == 150.0
    # At 200/s the last 50 jobs take a quarter of their second.
    slower = scrapes("dm", jobs(0, 200, 250, 250))
    assert dm_summary.per_second(slower, 10.0, dm_summary.JOBS, **dm_summary.ROWS) == 200.0
    # The interval before the last one began before this load did: its rate is not that of the load.
    assert dm_summary.per_second(slower, 11.5, dm_summary.JOBS, **dm_summary.ROWS) == 500.0
    assert dm_summary.grown(frame, dm_summary.JOBS, **dm_summary.ROWS) == 300.0
    assert dm_summary.grown(frame, "dm_relay_write_size_sum") == 0.0


LOAD = {"qps": 1.0, "tps": 1.0, "p95_ms": 1.0, "events": 1.0, "ignored_errors": 0.0}
NO_LAG = pd.DataFrame({"rows": [0.0], "seconds": [0.0]})


def test_what_tidb_executed_is_divided_by_the_seconds_of_the_jobs_that_it_was_asked_for() -> None:
    """300 row jobs in the 2 s after 10: 150/s, and as many REPLACE, whose end TiDB's scrapes show sooner.

    40 INSERT are the last of the load before; over the second in which they were seen they were 40/s.
    """
    by_type = "tidb_executor_statement_total"
    executed = {"Insert": (0, 40, 40, 40), "Replace": (0, 200, 300, 300)}
    tidb = scrapes(
        "tidb", [(10.0 + i, by_type, {"type": t}, v) for t, seen in executed.items() for i, v in enumerate(seen)]
    )
    dm = scrapes("dm", jobs(0, 100, 300, 300))
    found = dm_summary.of_sync(dm, tidb, LOAD, NO_LAG, began=10.0, ended=11.0)
    rates = [found[name].value for name in ("job_tps", "tidb_qps_replace", "tidb_qps_insert", "tidb_qps_delete")]
    assert rates == [150.0, 150.0, 20.0, 0.0]


@pytest.mark.parametrize(("ended", "catch_up_s"), [(11.0, 0.25), (11.5, 0.0)])
def test_a_target_has_caught_up_when_its_last_jobs_are_done_and_not_at_the_next_scrape(
    ended: float, catch_up_s: float
) -> None:
    """200 jobs in the second before 11, then the last 50: at that rate they were done at 11.25, and seen at 12."""
    dm, tidb = scrapes("dm", jobs(0, 200, 250, 250)), scrapes("tidb", [(10.0, "tidb_server_query_total", {}, 0.0)])
    found = dm_summary.of_sync(dm, tidb, LOAD, NO_LAG, began=10.0, ended=ended)
    assert found["catch_up_s"].value == catch_up_s


@pytest.mark.parametrize(
    ("changed", "done", "began", "rows", "seconds"),
    [
        # At 11 s it has 50 rows, which upstream had at 10.5 s; at 12 s it has 150: 11.5 s.
        ([100, 100, 100], (0, 50, 150, 300), 10.0, [50, 50, 0], [0.5, 0.5, 0]),
        # A target that has nothing yet lags since the first change.
        ([0, 0, 100], (0, 0, 0, 0), 12.0, [0, 0, 100], [0, 0, 1]),
        # The upstream's sample at 12 saw 100 rows, all of them since the load began at 11.75: none lags since before.
        # At 13 s it has 50 of them, which upstream had half-way from 11.75 s to 12 s.
        ([0, 100, 100], (0, 0, 0, 50), 11.75, [0, 100, 150], [0, 0.25, 1.125]),
    ],
)
def test_lag_in_rows_and_in_seconds(
    changed: list[float], done: tuple[float, ...], began: float, rows: list[float], seconds: list[float]
) -> None:
    """Upstream: rows changed in each of the seconds before 11, 12 and 13. Applied by 10, 11, 12, 13 s: `done`."""
    mysql = pd.DataFrame({"t": [11.0, 12.0, 13.0], "metric": "Com_insert", "value": map(float, changed)})
    lag = dm_summary.lag(scrapes("dm", jobs(*done)), mysql, began=began)
    assert lag.t.tolist() == [11.0, 12.0, 13.0]
    assert (lag["rows"].tolist(), lag["seconds"].tolist()) == (rows, seconds)


def updated(added: list[int], read: list[int], done: list[list[int]]) -> pd.DataFrame:
    """Scrapes of DM a second from 10 on: 10 rows inserted a second, and updates that two queues have done."""
    lines = []
    for i, t in enumerate(range(10, 10 + len(read))):
        sums = {"added_jobs_total": [added[i]], "finished_jobs_total": [each[i] for each in done]}
        jobs_of = {f'dm_syncer_{name}{{queueNo="q_{n}",task="benchbook",type="update"}}': value
                   for name, values in sums.items() for n, value in enumerate(values)}  # fmt: skip
        inserted = {'dm_syncer_finished_jobs_total{queueNo="q_0",task="benchbook",type="insert"}': 10 * i}
        events = {'dm_syncer_binlog_transform_cost_count{task="benchbook",type="update_rows"}': read[i]}
        lines.append({"t": t, "source": "dm", "v": {**jobs_of, **inserted, **events}})
        lines.append({"t": t, "source": "tidb", "v": {"process_cpu_seconds_total": 1.0}})
    return long_table(lines)


def synced(scraped: pd.DataFrame, updates: list[float]) -> dict[str, float]:
    """A sync under a load from 10 s on: upstream, in the second before 11, 12, ...: so many updates, and 10 inserts."""
    rows = [
        (11.0 + i, "s", "mysql", metric, rate, "1/s")
        for i, each in enumerate(updates)
        for metric, rate in (("Com_update", each), ("Com_insert", 10.0))
    ]
    series = pd.DataFrame(rows, columns=["t", "host", "source", "metric", "value", "unit"])
    account = Endpoint("127.0.0.1", 4000, "root", "secret")
    task, hosts = Task(mode="all", database="d", target=account, folder="/dm"), {"client": "c", "dm": "w", "tidb": "t"}
    ran = DmOutcome(task, hosts, 10.0, 14.0, Watched(series=pd.concat([series, scraped])))
    # It says itself that it took 3.8619 s.
    printed, load = (FIXTURES / "sysbench" / "read_write.txt").read_text(), Ended("exited", 0, None, 9.9, 13.8619)
    summary = ran.sync(command="sysbench", load=load, printed=printed).summary
    return {name: figure.value for name, figure in summary.items()}


def test_an_update_that_safe_mode_makes_two_jobs_of_is_one_row() -> None:
    """Upstream 110 rows by 11 s, 220 by 12; DM made 400 jobs of 200 updates, and had done 100, 300, 400 of them.

    With its inserts these are 60, 170 and 230 rows: 50 behind at 11 s and at 12 s, none at 13 s.
    """
    done = [[0, 60, 100, 150], [0, 40, 200, 250]]
    found = synced(updated([0, 200, 400, 400], [0, 100, 200, 200], done), [100.0, 100.0, 0.0])
    assert (found["jobs"], found["lag_max_rows"], found["lag_max_s"]) == (230.0, 50.0, pytest.approx(50 / 110))
    # 230 rows; the last 60 at the 110/s of the second before.
    assert found["job_tps"] == pytest.approx(230 / (2 + 60 / 110))


def test_what_the_upstream_rolled_back_is_no_lag() -> None:
    """It counted 130, 260 and 270 statements, of which 230 were applied in the end: of the 221.5 by 12 s 170 were."""
    done = [[0, 60, 100, 150], [0, 40, 200, 250]]
    found = synced(updated([0, 200, 400, 400], [0, 100, 200, 200], done), [120.0, 120.0, 0.0])
    assert found["lag_max_rows"] == pytest.approx(260 * 230 / 270 - 170)


def test_an_update_is_one_job_again_when_safe_mode_is_over() -> None:
    """Of 100 updates DM made 200 jobs, of the 200 after them 200: 400 jobs are 300 rows."""
    done = [[0, 100, 300, 400]]
    found = synced(updated([0, 200, 300, 400], [0, 100, 200, 300], done), [100.0, 100.0, 100.0])
    assert (found["jobs"], found["lag_max_rows"]) == (330.0, 50.0)


def test_dump_and_load_speeds_are_of_the_data_files_in_mebibytes() -> None:
    empty = scrapes("dm", [])
    found = dm_summary.of_full(empty, empty, dump_s=0.5, load_s=4.0, load_bytes=8 * 2**20, rows_per_statement=4878.0)
    assert found["dump_mb_s"].value == 16.0
    assert found["load_mb_s"].value == 2.0
    assert found["data_gb"].value == 8 / 1024
    assert "txn_time_s" not in found, "what was not observed is no zero"


# -- tables ---------------------------------------------------------------------------------------------------------


def beside(report: Published, *records: Record) -> pd.DataFrame:
    cells = [Cell(table=one.table, system=one.system, levels=one.levels) for one in records]
    return tabled.beside(dm_kind.DmKind(), report, records, plan(cells, 1, seed=1, asked={}))


def cell(found: pd.DataFrame, table: str, metric: str, **levels: object) -> tuple[float | None, float | None]:
    chosen = (found.table == table) & (found.metric == metric)
    for name, value in levels.items():
        chosen &= found[name].astype(object) == value
    (row,) = in_rows(found[chosen])
    return row.get("published"), row.get("measured")


def test_outcomes_that_the_report_has_as_levels_are_measured() -> None:
    mine = [record("load", {"item": "load data", "pool_size": 16}, rows_per_statement=900, load_mb_s=3.0, data_gb=0.5)]
    found = beside(GA, *mine)
    assert cell(found, "load", "rows_per_statement") == (4878, 900)
    assert cell(found, "load", "data_gb") == (38.14, 0.5)
    assert cell(found, "load", "speed_mb_s") == (16.64, 3.0)
    by_size = [record("load_rows_per_statement", {"statement_size": 62_500, "pool_size": 32}, rows_per_statement=309)]
    found = beside(GA, *by_size)
    assert cell(found, "load_rows_per_statement", "rows_per_statement", statement_size=62_500) == (310, 309)


def test_components_of_one_run_are_the_rows_of_a_table() -> None:
    figures = {"mysql_qps": 9.0, "relay_mb_s": 2.0, "dm_qps": 8.0, "tidb_qps_insert": 7.0, "tidb_p99_ms": 5.0}
    found = beside(GA, record("sync_result", {"worker_count": 32}, **figures))
    assert cell(found, "sync_result", "qps", component="MySQL") == (42_790, 9.0)
    assert cell(found, "sync_result", "relay_mb_s", component="DM relay log unit") == (11.3, 2.0)
    assert cell(found, "sync_result", "qps", component="DM binlog replication unit") == (22_970, 8.0)
    assert cell(found, "sync_result", "qps_insert", component="TiDB") == (22_760, 7.0)
    assert cell(found, "sync_result", "p99_ms", component="TiDB") == (9, 5.0)


def test_alphas_components_though_tidb_has_no_threads() -> None:
    figures = {"mysql_tps": 9.0, "dm_qps": 8.0, "job_tps": 8.5, "tidb_qps_replace": 7.0}
    found = beside(ALPHA, record("result", {"worker_count": 256}, **figures))
    assert cell(found, "result", "tps", component="MySQL", threads=1024) == (15_100, 9.0)
    assert cell(found, "result", "tps", component="DM", threads=256) == (13_890, 8.5)
    assert cell(found, "result", "qps_replace", component="TiDB") == (13_800, 7.0)


def test_factors_that_were_separated_stand_below_the_printed_rows() -> None:
    found = beside(GA, record("dump", {"table_split": "on", "dump_threads": 4}, dump_mb_s=6.0))
    assert cell(found, "dump", "speed_mb_s", table_split="on", dump_threads=4) == (None, 6.0)
    assert cell(found, "dump", "speed_mb_s", table_split="on", dump_threads=32) == (191.03, None)


# -- repetitions ----------------------------------------------------------------------------------------------------


def test_what_decides_no_claim_of_dm_1_0_ga_at_the_sizes_of_smoke() -> None:
    """Dumps and loads of so few rows, syncs of 2 s, few workers at a held rate; and a load that no claim speaks of."""
    kind, asked = dm_kind.DmKind(), parameters()
    sizes = RunRequest(kind, GA, asked, load_profile("smoke"), load_inventory("lab_dm_ga")).asked()
    found = undecided.unjudged(ledger.load(GA), kind.cells(GA, asked), sizes, GA, None)
    tables = ["dump", "load", "load_pool_size", "sync_result", "sync_worker_count"]
    assert sorted({cell.table for cell in found}) == tables
    assert sorted(c.levels["worker_count"] for c in found if c.table == "sync_worker_count") == [4, 8]
    assert len(found) == 12
    unheld = {**sizes, "ladder_rate": 0, "time_s": 30, "large_rows": 500_000, "small_rows": 50_000}
    assert {c.table for c in undecided.unjudged(ledger.load(GA), kind.cells(GA, asked), unheld, GA, None)} == {"load"}
    assert undecided.unjudged(None, kind.cells(GA, asked), sizes, GA, None) == [], "nothing is judged without a ledger"


def test_a_pool_that_has_fewer_files_than_threads_is_not_judged() -> None:
    """The lab profile loads 4 tables of 50,000 rows in chunks of 6,250: 32 files for 32 threads or 64."""
    held, kind = ledger.load(GA), dm_kind.DmKind()
    assert held is not None
    about_64 = [
        claim for claim in held.claims if claim.id in ("load-falls-at-64", "load-transaction-time-proportional")
    ]
    for profile, judged in (("smoke", False), ("lab", False), ("paper", True)):
        sizes = RunRequest(kind, GA, parameters(), load_profile(profile), load_inventory("lab_dm_ga")).asked()
        assert [claim.unrun("mysql57", sizes) is None for claim in about_64] == [judged, judged], profile
