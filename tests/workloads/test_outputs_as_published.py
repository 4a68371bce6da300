"""Outputs as people publish them: the forms and figures of public files and threads, which are named beside each."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from kit import FIXTURES

from benchbook.errors import OutputNotParseable
from benchbook.workloads import generator_output
from benchbook.workloads.generator_output import GeneratorRun


def _check(run: GeneratorRun, levels: dict[str, Any], figures: dict[str, float]) -> None:
    assert (run.problem, run.levels) == ("", levels)
    assert {name: run.figures[name].value for name in figures} == pytest.approx(figures, rel=1e-9)


# -- hey, BenchBase ---------------------------------------------------------------------------------------------------

# github.com/hatoo/oha, README.
HEY = """Summary:
  Total:\t0.0200 secs
  Slowest:\t0.0128 secs
  Fastest:\t0.0004 secs
  Average:\t0.0035 secs
  Requests/sec:\t10022.9023

Response time histogram:
  0.000 [1]\t|
  0.002 [81]\t|■■■■

Latency distribution:
  10% in 0.0011 secs
  50% in 0.0024 secs
  99% in 0.0123 secs

Status code distribution:
  [200]\t197 responses
"""


def test_hey_is_not_the_benchmark_of_etcd_that_prints_alike() -> None:
    (run,) = generator_output.runs(f"$ hey -c 50 -n 200 http://127.0.0.1:8080/x\n\n{HEY}")
    assert run.program == "hey"
    figures = {"tps": 10022.9023, "events": 197, "total_time_s": 0.02, "latency_mean_ms": 3.5, "latency_max_ms": 12.8,
               "p50_ms": 2.4, "p99_ms": 12.3}  # fmt: skip
    _check(run, {"workload": "x", "threads": 50}, figures)
    assert generator_output.runs(HEY.partition("Status")[0])[0].problem == "the output of hey is cut: it has no end"
    # As it prints them (its source, requester/print.go): what the server refused, what failed, a percentile of nothing.
    more = '  [404]\t2 responses\n\nError distribution:\n  [3]\tGet "http://127.0.0.1:8080": EOF\n'
    (run,) = generator_output.runs(HEY.replace("10% in 0.0011", "0% in 0.0000") + more)
    _check(run, {}, {"events": 199, "non_2xx": 2, "failed": 3})
    assert "p0_ms" not in run.figures
    # 2,000,000 of 3.5 ms are 7,000 s; divided by the million that it keeps they are 7 ms;
    # 1,250,000 of 2.8 ms are 3,500 s.
    # github.com/rakyll/hey/issues/227: one that counts no further than that million.
    for rate, counts, printed, mean in (
        (100_000_000, "2000000 responses", 0.0070, 3.5),
        (62_500_000, "650000 responses\n  [404]\t600000 responses", 0.0035, 2.8),
        (49_950_000, "990000 responses\n  [404]\t9000 responses", 0.0035, 3.5),
        (62_500_000, "1000000 responses", 0.0035, 2.8),
    ):
        text = HEY.replace("0.0035", f"{printed:.4f}").replace("10022.9023", str(rate))
        (run,) = generator_output.runs(text.replace("197 responses", counts))
        _check(run, {}, {"latency_mean_ms": mean})
        assert ("events" in run.figures) == (counts != "1000000 responses")
    (run,) = generator_output.runs(HEY.replace("0.0200 secs", "20 ms"))  # its time is not read
    _check(run, {}, {"tps": 10022.9023, "events": 197, "latency_mean_ms": 3.5})


# github.com/cmu-db/benchbase, of TPC-C on one warehouse; of 2022, without its times, in another order.
BENCHBASE = """{
 "Start timestamp (milliseconds)": 1731548786702,
 "Elapsed Time (nanoseconds)": 60000083167,
 "Benchmark Type": "tpcc",
 "Final State": "EXIT",
 "Measured Requests": 201,
 "isolation": null,
 "scalefactor": "1",
 "terminals": "4",
 "Latency Distribution": {
  "95th Percentile Latency (microseconds)": 2176054,
  "Maximum Latency (microseconds)": 8337726,
  "Median Latency (microseconds)": 1066925,
  "Average Latency (microseconds)": 1185045
 },
 "Throughput (requests/second)": 3.349995356515603,
 "Goodput (requests/second)": 3.2999954258213404
}
"""


def test_the_summary_of_benchbase() -> None:
    (run,) = generator_output.runs(BENCHBASE)
    figures = {"tps": 3.349995356515603, "goodput_tps": 3.2999954258213404, "events": 201, "p50_ms": 1066.925,
               "total_time_s": 60.000083167, "latency_mean_ms": 1185.045, "p95_ms": 2176.054}  # fmt: skip
    _check(run, {"workload": "tpcc", "threads": 4, "scale": 1}, figures)
    old = (
        '{"scalefactor": "1", "Benchmark Type": "tpcc", "isolation": "TRANSACTION_SERIALIZABLE", "Goodput (requests/'
        'second)": 33.31620875370126, "terminals": "1", "Latency Distribution": {"Average Latency (microseconds)": '
        '29874}, "Throughput (requests/second)": 33.4328738168708}'
    )
    # github.com/cmu-db/benchbase/issues/393: with a comment.
    (run,) = generator_output.runs(old.replace(', "Benchmark', ',\n // TODO: the time\n"Benchmark'))
    _check(run, {"workload": "tpcc", "threads": 1, "scale": 1, "isolation": "SERIALIZABLE"},
           {"tps": 33.4328738168708, "latency_mean_ms": 29.874})  # fmt: skip


# -- JMH --------------------------------------------------------------------------------------------------------------


def test_jmh_s_orders_of_magnitude_are_refused_and_its_percentiles_are_those_of_a_row() -> None:
    """github.com/skjolber and others show the first table; modes and `·p0.50` as in public runs of gRPC clients."""
    rows = (
        "Benchmark        (inputSize)  Mode  Cnt   Score    Error  Units\n"
        "Main.testHybrid          100  avgt    5  ≈ 10⁻⁴           ms/op\n"
        "Main.testHybrid         1000  avgt    5   0.003 ±  0.001  ms/op\n"
    )
    order, whole = generator_output.runs(rows)
    assert order.problem == (
        "JMH prints the order of its figure, and not the figure: Main.testHybrid 100 avgt 5 ≈ 10⁻⁴ ms/op. "
        "Fix: let it print a finer unit (-tu ns)"
    )
    _check(whole, {"workload": "Main.testHybrid", "params": 1000, "mode": "avgt"}, {"latency_mean_ms": 0.003})
    sampled = (
        "ClientSimple.listUser                       avgt           3.589           ms/op\n"
        "ClientSimple.createUser                     sample  15184   2.105 ± 0.024   ms/op\n"
        "ClientSimple.createUser:createUser·p0.00    sample          0.552           ms/op\n"
        "ClientSimple.createUser:createUser·p0.50    sample          1.962           ms/op\n"
        "ClientSimple.createUser:createUser·p0.999   sample         16.394           ms/op\n"
        "ClientSimple.createUser:createUser·p1.00    sample         21.103           ms/op\n"
        # As later versions name them, and with a decimal comma.
        "ClientSimple.existUser                      sample  16495   1,946 ± 0,017   ms/op\n"
        "ClientSimple.existUser:p0.50                sample          1,898           ms/op\n"
    )
    _, create, exist = generator_output.runs(sampled)
    _check(create, {"workload": "ClientSimple.createUser", "mode": "sample"},
           {"latency_mean_ms": 2.105, "p50_ms": 1.962, "p999_ms": 16.394, "latency_max_ms": 21.103})  # fmt: skip
    _check(exist, {"workload": "ClientSimple.existUser", "mode": "sample"}, {"latency_mean_ms": 1.946, "p50_ms": 1.898})
    (grouped,) = generator_output.runs("Maps.get  thrpt  5  1,234.5 ±  3.0  ops/s\n")
    _check(grouped, {"workload": "Maps.get", "mode": "thrpt"}, {"tps": 1234.5, "tps_error": 3.0})
    # What its profilers count is no time.
    gc = "A.get  avgt    5   3.932 ±  0.022   ns/op\nA.get:gc.count  avgt    5     ≈ 0           counts\n"
    assert [run.problem for run in generator_output.runs(gc)] == [""]


# The shape of a run in JMH's `-rf json`, with the figures of the rows above.
JMH_JSON = """[
    {
        "jmhVersion" : "1.21", "benchmark" : "ClientSimple.createUser", "mode" : "sample", "threads" : 4,
        "params" : {"kind" : "hash", "size" : "16"},
        "primaryMetric" : {
            "score" : 2.105, "scoreError" : 0.024, "scoreConfidence" : [2.081, 2.129],
            "scorePercentiles" : {"0.0" : 0.552, "50.0" : 1.962, "99.9" : 16.394, "100.0" : 21.103},
            "scoreUnit" : "ms/op", "rawData" : [[2.105]]
        },
        "secondaryMetrics" : {"gc" : {"score" : 3.0, "scoreUnit" : "counts"}}
    },
    {
        "jmhVersion" : "1.21", "benchmark" : "ClientSimple.listUser", "mode" : "thrpt", "threads" : 1,
        "primaryMetric" : {
            "score" : 1.55E-4, "scoreError" : "NaN", "scorePercentiles" : {"50.0" : 1.55E-4},
            "scoreUnit" : "ops/ns", "rawData" : [[1.55E-4]]
        },
        "secondaryMetrics" : {}
    }
]
"""


def test_jmh_s_results_as_csv_and_json() -> None:
    """The CSV: github.com/gmaldona/JMH-Results; a parameter's column and percentiles as its source writes them."""
    head = '"Benchmark","Mode","Threads","Samples","Score","Score Error (99.9%)","Unit"\n'
    conn, low, own = generator_output.runs(
        head
        + '"C.benchmarkHighWriteHighRead","avgt",10,5,1.777519,1.965762,"us/op"\n'
        + '"C.benchmarkLowWriteHighRead","thrpt",10,5,11620875.687072,4121201.710951,"ops/s"\n'
        + '"C.own","sample",1,15184,2.105,0.024,"ms/op",100\n"C.own:own·p0.50","sample",1,1,1.962,NaN,"ms/op",100\n'
    )
    name = "C.benchmarkHighWriteHighRead"
    _check(conn, {"workload": name, "mode": "avgt", "threads": 10},
           {"latency_mean_ms": 0.001777519, "latency_error_ms": 0.001965762})  # fmt: skip
    _check(low, {"workload": "C.benchmarkLowWriteHighRead", "mode": "thrpt", "threads": 10},
           {"tps": 11620875.687072, "tps_error": 4121201.710951})  # fmt: skip
    _check(own, {"workload": "C.own", "mode": "sample", "threads": 1, "params": 100}, {"p50_ms": 1.962})
    create, listed = generator_output.runs(JMH_JSON)
    levels = {"workload": "ClientSimple.createUser", "mode": "sample", "threads": 4,
              "params": "hash_16"}  # fmt: skip
    _check(create, levels, {"latency_mean_ms": 2.105, "latency_error_ms": 0.024, "p50_ms": 1.962, "p999_ms": 16.394})
    _check(listed, {"workload": "ClientSimple.listUser", "mode": "thrpt", "threads": 1}, {"tps": 155_000})
    assert (create.version, "tps_error" in listed.figures) == ("1.21", False)
    (cut,) = generator_output.runs(JMH_JSON[: JMH_JSON.rindex('"rawData"')])
    assert cut.problem == "the output of JMH is cut: it has no end"
    one = JMH_JSON.replace('"kind" : "hash", ', "")
    assert generator_output.runs(one)[0].levels["params"] == 16, "as in its CSV"
    (first,) = generator_output.runs(one[: one.index("    {", 10)])
    assert first.problem == "the output of JMH is cut: it has no end", "others were to follow"


