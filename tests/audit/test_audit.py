"""What the audit must find in the published reports, typed by hand from the reports, with the arithmetic."""

from __future__ import annotations

from functools import cache

import pytest
from kit import ROOT

from benchbook.audit.findings import Audit, counted
from benchbook.audit.report_audit import audit
from benchbook.published.tables import load

TIDB, GA, DDT = "tidb_v7_1_3_sysbench", "dm_1_0_ga", "ddt_full_scale"


@cache
def audited(report: str) -> Audit:
    return audit(load(report, ROOT / "data" / "published"))


# Every finding, gravest first, so that one more or one less is noticed: its id, kind and severity.
FOUND = {
    TIDB: [
        ("oltp_point_select.threads.threads", "text against table", "contradiction"),
        ("oltp_read_write.threads.threads", "text against table", "contradiction"),
        ("text.rows_imported", "identity", "suspicious"),
        ("meaning.tps", "meaning", "note"),
    ],
    "dm_1_0_alpha": [
        ("text.data_flow.MySQL.DM-worker", "placement", "suspicious"),
        ("options.sysbench", "option", "note"),
    ],
    GA: [
        ("sync_worker_count.workers_carry_jobs", "bound", "contradiction"),
        ("text.sync_run_command.172.17.4.40", "host", "contradiction"),
        ("load_pool_size.volume_over_time.truncated", "rounding", "note"),
        ("load_rows_per_statement.volume_over_time.truncated", "rounding", "note"),
        # True: 271.36 s has two decimals where the other five load times of the table have one.
        ("load_rows_per_statement.load_time_s.digits", "printed digits", "note"),
        ("load_pool_size.row5.same_as.load_rows_per_statement.row2", "repeated figures", "note"),
        ("sync_worker_count.row4.same_as.sync_distribution.row1", "repeated figures", "note"),
        ("options.sysbench", "option", "note"),
    ],
    DDT: [
        ("version.MongoDB_source", "version", "contradiction"),
        ("single_tests.cache_explains_memory", "plausibility", "suspicious"),
        ("single_tests.memory_with_settings.48.1", "trend", "suspicious"),
        ("single_tests.cpu_with_throughput.32.1.48.1", "same value", "suspicious"),
        ("text.averaging_window", "plausibility", "note"),
        ("single_tests.cache_bucket_num.missing", "missing level", "note"),
        ("single_tests.data_batch_size.missing", "missing level", "note"),
        ("single_tests.document_size.wording", "wording", "note"),
    ],
    # True: 3.3 has one decimal where the other nine have two. (A zero at the end is not printed there.)
    "dolt_vs_mysql_sysbench": [("writes.p50_ms.digits", "printed digits", "note")],
    "dtm_mysql": [("saga.sql_per_global", "identity", "contradiction")],
    "etcd_3_2_performance": [
        ("write.keys_written", "plausibility", "suspicious"),
        ("write.light_load", "plausibility", "suspicious"),
        ("read.clients_busy", "Little's law", "suspicious"),
        ("read.lasts_a_second", "plausibility", "suspicious"),
    ],
    "rocksdb_readwhilewriting": [
        ("hot_keys.readers.threads", "text against table", "contradiction"),
        ("all_keys.readers.threads", "text against table", "contradiction"),
        ("hot_keys.command.threads", "text against table", "contradiction"),
        ("hot_keys.time_of_a_read", "Little's law", "suspicious"),
        ("all_keys.time_of_a_read", "Little's law", "suspicious"),
        ("hot_keys.more_readers_read_more.8", "trend", "suspicious"),
        ("hot_keys.more_readers_read_more.1", "trend", "suspicious"),
    ],
}


@pytest.mark.parametrize("report", FOUND)
def test_these_findings_and_no_others_gravest_first(report: str) -> None:
    assert [(one.id, one.kind, one.severity) for one in audited(report).findings] == FOUND[report]


