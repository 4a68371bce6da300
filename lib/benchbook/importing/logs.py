"""`benchbook import logs`: outputs of load generators that lie on disk already, as a campaign like any other.

What they ran on, with which settings, on which data and in which order, nobody wrote down: such a campaign says so
under `imported`, which every verdict and every comparison heeds. Repetitions are those that `--levels` calls so.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.progress import track

from benchbook import published
from benchbook.campaign import design, record, store
from benchbook.campaign.design import Cell, Trial
from benchbook.campaign.environment import IMPORTED, UNKNOWN, Environment, SystemDescription
from benchbook.campaign.record import Record
from benchbook.campaign.store import Campaign
from benchbook.errors import BadInput, OutputNotParseable, counted
from benchbook.grouping import grouped
from benchbook.importing import host_metrics
from benchbook.importing.host_metrics import HostMetrics
from benchbook.importing.logs_report import lay_down
from benchbook.probes import samples
from benchbook.reports.logs_kind import NAME as KIND
from benchbook.user_input import user_file
from benchbook.workloads import generator_output
from benchbook.workloads.generator_output import GeneratorRun, Level, as_level

MOST_BYTES = 100_000_000
# Of files that are left out, so many are named.
_SHOWN = 100
# Beside these, a level stands in the cells only where it varies.
_ALWAYS = ("workload", "threads")
_NUMERIC = ("threads", "rate")
# Between quotation marks, which may be escaped, and may have escaped ones in them.
_VALUE = r"(?:\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|\\\"[^\"\n]*\"|\S+)"
# The name of a secret: its last word, which may be glued to others, but is none of English (Debian's wamerican).
_NAME = (
    r"(?<![a-z])(?!(?:by|(?:en)?com|over|sur|tres|under)pass\b)[a-z]*"
    r"(?:pass(?:w(?:[o0]r)?d[-_]?\d*|[-_]?phrase|code)?|pwd|secret|token|"
    r"(?:api|access|account|secret|cosmos\.primary)[-_]?key)"
)
# Behind an option, in redis.conf, in memtier's JSON as it is read, and in an address (of Go's MySQL: u:password@tcp).
# What stands before is bounded: a log may have a line of 100 kB without a blank.
_PASSWORD = re.compile(
    rf"((?<!-)-[^\s=]{{0,60}}?{_NAME}[ \t]+|\b(?:requirepass|masterauth)[ \t]+|--authenticate[= ]|\bREDISCLI_AUTH="
    rf"|\bauthenticate = |://[^:/\s]{{0,100}}:(?=\S{{1,4000}}@)|\b[\w.-]{{1,100}}:(?=\S{{1,200}}@(?:tcp|unix)\())"
    rf"(?:(?<=authenticate = ).+|(?<=[= \t]){_VALUE}|\S{{1,4000}}(?=@))",
    re.IGNORECASE,
)
# A variable, a property or a setting, as go-ycsb and HammerDB list theirs, as YCSB takes them, in JSON and in XML.
_SETTING = re.compile(rf"({_NAME}\\?[\"']? *[=:>]+ *){_VALUE}", re.IGNORECASE)
# In a header of HTTP, in SQL, whose quotes a shell may want a backslash before, and in a table.
_CREDENTIALS = re.compile(
    r"(\bAuthorization\\?[\"']? *[:=] *\\?[\"']?(?:\w+ +)?|\bIDENTIFIED(?: WITH \S+)? BY +(?:PASSWORD +)?"
    r"|\bPASSWORD(?: +| *\( *)(?=\\?['\"])|passw(?:or)?d *\| *)"
    r"\\?(?:'[^'\n]*'|\"[^\"\n]*\"|[^\s'\"]+)",
    re.IGNORECASE,
)
# Behind what is something else elsewhere: the rest of a line from the program on, and its option.
_BY_PROGRAM = (
    (
        re.compile(r"\b(?:(?:redis|valkey|keydb)-(?:benchmark|cli)|memtier_benchmark)\b.*"),
        re.compile(rf"( -a +){_VALUE}"),
    ),
    (
        re.compile(r"\b(?:go-tpc|tiup bench|cqlsh|mongo(?:sh|dump|restore|import|export)?)\b.*"),
        re.compile(rf"( -p +){_VALUE}"),
    ),
    (re.compile(r"\bsqlcmd\b.*"), re.compile(rf"( -P *){_VALUE}")),
    (re.compile(r"\bsshpass\b.*"), re.compile(rf"( -p *){_VALUE}")),
    # USER:PASSWORD.
    (
        re.compile(r"\b(?:ab|hey|oha|curl|benchmark)\b.*"),
        re.compile(rf"( (?:-[AaPu][ =]?|--user[ =])[^\s:]+:)(?!//){_VALUE}"),
    ),
    # MySQL's and MariaDB's own programs take it glued to its letter.
    (re.compile(r"\b(?:mysql|mariadb)(?:slap|-slap|dump|-dump|admin|-admin)?\b.*"), re.compile(rf"( -p){_VALUE}")),
    # HammerDB's command, what it answers, and what `print dict` lists (src/generic/gencli.tcl: diset, pdict).
    (re.compile(r"\bdiset\b.*"), re.compile(rf"(pass\w* +)(?:\{{.*?\}}|{_VALUE})")),
    (re.compile(r"\bChanged \S*pass\w* from .*"), re.compile(r"( (?:from|to) ).*?(?= to | for \w+\s*$|\s*$)")),
    (
        re.compile(r"^(?:hammerdb>)? *Value .* for \S*pass\w* is the same .*", re.MULTILINE),
        re.compile(r"([Vv]alue ).*?(?= for \S+ is |, no change)"),
    ),
    (re.compile(r"^ *\w*pass(?:word)? *= .*", re.MULTILINE), re.compile(r"( = ).+")),
)


@dataclass(frozen=True)
class Log:
    """A run, the file that it stands in (`number` counts those of a file), and what tells it from the others."""

    file: Path
    number: int
    system: str
    levels: dict[str, Level]
    repetition: int
    run: GeneratorRun
    table: str = ""

    @property
    def ended(self) -> float:
        """Nothing tells when it ran but the file's own time, which is taken for its end (s since the epoch)."""
        return self.file.stat().st_mtime

    @property
    def lasted_s(self) -> float:
        """How long it took by what it printed; NOT_TOLD_S where it printed nothing of it."""
        total = self.run.figures.get("total_time_s")
        return max(total.value if total else 0.0, max((t for t, _ in self.run.seconds), default=0.0), record.NOT_TOLD_S)

    def below(self, root: str) -> str:
        """Return its file's path below a folder, and of a file with several runs which one it is."""
        path = self.file.resolve().relative_to(root).as_posix()
        return f"{path}#{self.number}" if self.number > 1 else path

    @property
    def cell(self) -> Cell:
        return Cell(table=self.table, system=self.system, levels=self.levels)