def test_other_json_that_names_a_benchmark_is_not_jmh_s() -> None:
    whole = (FIXTURES / "sysbench" / "read_write.txt").read_text()
    (run,) = generator_output.runs(f'{{"benchmark": "oltp", "nodes": 3}}\n{whole}')
    assert (run.program, run.problem) == ("sysbench", "")
    with pytest.raises(OutputNotParseable, match="not the output of a load generator"):
        generator_output.runs('{"benchmark": "mine", "score": 3}')


def test_ten_numbers_in_a_row_are_not_sysbench_s() -> None:
    with pytest.raises(OutputNotParseable, match="not the output of a load generator that is known"):
        generator_output.runs("1,8,100,200,3,4,5,6,7,8\n2,8,101,202,3,4,5,6,7,8\n")
    with pytest.raises(OutputNotParseable, match="the output of sysbench is cut"):
        generator_output.runs("1,8,99.00,1980.05,1386.00,396.00,198.05,12.30,0.00,0.00\n")


# -- wrk, fio, HammerDB -----------------------------------------------------------------------------------------------


def test_wrk2_whose_blanks_are_gone() -> None:
    """As a Markdown page keeps it (a public report on a key-value store)."""
    lines = [
        "Running 300s test @ http://127.0.0.1:8080", "1 threads and 1 connections",
        "Thread Stats   Avg      Stdev     Max   +/- Stdev", "Latency    48.22ms   48.12ms 145.15ms   75.76%",
        "Req/Sec     1.28k    78.74     1.38k    68.75%", "Latency Distribution (HdrHistogram - Recorded Latency)",
        "50.000%   29.74ms", "99.000%  142.08ms", "100.000%  145.28ms",
        "374945 requests in 5.00m, 23.96MB read", "Socket errors: connect 0, read 1, write 0, timeout 2",
        "Non-2xx or 3xx responses: 3", "Requests/sec:   1249.81", "Transfer/sec:     81.78KB",
    ]  # fmt: skip
    (run,) = generator_output.runs("\n".join(lines))
    figures = {"latency_mean_ms": 48.22, "latency_max_ms": 145.15, "p50_ms": 29.74, "p99_ms": 142.08,
               "total_time_s": 300, "events": 374945, "failed": 3, "non_2xx": 3}  # fmt: skip
    _check(run, {"threads": 1}, figures)


def test_wrk2_that_has_measured_nothing_has_no_latency() -> None:
    """github.com/takakd/lambda-wrk2: of its first 10 s it keeps none."""
    (run,) = generator_output.runs(
        "Running 5s test @ https://h/\n  2 threads and 2 connections\n"
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev\n"
        "    Latency     -nanus    -nanus   0.00us    0.00%\n    Req/Sec       -nan      -nan   0.00      0.00%\n"
        "  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%    0.00us\n100.000%    0.00us\n"
        "  8 requests in 5.43s, 5.02KB read\nRequests/sec:      1.47\nTransfer/sec:      0.92KB\n"
    )
    assert run.figures.keys() == {"tps", "events", "total_time_s"}


