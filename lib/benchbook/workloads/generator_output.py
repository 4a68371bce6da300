"""What load generators print, read as their files (generator_file) say: runs, their levels, figures and seconds.

Of any text, of any of them: `runs` finds what it is and cuts it into its runs. Nothing is guessed: a figure that is not
printed is not there, and a run without the figures that a whole one prints is refused by name.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from textwrap import dedent

import pint

from benchbook.campaign.record import Quantity
from benchbook.errors import OutputNotParseable, WorkloadFailed, cut
from benchbook.generators.generator_file import (
    Columns,
    FigurePattern,
    Form,
    Histogram,
    LevelPattern,
    Progress,
    matches,
    programs,
    reports_in,
)

# Of counts and rates: "12.3k".
_SI = {"k": 1e3, "M": 1e6, "G": 1e9}
_UNITS: pint.UnitRegistry[float] = pint.UnitRegistry()
_UNITS.define("op = count = ops")
# wrk's minutes, which for pint are meters.
_ALIASES = {"m": "min"}
# What stands before a line where others kept it: a time (`ts`, kubectl, pipelines; YCSB's own, with ":123", is none)
# with what journalctl, syslog and CRI write behind it; a container's name (docker compose, kubectl --prefix); a quote,
# a comment, a server-sent event, the stream's name.
# go-tpc's own time before an error stays: without it the error ends a thread.
_STAMP = re.compile(
    r"^\[?(?:\d{4}[-/]\d\d[-/]\d\d[T ]|(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} {1,2}\d{1,2} )?\d\d:\d\d:\d\d(?:[.,]\d+)?"
    r"(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?(?: \d{4})?\]?[:|]?(?!:)"
    r"(?:[ \t](?:\S+ [^\s\[]+\[\d+\]:|std(?:out|err) [FP]))?(?:[ \t](?!execute \w+ failed, )|$)"
    # And the level that sbt and Maven put before it.
    r"|^\[?\d{10}\.\d{3,9}\]?:?[ \t]|^\[(?:info|INFO)\] ",
    re.MULTILINE,
)
_CONTAINER = re.compile(
    r"^(?:\[(?:pod|container)/[\w./-]+\] ?|[A-Za-z][\w.-]* +\| ?|(?:[>#*]|--|data:) ?"
    r"|(?:[A-Z]+\|? )?\[std(?:out|err)\] ?)+",
    re.MULTILINE,
)
# Lines as strings of JSON, YAML or a program: `stdout_lines` of Ansible, json-file of Docker.
_STRINGS = re.compile(r'^[ \t]*(?:- )?(?:\{"log":)?("(?:[^"\\\n]|\\.)*")(?:,"stream":.*\}|,)?$', re.MULTILINE)
# In Markdown: what is quoted, a block of code between fences, and one that blanks make, behind an empty line.
_QUOTE = re.compile(r"^(?:[ \t]*>[ \t]?)+", re.MULTILINE)
_FENCED = re.compile(r"^([ \t]*(```|~~~).*\n)((?s:.*?))(?=^[ \t]*\2)", re.MULTILINE)
_INDENTED = re.compile(r"(?:\A|(?<=\n)[ \t]*\n)(?:[ \t]+\S.*(?:\n|\Z)|[ \t]*\n)+")
# A command that goes on in the next line.
_CONTINUED = re.compile(r"\\\n")
# A number that somebody has set in bold type.
_BOLD = re.compile(r"\*\*(\d[\d.,]*)\*\*")
# Load generators without a file, by a line that each of them alone prints.
_WITHOUT_FILE = {
    # Of disks, until MongoDB 4.0: seconds at one, two, four ... threads, for as long as it is let, and no report.
    "mongoperf": r"^new thread, total running : \d+$",
    "cockroach-workload": r"^_(?:time|elapsed)_+\w+.*(?:\(cum\)|_efc_)",
    "yugabyte-tpcc": r"^=+RESULTS=+$",
    "benchmarksql": r"\bjTPCC *:(?:\d+ -)? Term-\d+, ",
    "tpcc-mysql": r"^<TpmC>$",
    "mysqlslap": r"^\s*Average number of seconds to run all queries: ",
    "cassandra-stress": r"^[Oo]p rate +: ",
    "ycsb-cpp": r"^(?:Load|Run) throughput\(ops/sec\): ",
    "vegeta": r"^Requests +\[total, rate",
    "k6": r"^ *http_req_duration\.+: avg=",
}

Level = str | int | float
# What one second of a load, or of one client's part of it, tells: (second since it began, {figure: value}).
Seconds = list[tuple[float, dict[str, float]]]
# No run takes so long: what is more is a time since the epoch.
_EPOCH_S = 1e9


@dataclass(frozen=True)
class GeneratorRun:
    """One run of a load generator, as it is printed; `problem` says why it does not count, where it does not.

    `cut`: because something is not there that a whole one prints. `seconds` holds (second of the run, {figure: value}),
    with their units in `units`; `unread` counts the lines of seconds that were wrapped or cut. `histogram` holds (upper
    bound in ms, count). `beside`, of the last run of a text: whose reports stand there as well, and are not read.
    """

    program: str
    title: str
    text: str
    version: str = ""
    levels: dict[str, Level] = field(default_factory=dict)
    figures: dict[str, Quantity] = field(default_factory=dict)
    seconds: Seconds = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    histogram: list[tuple[float, int]] = field(default_factory=list)
    problem: str = ""
    cut: bool = False
    unread: int = 0
    beside: str = ""


def runs(text: str) -> list[GeneratorRun]:
    """Return every run that a text holds, in its order; of the program whose output begins first in it.

    Raise OutputNotParseable where no known program printed it.
    """
    text = as_printed = _BOLD.sub(r"\1", _plain(text))
    lines = text.count("\n")
    strings = _STRINGS.findall(text)
    if 2 * len(strings) > lines:
        with suppress(ValueError):  # other languages escape otherwise
            text = "\n".join(json.loads(each, strict=False).rstrip("\n") for each in strings) + "\n"
    text = dedent(_STAMP.sub("", text))
    if 2 * len(_CONTAINER.findall(text)) > lines:
        text = dedent(_STAMP.sub("", _CONTAINER.sub("", text)))
    text = _FENCED.sub(lambda block: f"{block[1]}{dedent(block[3])}", _QUOTE.sub("", text))
    text = _CONTINUED.sub(" ", _INDENTED.sub(lambda block: _without_indentation(block[0]), text))
    flat = _flat(text)
    found = [
        (match.start(), -len(match[0]), name, form)
        for name, program in programs().items()
        for form in program.forms
        if (match := re.search(form.begins, flat if form.json_ else text, re.MULTILINE))
    ]
    if not found:
        raise OutputNotParseable(_what_it_is(text, as_printed), output=text)
    *_, name, form = min(found, key=lambda each: each[:3])
    parts = reports_in(form, flat if form.json_ else text)
    of_file = [_run(name, form, *part) for part in parts]
    return [*of_file[:-1], replace(of_file[-1], beside="" if form.json_ else _beside(form, text, parts))]


def _without_indentation(block: str) -> str:
    """Return a block at the left margin if a run begins in it; else as it is, for it is part of a run, or of none."""
    begins = (form.begins for program in programs().values() for form in program.forms if not form.json_)
    text = dedent(block)
    return text if text.strip() and any(re.search(each, text, re.MULTILINE) for each in begins) else block


def _beside(read: Form, text: str, parts: Sequence[tuple[str, str, str]]) -> str:
    """Return whose reports stand between and behind these: a text is read in one form alone."""
    others = [*(before for before, _, _ in parts), text.rpartition(parts[-1][1])[2]]
    titles = [
        program.title
        for program in programs().values()
        for form in program.forms
        if form is not read and not form.json_ and any(re.search(form.begins, each, re.MULTILINE) for each in others)
    ]
    return " and ".join(dict.fromkeys(titles))


def _what_it_is(text: str, as_printed: str) -> str:
    """Return what a text is in which no report begins."""
    bare = _CONTAINER.sub("", text)
    for program in programs().values():
        if any(re.search(each.pattern, bare, re.MULTILINE) for form in program.forms for each in form.progress):
            return f"the output of {program.title} is cut: it has no report, and lines of seconds alone"
    for name, program in programs().items():
        title, said = program.title, failure(name, text) or ""
        what = next((what for what, first in program.not_read.items() if re.match(first, as_printed)), "")
        if said and (what or said.startswith(f"{name}: ")):
            return f"{title} says that it failed: {said}"
        if what:
            return f"{what} of {title}, which is not read: what {title} printed at its end is"
    if other := next((name for name, line in _WITHOUT_FILE.items() if re.search(line, text, re.MULTILINE)), ""):
        return f"the output of {other}, which is not read here; env/workloads/{other}.yaml may say how it is"
    if re.match(r"\s*\[?\s*\{\s*\"", text):
        try:
            json.loads(text)
        except ValueError as problem:
            return f"JSON that cannot be read: {problem}"
    return f"not the output of a load generator that is known ({', '.join(p.title for p in programs().values())})"


def begun(name: str, text: str) -> GeneratorRun:
    """Return what this program has printed of a run, whole or not. Raise OutputNotParseable where it is not its output.

    Its `problem` says what is wrong with it.
    """
    text = _plain(text)
    for form in programs()[name].forms:
        if not form.json_ and re.search(form.begins, text, re.MULTILINE):
            return _run(name, form, *reports_in(form, text)[-1])
    raise OutputNotParseable(f"this is not the output of {programs()[name].title}{_tail(text)}", output=text)


def run_of(name: str, text: str, *needed: str) -> GeneratorRun:
    """Return the run that this program has printed, whole; its `problem` is that it did nothing, if that is so.

    Raise WorkloadFailed where the program says that it failed, OutputNotParseable for what is cut, or lacks a figure or
    a level that is needed.
    """
    if said := failure(name, text):
        raise WorkloadFailed(f"{programs()[name].title}: {said}", output=text)
    run = begun(name, text)
    if run.cut:
        raise OutputNotParseable(f"{run.problem}{_tail(text)}", output=text)
    if lacking := [each for each in needed if each not in run.figures and each not in run.levels]:
        raise OutputNotParseable(f"the output of {run.title} has no {', '.join(lacking)}{_tail(text)}", output=text)
    return run


def _tail(text: str) -> str:
    return f"; it ends with: {' | '.join(text.strip().splitlines()[-3:]) or 'nothing'}"


def quantities(values: Mapping[str, float]) -> dict[str, Quantity]:
    """Return figures with the units that their names tell: rates a second, times in s or ms, counts."""
    own = {"tps": "1/s", "tps_connecting": "1/s", "qps": "1/s", "total_time_s": "s", "threads": "threads"}
    units = {name: own.get(name, "ms" if name.endswith("_ms") else "1") for name in values}
    return {name: Quantity(value=float(value), unit=units[name]) for name, value in values.items()}


def units(name: str) -> dict[str, str]:
    """Return the units of what a program prints while it runs."""
    return {n: unit for form in programs()[name].forms for each in form.progress for n, unit in each.units.items()}


def failure(name: str, text: str) -> str | None:
    """Return what the program itself says has failed, in one line; None if it says nothing of the kind.

    Each message once, with how often it came: the four most frequent.
    """
    patterns = dict.fromkeys(form.failed for form in programs()[name].forms if form.failed)
    found = (match for pattern in patterns for match in re.finditer(pattern, text, re.MULTILINE))
    said = Counter(match[match.lastindex or 0].strip() for match in found).most_common(4)
    return "; ".join(f"{cut(each)} ({n:,} times)" if n > 1 else cut(each) for each, n in said) or None


def rate_in(name: str, line: str) -> tuple[float, float] | None:
    """Return second and `tps` of a line that the program prints while it runs; None for any other line."""
    found = (each for progress in programs()[name].forms[0].progress for each in _seconds(progress, line.rstrip()))
    return next(((t, figures["tps"]) for t, figures in found if "tps" in figures), None)


def _plain(text: str) -> str:
    """As it is on a screen, without colours: `script` and the logs of a pipeline keep it otherwise."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r\n", "\n").replace("\r", "\n")