def read(
    sources: Sequence[str], levels: str, system: str, console: Console, beside: list[HostMetrics], shown: int = _SHOWN
) -> tuple[list[Log], bool]:
    """Return every output below `sources`, and whether any file was left out; print a sentence for each of those.

    Host metrics that fit a run are added to `beside`.

    Raise BadInput where nothing can be read.
    """
    told = Names.of(levels)
    logs: list[Log] = []
    left: list[str] = []
    seen: dict[str, Path] = {}
    metrics: list[tuple[Path, HostMetrics]] = []
    for path in track(_files(sources), "reading", console=console, transient=True, disable=not console.is_terminal):
        try:
            text = _text(path, seen)
            if (found := host_metrics.read(text)) is not None:
                metrics.append((path, found))
            else:
                logs += _logs_of(path, text, told, system or "unknown", left)
        except (OutputNotParseable, BadInput) as problem:
            said = problem.problem if isinstance(problem, BadInput) else str(problem)
            left.append(f"left out: {path}: {said}")
    times = [(log.ended - log.lasted_s, log.ended) for log in logs]
    for path, found in metrics:
        if any(found.during(*each) for each in times):
            beside.append(found)
        else:
            left.append(f"left out: {path}: {found.tool} of {found.span}, which is the time of no run")
    for said in left[:shown]:
        console.print(said, markup=False)
    if len(left) > shown:
        console.print(f"left out: {len(left) - shown} more", markup=False)
    if not logs:
        fix = "name files with what a load generator printed; docs/logs-and-citing.md says which are known"
        raise BadInput("there is no output of a load generator in it", key="import logs", value=list(sources), fix=fix)
    return logs, bool(left)


