"""Documents of every format as data: what is printed in a cell, what a heading says, where a table stands."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import openpyxl
import pytest
from kit import FIXTURES

from benchbook.documents import formats
from benchbook.documents.audit import audit_document
from benchbook.documents.columns import RULES, column, rule_of, unit_of
from benchbook.documents.frames import frame
from benchbook.documents.numerals import figures, style_of
from benchbook.documents.tables import reading, table_in_sentences
from benchbook.documents.tool_output import TOOLS, tables_of
from benchbook.documents.units import factor
from benchbook.errors import BadInput

NUMERALS = {
    "12,000": [(12000, "", 1)],
    "27,628.28": [(27628.28, "", 0.01)],
    "27 628.28": [(27628.28, "", 0.01)],
    "27\u00a0628": [(27628, "", 1)],
    "27\u2009628": [(27628, "", 1)],
    "1'234'567": [(1234567, "", 1)],
    "12_000": [(12000, "", 1)],
    "12,34,567.5": [(1234567.5, "", 0.1)],
    "12٬000": [(12000, "", 1)],
    "２,０００": [(2000, "", 1)],
    "12·000": [],
    "0x10": [],
    "±3": [],
    "15.10k (Begin/Commit 2.4k)": [(15100, "", 10), (2400, "", 100)],
    "0.07 / 0.08 / 0.09": [(0.07, "", 0.01), (0.08, "", 0.01), (0.09, "", 0.01)],
    "(3.42)": [(-3.42, "", 0.01)],
    "–3.42": [(-3.42, "", 0.01)],
    "−40%": [(-40, "%", 1)],
    "+12.3 %": [(12.3, "%", 0.1)],
    "4m12s": [(252, "s", 1)],
    "1h 5m": [(3900, "s", 60)],
    "1.5万": [(15000, "", 1000)],
    "2亿": [(2e8, "", 1e8)],
    "11.3MB/s": [(11.3, "MB/s", 0.1)],
    "5.6 ± 0.3 ms": [(5.6, "", 0.1)],
    "1.21 million": [(1210000, "", 10000)],
    "500K ops/sec": [(500000, "1/s", 1000)],
    "1.2e-3 s": [(0.0012, "s", 0.0001)],
    "45us (binlog)": [(45, "us", 1)],
    "2.4x": [(2.4, "x", 0.1)],
    "95.20 files/s": [(95.2, "1/s", 0.01)],
    "250 images per second": [(250, "1/s", 1)],
    "32.084 Mpps": [(32084000, "1/s", 1000)],
    "3 Messages/s": [(3, "1/s", 1)],
    "2 MBytes/s": [(2, "MB", 1)],
    "10 MiB per second": [(10, "MiB", 1)],
    "100 Mib/s": [],
    "20+ ops/sec": [(20, "1/s", 1)],
    "3 krows/min": [],
    "816.60 KB/sec": [(816.6, "kB/s", 0.01)],
    "12 ktokens/s": [],
    "16 GiB": [(16, "GiB", 1)],
    "100 B": [(100, "B", 1)],
    "40,000 Rows": [(40000, "1", 1)],
    "1316042016 - 539.47MB/s": [(1316042016, "", 1), (539.47, "MB/s", 0.01)],
}


@pytest.mark.parametrize("printed", NUMERALS)
def test_a_printed_figure_has_its_value_unit_and_last_place(printed: str) -> None:
    found = [(one.value, one.unit, one.place) for one in figures(printed)]
    assert [(pytest.approx(value), unit, pytest.approx(place)) for value, unit, place in NUMERALS[printed]] == found
    assert all(one.printed in printed for one in figures(printed))


@pytest.mark.parametrize(("printed", "kind"), [("<1", "bound"), ("3,000,000+", "bound"), ("≥ 99", "bound"), ("50-200us", "range"), ("~5", "about"), ("约5", "about")])  # fmt: skip
def test_bounds_ranges_and_estimates_are_no_measurements(printed: str, kind: str) -> None:
    (found,) = figures(printed)
    assert (found.kind, found.exact) == (kind, False)


@pytest.mark.parametrize(
    "text",
    [
        "v7.1.3",
        "1.0.20",
        "192.168.0.6",
        "2021-10-05",
        "20:30:01",
        "p99",
        "10,6204",
        "1,2,3",
        "c6a.2xlarge",
        "5.7.25-log",
        "us-east-2",
        "March 14, 2026",
        "Jan. 3rd, 2025",
        "E5-2650",
        "5−",
        "(5-)",
    ],
)
def test_what_is_no_measurement_gives_no_figure(text: str) -> None:
    assert figures(text) == []


def test_a_comma_is_a_decimal_one_only_where_the_whole_document_says_so() -> None:
    assert style_of(["1,25", "2,50", "1.234,5"]) == "comma"
    assert style_of(["1,25", "2.50", "12,000.1"]) == "point"
    assert [one.value for one in figures("1.234,5", "comma")] == [1234.5]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.example)
def test_each_rule_of_headings_reads_its_example(rule) -> None:
    assert rule_of(rule.example) is rule


@pytest.mark.parametrize(
    ("tool", "lines"),
    [
        ("hey", "Summary:\n  Total:\t0.02 secs\n  Average:\t0.0035 secs\n  Requests/sec:\t10022.9\n"),
        ("etcd benchmark", "  Average:\t0.0035 secs.\n  Stddev:\t0.001 secs.\n  Requests/sec:\t10022.9\n"),
        ("wrk", "  Thread Stats   Avg  Stdev\n    Latency   3.5ms  1ms\n\nRequests/sec:  10022.9\n"),
    ],
)
def test_who_printed_requests_per_second(tool: str, lines: str) -> None:
    (table,) = tables_of(formats.Block("code", lines, 1))
    assert table.text == f"{tool} output"
    assert "10022.9" in table.rows[1]


@pytest.mark.parametrize(
    ("heading", "quantity"),
    [
        ("Response Time (ms) / Min", "min"), ("Latency / max", "max"), ("Duration / min", "time"),
        ("Run time / min", "time"), ("TPS¹", "throughput"), ("监控样本数", "count"), ("# Samples", "count"),
        ("失败请求", "errors"), ("Timeouts", "errors"),
    ],
)  # fmt: skip
def test_which_quantity_a_heading_names(heading: str, quantity: str) -> None:
    rule = rule_of(heading)
    assert rule is not None
    assert rule.quantity == quantity


_EXAMPLES = {
    "sysbench": ("Latency (ms):\n    transactions:                        5400 (89.97 per sec.)", "89.97"),
    "pgbench": ("latency average = 1.434 ms\ntps = 697.3 (without initial connection time)", "1.434"),
    "go-tpc": ("tpmC: 5120.3, tpmTotal: 11375.9, efficiency: 39.8%", "5120.3"),
    "go-ycsb": ("READ   - Takes(s): 10.0, Count: 5000, OPS: 500.1, Avg(us): 850, Min(us): 300, Max(us): 9000", "300us"),
    "YCSB": ("[OVERALL], RunTime(ms), 1050\n[OVERALL], Throughput(ops/sec), 9523.8", "9523.8"),
    "redis-benchmark": ("SET: 83542.19 requests per second, p50=0.295 msec", "0.295"),
    "db_bench": ("fillseq      :       3.420 micros/op 292385 ops/sec;   32.3 MB/s", "32.3"),
    "go test -bench": ("BenchmarkEncode-8    8406    137911 ns/op    8701.24 MB/s", "8701.24"),
    "ab": ("Concurrency Level:      10\nRequests per second:    935.11 [#/sec] (mean)", "935.11"),
    "wrk": ("  Thread Stats   Avg\n    Latency     1.36ms  663.56us  13.28ms   72.13%", "1.36ms"),
    "etcd benchmark": ("  Stddev:\t0.001 secs.\n  Requests/sec:\t12345.6", "12345.6"),
    "hey": ("  Average:\t0.0035 secs\n  Requests/sec:\t12345.6", "12345.6"),
    "fio": ("  read: IOPS=12.3k, BW=48.1MiB/s (50.4MB/s)", "48.1MiB/s"),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_is_known_by_lines_like_its_example(tool: str) -> None:
    lines, figure = _EXAMPLES[tool]
    (table,) = tables_of(formats.Block("code", lines, 1))
    assert table.text == f"{tool} output"
    assert figure in table.rows[1]


def test_what_a_generator_prints_while_it_runs_is_no_row_of_its_report() -> None:
    """go-ycsb counts READ after 10 s, and again at its end."""
    text = (FIXTURES / "logs" / "go_ycsb.txt").read_text()
    (table,) = tables_of(formats.Block("code", text, 1))
    assert [row[0] for row in table.rows] == ["operation", "READ", "UPDATE"]
    assert table.rows[1][1:3] == ["4267.7", "1498818"]
    assert table.lines == [6, 6, 7]


def test_rates_and_percentiles_of_a_pasted_output_are_checked(tmp_path: Path) -> None:
    """5,000 in 10 s are 500/s; TOTAL has a minimum and a 99% quantile above its maximum."""
    line = "{} - Takes(s): 10.0, Count: {}0, OPS: {}.0, Avg(us): 850, Min(us): 300, Max(us): {}, 99th(us): 7000\n"
    rows = [("READ", 500, 500, 9000), ("UPDATE", 400, 400, 9000), ("INSERT", 100, 100, 9000), ("TOTAL", 1000, 1000, 90)]
    text = "".join(line.format(*row) for row in rows)
    audit = audit_document(reading(str(written(tmp_path, "a.md", f"```\nRun finished, takes 10s\n{text}```\n"))))
    assert audit.passed["rate"] == 4
    assert [finding.kind for finding in audit.findings if finding.severity == "contradiction"] == ["percentiles"] * 2


def test_a_column_has_quantity_unit_direction_and_role() -> None:
    cells = ["1.93", "2.00", "2.22"]
    found = column("95% latency (ms)", [figures(text) for text in cells], cells, first=False)
    assert (found.quantity, found.unit, found.better, found.role, found.percent) == (
        "percentile",
        "ms",
        "less",
        "metric",
        95.0,
    )
    threads = column("Threads", [figures(text) for text in ("50", "100")], ["50", "100"], first=True)
    assert (threads.role, threads.quantity) == ("level", "concurrency")


@pytest.mark.parametrize(("heading", "unit"), [("Transactions per second", "1/s"), ("MB per second", "MB/s"), ("Orders per minute", "1/min"), ("Load time in seconds", "s"), ("fail/s", "1/s"), ("read_ops_per_sec", "1/s"), ("tx_per_s", "1/s"), ("Duration / min", "min"), ("TTFT (min) (s)", "s"), ("Load time (100 warehouses) (min)", "min"), ("CPU usage, % (1 - idle)", "%"), ("ops/sec (M/s)", "1/s"), ("Traffic (M/s)", "MB/s"), ("TPS, p0.1/s", "1/s")])  # fmt: skip
def test_a_heading_names_its_unit(heading: str, unit: str) -> None:
    assert unit_of(heading) == unit


def test_units_are_converted_where_they_are_of_one_dimension() -> None:
    assert factor("GB", "MB") == pytest.approx(1000)
    assert factor("GiB", "MiB") == pytest.approx(1024)
    assert factor("1/min", "1/s") == pytest.approx(1 / 60)
    assert factor("ms", "MB") is None
    assert factor("MB/s", "1/s") is None


def written(tmp_path: Path, name: str, text: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(tmp_path: Path, name: str, text: str | bytes):
    return reading(str(written(tmp_path, name, text)))


def values(tmp_path: Path, name: str, text: str | bytes) -> list[float]:
    return frame(read(tmp_path, name, text))["value"].tolist()


MARKDOWN = """# Load