def _flat(text: str) -> str:
    """Return all JSON in a text as a line per value, as a program prints it or Python; "" where there is none."""
    # People write comments into it.
    text = re.sub(r"^[ \t]*//.*\n", "", text, flags=re.MULTILINE)
    lines, at, first = list[str](), 0, 0
    while begin := re.compile(r"""\{(?=\s*u?["'])""").search(text, at):
        at = begin.end()
        with suppress(ValueError, RecursionError):
            value, at = json.JSONDecoder().raw_decode(text, begin.start())
            first = first or begin.start()
            lines += _lines(value, "")
    if lines and text[:first].rstrip().endswith("[") and "]" not in text[at:]:
        # No run has such a line: the `cut` of a form finds it behind the last one.
        lines.append("a list = that does not end")
    for printed in re.findall(r"^[^{\n]*(\{u?'(?s:.*)\})", text, re.MULTILINE) if not lines else []:
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            lines += _lines(ast.literal_eval(printed), "")
    return "\n".join(lines)


def _lines(value: object, path: str) -> Iterator[str]:
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _lines(part, f"{path}.{key}" if path else str(key))
    else:
        yield f"{path} = {value}"


def _run(name: str, form: Form, before: str, report: str, head: str) -> GeneratorRun:
    title = programs()[name].title
    whole = f"{before}{report}"
    version = _first([form.version], report, before, head) if form.version else None
    report = re.sub(form.aside, "", report, flags=re.MULTILINE) if form.aside else report
    figures = _figures(form, report, before, head)
    levels = _levels(form, report, before, head)
    told = [(each, list(_seconds(each, whole))[bool(each.every_s) :]) for each in form.progress]
    seconds = _since_its_begin([line for _, lines in told for line in lines], figures)
    units = {figure: unit for each in form.progress for figure, unit in each.units.items()}
    failed = failure(name, whole)
    lacking = [figure for figure in form.required if figure not in figures]
    is_cut = (
        bool(lacking)
        or bool(form.ends and not re.search(form.ends, report, re.MULTILINE))
        or bool(form.cut and re.search(form.cut, report, re.MULTILINE))
    )
    # Runs that lack their first lines pass for one run with several figures of a name.
    plain = {n: each.pattern[:1] for n in form.required if (each := form.figures.get(n)) and not each.within}
    told_as = {n: {m[1] for p in each for m in re.finditer(p, report, re.MULTILINE)} for n, each in plain.items()}
    several = [n for n, each in told_as.items() if len(each) > 1]
    problem, fix = "", f". Fix: {form.fix}" if form.fix else ""
    if failed:
        problem = f"{title} says that it failed: {failed[:400]}"
    elif several:
        problem = f"{title} begins once and ends several times: it has more than one {several[0]}"
    elif is_cut:
        what = ", ".join([*lacking, *_errors(figures)]) if lacking else f"end{fix}"
        problem = f"the output of {title} is cut: it has no {what}"
    elif form.inexact and (order := re.search(form.inexact, report)):
        problem = f"{title} prints the order of its figure, and not the figure: {' '.join(order[0].split())}{fix}"
    elif ambiguous := _ambiguous(form, figures, before):
        problem = f"nothing tells which figure of {title} counts: {ambiguous}{fix}"
    elif done_nothing := _done_nothing(figures):
        problem = f"{title} {done_nothing}"
    return GeneratorRun(
        program=name,
        title=title,
        text=whole,
        version=version or "",
        levels=levels,
        figures=figures,
        seconds=seconds,
        units=units,
        histogram=_histogram(form.histogram, report) if form.histogram else [],
        problem=problem,
        cut=is_cut and not failed,
        unread=sum(max(0, len(re.findall(p.begins, whole, re.MULTILINE)) - len(n)) for p, n in told if p.begins),
    )


