"""Figures of a document that are bound to campaigns: held against what was measured, or written from it.

    <!-- bb: REPORT@CAMPAIGN cell tps workload=oltp_insert threads=100 -->9,101<!-- /bb -->
    <!-- bb: REPORT@CAMPAIGN table tps -->...<!-- /bb -->                  a table, in Markdown
    \\newcommand{\\insertTps}{9,101} % bb: REPORT@CAMPAIGN cell tps ...     a line of a LaTeX file
    % bb: REPORT@CAMPAIGN table tps ... % /bb                             rows of a table of LaTeX, between two lines

After the metric stand the levels of one cell, as published, and `system=`, `table=` where they are not enough.
`to=100` takes a figure that is rounded to hundreds, `interval` writes mean and 95% interval.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path

import nbformat
from rich.console import Console

from benchbook import paths
from benchbook.analysis import formatting, trials
from benchbook.campaign import origin
from benchbook.campaign.design import Cell
from benchbook.campaign.environment import IMPORTED
from benchbook.campaign.record import Record
from benchbook.campaign.scaled_levels import as_published, trials_as_published
from benchbook.campaign.store import Campaign, whole_records
from benchbook.documents.numerals import figures
from benchbook.errors import BadInput, counted
from benchbook.grouping import grouped
from benchbook.site.publish import rendered
from benchbook.stats.estimates import Interval
from benchbook.user_input import notebook_file, user_file
from benchbook.user_input.atomic_file import replace_text

_BOUND = re.compile(
    r"<!-- bb: (?P<what>[^>]*?) -->(?P<printed>.*?)<!-- /bb -->"
    r"|^\\newcommand\{\\\w+\}\{(?P<tex_printed>[^{}]*)\} *% bb: (?P<tex_what>[^\n]+)$"
    r"|^ *% bb: (?P<rows_what>[^\n]+)$(?P<rows_printed>.*?)^ *% /bb$",
    re.DOTALL | re.MULTILINE,
)
# In Markdown, an example: it is shown as it stands.
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]+`", re.DOTALL | re.MULTILINE)
_OPTIONS = ("to", "interval")
_SAVE_AGAIN = "save it again in Jupyter"


@dataclass(frozen=True)
class Bound:
    """A place of a document: what it is bound to, what is printed there, and where that stands in the text.

    `cell` has the levels, `options` what follows them: `to` and `interval`.
    `part` is the cell of a notebook, from 1 on, of which `line` and `span` are; 0 is the whole of any other file.
    """

    file: Path
    part: int
    line: int
    report: str
    campaign: str
    form: str
    metric: str
    cell: dict[str, str]
    options: dict[str, str]
    printed: str
    span: tuple[int, int]

    @property
    def where(self) -> str:
        return f"{self.file}, cell {self.part}, line {self.line}" if self.part else f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Cited:
    """What was measured for it, how that is written, and what is wrong with what is printed; "" where nothing is."""

    bound: Bound
    text: str
    problem: str
    figure: Interval | None = None


def bound_in(file: Path) -> Iterator[Bound]:
    """Yield every bound place of a file, in its order. Raise BadInput for one that cannot be read."""
    if file.suffix != ".ipynb":
        yield from _bound_in(file, 0, user_file.text(file))
        return
    for number, cell in enumerate(notebook_file.read(file, fix=_SAVE_AGAIN).cells, start=1):
        if cell.cell_type == "markdown":
            yield from _bound_in(file, number, cell.source)


def _bound_in(file: Path, part: int, text: str) -> Iterator[Bound]:
    code = [match.span() for match in _CODE.finditer(text)] if part or file.suffix == ".md" else []
    for match in _BOUND.finditer(text):
        if any(begin <= match.start() < end for begin, end in code):
            continue
        form = next(form for form in ("", "tex_", "rows_") if match[f"{form}what"] is not None)
        what, line = match[f"{form}what"], text.count("\n", 0, match.start()) + 1
        address, *words = what.split()
        report, at, campaign = address.partition("@")
        if (
            not at
            or len(words) < 2
            or words[0] not in ("cell", "table")
            or (form and (words[0] == "cell") != (form == "tex_"))
        ):
            fix = "write REPORT@CAMPAIGN cell METRIC LEVEL=VALUE ..., or REPORT@CAMPAIGN table METRIC"
            raise BadInput("not a binding", file=f"{file}:{line}", key="bb", value=what, fix=fix)
        cell = {name: value for name, _, value in (word.partition("=") for word in words[2:])}
        options = {name: cell.pop(name) for name in _OPTIONS if name in cell}
        printed, span = match[f"{form}printed"], match.span(f"{form}printed")
        yield Bound(file, part, line, report, campaign, form + words[0], words[1], cell, options, printed, span)


def cited(bound: Bound) -> Cited:
    """Hold what is printed against the campaign."""
    folder = next((f for f in _folders(bound) if (f / "plan.json").is_file()), None)
    if folder is None:
        return Cited(bound, bound.printed, f"there is no campaign {bound.campaign} of {bound.report} here")
    campaign = Campaign(folder)
    records = as_published(campaign.records(), campaign.scaling)
    if bound.form.endswith("table"):
        rows = table(records, bound.metric, bound.cell)
        text = f"\n{_in_latex(rows) if bound.form == 'rows_table' else _in_markdown(rows)}\n"
        line, problem = _table_problem(bound.printed, rows)
        return Cited(replace(bound, line=bound.line + line), text, problem)
    mine = [record for record in records if _fits(record, bound.cell)]
    planned = [t for t in trials_as_published(campaign.trials, campaign.scaling) if _fits(t.cell, bound.cell)]
    cells = {_cell_of(record) for record in mine}
    found = trials.over_repetitions(mine, bound.metric) if len(cells) == 1 else None
    if found is None:
        problem = (
            f"{bound.printed} is printed, and {'its records are lost' if planned else 'the campaign has no such cell'}"
        )
        if len(cells) > 1:
            problem = f"{len(cells)} cells have these levels: add {_apart(mine)}"
        elif mine:
            problem = f"no {bound.metric} was measured: there is {', '.join(mine[0].summary)}"
        return Cited(bound, bound.printed, problem)
    text = formatting.with_interval(found) if "interval" in bound.options else _written(found.value, bound.options)
    problem, lost = _problem(bound, found, text), len(planned) - len(mine)
    if problem and lost:
        problem = f"{problem}; {lost} of its {len(planned)} records are lost"
    return Cited(bound, text, problem, found)


def _folders(bound: Bound) -> list[Path]:
    """Return where the campaign may be: among the records of this project, or in the sample that the kit brings."""
    homes = (paths.runs_dir(bound.report), paths.find("data", "sample", bound.report))
    return [home / bound.campaign for home in homes]


def _fits(one: Record | Cell, cell: dict[str, str]) -> bool:
    known = dict(_cell_of(one))
    return all(str(known.get(name)) == value for name, value in cell.items())


def _apart(records: Sequence[Record]) -> str:
    known = [dict(_cell_of(record)) for record in records]
    names = dict.fromkeys(name for one in known for name in one)
    return ", ".join(f"{name}=" for name in names if len({str(one.get(name)) for one in known}) > 1)


def _written(value: float, options: dict[str, str]) -> str:
    to = float(options.get("to", 0))
    return f"{round(value / to) * to:,.10g}" if to else formatting.number(value)


def _problem(bound: Bound, found: Interval, text: str) -> str:
    if "interval" in bound.options:
        same = bound.printed.replace("\N{NO-BREAK SPACE}", " ").strip() == text.replace("\N{NO-BREAK SPACE}", " ")
        return "" if same else f"{bound.printed or 'nothing'} is printed, {text} was measured"
    printed = [one for one in figures(bound.printed) if one.kind != "range"]
    if not printed:
        return f"no number is printed, {text} was measured"
    number = printed[0].value
    # Half of the last place, and what a binary fraction may be off.
    half = max(printed[0].high - printed[0].low, float(bound.options.get("to", 0))) / 2 * (1 + 1e-9)
    if abs(number - found.value) <= half:
        return ""
    said = f"{printed[0].printed} is printed, {text} was measured"
    if math.isnan(found.low):
        return f"{said}, once"
    interval = f"95% interval {formatting.number(found.low)} to {formatting.number(found.high)}, n = {found.n}"
    return f"{said} ({interval}): {'inside' if found.low <= number <= found.high else 'outside'} its interval"


def table(records: Sequence[Record], metric: str, cell: dict[str, str] | None = None) -> list[list[str]]:
    """Return the cells of a metric as rows of a table, the headings first: levels, mean, 95% interval, repetitions."""
    mine = [record for record in records if metric in record.summary and _fits(record, cell or {})]
    parts = grouped(mine, _cell_of)
    names = dict.fromkeys(name for key in parts for name, _ in key)
    varied = [name for name in names if len({dict(key).get(name) for key in parts}) > 1]
    rows = [[*varied, metric, "low", "high", "n"]]
    for key in sorted(parts, key=lambda key: [(isinstance(v, str), v) for _, v in key]):
        found = trials.over_repetitions(parts[key], metric)
        assert found is not None
        mean_and_interval = [formatting.number(value) for value in (found.value, found.low, found.high)]
        rows.append([*(str(dict(key).get(name, "")) for name in varied), *mean_and_interval, str(found.n)])
    return rows


def _cell_of(one: Record | Cell) -> tuple[tuple[str, object], ...]:
    return ("table", one.table), ("system", one.system), *one.levels.items()


def _in_markdown(rows: Sequence[Sequence[str]]) -> str:
    head, *body = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *body])


def _in_latex(rows: Sequence[Sequence[str]]) -> str:
    lines = [" & ".join(row).replace("_", r"\_") + r" \\" for row in rows]
    return "\n".join([lines[0], r"\hline", *lines[1:]])


def _table_problem(printed: str, rows: Sequence[Sequence[str]]) -> tuple[int, str]:
    """Return the line of the first cell that is another, counted from the binding's, and what is wrong with it."""
    there = [
        (
            number,
            [
                cell.strip().replace(r"\_", "_")
                for cell in re.split("[|&]", line.strip().removesuffix(r"\\").removeprefix("|").removesuffix("|"))
            ],
        )
        for number, line in enumerate(printed.split("\n"))
        if not re.fullmatch(r"\s*(?:\\(?:hline|\w+rule))?\s*", line) and re.sub(r"[|:\s-]", "", line)
    ]
    if len(there) != len(rows):
        return 0, f"a table of {counted(len(there), 'row')} is printed, {counted(len(rows), 'row')} were measured"
    wrong = [
        (number, f"{mine} is printed, {measured} was measured ({heading} of {row[0]})")
        for (number, cells), row in zip(there, rows, strict=True)
        for heading, mine, measured in zip_longest(rows[0], cells, row, fillvalue="nothing")
        if mine != measured
    ]
    if not wrong:
        return 0, ""
    (line, said), *more = wrong
    return line, f"{said}; {counted(len(more), 'more cell')} of the table" if more else said