def run(sources: Sequence[str], levels: str, system: str, name: str, console: Console) -> int:
    """Import every output below `sources`; print a sentence for each that cannot be told; return the exit status.

    Raise BadInput where nothing can be imported.
    """
    report, (called, _, version) = _name(name or _default_name(sources)), system.partition(":")
    beside: list[HostMetrics] = []
    found, left = read(sources, levels, called, console, beside)
    logs, notes = _cells_of(found)
    campaign = _recorded(report, logs, version, beside)
    lay_down(report, title=f"{report}: imported logs")
    for said in [*notes, *_unread(logs)]:
        console.print(said, markup=False)
    cells = counted(len({log.cell.key for log in logs}), "cell")
    console.print(f"{campaign.id}: {counted(len(logs), 'record')} in {cells} of {report}; {UNKNOWN}", markup=False)
    where = f"benchbook.open_campaign('{report}').trials(), or: benchbook site {report}"
    console.print(f"look at it: {where}", markup=False)
    return BadInput.exit_status if left else 0


def _unread(logs: Sequence[Log]) -> list[str]:
    """Return a sentence per load generator of which lines of seconds were wrapped or cut."""
    found = grouped([log for log in logs if log.run.unread], lambda log: log.run.title)
    return [
        f"{counted(sum(log.run.unread for log in part), 'line')} that {title} printed while it ran cannot be read, "
        f"wrapped or cut as they are (first in {part[0].file}): their seconds are left out"
        for title, part in found.items()
    ]


def _default_name(sources: Sequence[str]) -> str:
    # Of a link that leads to itself pathlib's resolve() raises a RuntimeError.
    path = Path(os.path.realpath(sources[0]))
    words = re.sub(r"[^a-z0-9]+", "_", (path if path.is_dir() else path.parent).name.lower()).strip("_")
    return f"logs_{words}"[:60].rstrip("_")


def _name(name: str) -> str:
    """Raise BadInput for what is no name, or that of a report which is no import."""
    fix = "give another one: --name my_logs"
    problem = ""
    if not re.fullmatch(r"[a-z][a-z0-9_]{1,59}", name):
        problem = "not a name for a report (lower-case letters, digits, underscores)"
    elif name in published.known_reports() and published.facts(name).restaged_by != KIND:
        problem = "a report of this name exists, and was not imported"
    if problem:
        raise BadInput(problem, key="name", value=name, fix=fix)
    return name


def _files(sources: Sequence[str]) -> list[Path]:
    found = []
    for source in map(Path, sources):
        if not source.exists():
            raise BadInput("no such file or folder", key="import logs", value=str(source), fix="correct the path")
        below = sorted(p for p in source.rglob("*") if not any(part[0] == "." for part in p.relative_to(source).parts))
        found += [path for path in below if path.is_file()] if source.is_dir() else [source]
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Names:
    """How a file's levels are told by its path: a pattern such as `{workload}/{threads}-{repetition}.txt`, or a CSV.

    The CSV has a column `file`, the end of a path, and a column per level.
    """

    pattern: re.Pattern[str] | None = None
    rows: Mapping[str, Mapping[str, str]] | None = None

    @classmethod
    def of(cls, said: str) -> Names:
        if not said:
            return cls()
        if said.endswith(".csv"):
            return cls(rows=_rows(Path(said)))
        parts = re.split(r"(\{\w+\}|\*)", said)
        groups = [part[1:-1] for part in parts if part.startswith("{")]
        if not groups or len(set(groups)) < len(groups):
            fix = "write it as {workload}/{threads}-{repetition}.txt, each name once"
            raise BadInput("it names no level, or one twice", key="levels", value=said, fix=fix)
        regex = "".join(_part_regex(part) for part in parts)
        return cls(pattern=re.compile(rf"(?:.*/)?{regex}"))

    def told(self, path: Path) -> dict[str, str]:
        """Return the levels of a path. Raise BadInput where it does not fit."""
        said = path.resolve().as_posix()
        if self.rows is not None:
            fits = [row for file, row in self.rows.items() if said == file or said.endswith(f"/{file}")]
            if len(fits) != 1:
                fix = "write the end of its path into the column `file`"
                raise BadInput(f"{counted(len(fits), 'row')} of the CSV of levels", key="levels", value=said, fix=fix)
            return dict(fits[0])
        match = self.pattern.fullmatch(said) if self.pattern else None
        if self.pattern and not match:
            fix = "write `*` where names differ in what does not matter"
            raise BadInput("its path does not fit --levels", key="levels", value=path.name, fix=fix)
        return match.groupdict() if match else {}