def _done_nothing(figures: Mapping[str, Quantity]) -> str:
    """Return that a run did nothing, with the errors that it counted; "" for one that did something."""
    rates = [q.value for q in figures.values() if q.unit.startswith("1/")] or [q.value for q in figures.values()]
    is_idle = "events" in figures and not figures["events"].value
    if any(rates) and not is_idle:
        return ""
    return ", ".join(["did nothing: it prints 0 events" if is_idle else "prints no rate above 0", *_errors(figures)])


def _errors(figures: Mapping[str, Quantity]) -> list[str]:
    counted = {name: figures[name].value for name in ("ignored_errors", "failed", "reconnects") if name in figures}
    return [f"and {count:g} {name}" for name, count in counted.items() if count]


def _since_its_begin(seconds: Seconds, figures: Mapping[str, Quantity]) -> Seconds:
    """With --progress-timestamp pgbench prints times of a clock: the last is taken for its end."""
    if not seconds or seconds[0][0] < _EPOCH_S:
        return seconds
    (first, _), (last, _) = seconds[0], seconds[-1]
    lasted = figures["total_time_s"].value if "total_time_s" in figures else last - first
    return [(t - last + lasted, each) for t, each in seconds]


def _first(patterns: Sequence[str], *texts: str) -> str | None:
    found = (re.search(pattern, text, re.MULTILINE) for text in texts for pattern in patterns)
    return next((match[1].strip() for match in found if match), None)


