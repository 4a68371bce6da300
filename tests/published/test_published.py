"""The published numbers, asserted one by one as the reports print them, and what broken files say."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from kit import ROOT

from benchbook.analysis.recorded import published_frame
from benchbook.errors import BadInput
from benchbook.published import data_package
from benchbook.published.tables import known_reports, load

REPORTS = [
    "ddt_full_scale",
    "dm_1_0_alpha",
    "dm_1_0_ga",
    "dolt_vs_mysql_sysbench",
    "dtm_mysql",
    "etcd_3_2_performance",
    "pgcat_pgbench",
    "rocksdb_readwhilewriting",
    "tidb_v6_2_vs_v6_1_sysbench",
    "tidb_v7_1_3_sysbench",
    "tidb_v7_1_3_tpcc",
]
DATA = ROOT / "data" / "published"


def rows(report: str, table: str, *columns: str) -> list[tuple]:
    """The rows of a table, None for what is not printed."""
    frame = load(report, DATA).table(table).frame[list(columns)].astype(object)
    return list(frame.where(frame.notna(), None).itertuples(index=False, name=None))


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder of reports that a test may break."""
    for report in ["tidb_v7_1_3_sysbench", "dm_1_0_alpha"]:
        shutil.copytree(DATA / report, tmp_path / report)
    return tmp_path


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def refusal(root: Path, report: str = "tidb_v7_1_3_sysbench") -> str:
    with pytest.raises(BadInput) as caught:
        load(report, root)
    assert "\n" not in str(caught.value)
    assert "Fix: " in str(caught.value)
    return str(caught.value)


def test_the_reports_are_known():
    # Yours may stand beside them.
    assert set(REPORTS) <= set(known_reports(DATA))


@pytest.mark.parametrize("report", REPORTS)
def test_package_is_valid_by_frictionless(report: str):
    assert data_package.validate(report, DATA).report.name == report


def test_tidb_has_these_tables_and_no_others():
    published = load("tidb_v7_1_3_sysbench", DATA)
    workloads = ["point_select", "read_write", "update_non_index", "update_index", "insert"]
    assert list(published.tables) == [f"oltp_{name}" for name in workloads]
    table = published.table("oltp_insert")
    assert (table.levels, table.metrics) == (["threads"], ["tps", "p95_ms"])
    assert table.fixed["workload"] == "oltp_insert"
    assert (table.fixed["tables"], table.fixed["table_size"], table.fixed["time_s"]) == (32, 10_000_000, 1200)
    assert (table.fields["p95_ms"].unit, table.fields["tps"].unit) == ("ms", "1/s")


def test_tidb_text_says_other_threads_than_two_tables():
    published = load("tidb_v7_1_3_sysbench", DATA)
    report = published.report
    assert list(published.tables["oltp_point_select"].frame.threads) == [50, 100, 200]
    assert report.fact("threads").values["threads"] == [100, 200, 400]
    assert "--mysql-ignore-errors=1062,2013,8028,9007" in report.design[0].options
    assert "--auto-inc=false" in report.design[0].options


