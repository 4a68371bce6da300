"""What the audit must find in the five reports, typed by hand from the reports, with the arithmetic."""

from __future__ import annotations

from functools import cache

import pytest
from kit import ROOT

from benchbook.audit.findings import Audit, counted
from benchbook.audit.report_audit import audit
from benchbook.documents.findings import Finding
from benchbook.published.tables import load

DATA = ROOT / "data" / "published"


@cache
def audited(report: str) -> Audit:
    return audit(load(report, DATA))


def the(report: str, id: str) -> Finding:
    found = {finding.id: finding for finding in audited(report).findings}
    assert id in found, sorted(found)
    return found[id]


def about(finding: Finding) -> tuple[str, str]:
    return finding.kind, finding.severity


# -- every finding, so that one more or one less is noticed -----------------------------------------------------------

IDS = {
    "tidb_v7_1_3_sysbench": [
        "oltp_point_select.threads.threads", "oltp_read_write.threads.threads", "text.rows_imported", "meaning.tps",
    ],
    "dm_1_0_alpha": ["text.data_flow.MySQL.DM-worker", "options.sysbench"],
    "dm_1_0_ga": [
        "sync_worker_count.workers_carry_jobs", "text.sync_run_command.172.17.4.40",
        "load_pool_size.volume_over_time.truncated", "load_rows_per_statement.volume_over_time.truncated",
        # True: 271.36 s has two decimals where the other five load times of the table have one.
        "load_rows_per_statement.load_time_s.digits",
        "load_pool_size.row5.same_as.load_rows_per_statement.row2",
        "sync_worker_count.row4.same_as.sync_distribution.row1", "options.sysbench",
    ],
    "ddt_full_scale": [
        "version.MongoDB_source", "single_tests.cache_explains_memory", "single_tests.memory_with_settings.48.1",
        "single_tests.cpu_with_throughput.32.1.48.1", "text.averaging_window",
        "single_tests.cache_bucket_num.missing", "single_tests.data_batch_size.missing",
        "single_tests.document_size.wording",
    ],
    # True: 3.3 has one decimal where the other nine have two. (A zero at the end is not printed there.)
    "dolt_vs_mysql_sysbench": ["writes.p50_ms.digits"],
    "dtm_mysql": ["saga.sql_per_global"],
    "etcd_3_2_performance": [
        "write.keys_written", "write.light_load", "read.clients_busy", "read.lasts_a_second",
    ],
    "rocksdb_readwhilewriting": [
        "hot_keys.readers.threads", "all_keys.readers.threads", "hot_keys.command.threads",
        "hot_keys.time_of_a_read", "all_keys.time_of_a_read",
        "hot_keys.more_readers_read_more.8", "hot_keys.more_readers_read_more.1",
    ],
}  # fmt: skip


@pytest.mark.parametrize("report", IDS)
def test_these_findings_and_no_others_gravest_first(report: str) -> None:
    found = audited(report).findings
    assert [finding.id for finding in found] == IDS[report]
    order = ["contradiction", "suspicious", "note"]
    assert [f.severity for f in found] == sorted((f.severity for f in found), key=order.index)


# -- tidb_v7_1_3_sysbench -------------------------------------------------------------------------------------------

TIDB = "tidb_v7_1_3_sysbench"


@pytest.mark.parametrize("workload", ["oltp_point_select", "oltp_read_write"])
def test_text_says_100_200_400_threads_and_two_tables_have_50_100_200(workload: str) -> None:
    finding = the(TIDB, f"{workload}.threads.threads")
    assert about(finding) == ("text against table", "contradiction")
    assert finding.sentence == f"The text says threads 100, 200, 400, table {workload} has 50, 100, 200."
    assert "400 is not in the table" in finding.arithmetic
    assert "Test steps, step 4" in finding.where


def test_32_tables_of_10_million_rows_are_320_million() -> None:
    finding = the(TIDB, "text.rows_imported")
    assert about(finding) == ("identity", "suspicious")
    assert finding.arithmetic == ["32 x 10,000,000 = 320,000,000; printed 10,000,000"]


def test_littles_law_holds_in_all_15_cells() -> None:
    assert audited(TIDB).passed["Little's law"] == 15
    assert "Little's law 15" in counted(audited(TIDB))


def test_a_transaction_of_read_write_is_20_statements_and_of_point_select_one() -> None:
    finding = the(TIDB, "meaning.tps")
    assert about(finding) == ("meaning", "note")
    assert "oltp_read_write, threads 200: 3,380 x 20 = 67,600 statements/s" in finding.arithmetic
    assert "oltp_point_select, threads 200: 118,462 x 1 = 118,462 statements/s" in finding.arithmetic


def test_sysbench_1_0_20_is_called_in_its_own_spelling() -> None:
    assert audited(TIDB).passed["option"] == 2


# -- dm_1_0_alpha -----------------------------------------------------------------------------------------------------