def _levels(form: Form, *texts: str) -> dict[str, Level]:
    found: dict[str, Level] = {}
    for level, places in form.levels.items():
        for place in (LevelPattern(pattern=each) if isinstance(each, str) else each for each in places):
            printed = _first([place.pattern], *texts)
            if printed is None:
                continue
            if place.every:
                printed = " ".join(re.findall(place.pattern, "\n".join(texts), re.MULTILINE))
            times = _first([place.times], *texts) if place.times else None
            value = as_level(place.names.get(printed, printed))
            found[level] = value * int(times) if times and isinstance(value, int) else value
            break
    return found


def as_level(text: str) -> Level:
    """Return a level as a number where it is one, and else as a word that can stand in a file's name."""
    if re.fullmatch(r"\d{1,15}", text):
        return int(text)
    if re.fullmatch(r"\d{1,15}\.\d+", text):
        return float(text)
    return re.sub(r"[^\w.+-]+", "_", text).strip("_")[:80] or "_"


def _figures(form: Form, report: str, before: str, head: str) -> dict[str, Quantity]:
    found: dict[str, Quantity] = {}
    for name, figure in form.figures.items():
        told = list(_matched(name, figure, f"{head}{before}" if figure.above else report))
        # What several lines tell under one name, as a statement that stands in two scripts, is the figure of none.
        found |= {each: q for each, q in told if "{" not in name or all(q == other for n, other in told if n == each)}
        if name not in found and figure.add:
            matches = re.findall(figure.add, report, re.MULTILINE)
            numbers = [float(n) for each in matches for n in (each if isinstance(each, tuple) else (each,))]
            found |= {name: Quantity(value=sum(numbers), unit=figure.unit)} if numbers else {}
    for name, figure in form.figures.items():
        if (most := figure.divided_by) and {name, "events", "tps", "total_time_s"} <= found.keys():
            failed = found["failed"].value if "failed" in found else 0
            ended = found["tps"].value * found["total_time_s"].value - failed
            found[name] = Quantity(value=found[name].value * most / max(most, ended), unit=figure.unit)
            if found["events"].value == most:  # it counted no further
                del found["events"]
        own, other = found.get(name), found.get(figure.instead)
        tells = _is_long(found, figure) if own else "total_time_s" in found
        if other and tells and _differ(figure, own, other, before):
            found[name] = other
    return {**(_of_columns(form.columns, report) if form.columns else {}), **found}


