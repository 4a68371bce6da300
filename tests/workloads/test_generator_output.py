"""What load generators print is recognised by its content, and its figures are those that are printed.

Outputs under fixtures/ are of programs that were run here. The short ones below have the shape, and the figures, of
what public threads show; each says where.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pprint import pformat
from typing import Any

import pytest
from kit import FIXTURES

from benchbook.errors import OutputNotParseable
from benchbook.workloads import generator_output

# Where the shape and the figures of those that were not run here are shown:
#   sysbench_1  github.com/akopytov/sysbench/issues/305 (a rate, 1.0.11)    sysbench_0  the same, issues/14 (0.5)
#   cut  github.com/Percona-Lab/sysbench-tpcc/issues/48    ycsb, ycsb_ms  github.com/brianfrankcooper/YCSB/issues/1591
#   go_ycsb  github.com/pingcap/go-ycsb/issues/268    go_tpc  github.com/pingcap/go-tpc/pull/12, without the tpmC below
#   memtier_1, memtier_2  github.com/redis/memtier_benchmark/issues/68, 184    fio_2  .../ocs-ci/pull/283
#   hammerdb_3, hammerdb_4  github.com/TPC-Council/HammerDB/issues/99, 782    pgbench_12  two rates, as before 14
FILES: dict[str, tuple[str, dict[str, Any], dict[str, float]]] = {
    "logs/sysbench_1.txt": ("sysbench", {"threads": 1, "rate": 100},
                     {"tps": 30.94, "qps": 495.03, "p95_ms": 1000.12, "total_time_s": 20.0378}),
    "logs/sysbench_0.txt": ("sysbench", {"threads": 16, "workload": "oltp", "tables": 500},
                     {"tps": 1496.01, "read_write_qps": 26923.11, "latency_mean_ms": 10.69, "p95_ms": 15.76}),
    "logs/ycsb.txt": ("ycsb", {"workload": "workloada", "threads": 128},
             {"tps": 47865.21156423511, "total_time_s": 20.892, "read_p95_ms": 4.0, "failed": 4}),
    "logs/ycsb_ms.txt": ("ycsb", {}, {"tps": 98.91196834817013, "update_latency_mean_ms": 0.054989816700611}),
    "logs/go_ycsb.txt": ("go_ycsb", {"workload": "core", "threads": 1024, "records": 1_000_000},
                {"tps": 351.2 + 351.8, "read_p99_ms": 1.082, "update_p999_ms": 3.651, "update_events": 1_501_182}),
    "logs/go_tpc.txt": ("go_tpc", {"workload": "tpcc", "threads": 16, "warehouses": 10},
               {"tpmc": 9791.1, "efficiency_percent": 76.1, "payment_p999_ms": 80, "new_order_latency_mean_ms": 35}),
    "logs/memtier_1.txt": ("memtier", {"threads": 200, "workload": "all"},
                  {"tps": 21536.09, "latency_mean_ms": 0.231}),
    "logs/memtier_2.txt": ("memtier", {"workload": "all"},
                  {"tps": 62355.66, "p50_ms": 2.863, "p999_ms": 12.991, "p9999_ms": 95.743}),
    "logs/hammerdb_3.txt": ("hammerdb", {"threads": 64, "workload": "tproc_c"}, {"nopm": 1465149, "tpm": 3370315}),
    "logs/hammerdb_4.txt": ("hammerdb", {"threads": 1}, {"nopm": 96747, "tpm": 224827}),
    "logs/fio_2.txt": ("fio", {"workload": "fio-rand-write", "threads": 1},
              {"write_iops": 6008, "write_lat_mean_ms": 0.15774, "write_p99_ms": 0.003, "total_time_s": 10.037}),
    "logs/pgbench_12.txt": ("pgbench", {"workload": "tpcb_like", "threads": 8, "scale": 10, "mode": "simple"},
                   {"tps": 1200.2, "tps_connecting": 1199.1, "latency_mean_ms": 6.667, "events": 36000}),
    "sysbench/read_write.txt": ("sysbench", {"threads": 50}, {"tps": 40.37, "p95_ms": 2449.36, "events": 156}),
    "pgbench/tpcb_rate_15.txt": ("pgbench", {"workload": "tpcb_like", "threads": 4}, {"tps": 199.619, "failed": 0}),
    "etcd/leader_killed.txt": ("etcd_benchmark", {}, {"tps": 1210.742353, "p99_ms": 217.936745, "failed": 30}),
    "ab/success.txt": ("ab", {"threads": 10}, {"tps": 320.24, "p99_ms": 56, "latency_max_ms": 61}),
    "gotpc/run.txt": ("go_tpc", {}, {"tpmc": 3612.6, "payment_p999_ms": 469.8}),
    "logs/wrk.txt": ("wrk", {"threads": 8}, {"tps": 632.58, "p99_ms": 77.83, "latency_mean_ms": 11.61}),
    "logs/redis_full.txt": ("redis_benchmark", {"workload": "SET", "threads": 8, "value_bytes": 3},
                               {"tps": 8000, "latency_mean_ms": 0.864, "p99_ms": 12.087, "total_time_s": 0.62}),
    "logs/redis_q.txt": ("redis_benchmark", {"workload": "SET"}, {"tps": 10000, "p50_ms": 0.135}),
    "logs/redis_csv.txt": ("redis_benchmark", {"workload": "SET"}, {"tps": 9615.38, "latency_max_ms": 14.215}),
    "logs/fio.txt": ("fio", {"workload": "randread", "threads": 2, "iodepth": 1},
                   {"read_iops": 14700, "read_lat_mean_ms": 0.1215284, "read_p50_ms": 0.013504, "total_time_s": 0.135}),
    "logs/db_bench.txt": ("db_bench", {"workload": "fillrandom", "threads": 2, "value_bytes": 100, "records": 20_000},
                          {"tps": 25292, "events": 40_000, "p99_ms": 0.04974, "latency_mean_ms": 0.0779831}),
    "logs/fio.json": ("fio", {"workload": "seqw"}, {"write_p99_ms": 0.066048, "total_time_s": 0.082}),
}  # fmt: skip


def text(name: str) -> str:
    return (FIXTURES / "logs" / f"{name}.txt").read_text()


def _check(run: generator_output.GeneratorRun, program: str, levels: dict[str, Any], figures: dict[str, float]) -> None:
    assert run.program == program
    assert not run.problem
    assert run.levels.items() >= levels.items()
    assert {name: run.figures[name].value for name in figures} == pytest.approx(figures, rel=1e-6)


@pytest.mark.parametrize("name", FILES)
def test_figures_are_those_that_are_printed(name: str) -> None:
    _check(generator_output.runs((FIXTURES / name).read_text())[0], *FILES[name])


def test_a_file_of_several_runs_is_cut_where_each_begins() -> None:
    """Each with the command line that stands before it, and with its own seconds."""
    one, two = generator_output.runs((FIXTURES / "logs" / "sysbench_two_runs.txt").read_text())
    assert [(run.levels["workload"], run.levels["threads"]) for run in (one, two)] == [("cpu", 1), ("cpu", 2)]
    assert (one.figures["tps"].value, two.figures["tps"].value) == (534.22, 696.35)
    assert [run.levels["workload"] for run in generator_output.runs((FIXTURES / "logs/redis_csv.txt").read_text())] == [
        "SET",
        "GET",
    ]
    (old,) = generator_output.runs(text("sysbench_0"))
    told = {"threads": 16.0, "tps": 1385.03, "latency_ms": 15.76, "errors": 0.0, "reconnects": 0.0}
    assert old.seconds == [(12.0, told)]


@pytest.mark.parametrize(
    ("whole", "said"),
    [
        (text("cut"), "the output of sysbench is cut: it has no events"),
        (text("memtier_2").partition("62355.66")[0] + "62355.66 ", "memtier_benchmark is cut: it has no tps"),
        ((FIXTURES / "etcd/put_50.txt").read_text().partition("  99% in")[0], "etcd's benchmark is cut: it has no end"),
        (
            (FIXTURES / "sysbench" / "server_died.txt").read_text(),
            "errno = 2013, state = 'HY000': Lost connection to server during query (8 times); FATAL: mysql_drv_query",
        ),
        (
            "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\nFATAL: mysql_stmt_prepare() failed\n"
            + 'FATAL: MySQL error: 1461 "Can\'t create more than max_prepared_stmt_count statements"\n' * 2,
            "sysbench says that it failed: FATAL: MySQL error: 1461 \"Can't create more than max_prepared_stmt_count",
        ),
        ((FIXTURES / "ab" / "interrupted.txt").read_text(), "ApacheBench says that it failed"),
        (text("hammerdb_4").replace("96747", "0").replace("224827", "0"), "prints no rate above 0"),
        (
            text("sysbench_1")
            .replace("(30.94", "(0.00")
            .replace("495.03", "0.00")
            .replace("errors:                      0", "errors: 19820"),
            "sysbench prints no rate above 0, and 19820 ignored_errors",
        ),
        (
            text("pgbench_12").replace("= 1200.2", "= 0.0").replace("= 1199.1", "= 0.0"),
            "pgbench prints no rate above 0",
        ),
        (
            text("pgbench_12")
            + "pgbench: fatal: Run was aborted; the above results are incomplete.\n"
            + text("pgbench_12"),
            "pgbench says that it failed: pgbench: fatal: Run was aborted",
        ),
        # github.com/pingcap/tidb/issues/2346: sysbench 0.4 tells the cause first.
        (
            "sysbench 0.4.12:  multi\n"
            + "ALERT: failed to execute mysql_stmt_execute(): Err1105 Malform packet error\n"
            "FATAL: database error, exiting...\n" * 2,
            "sysbench says that it failed: ALERT: failed to execute mysql_stmt_execute",
        ),
        # github.com/wg/wrk/issues/497: answers that wrk could not read.
        (
            "Running 5s test @ http://localhost:8081\n  2 threads and 2 connections\n  0 requests in 5.00s, 15KB read\n"
            "  Socket errors: connect 0, read 236, write 0, timeout 0\nRequests/sec:      0.00\n"
            "Transfer/sec:    3.02KB\n",
            "wrk did nothing: it prints 0 events, and 236 failed",
        ),
        # As hey writes it (requester/print.go) where no server listens, and go-ycsb.
        (
            "Summary:\n  Total:\t1.0 secs\n  Slowest:\t0.0 secs\n  Fastest:\t0.0 secs\n  Average:\t NaN secs\n"
            "  Requests/sec:\t200.0\n\nDetails:\n  resp read:\tNaN secs\n\nError distribution:\n"
            '  [200]\tGet "http://h": dial tcp: connect: connection refused\n',
            'hey says that it failed: Get "http://h": dial tcp: connect: connection refused',
        ),
        (
            "Run finished, takes 5.2s\nREAD_ERROR - Takes(s): 5.2, Count: 1000, OPS: 191.1, Avg(us): 5000, Min(us): 4, "
            "Max(us): 9000, 99th(us): 8000\n",
            "the output of go-ycsb is cut: it has no tps, and 1000 failed",
        ),
        # github.com/seeker89/chaos-engineering-book/issues/26: some lines of a report.
        (
            "Concurrency Level:      10\nTime taken for tests:   3.090 seconds\nComplete requests:      50000\n"
            "Failed requests:        0\nRequests per second:    16183.14 [#/sec] (mean)\n"
            "Time per request:       0.618 [ms] (mean)\n",
            "the output of ApacheBench is cut: it has no end",
        ),
    ],
)
def test_what_failed_or_is_cut_is_refused_by_name(whole: str, said: str) -> None:
    assert said in generator_output.runs(whole)[0].problem


_NOT_READ = ", which is not read: what "


def _here(program: str) -> str:
    return f"the output of {program}, which is not read here; env/workloads/{program}.yaml may"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # What a program writes beside its report.
        ((FIXTURES / "pgbench" / "transactions.log").read_text(),
         f"a log of single transactions (-l) of pgbench{_NOT_READ}"),
        # As postgresql.org/docs/15/pgbench.html shows their columns, with those of --max-tries.
        ("2 0 serialization 0 1499414498 84905 9\n", f"a log of single transactions (-l) of pgbench{_NOT_READ}"),
        ("1650260552 5178 26171317 177284491527 1136 44462 2647617 7321113867 0 9866 64 7564 28340 4148 0\n",
         f"a log of transactions by intervals (--aggregate-interval) of pgbench{_NOT_READ}"),
        # fio's documentation, "Log File Formats": time (ms), value, direction, block size, and offset or priority.
        ("0, 20480, 0, 4096, 0\n1, 21504, 1, 4096, 0x0\n", f"a log of single values (--write_*_log) of fio{_NOT_READ}"),
        ("starttime\tseconds\tctime\tdtime\tttime\twait\n",
         f"a table of single requests (-g) of ApacheBench{_NOT_READ}"),
        ("Percentage served,Time in ms\n0,0.112\n", f"a table of percentiles (-e) of ApacheBench{_NOT_READ}"),
        # github.com/akopytov/sysbench/issues/543, 124; Percona-Lab/sysbench-tpcc/issues/10; its --help.
        *((said, f"a usage message of sysbench{_NOT_READ}") for said in (
            "Command is required. Supported commands: prepare, run, cleanup, help\n",
            "Unrecognized command line argument: run\n",
            "Unknown command: ./tpcc.lua.\nUsage:\n  sysbench [general-options]... --test=<test-name> command\n",
            "Usage:\n  sysbench [options]... [testname] [command]\n",
        )),
        # github.com/polardb/PolarDB-for-PostgreSQL/issues/109, and one that ended well.
        ("3700000 of 100000000 tuples (3%) done (elapsed 31.41 s, remaining 817.60 s)\nPQputline failed\nconnection to "
         'database "postgres" failed:\nFATAL:  the database system is in recovery mode\n',
         "pgbench says that it failed: FATAL:  the database system is in recovery mode"),
        ("dropping old tables...\ncreating tables...\ngenerating data (client-side)...\ndone in 0.50 s\n",
         f"the filling of its tables (-i) of pgbench{_NOT_READ}"),
        ('{"Goodput (requests/second)": 3, "terminals": ', "JSON that cannot be read: Expecting value: line 1 column"),
        # It failed before it began.
        ((FIXTURES / "pgbench/refused_15.txt").read_text(),
         "pgbench says that it failed: pgbench: error: connection to server at"),
        ((FIXTURES / "ab/bad_usage.txt").read_text(), "ApacheBench says that it failed: ab: "),
        # Programs without a file, by their lines, as they are published.
        ("testing...\nwthr 32\nnew thread, total running : 1\nread:1 write:0\n4759 ops/sec 18 MB/sec\n",
         _here("mongoperf")),
        ("new thread, total running : 1\nmmf sync took 0ms\n20484 ops/sec\n", _here("mongoperf")),
        ("Benchmark\n\tAverage number of seconds to run all queries: 3.626 seconds\n",
         _here("mysqlslap")),
        ("Results:\nOp rate                   :   15,156 op/s  [WRITE: 15,156 op/s]\n",
         _here("cassandra-stress")),
        ("Requests      [total, rate, throughput]         6000, 100.01, 99.76\n", _here("vegeta")),
        ("     http_req_duration..............: avg=117.55ms min=105.3ms med=117.1ms\n", _here("k6")),
        # github.com/TPC-Council/HammerDB/issues/488
        ("Vuser 1:1 ...,\n132 PostgreSQL tpm\n187386 PostgreSQL tpm\n",
         f"rates that come while it runs of HammerDB{_NOT_READ}"),
        # github.com/cockroachdb/loadgen/pull/64, github.com/yugabyte/tpcc/pull/89,
        # github.com/apecloud/kubeblocks-addons/pull/3305
        ("_time______opName__ops/s(inst)__ops/s(cum)__p50(ms)__pMax(ms)\n   1s  tpmC  18.9  18.9  113.2  335.5\n",
         _here("cockroach-workload")),
        # github.com/cockroachdb/cockroach/issues/73885, matrixorigin/matrixone/pull/13889, ls4154/YCSB-cpp/issues/5
        ("_elapsed_______tpmC____efc__avg(ms)__p50(ms)\n   60.0s       52.0  40.4%\n", _here("cockroach-workload")),
        ("2024-01-10 10:58:12 INFO  jTPCC:763 - Term-00, Measured tpmC (NewOrders) = 2859.0\n", _here("benchmarksql")),
        ("Load runtime(sec): 59.468\nLoad throughput(ops/sec): 84078.8\n", _here("ycsb-cpp")),
        # github.com/tikv/tikv/issues/2877
        ("INSERT - Count: 716877, Avg(us): 878, Min(us): 331\n",
         f"counts that come while it runs of go-ycsb{_NOT_READ}"),
        ("================RESULTS================\n             TPM-C |  24878.30\n", _here("yugabyte-tpcc")),
        ("23:01:16,546 [main] INFO   jTPCC : Term-00,      BenchmarkSQL v5.0\n", _here("benchmarksql")),
        ("total: 12 transactions, 3 per sec\n{not json}", "not the output of a load generator that is known"),
        # github.com/readysettech/readyset/issues/1268
        ("words\n\n-- [ 2s ] thds: 3 tps: 1.0 qps: 1.0 (r/w/o: 1.0/0.0/0.0) lat (ms,95%): 0.44 err/s: 0.00\n",
         "the output of sysbench is cut: it has no report, and lines of seconds"),
        ("progress: 9.0 s, 0.0 tps, lat 0.000 ms stddev 0.000\n",
         "the output of pgbench is cut: it has no report, and lines of seconds"),
    ],
)  # fmt: skip
def test_what_is_refused_is_named(text: str, said: str) -> None:
    with pytest.raises(OutputNotParseable, match=f"^{re.escape(said)}"):
        generator_output.runs(text)


def test_reports_without_their_first_lines() -> None:
    """wrk as people paste it (github.com/wg/wrk/issues/371); several behind one head are not one run."""
    report = "\n".join(text("wrk").splitlines()[1:])
    (run,) = generator_output.runs(report[report.index("threads and") - 4 :])
    assert (run.problem, run.figures["tps"].value) == ("", 632.58)
    (several,) = generator_output.runs(
        text("wrk") + "\n  921 requests in 10.03s, 169.09KB read\nRequests/sec:     91.85\n"
    )
    (pgbench,) = generator_output.runs(text("pgbench_12").partition("\n")[2])
    _check(pgbench, "pgbench", {"threads": 8, "scale": 10}, {"tps": 1200.2, "events": 36000})
    rate = "tps = 896.967014 (without initial connection time)\n"
    (pgbench,) = generator_output.runs(f"latency average = 11.013 ms\ninitial connection time = 45.758 ms\n{rate}")
    _check(pgbench, "pgbench", {}, {"tps": 896.967014, "latency_mean_ms": 11.013})
    (fileio,) = generator_output.runs(FILEIO[FILEIO.index("File operations") :])
    _check(fileio, "sysbench", {}, {"read_iops": 1234.56, "events": 46985})
    assert several.problem == "wrk begins once and ends several times: it has more than one tps"


def test_each_benchmark_of_db_bench_is_a_run_that_says_what_it_found() -> None:
    _, read = generator_output.runs(text("db_bench"))
    assert (read.levels["workload"], read.levels["threads"], read.version) == ("readrandom", 2, "7.8.3")
    assert (read.figures["found"].value, read.figures["looked_for"].value) == (17302, 20000)


def test_errors_that_go_tpc_passed_over_are_counted_and_others_end_it() -> None:
    """Its own time stands before those that it passes over. 13,044 + 12,456 were done; 0.035 s are 35 ms."""
    failed = "[Summary] NEW_ORDER_ERR - Takes(s): 79.9, Count: 3, TPM: 2.3, Sum(ms): 9, Avg(ms): 3\n"
    plain = text("go_tpc").replace("tpmC", f"{failed}tpmC").replace("Avg(ms): 35", "Avg(s): 0.035")
    (run,) = generator_output.runs(f"[2024-01-01 10:00:00] execute run failed, err Error 1205: Lock wait\n{plain}")
    figures = {"events": 25_500, "failed": 3, "new_order_latency_mean_ms": 35}
    _check(run, "go_tpc", {"threads": 16}, figures)
    (ended,) = generator_output.runs(f"execute run failed, err Error 1205: Lock wait\n{plain}")
    assert ended.problem.startswith("go-tpc says that it failed: execute run failed")


def test_the_run_behind_one_that_was_given_up_is_whole() -> None:
    given_up = text("pgbench_12") + "pgbench: fatal: Run was aborted; the above results are incomplete.\n"
    assert [bool(run.problem) for run in generator_output.runs(given_up + text("pgbench_12"))] == [True, False]


@pytest.mark.parametrize(
    "before",
    [
        "2024-01-01 10:00:00 ",
        "2024-01-01T10:00:00.123456789Z ",
        "2024-01-01T10:00:00.123+02:00\t",
        "[2024-01-01 10:00:00,123] ",
        "Jan  1 10:00:00 ",
        "Mon Jan  1 10:00:00 UTC 2024: ",
        "Jan 01 10:00:00 bench-1 sysbench[4711]: ",
        "2024-01-01T10:00:00+0000 bench-1 run.sh[4711]: ",
        "2024-01-01T10:00:00.123456789Z stdout F ",
        "00:00:10 ",
        "1704103200.123456 ",
        "sysbench-1  | ",
        "sysbench-1  | 2024-01-01T10:00:00.123Z ",
        "[pod/sysbench-x7k/main] ",
        "> ",
        "> > ",
        "# ",
        "data: ",
        "12:10:43 DEBUG| [stdout] ",
        "    ",
    ],
)
@pytest.mark.parametrize("name", ["sysbench/read_write.txt", "pgbench/tpcb_rate_15.txt", "logs/ycsb.txt"])
def test_what_a_log_puts_before_each_line_is_not_the_program_s(name: str, before: str) -> None:
    """`ts`, journalctl, kubectl logs --timestamps, CRI, docker compose, pipelines, quotes, events, avocado."""
    plain = (FIXTURES / name).read_text()
    if name == "logs/ycsb.txt":
        plain = "2024-01-01 10:00:00:123 7 sec: 1000 operations; 100.5 current ops/sec; est completion\n" + plain
    (expected,) = generator_output.runs(plain)
    assert expected.seconds
    (found,) = generator_output.runs("".join(before + line for line in plain.splitlines(keepends=True)))
    assert (found.figures, found.levels, found.seconds) == (expected.figures, expected.levels, expected.seconds)


@pytest.mark.parametrize(
    ("line", "around"),
    [
        ('{{"log":{},"stream":"stdout","time":"2024-01-01T10:00:00.123Z"}}', "{}"),
        ("            {},", 'ok: [db1] => {{\n    "stdout_lines": [\n{}\n    ]\n}}'),
        ("  - {}", "out:\n{}"),
    ],
)
@pytest.mark.parametrize("name", ["sysbench/read_write.txt", "logs/go_tpc.txt"])
def test_lines_that_are_kept_as_strings(name: str, line: str, around: str) -> None:
    """Docker's json-file, Ansible's stdout_lines, a list in YAML."""
    plain = (FIXTURES / name).read_text()
    (expected,) = generator_output.runs(plain)
    lines = "\n".join(line.format(json.dumps(each)) for each in plain.splitlines())
    (found,) = generator_output.runs(around.format(lines))
    assert (found.figures, found.levels, found.seconds) == (expected.figures, expected.levels, expected.seconds)


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("logs/ycsb.txt", "[READ], AverageLatency(us), 1657.3425007610595\n"),
        ("logs/ycsb.txt", "[OVERALL], Throughput(ops/sec), 47"),
        ("logs/ycsb.txt", "[READ], Return=ERROR, 4\n[CLEA"),
        ("logs/ycsb_ms.txt", "[UPDATE], Operations, 491\n"),
        ("logs/db_bench.txt", "micros/op 901"),
        ("logs/db_bench.txt", "0.444 seconds 40000 operations;    8"),
        ("logs/db_bench.txt", "(17302 of 200"),
        ("logs/db_bench.txt", "Count: 40000 Average: 21.8814  StdDev: 602.37\n"),
        ("logs/fio.txt", "BW=57.3MiB/s"),
        ("logs/fio.txt", "| 99.95th=[3260416], 99.99th=[7831552]\n"),
        ("logs/fio_2.txt", "| 99.00th=[    3], 99.50th=[   15],"),
        ("logs/go_ycsb.txt", "OPS: 351.8,"),
        ("logs/go_tpc.txt", "tpmC: 9791.1, tpmTot"),
        ("logs/hammerdb_4.txt", "96747 NOPM from 22"),
        ("logs/redis_csv.txt", '"GET","12315.27","0.562","0.0'),
        ("logs/redis_full.txt", "6.535    11.5"),
        ("logs/redis_q.txt", "10593.22 requests per second, p50=0"),
        ("logs/wrk.txt", "Requests/sec:    6"),
        ("ab/success.txt", "Transfer rate:          39.09 "),
        ("ab/success.txt", "  99%     56\n"),
        ("etcd/put_50.txt", "  99% in 0.068166611 secs.\n"),
    ],
)
def test_what_was_cut_late_is_refused(name: str, last: str) -> None:
    """As a killed program leaves it, whose output goes to a file in pieces of 4,096 bytes."""
    whole = (FIXTURES / name).read_text()
    assert not any(run.problem for run in generator_output.runs(whole))
    until = whole.rindex(last) + len(last) if last in whole else 0
    assert until
    run = generator_output.runs(whole[:until])[-1]
    assert run.problem.startswith(f"the output of {run.title} is cut")


# The shape of YCSB's, wrk2's and JMH's: their sources; ab and sysbench were run here.
_YCSB_OP = "[{0}], Operations, 500\n[{0}], AverageLatency(us), 8.5\n[{0}], 91stPercentileLatency(us), 14\n"
_YCSB_OP += "[{0}], 99.9PercentileLatency(us), 280\n"
_YCSB_OWN = (
    "[OVERALL], RunTime(ms), 1012\n[OVERALL], Throughput(ops/sec), 988.1\n[TOTAL_GCs], Count, 2\n"
    + _YCSB_OP.format("CLEANUP")
    + _YCSB_OP.format("READ")
    + "[READ], Return=OK, 500\n"
    + _YCSB_OP.format("READ-MODIFY-WRITE")
)


@pytest.mark.parametrize("options", ["-n 300 -d -c 10", "-kd", "-d -S"])
def test_ab_without_its_table_of_percentiles(options: str) -> None:
    """Its command line says so; without that the same text is a cut one."""
    whole = (FIXTURES / "ab" / "success.txt").read_text().partition("\nPercentage of")[0]
    assert generator_output.runs(whole)[0].cut
    (run,) = generator_output.runs(f"$ ab {options} http://h/\n{whole}")
    _check(run, "ab", {"threads": 10}, {"tps": 320.24, "failed": 0})
    assert not [name for name in run.figures if name.startswith("p")]
    for other in (f"$ ab -n 300 http://h/-d\n{whole}", f"$ ab {options} http://h/\n{whole.partition('Total: ')[0]}"):
        assert generator_output.runs(other)[0].cut


def test_percentiles_of_ycsb_are_the_user_s() -> None:
    """An operation without a Return is whole with the last percentile that the others have."""
    (run,) = generator_output.runs(_YCSB_OWN)
    _check(run, "ycsb", {}, {"tps": 988.1, "read_p91_ms": 0.014, "read_modify_write_p999_ms": 0.28})
    lines = _YCSB_OWN.splitlines(keepends=True)
    cut = [generator_output.runs("".join(lines[:until]))[0].cut for until in range(2, len(lines))]
    # Between operations nothing tells: behind READ's Return alone.
    assert [lines[until + 1] for until, is_cut in enumerate(cut) if not is_cut] == ["[READ], Return=OK, 500\n"]


def test_wrk2_tells_what_was_due_from_what_was_sent() -> None:
    table = "  Latency Distribution (HdrHistogram - {})\n 50.000%    {}ms\n 99.900%   {}ms\n\n  Detailed spectrum:\n"
    tables = table.format("Recorded Latency", 5.85, 23.1) + table.format(
        "Uncorrected Latency (measured without taking delayed starts into account)", 1.21, 4.0
    )
    plain = re.sub(r"^ +Latency Distribution\n(?: +\d+% .*\n)+", "", text("wrk"), flags=re.MULTILINE)
    (run,) = generator_output.runs(re.sub(r"^( +\d+ requests in)", rf"{tables}\1", plain, flags=re.MULTILINE))
    _check(run, "wrk", {}, {"p50_ms": 5.85, "p999_ms": 23.1, "uncorrected_p50_ms": 1.21, "uncorrected_p999_ms": 4})


def test_sysbench_counts_from_its_last_checkpoint() -> None:
    whole = text("sysbench_1")
    report = whole[whole.index("SQL statistics:") :]
    earlier = report.replace("30.94", "99.99")
    (run,) = generator_output.runs(whole.replace(report, f"[ 10s ] Checkpoint report:\n{earlier}\n{report}"))
    _check(run, "sysbench", {"threads": 1, "checkpoint": 10}, {"tps": 30.94, "qps": 495.03})
    assert (run.version, "total_time_s" in run.figures) == ("1.0.11", False)
    (run,) = generator_output.runs(whole.replace(report, f"[ 10s ] Checkpoint report:\n{earlier}\n"))
    assert run.cut


def test_each_row_of_jmh_s_table_is_a_run() -> None:
    head = "# JMH version: 1.37\n# Threads: 4 threads, will synchronize iterations\nIteration   1: 56.1 ops/ms\n\n"
    head += "Benchmark    (kind)  (size)   Mode  Cnt    Score    Error   Units\n"
    rows = [
        "Maps.get       hash      16  thrpt   20   57.217 ±  0.971  ops/ms\n",
        "Maps.put        N/A      16   avgt   20    0,145 ±  0,001   us/op\n",
        "Maps.once      hash      16     ss       230.500            ms/op\n",
    ]
    get, put, once = generator_output.runs(head + "".join(rows))
    levels = {"workload": "Maps.get", "params": "hash_16", "mode": "thrpt", "threads": 4}
    _check(get, "jmh", levels, {"tps": 57217, "tps_error": 971})
    _check(put, "jmh", {"workload": "Maps.put", "mode": "avgt"}, {"latency_mean_ms": 0.000145})
    _check(once, "jmh", {"mode": "ss"}, {"latency_mean_ms": 230.5})
    assert [run.version for run in (get, put, once)] == ["1.37"] * 3


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("logs/sysbench_1.txt", lambda plain: "\x1b[32m" + plain.replace("tps", "\x1b[1mtps\x1b[0m")),
        # As a reply quotes it, and indented in one.
        ("logs/go_tpc.txt", lambda plain: "".join(f"> {line}\n>\n" for line in plain.splitlines())),
        ("logs/wrk.txt", lambda plain: plain.replace("\n", "\n  ")),
        ("sysbench/read_write.txt", lambda plain: plain.replace("\n[ ", "\n2024-01-01 10:00:00 [ ")),
        ("logs/fio.json", lambda plain: f"fio: {{no such}} engine\n3;fio-3.33;seqw;0;0;0\n{plain}"),
        ("logs/fio.json", lambda plain: f'{{"level": "info"}}\n{plain}'),
        ("logs/fio.json", lambda plain: f"INFO - output: {json.loads(plain)!r}\n"),
        ("logs/fio.json", lambda plain: pformat(json.loads(plain))),
    ],
)
def test_what_stands_around_a_run_changes_nothing_of_it(name: str, change: Callable[[str], str]) -> None:
    plain = (FIXTURES / name).read_text()
    (expected,), (found,) = generator_output.runs(plain), generator_output.runs(change(plain))
    assert (found.figures, found.levels, found.seconds) == (expected.figures, expected.levels, expected.seconds)
    assert (found.problem, found.version) == ("", expected.version)


def test_lines_of_seconds_that_were_wrapped_are_counted() -> None:
    plain = (FIXTURES / "sysbench/read_write.txt").read_text()
    (whole,) = generator_output.runs(plain)
    (found,) = generator_output.runs(plain.replace(" lat (ms", " lat\n(ms", 1))
    assert (whole.unread, found.unread, len(found.seconds)) == (0, 1, len(whole.seconds) - 1)


def test_times_of_a_clock_become_seconds_of_the_run() -> None:
    """pgbench --progress-timestamp of 30 s: 5 s before the last line is second 25."""
    lines = "".join(f"progress: {t}.0 s, 1200.0 tps, lat 6.6 ms stddev 1.0\n" for t in (1704103255, 1704103260))
    (run,) = generator_output.runs(lines + text("pgbench_12"))
    assert [t for t, _ in run.seconds] == [25.0, 30.0]


FILEIO = """sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)

