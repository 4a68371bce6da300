"""How each table was measured: workload, fixed settings and options, from commands and columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from benchbook.documents.columns import concurrency_of
from benchbook.documents.tables import Table
from benchbook.drafting.commands import TOOLS, WORKLOADS, Run, called_workload
from benchbook.drafting.guesses import Guesses
from benchbook.drafting.tables import SERVER, LongTable


def keep_same_versions(design: list[dict[str, Any]], tables: Sequence[LongTable], guesses: Guesses) -> int:
    """Keep the designs of the same versions as the first one, where it has any; return how many versions."""
    listed = {
        table.name: list(dict.fromkeys(row["version"] for row in table.rows)) if "version" in table.level_names else []
        for table in tables
    }
    first = next((versions for entry in design if (versions := listed[entry["table"]])), [])
    for entry in [entry for entry in design if listed[entry["table"]] != first]:
        design.remove(entry)
        words = f"not run: it does not list {', '.join(map(str, first))}"
        guesses.add("report.yaml", f"design.{entry['name']}", words, 1, 0.3)
    return len(first)


def _workload(table: Table, runs: Sequence[Run]) -> tuple[str, float]:
    """Return the workload of a table and how sure that is: as it is named in its text, called there, or run at all."""
    about = f"{table.caption} {table.heading}"
    load = runs[-1].load
    if load in WORKLOADS and (name := called_workload(load, about)[0]):
        return name, 0.95 if name in about else 0.8
    if load != "sysbench":
        return runs[-1].workload, 0.7
    scripts = {
        run.workload for run in runs if re.fullmatch("oltp_[a-z_]+", run.workload) and run.workload != "oltp_common"
    }
    return (scripts.pop(), 0.6) if len(scripts) == 1 else ("", 0.0)


def design_of(table: LongTable, runs: Sequence[Run], guesses: Guesses) -> dict[str, Any] | None:
    """Return how a table was measured, where a printed command says it and a load generator of ours can run it."""
    before = [run for run in runs if run.load and run.line <= table.source.line] or [run for run in runs if run.load]
    metrics = {column.name for column in table.columns if column.role == "metric"}
    if not before or not metrics & {"tps", "qps", "throughput", "tpmc"} | {
        name for name in metrics if "latency" in name
    }:
        return None
    workload, sure = _workload(table.source, before)
    fixed: dict[str, int | str] = {}
    for run in before:
        fixed |= run.settings
    fixed = {name: value for name, value in fixed.items() if name not in table.names}
    last = before[-1]
    looped = next((run for run in reversed(before) if run.threads or "threads" in run.settings), None)
    if looped and looped.threads and "threads" not in table.names:
        _rounds(table, looped, guesses)
        fixed = {name: value for name, value in fixed.items() if name not in table.level_names}
    options = list(last.options)
    if not workload or "threads" not in {*table.level_names, *fixed}:
        return None
    _settle(table, last, fixed, options, guesses)
    if not {*table.level_names} <= {"threads", "version"}:
        return None
    table.fixed = dict(fixed) if "workload" in table.names else {"workload": workload, **fixed}
    key = f"design.{table.name}"
    guesses.add("report.yaml", f"{key}.workload", workload, table.source.line, sure, table.source.caption[:200])
    guesses.add(
        "report.yaml",
        f"{key}.fixed",
        ", ".join(f"{n} {v}" for n, v in fixed.items()),
        last.line,
        0.8 if len(before) < 3 else 0.6,
        last.text,
    )
    for name, words in _unlike(table, last):
        guesses.add("report.yaml", f"{key}.{name}", words, last.line, 0.3, last.text)
    return {
        "name": table.name,
        "table": table.name,
        "workload": workload,
        "load": last.load,
        "fixed": fixed,
        "options": options,
    }


def _unlike(table: LongTable, run: Run) -> Iterator[tuple[str, str]]:
    """Yield each setting of the command that the table, or the words about it, tell otherwise, and what both say."""
    columns = {column.name for column in table.columns if column.role != "metric"}
    about = [table.source.heading, table.source.caption, *(column.heading for column in table.source.columns)]
    for name, value in run.settings.items():
        told = dict.fromkeys(row[name] for row in table.rows) if name in columns else {}
        if told and str(value) not in told:
            yield name, f"{', '.join(told)}, as in the table; the command has {value}"
        elif name == "threads" and not told:
            said = [level for words in about if (level := concurrency_of(words))]
            if said and str(value) not in said:
                others = ", ".join(dict.fromkeys(said))
                yield name, f"{value}, as in the command; the words about the table have {others}"


# What stands above the names of what was run, rather than of what it was run against.
_OF_LOADS = re.compile(
    r"test|workload|operation|quer(?:y|ies)|case|scenario|benchmark|command|^op|phase|\brun\b|round|trial|iteration|场景|测试|类型|操作|轮次",
    re.I,
)


def _settle(table: LongTable, run: Run, fixed: dict[str, int | str], options: list[str], guesses: Guesses) -> None:
    """Make a setting of each level that is the same in all rows, and the system of the one that has names."""
    for column in [one for one in table.levels if one.type == "integer" and one.name != "threads"]:
        values = {row[column.name] for row in table.rows}
        if len(values) == 1 and column.name != "row":
            column.role, column.needed = "note", False
            if column.name in TOOLS[run.load.replace("_", "-")].settings.values():
                fixed[column.name] = int(values.pop())
            elif column.name == "worker_threads" and run.load == "pgbench":
                options += [f"--jobs={values.pop()}"] if not any("--jobs" in one for one in options) else []
    about = f"{table.source.caption} {table.source.section}"
    rates = re.findall(r"\b(tps|qps)\b", about.lower())
    for column in table.columns:
        if column.name == "throughput" and len(set(rates)) == 1 and rates[0] not in table.rows[0]:
            column.name = rates[0]
            for row in table.rows:
                row[column.name] = row.pop("throughput", "")
    named = [one for one in table.levels if one.name not in {"threads", "version"}]
    protocol = called_workload(run.load, table.source.heading)[1] if run.load in WORKLOADS else ""
    if protocol and not any("--protocol" in one for one in options):
        options.append(f"--protocol={protocol}")
    arms = [one for one in table.levels if one.name == SERVER] or named
    if len(arms) == 1 and arms[0].type == "string" and not _OF_LOADS.search(arms[0].heading):
        if "version" in table.level_names:
            return
        # Systems of ours take their places, as those of versions.
        old, arms[0].name = arms[0].name, "version"
        for row in table.rows:
            row["version"] = row.pop(old)
        words = ", ".join(dict.fromkeys(row["version"] for row in table.rows))
        guesses.add("datapackage.json", f"{table.name}.version", words, table.source.line, 0.5, arms[0].heading)


def _rounds(table: LongTable, run: Run, guesses: Guesses) -> None:
    """Name the level that lists the threads of the command's loop; take rows without a level for its rounds."""
    for column in table.levels:
        said = [row[column.name] for row in table.rows]
        if said == [str(one) for one in run.threads] or (column.name == "row" and len(said) == len(run.threads)):
            if column.name == "row":
                words = f"the rounds of the loop: {', '.join(map(str, run.threads))}"
                guesses.add("datapackage.json", f"{table.name}.threads", words, run.line, 0.4, run.text)
            for row, threads in zip(table.rows, run.threads, strict=True):
                del row[column.name]
                row["threads"] = str(threads)
            column.name, column.type, column.unit = "threads", "integer", "threads"
            return