def _is_long(found: Mapping[str, Quantity], figure: FigurePattern) -> bool:
    """Return whether a run lasted `long_s`, as it says, or, where requests were counted, as their rate does."""
    if "total_time_s" in found:
        return found["total_time_s"].value >= figure.long_s
    other = found.get(figure.instead)
    return bool(other and "events" in found and found["events"].value >= figure.long_s * other.value)


def _differ(figure: FigurePattern, own: Quantity | None, other: Quantity, before: str) -> bool:
    told = figure.unless and re.search(figure.unless, before, re.MULTILINE)
    return not told and not (own and abs(own.value - other.value) <= figure.apart * other.value)


def _ambiguous(form: Form, found: Mapping[str, Quantity], before: str) -> str:
    """Return which two figures of a run differ, where nothing tells which is its own; "" where there are none."""
    for name, figure in form.figures.items():
        own, other = found.get(name), found.get(figure.instead)
        if own and other and not _is_long(found, figure) and _differ(figure, own, other, before):
            return f"{own.value:g} and {other.value:g} {own.unit} are both its {name}"
    return ""


def _number(text: str) -> float:
    """Return 1,234.5 with its thousands apart, and 1,5 with the decimal comma of some locales."""
    return float(text.replace(",", "" if "." in text else "."))