def _part_regex(part: str) -> str:
    if part.startswith("{"):
        number = part[1:-1] in ("repetition", *_NUMERIC)
        return rf"(?P<{part[1:-1]}>{r'[0-9]+' if number else '[^/]+?'})"
    return "[^/]*" if part == "*" else re.escape(part)


def _rows(path: Path) -> dict[str, dict[str, str]]:
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    if "file" not in frame:
        raise BadInput("the CSV of levels has no column `file`", file=path, key="file", fix="add it: the end of a path")
    return {str(row.pop("file")): {str(k): str(v) for k, v in row.items() if v} for row in frame.to_dict("records")}


def _text(path: Path, seen: dict[str, Path]) -> str:
    """Raise OutputNotParseable for what is no text, or is there twice."""
    content = user_file.content(path, most=MOST_BYTES)
    # As PowerShell's `>` writes it.
    wide = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    if b"\0" in content[:4096] and not wide:
        raise OutputNotParseable("not text")
    first = seen.setdefault(hashlib.sha256(content).hexdigest(), path)
    if first != path:
        raise OutputNotParseable(f"the same as {first}, and counts once")
    return content.decode("utf-16" if wide else "utf-8-sig", errors="replace")


def _logs_of(path: Path, text: str, names: Names, system: str, left: list[str]) -> list[Log]:
    """Raise OutputNotParseable or BadInput for a file of which no run can be told; of one left out `left` says why."""
    every = dict(enumerate(generator_output.runs(text), start=1))
    runs = {number: run for number, run in every.items() if not run.problem}
    if not runs:
        raise OutputNotParseable("; ".join(dict.fromkeys(run.problem for run in every.values())))
    wrong = every.keys() - runs.keys()
    left += [f"left out: {path}: run {n} of {len(every)}: {every[n].problem}" for n in sorted(wrong)]
    if also := every[len(every)].beside:
        left.append(f"left out: {path}: what it holds of {also} beside that of {every[1].title}: cut it into files")
    told = names.told(path)
    repetition, called = int(told.pop("repetition", 0)), told.pop("system", system)
    if repetition and len(runs) > 1:
        raise OutputNotParseable(f"holds {len(runs)} runs, of which --levels names one repetition: cut it into files")
    levels = {name: as_level(value) for name, value in told.items()}
    for run in runs.values():
        for name in levels.keys() & run.levels.keys():
            if isinstance(run.levels[name], int) and levels[name] != run.levels[name]:
                said = f"{name} is {levels[name]} by its name and {run.levels[name]} by what is printed"
                raise OutputNotParseable(said)
    return [
        Log(path, number, called, {"workload": "not_told", **run.levels, **levels}, repetition, run)
        for number, run in runs.items()
    ]


# -- cells ----------------------------------------------------------------------------------------------------------


def _cells_of(logs: Sequence[Log]) -> tuple[list[Log], list[str]]:
    """Give each its table and the levels that vary there; return what is to be said of it as well.

    A table holds the runs of one load generator that tell the same levels. Where runs have the same levels and nobody
    says that they are repetitions, the file is a level of its own: they are not averaged.
    """
    notes, found = [], []
    for (program, names), part in grouped(logs, lambda log: (log.run.program, frozenset(log.levels))).items():
        varied = [n for n in sorted(names) if n not in _ALWAYS and len({log.levels[n] for log in part}) > 1]
        kept = [*(name for name in _ALWAYS if name in names), *varied]
        mine = [replace(log, levels={name: log.levels[name] for name in kept}) for log in part]
        # A level that is a number in one file and a word in the next is a word.
        words = {n for n in kept if any(isinstance(log.levels[n], str) for log in mine)}
        mine = [replace(o, levels={n: str(v) if n in words else v for n, v in o.levels.items()}) for o in mine]
        same = Counter((log.system, tuple(log.levels.items()), log.repetition) for log in mine)
        if twice := sum(count for count in same.values() if count > 1):
            root = os.path.commonpath([log.file.resolve().parent for log in mine])
            mine = [replace(o, levels={**o.levels, "file": o.below(root)}, repetition=0) for o in mine]
            notes.append(
                f"{twice} runs of {part[0].run.title} have the levels of another one: they stand apart, by `file`. "
                "If they are repetitions, say so: --levels '...{repetition}...'"
            )
        if "threads" not in kept:
            notes.append(f"{part[0].run.title} does not print its threads: name them by --levels '...{{threads}}...'")
        # A table is named by the levels that it has beside the workload and the threads.
        by = [program, *(name for name in mine[0].levels if name not in _ALWAYS)]
        table = "_by_".join(by) + ("" if "threads" in kept else "_threads_not_told")
        found += [replace(log, table=table) for log in mine]
    return _numbered(found), notes


