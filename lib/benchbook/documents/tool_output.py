"""What load generators print, as tables of a row per run or operation: sysbench, pgbench, go-tpc, YCSB, fio and others.

Figures are found by the generators' own files (generators), as in imported outputs; here stand those that documents
need beside them, and by what an output is known of which often a part alone is printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from textwrap import dedent
from typing import NamedTuple

from benchbook.documents.formats import Block, table_block
from benchbook.generators.generator_file import FigurePattern, Form, LevelPattern, matches, programs, reports_in


class Tool(NamedTuple):
    """A program's output: `sign` tells it; `file` is that of its generator, `more` are figures that this has not, `levels` those read."""

    sign: str
    file: str = ""
    more: dict[str, FigurePattern] = {}
    levels: tuple[str, ...] = ("threads",)


# The units that a figure's name has at its end, where it has them in words.
_WORDS = {"%": "percent"}
_NAME = r"\S{1,120}?(?: \S{1,40}){0,4}?"  # of a bounded length: the time to match it grows with its square
_GO = rf"^(?P<op>{_NAME}):?[ \t]+\d+[ \t]+[\d.]+ ns/op.*$"

TOOLS = {
    "sysbench": Tool(r"queries performed:|General statistics:|Latency \(ms\):", "sysbench", {
        "total statements": FigurePattern(unit="1", pattern=[r"^\s*total:\s+(\d+)$"]),
    }),
    "pgbench": Tool(r"transaction type:|number of transactions actually processed|tps = ", "pgbench", {
        "worker threads": FigurePattern(unit="1", pattern=[r"number of threads:\s+(\d+)"]),
    }, ("threads", "scale")),
    "go-tpc": Tool(r"^\[?(?:Summary|Finished)\]?\s*\S+ - Takes\(s\)|tpmC:\s", "go_tpc", {
        "{op}_time_s": FigurePattern(unit="s", pattern=[r"\[Summary\] (?P<op>\w+) +- Takes\(s\): (?P<value>[\d.]+)"]),
        "{op}_sum_ms": FigurePattern(unit="ms", pattern=[r"\[Summary\] (?P<op>\w+) +- .*?Sum\((?P<unit>ms)\): (?P<value>[\d.]+)"]),
    }),
    "go-ycsb": Tool(r"^\s*(?:READ|UPDATE|INSERT|SCAN|TOTAL)\s+- Takes\(s\):", "go_ycsb", {
        "{op}_time_s": FigurePattern(unit="s", pattern=[r"^(?P<op>[A-Z_]+) +- Takes\(s\): (?P<value>[\d.]+)"]),
        "{op}_latency_min_us": FigurePattern(unit="us", pattern=[r"^(?P<op>[A-Z_]+) +- .*?Min\((?P<unit>us)\): (?P<value>\d+)"]),
    }),
    "YCSB": Tool(r"\[OVERALL\], Throughput", "ycsb"),
    "redis-benchmark": Tool(r"requests completed in|: [\d.]+ requests per second", "redis_benchmark", levels=("workload", "threads")),
    "db_bench": Tool(r"micros/op", "db_bench", levels=("workload",)),
    "go test -bench": Tool(rf"^{_NAME}:?[ \t]+\d+[ \t]+[\d.]+ ns/op", "", {
        "{op}_iterations": FigurePattern(unit="1", within=_GO, pattern=[r"[ \t](\d+)[ \t]+[\d.]+ ns/op"]),
        "{op}_time (ns/op)": FigurePattern(unit="1", within=_GO, pattern=[r"([\d.]+) ns/op"]),
        "{op}_MB/s": FigurePattern(unit="1", within=_GO, pattern=[r"([\d.]+) MB/s"]),
        "{op}_memory (B/op)": FigurePattern(unit="1", within=_GO, pattern=[r"(\d+) B/op"]),
        "{op}_allocs/op": FigurePattern(unit="1", within=_GO, pattern=[r"(\d+) allocs/op"]),
    }),
    "ab": Tool(r"Time per request:|Concurrency Level:", "ab"),
    "wrk": Tool(r"^\s*Thread Stats\s+Avg", "wrk"),
    # Alike but for the line of the deviation.
    "etcd benchmark": Tool(r"^\s*Stddev:.*\n\s*Requests/sec:", "etcd_benchmark"),
    "hey": Tool(r"^\s*Requests/sec:", "hey"),
    "fio": Tool(r"\biops=|IOPS=", "fio", {
        "{op}_bandwidth": FigurePattern(unit="1", pattern=[
            r"^ +(?P<op>read|write|trim|mixed) ?: .*?(?i:bw)=(?P<value>[\d.]+)(?P<unit>\s?[KMG]i?B/s)"
        ]),
    }),
}  # fmt: skip