# As printed. etcd's targets and consistencies go by the names of the loads; RocksDB's tables lie on their sides in the
# page, and what is printed there in microseconds is kept in milliseconds; pgbench printed with and without connecting.
NUMBERS: dict[tuple[str, str, str], list[tuple]] = {
    ("tidb_v7_1_3_sysbench", "oltp_point_select", "threads tps p95_ms"): [
        (50, 35309, 1.93),
        (100, 64853, 2.00),
        (200, 118462, 2.22),
    ],
    ("tidb_v7_1_3_sysbench", "oltp_read_write", "threads tps p95_ms"): [
        (50, 1218, 48.3),
        (100, 2235, 53.9),
        (200, 3380, 87.6),
    ],
    ("tidb_v7_1_3_sysbench", "oltp_update_non_index", "threads tps p95_ms"): [
        (100, 10928, 11.7),
        (200, 19985, 12.8),
        (400, 35621, 14.7),
    ],
    ("tidb_v7_1_3_sysbench", "oltp_update_index", "threads tps p95_ms"): [
        (100, 8854, 14.7),
        (200, 14414, 18.6),
        (400, 21997, 25.3),
    ],
    ("tidb_v7_1_3_sysbench", "oltp_insert", "threads tps p95_ms"): [
        (100, 15575, 8.13),
        (200, 25078, 11.0),
        (400, 38436, 15.6),
    ],
    ("tidb_v7_1_3_tpcc", "tpcc", "threads tpmc"): [(50, 42839), (100, 72895), (200, 97924)],
    ("dolt_vs_mysql_sysbench", "reads", "workload server p50_ms"): [
        ("oltp_point_select", "mysql8", 0.21),
        ("oltp_point_select", "dolt", 0.28),
        ("oltp_read_only", "mysql8", 3.89),
        ("oltp_read_only", "dolt", 5.37),
        ("select_random_points", "mysql8", 0.36),
        ("select_random_points", "dolt", 0.58),
        ("select_random_ranges", "mysql8", 0.39),
        ("select_random_ranges", "dolt", 0.61),
    ],
    ("dolt_vs_mysql_sysbench", "writes", "workload server p50_ms"): [
        ("oltp_insert", "mysql8", 4.18),
        ("oltp_insert", "dolt", 3.25),
        ("oltp_read_write", "mysql8", 9.39),
        ("oltp_read_write", "dolt", 11.87),
        ("oltp_update_index", "mysql8", 4.25),
        ("oltp_update_index", "dolt", 3.3),
        ("oltp_update_non_index", "mysql8", 4.25),
        ("oltp_update_non_index", "dolt", 3.25),
        ("oltp_write_only", "mysql8", 5.28),
        ("oltp_write_only", "dolt", 6.43),
    ],
    ("pgcat_pgbench", "select_only", "server threads tps_connecting tps latency_mean_ms"): [
        ("pgbouncer", 16, 103417.377469, 103510.639935, 0.155),
        ("pgbouncer", 32, 110325.939785, 110386.513435, 0.290),
        ("pgbouncer", 64, 92470.427412, 92618.389350, 0.692),
        ("pgbouncer", 128, 91013.429985, 91067.583928, 1.406),
        ("pgcat", 16, 97705.088232, 97872.216045, 0.164),
        ("pgcat", 32, 111300.488119, 111413.107800, 0.288),
        ("pgcat", 64, 115190.496139, 115247.521295, 0.556),
        ("pgcat", 128, 112770.562239, 112796.502381, 1.135),
        ("postgresql", 16, 139443.955722, 142314.859075, 0.115),
        ("postgresql", 32, 150644.840891, 152218.499430, 0.212),
        ("postgresql", 64, 152517.663404, 153319.188482, 0.420),
        ("postgresql", 128, 149818.594087, 150200.603049, 0.854),
    ],
    ("etcd_3_2_performance", "write", "keys connections threads workload tps latency_mean_ms rss_mb"): [
        (10000, 1, 1, "put_leader", 583, 1.6, 48),
        (100000, 100, 1000, "put_leader", 44341, 22, 124),
        (100000, 100, 1000, "put_all", 50104, 20, 126),
    ],
    ("etcd_3_2_performance", "read", "requests connections threads workload tps latency_mean_ms"): [
        (10000, 1, 1, "range_linearizable", 1353, 0.7),
        (10000, 1, 1, "range_serializable", 2909, 0.3),
        (100000, 100, 1000, "range_linearizable", 141578, 5.5),
        (100000, 100, 1000, "range_serializable", 185758, 2.2),
    ],
    ("rocksdb_readwhilewriting", "hot_keys", "threads tps op_mean_ms p99_ms write_p99_ms l0_stall_s"): [
        (1, 437230, 0.004574, 0.00728, 0.01736, 10.381),
        (8, 523286, 0.017198, 0.03165, 0.04724, 0),
        (16, 437207, 0.038882, 0.07532, 0.09815, 0),
        (32, 444108, 0.074306, 0.32851, 0.53374, 0),
    ],
    ("rocksdb_readwhilewriting", "all_keys", "threads tps op_mean_ms p99_ms write_p99_ms l0_stall_s"): [
        (1, 14338, 0.13946, 0.31469, 0.01581, 0),
        (8, 36234, 0.248375, 0.44856, 0.02251, 0),
        (16, 48749, 0.348658, 0.59198, 0.02919, 0),
        (32, 56384, 0.585189, 2.52482, 0.04045, 0),
    ],
    ("dm_1_0_alpha", "result", "component threads qps tps p95_ms"): [
        ("MySQL", 1024, 15100, 15100, 121.08),
        ("DM", 256, 13890, 13890, 210),
        ("TiDB", None, 18530, 2270, 29),
    ],
    ("dm_1_0_ga", "load_pool_size", "pool_size txn_time_s load_time_s speed_mb_s tidb_p99_s"): [
        (2, 0.250, 425.9, 9.1, 0.23),
        (4, 0.523, 360.1, 10.7, 0.41),
        (8, 0.986, 267.0, 14.5, 0.93),
        (16, 2.022, 265.9, 14.5, 2.68),
        (32, 3.778, 262.3, 14.7, 6.39),
        (64, 7.452, 281.9, 13.7, 8.00),
    ],
    (
        "dm_1_0_ga",
        "load_rows_per_statement",
        "rows_per_statement statement_size txn_time_s load_time_s speed_mb_s tidb_p99_s",
    ): [
        (7426, 1500000, 6.982, 258.3, 15.0, 10.34),
        (4903, 1000000, 3.778, 262.3, 14.7, 6.39),
        (2470, 500000, 1.962, 271.36, 14.3, 2.00),
        (1236, 250000, 1.911, 283.3, 13.7, 1.50),
        (618, 125000, 0.683, 299.9, 12.9, 0.73),
        (310, 62500, 0.413, 322.6, 12.0, 0.49),
    ],
    ("dm_1_0_ga", "sync_worker_count", "worker_count job_tps txn_time_ms tidb_qps tidb_p99_ms"): [
        (4, 7074, 63, 7100, 3),
        (8, 14684, 64, 14900, 4),
        (16, 23486, 56, 24900, 6),
        (32, 23345, 28, 29200, 10),
        (64, 23302, 30, 31200, 16),
        (1024, 22225, 70, 56900, 70),
    ],
    ("dm_1_0_ga", "dump", "table_split dump_threads speed_mb_s"): [
        ("on", 32, 191.03),
        ("off", 4, 72.22),
    ],
    ("dm_1_0_ga", "load", "rows_per_statement data_gb txn_latency_s load_time_s speed_mb_s"): [
        (4878, 38.14, 1.737, 2346.9, 16.64)
    ],
    ("dm_1_0_ga", "sync_distribution", "statement_type relay_mb_s job_tps txn_time_ms tidb_qps tidb_p99_ms"): [
        ("insert_only", 11.3, 23345, 28, 29200, 10),
        ("write_only", 18.7, 33470, 129, 34600, 11),
    ],
    ("dm_1_0_ga", "sync_result", "qps tps relay_mb_s p95_ms p99_ms"): [
        (42790, 42790, None, 1.18, None),
        (None, None, 11.3, 0.045, None),
        (22970, None, None, 20, None),
        (31300, 4160, None, 6.4, 9),
    ],
    ("dtm_mysql", "mysql_write_only", "db_tps ops"): [(2006, 12039)],
    ("dtm_mysql", "saga", "mode sql_per_branch global_tps db_tps ops"): [
        ("no_dtm", 2, 1232, 2464, 4928),
        ("dtm", 0, 935, 1870, 5610),
        ("dtm", 2, 575, 2300, 5750),
        ("dtm_barrier", 2, 531, 2124, 6372),
        ("no_dtm", 10, 551, 1102, 10620),
        ("dtm", 10, 357, 1428, 9282),
        ("dtm_barrier", 10, 341, 1364, 9548),
    ],
}


