"""The audit of documents that were only read: what is found, what is not, and how it is told."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchbook.cli import app
from benchbook.documents.amounts import FORMS, in_figures
from benchbook.documents.audit import DocumentAudit, audit_document
from benchbook.documents.curves import times_by_chance
from benchbook.documents.page import page
from benchbook.documents.sentences import PATTERNS
from benchbook.documents.tables import reading

GOOD = """# Two versions

## Point select

| Threads | v1 TPS | v2 TPS | Improvement (%) | p95 (ms) | p99 (ms) | Rows | Time (s) | Speed (rows/s) |
|--|--|--|--|--|--|--|--|--|
| 8 | 10,500 | 11,900 | 13.33 | 1.10 | 2.20 | 3,000,000 | 250.0 | 12,000 |
| 16 | 19,250 | 23,100 | 20.00 | 1.30 | 2.10 | 4,000,000 | 320.0 | 12,500 |
| 32 | 36,000 | 41,000 | 13.89 | 1.50 | 2.60 | 5,200,000 | 400.0 | 13,000 |
| 64 | 64,000 | 70,500 | 10.16 | 2.10 | 4.00 | 6,300,000 | 450.0 | 14,000 |
| 128 | 90,100 | 99,700 | 10.65 | 4.00 | 9.80 | 7,200,000 | 480.0 | 15,000 |
| 256 | 95,300 | 117,219 | 23.00 | 9.00 | 21.00 | 8,000,000 | 500.0 | 16,000 |