def test_fio_that_adds_reads_and_writes() -> None:
    """`unified_rw_reporting`; percentiles by `percentile_list` have six digits. Both as public reports show them."""
    (run,) = generator_output.runs(
        "fio-3.1\n\n4k_randwrite: (groupid=0, jobs=4): err= 0: pid=10347: Wed May 31 18:15:30 2023\n"
        "  mixed: IOPS=165k, BW=643MiB/s (674MB/s)(1130GiB/1800001msec)\n"
        "    clat (usec): min=97, max=35900, avg=767.45, stdev=589.12\n"
        "     lat (usec): min=100, max=35907, avg=774.63, stdev=590.51\n    clat percentiles (usec):\n"
        "     | 50.000th=[  611], 99.000th=[ 2933], 99.900th=[ 3556], 99.990th=[ 4424]\n"
        "     issued rwt: total=296200000,0,0, short=0,0,0, dropped=0,0,0\n"
    )
    figures = {"mixed_iops": 165_000, "mixed_lat_mean_ms": 0.77463, "mixed_p50_ms": 0.611, "mixed_p999_ms": 3.556}
    _check(run, {"workload": "4k_randwrite", "threads": 4}, figures)


@pytest.mark.parametrize("first", ["Error in Virtual User 30: ERROR:  could not serialize access\n", ""])
@pytest.mark.parametrize("last", ["Vuser 30:FINISHED FAILED\n", "Error in Virtual User 30: ERROR: gone\n", ""])
def test_a_user_of_hammerdb_that_ended_early_makes_it_no_run_of_so_many(first: str, last: str) -> None:
    """A public run of 100 users on PostgreSQL; the next run of the file is not blamed for it."""
    result = "Vuser 1:100 Active Virtual Users configured\n"
    result += "Vuser 1:TEST RESULT : System achieved 2891 NOPM from 6888 PostgreSQL TPM\n"
    one, two = generator_output.runs(
        f"{first}{result}Vuser 2:FINISHED SUCCESS\n{last}ALL VIRTUAL USERS COMPLETE\n{result}"
    )
    assert one.problem.startswith("HammerDB says that it failed: ") == bool(first or last)
    _check(two, {"workload": "tproc_c", "threads": 100}, {"nopm": 2891, "tpm": 6888})


def test_hammerdb_s_web_service_lists_it_as_json() -> None:
    listed = '[\n  "1",\n  "5 Active Virtual Users configured",\n  "1",\n'
    listed += '  "TEST RESULT : System achieved 0 Oracle TPM at 27975 NOPM",\n'
    (run,) = generator_output.runs(
        listed + '  "0",\n  "Vuser 2:FINISHED SUCCESS",\n  "0",\n  "ALL VIRTUAL USERS COMPLETE"\n]\n'
    )
    _check(run, {"workload": "tproc_c", "threads": 5}, {"nopm": 27975, "tpm": 0})
    (run,) = generator_output.runs(listed + '  "0",\n  "Vuser 2:FINISHED FAILED"\n]\n')
    assert run.problem == "HammerDB says that it failed: Vuser 2:FINISHED FAILED"


def test_a_job_of_hammerdb_with_its_times() -> None:
    """The documentation of HammerDB 6, of a pipeline on MariaDB; clients that are asynchronous; its profile alone."""
    result = '[\n  "67FD3345",\n  "2025-04-14 17:09:41",\n  "24 Active Virtual Users configured",\n'
    result += '  "TEST RESULT : System achieved 128176 NOPM from 298394 MariaDB TPM"\n]\n'
    times = 'TRANSACTION RESPONSE TIMES\n{\n  "NEWORD": {\n    "elapsed_ms": "414691.5",\n    "calls": "1805808",\n'
    times += (
        '    "min_ms": "0.586",\n    "avg_ms": "5.765",\n    "max_ms": "108.869",\n    "p99_ms": "13.309"\n  }\n}\n'
    )
    count = 'TRANSACTION COUNT\n{"MariaDB tpm": {\n    "2025-04-14 17:09:41": "0"\n  }}\n\nHAMMERDB RESULT\n'
    (run,) = generator_output.runs(times + count + result)
    figures = {"nopm": 128176, "tpm": 298394, "neword_events": 1805808, "neword_latency_mean_ms": 5.765,
               "neword_latency_max_ms": 108.869, "neword_p99_ms": 13.309}  # fmt: skip
    _check(run, {"workload": "tproc_c", "threads": 24}, figures)
    # Times that stand behind no result of theirs are not given to it.
    (run,) = generator_output.runs(result + times)
    assert sorted(run.figures) == ["nopm", "tpm"]
    sessions = "Vuser 1:5 VU * 10 AC = 50 Active Sessions configured\n"
    (run,) = generator_output.runs(sessions + "Vuser 1:TEST RESULT : System achieved 53 NOPM from 399 PostgreSQL TPM\n")
    _check(run, {"workload": "tproc_c", "threads": 50}, {"nopm": 53})
    with pytest.raises(OutputNotParseable, match=r"^times of procedures of HammerDB, which is not read"):
        generator_output.runs("+-+-+\nPostgreSQL HammerDB Time Profile Report @ Tue Jun 23 16:03:54 BST 2026\n+-+-+\n")


# -- go-ycsb, memtier_benchmark ---------------------------------------------------------------------------------------

_YCSB_TABLE = """Run finished, takes 194.702431ms
+-----------+----------+-------+----------+---------+---------+---------+----------+------------+-------------+
| OPERATION | TAKES(S) | COUNT |   OPS    | AVG(US) | MIN(US) | MAX(US) | 50TH(US) | 99.9TH(US) | 99.99TH(US) |
+-----------+----------+-------+----------+---------+---------+---------+----------+------------+-------------+
| READ      |      0.2 | 19939 | 102403.5 |       1 |       0 |    3845 |        2 |          3 |          29 |
| TOTAL     |      0.2 | 40000 | 205550.2 |       1 |       0 |    6919 |        2 |          3 |         308 |
| UPDATE    |      0.2 | 20061 | 103065.9 |       1 |       0 |    6919 |        2 |          3 |         630 |
+-----------+----------+-------+----------+---------+---------+---------+----------+------------+-------------+
"""
_YCSB_JSON = """Run finished, takes 122.66823ms
[{"50th(us)":"2","99.99th(us)":"114","Avg(us)":"1","Count":"19979","Max(us)":"10207","Min(us)":"0",\
"OPS":"162870.9","Operation":"READ","Takes(s)":"0.1"},{"50th(us)":"2","99.99th(us)":"123","Avg(us)":"1",\
"Count":"40000","Max(us)":"10207","Min(us)":"0","OPS":"325916.2","Operation":"TOTAL","Takes(s)":"0.1"}]
"""