@pytest.mark.parametrize(("report", "table", "columns"), NUMBERS)
def test_numbers_are_those_that_are_printed(report: str, table: str, columns: str):
    assert rows(report, table, *columns.split()) == NUMBERS[report, table, columns]


def test_statements_of_a_row_are_counted_by_their_kind():
    assert rows("dm_1_0_alpha", "result", "qps_begin_commit", "qps_replace")[2] == (2400, 13800)
    assert rows("dm_1_0_ga", "sync_result", "qps_begin_commit", "qps_insert")[3] == (3930, 22760)


def test_tidb_versions_numbers():
    """As printed: a row per number of threads, v6.1.0 and v6.2.0 side by side, with the improvement of the second.

    The last one is v6.1.0 in the report before, `v6.1.0 vs. v6.0.0`.
    """
    printed = {
        "oltp_point_select": [
            (300, 243530.01, 236885.24, 1.93, 2.07, -2.73, 265353.15),
            (600, 304121.47, 291395.84, 3.68, 4.03, -4.18, 358976.94),
            (900, 327301.23, 314720.02, 5, 5.47, -3.84, 407625.11),
        ],
        "oltp_update_non_index": [
            (300, 42608.8, 42372.82, 11.45, 11.24, -0.55, 42991.9),
            (600, 54264.47, 53672.69, 18.95, 18.95, -1.09, 54099.58),
            (900, 60667.47, 60116.14, 26.2, 26.68, -0.91, 62084.65),
        ],
        "oltp_update_index": [
            (300, 19384.75, 19353.58, 23.52, 23.52, -0.16, 19198.89),
            (600, 24144.78, 24007.57, 38.25, 37.56, -0.57, 22877.58),
            (900, 26770.9, 26589.84, 51.94, 52.89, -0.68, 26431.12),
        ],
        "oltp_read_write": [
            (300, 4849.67, 4797.59, 86, 84.47, -1.07, 4914.11),
            (600, 5643.89, 5565.17, 161.51, 161.51, -1.39, 5848.09),
            (900, 5954.91, 5885.22, 235.74, 235.74, -1.17, 6223.95),
        ],
    }
    columns = ("version", "threads", "tps", "p95_ms", "tps_improvement_percent", "tps_in_the_report_before")
    for table, lines in printed.items():
        older = [("v6.1.0", threads, tps, p95, None, before) for threads, tps, _, p95, _, _, before in lines]
        newer = [("v6.2.0", threads, tps, p95, more, None) for threads, _, tps, _, p95, more, _ in lines]
        assert rows("tidb_v6_2_vs_v6_1_sysbench", table, *columns) == [*older, *newer]