With 256 threads, TPS rose from 95,300 to 117,219, an improvement of 23%. v2 TPS consistently beats v1 TPS.
"""


def audited(tmp_path: Path, text: str, name: str = "report.md") -> DocumentAudit:
    (tmp_path / name).write_text(text)
    return audit_document(reading(str(tmp_path / name)))


def found(tmp_path: Path, text: str) -> list[tuple[str, int]]:
    return [(finding.kind, finding.line) for finding in audited(tmp_path, text).findings if finding.severity != "note"]


def test_a_document_that_adds_up_has_no_finding_and_says_what_passed(tmp_path: Path) -> None:
    audit = audited(tmp_path, GOOD)
    assert audit.findings == []
    assert audit.passed["percentage"] == 6
    assert audit.passed["percentiles"] == 6
    assert audit.passed["sentence"] >= 2
    assert (audit.tables, audit.figures) == (1, 54)


PLANTED = {
    "a percentage": ("| 13.89 |", "| 18.39 |", ("percentage", 9)),
    "a figure that the percentage came from": ("41,000", "47,000", ("percentage", 9)),
    "columns of percentiles swapped": ("1.50 | 2.60", "2.60 | 1.50", ("percentiles", 9)),
    "a digit of a rate": ("13,000 |", "18,000 |", ("rate", 9)),
    "a sentence's percentage": ("improvement of 23%", "improvement of 32%", ("sentence", 14)),
    "always, and once it is not": ("| 64,000 | 70,500 | 10.16", "| 70,500 | 64,000 | -9.22", ("sentence", 14)),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_found_at_its_line(tmp_path: Path, name: str) -> None:
    before, after, where = PLANTED[name]
    assert before in GOOD
    assert where in found(tmp_path, GOOD.replace(before, after, 1))


SENTENCES: dict[str, list[str]] = {
    "The new format needs 111% fewer instructions.": ["impossible"],
    "延迟降低了 120%。": ["impossible"],
    "QPS went from 1,200 to 1,500, an increase of 35%.": ["sentence"],
    "QPS 从 1200 提升到 1500，提升了 35%。": ["sentence"],
    "吞吐量提升 35%：从 1,200 RPS 提升至 1,500 RPS": ["sentence"],
    "The longest fell from 11.92s to 131.27ms, a reduction of 88.9%.": ["sentence"],
    "It reached 1,500 QPS vs 1,200 QPS (+35%).": ["sentence"],
    # 607.5 / 12.4 = 49.0; 120 / 250 is 52% less.
    "Reads are 59x slower than in the cache (607.5 ns vs 12.4 ns).": ["sentence"],
    "Reads are 49x slower than in the cache (607.5 ns vs 12.4 ns).": [],
    "At the percentiles, 99%: 10 ms vs 14 ms.": [],
    "TPS rises by 35% (1,200 vs 1,500 TPS).": ["sentence"],
    "响应时间: 250ms → 120ms (70% 提升)": ["sentence"],
    "响应时间: 250ms → 120ms (52% 提升)": [],
    "The new format needs 45% fewer instructions.": [],
    "QPS went from 1,200 to 1,500, an increase of 25%.": [],
    "QPS went from 1,500 to 1,200, a drop of 20%.": [],
    "QPS 从 1200 提升到 1500，提升了 25%。": [],
    "吞吐量提升 25%：从 1,200 RPS 提升至 1,500 RPS": [],
    "最大延迟：从 11.92s 降至 131.27ms（降低 98.9%）。": [],
    "Memory dropped from 1.5 GB to 300 MB, a reduction of 80%.": [],
    "It is 111% faster.": [],
    "Throughput is not linear, and never was 100% of what was hoped for.": [],
    "The figure shows 5,326 -> 4,589 tps from 200 to 400 threads, -14%.": [],
    "CPU 平均利用率从 925% 下降到 874%，另一项从 201% 上升到 250% 左右。": [],
    "CPU 平均利用率从 925% 下降到 874%，另一项上升为 201%。": [],
}


@pytest.mark.parametrize("text", SENTENCES)
def test_a_sentence_that_contradicts_itself_is_found_and_no_other(tmp_path: Path, text: str) -> None:
    assert [kind for kind, _ in found(tmp_path, text)] == SENTENCES[text]


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.example)
def test_each_pattern_matches_its_example(pattern) -> None:
    assert pattern.pattern.search(pattern.example)


# A document, what is put in its blanks, and what is found at which lines.
BLANKS: dict[str, tuple[str, dict[tuple[object, ...], list[tuple[str, int]]]]] = {
    "linear along the ladder of its section": (
        "# Scaling\n\n## Load\n\n| Nodes | TPS |\n|--|--|\n| 1 | 100 |\n| 2 | {} |\n| 4 | {} |\n| 8 | {} |\n\nThroughput scales {} with the number of nodes.\n",
        {(198, 402, 790, "linearly"): [], (150, 190, 210, "linearly"): [("sentence", 12)], (150, 190, 210, "almost linearly"): []},
    ),
    "linear along a ladder elsewhere that is named from end to end": (
        "# Report\n\n## Summary\n\nQPS increases linearly when expanding replicas from 1 to {}.\n\n## Scale-out\n\n| Replicas | Clients | QPS |\n|--|--|--|\n| 1 | 500 | 7153 |\n| 4 | 800 | 19281 |\n| 8 | 1200 | 30655 |\n",
        {(8,): [("sentence", 5)], (4,): []},
    ),
    "a row that says how far others are apart": (
        "| tpmC | 150 | 300 | 500 | 800 |\n|--|--|--|--|--|\n| x86 | 30603.8 | 33270.4 | 36813.8 | 36388.6 |\n| Arm | 34114.3 | 36715.2 | 42493.1 | 41275.0 |\n| (Arm-x86)/x86 | 11.47% | 10.35% | {} | 13.43% |\n",
        {("15.43%",): [], ("18.43%",): [("percentage", 5)]},
    ),
    "tables with the same headings": (
        "# Load\n\n## A\n\n| Case | local | mounted | mounted slower |\n|--|--|--|--|\n| write | 2336 MB/s | 369 MB/s | 6.33x |\n| commit | 0.131 ms | 1.182 ms | 9.02x |\n"
        "# Load\n\n## B\n\n| Case | local | mounted | mounted slower |\n|--|--|--|--|\n| write | 2400 MB/s | 500 MB/s | 4.80x |\n| commit | 0.250 ms | 1.100 ms | {}x |\n",
        {("4.40",): [], ("5.40",): [("percentage", 16)]},
    ),
    "a sum is count x mean, and queries are a multiple of transactions": (
        "| Statement | Count | Sum (ms) | Avg (ms) | QPS | TPS | Time (s) |\n|--|--|--|--|--|--|--|\n| a | 1,202 | 60,701 | 50.5 | 2,000.4 | 100.0 | 11 |\n| b | 3,170 | 45,014 | 14.2 | 4,001.1 | 200.1 | 7 |\n| c | 5,410 | {} | 41.1 | 1,602.2 | 80.1 | 31 |\n| d | 907 | 28,026 | 30.9 | {} | 260.5 | 17 |\n| e | 2,018 | 128,344 | 63.6 | 3,301.9 | 165.1 | 23 |\n",
        {("222,351", "5,210.3"): [], ("252,351", "5,210.3"): [("ratio", 5)], ("222,351", "5,710.3"): [("ratio", 6)]},
    ),
    "a quoted figure with one slip": (
        "## Load\n\n| Threads | TPS |\n|--|--|\n| 8 | 12039 |\n| 16 | 15210 |\n\nThroughput is {} TPS.\n",
        {("12,039",): [], ("12,093",): [("quoted figure", 8)], ("77,777",): []},
    ),
    "a total": (
        "| Query | v1 (s) | v2 (s) | v3 (s) |\n|--|--|--|--|\n| Q1 | 1.5 | 2.5 | 3.5 |\n| Q2 | 2.25 | 3.25 | 4.25 |\n| Q3 | 4.0 | 4.5 | 5.0 |\n| Total | 7.75 | 10.25 | {} |\n",
        {("12.75",): [], ("13.75",): [("sum", 6)], ("13.75s",): [("sum", 6)]},
    ),
    "a share above the whole, and CPU of many cores": (
        "| Threads | Cache hit ratio (%) | CPU (%) |\n|--|--|--|\n| 8 | 97.5 | 640 |\n| 16 | {} | 810 |\n",
        {("103.5",): [("impossible", 4)], ("98.5",): []},
    ),
    "two versions": (
        "## Load\n\n| Threads | 4.1 (tps) | 4.2 (tps) |\n|--|--|--|\n| 8 | 905.20 | 921.10 |\n| 16 | 1,702.85 | {} |\n\n{}\n",
        {
            ("1,798.30", "AcmeDB 4.2 is faster than 4.1 in all cases."): [],
            ("1,698.30", "AcmeDB 4.2 is faster than 4.1 in all cases."): [("sentence", 8)],
            ("1,798.30", "With 16 threads it reaches 1,798 tps."): [],
            ("1,798.30", "With 16 threads it reaches 1,899 tps."): [("quoted figure", 8)],
            ("1,798.30", "It reaches 1,899 tps at 16 threads, as against 300 tps before."): [],
            ("1,798.30", "With 16 threads and 8 connections it reaches 1,899 tps."): [],
            ("1,798.30", "Its peak is 1,899 tps."): [],
            ("1,798.30", "Throughput of 4.1 peaks at 1,703 tps."): [],
            ("1,798.30", "Throughput of 4.1 peaks at 905 tps."): [("sentence", 8)],
            ("1,798.30", "With 16 threads a scan reads 18,990 tps."): [],
            ("1,798.30", "With 16 threads it reaches 8,990 tps."): [],  # five times as many, it is of something else
        },
    ),
    "a sentence that may be of either of two tables": (
        "## Load\n\n| Threads | Alpha TPS | Beta TPS |\n|--|--|--|\n| 64 | 2,000 | 3,000 |\n{}\nAt 64 threads, the TPS of Beta is 90% higher than that of Alpha.\n",
        {("",): [("sentence", 7)], ("\nAgain:\n\n| Threads | Alpha TPS | Beta TPS |\n|--|--|--|\n| 64 | 2,100 | 3,100 |\n",): []},
    ),
    # 402,000 of 265,000 is 52% more; the other way round it is not.
    "columns headed by numbers of producers": (
        "## Messages per second\n\n| Broker | 1 producer | 4 producers | 16 producers |\n|--|--|--|--|\n| Kestrel | 31,000 | 118,000 | 402,000 |\n| Heron | 44,000 | 151,000 | 265,000 |\n\n{}\n",
        {
            ("At 16 producers Kestrel is 52% faster than Heron.",): [],
            ("At 16 producers Heron is 52% faster than Kestrel.",): [("sentence", 8)],
            ("Heron is always faster than Kestrel.",): [("sentence", 8)],
        },
    ),
    # 8.0 is slower in write_only alone.
    "words of some cells are none of all rows": (
        "## Results\n\n| Workload | 7.4 (QPS) | 8.0 (QPS) |\n|--|--|--|\n| read_only | 98,100 | 101,700 |\n| point_select | 210,400 | 238,900 |\n| write_only | 41,200 | 39,800 |\n\n{}\n",
        {("On all reads, 8.0 is faster than 7.4.",): [], ("On all workloads, 8.0 is faster than 7.4.",): [("sentence", 9)]},
    ),
    "what is said of each node": (
        "## Writes\n\n| Nodes | Inserts/s |\n|--|--|\n| 3 | 52,000 |\n| 24 | 240,000 |\n\n{}\n",
        {("Each of the 24 nodes is 42% slower than each of 3.",): [], ("The inserts of 24 nodes are 8 times those of 3 nodes.",): [("sentence", 8)]},
    ),
    # 9,800 of 6,300 is 56% more.
    "levels with a unit do not change by what a metric does": (
        "## Cache\n\n| Cache | Requests/s |\n|--|--|\n| 16 GB | 6,300 |\n| 64 GB | 9,800 |\n\n{}\n",
        {("The step from 16 GB to 64 GB gains 56% more requests per second.",): [], ("The log grew from 16 GB to 48 GB, by 56%.",): [("sentence", 8)]},
    ),
    "half a second is no percentage": (
        "## Queries\n\n| Query | Ash (s) | Fir (s) |\n|--|--|--|\n| Q1 | 1.9 | 2.4 |\n| Q2 | 2.2 | 3.9 |\n\n{}\n",
        {("Fir is slower than Ash on Q1 by half a second.",): [], ("Fir is slower than Ash on Q1 by half.",): [("sentence", 8)], ("Ash on Q2 is faster than Fir on Q1.",): []},
    ),
    "rows of each table, and of all": (
        "We load {}.\n\n```\nsysbench oltp_insert --tables=32 --table-size=1000000 prepare\n```\n",
        {
            ("32 tables of 1,000,000 rows",): [], ("32 tables with 1,000,000 rows",): [],
            ("32 tables and 1,000,000 rows each",): [], ("32 tables with 32,000,000 rows",): [],
            ("32 tables and 1,000,000 rows",): [("identity", 1)], ("32 tables, a total of 1,000,000 rows",): [("identity", 1)],
        },
    ),
    "a section of one workload that runs another": (
        "## Write only (oltp_write_only)\n\n```\nsysbench oltp_common --tables=10 prepare\nsysbench {} --threads=8 run\n```\n",
        {("oltp_read_write",): [("option", 5)], ("oltp_write_only",): []},
    ),
    # -4.08, -6.76, -2.26%
    "percentages that are cut to whole ones": (
        "| Test | v1 (tps) | v2 (tps) | Change |\n|--|--|--|--|\n| a | 3669.87 | 3520.14 | {} |\n| b | 35711.27 | 33298.31 | {} |\n| c | 3352.99 | 3277.25 | {} |\n",
        {("-4.00%", "-6.00%", "-2.00%"): [("printed digits", 4)], ("-4.08%", "-6.76%", "-2.26%"): [], ("-4%", "-7%", "-2%"): []},
    ),
    "nodes are counted and lie on a curve, numbered parts on none": (
        "| {} | {} |\n|--|--|\n| 1 | 100 |\n| 2 | 195 |\n| 3 | 2900 |\n| 4 | 385 |\n| 5 | 480 |\n",
        {("Nodes", "TPS"): [("outlier", 5)], ("Batch", "TPS"): [], ("Nodes", "Max latency (ms)"): []},
    ),
    # github.com/akopytov/sysbench/issues/486: one event of 241.47 ms, its 95th percentile 240.02.
    "a percentile is the end of a bucket": (
        "| Threads | min latency (ms) | 95th percentile latency (ms) | max latency (ms) |\n|--|--|--|--|\n| 1 | {} | 240.02 | {} |\n| 2 | {} | {} | {} |\n",
        {("241.47", "241.47", "10.00", "241.50", "240.02"): [], ("250.47", "260.00", "10.0", "20.0", "30.0"): [("percentiles", 3)]},
    ),
    "a percentile of whole milliseconds lies within one above the maximum": (
        "| Op | max latency (us) | 99.9th percentile (us) |\n|--|--|--|\n| a | 12510 | {} |\n| b | 14835 | {} |\n| c | 27110 | 27000 |\n",
        {("13000", "15000"): [], ("14000", "15000"): [("percentiles", 3)], ("13914", "14813"): [("percentiles", 3)]},
    ),
    "the least, the most and a percentile under one heading": (
        "<table><tr><th colspan=3>Response Time (ms)</th></tr><tr><th>Min</th><th>Max</th><th>95th pct</th></tr><tr><td>0.2</td><td>{}</td><td>49.0</td></tr></table>",
        {("66.8",): [], ("46.8",): [("percentiles", 1)]},
    ),
    # sysbench's QPS are 20 times its TPS.
    "a limit in a rate is one of throughput": (
        "## Reads\n\n| Threads | Alpha ({0}) | Beta ({0}) |\n|--|--|--|\n| 8 | 10,500 | 11,900 |\n| 16 | 19,250 | 23,100 |\n| 32 | 36,000 | 41,000 |\n\n{1}\n",
        {
            ("ops/s", "Alpha never exceeds 30,000 ops/s."): [("sentence", 9)],
            ("ops/s", "Alpha never exceeds 36,000 ops/s."): [],
            ("ops/s", "Alpha never exceeds 30,000 ops/s in our second run."): [],
            ("ops/s", "With 32 threads, Alpha stays below 40,000 ops/s, Beta does not."): [],
            ("ops/s", "With 32 threads, Alpha stays below 35,000 ops/s; Beta stays below 42,000 ops/s."): [],
            ("QPS", "Alpha never exceeds 30,000 QPS."): [("sentence", 9)],
            ("QPS", "Alpha never exceeds 30,000 TPS."): [],
        },
    ),
    # 221,470 / 61,520 = 3.6; the efficiency that the sentence gives as well, fell by a tenth.
    "a change is of the metric of its own clause": (
        "# TPC-C\n\n| Nodes | tpmC | Scaling efficiency |\n|--:|--:|--:|\n| 3 | 61,520 | 100% |\n| 6 | 119,350 | 97% |\n| 12 | 221,470 | 90% |\n\n{}\n",
        {
            ("From 3 to 12 nodes throughput grew 3.6 times, a scaling efficiency of 90%.",): [],
            ("With a scaling efficiency of 90%, throughput grew 3.6 times from 3 to 12 nodes.",): [],
            ("From 3 to 12 nodes the scaling efficiency grew 3.6 times.",): [("sentence", 9)],
        },
    ),
    # 11,100 / 12,000 is 7.5% less; 14 / 9 is 56% more.
    "a word that names columns of two metrics is bound to none": (
        "## A\n\n| Nodes | Write TPS | Read TPS | Write p99 (ms) |\n|--|--|--|--|\n| 3 | 12,000 | 40,000 | 9 |\n| 5 | 11,500 | 61,000 | 11 |\n| 7 | 11,100 | 83,000 | 14 |\n\n{}\n",
        {("Writes fall by 7.5% from 3 to 7 nodes.",): [], ("Write p99 rises by 80% from 3 to 7 nodes.",): [("sentence", 9)]},
    ),
    # (12 + 25 + 38) / 3 = 25. Of the second table 1,380 / 1,120 is 23.2% more.
    "the largest and the mean of a column of changes": (
        "## Results\n\n| Workload | {} |\n|--|--|\n| point_select | 12.0 |\n| read_only | 25.0 |\n| insert | 38.0 |\n| Average | 25.0 |\n\n{}\n",
        {
            ("TPS improvement (%)", "TPS improves by up to 38%."): [],
            ("TPS improvement (%)", "TPS improves by up to 58%."): [("sentence", 10)],
            ("TPS improvement (%)", "TPS 最高提升 58%。"): [("sentence", 10)],
            ("TPS improvement (%)", "TPS improves by 25% on average."): [],
            ("TPS improvement (%)", "On average, TPS is 31% higher."): [("sentence", 10)],
            ("TPS improvement (%)", "TPS 平均提升 31%。"): [("sentence", 10)],
            ("TPS improvement (%)", "On average, TPS is about 24% higher."): [],
            ("TPS improvement (%)", "TPS improves by up to 25%."): [],  # it may be of read_only alone
            ("TPS improvement (%)", "TPS of updates improves by up to 58%."): [],
            ("TPS improvement (%)", "Latency drops by up to 58%."): [],
            ("p99 latency change (%)", "p95 latency drops by up to 58%."): [],
            ("p99 latency change (%)", "p99 latency drops by up to 58%."): [("sentence", 10)],
            ("Average latency change (%)", "Average latency drops by 58%."): [],
            ("Threads | TPS improvement (%)", "TPS improves by up to 58%."): [],
        },
    ),
    "the largest and the mean change of two columns of figures": (
        "## Results\n\n| Workload | v1 TPS | v2 TPS | Improvement (%) |\n|--|--|--|--|\n| point_select | 1,000 | 1,120 | 12.0 |\n| read_only | 1,000 | 1,250 | 25.0 |\n| insert | 1,000 | 1,380 | 38.0 |\n\n{}\n",
        {
            ("TPS improves by up to 38%.",): [], ("TPS improves by up to 58%.",): [("sentence", 9)],
            ("TPS improves by 31% on average.",): [("sentence", 9)], ("TPS improves by up to 23%.",): [],
        },
    ),
    "a row that is printed twice": (
        "## Load\n\n| Threads | TPS | p95 (ms) | p99 (ms) | CPU (%) |\n|--|--|--|--|--|\n| 8 | 1204 | 7.31 | 9.86 | 51.2 |\n| 16 | 2390 | 7.92 | 11.4 | 88.3 |\n\n## Summary\n\n| Threads | TPS | p95 (ms) | p99 (ms) |\n|--|--|--|--|\n| {} | {} | 7.92 | {} |\n",
        {
            (16, 2390, 11.4): [], (16, 2930, 11.4): [],  # two figures of three digits are alike by chance
            (32, 2390, 11.9): [], (16, 2380, 11.9): [],
        },
    ),
    "a row that is printed twice but for one figure": (
        "## Load\n\n| Threads | TPS | p50 (ms) | p95 (ms) | p99 (ms) |\n|--|--|--|--|--|\n| 8 | 1204 | 6.35 | 7.31 | 9.86 |\n| 16 | 2390 | 6.71 | 7.92 | 11.4 |\n\n## Summary\n\n| Threads | TPS | p50 (ms) | p95 (ms) | p99 (ms) |\n|--|--|--|--|--|\n| {} | {} | 6.71 | {} | 11.4 |\n",
        {(16, 2390, 7.92): [], (16, 2930, 7.92): [("repeated figures", 12)], (32, 2930, 7.92): [], (16, 2930, 7.29): []},
    ),
    "two columns of changes": (
        "## Results\n\n| Threads | TPS change (%) | p99 latency change (%) |\n|--|--|--|\n| 8 | 12.0 | -3.0 |\n| 16 | 25.0 | -9.0 |\n\n{} by up to {}%.\n",
        {
            ("TPS improves", 25): [], ("TPS improves", 40): [("sentence", 8)],
            ("p99 latency drops", 9): [], ("p99 latency drops", 40): [("sentence", 8)], ("Performance improves", 40): [],
        },
    ),
    "the subject stands in the heading": (
        "# Stores\n\n## Results\n\n| Store | Read (ns) | Write (ns) |\n|--|--|--|\n| Ash | 12.40 | 62.69 |\n| Birch | 607.5 | 693.5 |\n| Cedar | 9.30 | 19.11 |\n\n## Birch\n\n- Read: 607.5 ns ({} slower than Ash)\n",
        {("49x",): [], ("59x",): [("sentence", 13)]},
    ),
    "the third of an order is not its first": (
        "## Load\n\n| Store | TPS |\n|--|--|\n| Ash | 300 |\n| Birch | 200 |\n| Cedar | 100 |\n\nCedar has the {} TPS.\n",
        {("highest",): [("sentence", 9)], ("3rd highest",): [], ("third highest",): []},
    ),
    # 40.5 / 2.6 = 15.6, 4,065 / 128 = 31.8, 729 / 257 = 2.84; 2.4 / 1.5 = 1.6, where less is faster.
    "how many times better, by several metrics": (
        "| Metric | Ash | Birch | Ratio |\n|--|--|--|--|\n| Query time | 1.5ms | 2.4ms | {}x faster |\n| QPS | 40.5 | 2.6 | 15.6x faster |\n| Build time | 4,065s | 128s | 31.8x slower |\n| Index size | 729MB | 257MB | 2.84x larger |\n",
        {("1.6",): [], ("2.6",): [("percentage", 3)]},
    ),
    # What was sent, in GB, is size x sent; what was received is as much in all rows but the last.
    "sizes that were set, and what is the product of two columns": (
        "| Size (kB) | Sent | Sent (GB) | Received |\n|--|--|--|--|\n| 1 | 312000 | 0.312 | 312000 |\n| 10 | 84000 | {} | 84000 |\n| 100 | 42300 | 4.23 | 42300 |\n| 1000 | 5560 | 5.56 | 5560 |\n| 10000 | 740 | 7.4 | 250 |\n",
        {("0.84",): [], ("0.48",): [("ratio", 4)]},
    ),
    # Clients work between calls: 1.03 to 1.04 of them for each in flight; 256 / (162 x 1.52) = 1.04, 256 / (61 x 9.2) = 0.456.
    "clients that are nearly always in a call": (
        "| Connections | RPS | Mean latency (ms) |\n|--|--|--|\n| 16 | 15200 | 1.02 |\n| 32 | 29100 | 1.07 |\n| 64 | 55100 | 1.12 |\n| 128 | 98000 | 1.26 |\n| 256 | {} | {} |\n| 512 | 181000 | 2.72 |\n",
        {(162000, 1.52): [], (61000, 9.20): [("Little's law", 7)]},
    ),
    # "5" is a figure, and no part of "p95".
    "a figure of one digit, which stands in a name as well": (
        "## Load\n\n| Store | p95 (ms) |\n|--|--|\n| Ash | 10 |\n| Birch | 20 |\n\nAt 5, the p95 of Birch is {}% higher than that of Ash.\n",
        {(100,): [], (300,): [("sentence", 8)]},
    ),
    "the odd passage of many alike": (
        "\n\n".join(f"In this case the TPS is {tps}, and the OPS is {ops}." for tps, ops in [(1232, 4928), (935, 5610), (575, 5750), (531, 6372), (551, "{}"), (357, 9282)]),
        {(10620,): [("identity", 9)], (11020,): []},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BLANKS)
def test_what_breaks_a_relation_is_found_and_what_keeps_it_is_not(tmp_path: Path, name: str) -> None:
    document, outcomes = BLANKS[name]
    assert {blanks: found(tmp_path, document.format(*blanks)) for blanks in outcomes} == outcomes


def test_a_whole_table_of_another_load_is_no_slip_of_its_figures(tmp_path: Path) -> None:
    """A transaction of 20 statements in eight rows, and one of 16 in a table of its own; 20.5 in a row of the first is one."""
    head = "| Threads | QPS | TPS |\n|--|--|--|\n"
    mixed = [(threads, 20 * tps, tps) for threads, tps in enumerate((101, 153, 207, 262, 318, 371, 409, 466), start=1)]
    rows = "".join(f"| {threads} | {qps:,} | {tps} |\n" for threads, qps, tps in mixed)
    document = f"# Load\n\n## Mixed\n\n{head}{rows}\n## Reads\n\n{head}| 8 | 9,856 | 616 |\n"
    assert found(tmp_path, document) == []
    assert {line for _, line in found(tmp_path, document.replace("5,240", "5,371"))} == {10}


def test_the_whole_of_a_run_beside_its_parts_is_no_slip(tmp_path: Path) -> None:
    rows = [
        (8, 1_000, 61.5),
        (1, 125, 62.1),
        (1, 125, 58.3),
        (1, 125, 49.9),
        (1, 125, 77.7),
        (1, 125, 91.3),
        (1, 125, 40.2),
    ]
    table = "".join(
        f"| run {n} | {count * 1000 / time:.2f} | {time:.2f} |\n" for n, (_, count, time) in enumerate(rows)
    )
    assert found(tmp_path, f"| Part | Throughput (ops/s) | Time (s) |\n|--|--|--|\n{table}") == []


CURVE = """| Clients | Throughput (tx/s) | Average latency (ms) |
|--|--|--|
| 1 | 101 | 9.9 |
| 2 | 196 | 10.4 |
| 4 | 379 | 11.1 |
| 8 | 702 | 12.4 |
| 16 | 1,230 | 14.6 |
| 32 | 2,004 | 19.1 |
"""


def test_a_point_off_a_smooth_curve_and_figures_exchanged_are_found(tmp_path: Path) -> None:
    assert found(tmp_path, CURVE) == []
    assert found(tmp_path, CURVE.replace("379", "979"))[0][1] == 5
    exchanged = audited(tmp_path, CURVE.replace("379 | 11.1", "11.1 | 379"))
    assert any("look exchanged" in one.sentence for one in exchanged.findings)
    assert {one.line for one in exchanged.findings} == {5}


def test_setup_is_held_against_itself(tmp_path: Path) -> None:
    text = (
        "- sysbench version: 1.0.20\n- MongoDB Version: 0.1\n\n| Host | Role |\n|--|--|\n| 10.0.1.4 | MySQL |\n| 10.0.1.5 | TiDB |\n\n"
        "We load 16 tables and 1,000,000 rows, and run with 8, 16, and 32 threads.\n\n"
        "```\nsysbench --test=oltp --tables=16 --table-size=1000000 --mysql-host=10.0.2.4 run\n```\n\n"
        "| Threads | TPS |\n|--|--|\n| 8 | 1 |\n| 16 | 2 |\n| 32 | 3 |\n\n| Threads | TPS |\n|--|--|\n| 8 | 1 |\n| 16 | 2 |\n| 64 | 3 |\n"
    )
    audit = audited(tmp_path, text.replace("run with 8, 16, and 32 threads", "use threads of 8, 16, and 32"))
    assert {(one.kind, one.severity) for one in audit.findings} == {
        ("version", "contradiction"), ("host", "contradiction"), ("identity", "suspicious"), ("option", "note"), ("text against table", "contradiction"),
    }  # fmt: skip


PRODUCTS = """# Two stores

