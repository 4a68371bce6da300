"""`benchbook audit DOCUMENT --logs PATH`: which printed figures the logs of a report give, and which they do not.

A column is a metric of the logs by its heading and its unit; a row is the runs whose levels it names. What cannot be
told so is said, and is no finding: it may be a figure that was computed, or of a run whose log is not there.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median

from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.markup import escape

from benchbook.documents.columns import Column, concurrency_of, percent_of, rule_of, unit_of
from benchbook.documents.numerals import Figure
from benchbook.documents.tables import Reading, Table
from benchbook.documents.units import factor, is_time
from benchbook.errors import counted
from benchbook.grouping import grouped
from benchbook.importing.logs import Log

# Quantity of a column -> names of a log's figure that it may be; `op` stands before it where a log has several.
_NAMES = {
    "mean": r"latency_mean_ms",
    "latency": r"latency_mean_ms",
    "min": r"latency_min_ms",
    "max": r"latency_max_ms",
    "spread": r"latency_stddev_ms",
    "throughput": r"tps|qps|iops|tpmc|tpm|tpm_total|nopm|throughput",
    "errors": r"failed|ignored_errors",
    "time": r"total_time_s",
    "count": r"events|transactions",
}
# How a table calls a repetition: "Run 2", or the number below such a heading.
_RUN = r"(?:run|trial|repetition|iteration|round|attempt|第)"
# How a table calls all requests of a run; others count timeouts, retries, or what was slow.
_ALL = re.compile(r"(?:requests?|events?|transactions?|queries|operations?|total|all|number|of|completed?|processed)*")
_CLIENTS = re.compile(r"thread|client|concurren|connection|users?\b|线程|并发", re.IGNORECASE)


class Printed(BaseModel):
    """A printed figure beside the logs: `given_by` names what of the runs it is; `why`: it could not be matched."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    table: str
    line: int
    row: str
    column: str
    printed: str
    metric: str = ""
    logs: list[str] = []
    statistics: dict[str, float] = {}
    given_by: list[str] = []
    why: str = ""

    @property
    def wrong(self) -> bool:
        return not self.why and not self.given_by


def against(read: Reading, logs: Sequence[Log]) -> list[Printed]:
    """Return every figure of every table of metrics in a document, beside what the logs give for it."""
    return [
        _printed(read.document, table, row, place, figure, logs)
        for table in read.tables
        for row in range(len(table.rows))
        for place, column in enumerate(table.columns)
        if column.role == "metric" and (figure := table.rows[row][place].figure)
    ]


def _printed(document: str, table: Table, row: int, place: int, figure: Figure, logs: Sequence[Log]) -> Printed:
    column, cell = table.columns[place], table.rows[row][place]
    said = Printed(table=table.name, line=cell.line, row=table.label(row), column=column.heading, printed=cell.text)
    mine, why = _of_row(table, row, column, logs)
    if why:
        return said.model_copy(update={"why": why})
    words = _plain(f"{table.section} {table.caption} {table.label(row)} {column.heading}")
    metric = _metric(column if column.quantity else _of_words(table, row, document), mine, words)
    if not metric:
        return said.model_copy(update={"why": "the logs have no figure of this name and unit"})
    # Not every run prints every figure.
    mine = [log for log in mine if metric in log.run.figures]
    unit, own = mine[0].run.figures[metric].unit, figure.unit or column.unit
    times = factor(unit, own) if own else 1.0
    if times is None:
        return said.model_copy(update={"why": f"{own} is not the unit of {metric}, {unit}"})
    # Of repetitions the last one is the last by its number, else by its name.
    runs = sorted(mine, key=lambda log: (log.repetition, str(log.file), log.number))
    values = [log.run.figures[metric].value * times for log in runs]
    best = min if is_time(unit) or metric.endswith(("failed", "errors")) else max
    found = {"mean": fmean(values), "median": median(values), "best": best(values), "last": values[-1]}
    found = found if len(values) > 1 else {"the only run": values[0]}
    given = [f"{name}{how}" for name, value in found.items() if (how := _given(figure, value)) is not None]
    named = [f"{log.file}#{log.number}" if log.number > 1 else str(log.file) for log in runs]
    return said.model_copy(update={"metric": metric, "logs": named, "statistics": found, "given_by": given})