def test_go_ycsb_as_a_table_and_as_json() -> None:
    """Its measurement (v1.0.1) was run here with no store behind it; without some of its columns."""
    (run,) = generator_output.runs(_YCSB_TABLE)
    _check(run, {}, {"tps": 205550.2, "events": 40000, "total_time_s": 0.2, "read_events": 19939, "read_p50_ms": 0.002,
                     "read_p9999_ms": 0.029, "update_latency_max_ms": 6.919, "update_tps": 103065.9})  # fmt: skip
    (run,) = generator_output.runs(_YCSB_JSON)
    _check(run, {}, {"tps": 325916.2, "events": 40000, "read_events": 19979, "read_p9999_ms": 0.114,
                     "read_latency_max_ms": 10.207, "total_time_s": 0.1})  # fmt: skip
    # github.com/Jerick26/tidb_lessons: the whole run, and not the last of its operations.
    line = "{} - Takes(s): {}, Count: 500, OPS: 11.5, Avg(us): 3331, Min(us): 455, Max(us): 271100, 99th(us): 11000\n"
    printed = f"Run finished, takes 44.39704297s\n{line.format('READ', 44.4)}{line.format('UPDATE', 43.8)}"
    _check(generator_output.runs(printed)[0], {}, {"total_time_s": 44.39704297, "tps": 23, "read_p99_ms": 11})
    for whole in (_YCSB_TABLE, _YCSB_JSON):
        assert generator_output.runs(whole[: whole.rindex("UPDATE" if "UPDATE" in whole else '"OPS"')])[0].cut
    # Older ones have no TOTAL: the operations that did not fail are added.
    older = re.sub(r"\| TOTAL .*\n", "| READ_ERROR |   0.2 |     7 |     35.0 |       1 |", _YCSB_TABLE)
    (run,) = generator_output.runs(
        older.replace("35.0 |       1 |", "35.0 |       1 |       0 |  9 |  2 |  3 |  9 |\n")
    )
    _check(run, {}, {"tps": 102403.5 + 103065.9, "events": 40000, "failed": 7})
    with pytest.raises(OutputNotParseable, match=r"^counts that come while it runs of go-ycsb, which is not read"):
        generator_output.runs("READ   - Takes(s): 30.0, Count: 410, OPS: 13.7, Avg(us): 3588, Min(us): 544\n")
    with pytest.raises(OutputNotParseable, match=r"^single operations \(measurementtype=raw or csv\) of go-ycsb"):
        generator_output.runs("Run finished, takes 2ms\noperation,timestamp_us,latency_us\nTOTAL,1795881725756537,0\n")


def test_memtier_without_its_first_lines_and_as_json() -> None:
    """A public run of a clone of Redis; the keys are those that its source writes, one of them twice."""
    table = "====\nType         Ops/sec     Hits/sec   Misses/sec    Avg. Latency     p50 Latency   p99.9 Latency\n"
    table += "----\nSets        65244.72          ---          ---         5.19180         2.86300       380.92700\n"
    totals = "Totals     717671.01     61776.51    590649.78         5.16777         2.86300       380.92700\n"
    (run,) = generator_output.runs(table + totals)
    _check(run, {}, {"tps": 717671.01, "latency_mean_ms": 5.16777, "p50_ms": 2.863, "p999_ms": 380.927})
    assert generator_output.runs(table)[0].problem == "the output of memtier_benchmark is cut: it has no tps"
    sets = {"Count": 9, "Ops/sec": 1.5, "Average Latency": 3.2, "Percentile Latencies": {"p50.00": 2.1}}
    latencies = {"Latency": 1.234, "Average Latency": 1.234, "Min Latency": 0.321, "Max Latency": 9.999}
    percentiles = {"p50.00": 1.119, "p99.90": 8.255, "Histogram log format": {"Compressed Histogram": "HISTFAA"}}
    stats = {"Runtime": {"Total duration": 6007, "Time unit": "MILLISECONDS"}, "Sets": sets,
             "Totals": {"Count": 99, "Ops/sec": 16.48, **latencies, "Percentile Latencies": percentiles}}  # fmt: skip
    written = {"configuration": {"pipeline": 4, "data_size": 32},
               "run information": {"Threads": 2, "Connections per thread": 10}, "ALL STATS": stats}  # fmt: skip
    (run,) = generator_output.runs(json.dumps(written, indent=1))
    levels = {"workload": "all", "threads": 20, "pipeline": 4, "value_bytes": 32}
    figures = {"tps": 16.48, "events": 99, "total_time_s": 6.007, "latency_mean_ms": 1.234, "latency_min_ms": 0.321}
    _check(run, levels, {**figures, "latency_max_ms": 9.999, "p50_ms": 1.119, "p999_ms": 8.255})
    worst = {**stats, "Totals": {**stats["Totals"], "Ops/sec": 11.0}}
    written = {"BEST RUN RESULTS": stats, "WORST RUN RESULTS": worst}
    best, last = generator_output.runs(json.dumps(written))
    _check(best, {"workload": "best_run"}, {"tps": 16.48})
    _check(last, {"workload": "worst_run"}, {"tps": 11})


# -- go-tpc, redis-benchmark, pgbench, sysbench -----------------------------------------------------------------------


def test_queries_of_go_tpc() -> None:
    """The documentation of TiDB (CH-benCHmark), and a public run of TPC-H."""
    order = "[Summary] NEW_ORDER - Takes(s): 3599.7, Count: 5629221, TPM: 93826.9, Sum(ms): 363758020.7, Avg(ms): 64.6"
    (run,) = generator_output.runs(
        f"$ tiup bench ch --warehouses 1000 run -D tpcc -T 50 -t 1\nFinished: 50 OLTP workers\n{order}\n"
        "tpmC: 93826.9, efficiency: 729.6%\n[Summary] Q1     - Count: 11, Sum(ms): 42738.2, Avg(ms): 3885.3\n"
        "[Summary] Q10    - Count: 11, Sum(ms): 440370.3, Avg(ms): 40034.3\nQphH: 201.3\n"
    )
    figures = {"tpmc": 93826.9, "events": 5629221, "q10_events": 11, "q10_latency_mean_ms": 40034.3, "qphh": 201.3}
    _check(run, {"workload": "ch", "threads": 50, "warehouses": 1000}, figures)
    (run,) = generator_output.runs(
        "$ go-tpc tpch run --sf=1 -T 4\n[Current] Q1: 2.26s\nFinished\n"
        "[Summary] Q1: 2.23s\n[Summary] Q10: 1.14s\n[Summary] Q16: 0.59s\n"
    )
    _check(run, {"workload": "tpch", "threads": 4, "scale": 1},
           {"queries_s": 3.96, "q1_latency_mean_ms": 2230, "q16_latency_mean_ms": 590})  # fmt: skip
    # A sum without one of its queries is none.
    (cut,) = generator_output.runs("[Summary] Q1: 2.23s\n[Summary] Q10: 1.14s\n[Summary] Q16: 0.5")
    assert cut.problem == "the output of go-tpc is cut: it has no end"