SAID = [
    # The text says 100, 200 and 400 threads, two tables have 50, 100 and 200.
    (TIDB, "oltp_point_select.threads.threads", [
        "The text says threads 100, 200, 400, table oltp_point_select has 50, 100, 200.",
        "400 is not in the table", "Test steps, step 4",
    ]),
    (TIDB, "text.rows_imported", ["32 x 10,000,000 = 320,000,000; printed 10,000,000"]),
    (TIDB, "meaning.tps", [
        "oltp_read_write, threads 200: 3,380 x 20 = 67,600 statements/s",
        "oltp_point_select, threads 200: 118,462 x 1 = 118,462 statements/s",
    ]),
    ("dm_1_0_alpha", "options.sysbench", ["sysbench 1.0.9", "--test=oltp_insert", "--num-threads=1024"]),
    ("dm_1_0_alpha", "text.data_flow.MySQL.DM-worker", [
        "MySQL on 192.168.0.8 and DM-worker on 192.168.0.6", "topology: 192.168.0.6 runs PD, MySQL, DM-worker",
        "topology: 192.168.0.8 runs PD, MySQL, DM-worker",
    ]),
    (GA, "sync_worker_count.workers_carry_jobs", [
        "In 2 of 6 rows",
        "worker_count 4: 7,074 > 4 x 100 x 1,000 / 63 = 6,349.2 (6,400 at most, within rounding)",
        "worker_count 8: 14,684 > 8 x 100 x 1,000 / 64 = 12,500 (12,598 at most, within rounding)",
    ]),
    (GA, "text.sync_run_command.172.17.4.40", [
        "172.16.4.40, which runs PD, MySQL", "172.17.4.40 against 172.16.4.40: 17 in place of 16",
    ]),
    # 14.55 x 265.9 / 1024 = 3.7782 is the most that 14.5 allows at 265.9 s (265.95 s: 3.7789); 3.775 prints as 3.78.
    (GA, "load_pool_size.volume_over_time.truncated", [
        "truncated, not rounded",
        "pool_size 16: 3.78 x 1,024 / 265.9 = 14.557; printed 14.5, where rounding gives 14.6",
        "pool_size 32: 3.78 x 1,024 / 262.3 = 14.757; printed 14.7, where rounding gives 14.8",
        "or data_gb was rounded: from 3.775 to 3.778",
    ]),
    (GA, "load_rows_per_statement.volume_over_time.truncated", [
        "rows_per_statement 4,903: 3.78 x 1,024 / 262.3 = 14.757; printed 14.7",
    ]),
    (GA, "load_pool_size.row5.same_as.load_rows_per_statement.row2", [
        "load_pool_size: pool_size 32 and load_rows_per_statement: rows_per_statement 4,903",
        "txn_time_s: 3.778 = 3.778", "load_time_s: 262.3 = 262.3", "speed_mb_s: 14.7 = 14.7", "tidb_p99_s: 6.39 = 6.39",
    ]),
    (GA, "sync_worker_count.row4.same_as.sync_distribution.row1", ["insert_only"]),
    (DDT, "single_tests.cpu_with_throughput.32.1.48.1", [
        "400 is printed both for qps 145,062 and for 315,702, 2.18 times",
        "cache_bucket_size 48, test 1: 315,702 / 400 = 789.25 qps per %",
    ]),
    (DDT, "single_tests.memory_with_settings.48.1", [
        "31,326, above all 7 rows with larger settings, by 15% to 31%",
        "31,326 > 25,159 (cache_bucket_size 64, source_threads 5, target_threads 15): +25%",
    ]),
    (DDT, "version.MongoDB_source", ["MongoDB source and MongoDB target cannot be of version 0.1", "0.1 < 3.0"]),
    # 64 x 64 x 128 x 140 = 73,400,320 bytes of documents do not explain 25 GB.
    (DDT, "single_tests.cache_explains_memory", [
        "cache_bucket_size 64, test 1: 64 x 64 x 128 x 140 / 1,000,000 = 73.4 < 25,159 / 10 = 2,515.9",
        "and 2 more rows like these",
    ]),
    (DDT, "single_tests.document_size.wording", ["OPLOG document", "10 rows", "cache_bucket_size 32, test 1"]),
    (DDT, "single_tests.cache_bucket_num.missing", [
        "cache_bucket_num is not printed in 3 of 11 rows.",
        *(f"cache_bucket_size 32, test {n}: none; table cache_32 has 32" for n in (1, 2, 3)),
    ]),
    (DDT, "text.averaging_window", ["10 < 60"]),
    # 551 x 20 is not 10620, but 531 x 20 is.
    ("dtm_mysql", "saga.sql_per_global", [
        "mode no_dtm, sql_per_branch 10: 551 x 20 = 11,020; printed 10,620",
        "531 x 20 = 10,620, with the global_tps of mode dtm_barrier, sql_per_branch 2; but 551 itself fits "
        "1,102 = 551 x 2, so 10,620 is likelier the slip",
    ]),
    # The readers waited for the tool: 1,000 / 185,758 s are 5.38 ms, 1,000 / 141,578 s are 7.06 ms.
    ("etcd_3_2_performance", "read.clients_busy", [
        "1,000 / 185,758 x 1,000 = 5.3833; printed 2.2", "1,000 / 141,578 x 1,000 = 7.0632; printed 5.5",
    ]),
    # 437,230 reads/s by one reader are one per 2.287 us, and 4.574 are printed: those of two threads, the writer's too.
    ("rocksdb_readwhilewriting", "hot_keys.time_of_a_read", [
        "threads 1: 1 / 437,230 x 1,000 = 0.0022871; printed 4.574",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("report", "id", "words"), SAID)
def test_a_finding_says_where_and_why(report: str, id: str, words: list[str]) -> None:
    (found,) = [one for one in audited(report).findings if one.id == id]
    said = "\n".join([found.sentence, found.where, *found.arithmetic])
    assert [part for part in words if part not in said] == []


@pytest.mark.parametrize(
    ("report", "kind", "count"),
    [
        (TIDB, "Little's law", 15),
        # sysbench 1.0.20 is called in its own spelling.
        (TIDB, "option", 2),
        # 13.80k + 2 x 2.4k = 18.60k, printed 18.53k: 2.4k may be 2.35k. The other identity is qps = tps of MySQL.
        # The two of TiDB's statements, and two of DM's own row: one statement a transaction, one begin and commit.
        # One over rows: the 13.89k rows of DM are the 13.80k REPLACE of TiDB.
        ("dm_1_0_alpha", "identity", 2 + 2 + 1),
        # 1024 / 15,100 = 67.8 ms, below 121 ms; 256 workers / 2,270 transactions of TiDB = 112.8 ms, below 210 ms.
        ("dm_1_0_alpha", "Little's law", 2),
        # Volumes: 1 of load, 4 and 5 of 6 rows; bytes a row against the dump: 6; qps = tps of MySQL: 1.
        # 22.97k rows of DM are 22.76k INSERT of TiDB.
        (GA, "identity", 1 + 4 + 5 + 6 + 1 + 1 + 1),
        (GA, "constant", 6 + 2),
        # Summary tables restate the single tests, and are no repetition.
        (DDT, "restated", 11 * 3),
        # 7 of DB-TPS, 6 of OPS, and 12,039 = 2,006 x 6 within rounding.
        ("dtm_mysql", "identity", 7 + 6 + 1),
    ],
)
def test_so_many_checks_passed(report: str, kind: str, count: int) -> None:
    found = audited(report)
    assert {**found.passed}[kind] == count
    assert f"{kind} {count}" in counted(found)
