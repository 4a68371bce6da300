"""What load generators print, as tables of one row (or one row a line): sysbench, pgbench, go-tpc, YCSB, fio and others.

The rules are a table: who prints it, by what it is known, and the lines that are read, each with an example.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from benchbook.documents.formats import Block


class Tool(NamedTuple):
    """A program's output: `sign` tells it; `lines` are patterns with a heading for each of their groups."""

    name: str
    sign: str
    lines: list[tuple[str, list[str]]]
    example: str
    each_line: bool = False


_N = r"([\d,]*\.?\d+)"
_NAME = r"\S{1,120}?(?: \S{1,40}){0,4}?"  # of a bounded length: the time to match it grows with its square
_U = rf"({_N[1:-1]}\s?(?:us|µs|ms|s|m|ns|msec|usec|sec)?)"
_SUMMARY = [
    (rf"Total:\s+{_N} secs", ["total time (s)"]),
    (rf"Slowest:\s+{_N} secs", ["max latency (s)"]),
    (rf"Fastest:\s+{_N} secs", ["min latency (s)"]),
    (rf"Average:\s+{_N} secs", ["avg latency (s)"]),
    (rf"Requests/sec:\s+{_N}", ["requests/s"]),
]
_RANKS = ("50", "90", "95", "99", "99.9")
_OF_ALL = [f"{which} latency (us)" for which in ("avg", "min", "max")]


def _ranks(unit: str) -> str:
    """Return the pattern of go-tpc's and go-ycsb's percentiles, of which older versions print fewer."""
    return "".join(rf"(?:, {re.escape(rank)}th\({unit}\): {_N})?" for rank in _RANKS)


def _rank_heads(unit: str) -> list[str]:
    return [f"{rank}th percentile ({unit})" for rank in _RANKS]