DDT = {
    32: [(5, 15, 145062, 13631, 400), (6, 20, 160837, 16384, 440), (6, 24, 155232, 15860, 440)],
    48: [
        (5, 15, 315702, 31326, 400),
        (6, 20, 340716, 24773, 800),
        (6, 24, 367178, 23986, 880),
        (8, 24, 371528, 27132, 1120),
    ],
    64: [
        (5, 15, 370042, 25159, 812),
        (6, 20, 390000, 26522, 1080),
        (6, 24, 400138, 26655, 1160),
        (8, 24, 360209, 25252, 1120),
    ],
}


@pytest.mark.parametrize("cache", DDT)
def test_ddt_numbers(cache: int):
    columns = ("source_threads", "target_threads", "qps", "memory_mb", "cpu_percent")
    assert rows("ddt_full_scale", f"cache_{cache}", *columns) == DDT[cache]
    single = rows("ddt_full_scale", "single_tests", "cache_bucket_size", *columns)
    assert [row[1:] for row in single if row[0] == cache] == DDT[cache]


def test_value():
    published = load("tidb_v7_1_3_sysbench", DATA)
    table = published.table("oltp_insert")
    assert table.value("tps", threads=100) == 15575
    assert table.value("tps", threads=100, workload="oltp_insert") == 15575
    assert table.value("tps", threads=100, workload="oltp_read_write") is None
    assert table.value("tps", threads=50) is None
    with pytest.raises(BadInput, match="tps, p95_ms"):
        table.value("qps", threads=100)
    with pytest.raises(BadInput, match="unknown level"):
        table.value("tps", thread=100)
    with pytest.raises(BadInput, match="several rows"):
        table.value("tps")
    with pytest.raises(BadInput, match="oltp_point_select"):
        published.table("oltp_selects")
    assert load("dm_1_0_alpha", DATA).table("result").value("qps_replace", component="DM") is None


def test_the_frame_has_every_printed_number_once():
    frame = published_frame(load("tidb_v7_1_3_sysbench", DATA))
    assert len(frame) == 30
    cell = frame.query("workload == 'oltp_update_index' and threads == 400 and metric == 'p95_ms'")
    assert cell[["unit", "value", "printed"]].to_numpy().tolist() == [["ms", 25.3, "25.3"]]