def _given(figure: Figure, value: float) -> str | None:
    """Return how a value is printed as a figure: rounded (""), or with its further digits cut off; else None."""
    dust = 1e-9 * max(abs(figure.low), abs(figure.high))
    if figure.low - dust <= value <= figure.high + dust:
        return ""
    return " (cut off)" if -dust <= value - figure.value < figure.place else None


# -- rows: the runs that they are of ----------------------------------------------------------------------------------


def _of_row(table: Table, row: int, column: Column, logs: Sequence[Log]) -> tuple[list[Log], str]:
    """Return the runs of one cell of a table; else none, and why."""
    found = list(logs)
    for place, level in enumerate(table.columns):
        text = table.rows[row][place].text
        if level.role == "level" and text:
            fitting = _fitting(level.heading, text, found)
            if not fitting and (column.quantity or not _is_metric(text)):
                return [], f"no log has {level.heading} {text}"
            # Where a row is a metric, its heading may say more, as in "Metric (4 threads)".
            found = fitting or _named(level.heading, found)
    found = _named(column.heading, found, is_heading=True)
    for words in (table.caption, table.section):
        found = _named(words, found)
    cells = {(log.system, log.run.program, tuple(v for n, v in log.levels.items() if n != "file")) for log in found}
    if len(cells) > 1:
        levels = grouped(
            [(n, v) for log in found for n, v in (("system", log.system), *log.levels.items())], lambda e: e[0]
        )
        apart = [name for name, each in levels.items() if len(set(each)) > 1 and name != "file"]
        return [], f"it does not say which {' and '.join(apart) or 'load generator'} its figures are of"
    return found, ""


def _fitting(heading: str, text: str, logs: Sequence[Log]) -> list[Log]:
    """Return the logs of which a level, or the system, is what a cell says: alike, else the one level that holds it."""
    number, word = re.fullmatch(r"\D{0,3}(\d[\d,]*)(?: ?[A-Za-z]+)?", text.strip()), _plain(text)
    said = f"run {text}" if re.fullmatch(rf"{_RUN}(?: *(?:no\.?|number|#))?", heading, re.IGNORECASE) else text
    repetition = re.fullmatch(rf"{_RUN} *#? *(\d+) *[轮次]?", said.strip(), re.IGNORECASE)
    if repetition and any(log.repetition for log in logs):
        return [log for log in logs if log.repetition == int(repetition[1])]
    count = concurrency_of(text)
    figure = count or (number[1].replace(",", "") if number else "")
    if figure:
        value = int(figure)
        # Of a heading that is no level's name, eight nodes say, nothing tells which level it is.
        said = "threads" if count or _CLIENTS.search(heading) else _plain(heading)
        return [log for log in logs if any(v == value and _is_called(n, said) for n, v in log.levels.items())]
    alike = [log for log in logs if word in {_plain(str(value)) for value in (*log.levels.values(), log.system)}]
    if alike or not word:
        return alike
    holding = {str(value) for log in logs for value in (*log.levels.values(), log.system) if word in _plain(str(value))}
    return [log for log in logs if holding & {*map(str, log.levels.values()), log.system}] if len(holding) == 1 else []


def _is_called(level: str, heading: str) -> bool:
    name, said = _plain(level).removesuffix("s"), heading.removesuffix("s")
    return name in said or (len(said) > 2 and said in name)


def _named(words: str, logs: Sequence[Log], *, is_heading: bool = False) -> list[Log]:
    """Return the logs of the one system, level, or number of threads that is named in words; else all of them.

    A system whose name is a number, such as a version, is named by a heading that has no other number. Other words may
    number tables or pages.
    """
    said, found = _plain(words), list(logs)
    for level in dict.fromkeys(["system", *(name for log in logs for name in log.levels if name != "file")]):
        values = {_value(log, level) for log in found}
        named = sorted((value for value in values if _is_in(_plain(value), said)), key=len)
        numbers = re.findall(r"\d+(?:\.\d+)*", words) if is_heading and not named else []
        named = named or [value for value in values if [value] == numbers]
        # `update_index` is in `oltp_update_index` as well: the longest is meant, where it holds the others.
        if named and all(_plain(value) in _plain(named[-1]) for value in named) and len(values) > 1:
            found = [log for log in found if _value(log, level) == named[-1]]
    counts = {
        int(n) for n in re.findall(r"(\d+)[ -]*(?:threads?|clients?|connections?|users?)\b", words, re.IGNORECASE)
    }
    of_count = [log for log in found if log.levels.get("threads") in counts] if len(counts) == 1 else []
    return of_count or found