def test_the_parts_of_tidbs_statements_make_their_sum_within_rounding() -> None:
    # 13.80k + 2 x 2.4k = 18.60k, printed 18.53k: 2.4k may be 2.35k. The other identity is qps = tps of MySQL.
    # The two of TiDB's statements, and two of DM's own row: one statement a transaction, one begin and commit.
    # One over rows: the 13.89k rows of DM are the 13.80k REPLACE of TiDB.
    assert audited("dm_1_0_alpha").passed["identity"] == 2 + 2 + 1


def test_littles_law_holds_upstream_and_of_busy_workers() -> None:
    # 1024 / 15,100 = 67.8 ms, below 121 ms; 256 workers / 2,270 transactions of TiDB = 112.8 ms, below 210 ms.
    assert audited("dm_1_0_alpha").passed["Little's law"] == 2


def test_old_spelling_of_sysbench() -> None:
    finding = the("dm_1_0_alpha", "options.sysbench")
    assert about(finding) == ("option", "note")
    assert "sysbench 1.0.9" in finding.sentence
    assert ["--test=oltp_insert" in line for line in finding.arithmetic] == [True, False]
    assert ["--num-threads=1024" in line for line in finding.arithmetic] == [False, True]


def test_data_flow_crosses_between_hosts_that_both_have_everything() -> None:
    finding = the("dm_1_0_alpha", "text.data_flow.MySQL.DM-worker")
    assert about(finding) == ("placement", "suspicious")
    assert "MySQL on 192.168.0.8 and DM-worker on 192.168.0.6" in finding.sentence
    assert "topology: 192.168.0.6 runs PD, MySQL, DM-worker" in finding.arithmetic
    assert "topology: 192.168.0.8 runs PD, MySQL, DM-worker" in finding.arithmetic


# -- dm_1_0_ga --------------------------------------------------------------------------------------------------------

GA = "dm_1_0_ga"


def test_jobs_exceed_what_4_and_8_workers_can_carry() -> None:
    finding = the(GA, "sync_worker_count.workers_carry_jobs")
    assert about(finding) == ("bound", "contradiction")
    assert finding.arithmetic == [
        "worker_count 4: 7,074 > 4 x 100 x 1,000 / 63 = 6,349.2 (6,400 at most, within rounding)",
        "worker_count 8: 14,684 > 8 x 100 x 1,000 / 64 = 12,500 (12,598 at most, within rounding)",
    ]
    assert "In 2 of 6 rows" in finding.sentence


def test_host_outside_the_topology() -> None:
    finding = the(GA, "text.sync_run_command.172.17.4.40")
    assert about(finding) == ("host", "contradiction")
    assert "172.16.4.40, which runs PD, MySQL" in finding.sentence
    assert "172.17.4.40 against 172.16.4.40: 17 in place of 16" in finding.arithmetic


def test_volume_over_time_is_truncated_or_the_volume_was_rounded() -> None:
    pools = the(GA, "load_pool_size.volume_over_time.truncated")
    assert about(pools) == ("rounding", "note")
    assert "truncated, not rounded" in pools.sentence
    assert pools.arithmetic[:2] == [
        "pool_size 16: 3.78 x 1,024 / 265.9 = 14.557; printed 14.5, where rounding gives 14.6",
        "pool_size 32: 3.78 x 1,024 / 262.3 = 14.757; printed 14.7, where rounding gives 14.8",
    ]
    # 14.55 x 265.9 / 1024 = 3.7782 is the most that 14.5 allows at 265.9 s (265.95 s: 3.7789); 3.775 prints as 3.78.
    assert pools.arithmetic[2].startswith("or data_gb was rounded: from 3.775 to 3.778")
    rows = the(GA, "load_rows_per_statement.volume_over_time.truncated")
    assert rows.arithmetic[0].startswith("rows_per_statement 4,903: 3.78 x 1,024 / 262.3 = 14.757; printed 14.7")


def test_volume_over_time_gives_every_other_speed_and_all_statements_hold_202_bytes_a_row() -> None:
    # Volumes: 1 of load, 4 and 5 of 6 rows; bytes a row against the dump: 6; qps = tps of MySQL: 1.
    # 22.97k rows of DM are 22.76k INSERT of TiDB.
    assert audited(GA).passed["identity"] == 1 + 4 + 5 + 6 + 1 + 1 + 1
    assert audited(GA).passed["constant"] == 6 + 2


def test_pool_32_and_4903_rows_are_one_measurement() -> None:
    finding = the(GA, "load_pool_size.row5.same_as.load_rows_per_statement.row2")
    assert about(finding) == ("repeated figures", "note")
    assert "load_pool_size: pool_size 32 and load_rows_per_statement: rows_per_statement 4,903" in finding.sentence
    assert finding.arithmetic == [
        "txn_time_s: 3.778 = 3.778", "load_time_s: 262.3 = 262.3", "speed_mb_s: 14.7 = 14.7", "tidb_p99_s: 6.39 = 6.39",
    ]  # fmt: skip
    assert "insert_only" in the(GA, "sync_worker_count.row4.same_as.sync_distribution.row1").sentence


# -- ddt_full_scale ---------------------------------------------------------------------------------------------------