def run(files: Sequence[Path], console: Console, *, update: bool, receipt: Path | None, badge: Path | None) -> int:
    """Check or update the files; print a line for each figure that is wrong; return the exit status: 1 for any left."""
    found = [cited(bound) for file in files for bound in bound_in(file)]
    wrong = [one for one in found if one.problem]
    left = [one for one in wrong if not update or one.text == one.bound.printed]
    for file in files if update else ():
        _rewrite(file, [one for one in wrong if one.bound.file == file])
    for one in wrong:
        done = "" if one in left else f": written {one.text.strip().splitlines()[0]}"
        console.print(f"{one.bound.where}: {one.problem}{done}", markup=False)
    right = len(found) - len(left)
    console.print(f"{right} of {len(found)} bound figures are what was measured", markup=False)
    if receipt:
        replace_text(receipt, json.dumps(_receipt(found), indent=1) + "\n")
    if badge:
        said, look = f"{right} of {len(found)} figures measured", "bad" if left else "good"
        replace_text(badge, rendered("badge.svg.j2", said=said, look=look))
    return 1 if left else 0


def _rewrite(file: Path, wrong: Sequence[Cited]) -> None:
    if wrong and file.suffix == ".ipynb":
        notebook = notebook_file.read(file, fix=_SAVE_AGAIN)
        for number, cell in enumerate(notebook.cells, start=1):
            cell.source = _written_in(cell.source, [one for one in wrong if one.bound.part == number])
        replace_text(file, nbformat.writes(notebook) + "\n")
    elif wrong:
        replace_text(file, _written_in(user_file.text(file), wrong))