Number of threads: 4
File operations:
    reads/s:                      1234.56
    writes/s:                     823.04
    fsyncs/s:                     2633.70

Throughput:
    read, MiB/s:                  19.29
    written, MiB/s:               12.86

General statistics:
    total time:                          10.0339s
    total number of events:              46985

Threads fairness:
    execution time (avg/stddev):   2.4876/0.00
"""


def test_files_and_memory_have_their_rates() -> None:
    (run,) = generator_output.runs(FILEIO)
    assert {name: q.value for name, q in run.figures.items() if name.endswith(("_iops", "_throughput"))} == {
        "read_iops": 1234.56, "write_iops": 823.04, "fsync_iops": 2633.7,
        "read_throughput": 19.29, "write_throughput": 12.86,
    }  # fmt: skip
    # github.com/akopytov/sysbench, tests/t/test_fileio.t, and public runs of 1.1: neither events nor a time.
    head = FILEIO.partition("File operations:")[0]
    times = "Latency (ms):\n   min:  0.00\n   avg:  0.33\n   max:  920.89\n   95th percentile:  0.33\n   sum:  712.19\n"
    rates = "IOPS=0.00 0.00 MiB/s (0.00 MB/s)\n         write: IOPS=31961.19 499.39 MiB/s (523.65 MB/s)\n"
    new = f"Throughput:\n         read:  {rates}         fsync: IOPS=327500.24\n\n{times}"
    for run in generator_output.runs(f"{head}{new}\n{new}"):
        expected = {
            "write_iops": 31961.19,
            "fsync_iops": 327500.24,
            "write_throughput": 499.39,
            "latency_mean_ms": 0.33,
        }
        _check(run, "sysbench", {}, {**expected, "p95_ms": 0.33})
    (cut,) = generator_output.runs(f"{head}{new[:-12]}")
    assert cut.problem == "the output of sysbench is cut: it has no events"
    memory = FILEIO.replace(", MiB/s", "").replace("Throughput:", "51200.00 MiB transferred (5120.00 MiB/sec)")
    (run,) = generator_output.runs(memory)
    assert run.figures["transferred_throughput"].value == 5120


def test_json_of_fio_2_counts_in_microseconds() -> None:
    whole = (FIXTURES / "logs/fio.json").read_text()
    (now,) = generator_output.runs(whole)
    (before,) = generator_output.runs(whole.replace("lat_ns", "lat"))
    assert len(generator_output.runs(whole + whole)) == 2
    assert before.figures["write_p99_ms"].value == pytest.approx(1000 * now.figures["write_p99_ms"].value)


def test_etcd_s_benchmark_with_its_samples() -> None:
    # Of 10 requests it prints no percentile above 90%.
    head = (FIXTURES / "etcd" / "range_1.txt").read_text().partition("  95% in")[0]
    (cut,) = generator_output.runs(head)
    (whole,) = generator_output.runs(f"{head}\nSample in one second (unix latency throughput):\n1458151378,51.6ms,1\n")
    assert (cut.cut, whole.problem, whole.figures["tps"].value) == (True, "", 3509.734298969339)


@pytest.mark.parametrize(
    ("name", "printed", "said"),
    [
        # As pgbench's own source writes them: in 9.4, up to version 11, and from 12 on; its stdout ("starting
        # vacuum...") may stand before them in one file.
        ("pgbench", "Client 3 aborted in state 5: ERROR:  deadlock detected", "ERROR:  deadlock"),
        ("pgbench", "client 3 aborted in command 5 (SQL) of script 0; ERROR:  deadlock detected", "ERROR:  deadlock"),
        ("pgbench", 'connection to database "x" failed:\nFATAL:  sorry, too many clients already', "FATAL:  sorry"),
        ("pgbench", 'starting vacuum...pgbench: error: ERROR:  relation "t" does not exist', "pgbench: error: ERROR:"),
        ("pgbench", "client 7 aborted: out of memory", "client 7 aborted: out of memory"),
        # As memtier_benchmark's source writes what a server answers in place of a value.
        ("memtier", "server 127.0.0.1:6379 handle error response: -NOAUTH Authentication required.", "-NOAUTH Auth"),
        ("redis_benchmark", "ERR max number of clients reached", "ERR max number of clients"),
    ],
)
def test_what_a_program_complains_of_is_its_failure(name: str, printed: str, said: str) -> None:
    assert str(generator_output.failure(name, f"{printed}\n")).startswith(said)