TOOLS = [
    Tool(
        "sysbench",
        r"queries performed:|General statistics:|Latency \(ms\):",
        [
            (rf"transactions:\s+(\d+)\s+\({_N} per sec", ["transactions", "TPS"]),
            (rf"queries:\s+(\d+)\s+\({_N} per sec", ["queries", "QPS"]),
            (r"read:\s+(\d+)$", ["reads"]),
            (r"write:\s+(\d+)$", ["writes"]),
            (r"other:\s+(\d+)$", ["other"]),
            (r"^\s*total:\s+(\d+)$", ["total statements"]),
            (rf"total time:\s+{_N}s", ["total time (s)"]),
            (r"total number of events:\s+(\d+)", ["total events"]),
            (rf"^\s*min:\s+{_N}", ["min latency (ms)"]),
            (rf"^\s*avg:\s+{_N}", ["avg latency (ms)"]),
            (rf"^\s*max:\s+{_N}", ["max latency (ms)"]),
            (rf"95(?:th)? percentile:\s+{_N}", ["95th percentile latency (ms)"]),
            (rf"99(?:th)? percentile:\s+{_N}", ["99th percentile latency (ms)"]),
            (rf"read/write requests:\s+\d+\s+\({_N} per sec", ["read/write requests per second"]),  # until 0.5
            (r"[Nn]umber of threads:\s+(\d+)", ["threads"]),
        ],
        "transactions:                        5400 (89.97 per sec.)",
    ),
    Tool(
        "pgbench",
        r"transaction type:|number of transactions actually processed|tps = ",
        [
            (r"scaling factor:\s+(\d+)", ["scale"]),
            (r"number of clients:\s+(\d+)", ["clients"]),
            (r"number of threads:\s+(\d+)", ["worker threads"]),
            (r"duration:\s+(\d+) s", ["duration (s)"]),
            (r"actually processed:\s+(\d+)", ["transactions"]),
            (rf"latency average[ =:]+{_N} ms", ["avg latency (ms)"]),
            (rf"latency stddev[ =:]+{_N} ms", ["stddev (ms)"]),
            (rf"tps = {_N} \((?:excluding|without)", ["TPS"]),
            (rf"tps = {_N} \(including", ["TPS including connections"]),
        ],
        "latency average = 1.434 ms",
    ),
    Tool(
        "go-tpc",
        r"^\[?(?:Summary|Finished)\]?\s*\S+ - Takes\(s\)|tpmC:\s",
        [
            (rf"tpmC:\s*{_N}", ["tpmC"]),
            (rf"efficiency:\s*{_N}%", ["efficiency (%)"]),
            (
                rf"\[Summary\] (\S+) - Takes\(s\): {_N}, Count: (\d+), TPM: {_N}, Sum\(ms\): {_N}, Avg\(ms\): {_N}{_ranks('ms')}",
                ["statement", "time (s)", "transactions", "TPM", "sum (ms)", "avg latency (ms)", *_rank_heads("ms")],
            ),
        ],
        "tpmC: 5120.3, tpmTotal: 11375.9, efficiency: 39.8%",
        each_line=True,
    ),
    Tool(
        "go-ycsb",
        r"^\s*(?:READ|UPDATE|INSERT|SCAN|TOTAL)\s+- Takes\(s\):",
        [
            (
                rf"^\s*(\S+)\s+- Takes\(s\): {_N}, Count: (\d+), OPS: {_N}, Avg\(us\): {_N}, Min\(us\): {_N}, Max\(us\): {_N}{_ranks('us')}",
                ["operation", "time (s)", "count", "OPS", *_OF_ALL, *_rank_heads("us")],
            ),
        ],
        "READ   - Takes(s): 10.0, Count: 5000, OPS: 500.1, Avg(us): 850, Min(us): 300, Max(us): 9000",
        each_line=True,
    ),
    Tool(
        "YCSB",
        r"\[OVERALL\], Throughput",
        [
            (rf"\[OVERALL\], RunTime\(ms\), {_N}", ["run time (ms)"]),
            (rf"\[OVERALL\], Throughput\(ops/sec\), {_N}", ["throughput (ops/sec)"]),
            (rf"\[READ\], Operations, {_N}", ["reads"]),
            (rf"\[READ\], AverageLatency\(us\), {_N}", ["read avg latency (us)"]),
            (rf"\[UPDATE\], Operations, {_N}", ["updates"]),
            (rf"\[UPDATE\], AverageLatency\(us\), {_N}", ["update avg latency (us)"]),
        ],
        "[OVERALL], Throughput(ops/sec), 9523.8",
    ),
    Tool(
        "redis-benchmark",
        r"requests completed in|: [\d.]+ requests per second",
        [
            (
                rf"^([A-Z_ ()0-9a-z]+): {_N} requests per second(?:, p50={_N} msec)?",
                ["command", "requests/s", "p50 (ms)"],
            ),
        ],
        "SET: 83542.19 requests per second, p50=0.295 msec",
        each_line=True,
    ),
    Tool(
        "db_bench",
        r"micros/op",
        [
            (
                rf"^\s*(\w+)\s*:\s+{_N} micros/op\s+{_N} ops/sec;?(?:\s+{_N} seconds)?(?:\s+{_N} operations)?;?(?:\s+{_N} MB/s)?",
                ["benchmark", "micros/op", "ops/sec", "seconds", "operations", "MB/s"],
            ),
        ],
        "fillseq      :       3.420 micros/op 292385 ops/sec;   32.3 MB/s",
        each_line=True,
    ),
    Tool(
        "go test -bench",
        rf"^{_NAME}:?[ \t]+\d+[ \t]+[\d.]+ ns/op",
        [
            (
                rf"^({_NAME}):?[ \t]+(\d+)\s+{_N} ns/op(?:\s+{_N} MB/s)?(?:\s+[\d.]+ \w+(?=\s))?(?:\s+(\d+) B/op)?(?:\s+(\d+) allocs/op)?",
                ["benchmark", "iterations", "time (ns/op)", "MB/s", "memory (B/op)", "allocs/op"],
            ),
        ],
        "BenchmarkEncode-8    8406    137911 ns/op    8701.24 MB/s",
        each_line=True,
    ),
    Tool(
        "ab",
        r"Time per request:|Concurrency Level:",
        [
            (r"Concurrency Level:\s+(\d+)", ["concurrency"]),
            (rf"Time taken for tests:\s+{_N} seconds", ["time taken (s)"]),
            (r"Complete requests:\s+(\d+)", ["requests"]),
            (rf"Requests per second:\s+{_N} ", ["requests/s"]),
            (rf"Time per request:\s+{_N} \[ms\] \(mean\)\s*$", ["mean response time (ms)"]),
        ],
        "Requests per second:    935.11 [#/sec] (mean)",
    ),
    Tool(
        "wrk",
        r"^\s*Thread Stats\s+Avg",
        [(rf"Requests/sec:\s+{_N}", ["requests/s"]), (rf"Latency\s+{_U}", ["avg latency"])],
        "    Latency     1.36ms  663.56us  13.28ms   72.13%",
    ),
    # Alike but for the line of the deviation.
    Tool("etcd benchmark", r"^\s*Stddev:.*\n\s*Requests/sec:", _SUMMARY, "  Requests/sec:\t12345.6"),
    Tool("hey", r"^\s*Requests/sec:", _SUMMARY, "  Requests/sec:\t12345.6"),
    Tool(
        "fio",
        r"\biops=|IOPS=",
        [
            (r"(?:iops|IOPS)=([\d.]+k?)", ["IOPS"]),
            (r"(?:bw|BW)=([\d.]+\s?[KMG]i?B/s)", ["bandwidth"]),
        ],
        "  read: IOPS=12.3k, BW=48.1MiB/s",
    ),
]