def test_go_tpc_of_early_2020_and_its_table() -> None:
    """Two public runs (TiDB 4.0) without tpmC, one of them without any mark; the table has the shape of its source."""
    lines = [
        "{}DELIVERY - Takes(s): 118.4, Count: 992, TPM: 502.6, Avg(ms): 613, 99.9th(ms): 4000",
        "{}NEW_ORDER - Takes(s): 119.0, Count: 10439, TPM: 5264.2, Avg(ms): 272, 99.9th(ms): 2000",
        "{}NEW_ORDER_ERR - Takes(s): 0.0, Count: 20, TPM: 43882.8, Avg(ms): 290, 99.9th(ms): 1000",
        "{}STOCK_LEVEL - Takes(s): 119.1, Count: 933, TPM: 470.1, Avg(ms): 43, 99.9th(ms): 512",
    ]  # fmt: skip
    running = "\n".join(lines).replace("10439", "9540").format("", "", "", "")
    figures = {"new_order_tpm": 5264.2, "new_order_events": 10439, "new_order_p999_ms": 2000, "failed": 20,
               "events": 992 + 10439 + 933, "total_time_s": 119.0}  # fmt: skip
    for mark in ("", "[Summary] "):
        report = "Finished\n" + "\n".join(line.format(mark) for line in lines) + "\n"
        command = "$ go-tpc tpcc --warehouses 8 run --threads 16\n"
        whole = command + (running if not mark else "") + "\n" + report
        found = generator_output.runs(whole + whole)
        assert len(found) == 2
        for run in found:
            _check(run, {"workload": "tpcc", "threads": 16, "warehouses": 8}, figures)
            assert "tpmc" not in run.figures
        for until in (report[:-1], report.partition("NEW_ORDER_ERR")[0], report + "tpm"):
            if mark or until != report + "tpm":
                assert generator_output.runs(until)[0].cut
    with pytest.raises(OutputNotParseable, match=r"^counts that come while it runs of go-tpc, which is not read"):
        generator_output.runs(running)
    row = "| [Summary] | {} |      9.9 | {} | 5096.0 |    49.0 |     46.1 |      176.2 |   192.9 |\n"
    head = "|  PREFIX   |  OPERATION   | TAKES(S) | COUNT |  TPM   | AVG(MS) | 50TH(MS) | 99.9TH(MS) | MAX(MS) |\n"
    table = f"{head}+----+----+\n{row.format('NEW_ORDER', 845)}{row.format('PAYMENT_ERR', 3)}+----+----+\n+----+\n"
    table += "|  TPMC  | TPMTOTAL | EFFICIENCY |\n+--------+\n| 5096.0 |  11416.5 |    9906.7% |\n+--------+\n"
    current = f"{head}+----+\n{row.format('NEW_ORDER', 11).replace('Summary', 'Current')}+----+\n"
    (run,) = generator_output.runs(current + table)
    _check(run, {}, {"tpmc": 5096.0, "tpm_total": 11416.5, "efficiency_percent": 9906.7, "events": 845, "failed": 3,
                     "new_order_events": 845, "new_order_latency_mean_ms": 49.0, "new_order_p999_ms": 176.2,
                     "new_order_latency_max_ms": 192.9, "payment_err_events": 3})  # fmt: skip
    assert generator_output.runs(table.partition("| 5096.0 |  11")[0])[0].cut


@pytest.mark.parametrize(
    "row",
    [
        '"{}","{}","0.272","0.080","0.239","0.463","0.575","1.079"\n',
        "{}: {} requests per second, p50=0.239 msec\n",
        "====== {} ======\n  100000 requests completed in 0.86 seconds\n\n{} requests per second\n\n",
    ],
)
def test_a_command_line_counts_for_all_of_its_runs_until_the_next(row: str) -> None:
    """Figures of a public course; github.com/valkey-io/valkey-io.github.io/pull/155 has `-t set,get -P 16`."""
    rows = row.format("SET", 110132.16) + row.format("GET", 97087.38)
    command = "$ redis-benchmark -t set,get"
    found = generator_output.runs(f"{command}\n{rows}{command} -P 16\n{rows}{command} -P 1\n{rows}")
    levels = [(run.levels["workload"], run.levels.get("pipeline")) for run in found]
    assert levels == [("SET", None), ("GET", None), ("SET", 16), ("GET", 16), ("SET", 1), ("GET", 1)]


def test_pgbench_that_connects_for_each_transaction() -> None:
    """Public runs of pgbench 11 and 9.4 with -C: 10,942 in 60 s are 182.4, and 198 is a rate of no clock."""
    report = (
        "transaction type: <builtin: TPC-B (sort of)>\nscaling factor: 10\nquery mode: simple\nnumber of clients: 10\n"
    )
    report += "duration: 60 s\nnumber of transactions actually processed: 10942\nlatency average = 54.793 ms\n"
    report += "tps = 182.504235 (including connections establishing)\n"
    report += "tps = 198.113048 (excluding connections establishing)\n"
    levels = {"workload": "tpcb_like", "threads": 10, "scale": 10, "mode": "simple"}
    for options, tps in (("-c 10 -C -T 60", 182.504235), ("-nC -T 60", 182.504235), ("-c 10 -T 60 -U C", 198.113048)):
        two = f"root@3c9c:/# pgbench {options} x\nstarting vacuum...end.\n{report}" * 2
        for run in generator_output.runs(two):
            _check(run, levels, {"tps": tps, "events": 10942, "tps_connecting": 182.504235})
    # In a file of both kinds none is taken for the other.
    both = f"$ pgbench -C -T 60 x\n{report}$ pgbench -T 60 x\n{report.replace('198.', '199.').replace('182.', '183.')}"
    assert all(run.problem for run in generator_output.runs(both))


_OF_10 = "$ pgbench -c 10 -t 313 x\n"
_LINES = "pgbench --host=127.0.0.1 \\\n        --client=10 \\\n        {}intel\n"


@pytest.mark.parametrize(
    ("before", "events", "timed", "excluding", "tps"),
    [
        # 31,320 in 60 s are 522, as a public run of 9.4 with -C prints, whose command line is lost: its other rate is a
        # multiple of what was done, or below 0.
        ("", 31320, True, "190594.123456", 522.0),
        ("starting vacuum...end.\n", 31320, True, "-17.5", 522.0),
        ("$ pgbench -i -s 10 x\n$ pgbench -c 10 \\\n  -C -T 60 x\n", 31320, True, "190594.123456", 522.0),
        ("", 31320, True, "527.3", 522.0),  # 1.02% more
        ("", 31320, True, "527.1", 527.1),  # 0.98% more
        # Without -C it took 6 s to connect: 31,320 in 54 s.
        ("$ pgbench -c 10 -T 60 x\n", 31320, True, "580.0", 580.0),
        # Of so many transactions each (-t) no duration is printed: 31,320 at 522 a second are as long as timed runs.
        ("", 31320, False, "527.3", 522.0),
        # 3,132 are 6 s, of which to connect once is much.
        *(case for timed in (True, False) for case in (
            ("", 3132, timed, "523.0", 523.0), (_OF_10, 3132, timed, "580.0", 580.0),
            (_LINES.format(""), 3132, timed, "580.0", 580.0),
            (_OF_10.replace("-t", "-C -t"), 3132, timed, "580.0", 522.0),
            ("", 3132, timed, "580.0", None), (_LINES.format("--connect "), 3132, timed, "580.0", 522.0))),
    ],
)  # fmt: skip
def test_a_rate_of_pgbench_agrees_with_its_transactions_and_their_time_or_is_refused(
    before: str, events: int, timed: bool, excluding: str, tps: float | None
) -> None:
    report = "transaction type: TPC-B (sort of)\nscaling factor: 10\nquery mode: simple\nnumber of clients: 10\n"
    report += f"duration: {events // 522} s\n" if timed else ""
    report += f"number of transactions actually processed: {events}/{events}\n"
    report += "tps = 522.000000 (including connections establishing)\n"
    report += f"tps = {excluding} (excluding connections establishing)\n"
    (run,) = generator_output.runs(before + report)
    assert run.figures["tps"].value == tps if tps else "580 and 522 1/s are both its tps. Fix: put its" in run.problem
    assert run.levels == {"workload": "tpcb_like", "threads": 10, "scale": 10, "mode": "simple"}
    assert (run.figures["tps_connecting"].value, "total_time_s" in run.figures) == (522.0, timed)