def tables_of(block: Block) -> list[Block]:
    """Return what a block of output says as a table: headings, then a row for each run, or each operation of one."""
    for name, tool in TOOLS.items():
        if re.search(tool.sign, block.text, re.MULTILINE):
            found = _rows(tool, block)
            of_runs, of_operations = ([row for row in found if bool(row.operation) is its] for its in (False, True))
            return [table for rows in (of_runs, of_operations) for table in _drawn(f"{name} output", rows)]
    return _aligned(block) if block.kind == "code" else []


class _Row(NamedTuple):
    line: int
    operation: str
    cells: dict[str, str]


def _drawn(title: str, rows: list[_Row]) -> Iterator[Block]:
    heads = list(dict.fromkeys(name for row in rows for name in row.cells))
    if len(heads) > 1 or any(row.operation for row in rows):
        first = ["operation"] if rows[0].operation else []
        cells = [[row.operation][: len(first)] + [row.cells.get(name, "") for name in heads] for row in rows]
        lines = [rows[0].line, *(row.line for row in rows)]
        yield table_block([[*first, *heads], *cells], lines, text=title)


def _rows(tool: Tool, block: Block) -> list[_Row]:
    """Return the rows of every report in a block; of the whole block where a report has no beginning."""
    rows: list[_Row] = []
    printed = programs()[tool.file].forms if tool.file else []
    forms = [form for form in printed if not form.json_] or [Form(begins=tool.sign)]
    begun = [
        (match.start(), -len(match[0]), place, text)
        for text in (block.text, dedent(block.text))
        for place, form in enumerate(forms)
        if (match := re.search(form.begins, text, re.MULTILINE))
    ]
    *_, place, text = min(begun, default=(0, 0, 0, block.text))
    form, at = forms[place], 0
    for before, report, _ in reports_in(form, text) if begun else [("", text, "")]:
        at += len(before)
        open_rows: dict[str, _Row] = {}
        for where, operation, heading, figure in sorted(_figures(tool, form, report)):
            row = open_rows.get(operation)
            # What a row begins with is printed again: so begins another one.
            if row is None or next(iter(row.cells)) == heading:
                line = block.line + text.count("\n", 0, at + where)
                row = open_rows[operation] = _Row(line, operation, {})
                rows.append(row)
            row.cells.setdefault(heading, figure)
        at += len(report)
    return [row for row in rows if row.cells.keys() - {*tool.levels}]


def _figures(tool: Tool, form: Form, report: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield where a figure or a level stands, its operation, its heading, and what is printed."""
    for level in tool.levels:
        for place in form.levels.get(level, []):
            pattern = place.pattern if isinstance(place, LevelPattern) else place
            if found := re.search(pattern, report, re.MULTILINE):
                yield found.start(1), "", level, found[1]
                break
    for name, figure in {**form.figures, **tool.more}.items():
        for each in matches(figure, report):
            words = name.removeprefix("{op}_").format_map(each.said)
            unit = each.said.get("unit") or ""
            if not (of := figure.printed or figure.unit).startswith("1"):
                words = words.removesuffix(f"_{_WORDS.get(figure.unit, figure.unit)}") + f" ({of})" * (not unit)
            yield each.at, each.said.get("op") or "", words.replace("_", " "), each.text + unit


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
                found.append(table_block([header, *rows], [at, *lines]))
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
            and "|" not in head  # it is drawn
            and not any(re.match(r"[+-]?\d", word) for word in words)
            and figures[-1]
            and sum(figures) >= len(cells) / 2
            and (not rows or len(rows[0]) == len(cells))
        ):
            return cells
    return []
