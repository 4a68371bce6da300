"""A report's files drafted from a document that was read: tables, hosts, versions, design and claims.

All of it is guessed, and `Guess` says of each thing from which line it comes and how sure that is. A person corrects the
files, and takes a line out of guesses.yaml once it is confirmed: `benchbook check` lists those that are left.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from benchbook import paths, yamlfile
from benchbook.documents.columns import AT_LEVEL, Column, concurrency_of
from benchbook.documents.numerals import Figure, figures, is_empty
from benchbook.documents.sentences import Sentence, split
from benchbook.documents.setups import Command, commands
from benchbook.documents.tables import Cell, Reading, Table, table_in_sentences
from benchbook.documents.units import SECONDS, factor
from benchbook.given import user_file
from benchbook.yamlfile import Strict

GUESSES = "guesses.yaml"
# The key of a guess: which system here runs in the place of the document's.
SYSTEM = "system"
# What a report's own systems are called in a table: `system` is the one that runs here, in every frame.
SERVER = "server"


class Guess(Strict):
    """One thing that was read out of a document: where it was put, from which line it comes, and how sure it is."""

    file: str
    key: str
    guess: str
    line: int
    sure: float = Field(ge=0, le=1)
    printed: str = ""


class _Guesses(Strict):
    guesses: list[Guess] = []


class _Noted(list[Guess]):
    """The guesses of a draft, as they are made."""

    def add(self, file: str, key: str, guess: str, line: int, sure: float, printed: str = "") -> None:
        self.append(Guess(file=file, key=key, guess=guess, line=line, sure=sure, printed=printed))


@dataclass
class Draft:
    """Files of a report as data; `load` is the load generator that can run it ("" where none of the kit's can)."""

    package: dict[str, Any]
    tables: dict[str, str]
    report: dict[str, Any]
    claims: list[dict[str, Any]]
    guesses: list[Guess]
    load: str = ""
    versions: int = 0
    """How many versions (or systems) stand beside each other in every design."""


def unconfirmed(report: str) -> list[Guess]:
    """Return the guesses of a drafted report that nobody has confirmed, the least sure first."""
    path = paths.published_dir(report) / GUESSES
    if not user_file.is_there(path):
        return []
    return sorted(yamlfile.load_model(_Guesses, path).guesses, key=lambda one: one.sure)


def draft(read: Reading, name: str) -> Draft:
    """Return the files of report `name` as its document says them."""
    guesses = _Noted()
    runs = [run for command in commands(read) if (run := _run(command))]
    if not any(run.load and run.settings for run in runs) and (told := _told(read)):
        runs = [told]
    in_sentences = table_in_sentences(read)
    printed = [*_joined(_measured(read)), *([in_sentences] if in_sentences else [])]
    tables = [
        part for each in printed if (table := _long(each)) for part in _by_workload(table, {run.load for run in runs})
    ]
    _name_tables(tables)
    design = [entry for table in tables if (entry := _design(read, table, runs, guesses))]
    loads = {entry["load"] for entry in design}
    versions = _of_one_list(design, guesses)
    for table in tables:
        _guess_columns(table, guesses)
    systems = _systems(read, guesses)
    report = {
        "name": name,
        "title": _title(read) or name,
        **(
            {"restaged_by": "versions" if versions else "sysbench" if loads == {"sysbench"} else "load"}
            if len(loads) == 1
            else {}
        ),
        "document": {
            "file": Path(read.document).name,
            "product": systems[0]["name"] if systems else "not printed",
            "version": (systems and systems[0].get("version")) or "not printed",
        },
        "published": _date(read),
        "language": "zh" if len(re.findall(r"[\u4e00-\u9fff]", read.text)) > 0.1 * len(read.text) else "en",
        "systems": systems,
        "hosts": _hosts(read, guesses),
        "environment": [],
        "text_facts": [
            {
                "id": f"command_line_{run.line}",
                "where": f"line {run.line}",
                "printed": run.text,
                "values": run.settings,
                # `benchbook audit` holds it against the tables that were measured so.
                "tables": [t.name for t in tables if run.settings and run.settings.items() <= t.fixed.items()],
            }
            for run in runs
        ],
        "design": design if len(loads) == 1 else [],
    }
    claims = [claim for table in tables for claim in _claims(read, table, guesses)]
    package = {
        "name": name,
        "title": f"{report['title']}: published tables",
        "resources": [t.resource() for t in tables],
    }
    csvs = {f"{table.name}.csv": table.text() for table in tables}
    return Draft(package, csvs, report, claims, guesses, next(iter(loads)) if len(loads) == 1 else "", versions)


def _of_one_list(design: list[dict[str, Any]], guesses: _Noted) -> int:
    """Keep the designs that list the same versions as the first one, where it lists any; return how many versions."""
    first: list[Any] = next((entry["factors"]["version"] for entry in design if "version" in entry["factors"]), [])
    for entry in [entry for entry in design if entry["factors"].get("version", []) != first]:
        design.remove(entry)
        words = f"not run: it does not list {', '.join(map(str, first))}"
        guesses.add("report.yaml", f"design.{entry['name']}", words, 1, 0.3)
    return len(first)


def _title(read: Reading) -> str:
    return next((block.text.strip() for block in read.blocks if block.kind == "heading"), "")


def _date(read: Reading) -> str:
    found = re.search(
        r"\b20\d\d-[01]\d-[0-3]\d\b|\b(?:January|February|March|April|May|June|July|August|September|October|November|December) (?:\d+, )?20\d\d\b|20\d\d ?年 ?\d+ ?月",
        read.text,
    )
    return found[0] if found else "no date printed"


# -- tables -------------------------------------------------------------------------------------------------------------

_MEASURED = {"throughput", "percentile", "mean", "min", "max", "latency", "time", "usage", "spread", "errors"}
_WORDS = re.compile(
    r"\b(?:tps|qps|rps|ops|iops|tpmc?|throughput|latenc\w+|lat|avg|average|mean|median|percentile|p\d\d\S*|(?:95|99|90|50)(?:th|\s?%)?|"
    r"performance|duration|ms|us|s|sec\w*|MB/s|GB/s|ops/s\w*|req\w*/s\w*|queries/s\w*|tx\w*/s)(?=\W|$)|%|吞吐量?|延迟|耗时",
    re.IGNORECASE,
)
_SUFFIX = {"ms": "ms", "us": "us", "ns": "ns", "s": "s", "min": "min", "%": "percent", "x": "times"}
_LABELLED = re.compile(r"([A-Za-z][A-Za-z/ ]*?)\s*[:：]?\s*$|(\d\d(?:\.\d+)?)%\s*[:：]\s*$")


@dataclass
class _Column:
    """A column of a drafted table: as datapackage.json has it, and where it comes from."""

    name: str
    type: str
    unit: str
    role: str
    heading: str
    sure: float = 1.0
    needed: bool = False

    def described(self, *, negative: bool) -> dict[str, Any]:
        low = {} if self.type == "string" or negative else {"minimum": 0}
        limits = {**({"required": True} if self.needed else {}), **low}
        return {
            "name": self.name,
            "type": self.type,
            "title": self.heading or self.name,
            "unit": self.unit,
            "role": self.role,
            **({"heading": self.heading} if self.heading else {}),
            "constraints": limits,
        }


@dataclass
class _LongTable:
    """A drafted table: a row per printed row, or, where products stand in columns, one per row and product."""

    name: str
    source: Table
    columns: list[_Column]
    rows: list[dict[str, str]]
    fixed: dict[str, Any] = field(default_factory=dict)

    @property
    def levels(self) -> list[_Column]:
        return [column for column in self.columns if column.role == "level" and column.needed]

    def resource(self) -> dict[str, Any]:
        fields = [
            column.described(negative=any(row.get(column.name, "").startswith("-") for row in self.rows))
            for column in self.columns
        ]
        return {
            "name": self.name,
            "path": f"{self.name}.csv",
            "title": self.source.section.rpartition(" > ")[2] or self.source.caption or self.name,
            "where": f"{self.source.section}, line {self.source.line}".lstrip(", "),
            "fixed": self.fixed,
            "schema": {"fields": fields, "primaryKey": [column.name for column in self.levels], "missingValues": [""]},
        }

    def text(self) -> str:
        names = [column.name for column in self.columns]
        out = io.StringIO()
        writer = csv.DictWriter(out, names, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return out.getvalue()

    def level(self, row: dict[str, str], column: _Column) -> str | int | float:
        """Return a level as report.yaml has it."""
        text = row[column.name]
        return text if column.type == "string" else int(text) if column.type == "integer" else float(text)


def _measured(read: Reading) -> list[Table]:
    return [
        table
        for table in read.tables
        if not _attributes(table)
        and any(
            column.role == "metric" and column.quantity in _MEASURED and table.number(row, place)
            for place, column in enumerate(table.columns)
            for row in range(len(table.rows))
        )
    ]


def _joined(tables: list[Table]) -> list[Table]:
    """Return the tables, those of one row under the same headings joined in one."""
    found: list[Table] = []
    for table in tables:
        heads = [column.heading for column in table.columns]
        same = next((one for one in found if [column.heading for column in one.columns] == heads), None)
        if same and len(table.rows) == 1:
            same.rows.extend(table.rows)
        else:
            found.append(Table(table.id, table.section, table.caption, table.line, table.columns, list(table.rows)))
    return found


def _slug(words: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"[(\[（].*?[)\]）]", " ", words).lower()).strip("_")[:40]


def _own(heading: str) -> str:
    """Return what is left of a heading without its quantity and unit: "v6.1.0" of "v6.1.0 95% latency (ms)"."""
    return " ".join(_WORDS.sub(" ", re.sub(r"[(\[（].*?[)\]）]", " ", heading)).replace("_", " ").split()).strip(
        " -/,:"
    )


def _named(column: Column, own: str) -> str:
    """Return the name of a column without what is its own (a product, a component): tps, p95_ms, speed_mb_s."""
    unit = _SUFFIX.get(
        column.unit, _slug(column.unit.replace("/", "_")) if column.unit not in {"", "1", "1/s", "1/min"} else ""
    )
    heading = column.heading.lower()
    if column.quantity == "concurrency":
        return "threads"
    heading = AT_LEVEL.sub("", heading)
    rate = next((word for word in ("tpmc", "tps", "qps", "rps", "iops", "ops") if word in heading), "")
    base = (
        f"p{column.percent:g}".replace(".", "_")
        if column.quantity == "percentile" and column.percent
        else rate
        if rate and column.quantity in {"throughput", ""} and not unit
        else "tps"
        if column.unit == "1/s" and not re.search("[a-z]{3}", _slug(column.heading))
        else {
            "throughput": "speed" if unit else "throughput",
            "mean": "mean",
            "min": "min",
            "max": "max",
            "latency": "latency",
        }.get(column.quantity, "")
    )
    base = base or (_slug(column.heading) if not own else "") or column.quantity or "value"
    return f"{base}_{unit}" if unit and not base.endswith(f"_{unit}") else base


def _products(table: Table) -> dict[int, str]:
    """Return place -> product (or threads), where each column of a metric is headed by one of at least two of them."""
    metrics = [place for place, column in enumerate(table.columns) if column.role == "metric"]
    own = {place: _own(table.columns[place].heading) for place in metrics}
    at = {place: level for place in metrics if (level := concurrency_of(table.columns[place].heading))}
    at_stems = {(_named(table.columns[place], level), level) for place, level in at.items()}
    if len(at_stems) == len(metrics) and len(set(at.values())) > 1:
        own = at
    stems = [(_named(table.columns[place], own[place]), own[place]) for place in metrics]
    each = {name for _, name in stems}
    common = {stem for stem, _ in stems}
    if "" in each or len(each) < 2 or len(set(stems)) < len(stems) or len(common) > len(stems) - (len(each) - 1):
        return {}
    return own


def _long(table: Table) -> _LongTable | None:
    made = _LongTable("", table, [], [{} for _ in table.rows])
    products = _products(table)
    names = list(dict.fromkeys(products.values()))
    if products:
        made.rows = [{} for _ in range(len(table.rows) * len(names))]
        threads = all(concurrency_of(table.columns[place].heading) == name for place, name in products.items())
        called = "threads" if threads else "version" if all(re.search(r"\d", name) for name in names) else SERVER
        kind, unit = ("integer", "threads") if threads else ("string", "")
        made.columns.append(_Column(called, kind, unit, "level", ", ".join(names), 0.7, needed=True))
        for number, row in enumerate(made.rows):
            row[called] = names[number // len(table.rows)]
    for place, column in enumerate(table.columns):
        cells = [row[place] for row in table.rows]
        if all(is_empty(cell.text) for cell in cells):
            continue
        if column.role == "metric":
            at = names.index(products[place]) * len(table.rows) if products else 0
            _metric(made, column, cells, _named(column, products[place]) if products else "", at)
        elif column.role == "delta":
            at = (len(names) - 1) * len(table.rows) if products else 0
            _metric(made, column, cells, "", at, role="note" if products else "metric")
        else:
            _setting(made, column, cells)
    if not any(column.role == "metric" for column in made.columns):
        return None
    key = [tuple(row[column.name] for column in made.levels) for row in made.rows]
    if not made.levels or len(set(key)) < len(key):
        name = _free(made, "row", "")
        made.columns.insert(0, _Column(name, "integer", "1", "level", "", 0.3, needed=True))
        for number, row in enumerate(made.rows, start=1):
            row[name] = str(number)
    return made


def _by_workload(table: _LongTable, loads: set[str]) -> list[_LongTable]:
    """Return a table for each workload, where a column has them: each is a load of its own."""
    for of in [one for one in table.levels if one.type == "string" and one.name not in {"version", SERVER}]:
        names = list(dict.fromkeys(row[of.name] for row in table.rows))
        called = {name: {_called(load, name) for load in loads & set(_WORKLOADS)} for name in names}
        if all(len(one) == 1 and ("", "") not in one for one in called.values()) and len(
            set().union(*called.values())
        ) == len(names):
            break
    else:
        return [table]
    return [
        _LongTable(
            "",
            replace(table.source, section=f"{table.source.section} > {name}".lstrip("> "), caption=""),
            [replace(column) for column in table.columns if column is not of],
            [{key: text for key, text in row.items() if key != of.name} for row in table.rows if row[of.name] == name],
        )
        for name in names
    ]


def _free(made: _LongTable, name: str, other: str) -> str:
    """Return a name that no column has: the short one, else that of the heading, else a numbered one."""
    taken = {column.name for column in made.columns}
    tries = [name, *([other] if other else []), *(f"{name}_{number}" for number in range(2, 1000))]
    return next(one for one in tries if one and one not in taken)


def _setting(made: _LongTable, column: Column, cells: Sequence[Cell]) -> None:
    numbers = [cell.figure if cell.figure and _plain(cell) else None for cell in cells]
    empty = any(is_empty(cell.text) for cell in cells)
    filled = [(one, cell) for one, cell in zip(numbers, cells, strict=True) if not is_empty(cell.text)]
    # 4.10 is no number.
    numeric = all(one for one, _ in filled) and not re.search(r"\bversion\b|版本", column.heading, re.IGNORECASE)
    whole = numeric and all(one.value == int(one.value) for one, _ in filled if one)
    kind = "integer" if whole else "number" if numeric else "string"
    base = "threads" if column.quantity == "concurrency" else _slug(column.heading) or column.quantity or "level"
    base = {SYSTEM: SERVER, "repetition": "run"}.get(base, base)
    unit = "" if not numeric else "threads" if column.quantity == "concurrency" else column.unit or "1"
    name = _free(made, base, _slug(column.heading))
    role, needed = ("level", not empty) if column.role == "level" else ("note", False)
    made.columns.append(_Column(name, kind, unit, role, column.heading, column.sure or 0.5, needed=needed))
    texts = [
        (str(int(one.value)) if whole else _digits(one))
        if one and numeric
        else ""
        if is_empty(cell.text)
        else cell.text
        for one, cell in zip(numbers, cells, strict=True)
    ]
    for number, row in enumerate(made.rows):
        row[name] = texts[number % len(cells)]


def _plain(cell: Cell) -> bool:
    return (
        bool(cell.figure)
        and len(cell.figures) == 1
        and not re.search(r"[^\W\d_]", cell.text.replace(cell.figures[0].printed, "", 1))
    )


def _digits(one: Figure, scale: float = 1.0) -> str:
    """Return a figure's value with the digits that were printed."""
    place = one.place * scale
    decimals = next((number for number in range(13) if place * 10**number >= 0.999), 12)
    return f"{one.value * scale:.{decimals}f}"


def _metric(made: _LongTable, column: Column, cells: Sequence[Cell], name: str, at: int, role: str = "metric") -> None:
    units = [one.unit for cell in cells for one in cell.figures[:1] if one.unit and one.unit != "%"]
    unit = column.unit or (max(units, key=units.count) if units else "1")
    column = column._replace(unit="" if unit == "1" else unit)
    own = _own(column.heading)
    short = _named(column, "")
    base = name or _free(
        made,
        f"{_slug(own)}_{short}" if _slug(own) and not short.startswith(_slug(own)) else short,
        _slug(column.heading),
    )
    for number, cell in enumerate(cells):
        row = made.rows[at + number]
        rest = 0
        for one in cell.figures:
            before, rest = cell.text[rest : one.start], one.end
            said = _LABELLED.search(before.lstrip("( "))
            percent = said[2].replace(".", "_") if said and said[2] else None
            if one.unit == "%" and column.unit != "%" and re.match(r"\s*[:：]", cell.text[one.end :]):
                rest = one.start  # "95%: 6.4ms" is a label and its figure
                continue
            label = f"p{percent}" if percent else _slug(said[1]) if said and said[1] else ""
            scale = factor(one.unit, unit) if one.unit and one.unit != unit else 1.0
            if one.kind not in {"number", "about"} or scale is None:
                continue
            labelled = (
                f"p{percent}_{unit}" if percent else f"{base}_{label}" if label and cell.figures.index(one) else base
            )
            if labelled in row:
                continue
            _column(made, labelled, unit, role, column)
            row[labelled] = _digits(one, scale)
            if re.search(r"[^\d.,+\-\s]", one.printed) and (scale != 1.0 or one.place >= 10 or one.unit != column.unit):
                _column(made, f"{labelled}_printed", "", "note", None)
                row[f"{labelled}_printed"] = one.printed
        if not is_empty(cell.text) and (base not in row or not _plain(cell)):
            _column(made, "note", "", "note", None)
            row["note"] = "; ".join(
                filter(None, [row.get("note", ""), f"{column.heading} is printed as {cell.text!r}"])
            )


def _column(made: _LongTable, name: str, unit: str, role: str, source: Column | None) -> None:
    known = next((column for column in made.columns if column.name == name), None)
    if known is None:
        kind = "string" if source is None else "number"
        made.columns.append(
            _Column(name, kind, unit, role, source.heading if source else "", source.sure if source else 1.0)
        )
    elif source and source.heading not in known.heading.split(", "):
        known.heading += f", {source.heading}"


def _name_tables(tables: list[_LongTable]) -> None:
    for number, table in enumerate(tables, start=1):
        words = re.search(r"\boltp_[a-z_]{1,40}", f"{table.source.caption} {table.source.section}")
        table.name = words[0] if words else _slug(table.source.section.rpartition(" > ")[2]) or f"table_{number}"
        if not re.match("[a-z]", table.name) or table.name in {one.name for one in tables[: number - 1]}:
            table.name = f"table_{number}" if not re.match("[a-z]", table.name) else f"{table.name}_{number}"


def _guess_columns(table: _LongTable, guesses: _Noted) -> None:
    for column in table.columns:
        if column.heading or column.name == "row":
            said = f"{column.role}, {column.type}" + (f", in {column.unit}" if column.unit not in {"", "1"} else "")
            key = f"{table.name}.{column.name}"
            guesses.add("datapackage.json", key, said, table.source.line, round(column.sure, 2), column.heading)


# -- commands and design ------------------------------------------------------------------------------------------------


class _Tool(NamedTuple):
    """A load generator's options: `settings` by what they set; `private` ones name servers and accounts."""

    load: str
    settings: dict[str, str]
    private: str


def _options(**names: str) -> dict[str, str]:
    """Return the setting of each option; of a setting, its options are given in one text."""
    return {option: setting for setting, options in names.items() for option in options.split()}


_TOOLS = {
    "sysbench": _Tool(
        "sysbench",
        _options(
            threads="threads num-threads",
            time_s="time max-time",
            tables="tables oltp-tables-count",
            table_size="table-size table_size oltp-table-size",
            report_interval_s="report-interval",
        ),
        r"(?:mysql|pgsql)-(?:host|port|user|password|db|socket)|test|events|max-requests|config-file|histogram|percentile",
    ),
    "pgbench": _Tool(
        "pgbench",
        _options(threads="c client", time_s="T time", scale="s scale", jobs="j"),
        r"[hpUdrPniN]|host|port|username|progress|S|select-only|initialize",
    ),
    "go-tpc": _Tool(
        "go_tpc",
        _options(warehouses="warehouses", threads="T threads", time_s="time"),
        r"[HPDUp]|host|port|db|user|password",
    ),
    "redis-benchmark": _Tool("", _options(threads="c", requests="n", value_bytes="d", pipeline="P"), "[hpa]"),
    "benchmark": _Tool(
        "",
        _options(
            threads="clients", connections="conns", requests="total", value_bytes="val-size", key_bytes="key-size"
        ),
        "endpoints",
    ),
}
_LONG_OPTIONS = {"M": "protocol", "j": "jobs"}


class _Run(NamedTuple):
    """A command that starts a load: which one, its settings, its other options, the threads that a loop counts through."""

    load: str
    workload: str
    settings: dict[str, int | str]
    options: list[str]
    line: int
    text: str
    threads: list[int]


def _run(command: Command) -> _Run | None:
    text, line, loops = command
    words = re.sub(r"--\s+(?=[a-z])", "--", text).split()
    program = words[0].rpartition("/")[2]
    tool = _TOOLS.get(program)
    if tool is None:
        return None
    settings: dict[str, int | str] = {}
    options, bare, threads = list[str](), list[str](), list[int]()
    rest = iter(pairwise([*words[1:], ""]))
    for word, following in rest:
        found = re.fullmatch(r"(--?)([A-Za-z][\w-]*)(?:=(.*))?", word)
        if found is None:
            bare.append(word)
            continue
        dashes, name, value = found.groups()
        if (
            value is None
            and following
            and not following.startswith("-")
            and (dashes == "-" or name in tool.settings)
            and name not in {"S", "N", "n", "i", "r"}
        ):
            value = following
            next(rest, None)
        if name in tool.settings:
            counted = loops.get((value or "").strip('"${}'), [])
            if value and (number := _seconds(value)) is not None:
                settings[tool.settings[name]] = number
            elif tool.settings[name] == "threads" and "prepare" not in words and all(map(str.isdecimal, counted)):
                threads = [int(one) for one in counted]
        elif not re.fullmatch(tool.private, name) and "$" not in (value or ""):
            options.append(f"--{_LONG_OPTIONS.get(name, name)}" + (f"={value}" if value else ""))
    test = re.search(r"--test=(\S+)", text)
    script = (
        test[1] if test else next((word for word in bare if not re.fullmatch("run|prepare|cleanup|prewarm", word)), "")
    )
    workload = script.rpartition("/")[2].removesuffix(".lua")
    if tool.load == "pgbench":
        if jobs := settings.pop("jobs", None):
            options.append(f"--jobs={jobs}")
        workload = "select_only" if re.search(r"\s(?:-S|--select-only)\b", text) else "tpcb_like"
    return _Run(tool.load, workload, settings, list(dict.fromkeys(options)), line, text, threads)


def _seconds(value: str) -> int | None:
    """Return a whole number, or a time such as 20m or 2h0m0s in seconds."""
    if re.fullmatch(r"\d+", value):
        return int(value)
    parts = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", value)
    return (
        sum(int(part or 0) * of for part, of in zip(parts.groups(), (3600, 60, 1), strict=True))
        if parts and value
        else None
    )


_WORKLOADS = {
    "sysbench": [
        (r"\b(oltp_(?!common)[a-z_]{1,40})", ""),
        (r"point[ _-]?selects?|点查", "oltp_point_select"),
        (r"update[ _-]?non[ _-]?index", "oltp_update_non_index"),
        (r"update[ _-]?index", "oltp_update_index"),
        (r"read[ _-]?write|读写", "oltp_read_write"),
        (r"read[ _-]?only|只读", "oltp_read_only"),
        (r"write[ _-]?only|只写", "oltp_write_only"),
        (r"inserts?\b|插入", "oltp_insert"),
        (r"deletes?\b", "oltp_delete"),
    ],
    "pgbench": [
        (r"select[ _-]?only|read[ _-]?only|\bselects?$|只读", "select_only"),
        (r"simple[ _-]?update", "simple_update"),
        (r"tpc[ _-]?b|read[ _-]?write|\bstandard\b|\bdefault\b|\bprepared\b|读写", "tpcb_like"),
    ],
}
_PROTOCOL = re.compile(r"\b(prepared|extended)\b", re.IGNORECASE)


def _called(load: str, words: str) -> tuple[str, str]:
    """Return the workload of a load generator that words call, and the query protocol of pgbench; "" for none."""
    for pattern, name in _WORKLOADS[load]:
        if found := re.search(pattern, words, re.IGNORECASE):
            protocol = _PROTOCOL.search(words) if load == "pgbench" else None
            return name or found[1].lower(), protocol[1].lower() if protocol else ""
    return "", ""


def _workload(table: Table, runs: Sequence[_Run]) -> tuple[str, float]:
    """Return the workload of a table and how sure that is: as it is named in its text, called there, or run at all."""
    about = f"{table.caption} {table.section.rpartition(' > ')[2]}"
    load = runs[-1].load
    if load in _WORKLOADS and (name := _called(load, about)[0]):
        return name, 0.95 if name in about else 0.8
    if load != "sysbench":
        return runs[-1].workload, 0.7
    scripts = {
        run.workload for run in runs if re.fullmatch("oltp_[a-z_]+", run.workload) and run.workload != "oltp_common"
    }
    return (scripts.pop(), 0.6) if len(scripts) == 1 else ("", 0.0)


def _design(read: Reading, table: _LongTable, runs: Sequence[_Run], guesses: _Noted) -> dict[str, Any] | None:
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
    fixed = {name: value for name, value in fixed.items() if name not in {column.name for column in table.columns}}
    last = before[-1]
    looped = next((run for run in reversed(before) if run.threads or "threads" in run.settings), None)
    if looped and looped.threads and "threads" not in {column.name for column in table.columns}:
        _rounds(table, looped, guesses)
        fixed = {name: value for name, value in fixed.items() if name not in {one.name for one in table.levels}}
    options = list(last.options)
    if not workload or "threads" not in {column.name for column in table.levels} | set(fixed):
        return None
    _settle(table, last, fixed, options, guesses)
    levels = {column.name for column in table.levels}
    if not levels <= {"threads", "version"}:
        return None
    table.fixed = {"workload": workload, **fixed} if "workload" not in {c.name for c in table.columns} else dict(fixed)
    rows = [[table.level(row, column) for column in table.levels] for row in table.rows]
    factors = {
        column.name: list(dict.fromkeys(row[place] for row in rows)) for place, column in enumerate(table.levels)
    }
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
    if (threads := last.settings.get("threads")) and "threads" in factors and threads not in factors["threads"]:
        words = f"{', '.join(map(str, factors['threads']))}, as in the table; the command has {threads}"
        guesses.add("report.yaml", f"{key}.threads", words, last.line, 0.3, last.text)
    return {
        "name": table.name,
        "table": table.name,
        "workload": workload,
        "load": last.load,
        "factors": factors,
        "fixed": fixed,
        "options": options,
        **({"pairs": rows} if len(rows) < len(list(product(*factors.values()))) else {}),
    }


# What stands above the names of what was run, rather than of what it was run against.
_OF_LOADS = re.compile(
    r"test|workload|operation|quer(?:y|ies)|case|scenario|benchmark|command|^op|phase|\brun\b|round|trial|iteration|场景|测试|类型|操作|轮次",
    re.I,
)


def _settle(table: _LongTable, run: _Run, fixed: dict[str, int | str], options: list[str], guesses: _Noted) -> None:
    """Make a setting of each level that is the same in all rows, and the system of the one that has names."""
    for column in [one for one in table.levels if one.type == "integer" and one.name != "threads"]:
        values = {row[column.name] for row in table.rows}
        if len(values) == 1 and column.name != "row":
            column.role, column.needed = "note", False
            if column.name in _TOOLS[run.load.replace("_", "-")].settings.values():
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
    protocol = _called(run.load, table.source.section.rpartition(" > ")[2])[1] if run.load in _WORKLOADS else ""
    if protocol and not any("--protocol" in one for one in options):
        options.append(f"--protocol={protocol}")
    arms = [one for one in table.levels if one.name == SERVER] or named
    if len(arms) == 1 and arms[0].type == "string" and not _OF_LOADS.search(arms[0].heading):
        if any(one.name == "version" for one in table.levels):
            return
        # Systems of ours take their places, as those of versions.
        old, arms[0].name = arms[0].name, "version"
        for row in table.rows:
            row["version"] = row.pop(old)
        words = ", ".join(dict.fromkeys(row["version"] for row in table.rows))
        guesses.add("datapackage.json", f"{table.name}.version", words, table.source.line, 0.5, arms[0].heading)


# How a text says what a load generator was told: "Clients: 20", "scaling factor: 100", "duration: 600 s".
_SETTINGS = [
    (r"(?:scale|scaling)[ _]?factor|scale", "scale"),
    (r"(?:number of )?(?:concurrent )?(?:clients|connections|users)|concurrency|并发数?|客户端数?", "clients"),
    (r"(?:number of )?(?:worker )?threads|线程数?", "threads"),
    (r"(?:test |run )?duration(?:_s)?|time", "time_s"),
    (r"(?:number of )?tables", "tables"),
    (r"table[ _-]?size|rows per table", "table_size"),
    (r"query mode|protocol", "protocol"),
    (r"transaction type", "workload"),
]
_PAIR = re.compile(r"[\s>*_`#•-]*([^\W\d][\w ]{2,40}?)[\s*_`]*[:：=][\s*_`]*(\S.*)")


def _told(read: Reading) -> _Run | None:
    """Return the settings that a document tells in words or prints as an output, where it prints no command."""
    load = next((one for one in ("pgbench", "sysbench") if re.search(rf"\b{one}", read.text)), "")
    pairs = [
        (match[1], match[2], block.line + number)
        for block in read.blocks
        if block.kind in {"item", "paragraph", "code"}
        for number, line in enumerate(block.text.split("\n"))
        if (match := _PAIR.match(line))
    ]
    pairs += [(a.text, b.text, a.line) for table in read.tables if len(table.columns) == 2 for a, b in table.rows]
    said: dict[str, list[tuple[str, int]]] = {}
    for name, value, line in pairs:
        key = next((key for pattern, key in _SETTINGS if re.fullmatch(pattern, name.strip("*_` "), re.IGNORECASE)), "")
        said.setdefault(key, []).append((value, line))
    settings: dict[str, int | str] = {}
    for key in ("scale", "clients", "threads", "time_s", "tables", "table_size"):
        numbers = [_whole(value) for value, _ in said.get(key, [])]
        if known := [one for one in numbers if one]:
            settings[key] = max(set(known), key=known.count)
    options = []
    jobs = settings.pop("threads", None) if load == "pgbench" or "clients" in settings else None
    if load == "pgbench" and jobs:
        options.append(f"--jobs={jobs}")
    threads = settings.pop("clients", jobs)
    if not load or not threads:
        return None
    protocol = _PROTOCOL.search(said["protocol"][0][0]) if "protocol" in said else None
    options += [f"--protocol={protocol[1].lower()}"] if protocol else []
    workload = _called(load, said["workload"][0][0])[0] if "workload" in said else ""
    first = min(line for key, places in said.items() if key for _, line in places)
    settings = {"threads": threads, **settings}
    words = ", ".join(f"{name} {value}" for name, value in settings.items())
    return _Run(
        load,
        workload or ("tpcb_like" if load == "pgbench" else ""),
        {"threads": threads, **settings},
        options,
        first,
        words,
        [],
    )


def _whole(text: str) -> int | None:
    """Return the number that a text begins with, a time in seconds."""
    found = figures(text)[:1]
    scale = factor(found[0].unit, "s") if found and found[0].unit in SECONDS else 1.0
    return int(found[0].value * (scale or 1)) if found and found[0].start < 3 else None


def _rounds(table: _LongTable, run: _Run, guesses: _Noted) -> None:
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


# -- hosts and versions -------------------------------------------------------------------------------------------------

_HOST_WORDS = [
    ("address", r"\bip\b|address"),
    ("count", r"quantity|count|数量|^nodes?$|instances?$"),
    ("cpu", r"\bv?cpus?\b|processor|cores|处理器"),
    ("memory", r"memory|\bram\b|内存"),
    ("disk", r"disk|storage|\bssd\b|磁盘|存储"),
    ("network", r"network|nic\b|网卡|网络"),
    ("os", r"operati\w+ system|\bos\b|操作系统"),
    ("kernel", r"kernel|内核"),
    ("filesystem", r"file ?system|文件系统"),
    ("runs", r"deploy|instance|service|runs|部署|实例"),
    ("hardware", r"size|machine type|instance type|configuration|机型|配置"),
    ("name", r"type|name|role|host|node|component|类型|节点|组件|角色|机器"),
]
# Headings beside a list of a host's parts that call no host.
_NO_HOST = re.compile(
    r"\W*(?:values?|descriptions?|details?|notes?|remarks?|comments?|specs?|specifications?|configurations?|settings?|值|取值|说明|备注|描述|配置|参数)?\W*$",
    re.IGNORECASE,
)
_NOTES = re.compile(r"\W*(?:notes?|remarks?|comments?|备注|说明)\W*$", re.IGNORECASE)
_SYSTEMS = "TiDB|TiKV|PD|TiFlash|MySQL|MariaDB|PostgreSQL|Percona Server|Redis|MongoDB|etcd|DM|DTM|sysbench|pgbench|go-tpc|PgBouncer|PgCat|YCSB"
_VERSION = re.compile(
    rf"\b({_SYSTEMS})\b(?:\s?(?:Server|cluster|source|target))?[ ]?(?:version|版本)?\s*[:：]?\s*(v?\d+(?:\.\d+)+[\w.-]*)",
    re.IGNORECASE,
)


_LOADS = {"sysbench", "pgbench", "go-tpc", "YCSB"}


def _field(words: str) -> str:
    return next((name for name, pattern in _HOST_WORDS if re.search(pattern, words, re.IGNORECASE)), "")


def _attributes(table: Table) -> list[str]:
    """Return which fields of a host the headings of a table are (or its first column's cells); empty: of none."""
    if any(column.quantity in _MEASURED - {"usage", "time", "latency"} for column in table.columns):
        return []
    across = [_field(column.heading) for column in table.columns]
    down = [_field(row[0].text) for row in table.rows]
    for fields in (across, down):
        known = set(fields) & {"cpu", "memory", "disk", "network", "os", "kernel", "address", "hardware", "filesystem"}
        if len(known) >= 2 or (known and set(fields) & {"runs", "count"}):
            return fields
    return []


def _hosts(read: Reading, guesses: _Noted) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for table in read.tables:
        fields = _attributes(table)
        if not fields:
            continue
        across = fields == [_field(column.heading) for column in table.columns]
        of_parts = [one for one in table.columns[1:] if one.quantity != "cost" and not _NOTES.match(one.heading)]
        alone = of_parts[0] if len(of_parts) == 1 else None
        called = table.caption.strip("*:：_ \n") or table.section.rpartition(" > ")[2] or "host"
        records = (
            [([(name, cell.text) for name, cell in zip(fields, row, strict=True)], row[0].line) for row in table.rows]
            if across
            else [
                (
                    [
                        ("name", called if _NO_HOST.match(column.heading) else column.heading),
                        *((name, row[place].text) for name, row in zip(fields, table.rows, strict=True)),
                    ],
                    table.line,
                )
                for place, column in enumerate(table.columns)
                if place and column.quantity != "cost" and (not _NO_HOST.match(column.heading) or alone == column)
            ]
        )
        for said, line in records:
            _host(found, [(name, text.strip()) for name, text in said if name and not is_empty(text)], line, guesses)
    return list(found.values())


def _host(found: dict[str, dict[str, Any]], said: list[tuple[str, str]], line: int, guesses: _Noted) -> None:
    texts = " ".join(text for name, text in said if name in {"name", "address"})
    addresses = re.findall(r"(?:\d{1,3}\.){3}\d{1,3}", texts) or [""]
    for address in addresses:
        host: dict[str, Any] = {"runs": []}
        for name, text in said:
            if name == "count":
                host["count"] = int(text) if text.isdigit() and 0 < int(text) < 1_000_000 else 1
            elif name == "runs":
                host["runs"] = [re.sub(r"\s*\\?[*x×]\s*\d+$", "", part.strip()) for part in re.split("[,，、]", text)]
            elif name == "hardware" and (
                size := re.fullmatch(r"(.*?v?cpus?|.*?cores?)[,，]\s*(.*)", text, re.IGNORECASE)
            ):
                host |= {"cpu": size[1], "memory": size[2]}
            elif name not in {"name", "address"}:
                host.setdefault(name, text)
        called = next((text for name, text in said if name == "name" and not address), "")
        if not address and not called:
            continue
        host |= {"address": address} if address else {"name": called}
        named = [text for name, text in said if name == "name" and re.fullmatch(_SYSTEMS, text, re.IGNORECASE)]
        host["runs"] = host["runs"] or named
        key = address or called
        old = found.setdefault(key, host)
        if old is not host:
            old |= {name: value for name, value in host.items() if name not in old or not old[name]}
        guesses.add("report.yaml", f"hosts.{key}", ", ".join(f"{n} {v}" for n, v in host.items())[:200], line, 0.7)


def _systems(read: Reading, guesses: _Noted) -> list[dict[str, Any]]:
    found: dict[str, list[str]] = {}
    for match in _VERSION.finditer(read.text):
        name = next((one for one in _SYSTEMS.split("|") if one.lower() == match[1].lower()), match[1])
        version = match[2].rstrip(".")
        if version not in found.setdefault(name, []):
            found[name].append(version)
            line = read.text.count("\n", 0, match.start()) + 1
            guesses.add(
                "report.yaml",
                f"systems.{name}.version",
                version,
                line,
                0.8 if len(found[name]) == 1 else 0.5,
                " ".join(match[0].split()),
            )
    if not found.keys() - _LOADS and (titled := re.findall(r"\b([A-Z]\w*[A-Za-z]) v?(\d+(?:\.\d+)+)", _title(read))):
        found[titled[0][0]] = list(dict.fromkeys(version for name, version in titled if name == titled[0][0]))
    for block in read.blocks:
        cluster = re.fullmatch(r"(?:Cluster )?version\s*[:：]\s*(v?\d[\w.-]+)", block.text.strip(), re.IGNORECASE)
        product = next((one for one in _SYSTEMS.split("|") if re.search(rf"\b{one}\b", _title(read))), "")
        if cluster and product and not found.get(product):
            found[product] = [cluster[1]]
    for name, versions in found.items():
        found[name] = [one for one in versions if not any(other != one and other.startswith(one) for other in versions)]
    return [
        {"name": name, "version": ", ".join(versions)}
        for name, versions in sorted(found.items(), key=lambda one: one[0] in _LOADS)
    ]


# -- claims -------------------------------------------------------------------------------------------------------------

_RISES = re.compile(
    r"\b(?:increas|ris|grow|scal|improv)\w*\b[^.]{0,40}\b(?:threads?|concurrenc\w+|clients?|connections?)|随.{0,12}(?:线程|并发)",
    re.IGNORECASE,
)
_ALWAYS = re.compile(
    r"\b(?:in all cases|always|consistently|uniformly|at every|across all|all workloads)\b|始终|均(?:优于|高于)",
    re.IGNORECASE,
)
_BY = re.compile(r"(\d+(?:\.\d+)?)\s?[%％]", re.IGNORECASE)


def _claims(read: Reading, table: _LongTable, guesses: _Noted) -> Iterator[dict[str, Any]]:
    """Yield what the sentences of a table's section say of it, as far as the printed figures bear it out; else what it shows."""
    said = [one for one in split(read) if one.section == table.source.section]
    metric = next(
        (column.name for column in table.columns if column.role == "metric" and column.unit in {"1/s", "1/min"}), ""
    )
    apart = next((column for column in table.levels if column.name in {"version", SERVER}), None)
    along = next((column for column in table.levels if column.name == "threads" and column.type == "integer"), None)
    if (
        not metric
        or along is None
        or len(table.levels) > 1 + bool(apart)
        or any(not row.get(metric) for row in table.rows)
    ):
        return
    common = {"table": table.name, "metric": metric, "where": table.source.section or f"line {table.source.line}"}
    arms: dict[str, dict[str, float]] = {}
    for row in table.rows:
        arms.setdefault(row[apart.name] if apart else "", {})[row["threads"]] = float(row[metric])
    names = list(arms)
    if len({row["threads"] for row in table.rows}) < 2:
        return
    for name, arm in arms.items():
        values = list(arm.values())
        if all(a < b for a, b in pairwise(values)) and values[-1] > 1.5 * values[0]:
            sentence = next((one for one in said if _RISES.search(one.text)), None)
            words = (
                sentence.text
                if sentence
                else f"Throughput rises with threads{f' in {name}' if name else ''} (its table shows it; no sentence says it)."
            )
            rows = {"rows": {apart.name: name}} if apart else {}
            claim = {**common, "hypothesis": "increases", **rows, "factor": "threads", "at_least": 1.2}
            id = f"rises-{_slug(name) or 'with-threads'}"
            yield _claim(table, id, words, sentence, claim, guesses, 0.5 if sentence else 0.3)
    if apart is None or len(names) != 2:
        return
    a, b = names
    against = {"rows": {apart.name: b}, "over": {"rows": {apart.name: a}}, "called": f"{metric}, {b} over {a}"}
    levels = [threads for threads, figure in arms[a].items() if figure and threads in arms[b]]
    changes = [(arms[b][threads] / arms[a][threads] - 1) * 100 for threads in levels]
    if not changes:
        return
    for sentence in said:
        if _ALWAYS.search(sentence.text) and (all(c > 0 for c in changes) or all(c < 0 for c in changes)):
            first, second = (b, a) if changes[0] > 0 else (a, b)
            figure = {
                "figure": {"table": table.name, "metric": metric, "rows": {apart.name: first}, "called": first},
                "above": [{"table": table.name, "metric": metric, "rows": {apart.name: second}, "called": second}],
            }
            claim = {"where": common["where"], "hypothesis": "dominates", **figure, "factor": "threads"}
            id = f"always-{sentence.line}"
            yield _claim(table, id, sentence.text, sentence, claim, guesses, 0.6)
        for printed in _BY.findall(sentence.text):
            room = 0.5 * 10.0 ** -len(printed.partition(".")[2]) + 0.01
            one = [place for place, change in enumerate(changes) if abs(abs(change) - float(printed)) <= room]
            mean = abs(abs(sum(changes) / len(changes)) - float(printed)) <= room
            if len(one) == 1:
                ratio = {
                    "hypothesis": "ratio",
                    **against,
                    "rows": {apart.name: b, "threads": int(levels[one[0]])},
                    "over": {"rows": {apart.name: a, "threads": int(levels[one[0]])}},
                }
                claim = {**common, **ratio, "tolerance": 0.1}
                id = f"by-{_slug(printed)}-{sentence.line}"
                yield _claim(table, id, sentence.text, sentence, claim, guesses, 0.7)
            elif mean:
                claim = {**common, "hypothesis": "mean_ratio", **against, "factor": "threads", "tolerance": 0.1}
                id = f"by-{_slug(printed)}-{sentence.line}"
                yield _claim(table, id, sentence.text, sentence, claim, guesses, 0.6)


def _claim(
    table: _LongTable,
    id: str,
    words: str,
    sentence: Sentence | None,
    claim: dict[str, Any],
    guesses: _Noted,
    sure: float,
) -> dict[str, Any]:
    id = f"{_slug(table.name)}-{id}".replace("_", "-")
    line = sentence.line if sentence else table.source.line
    guesses.add("claims.yaml", id, str(claim["hypothesis"]), line, sure, words[:300])
    return {"id": id, "statement": words[:400], **claim}
