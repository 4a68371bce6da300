"""sysbench's own output, as it printed it: whole runs are read to the last figure, anything less is a named failure."""

from __future__ import annotations

import re

import pytest
from kit import FIXTURES
from records import record

from benchbook.campaign.record import Quantity
from benchbook.errors import OutputNotParseable, WorkloadFailed
from benchbook.profiles import SysbenchSize
from benchbook.workloads.sysbench import Sysbench
from benchbook.workloads.sysbench_output import Output, parse, quantities

GENERATOR = Sysbench(SysbenchSize(time_s=1, tables=1, table_size=1), [], 1)
PRINTED_BY = FIXTURES / "sysbench"
WHOLE = ["read_write", "insert", "rate"]


def printed(name: str) -> str:
    return (PRINTED_BY / f"{name}.txt").read_text()


def test_every_figure_of_a_whole_run() -> None:
    output = parse(printed("read_write"))
    assert output.threads == 50
    assert output.summary == {
        "transactions": 156, "tps": 40.37, "queries": 3120, "qps": 807.37, "reads": 2184, "writes": 624, "other": 312,
        "ignored_errors": 0, "reconnects": 0, "total_time_s": 3.8619, "events": 156, "latency_min_ms": 17.01,
        "latency_mean_ms": 181866.67 / 156, "latency_max_ms": 3285.10, "p95_ms": 2449.36, "latency_sum_ms": 181866.67,
    }  # fmt: skip
    first = {"threads": 50, "tps": 49.83, "qps": 1621.88, "latency_ms": 746.32, "errors": 0.0, "reconnects": 0.0}
    assert output.seconds[0] == (1, first)
    assert [t for t, _ in output.seconds] == [1, 2, 3]


def test_the_mean_of_a_quick_load_has_more_digits_than_are_printed() -> None:
    """985 transactions in 64.03 ms: 0.065 ms, printed as 0.07. Of one thread that is busy 107% would seem to be."""
    quick = re.sub(r"sum: +561.14", "sum:       64.03", re.sub(r"avg: +0.57", "avg:       0.07", printed("rate")))
    assert parse(quick).summary["latency_mean_ms"] == 64.03 / 985


def test_another_percentile_than_the_95th_stands_beside_it() -> None:
    """`--percentile=99`. Of 985 transactions the 95th percentile is the 936th, which is in the bucket to 1.272 ms."""
    line = "{}th percentile:                        {}"
    found = parse(printed("rate").replace(line.format(95, "1.27"), line.format(99, "3.82"))).summary
    assert (found["p99_ms"], found["p95_ms"]) == (3.82, 1.272)


@pytest.mark.parametrize("name", WHOLE)
def test_the_histogram_holds_every_transaction(name: str) -> None:
    output = parse(printed(name))
    assert sum(count for _, count in output.histogram) == output.summary["transactions"] > 0
    uppers = [upper for upper, _ in output.histogram]
    assert uppers == sorted(set(uppers))
    assert uppers[0] >= output.summary["latency_min_ms"] - 0.01


def queues(output: Output) -> dict[float, float]:
    return {t: each["queue_length"] for t, each in output.seconds if "queue_length" in each}