## Point select

The results are:

| Threads | TPS | 95% latency (ms) |
| :-- | --: | --: |
| 8 | **1,234.5** | 1.93 |
| 16 | [2,345](x.md) | 2.00[^1] |

[^1]: once more
"""


def test_a_markdown_table_is_a_frame_of_cells_with_their_lines(tmp_path: Path) -> None:
    cells = frame(read(tmp_path, "a.md", MARKDOWN))
    assert cells["value"].tolist() == [8, 1234.5, 1.93, 16, 2345, 2.0]
    assert cells["line"].tolist() == [9, 9, 9, 10, 10, 10]
    assert cells["unit"].tolist() == ["1", "1/s", "ms"] * 2
    assert set(cells["section"]) == {"Point select"}
    assert set(frame(read(tmp_path, "b.md", "# A\n\n## B\n\n- QPS: 145,062\n- p99: 1.5 ms\n"))["section"]) == {"B"}
    assert cells.loc[cells["column"] == "TPS", "label"].tolist() == ["Threads 8", "Threads 16"]
    assert cells.loc[1, ["low", "high"]].tolist() == pytest.approx([1234.45, 1234.55])


SAME = {
    "bare.md": "Threads | TPS\n--|--\n8 | 100\n16 | 190\n",
    "drawn.md": "```\n+---------+-----+\n| Threads | TPS |\n+---------+-----+\n|       8 | 100 |\n|      16 | 190 |\n+---------+-----+\n```\n",
    "psql.txt": " Threads | TPS \n---------+-----\n       8 | 100\n      16 | 190\n(2 rows)\n",
    "bars.txt": "| Threads | TPS |\n| 8 | 100 |\n| 16 | 190 |\n",
    "box.txt": "┌─────────┬─────┐\n│ Threads │ TPS │\n├─────────┼─────┤\n│ 8       │ 100 │\n│ 16      │ 190 │\n└─────────┴─────┘\n",
    "a.html": "<html><body><h2>x</h2><table><tr><th>Threads<th>TPS<tr><td>8<td>100<tr><td>16<td>190</table></body></html>",
    "in.md": "text\n\n<table>\n<tr><th>Threads</th><th>TPS</th></tr>\n\n<tr><td>8</td><td>100</td></tr>\n<tr><td>16</td><td>190</td></tr>\n</table>\n",
    "a.csv": "Threads,TPS\n8,100\n16,190\n",
    "a.tsv": "Threads\tTPS\n8\t100\n16\t190\n",
}  # fmt: skip


@pytest.mark.parametrize("name", SAME)
def test_a_table_is_the_same_in_every_format(tmp_path: Path, name: str) -> None:
    found = read(tmp_path, name, SAME[name])
    assert frame(found)["value"].tolist() == [8, 100, 16, 190]
    assert [column.heading for column in found.tables[0].columns] == ["Threads", "TPS"]


def test_spans_and_several_header_rows_of_html_are_laid_out(tmp_path: Path) -> None:
    html = (
        "<html><table><thead><tr><th rowspan=2>Threads</th><th colspan=2>v1</th></tr><tr><th>TPS</th><th>p99 (ms)</th></tr></thead>"
        "<tr><td rowspan=2>8</td><td>100</td><td>3</td></tr><tr><td>101</td><td>4</td></tr></table></html>"
    )
    found = read(tmp_path, "a.html", html)
    assert [column.heading for column in found.tables[0].columns] == ["Threads", "v1 / TPS", "v1 / p99 (ms)"]
    assert frame(found)["value"].tolist() == [8, 100, 3, 8, 101, 4]


# What a table's columns are: role, quantity, unit; and some of their headings.
COLUMNS = {
    "bold cells above the first row of HTML": (
        '<table><tr><td rowspan=2><strong>Query</strong></td><td colspan=2><b>v2 vs. v1</b></td></tr><tr><td><b>Speedup (%)</b></td><td><b>Speedup (times)</b></td></tr><tr><td>Q1</td><td>4.24</td><td>1.0</td></tr></table>',
        ["level", "delta delta %", "delta delta x"], "v2 vs. v1 / Speedup (times)",
    ),
    "of the first heading": ("The results:\n\n| tpmC | 150 | 300 |\n|--|--|--|\n| x86 | 306.8 | 332.4 |\n| Arm | 341.3 | 367.2 |\n", ["level throughput", *["metric throughput 1/min"] * 2], "300"),
    "of the caption": ("Average latency in milliseconds:\n\n| | 150 | 300 |\n|--|--|--|\n| x86 | 306.8 | 332.4 |\n| Arm | 341.3 | 367.2 |\n", ["level", *["metric mean ms"] * 2], "300"),
    "of no quantity": ("## It improved by 50%\n\n| | 150 | 300 |\n|--|--|--|\n| x86 | 306.8 | 332.4 |\n| Arm | 341.3 | 367.2 |\n", ["level", "metric", "metric"], "300"),
    "on its side": ("| | v1 | v2 |\n|--|--|--|\n| TPS | 100 | 110 |\n| Latency (ms) | 8.0 | 7.3 |\n", ["level", "metric throughput 1/s", "metric latency ms"], "Latency (ms)"),
    "on its side, as it says": ("| Metric | v1 | v2 |\n|--|--|--|\n| Total time | 1s | 2s |\n| Rows read | 100 | 40,000 |\n", ["level", "metric time s", "metric count 1"], "Rows read"),
    "a list of pairs": ("- QPS: 145,062\n- Latency: 1.5 ms\n", ["metric throughput 1/s", "metric latency ms"], "Latency"),
    "rates that were set, and a rank that is no unit": ("| Ops | latency 99% | AVG (ms) |\n|--|--|--|\n| 1m | 0.9ms | 0.5 |\n| 1m | 1.1ms | 0.6 |\n| 5m | 2ms | 0.7 |\n", ["level throughput 1/s", "metric percentile ms", "metric mean ms"], "AVG (ms)"),
    "ranks": ("| Percentile | Latency (us) |\n|--|--|\n| 50%-tile | 187 |\n| 99%-tile | 478 |\n", ["level rank %", "metric latency us"], "Latency (us)"),
    "units beside values": ("| Test | Value | Unit |\n|--|--|--|\n| a | 12 | ms |\n| b | 15 | ms |\n", ["level", "metric  ms", "note"], "Unit"),
    "units beside values, on their side": ("| Metric | Value | Unit |\n|--|--|--|\n| TPS | 935.5 | tx/s |\n| Elapsed | 12 | min |\n", ["level", "metric throughput 1/s", "metric time min"], "Elapsed"),
    "what was set": ("| Setting | Value |\n|--|--|\n| Duration | 60 s |\n| Ramp-up | 5 s |\n", ["level", "note  s"], "Value"),
    "a clock": ("| Time (s) | TPS |\n|--|--|\n| 2 | 101 |\n| 4 | 99 |\n| 6 | 98 |\n| 8 | 97 |\n", ["level time s", "metric throughput 1/s"], "TPS"),
    "a clock of tenths": ("| Time (s) | TPS |\n|--|--|\n| 0.1 | 101 |\n| 0.2 | 99 |\n| 0.3 | 98 |\n| 0.4 | 97 |\n", ["level time s", "metric throughput 1/s"], "TPS"),
    "times of uneven steps": ("| Time (s) | TPS |\n|--|--|\n| 2 | 101 |\n| 4 | 99 |\n| 6 | 98 |\n| 9 | 97 |\n", ["metric time s", "metric throughput 1/s"], "TPS"),
    "the lowest of many rates": ("| Threads | p0.1 (req/s) | Longest request (ms) |\n|--|--|--|\n| 8 | 101 | 9 |\n| 16 | 190 | 12 |\n", ["level concurrency 1", "metric percentile 1/s", "metric max ms"], "p0.1 (req/s)"),
    "a unit that one of several statistics has": ("| API | avg ms | p1 | p99 | max |\n|--|--|--|--|--|\n| get | 0.82 | 0.12 | 5.10 | 35.8 |\n", ["level", "metric mean ms", "metric percentile ms", "metric percentile ms", "metric max ms"], "p1"),
    "statistics beside a rate": ("| API | avg ms | QPS | max |\n|--|--|--|--|\n| get | 0.82 | 1200 | 1900 |\n", ["level", "metric mean ms", "metric throughput 1/s", "metric max"], "max"),
    "rows with units below statistics": ("| Metric | avg | p50 | p99 |\n|--|--|--|--|\n| CPU (%) | 46.2 | 45.8 | 74.4 |\n| Disk read (MiB/s) | 14.9 | 14.2 | 27.1 |\n", ["level", "metric usage %", "metric throughput MiB/s"], "CPU (%)"),
    "seconds of all data": ("The data in the table is the time of a load, in seconds.\n\n| Store | a | b |\n|--|--|--|\n| x | 0.629 | 5.711 |\n| y | 10.150 | 108.569 |\n", ["level", "metric  s", "metric  s"], "a"),
    "milliseconds of all times": ("## Words\n\n注：时间的单位均为ms\n\n## Load\n\n| Label | Samples | Average | Median |\n|--|--|--|--|\n| a | 331000 | 1 | 2 |\n", ["level", "metric count 1", "metric mean ms", "metric percentile ms"], "Average"),
    "seconds of another section": ("## Load\n\nAll values are in seconds.\n\n## Loading twice\n\n| Store | a | b |\n|--|--|--|\n| x | 0.629 | 5.711 |\n| y | 10.150 | 108.569 |\n", ["level", "metric", "metric"], "a"),
    "parts of a rate below a heading": ("## Throughput\n\n| sec | ops/s | success | timeout | received |\n|--|--|--|--|--|\n| 1 | 92529 | 92529 | 0 | 92529 |\n| 2 | 100804 | 193333 | 0 | 193333 |\n", ["metric  s", "metric throughput 1/s", "metric", "metric", "metric"], "received"),
    "a size that is spoken of by the way": ("The size of the data sets is given.\n\n| Name | Number of edges | Rank |\n|--|--|--|\n| a | 367 | 3.5 |\n| b | 298 | 2.5 |\n", ["level", "metric count 1", "metric"], "Rank"),
    "sizes that are levels": ("| Store | Size 1000 | Size 5000 |\n|--|--|--|\n| a | 20.804 | 242.099 |\n| b | 45.790 | 820.633 |\n", ["level", "metric", "metric"], "Size 1000"),
    "figures that failed": ("| Metric | A | B |\n|--|--|--|\n| Requests/sec | TIMEOUT | 842.71 |\n| p95 | Failed | 114 ms ✅ (very constant, as before) |\n", ["level", "metric throughput 1/s", "metric percentile ms"], "p95"),
    "changes with a remark": ("| Test | Improvement |\n|--|--|\n| a | 📈 55% faster (8 February to 14 March) |\n| b | 43% (8 February to 14 March) |\n", ["level", "delta delta %"], "Improvement"),
    "amounts with units that rise": ("| Metric | Before | After |\n|--|--|--|\n| Update | 325 ms | 60 ms |\n| Allocated | 540 MB | 1.9 MB |\n", ["level", "metric", "metric"], "Before"),
    "several figures in a cell": ("| Store | A |\n|--|--|\n| set | QPS: 159K, P99: 0.82ms |\n", ["level", "metric"], "A"),
    "a picture between caption and table": (
        "## Read\n\n**Bandwidth (MB/s)**\n\n![](a.png)\n\n| Clients | 1 process | 4 processes |\n|--|--|--|\n| a | 319 | 1145 |\n| b | 625 | 2237 |\n",
        ["level concurrency", *["metric throughput MB/s"] * 2], "4 processes",
    ),
    "levels as columns": ("| Store | 1 node | 3 nodes |\n|--|--|--|\n| a | 100 | 128 |\n| b | 200 | 300 |\n| c | 300 | 500 |\n", ["level", "metric", "metric"], "3 nodes"),
    "levels of another plural": ("| Store | 1 process | 4 processes |\n|--|--|--|\n| a | 100 | 128 |\n| b | 200 | 300 |\n| c | 300 | 500 |\n", ["level", "metric", "metric"], "4 processes"),
    "levels of no known noun": ("| Store | 1 clerk | 8 clerks |\n|--|--|--|\n| a | 100 | 128 |\n| b | 200 | 300 |\n| c | 300 | 500 |\n", ["level", "metric", "metric"], "8 clerks"),
    "numbers alone that are percentiles": ("| Run | 10 | 50 | 90 | 99 |\n|--|--|--|--|--|\n| a | 1.5ms | 2.5ms | 3.5ms | 4.5ms |\n| b | 1.5ms | 2.5ms | 3.5ms | 4.5ms |\n", ["level setting", *["metric percentile ms"] * 4], "99"),
    "numbers alone that are none": ("| Run | 25 | 50 | 75 | 100 |\n|--|--|--|--|--|\n| a | 1.5ms | 2.5ms | 3.5ms | 4.5ms |\n| b | 1.5ms | 2.5ms | 3.5ms | 4.5ms |\n", ["level setting", *["metric  ms"] * 4], "100"),
    "extremes and a median": ("| Run | min | max | 中位数(ms) |\n|--|--|--|--|\n| a | 1.5ms | 2.5ms | 3.5ms |\n| b | 1.5ms | 2.5ms | 3.5ms |\n", ["level setting", "metric min ms", "metric max ms", "metric percentile ms"], "max"),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_have_role_quantity_and_unit(tmp_path: Path, name: str) -> None:
    text, said, heading = COLUMNS[name]
    (table,) = read(tmp_path, "a.md", text).tables
    assert [f"{one.role} {one.quantity} {one.unit}".rstrip() for one in table.columns] == said
    assert heading in [one.heading for one in table.columns]


@pytest.mark.parametrize(
    ("text", "figures", "note"),
    [
        ("| Threads | TPS |\n|--|--|\n| 8 | 100 |\n| 16 | 12,34,5 |\n", [8, 100, 16], "line 4: '12,34,5' in column 'TPS' was not read as a figure"),
        ("| Time | Read | CPU |\n|--|--|--|\n| 18 | 26 |\n| 33 | 28 |\n", [18, 26, 33, 28], "line 1: each row has 2 cells under 3 headings: figures may stand under the wrong one"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_a_note_and_no_number(
    tmp_path: Path, text: str, figures: list[float], note: str
) -> None:
    found = read(tmp_path, "a.md", text)
    assert (frame(found)["value"].tolist(), found.notes) == (figures, [note])


def test_figures_that_three_passages_tell_by_the_same_names_are_rows(tmp_path: Path) -> None:
    passage = (
        "# Load\n\nThe number of transactions completed per second is {}, so the DB-TPS is {} and all is well.\n\n"
    )
    three = read(tmp_path, "a.md", passage.format(935, "1,870") + passage.format(575, 2300) + passage.format(531, 2124))
    table = table_in_sentences(three)
    assert table is not None
    assert [(one.heading, one.unit) for one in table.columns[1:]] == [
        ("transactions completed per second", "1/s"),
        ("DB-TPS", "1/s"),
    ]
    assert [[cell.figures[0].value for cell in row[1:]] for row in table.rows] == [
        [935, 1870],
        [575, 2300],
        [531, 2124],
    ]
    assert [row[0].line for row in table.rows] == [3, 7, 11]
    assert table_in_sentences(read(tmp_path, "b.md", passage.format(935, 1870) * 2)) is None


def test_tool_output_in_a_fence_is_a_table(tmp_path: Path) -> None:
    output = "```\nSQL statistics:\n    queries performed:\n    transactions:   5400   (89.97 per sec.)\nLatency (ms):\n         avg:      11.11\n         95th percentile:   14.73\n```\n"
    found = read(tmp_path, "a.md", output)
    assert dict(zip(frame(found)["column"], frame(found)["value"], strict=True)) == {
        "transactions": 5400, "tps": 89.97, "latency mean (ms)": 11.11, "p95 (ms)": 14.73,
    }  # fmt: skip


def test_figures_under_words_that_only_blanks_set_apart_are_a_table(tmp_path: Path) -> None:
    fence = "```\nbenchmark       old MB/s    speedup\nEncode10x2-8     2011.67     5.23x\nEncode50x5-8     4585.41     3.12x\n```\n"
    found = read(tmp_path, "a.md", fence)
    assert [(one.heading, one.unit) for one in found.tables[0].columns] == [
        ("benchmark", ""),
        ("old MB/s", "MB/s"),
        ("speedup", "x"),
    ]
    assert [cell.line for cell in (row[1] for row in found.tables[0].rows)] == [3, 4]
    assert read(tmp_path, "b.md", "```\nls  -l\nrm  -r\ncd  2\n```\n").tables == []
    groups = "```\nfile    out level  size    mb/s\na.tar   zskp    1   62   611.17\n\na.tar   zstd    2   61   322.49\n```\n"
    (table,) = read(tmp_path, "c.md", groups).tables
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["a.tar", "zskp", "1", "62", "611.17"],
        ["a.tar", "zstd", "2", "61", "322.49"],
    ]
    one = "```\n_elapsed_______tpmC____efc__avg(ms)__p99(ms)\n 1800.0s   160420.0  96.0%    303.1    285.2\n```\n"
    assert values(tmp_path, "d.md", one) == [1800, 160420, 96, 303.1, 285.2]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "gb18030", "utf-8-sig", "latin-1"])
def test_other_encodings_are_read(tmp_path: Path, encoding: str) -> None:
    words = "été" if encoding == "latin-1" else "吞吐量测试报告"
    assert values(tmp_path, "a.md", f"{words}\n\n| n | TPS |\n|--|--|\n| 8 | 100 |\n".encode(encoding)) == [8, 100]


def test_japanese_is_not_read_as_chinese() -> None:
    assert "の" not in formats.decoded("スループットの結果です".encode("euc-jp"), "a.md")


def test_a_spreadsheet_is_read_sheet_by_sheet(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["Threads", "TPS"])
    book.active.append([8, 100.5])
    book.save(tmp_path / "a.xlsx")
    assert frame(reading(str(tmp_path / "a.xlsx")))["value"].tolist() == [8, 100.5]


def test_a_sheet_holds_several_tables_each_below_rows_of_words(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    merged = [["Load", "Latency (ms)", None, None], [None, "p50", "p99", None], ["read", 1.5, 2.5, None]]
    for row in [*merged, ["write", 3.5, 4.5], [], [None, "Threads", "TPS"], [None, 8, 100.5]]:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    first, second = reading(str(tmp_path / "a.xlsx")).tables
    assert [one.heading for one in first.columns] == ["Load", "Latency (ms) / p50", "Latency (ms) / p99"]
    assert [one.heading for one in second.columns] == ["Threads", "TPS"]
    assert [[cell.text for cell in row] for row in first.rows] == [["read", "1.5", "2.5"], ["write", "3.5", "4.5"]]
    assert [row[0].line for row in [*first.rows, *second.rows]] == [3, 4, 7]


def test_a_csv_file_of_such_a_sheet_is_read_as_the_sheet_is(tmp_path: Path) -> None:
    text = "Load,Latency (ms),\n,p50,p99\nread,1.5,2.5\n,,\nThreads,TPS,\n8,100.5,\n"
    first, second = read(tmp_path, "a.csv", text).tables
    assert [one.heading for one in first.columns] == ["Load", "Latency (ms) / p50", "Latency (ms) / p99"]
    assert [one.heading for one in second.columns] == ["Threads", "TPS"]
    assert [[cell.text for cell in row] for row in [*first.rows, *second.rows]] == [
        ["read", "1.5", "2.5"],
        ["8", "100.5"],
    ]
    assert [row[0].line for row in [*first.rows, *second.rows]] == [3, 6]


def test_a_row_of_units_below_the_headings_of_a_sheet_is_part_of_them(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in [["System", "Read", "Scan"], ["name", "ms", "(MB/s)"], ["a", 1.5, 20], ["b", 2.5, 30]]:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    (table,) = reading(str(tmp_path / "a.xlsx")).tables
    assert [(one.heading, one.unit) for one in table.columns[1:]] == [("Read / ms", "ms"), ("Scan / (MB/s)", "MB/s")]
    assert [[cell.text for cell in row] for row in table.rows] == [["a", "1.5", "20"], ["b", "2.5", "30"]]


@pytest.mark.parametrize(
    ("rows", "heads", "cells"),
    [
        # A heading with figures: what is blank below it stays so.
        ([["Load", 1, 8], ["read", 10.5, None], ["write", 7.5]], ["Load", "1", "8"], ["read", "10.5", ""]),
        ([["Parameter", "Value"], ["CPU", "Xeon"], ["RAM", "64 GB"]], ["Parameter", "Value"], ["CPU", "Xeon"]),
        (
            [["Query", "ms", "Error"], ["Q1", None, "timeout"], ["Q2", 7.5]],
            ["Query", "ms", "Error"],
            ["Q1", "", "timeout"],
        ),
        ([["Parameter", "Value"], ["scope", "node"], ["RAM", "64 GB"]], ["Parameter", "Value"], ["scope", "node"]),
    ],
)
def test_the_rows_of_a_sheet_below_its_headings_are_kept_as_they_are(
    rows: list[list[str]], heads: list[str], cells: list[str]
) -> None:
    words = [["" if one is None else str(one) for one in row] for row in rows]
    (table,) = formats._of_sheet(words, range(1, 4))
    assert (table.header, table.rows[0], table.rows[1], len(table.rows)) == (1, heads, cells, 3)


def test_a_bar_before_the_first_figure_of_psql_stands_behind_an_empty_cell(tmp_path: Path) -> None:
    text = (
        "```\n name | calls | rows \n------+-------+------\n a    |    10 |  200\n      |    11 |  300\n(2 rows)\n```\n"
    )
    (table,) = read(tmp_path, "a.md", text).tables
    assert [[cell.text for cell in row] for row in table.rows] == [["a", "10", "200"], ["", "11", "300"]]


def test_boxes_and_arrows_are_no_table(tmp_path: Path) -> None:
    boxes = (
        "+--------+     +--------+\n| client | --> | server |\n+--------+     +--v-----+\n| 1 | 2 |      | 3 | 4  |\n"
    )
    assert read(tmp_path, "a.md", f"```\n{boxes}```\n").tables == []


@pytest.mark.parametrize(("heading", "role"), [("TPS", "metric"), ("Result (ms)", "metric"), ("Value", "note")])
def test_what_a_configuration_reached_is_measured_and_what_was_set_is_not(
    tmp_path: Path, heading: str, role: str
) -> None:
    (table,) = read(tmp_path, "a.md", f"| Configuration | {heading} |\n|--|--|\n| one | 100 |\n| two | 230 |\n").tables
    assert table.columns[1].role == role


def test_statistics_of_a_throughput_are_better_if_more(tmp_path: Path) -> None:
    (table,) = read(
        tmp_path, "a.md", "## Throughput\n\n| API | avg | p99 |\n|--|--|--|\n| get | 20.3 | 21.3 |\n"
    ).tables
    assert [one.better for one in table.columns] == ["", "more", "more"]


def pdf(drawn: bytes) -> bytes:
    """Return a PDF of one page, with a font whose characters have no names, beside Helvetica."""
    return b"""%%PDF-1.4