def _written_in(text: str, wrong: Sequence[Cited]) -> str:
    for one in sorted(wrong, key=lambda each: each.bound.span, reverse=True):
        begin, end = one.bound.span
        text = f"{text[:begin]}{one.text}{text[end:]}"
    return text


def _receipt(found: Sequence[Cited]) -> dict[str, object]:
    """Return what was cited, and of which records: who has the same ones finds the same hash."""
    campaigns = {one.bound.campaign: folder for one in found for folder in _folders(one.bound) if folder.is_dir()}
    figures = [
        {
            "file": str(one.bound.file),
            "line": one.bound.line,
            "report": one.bound.report,
            "campaign": one.bound.campaign,
            "metric": one.bound.metric,
            "cell": one.bound.cell,
            "printed": one.bound.printed.strip(),
            "measured": one.figure and {k: None if math.isnan(v) else v for k, v in one.figure._asdict().items()},
            "problem": one.problem,
        }
        for one in found
    ]
    return {
        "format": 1,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "kit": origin.of_this_checkout().called,
        "figures": figures,
        "campaigns": {name: _of_campaign(Campaign(folder)) for name, folder in campaigns.items()},
    }


def _of_campaign(campaign: Campaign) -> dict[str, object]:
    about, records = campaign.environment(), campaign.records()
    digest = hashlib.sha256()
    for path in sorted(whole_records(campaign.folder)):
        digest.update(path.read_bytes())
    return {
        "report": campaign.report,
        "records": len(records),
        "records_sha256": digest.hexdigest(),
        "measured": [datetime.fromtimestamp(r.started, UTC).date().isoformat() for r in records[:1]],
        "measured_by": about.measured_by,
        "hosts": {name: f"{host.cores} cores, {host.cpu_model}" for name, host in about.hosts.items()},
        "systems": {name: one.called for name, one in about.systems.items()},
        "circumstances": str(campaign.asked.get(IMPORTED, "recorded")),
    }