# pgbench 15.18 of Debian, -r; two scripts, shortened.
STATEMENTS = """transaction type: multiple scripts
scaling factor: 1
query mode: simple
number of clients: 4
number of threads: 1
maximum number of tries: 3
number of transactions per client: 200
number of transactions actually processed: 800/800
latency average = 0.797 ms
tps = 5021.372215 (without initial connection time)
SQL script 1: counts.sql
 - weight: 1 (targets 25.0% of total)
 - 224 transactions (28.0% of total, tps = 1405.984220)
 - latency average = 1.891 ms
 - statement latencies in milliseconds, failures and retries:
         0.223           0           0  SELECT count(*) FROM a;
         1.387           0           0  \\sleep 1 ms
SQL script 2: <builtin: select only>
 - 576 transactions (72.0% of total, tps = 3615.387995)
 - statement latencies in milliseconds, failures and retries:
         0.001           0           0  \\set aid random(1, 100000 * :scale)
         0.293           0           0  SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
"""


def test_the_latencies_of_statements_are_figures_of_their_run() -> None:
    """So they stand below the rates in 9.6 and 13 too, with no column behind the latency."""
    first, second = generator_output.runs(f"{STATEMENTS}\n{STATEMENTS.replace('0.293', '0.3')}")
    counts, selects = (
        "statement_select_count_from_a_ms",
        "statement_select_abalance_from_pgbench_accounts_where_aid_aid_ms",
    )
    found = {name: figure.value for name, figure in first.figures.items() if name.startswith("statement")}
    assert (found, second.figures["tps"].value) == ({counts: 0.223, selects: 0.293}, 5021.372215)
    # In both scripts: neither latency is that of the run.
    both = STATEMENTS.replace("count(*) FROM a;", "abalance FROM pgbench_accounts WHERE aid = :aid;")
    (run,) = generator_output.runs(both)
    assert not [name for name in run.figures if name.startswith("statement")]
    old = "tps = 96.5 (excluding connections establishing)\nstatement latencies in milliseconds:\n\t0.352921\tEND;\n"
    (run,) = generator_output.runs(STATEMENTS.partition("tps = ")[0] + old)
    assert run.figures["statement_end_ms"].value == 0.352921


def test_what_else_a_file_holds_is_told() -> None:
    """A public exercise holds sysbench, go-ycsb and go-tpc in one text; the README of pika two forms of one."""
    sysbench = (FIXTURES / "sysbench" / "read_write.txt").read_text()
    ycsb = (FIXTURES / "logs" / "go_ycsb.txt").read_text()
    tpc = (FIXTURES / "logs" / "go_tpc.txt").read_text()
    for text, other in (
        (f"{sysbench}\n{ycsb}\n{tpc}", "go-tpc and go-ycsb"),
        (f"{sysbench}\n{ycsb}\n{sysbench}", "go-ycsb"),
        (f"{sysbench}\n{sysbench}", ""),
    ):
        found = generator_output.runs(text)
        assert ({run.program for run in found}, found[-1].beside) == ({"sysbench"}, other)
    (_, last) = generator_output.runs("SET: 231830.31 requests per second\nGET: 512163.91 requests per second\n"
                                      "====== SET ======\n  100 requests completed in 1.00 seconds\n")  # fmt: skip
    assert last.beside == "redis-benchmark"


_ANY_OF_ITS_LINES = "Each line of prose is one at the left.\n" * 80


@pytest.mark.parametrize("fixture", ["logs/redis_full.txt", "logs/wrk.txt", "logs/fio.txt", "sysbench/read_write.txt"])
@pytest.mark.parametrize(
    ("mark", "head", "foot"),
    [
        ("    ", "Words.\n\n", "\nWords.\n"),
        ("  ", "* an item\n\n  words\n\n  ```c\n", "  ```\n"),
        ("  ", "```\n", "```\n"),
        ("> ", "Words.\n\n", "\nWords.\n"),
        (">", "Words.\n\n> ~~~\n", "> ~~~\n"),
    ],
)
def test_a_run_that_lies_indented_or_quoted_among_words_is_read(fixture: str, mark: str, head: str, foot: str) -> None:
    """As in the README of pika (github.com/OpenAtomFoundation/pika), whose runs lie two blanks deep, and of others."""
    plain = (FIXTURES / fixture).read_text()
    marked = "".join(f"{mark}{line}".rstrip() + "\n" for line in plain.splitlines())
    among = generator_output.runs(f"# A title\n\n{head}{marked}{foot}{_ANY_OF_ITS_LINES}")
    for wanted, run in zip(generator_output.runs(plain), among, strict=True):
        assert (run.problem, run.figures, run.levels) == ("", wanted.figures, wanted.levels)
        assert (run.seconds, run.histogram) == (wanted.seconds, wanted.histogram)


def test_a_second_run_that_is_indented_and_cut_is_named() -> None:
    plain = (FIXTURES / "sysbench" / "read_write.txt").read_text()
    indented = "".join(f"    {line}\n" for line in plain.partition("General statistics")[0].splitlines())
    first, second = generator_output.runs(f"{plain}\n\nThe second one:\n\n{indented}")
    assert (first.problem, second.problem[:32]) == ("", "the output of sysbench is cut: i")


def test_what_did_nothing_and_what_a_reader_set_in_bold() -> None:
    """github.com/akopytov/sysbench/issues/176 (memory, 0.4.12) and github.com/wg/wrk/issues/140."""
    (run,) = generator_output.runs(
        "sysbench 0.4.12:  multi-threaded system evaluation benchmark\n\nOperations performed: 0 (    0.00 ops/sec)\n"
        "    total time:                          0.0043s\n    total number of events:              0\n"
        "         min:                            18446744073709.55ms\n"
        "    execution time (avg/stddev):   0.0000/0.00\n"
    )
    assert run.problem == "sysbench did nothing: it prints 0 events"
    (run,) = generator_output.runs(
        "Running 30s test @ http://domain.local/test.php\n  12 threads and 100 connections\n"
        "  **296** requests in 30.10s, 61.57KB read\n  Socket errors: connect 0, read 0, write 0, timeout **41**\n"
        "Requests/sec:      9.83\nTransfer/sec:      2.05KB\n"
    )
    _check(run, {"workload": "test.php", "threads": 100}, {"tps": 9.83, "events": 296, "failed": 41})


def test_transactions_that_pgbench_skipped_or_ended_late() -> None:
    """The example of its documentation; the line of those skipped is of its source (with --rate and a limit)."""
    (run,) = generator_output.runs(
        "transaction type: <builtin: TPC-B (sort of)>\nnumber of clients: 10\n"
        "number of transactions actually processed: 10000/10000\nnumber of failed transactions: 0 (0.000%)\n"
        "number of transactions skipped: 41 (0.408%)\n"
        "number of transactions above the 50.0 ms latency limit: 1311/10000 (13.110 %)\nlatency average = 28.488 ms\n"
        "tps = 346.224794 (without initial connection time)\nstatement latencies in milliseconds and failures:\n"
        "   0.002  0  \\set aid random(1, 100000 * :scale)\n"
    )
    _check(run, {"workload": "tpcb_like", "threads": 10}, {"events": 10000, "skipped": 41, "late": 1311})


