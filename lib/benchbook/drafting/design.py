"""How each table was measured: its workload, what was held fixed and the options, from commands and columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from benchbook.documents.columns import concurrency_of
from benchbook.drafting.commands import LOADS, SETTINGS, Run, called_workload
from benchbook.drafting.guesses import Guesses
from benchbook.drafting.tables import SERVER, LongTable


def designs_of(tables: Sequence[LongTable], runs: Sequence[Run], guesses: Guesses) -> list[tuple[LongTable, Run]]:
    """Return each table that a load generator of ours can measure, and how; note of the others why not.

    What was held fixed goes into the table. Where tables list versions, those that list others are left out.
    """
    found: list[tuple[LongTable, Run]] = []
    for table in tables:
        made = _design(table, runs, guesses)
        if isinstance(made, Run):
            found.append((table, made))
        else:
            guesses.add("report.yaml", f"design.{table.name}", f"not run: {made}", table.source.line, 0.3)
    kinds = Counter((run.load, versions_of(table)) for table, run in found)
    (load, versions), _ = kinds.most_common(1)[0] if kinds else (("", ()), 0)
    for table, run in [*found]:
        if (run.load, versions_of(table)) != (load, versions):
            found.remove((table, run))
            words = f"not run: most tables are of {load} and list {', '.join(versions) or 'no versions'}"
            guesses.add("report.yaml", f"design.{table.name}", words, table.source.line, 0.3)
    return found


def versions_of(table: LongTable) -> tuple[str, ...]:
    """Return the versions (or systems that take their places) that the rows of a table list."""
    return tuple(dict.fromkeys(row["version"] for row in table.rows)) if "version" in table.level_names else ()


def _design(table: LongTable, runs: Sequence[Run], guesses: Guesses) -> Run | str:
    """Return how a table was measured, its workload settled; or why nothing here measures it."""
    ours = [run for run in runs if run.load]
    mine = [run for run in ours if run.line <= table.source.line] or ours
    metrics = {column.name for column in table.columns if column.role == "metric"}
    if not any(re.search("^(tps|qps|throughput|tpmc)$|latency", name) for name in metrics):
        return "it has neither throughput nor latency"
    if not mine:
        return f"the document names none of {', '.join(LOADS)}"
    load = mine[-1].load
    workload, sure = _workload(table, mine)
    if not workload:
        return f"no workload of {load} is named for it"
    last = next((run for run in reversed(mine) if run.workload == workload), mine[-1])
    fixed = {name: value for run in [*mine, last] for name, value in run.settings.items()}
    looped = next((run for run in reversed(mine) if run.threads or "threads" in run.settings), None)
    if looped and looped.threads and "threads" not in table.names:
        _rounds(table, looped, guesses)
    fixed = {name: value for name, value in fixed.items() if name not in table.names}
    options = list(last.options)
    _settle(table, load, fixed, options, guesses)
    if "threads" not in {*table.level_names, *fixed}:
        return "neither it nor a command says how many threads or clients there were"
    if others := {*table.level_names} - {"threads", "version"}:
        return (
            "nothing tells its rows apart" if others == {"row"} else f"{load} cannot vary {', '.join(sorted(others))}"
        )
    table.fixed = {"workload": workload, **fixed}
    about = table.source.caption[:200]
    guesses.add("datapackage.json", f"{table.name}.fixed.workload", workload, table.source.line, sure, about)
    said = ", ".join(f"{name} {value}" for name, value in fixed.items())
    if said:
        clear = 0.8 if len(mine) < 3 else 0.6
        guesses.add("datapackage.json", f"{table.name}.fixed", said, last.line, clear, last.text)
    for name, words in _unlike(table, last):
        guesses.add("datapackage.json", f"{table.name}.{name}", words, last.line, 0.3, last.text)
    return last._replace(options=options)


def _workload(table: LongTable, runs: Sequence[Run]) -> tuple[str, float]:
    """Return the workload of a table and how sure that is: as it is named in its text, called there, or run at all."""
    about = f"{table.source.caption} {table.source.heading}"
    load = runs[-1].load
    if name := called_workload(load, about)[0]:
        return name, 0.95 if name in about else 0.8
    known = {
        run.workload for run in runs if run.workload and (load != "sysbench" or called_workload(load, run.workload)[0])
    }
    return (known.pop(), 0.6) if len(known) == 1 else (runs[-1].workload if load != "sysbench" else "", 0.4)


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


def _settle(table: LongTable, load: str, fixed: dict[str, Any], options: list[str], guesses: Guesses) -> None:
    """Make a setting of each level that is the same in all rows, and the system of the one that has names."""
    for column in [one for one in table.levels if one.type == "integer" and one.name != "threads"]:
        values = {row[column.name] for row in table.rows}
        if len(values) == 1:
            column.role, column.needed = "note", False
            if column.name in SETTINGS:
                fixed[column.name] = int(values.pop())
            elif column.name == "worker_threads" and load == "pgbench" and not any("--jobs" in one for one in options):
                options.append(f"--jobs={values.pop()}")
    rates = set(re.findall(r"\b(tps|qps)\b", f"{table.source.caption} {table.source.section}".lower()))
    if len(rates) == 1 and "throughput" in table.names and not rates & {*table.names}:
        table.rename("throughput", rates.pop())
    if protocol := called_workload(load, table.source.heading)[1]:
        options[:] = [one for one in options if not one.startswith("--protocol")] + [f"--protocol={protocol}"]
    named = [one for one in table.levels if one.name not in {"threads", "version", "row"}]
    arms = [one for one in named if one.name == SERVER] or named
    if len(arms) == 1 and arms[0].type == "string" and "version" not in table.level_names and not _OF_LOADS.search(
        arms[0].heading
    ):  # fmt: skip
        # Systems of ours take their places, as those of versions.
        table.rename(arms[0].name, "version")
        arms[0].sure = 0.5


def _rounds(table: LongTable, run: Run, guesses: Guesses) -> None:
    """Name the level that lists the threads of the command's loop; take rows without a level for its rounds."""
    for column in table.levels:
        said = [row[column.name] for row in table.rows]
        if said == [str(one) for one in run.threads] or (column.name == "row" and len(said) == len(run.threads)):
            if column.name == "row":
                words = f"the rounds of the loop: {', '.join(map(str, run.threads))}"
                guesses.add("datapackage.json", f"{table.name}.threads", words, run.line, 0.4, run.text)
            for row, threads in zip(table.rows, run.threads, strict=True):
                row[column.name] = str(threads)
            table.rename(column.name, "threads")
            column.type, column.unit = "integer", "threads"
            return