def _numbered(logs: Sequence[Log]) -> list[Log]:
    """Repetitions of a cell, from 1 on without a gap."""
    cells = grouped(logs, lambda log: log.cell.key).values()
    ordered = (sorted(part, key=lambda log: log.repetition) for part in cells)
    return [replace(log, repetition=number) for part in ordered for number, log in enumerate(part, start=1)]


# -- the campaign ---------------------------------------------------------------------------------------------------


def _recorded(report: str, logs: Sequence[Log], version: str, beside: Sequence[HostMetrics]) -> Campaign:
    """Write the campaign; the one that is there where the same files were imported before."""
    programs = {log.run.program: f"{log.run.title} {log.run.version}".strip() for log in logs}
    texts = [*(log.run.text for log in logs), *(f"{each.tool} {each.host} {each.span}" for each in beside)]
    held = hashlib.sha256("\n".join(sorted(texts)).encode()).hexdigest()[:12]
    asked = {
        "profile": "imported",
        IMPORTED: UNKNOWN,
        "load": ", ".join(sorted(programs)),
        "systems": sorted({log.system for log in logs}),
        "outputs": held,
    }
    cells = {log.cell.key: log.cell for log in logs}
    most = Counter(log.cell.key for log in logs)
    trials = design.plan(list(cells.values()), max(most.values()), seed=0, asked=asked, fewer=most)
    campaign = store.start_or_continue(report, asked, trials, seed=0, again=False)
    of_trial = {(log.cell.key, log.repetition): log for log in logs}
    for trial in campaign.missing():
        _keep(campaign, trial, of_trial[trial.cell.key, trial.repetition], beside)
    systems = {n: SystemDescription(name=n, title=n, version=version) for n in asked["systems"]}
    campaign.note(Environment(systems=systems, load_generator=", ".join(sorted(programs.values()))))
    return campaign


def _keep(campaign: Campaign, trial: Trial, log: Log, beside: Sequence[HostMetrics]) -> None:
    """A record of it, with the host metrics of its time."""
    began, ended = log.ended - log.lasted_s, log.ended
    rows = [
        (began + t, "client", log.run.program, name, value, log.run.units[name])
        for t, values in log.run.seconds
        for name, value in values.items()
    ]
    rows += [
        (each.t, part.host, part.tool, each.metric, each.value, each.unit)
        for part in beside
        for each in part.during(began, ended)
    ]
    series = samples.table(rows)
    kept = Record(
        id=trial.id,
        identity=trial.identity,
        status="done",
        report=campaign.report,
        campaign=campaign.id,
        table=trial.cell.table,
        system=trial.cell.system,
        levels=trial.cell.levels,
        repetition=trial.repetition,
        order=trial.order,
        asked=campaign.asked,
        client="client",
        started=began,
        ended=ended,
        summary=log.run.figures,
        proof={IMPORTED: {"file": str(log.file), "run": log.number, "printed": log.run.levels}},
    )
    output = _without_secrets(log.run.text)
    # There may be ten thousand: none waits for the disk, as what a loss of power takes can be imported again.
    record.save(campaign.folder / "trials", kept, series, output, lasting=False)


def _without_secrets(text: str) -> str:
    for pattern in (_PASSWORD, _SETTING, _CREDENTIALS):
        text = pattern.sub(r"\1<hidden>", text)
    for line, option in _BY_PROGRAM:
        text = line.sub(partial(_hidden, option), text)
    return text


def _hidden(option: re.Pattern[str], line: re.Match[str]) -> str:
    return option.sub(r"\1<hidden>", line[0])