@pytest.mark.parametrize(
    ("command", "workload"),
    [
        ("sysbench --threads=8 cpu --percentile=99 --histogram run", "cpu"),
        ("/usr/bin/sysbench --mysql-db=tpcc \\\n  /usr/share/sysbench/oltp_delete.lua run", "oltp_delete"),
        ("sysbench --oltp-tables-count=16 --test=tests/db/select.lua --num-threads=8 run", "select"),
        ("sysbench --test=memory --num-threads=8 run", "memory"),
        ("sysbench --mysql-db=select ./own.lua run", None),
        ("sysbench oltp_read_write prepare && sysbench oltp_point_select run", "oltp_point_select"),
    ],
)  # fmt: skip
def test_the_test_of_a_sysbench_command_is_no_word_of_its_options(command: str, workload: str | None) -> None:
    """The first: a public report on containers, of which `--threads` was taken for the test."""
    whole = (FIXTURES / "sysbench" / "read_write.txt").read_text()
    (run,) = generator_output.runs(f"$ {command}\n{whole}")
    assert run.levels.get("workload") == workload


@pytest.mark.parametrize(
    "line",
    [
        # github.com/Percona-Lab-results/201805-sysbench-tpcc-binlog-fs: 97 files of seconds, of which none was read.
        "10,56,624.00,25111.98,15310.99,8552.99,1248.00,161.51,3.00,0.00",
        '  {\n    "time":   10,\n    "threads": 56,\n    "tps": 624.00,\n    "qps": {\n      "total": 25111.98,\n'
        '      "reads": 15310.99,\n      "writes": 8552.99,\n      "other": 1248.00\n    },\n'
        '    "latency": 161.51,\n    "errors": 3.00,\n    "reconnects": 0.00\n  },',
        "[ 10s ] thds: 56 tps: 624.00 qps: 25111.98 (r/w/o: 15310.99/8552.99/1248.00) lat (ms,95%): 161.51 err/s 3.00"
        " reconn/s: 0.00",
    ],
)
def test_seconds_of_sysbench_as_its_lua_may_report_them(line: str) -> None:
    """report_csv, report_json (its shape: internal/sysbench.lua) and report_default, without a colon behind err/s."""
    whole = (FIXTURES / "sysbench" / "read_write.txt").read_text()
    plain = "\n".join(each for each in whole.splitlines() if " thds: " not in each)
    (run,) = generator_output.runs(plain.replace("Threads started!\n", f"Threads started!\n\n{line}\n"))
    told = {"threads": 56, "tps": 624.0, "qps": 25111.98, "latency_ms": 161.51, "errors": 3.0, "reconnects": 0.0}
    assert (run.problem, run.seconds) == ("", [(10.0, told)])


@pytest.mark.parametrize(
    "line",
    [
        "5,4000,0.00,7843.18,7022.24,21.39,799.55,0.00,0.00,0.00",
        "[ 5s ] thds: 4000 tps: 0.00 qps: 7843.18 (r/w/o: 7022.24/21.39/799.55) lat (ms,95%): 0.00 err/s: 0.00"
        " reconn/s: 0.00",
        "[ 5s ] thds: 4 tps: 1211.73 qps: 24236.52 (r/w/o: 1.00/4.00/2.00) lat (ms,0%): 0.00 err/s: 0.00"
        " reconn/s: 0.00",
        "[   5s] threads: 16, tps: 0.00, reads: 12.00, writes: 4.00, response time: 0.00ms (95%), errors: 0.00,"
        " reconnects:  0.00",
        # github.com/hgxl64/mariadb-benchmarks: the first of 0.5 tell no errors.
        "[   5s] threads: 64, tps: 7897.77, reads/s: 110681.95, writes/s: 0.00 response time: 0.00ms (99%)",
    ],
)
def test_a_percentile_of_no_event_is_none(line: str) -> None:
    """github.com/akopytov/sysbench/issues/242, its source for --percentile=0, and issues/14 with other figures."""
    run = generator_output.begun("sysbench", f"sysbench 1.0.20 (using system LuaJIT)\n{line}\n")
    ((second, figures),) = run.seconds
    assert (second, "latency_ms" in figures) == (5.0, False)
    assert figures.keys() >= {"threads", "tps"}
    assert ("errors" in figures) == ("reads/s" not in line)


def test_what_ab_d_lacks_is_named_with_its_fix() -> None:
    whole = (FIXTURES / "ab" / "success.txt").read_text().partition("\nPercentage of")[0]
    said = "the output of ApacheBench is cut: it has no end. Fix: if it ran with -d, put its command line above it"
    assert generator_output.runs(whole)[0].problem == said


# -- ApacheBench, redis-benchmark -------------------------------------------------------------------------------------


def test_reports_of_ab_without_first_lines_are_as_many_as_there_are() -> None:
    """As an editor saves them: without the blanks behind `Server Software:`."""
    (whole,) = generator_output.runs((FIXTURES / "ab" / "success.txt").read_text())
    report = re.sub(" +$", "", whole.text[whole.text.index("Server Software:") :], flags=re.MULTILINE)
    assert [run.figures for run in generator_output.runs(f"### Go\n\n{report}\n### Java\n\n{report}")] == [
        whole.figures
    ] * 2


# As redis-benchmark 7 prints it of a server that has no CONFIG: a warning is no failure.
NO_CONFIG = """redis-benchmark -p 26379 -n 1000000 -c 50 -P 100 -t set
WARNING: Could not fetch server CONFIG
====== SET ======
  1000000 requests completed in 0.39 seconds
  50 parallel clients
  1024 bytes payload
  keep alive: 1
  multi-thread: no

Summary:
  throughput summary: 2557544.75 requests per second
  latency summary (msec):
          avg       min       p50       p95       p99       max
        0.835     0.160     0.799     1.415     1.695     4.735
"""


def test_a_server_that_tells_no_configuration_was_measured_all_the_same() -> None:
    (run,) = generator_output.runs(NO_CONFIG)
    levels = {"workload": "SET", "threads": 50, "value_bytes": 1024, "pipeline": 100}
    _check(
        run,
        levels,
        {"tps": 2557544.75, "events": 1_000_000, "total_time_s": 0.39, "latency_mean_ms": 0.835, "p99_ms": 1.695},
    )
    refused = NO_CONFIG.replace(
        "WARNING: Could not fetch server CONFIG", "Error from server: NOAUTH Authentication required."
    )
    assert "NOAUTH" in generator_output.runs(refused)[0].problem


# github.com/redis/redis/issues/2016: what took no time has no rate, and is whole.
NO_TIME = """====== SET ======
  0 requests completed in 0.00 seconds
  50 parallel clients
  3 bytes payload
  keep alive: 1

inf requests per second
"""


@pytest.mark.parametrize("rate", ["inf", "-nan"])
def test_a_rate_over_no_time_is_a_failure_and_no_output_that_was_cut(rate: str) -> None:
    (run,) = generator_output.runs(NO_TIME.replace("inf", rate))
    assert (run.problem, run.cut) == (f"redis-benchmark says that it failed: {rate} requests per second", False)


@pytest.mark.parametrize(
    ("fixture", "above", "levels", "figures"),
    [
        # github.com/etcd-io/etcd, functional/README.md: a command of several lines.
        ("etcd/put_50.txt", "$ ./bin/benchmark \\\n  --conns 5 \\\n  --clients 15 \\\n  put \\\n  --total 10\n\n",
         {"workload": "put", "threads": 15}, {}),
        # github.com/liufuyang/memc-kv, and HammerDB's documentation, with the times that they took.
        ("logs/memtier_1.txt", "[RUN #1 100%,  40 secs]  0 threads:  400000 ops,  10154 (avg:  9763) ops/sec\n",
         {"threads": 200}, {"total_time_s": 40}),
        ("logs/hammerdb_3.txt", "Vuser 1:Timing test period of 3 in minutes\n", {}, {"total_time_s": 180}),
    ],
)  # fmt: skip
def test_what_stands_above_a_report_is_read_with_it(
    fixture: str, above: str, levels: dict[str, Any], figures: dict[str, float]
) -> None:
    (run,) = generator_output.runs(f"{above}{(FIXTURES / fixture).read_text()}")
    _check(run, {**run.levels, **levels}, figures)