def test_the_frame_leaves_out_what_is_not_printed():
    frame = published_frame(load("dm_1_0_alpha", DATA))
    assert len(frame) == 11
    assert frame["value"].notna().all()
    assert pd.isna(frame.query("component == 'TiDB'")["threads"].iloc[0])


def test_dtypes():
    frame = load("dm_1_0_alpha", DATA).table("result").frame
    assert [str(frame[name].dtype) for name in ["threads", "qps", "note"]] == ["Int64", "float64", "string"]
    assert str(load("tidb_v7_1_3_sysbench", DATA).table("oltp_insert").frame["threads"].dtype) == "int64"


def test_unknown_report_lists_the_known():
    with pytest.raises(BadInput, match="dm_1_0_alpha, dm_1_0_ga") as caught:
        load("tidb_v9", DATA)
    assert caught.value.exit_status == 2
    with pytest.raises(BadInput, match="folder per report"):
        load("tidb_v9", DATA / "nowhere")


INSERT, OTHERS = "tidb_v7_1_3_sysbench/oltp_insert.csv", "tidb_v7_1_3_sysbench/report.yaml"
# A file, what is replaced in it by what, and what is said of it.
REFUSED = [
    (INSERT, "25078", "25O78", "oltp_insert.csv: row 3, tps: is not of type number (got '25O78')"),
    *((INSERT, "25078", text, "row 3, tps: is not of type number") for text in ("nan", "1e5", "1_000", "13.89k", " 7")),
    (INSERT, "\n400,", "\n200,", "row 4, threads: a second row with the same key (got (200,))"),
    (INSERT, "threads,tps,p95_ms", "threads,tps,p96_ms", "row 1, p95_ms: a column is missing"),
    (INSERT, "threads,tps,p95_ms", "tps,threads,p95_ms", "the columns are not those of the schema"),
    (INSERT, "200,25078,11.0", "200,25078", "row 3: wrong number of cells (got 2)"),
    ("dm_1_0_alpha/result.csv", "DM,256,13890", "DM,256,13980",
     "row 3, qps: stored and printed number differ (got '13980')"),
    ("dm_1_0_alpha/datapackage.json", '"name": "dm_1_0_alpha",', '"name": "dm_1_0_alpha"',
     "datapackage.json: line 3, column 3: is not JSON"),
    (OTHERS, "language: en", "language: [en", "report.yaml: line 12, column 8: malformed YAML"),
    (OTHERS, "nodes: 2", "node: 2", "report.yaml: line 13, systems.0.node: there is no such key (got 2)"),
    (OTHERS, "nodes: 2", "nodes: two", "report.yaml: line 13, systems.0.nodes: Input should be a valid integer"),
    (OTHERS, "language: en\n", "", "language: Field required"),
    (OTHERS, "title: TiDB", "language: de\ntitle: TiDB", "the key 'language' stands twice"),
    (OTHERS, "table: oltp_point_select\n", "table: oltp_point_selects\n",
     "the design names an unknown table (got 'oltp_point_selects')"),
    (OTHERS, "- name: oltp_insert\n", "- name: oltp_read_write\n",
     "design: two designs have this name (got 'oltp_read_write')"),
    (OTHERS, 'prefill_for_recycle: "false"', 'prefill_for_recycle: "true"',
     "design.oltp_point_select.fixed.prefill_for_recycle: design and table differ (got 'true'). Fix: "
     "datapackage.json says false of table oltp_point_select"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "said"), REFUSED)
def test_a_slip_is_refused_in_one_paragraph(copy: Path, file: str, old: str, new: str, said: str):
    replace(copy / file, old, new)
    assert said in refusal(copy, file.partition("/")[0])


@pytest.mark.parametrize(("old", "new", "said"), [("25078", "25O78", "25O78"), ("\n400,", "\n200,", "primary")])
def test_the_reference_implementation_refuses_it_as_well(copy: Path, old: str, new: str, said: str):
    replace(copy / INSERT, old, new)
    with pytest.raises(BadInput, match=said):
        data_package.check(copy / "tidb_v7_1_3_sysbench" / "datapackage.json")