DDT = "ddt_full_scale"


def test_400_percent_cpu_for_145k_and_for_316k_documents() -> None:
    finding = the(DDT, "single_tests.cpu_with_throughput.32.1.48.1")
    assert about(finding) == ("same value", "suspicious")
    assert "400 is printed both for qps 145,062 and for 315,702, 2.18 times" in finding.sentence
    assert "cache_bucket_size 48, test 1: 315,702 / 400 = 789.25 qps per %" in finding.arithmetic


def test_memory_of_48_at_5_15_is_above_every_larger_setting() -> None:
    finding = the(DDT, "single_tests.memory_with_settings.48.1")
    assert about(finding) == ("trend", "suspicious")
    assert "31,326, above all 7 rows with larger settings, by 15% to 31%" in finding.sentence
    assert len(finding.arithmetic) == 7
    assert "31,326 > 25,159 (cache_bucket_size 64, source_threads 5, target_threads 15): +25%" in finding.arithmetic


def test_mongodb_0_1() -> None:
    finding = the(DDT, "version.MongoDB_source")
    assert about(finding) == ("version", "contradiction")
    assert "MongoDB source and MongoDB target cannot be of version 0.1" in finding.sentence
    assert finding.arithmetic == ["0.1 < 3.0"]


def test_73_mb_of_documents_do_not_explain_25_gb() -> None:
    finding = the(DDT, "single_tests.cache_explains_memory")
    assert about(finding) == ("plausibility", "suspicious")
    # 64 x 64 x 128 x 140 = 73,400,320
    line = "cache_bucket_size 64, test 1: 64 x 64 x 128 x 140 / 1,000,000 = 73.4 < 25,159 / 10 = 2,515.9"
    assert line in finding.arithmetic
    assert finding.arithmetic[-1] == "and 2 more rows like these"


def test_oplog_document_in_one_test_only() -> None:
    finding = the(DDT, "single_tests.document_size.wording")
    assert about(finding) == ("wording", "note")
    assert "OPLOG document" in finding.arithmetic[0]
    assert "10 rows" in finding.arithmetic[0]
    assert "cache_bucket_size 32, test 1" in finding.arithmetic[0]


def test_cache_bucket_num_is_missing_in_three_tests() -> None:
    finding = the(DDT, "single_tests.cache_bucket_num.missing")
    assert finding.sentence == "cache_bucket_num is not printed in 3 of 11 rows."
    assert finding.arithmetic == [f"cache_bucket_size 32, test {n}: none; table cache_32 has 32" for n in (1, 2, 3)]


def test_averages_over_10_s() -> None:
    assert about(the(DDT, "text.averaging_window")) == ("plausibility", "note")
    assert the(DDT, "text.averaging_window").arithmetic == ["10 < 60"]


def test_summary_tables_restate_the_single_tests_and_are_no_repetition() -> None:
    assert audited(DDT).passed["restated"] == 11 * 3


# -- dtm_mysql --------------------------------------------------------------------------------------------------------


def test_551_times_20_is_not_10620_but_531_times_20_is() -> None:
    finding = the("dtm_mysql", "saga.sql_per_global")
    assert about(finding) == ("identity", "contradiction")
    assert finding.arithmetic == [
        "mode no_dtm, sql_per_branch 10: 551 x 20 = 11,020; printed 10,620",
        "531 x 20 = 10,620, with the global_tps of mode dtm_barrier, sql_per_branch 2; but 551 itself fits "
        "1,102 = 551 x 2, so 10,620 is likelier the slip",
    ]


def test_every_other_product_of_the_sagas_holds_and_so_does_sysbench() -> None:
    # 7 of DB-TPS, 6 of OPS, and 12,039 = 2,006 x 6 within rounding.
    assert audited("dtm_mysql").passed["identity"] == 7 + 6 + 1


# -- etcd_3_2_performance ---------------------------------------------------------------------------------------------


def test_etcds_readers_waited_for_the_tool() -> None:
    """1,000 / 185,758 s are 5.38 ms, and 2.2 are printed; 1,000 / 141,578 s are 7.06 ms, and 5.5 are printed."""
    found = the("etcd_3_2_performance", "read.clients_busy")
    assert about(found) == ("Little's law", "suspicious")
    said = " ".join(found.arithmetic)
    assert "1,000 / 185,758 x 1,000 = 5.3833; printed 2.2" in said
    assert "1,000 / 141,578 x 1,000 = 7.0632; printed 5.5" in said


# -- rocksdb_readwhilewriting -----------------------------------------------------------------------------------------


def test_the_time_per_operation_of_db_bench_had_the_writers_in_it() -> None:
    """437,230 reads/s by one reader are one per 2.287 us, and 4.574 are printed: those of two threads."""
    found = the("rocksdb_readwhilewriting", "hot_keys.time_of_a_read")
    assert about(found) == ("Little's law", "suspicious")
    assert "threads 1: 1 / 437,230 x 1,000 = 0.0022871; printed 4.574" in " ".join(found.arithmetic)