def test_the_queue_lines_of_an_open_loop_are_no_intervals() -> None:
    output = parse(printed("rate"))
    assert [(t, each["tps"]) for t, each in output.seconds if "tps" in each] == [(1, 455.48), (2, 529.12)]
    assert queues(output) == {1: 0, 2: 0}
    longer = printed("rate").replace("[ 2s ] queue length: 0", "[ 2s ] queue length: 213")
    assert queues(parse(longer)) == {1: 0, 2: 213}


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("killed", OutputNotParseable, r"it has no events; it ends with: .*\[ 2s \] thds: 8"),
        ("table_missing", WorkloadFailed, r"error 1146 \(Table 'sbtest\.sbtest4' doesn't exist\)"),
        ("server_died", WorkloadFailed, r"error 2013 \(Lost connection to server during query\)"),
        ("refused", WorkloadFailed, r"unable to connect to MySQL server on host '127\.0\.60\.9', port 4000"),
    ],
)
def test_a_run_that_did_not_end_well_is_a_named_failure(name: str, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        parse(printed(name))


@pytest.mark.parametrize("name", WHOLE)
def test_output_that_stops_anywhere_is_never_taken_for_a_run(name: str) -> None:
    """Cut after every line, and after every byte of the closing report: a figure may be cut in its middle."""
    text = printed(name).rstrip()
    closing = text.index("SQL statistics")
    lines = [i for i, letter in enumerate(text) if letter == "\n" and i < closing]
    for cut in [0, *lines, *range(closing, text.rindex("/") + 2)]:
        with pytest.raises(OutputNotParseable):
            parse(text[:cut])
    assert parse(text).summary["events"] > 0


def test_a_figure_that_is_not_printed_is_named() -> None:
    with pytest.raises(OutputNotParseable, match="the output of sysbench has no threads, ignored_errors;"):
        parse(printed("read_write").replace("Number of threads", "gone").replace("ignored errors", "gone"))


@pytest.mark.parametrize("name", WHOLE)
def test_a_run_without_its_histogram_is_refused(name: str) -> None:
    text = printed(name)
    start, end = text.index("Latency histogram"), text.index("SQL statistics")
    without = text[:start] + text[end:]
    with pytest.raises(OutputNotParseable, match="no latency histogram"):
        parse(without)


def test_a_fatal_line_beside_a_whole_report_is_a_failure() -> None:
    with pytest.raises(WorkloadFailed, match="FATAL: Threads"):
        parse(printed("insert") + "FATAL: Threads initialization failed!\n")


def test_each_fatal_message_is_said_once_and_not_all_of_them() -> None:
    said = GENERATOR.failure(printed("refused"))
    assert said is not None
    assert said.count("unable to connect") == 1
    assert len((GENERATOR.failure(printed("server_died")) or "").split("; FATAL")) == 4
    assert GENERATOR.failure(printed("insert")) is None


def test_a_statement_with_its_rows_is_not_said_in_full() -> None:
    # sysbench 1.0.20 `prepare` on TiDB 7.1.0-alpha with PD 6.6-alpha: the whole INSERT goes on for 16,000 characters.
    begins = (
        "FATAL: mysql_drv_query() returned error 8249 (Unknown resource group 'default') for query 'INSERT INTO "
        "sbtest4(k, c, pad) VALUES(406, '52508505734-89196231338-52294447984-15323750592-99619955313-68232426539'"
    )
    said = GENERATOR.failure(
        f"{begins}{',(499, 1, 2)' * 1000}'\nFATAL: `sysbench.cmdline.call_command' function failed\n"
    )
    assert said is not None
    assert said.startswith(begins)
    assert said.endswith("... (12,208 characters); FATAL: `sysbench.cmdline.call_command' function failed")
    assert len(said) < 400


@pytest.mark.parametrize(
    "line", ["", "Threads started!", "[ 1s ] queue length: 0, concurrency: 0", "[ 1s ] thds: 8 tps:"]
)
def test_other_lines_are_no_intervals(line: str) -> None:
    assert GENERATOR.rate_in(line) is None


def as_1_1(text: str) -> str:
    """Return the output as sysbench 1.1 prints it (src/sysbench.c, report_cumulative of 1.1.0)."""
    seconds, events = re.search(r"total time: +([\d.]+)s\n +total number of events: +(\d+)", text).groups()  # type: ignore[union-attr]
    throughput = (
        f"Throughput:\n    events/s (eps):                      {float(events) / float(seconds):.4f}\n"
        f"    time elapsed:                        {seconds}s\n    total number of events:              {events}\n"
    )
    text = text.replace("sysbench 1.0.20", "sysbench 1.1.0-df89d34")
    return re.sub(r"General statistics:\n.*\n.*\n", throughput, text)


@pytest.mark.parametrize("name", WHOLE)
def test_sysbench_1_1_is_read_to_the_same_figures(name: str) -> None:
    newer = as_1_1(printed(name))
    assert "total time" not in newer
    assert parse(newer) == parse(printed(name))


@pytest.mark.parametrize(
    "line",
    [
        "[   1s] threads: 8, tps: 53.00, reads: 823.96, writes: 231.99, response time: 270.70ms (95%), errors: 0.00",
        "         approx.  95 percentile:             270.70ms",
        "sysbench 0.5:  multi-threaded system evaluation benchmark",
    ],
)
def test_the_output_of_older_versions_is_refused_by_name(line: str) -> None:
    with pytest.raises(OutputNotParseable, match=r"sysbench 0\.5 or older"):
        parse(f"{line}\nNumber of threads: 8\n")


def without_events(text: str, errors: int) -> str:
    text = re.sub(r"total number of events: +\d+", "total number of events:              0", text)
    return re.sub(r"ignored errors: +\d+", f"ignored errors:                      {errors}", text)


def test_where_nothing_was_done_the_errors_are_told_first() -> None:
    for errors, said in ((19_820, ", and 19820 ignored_errors: take `mysql-ignore-errors` out of"), (0, "$")):
        with pytest.raises(WorkloadFailed, match=rf"^sysbench did nothing: it prints 0 events{said}"):
            parse(without_events(printed("rate"), errors))


def test_the_error_that_came_most_often_is_the_first_to_be_told() -> None:
    text = "FATAL: rare\n" + "FATAL: often\n" * 3 + "FATAL: rare too\n"
    assert GENERATOR.failure(text) == "FATAL: often (3 times); FATAL: rare; FATAL: rare too"


def test_a_percentile_at_the_end_of_its_histogram_is_a_lower_bound() -> None:
    """sysbench counts what took longer than 100 s as 100 s (seen of 1.0.20)."""

    def of(p95_ms: float) -> list[str]:
        figures = {**quantities(parse(printed("rate")).summary), "p95_ms": Quantity(value=p95_ms, unit="ms")}
        kept = record(levels={"workload": "oltp_insert", "threads": 1}, summary=figures)
        return [check.found for check in Sysbench.record_checks(kept) if check.check == "latency range"]

    assert of(99_999.0) == []
    (found,) = of(100_000.0)
    assert found.startswith("p95_ms: 100 s is where sysbench's histogram ends")


def test_a_run_with_checkpoints_is_refused_its_last_report_is_of_a_part() -> None:
    """`--report-checkpoints=2`: "[ 2s ] Checkpoint report:", then all that is printed at the end."""
    whole = printed("read_write")
    checkpoint = whole[whole.index("SQL statistics") :].replace("156", "55").replace("40.37", "11.11")
    before = f"[ 2s ] Checkpoint report:\n\n{checkpoint}\nLatency histogram"
    with pytest.raises(OutputNotParseable, match=r"its last report is of a part of the run: leave report-checkpoints"):
        parse(whole.replace("Latency histogram", before, 1))