@pytest.mark.parametrize(
    ("column", "name", "said"),
    [
        (
            {"type": "string", "constraints": {"minimum": 1}},
            "t",
            'constraint "minimum" is not supported by type "string"',
        ),
        ({"type": "string", "constraints": {"pattern": "("}}, "t", "a pattern is no regular expression: missing )"),
        ({"type": "strng"}, "t", 'field type "strng" is not supported'),
        ({"type": "string"}, "A B", "'A B' is not of lower-case letters, digits and -._/"),
    ],
)
def test_the_reason_of_frictionless_is_said(tmp_path: Path, column: dict[str, Any], name: str, said: str):
    (tmp_path / "t.csv").write_text("a\nx\n")
    table = {"name": name, "path": "t.csv", "schema": {"fields": [{"name": "a", **column}]}}
    descriptor = tmp_path / "datapackage.json"
    descriptor.write_text(json.dumps({"name": "p", "resources": [table]}))
    with pytest.raises(BadInput, match=re.escape(said)):
        data_package.check(descriptor)


@pytest.mark.parametrize("name", ["oltp_insert.csv", "datapackage.json", "report.yaml"])
def test_missing_file(copy: Path, name: str):
    (copy / "tidb_v7_1_3_sysbench" / name).unlink()
    said = refusal(copy)
    assert name in said
    assert "not exist" in said


@pytest.mark.parametrize("left", ["threads / tsp", "threads /", "__import__('os').getcwd()", "tps[0]"])
def test_identities_are_arithmetic_over_columns(copy: Path, left: str):
    file = copy / "tidb_v7_1_3_sysbench" / "datapackage.json"
    package = json.loads(file.read_text())
    package["resources"][0]["identities"][0]["left"] = left
    file.write_text(json.dumps(package))
    assert "oltp_point_select.mean_below_p95: " in refusal(copy)


def test_folder_and_names_agree(copy: Path):
    (copy / "dm_1_0_alpha").rename(copy / "mine")
    assert "name: is not the folder's name (got 'dm_1_0_alpha')" in refusal(copy, "mine")


def test_what_every_table_has_is_written_once(copy: Path) -> None:
    """The tables of the TiDB report, with the schema of all and what is fixed in all under `defaults`."""
    before = load("tidb_v7_1_3_sysbench", copy)
    file = copy / "tidb_v7_1_3_sysbench" / "datapackage.json"
    held = json.loads(file.read_text())
    schema = held["resources"][0]["schema"]
    held["defaults"] = {"schema": schema, "fixed": {"tables": 32, "table_size": 10000000, "time_s": 1200}}
    for table in held["resources"]:
        # Fewer statements are counted by the others; only their own schema says how many.
        if table["schema"] == schema:
            del table["schema"]
        del table["path"]
        for name in held["defaults"]["fixed"]:
            del table["fixed"][name]
    file.write_text(json.dumps(held))
    after = data_package.validate("tidb_v7_1_3_sysbench", copy)
    assert {id: table.fixed for id, table in after.tables.items()} == {i: t.fixed for i, t in before.tables.items()}
    assert {id: table.meta for id, table in after.tables.items()} == {i: t.meta for i, t in before.tables.items()}


def test_what_is_fixed_in_every_table_is_a_mapping_also_where_each_has_its_own(copy: Path) -> None:
    file = copy / "tidb_v7_1_3_sysbench" / "datapackage.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"defaults": {"fixed": ["threads"]}}))
    assert "resources.0.fixed: " in refusal(copy)


@pytest.mark.parametrize("level", ["system", "repetition"])
def test_a_level_has_no_name_that_every_frame_has(copy: Path, level: str) -> None:
    folder = copy / "tidb_v7_1_3_sysbench"
    for file in (folder / "datapackage.json", *folder.glob("*.csv")):
        file.write_text(file.read_text().replace("threads", level))
    assert f"schema.primaryKey: every frame has a column of this name, of what ran here (got '{level}')" in refusal(
        copy
    )


def test_a_design_is_what_its_table_says_where_it_leaves_that_out(copy: Path) -> None:
    before = load("tidb_v7_1_3_sysbench", copy)
    file = copy / "tidb_v7_1_3_sysbench" / "report.yaml"
    head = file.read_text().partition("\ndesign:")[0]
    options = before.report.design[0].options
    designs = "".join(f"  - {{name: {each.name}}}\n" for each in before.report.design)
    file.write_text(f"{head}\noptions: {json.dumps(options)}\ndesign:\n{designs}")
    assert load("tidb_v7_1_3_sysbench", copy).report.design == before.report.design