def _matched(name: str, figure: FigurePattern, report: str) -> Iterator[tuple[str, Quantity]]:
    for each in matches(figure, report):
        factor = _factor(each.said.get("unit") or figure.printed or figure.unit, figure.unit)
        yield name.format_map(_named(each.said)), Quantity(value=_number(each.text) * factor, unit=figure.unit)


def _named(said: Mapping[str, str | None]) -> dict[str, str]:
    """Return the words of a figure's name: READ is read, 99.90 is 999."""
    words = {key: re.sub(r"\W+", "_", value.lower()).strip("_") for key, value in said.items() if value}
    if percent := said.get("percent"):
        words["percent"] = f"{float(percent):g}".replace(".", "")
    return words


@cache
def _factor(printed: str, unit: str) -> float:
    if printed == unit:
        return 1.0
    if printed in _SI and unit in ("1", "1/s"):
        return _SI[printed]
    return float(_UNITS.Quantity(1.0, _ALIASES.get(printed, printed)).to(unit).magnitude)


def _of_columns(columns: Columns, report: str) -> dict[str, Quantity]:
    header = re.search(columns.header, report, re.MULTILINE)
    headings = re.split(columns.between, header[0].strip(" |")) if header else []
    found = {}
    for row in re.finditer(columns.row, report, re.MULTILINE) if header else ():
        cells = row[0].replace("|", " ").split()
        for heading, printed in zip(headings, cells, strict=False) if len(cells) >= len(headings) else ():  # else cut
            for column in columns.figures:
                match = re.fullmatch(column.heading, heading)
                if match and re.fullmatch(r"[\d.]+", printed):
                    name = column.name.format_map(_named({**row.groupdict(), **match.groupdict()}))
                    number = float(printed) * _factor(column.printed or column.unit, column.unit)
                    found[name] = Quantity(value=number, unit=column.unit)
                    break
    return found


def _histogram(table: Histogram, report: str) -> list[tuple[float, int]]:
    part = re.search(table.within, report, re.MULTILINE) if table.within else re.match(r"(?s).*", report)
    rows = re.finditer(table.pattern, part[0], re.MULTILINE) if part else []
    found = [(float(row["upper"]) * _factor(table.printed, "ms"), int(row["count"])) for row in rows]
    below = [0, *(count for _, count in found)] if table.cumulative else [0] * len(found)
    return [(ms, count - less) for (ms, count), less in zip(found, below, strict=False) if count > less]


def _seconds(progress: Progress, text: str) -> Iterator[tuple[float, dict[str, float]]]:
    for told, match in enumerate(re.finditer(progress.pattern, text, re.MULTILINE)):
        said = match.groupdict()
        numbers = {name: float(printed) for name in progress.units if (printed := said.get(name))}
        # Of a second in which nothing was done pgbench prints `nan` as its latency.
        second = told * progress.every_s if progress.every_s else float(said["t"])
        yield second, {name: number for name, number in numbers.items() if not math.isnan(number)}