def _is_in(value: str, said: str) -> bool:
    """Return whether a name is told in words; one of digits alone must be all that they say."""
    return value == said if value.isdecimal() else bool(value) and value in said


def _value(log: Log, level: str) -> str:
    return log.system if level == "system" else str(log.levels.get(level, ""))


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.lower())


def _is_metric(text: str) -> bool:
    """Return whether a row of this name is a metric; "Average", "Total", and "Std dev" may be those of all rows."""
    rule = rule_of(text)
    return bool(rule and rule.role == "metric" and rule.better and (rule.quantity != "spread" or unit_of(text)))


def _of_words(table: Table, row: int, document: str) -> Column:
    """Return what a row, a caption, a section, or the name of the document says of columns that say nothing."""
    of_row = [
        cell.text
        for level, cell in zip(table.columns, table.rows[row], strict=True)
        if level.role in ("level", "note") and _is_metric(cell.text)
    ]
    for words in (*of_row, table.caption, table.section, Path(document).stem):
        if (rule := rule_of(words)) and rule.role == "metric":
            return Column(words, rule.quantity, unit_of(words) or rule.unit, rule.better, "metric", percent_of(words))
    return Column("")


# -- columns: the figure that they are --------------------------------------------------------------------------------


def _metric(column: Column, logs: Sequence[Log], words: str) -> str:
    """Return the name of the figure that a column holds, "" where the logs have none, or several alike.

    Where columns are systems, the caption says what is printed below them.
    """
    # A time per request is no time of all of them.
    quantity = "mean" if column.quantity == "time" and re.search(r"\bper\b", column.heading) else column.quantity
    pattern = rf"p{column.percent:g}_ms".replace(".", "") if column.percent else _NAMES.get(quantity, "")
    there = {name: quantity.unit for log in logs for name, quantity in log.run.figures.items()}
    names = [
        name
        for name, unit in there.items()
        if re.fullmatch(rf"(?:\w+_)?(?:{pattern})", name)
        and pattern
        and (not column.unit or factor(unit, column.unit) is not None)
    ]
    heading = _plain(column.heading)
    if quantity == "count" and not _ALL.fullmatch(heading):
        return ""
    by_name = [name for name in names if _plain(name) in heading] or [
        n for n in names if ("quer" in heading or "qps" in heading) and n in ("qps", "read_write_qps")
    ]
    of_op = [name for name in names if (op := re.sub(rf"_?(?:{pattern})$", "", name)) and _plain(op) in words]
    plain = [name for name in names if re.fullmatch(pattern, name)]
    for chosen in (by_name, of_op, [name for name in plain if name in ("tps", "tpmc")], plain, names):
        if len(chosen) == 1:
            return chosen[0]
    return ""


# -- told -------------------------------------------------------------------------------------------------------------


def show(document: str, found: Sequence[Printed], console: Console) -> None:
    """Print what came out for people: a line for each figure that the logs do not give, and counts of all."""
    matched = [one for one in found if not one.why]
    wrong = [one for one in matched if one.wrong]
    by = Counter(name for one in matched for name in one.given_by)
    ways = ", ".join(f"{name} {count}" for name, count in by.items())
    given = f"{len(matched) - len(wrong)} of {counted(len(matched), 'figure')} are what the logs give"
    lines = [f"[bold]{escape(document)}[/bold]: {given}{f' ({ways})' if ways else ''}"]
    for one in wrong:
        values = ", ".join(f"{name} {value:,.6g}" for name, value in one.statistics.items())
        lines.append(f"  line {one.line}, {escape(one.row)}, {escape(one.column)}: {escape(one.printed)} is printed")
        lines.append(f"      {one.metric} of {counted(len(one.logs), 'run')}: {values}")
    for (table, why), rest in grouped([one for one in found if one.why], lambda one: (one.table, one.why)).items():
        lines.append(f"  not matched: {counted(len(rest), 'figure')} of {escape(table)}: {escape(why)}")
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)


def as_json(found: Sequence[tuple[str, list[Printed]]]) -> str:
    """Return it as a JSON list, an object per document."""
    told = []
    for document, figures in found:
        matched = [one for one in figures if not one.why]
        counts = {"given": sum(not one.wrong for one in matched), "not_given": sum(one.wrong for one in matched)}
        every = [one.model_dump(mode="json") for one in figures]
        told.append({"document": document, **counts, "not_matched": len(figures) - len(matched), "figures": every})
    return json.dumps(told, indent=1, ensure_ascii=False)