def tables_of(block: Block) -> list[Block]:
    """Return what a block of output says as a table: headings, then a row for each run (or for each line that matches)."""
    for tool in TOOLS:
        if not re.search(tool.sign, block.text, re.MULTILINE):
            continue
        runs: list[dict[str, str]] = []
        first: list[int] = []
        rows: list[list[str]] = []
        wide: list[str] = []
        lines: list[int] = []
        for number, line in enumerate(block.text.split("\n")):
            for pattern, names in tool.lines:
                found = re.search(pattern, line)
                if found is None:
                    continue
                if tool.each_line and len(names) > 2:
                    wide = names
                    rows.append([group or "" for group in found.groups()])
                    lines.append(block.line + number)
                    continue
                # What a run begins with is printed again: so begins another run.
                if not runs or next(iter(runs[-1])) == names[0]:
                    runs.append({})
                    first.append(block.line + number)
                for name, group in zip(names, found.groups(), strict=True):
                    runs[-1].setdefault(name, group or "")
        made = []
        heads = list(dict.fromkeys(name for run in runs for name in run))
        if len(heads) > 1 or (heads and tool.each_line):
            cells = [[run.get(name, "") for name in heads] for run in runs]
            made.append(
                Block(
                    "table", f"{tool.name} output", first[0], rows=[heads, *cells], header=1, lines=[first[0], *first]
                )
            )
        if rows:
            made.append(
                Block("table", f"{tool.name} output", lines[0], rows=[wide, *rows], header=1, lines=[lines[0], *lines])
            )
        return made
    return _aligned(block) if block.kind == "code" else []


def _aligned(block: Block) -> list[Block]:
    """Return the tables that are drawn with blanks alone: a line of words over lines of figures, in groups perhaps."""
    found: list[Block] = []
    head, at = "", 0
    lines: list[int] = []
    rows: list[list[str]] = []
    for number, line in enumerate([*block.text.split("\n"), "the end"]):
        cells = _under(head, line, rows)
        if cells:
            rows.append(cells)
            lines.append(block.line + number)
        elif line.strip() or not rows:
            if len(rows) > 1 or (rows and head.startswith("_")):
                header = next(cut(head) for cut in _CUTS if len(cut(head)) == len(rows[0]))
                found.append(Block("table", "", at, rows=[header, *rows], header=1, lines=[at, *lines]))
            head, at, rows, lines = line, block.line + number, [], []
    return found


_CUTS: list[Callable[[str], list[str]]] = [
    lambda line: [one for one in re.split(r"_+" if line.startswith("_") else r"\s{2,}|\t", line.strip()) if one],
    lambda line: line.split() if len(line.split()) > 2 else [],
]


def _under(head: str, line: str, rows: list[list[str]]) -> list[str]:
    """Return the cells of a line that has figures where the head has words, as the rows above it are cut; else nothing."""
    for cut in _CUTS:
        words, cells = cut(head), cut(line)
        figures = [bool(re.match(r"[+-]?\d", cell)) for cell in cells]
        if (
            1 < len(words) == len(cells)
            and not any(re.match(r"[+-]?\d", word) for word in words)
            and figures[-1]
            and sum(figures) >= len(cells) / 2
            and (not rows or len(rows[0]) == len(cells))
        ):
            return cells
    return []