ETCD_TOP = "Summary:\n  Total:  1.1 secs.\n" + "".join(
    f"  {n}: 0.2 secs.\n" for n in ("Slowest", "Fastest", "Average", "Stddev")
)
MEMTIER_TABLE = "====\nType         Ops/sec    Avg. Latency\n----\nTotals      {}         0.5\n\n"
FIO_SYNC = """t: (groupid=0, jobs=1): err= 0: pid=9: Tue Jun 11 16:44:54 2019
  write: IOPS=1192, BW=2678KiB/s (2742kB/s)(21.0MiB/8411msec)
    clat percentiles (usec):
     | 99.00th=[ 2212], 99.90th=[ 3556]
  fsync/fdatasync/sync_file_range:
    sync percentiles (nsec):
     | 99.00th=[ 1205], 99.90th=[ 4113]
     issued rwts: total=0,10029,0,0 short=10029,0,0,0 dropped=0,0,0,0
"""


@pytest.mark.parametrize(
    ("text", "levels", "figures"),
    [
        # github.com/dragonflydb/dragonfly/issues/113: two runs, of 105 and 106 s, the best of which is either.
        ("[RUN #1 100%, 105 secs]  0 threads\n[RUN #2 100%, 106 secs]  0 threads\n30        Threads\n"
         "10        Connections per thread\n\nBEST RUN RESULTS\n" + MEMTIER_TABLE.format(592927.98),
         {"workload": "best_run", "threads": 300}, {"tps": 592927.98, "latency_mean_ms": 0.5}),
        # github.com/AndrasKovacs/normalization-bench/pull/8: JMH in sbt, with the decimal commas of its locale.
        ("[info] Main.Bench.Nat10Mnormalization  avgt   25  3907,007 ± 1046,009  ms/op\n",
         {"workload": "Main.Bench.Nat10Mnormalization", "mode": "avgt"},
         {"latency_mean_ms": 3907.007, "latency_error_ms": 1046.009}),
        # github.com/cmu-db/benchbase/pull/102, and github.com/oltpbenchmark/oltpbench, which knew no goodput.
        ("Benchmark:     TPCC {com}\nIsolation:     TRANSACTION_SERIALIZABLE\nScale Factor:  20.0\nTerminals:  4\n"
         "Results(nanoSeconds=60000083167, measuredRequests=201) = 3.35 requests/sec (throughput), 3.3 requests/sec"
         " (goodput)\n", {"workload": "TPCC", "threads": 4, "scale": 20, "isolation": "SERIALIZABLE"},
         {"tps": 3.35, "goodput_tps": 3.3, "events": 201, "total_time_s": 60.000083167}),
        ("Results(nanoSeconds=500000707198, measuredRequests=23616) = 47.23193319534262 requests/sec\n", {},
         {"tps": 47.23193319534262, "events": 23616, "total_time_s": 500.000707198}),
        # github.com/facebook/rocksdb/pull/9886 and 3016: one blank before each line; what stands in brackets.
        ("old output:\n DB path: [/tmp/x]\n overwrite    :  14.108 micros/op 283338 ops/sec;   31.3 MB/s\n",
         {"workload": "overwrite"}, {"tps": 283338, "op_mean_ms": 0.014108, "throughput": 31.3}),
        ("randomtransaction :  16.858 micros/op 59318 ops/sec;    1.3 MB/s ( transactions:100000 aborts:0)\n",
         {"workload": "randomtransaction"}, {"tps": 59318}),
        # github.com/etcd-io/etcd/issues/10799 asks whether a disk is fast enough: the 99% of fdatasync tells.
        # github.com/wg/wrk/issues/322, delimitrou/DeathStarBench/issues/192: ever fewer of wrk's first lines.
        (" Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency    24.60ms   83.13ms   3.37s    99.33%\n"
         "  280412 requests in 10.10s, 132.98MB read\n  Socket errors: connect 0, read 9, write 0, timeout 0\n"
         "Requests/sec:  27760.86\nTransfer/sec:     13.17MB\n", {},
         {"tps": 27760.86, "latency_mean_ms": 24.6, "failed": 9, "total_time_s": 10.1}),
        ("#[Max     =     1633.280, Total count    =         9365]\n  11708 requests in 10.00s, 2.40MB read\n"
         "Requests/sec:   1170.78\nTransfer/sec:    245.82KB\n", {}, {"tps": 1170.78, "total_time_s": 10}),
        # github.com/hatoo/oha/issues/212, whose percentiles have decimals in later versions (pull/315).
        ("./oha -c 50 -z 30s https://example.com\nSummary:\n  Success rate: 1.0000\n  Total:        300.9 secs\n"
         "  Slowest:      3.9235 secs\n  Fastest:      0.1350 secs\n  Average:      0.8213 secs\n"
         "  Requests/sec: 20032.7\n\nLatency distribution:\n  99.90% in 3.5202 secs\n\n"
         "Status code distribution:\n  [429] 441 responses\n  [200] 160 responses\n", {"threads": 50},
         {"tps": 20032.7, "latency_mean_ms": 821.3, "p999_ms": 3520.2, "events": 601, "non_2xx": 441,
          "total_time_s": 300.9}),
        (FIO_SYNC, {"workload": "t", "threads": 1},
         {"write_iops": 1192, "write_p99_ms": 2.212, "sync_p99_ms": 0.001205, "sync_p999_ms": 0.004113}),
    ],
)  # fmt: skip
def test_runs_of_public_threads(text: str, levels: dict[str, Any], figures: dict[str, float]) -> None:
    (run,) = generator_output.runs(text)
    _check(run, levels, figures)
    assert ("total_time_s" in run.figures) == ("total_time_s" in figures or run.program == "fio")


def test_seconds_and_buckets_whatever_stands_between_their_columns() -> None:
    """github.com/akopytov/sysbench/issues/283 (fileio); github.com/etcd-io/etcd/issues/12025: blanks for tabs."""
    line = "[ 2s ] reads: 0.00 MiB/s writes: 1.06 MiB/s fsyncs: 8775.02/s latency (ms,95%): 0.122\n"
    run = generator_output.begun("sysbench", f"sysbench 1.0.16 (using bundled LuaJIT)\n{line}")
    assert run.seconds == [(2.0, {"read_throughput": 0.0, "write_throughput": 1.06, "fsync_iops": 8775.02})]
    with pytest.raises(OutputNotParseable, match="sysbench is cut: it has no report, and lines of seconds alone"):
        generator_output.runs(line)
    buckets = "  Requests/sec: 9.29\n\nResponse time histogram:\n  0.0383 [897]        |∎∎\n  0.0760 [14] |∎\n\n"
    (run,) = generator_output.runs(f"{ETCD_TOP}{buckets}Latency distribution:\n  99% in 0.2022 secs.\n")
    assert (run.problem, run.histogram) == ("", [(38.3, 897), (76.0, 14)])