## Insertion time

| Store | mails (30k) | shops (300k) |
|--|--|--|
| Alpha | 0.629 s | 5.711 s |
| Beta | 10.150 s | 108.569 s |
| Gamma | 3.884 s | 18.938 s |

{}

## Threads

| Threads | Alpha TPS | Beta TPS |
|--|--|--|
| 16 | 1,200 | 1,500 |
| 64 | 2,000 | 3,000 |

{}
"""


@pytest.mark.parametrize(
    ("first", "second", "kinds", "passed"),
    [
        ("With 64 threads, nothing else.", "At 64 threads, the TPS of Beta is 50% higher than that of Alpha.", [], 1),
        ("", "At 64 threads, the TPS of Beta is 90% higher than that of Alpha.", ["sentence"], 0),
        ("", "At 64 threads, the TPS of Alpha is 50% higher than that of Beta.", ["sentence"], 0),
        ("", "At 64 threads, the TPS of Alpha is 33% lower than that of Beta.", [], 1),
        ("", "Compared with Alpha, the TPS of Beta is 1.5x higher at 64 threads.", [], 1),
        ("", "The TPS of Beta is 25% higher than that of Alpha.", [], 1),
        ("", "If all goes well, at 64 threads the TPS of Beta could be 90% higher than that of Alpha.", [], 0),
        ("Insertion: Alpha > Gamma > Beta.", "", [], 2),
        ("Insertion: Beta > Gamma > Alpha.", "", ["sentence", "sentence"], 0),
        ("Alpha outperforms Beta.", "", [], 1),
        ("Gamma outperforms Alpha.", "", ["sentence"], 0),
        ("Alpha takes 5.711 s to insert the shops.", "", [], 1),
        ("Alpha takes 7.711 s to insert the shops.", "", ["quoted figure"], 0),
        ("Alpha takes 7.711 s to read them all.", "", [], 0),
        ("Beta is 5.7x slower than Gamma.", "", [], 1),
    ],
)  # fmt: skip
def test_a_sentence_is_held_against_the_cells_that_its_words_name(
    tmp_path: Path, first: str, second: str, kinds: list[str], passed: int
) -> None:
    audit = audited(tmp_path, PRODUCTS.format(first, second))
    assert [one.kind for one in audit.findings if one.severity != "note"] == kinds
    counted = audit.passed.get("sentence", 0) + audit.passed.get("quoted figure", 0)
    assert bool(counted) == bool(passed)
    assert bool(audit.not_bound) == ("could be" in second)


COLUMNS = """# Copying