1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj
2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj
3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 300 99] /Contents 4 0 R
/Resources <</Font <</Nameless 5 0 R /Helvetica 7 0 R>>>>>> endobj
4 0 obj <</Length %d>> stream
%s
endstream endobj
5 0 obj <</Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [6 0 R]>> endobj
6 0 obj <</Type /Font /Subtype /CIDFontType2 /BaseFont /X /FontDescriptor <</FontBBox [0 0 9 9]>>
/CIDSystemInfo <</Registry (Adobe) /Ordering (Identity) /Supplement 0>>>> endobj
7 0 obj <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>> endobj
trailer <</Root 1 0 R>>
""" % (len(drawn), drawn)


def test_a_pdf_whose_fonts_name_no_characters_has_no_text(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has no text layer"):
        read(tmp_path, "a.pdf", pdf(b"BT /Nameless 9 Tf <000C00070008> Tj /Helvetica 9 Tf ( 8 ) Tj ET"))


def test_a_pdf_with_a_few_characters_without_a_name_is_read(tmp_path: Path) -> None:
    # 1 of 12 characters, which pdfplumber gives as 8: (cid:12).
    drawn = b"BT /Nameless 9 Tf 9 50 Td <000C> Tj /Helvetica 9 Tf ( 16 threads) Tj ET"
    assert read(tmp_path, "a.pdf", pdf(drawn)).text == "(cid:12) 16 threads"


def bomb() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/sheet1.xml", b"0" * (formats.MOST_UNPACKED + 1))
    return held.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.md", b"  \n", "there is nothing in it"),
        ("binary.md", b"\x00\x01\x02" * 100, "is not text"),
        ("large.md", b"a" * (formats.MOST_TEXT + 1), "is too large"),
        ("not.pdf", b"%PDF-1.4 nothing", "is not a PDF that can be read"),
        ("not.xlsx", b"PK\x03\x04 nothing", "is not a spreadsheet that can be read"),
        ("one.csv", b"a\n", "has no table"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read(tmp_path, name, content)


def test_a_spreadsheet_that_unpacks_to_too_much_is_refused_before_it_does(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="too large once it is unpacked"):
        read(tmp_path, "bomb.xlsx", bomb())


@pytest.mark.timeout(60)
@pytest.mark.parametrize("begun", ["<table>\n", "<!--\n"])
def test_what_begins_often_and_never_ends_is_read_once(begun: str) -> None:
    formats.markdown_blocks(begun * 50_000)  # each held against the whole rest: minutes


def test_html_that_is_deep_wide_or_full_of_entities_is_read_in_bounds(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has no text that can be read"):
        read(tmp_path, "deep.html", "<html>" + "<div>" * 20_000 + "x" + "</div>" * 20_000)
    wide = "<html><table><tr>" + "<td colspan=5000>7</td>" * 3 + "</tr><tr><td>1</td><td>2</td></tr></table></html>"
    assert len(read(tmp_path, "wide.html", wide).tables[0].columns) <= formats.MOST_COLUMNS
    entities = '<!DOCTYPE html [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><html><p>&b;</p></html>'
    assert "aaaa" not in "".join(block.text for block in read(tmp_path, "e.html", entities).blocks)


@pytest.mark.parametrize("html", ["</div>", "<br>", "<a name='x'></a>", "<?php ?>", "<hr/>"])
def test_a_piece_of_html_that_holds_nothing_does_not_make_a_document_unreadable(tmp_path: Path, html: str) -> None:
    text = f"# Load\n\n{html}\n\n| Threads | TPS |\n|--|--|\n| 8 | 100 |\n"
    assert len(reading(str(written(tmp_path, "report.md", text))).tables) == 1


RUNS = """```
scaling factor: 100
number of clients: 32
latency average = 8.097 ms
tps = 3952.08 (without initial connection time)
scaling factor: 100
number of clients: 64
latency average = 16.10 ms
tps = 3975.20 (without initial connection time)
```
"""


def test_each_run_of_a_pasted_output_is_a_row(tmp_path: Path) -> None:
    (tmp_path / "runs.md").write_text(RUNS)
    (table,) = reading(str(tmp_path / "runs.md")).tables
    assert [column.heading for column in table.columns] == ["scale", "threads", "latency mean (ms)", "tps"]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["100", "32", "8.097", "3952.08"],
        ["100", "64", "16.10", "3975.20"],
    ]
    assert [row[0].line for row in table.rows] == [2, 6]


@pytest.mark.parametrize(
    ("heading", "cell", "value"),
    [
        ("QPS (K)", "12.5", 12_500),
        ("QPS (thousands qps)", "3844", 3_844_000),
        ("Kops/s", "7", 7_000),
        ("tps (万)", "1.2", 12_000),
        ("Mops/s", "12.5k", 12_500),  # its own letter counts
        ("QPS of 1 million rows", "12", 12),
        ("Memory (M)", "12", 12),
    ],
)
def test_a_heading_says_what_its_figures_are_times(tmp_path: Path, heading: str, cell: str, value: float) -> None:
    (tmp_path / "one.md").write_text(f"| Store | {heading} |\n|--|--|\n| A | {cell} |\n")
    assert frame(reading(str(tmp_path / "one.md"))).value.to_list() == [value]


def test_long_numerals_and_many_cells_are_read_in_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert figures("1" * 100_000) == figures("1," * 50_000 + "1") == []
    monkeypatch.setattr("benchbook.documents.tables.MOST_CELLS", 6)
    (tmp_path / "many.md").write_text("| Threads | TPS |\n|--|--|\n| 1 | 10 |\n| 2 | 20 |\n| 4 | 40 |\n")
    read = reading(str(tmp_path / "many.md"))
    assert (len(read.tables[0].rows), read.notes) == (2, ["line 1: 1 row left out: the document has more than 6 cells"])