## Rows per second

| Tool | 1 worker | 4 workers |
|--|--|--|
| Old | 8,000 | 24,000 |
| New | 16,000 | 48,000 |

{}

## Delay

| Tool | Median delay (ms) | p99 delay (ms) | Tables |
|--|--|--|--|
| Old | 840 | 6,300 | 1,000 |
| New | 210 | 1,260 | 2,000 |

{}
"""


BY_CLIENTS = """## Two stores

| Workload | Clients | Oak (ops/s) | Elm (ops/s) |
|--|--|--|--|
| A | 8 | 60,000 | 48,000 |
| A | 32 | 140,000 | 70,000 |
| C | 8 | 72,000 | 100,000 |
| C | 32 | 180,000 | 320,000 |

{}
"""


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ("On workload A, Oak consistently outperforms Elm.", []),
        ("On workload C, Oak consistently outperforms Elm.", ["sentence"]),
        ("For reads, Elm consistently outperforms Oak.", []),
        ("Elm is faster than Oak in every test but those of workload A.", []),
        ("Elm with 8 clients is slower than Oak with 32 clients.", []),
        ("Oak has its highest throughput on workload C.", []),
        ("The lowest throughput of Elm is on workload A.", []),
        ("On workload C, we wondered whether Oak is faster than Elm.", []),
        ("On workload C, Oak is no faster than Elm.", []),
        ("On workload C, Oak is faster than Elm.", ["sentence"]),
        ("On workload C, Oak delivers more than 70,000 ops/s and Elm more than 99,000.", []),
        ("Oak uses 30% less memory than Elm on workload A with 8 clients.", []),
        ("Oak writes three times fewer bytes than Elm on workload A with 8 clients.", []),
        ("At 8 clients on workload C, Elm is faster than Oak with twice the clients.", []),
        ("Elm leads by 140,000 ops/s on workload C with 32 clients.", []),
        ("Elm reaches 243,000 ops/s on workload C with 32 clients.", ["quoted figure"]),
        ("The throughput of Elm is never below 48,000 ops/s.", []),
        ("The throughput of Oak stays below 100,000 ops/s with 8 clients on workloads A and C.", []),
        ("The throughput of Oak is below 80,000 ops/s with 8 clients, and 180,000 ops/s with 32 on C.", []),
    ],
)  # fmt: skip
def test_a_sentence_of_some_rows_or_of_other_things_is_held_against_no_others(
    tmp_path: Path, said: str, kinds: list[str]
) -> None:
    """Elm is slower than Oak on A, and faster on C."""
    assert [kind for kind, _ in found(tmp_path, BY_CLIENTS.format(said))] == kinds


@pytest.mark.parametrize(
    ("first", "second", "kinds", "bound"),
    [
        ("With one worker, New copies twice as many rows as Old.", "", [], True),
        ("At 4 workers, New is three times faster than Old.", "", ["sentence"], True),
        ("At 4 workers, New is nine times faster than Old.", "", ["sentence"], True),
        ("Old triples its rows per second from 1 to 4 workers.", "", [], True),
        ("Old gains 200% when going from 1 to 4 workers.", "", [], True),
        ("Beyond has nine times the rows of Old at 4 workers.", "", [], False),
        ("", "Median delay is four times shorter with New.", [], True),
        ("", "New cuts the p99 delay by 80%.", [], True),
        ("", "New cuts the p99 delay by 20%.", ["sentence"], True),
        ("", "The cache of the client cuts the p99 delay by 20%.", [], False),
        ("", "The p99 delay of New stays below 3,000 ms.", [], True),
        ("", "The p99 delay stays below 3,000 ms for all tools.", ["sentence"], True),
        ("", "The p99 delay never exceeds 3,000 ms.", ["sentence"], True),
        ("", "The p99 delay never exceeds 6,300 ms.", [], True),
        ("", "The p99 delay is never below 1,260 ms.", [], True),
        ("", "New has the lowest p99 delay.", [], True),
        ("", "From 1,000 to 2,000 tables, the median delay falls by 75%.", [], True),
        ("", "The two differ in p99 delay by less than 90%.", [], True),
    ],
)  # fmt: skip
def test_relations_are_bound_by_levels_in_columns_amounts_in_words_and_limits(
    tmp_path: Path, first: str, second: str, kinds: list[str], bound: bool
) -> None:
    """Tables whose ratios are whole numbers: 2 of the tools, 3 of the workers, 4 and 5 of the delays."""
    audit = audited(tmp_path, COLUMNS.format(first, second))
    assert [one.kind for one in audit.findings if one.severity != "note"] == kinds
    assert bool(kinds or audit.passed.get("sentence") or audit.passed.get("quoted figure")) == bound


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.example)
def test_each_form_of_a_comparison_matches_its_example(form) -> None:
    assert form.pattern.search(in_figures(form.example))


def test_changes_beside_the_cells_and_sections_by_name_bind_a_sentence(tmp_path: Path) -> None:
    beside = "## Writes\n\n| Clients | Target | write QPS |\n|--|--|--|\n| 1 | leader | 76 (+22%) |\n| 64 | leader | 2461 (+45%) |\n| 256 | leader | 4275 (+21%) |\n\n{}\n"
    audit = audited(tmp_path, beside.format("The write QPS is increased by 20~30%."))
    assert (audit.findings, audit.passed["sentence"], audit.not_bound) == ([], 1, [])
    loads = "# Loads\n\n## Summary\n\n{}\n\n## Mail index\n\n| Metric | Old | New |\n|--|--|--|\n| Total time | 695 s | 446 s |\n| Total cost | $0.77 | $0.25 |\n\n## Shop index\n\n| Metric | Old | New |\n|--|--|--|\n| Total time | 51m 17s | 9m 58s |\n| Total cost | $3.42 | $0.30 |\n"
    audit = audited(tmp_path, loads.format("Shop index: a 91% cost reduction.\n\nMail index: a 67% cost reduction."))
    assert (audit.findings, audit.passed["sentence"], audit.not_bound) == ([], 2, [])


NOTHING_WRONG = {
    "a return code": "| Code | Success |\n|--|--|\n| a | 200 (OK) |\n| b | 404 |\n",
    "numbered parts": "| Batch | All (s) |\n|--|--|\n| 1 | 94.0 |\n| 2 | 74.7 |\n| 3 | 28.7 |\n| 4 | 74.3 |\n| 5 | 85.6 |\n",
    # 1,916 / 5 is 383; 5 may be 4.5 to 5.5, by a fifth more or less.
    "few allocations": "| Test | Bytes/op | allocs/op |\n|--|--|--|\n| a | 80,000 | 100 |\n| b | 120,000 | 150 |\n| c | 160,000 | 200 |\n| d | 200,000 | 250 |\n| e | 240,000 | 300 |\n| f | 1,916 | 5 |\n",
    "shares of writes and processors in rows and columns that fall": "| Writes | p1 | p2 | p5 | TPS |\n|--|--|--|--|--|\n| 1% | 52.5 | 31.5 | 12.5 | 9,120 |\n| 5% | 51.5 | 30.5 | 11.5 | 7,410 |\n| 10% | 50.5 | 29.5 | 10.5 | 6,030 |\n",
    "times of day": "| Day | min(time) | max(time) |\n|--|--|--|\n| 1 | 2020-03-11 23:35:20.908574 | 2020-03-11 23:36:00.229035 |\n",
    "files, and how many": "| Path | Size (KiB) | Dirs |\n|--|--|--|\n| a | 412 | 1 |\n| b | 206 | 2 |\n| c | 103 | 4 |\n| d | 137.3 | 3 |\n| e | 82.4 | 5 |\n| f | 32 | 1 |\n",
    "machines for sale": "| Instance | vCPU | RAM (GB) |\n|--|--|--|\n| a | 4 | 30.5 |\n| b | 8 | 61 |\n| c | 16 | 122 |\n| d | 32 | 244 |\n| e | 64 | 488 |\n| f | 36 | 244 |\n",
    "accuracy of a model, rounded": "| Set | fp16 | int8 |\n|--|--|--|\n| a | 70.56 | 70.49 |\n| b | 61.48 | 61.56 |\n| c | 54.97 | 56.41 |\n| d | 87.33 | 87.26 |\n| e | 82.53 | 82.59 |\n| f | 44.62 | 44.66 |\n",
    "memory, and that with its cache": "| Run | RAM (GB) | RAM with cache (GB) |\n|--|--|--|\n| a | 1.02 | 1.02 |\n| b | 2.13 | 2.13 |\n| c | 3.25 | 3.25 |\n| d | 4.41 | 4.41 |\n| e | 1.78 | 2.85 |\n| f | 1.33 | 1.33 |\n",
    # a to f: of github.com/PaddlePaddle/FastDeploy, docs/en/quantize.md; in g times are above the accuracies.
    "the best of several": "| Model | FP32 Latency | INT8 Latency | INT8+FP16 Latency | INT8+FP16+PM Latency | Max Speedup | FP32 Top1 | INT8 Top1 |\n|--|--|--|--|--|--|--|--|\n| a | 3.55 | 0.99 | 0.98 | 1.06 | 3.62 | 79.12 | 79.06 |\n| b | 76.14 | 35.43 | None | None | 2.15 | 79.12 | 78.87 |\n| c | 76.21 | 24.01 | None | None | 3.17 | 79.12 | 78.55 |\n| d | 0.91 | 0.43 | 0.49 | 0.54 | 2.12 | 77.89 | 76.86 |\n| e | 30.53 | 9.59 | None | None | 3.18 | 77.89 | 75.09 |\n| f | 12.29 | 4.68 | None | None | 2.62 | 77.89 | 71.36 |\n| g | 126.4 | 63.2 | None | None | 2.00 | 37.6 | 36.7 |\n",
    "six clients among runs of sixteen": "| Load | TPS | Avg latency (ms) |\n|--|--|--|\n| a | 585.44 | 27.33 |\n| b | 255.42 | 62.64 |\n| c | 160.31 | 37.43 |\n| d | 227.01 | 70.48 |\n| e | 100.00 | 160.00 |\n| f | 320.00 | 50.00 |\n",
    "a percentile of whole milliseconds": "| Op | Count | 99th percentile (us) | Max (us) |\n|--|--|--|--|\n| read | 5,103 | 17000 | 16460 |\n",
    "how it went on": "## Load\n\n| Threads | TPS |\n|--|--|\n| 28 | 4545.51 |\n| 56 | 5210.77 |\n\n[ 20s] threads: 28, tps: 4544.51, reads: 63715.30\n",
    "a load before the run": "sysbench 1.0\n\n## oltp_write_only\n\n```\nsysbench bulk_insert --threads=8 run\n```\n",
    "a share from a to b": "命中率提升 53.82%（从 56.89% 增加到 87.51%）。",
}


# Beside each of those above, a slip that looks like it: the row of the odd figure.
WRONG_ALL_THE_SAME = {
    # 655.9 / 1.048576 is 625.5; 482.02 x 1.073741824 is 517.6, and not 410.2.
    "a rate in two units": ("ratio", 6, "| Test | Rate (MB/s) | Rate (MiB/s) |\n|--|--|--|\n| a | 120.4 | 114.8 |\n| b | 233.8 | 223.0 |\n| c | 410.2 | 391.2 |\n| d | 655.9 | 725.5 |\n| e | 890.1 | 848.9 |\n| f | 1203.7 | 1147.9 |\n"),
    "a size in two units": ("ratio", 5, "| Test | Size (GB) | Size (GiB) |\n|--|--|--|\n| a | 120.4 | 112.13 |\n| b | 233.8 | 217.74 |\n| c | 410.2 | 482.02 |\n| d | 655.9 | 610.85 |\n| e | 890.1 | 828.97 |\n| f | 1203.7 | 1121.03 |\n"),
    # 12.5 at a time are no clients: nor are the 14 of d.
    "rate x latency of no whole number": ("ratio", 7, "| Load | TPS | Avg latency (ms) |\n|--|--|--|\n| a | 585.44 | 21.35 |\n| b | 255.42 | 48.94 |\n| c | 427.00 | 29.27 |\n| d | 227.01 | 55.06 |\n| e | 100.00 | 140.00 |\n| f | 320.00 | 39.06 |\n"),
    "a change of the column beside": ("percentage", 5, "| Run | A TPS | B TPS | C TPS | B vs A (%) | C vs A (%) |\n|--|--|--|--|--|--|\n| a | 100.5 | 110.6 | 130.7 | 10.0% | 30.0% |\n| b | 200.2 | 230.2 | 250.3 | 15.0% | 25.0% |\n| c | 300.3 | 330.4 | 350.4 | 16.7% | 16.7% |\n| d | 400.1 | 450.1 | 470.1 | 12.5% | 17.5% |\n| e | 500.7 | 560.8 | 640.9 | 12.0% | 28.0% |\n"),
    # 8 x 951.2 is 7609.6.
    "clients and rates without a latency": ("ratio", 6, "| Threads | QPS per thread | Total QPS |\n|--|--|--|\n| 1 | 2051.3 | 2051.3 |\n| 2 | 1642.7 | 3285.4 |\n| 4 | 1298.4 | 5193.6 |\n| 8 | 951.2 | 8370.6 |\n| 16 | 680.6 | 10889.6 |\n| 32 | 401.9 | 12860.8 |\n"),
    # 128 / 111,424 is 1.149 ms; in the other rows clients are rate x latency to three digits, too.
    "clients, rate and latency": ("Little's law", 9, "| Clients | TPS | Avg latency (ms) |\n|--|--|--|\n| 1 | 4,012 | 0.2493 |\n| 4 | 14,920 | 0.2681 |\n| 8 | 26,310 | 0.3041 |\n| 16 | 47,480 | 0.3370 |\n| 32 | 72,150 | 0.4435 |\n| 64 | 96,600 | 0.6625 |\n| 128 | 111,424 | 1.349 |\n"),
    "a percentile that is round": ("percentiles", 3, "| Op | p99 (ms) | Max (ms) |\n|--|--|--|\n| read | 100 | 60 |\n| write | 35 | 41 |\n"),
    "a percentile many milliseconds above": ("percentiles", 3, "| Op | p99 (us) | Max (us) |\n|--|--|--|\n| read | 20000 | 12000 |\n| write | 35000 | 41230 |\n"),
    "percentiles before the maximum": ("percentiles", 3, "| Run | 50 | 90 | 95 | 99 | 100 |\n|--|--|--|--|--|--|\n| a | 1.5ms | 4.5ms | 6.5ms | 5.5ms | 9ms |\n| b | 1.6ms | 4.6ms | 5.6ms | 6.5ms | 9.5ms |\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", [*NOTHING_WRONG, *WRONG_ALL_THE_SAME])
def test_figures_that_only_look_related_are_no_finding_and_wrong_ones_like_them_are(tmp_path: Path, name: str) -> None:
    *where, text = WRONG_ALL_THE_SAME.get(name) or (NOTHING_WRONG[name],)
    assert found(tmp_path, text) == ([tuple(where)] if where else [])


def test_rows_of_random_figures_give_no_finding(tmp_path: Path) -> None:
    """What no relation holds for says nothing: 40 tables of figures by chance, with headings of every role."""
    chance = random.Random(7)
    for number in range(40):
        rows = "".join(
            f"| {threads} | {chance.uniform(500, 900):.1f} | {chance.uniform(500, 900):.1f} | {chance.uniform(-20, 20):.1f} | {chance.uniform(1, 5):.2f} |\n"
            for threads in (1, 2, 4, 8, 16, 32)
        )
        assert (
            found(
                tmp_path,
                f"# {number}\n\n| Threads | A TPS | B TPS | Change (%) | Avg latency (ms) |\n|--|--|--|--|--|\n{rows}",
            )
            == []
        )


# -- on the command line ------------------------------------------------------------------------------------------------


def test_exit_status_and_forms_of_the_command(tmp_path: Path) -> None:
    run = CliRunner().invoke
    good, bad, none = tmp_path / "good.md", tmp_path / "bad.md", tmp_path / "none.md"
    good.write_text(GOOD)
    bad.write_text(GOOD.replace("| 13.89 |", "| 18.39 |"))
    none.write_bytes(b"")
    assert run(app, ["audit", str(good)]).exit_code == 0
    told = run(app, ["audit", str(bad)])
    assert told.exit_code == 1
    assert "41,000 / 36,000 - 1) x 100 = 13.889" in told.output
    assert run(app, ["audit", str(none), str(good)]).exit_code == 2
    (found,) = json.loads(run(app, ["audit", str(bad), "--json"]).output)
    assert [(one["line"], one["column"], one["printed"]) for one in found["findings"]] == [
        (9, "Improvement (%)", "18.39")
    ]
    log = json.loads(run(app, ["audit", str(bad), "--sarif"]).output)
    (result,) = log["runs"][0]["results"]
    assert (log["version"], result["level"]) == ("2.1.0", "error")
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 9
    assert run(app, ["audit", str(tmp_path)]).exit_code == 2


def test_standard_input_is_read() -> None:
    assert CliRunner().invoke(app, ["audit", "-"], input="It needs 111% fewer instructions.\n").exit_code == 1


def test_the_page_has_each_finding_beside_its_cell_and_escapes_everything(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    text = (
        GOOD.replace("| 13.89 |", "| 18.39 |").replace("# Two versions", f"# Two `{evil}`")
        + f"\n`{evil}` needs 111% fewer.\n"
    )
    (tmp_path / "a.md").write_text(text)
    read = reading(str(tmp_path / "a.md"))
    html = page(read, audit_document(read))
    assert evil not in html
    assert "&lt;script&gt;" in html
    assert re.search(r'<td class="number marked">18\.39<sup><a href="#f\d">', html)
    assert html.count('<article class="contradiction"') == 2
    assert "http" not in re.sub(r"http-equiv", "", html)
    assert "<h1>a.md</h1>" in html
    address = "https://db.example/posts/?p=3"  # its last part names nothing
    assert f"<h1>{address}</h1>" in page(read, audit_document(read).model_copy(update={"document": address}))


def test_what_is_no_whole_multiple_has_the_two_nearest_in_its_arithmetic(tmp_path: Path) -> None:
    document, _ = BLANKS["the odd passage of many alike"]
    (finding,) = audited(tmp_path, document.format(10620)).findings
    assert finding.arithmetic == ["10620 / 551 = 19.274; 19 x 551 = 10,469, 20 x 551 = 11,020"]


def test_a_rate_that_is_cut_off_is_a_note_with_its_arithmetic(tmp_path: Path) -> None:
    """14.56 is printed as 14.5; the other rates are 15, 16 and 17."""
    rows = "| 1,456 | 100.0 | 14.5 |\n| 3,000 | 200.0 | 15.0 |\n| 4,800 | 300.0 | 16.0 |\n| 6,800 | 400.0 | 17.0 |\n"
    (note,) = audited(tmp_path, f"| Data (MB) | Time (s) | Speed (MB/s) |\n|--|--|--|\n{rows}").findings
    assert (note.kind, note.severity, note.line) == ("rounding", "note", 3)
    assert note.arithmetic == ["1,456 / 100.0 = 14.56; printed 14.5"]


def test_a_figure_in_the_text_is_told_beside_the_cell_that_it_is_said_to_be(tmp_path: Path) -> None:
    table = "## Load\n\n| Threads | TPS | p95 (ms) |\n|--|--|--|\n| 8 | 905.2 | 2.10 |\n| 64 | 3020.4 | 8.85 |\n"
    (finding,) = audited(tmp_path, f"{table}\nAt 64 threads p95 latency is 9.85 ms.\n").findings
    assert finding.sentence == "The text says 9.85 ms; p95 (ms) of Threads 64 is 8.85 in table 1 (line 3, Load)."


def test_rows_that_two_tables_share_are_one_note(tmp_path: Path) -> None:
    table = "| Threads | TPS | p95 (ms) |\n|--|--|--|\n| 8 | 10512.75 | 1.103 |\n| 16 | 19253.25 | 1.305 |\n"
    (note,) = audited(tmp_path, f"## A\n\n{table}\n## B\n\n{table}").findings
    assert note.severity == "note"
    assert note.sentence.endswith("The same holds for 2 rows in all.")


@pytest.mark.parametrize("heads", ["Sent (MB) | WAL (MB)", "TPS | Requests/s"])
def test_sizes_and_one_figure_under_two_headings_are_no_repeats(tmp_path: Path, heads: str) -> None:
    table = f"| Threads | {heads} |\n|--|--|--|\n| 8 | 12045 | {12045 if 'TPS' in heads else 2307} |\n"
    assert audited(tmp_path, f"## A\n\n{table}\n## B\n\n{table}").findings == []


def test_of_two_columns_of_one_heading_the_cell_is_told_that_is_printed_twice(tmp_path: Path) -> None:
    head = "| Threads | TPS | p95 (ms) | TPS | p95 (ms) |\n|--|--|--|--|--|\n"
    text = f"{head}| 8 | 12345 | 3.211 | 12877 | 3.456 |\n\n## Again\n\n{head}| 8 | 11111 | 3.999 | 12877 | 3.456 |\n"
    (finding,) = audited(tmp_path, text).findings
    assert (finding.kind, finding.line, finding.printed) == ("repeated figures", 9, "12877")


def test_a_percentile_is_no_sum_of_a_mean_and_another(tmp_path: Path) -> None:
    """1.1 + 2.0 = 3.1 in four runs that are alike; 10.1 + 21 is 31.1, and the percentile 35."""
    rows = "".join(f"| {run} | 1.{run} | 2.0 | 3.{run} |\n" for run in (1, 2, 3, 5))
    head = "| Run | Avg latency (ms) | p99 latency (ms) | p99.9 latency (ms) |\n|--|--|--|--|\n"
    assert found(tmp_path, f"{head}{rows}| 6 | 10.1 | 21 | 35 |\n") == []
    meant = f"{head}{rows}| 6 | 10.1 | 21 | 35 |\n".replace("p99.9 latency", "total time").replace("p99 l", "queue l")
    assert found(tmp_path, meant) == [("sum", 7)]


def test_a_point_is_off_a_curve_by_how_far_the_others_are(tmp_path: Path) -> None:
    def ladder(*figures: str) -> list[tuple[str, int]]:
        rows = [f"| {2**step} | {figure} |\n" for step, figure in enumerate(figures)]
        return found(tmp_path, f"| Threads | TPS |\n|--|--|\n{''.join(rows)}")

    # 60 is 6.4 times below (480 x 310)^0.5, but without it 310 is 1.42 times below 480^(1/3) x 420^(2/3).
    assert ladder("500", "480", "60", "310", "420") == []
    # 72.0 is 9.8 times below (380 x 1300)^0.5; of the others none is off by more than 1.04 times.
    assert ladder("100", "195", "380", "720", "1300") == []
    assert ladder("100", "195", "380", "72.0", "1300") == [("outlier", 6)]
    assert ladder("100", "195", "3800", "720") == [("outlier", 5)]
    # One digit: 220 is 3.2 times below; of the others none is off by more than 1.05 times.
    assert ladder("100", "195", "380", "720", "1300", "2300", "3900", "6000") == []
    assert ladder("100", "195", "380", "220", "1300", "2300", "3900", "6000") == [("outlier", 6)]
    # Student's t of 2, 5, 9 degrees of freedom at 0.005 / 3, 0.005 / 6, 0.005 / 10, two-sided.
    assert [round(times_by_chance(points), 1) for points in (5, 8, 12, 20)] == [24.5, 7.1, 5.3, 5.3]
    # 1.4 and 1.6, rounded.
    assert ladder("1", "1", "1", "2", "1", "1", "1", "1") == []


@pytest.mark.parametrize("heading", ["Notes", "Remark", "Comments:", "备注"])
def test_figures_in_a_column_of_notes_are_no_measurements(tmp_path: Path, heading: str) -> None:
    table = (
        f"| Threads | TPS | {heading} |\n|--:|--:|---|\n| 8 | 1,512 | 54% busy |\n| 16 | 2,604 | 74% busy |\n"
        "| 32 | 3,904 | 91% busy, +158% over 8 |\n| 64 | 4,105 | 97% busy |\n| 128 | 4,211 | +8% over 32 |\n"
    )
    (tmp_path / "a.md").write_text(f"# CPU\n\n{table}")
    (read,) = reading(str(tmp_path / "a.md")).tables
    assert [column.role for column in read.columns] == ["level", "metric", "note"]
    assert audited(tmp_path, f"# CPU\n\n{table}").findings == []
