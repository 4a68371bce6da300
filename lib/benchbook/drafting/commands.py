"""How a load was run: as a printed command says it, or as the text tells it."""

from __future__ import annotations

import re
from argparse import SUPPRESS, ArgumentError, ArgumentParser
from typing import NamedTuple

from benchbook.documents.numerals import figures
from benchbook.documents.setups import Command
from benchbook.documents.tables import Reading
from benchbook.documents.units import SECONDS, factor

LOADS = ("sysbench", "pgbench", "go_tpc")
"""The load generators that a draft can be of."""
SETTINGS = {"threads", "time_s", "scale", "tables", "table_size", "report_interval_s", "warehouses"}
# The options of a load generator by what they set; `left_out` are servers, accounts, files and outputs.
_OPTIONS = {
    "sysbench": {
        "threads": "--threads --num-threads",
        "time_s": "--time --max-time",
        "tables": "--tables --oltp-tables-count",
        "table_size": "--table-size --table_size --oltp-table-size",
        "report_interval_s": "--report-interval",
        "test": "--test",
        "left_out": "--events --max-requests --config-file --histogram --percentile "
        + " ".join(
            f"--{driver}-{what}"
            for driver in ("mysql", "pgsql")
            for what in ("host", "port", "user", "password", "db", "socket")
        ),
    },
    "pgbench": {
        "threads": "-c --client",
        "time_s": "-T --time",
        "scale": "-s --scale",
        "builtin": "-b --builtin",
        "protocol": "-M --protocol",
        "jobs": "-j --jobs",
        "script": "-f --file",
        "left_out": "-t --transactions -h --host -p --port -U --username -d --dbname -P --progress -D --define "
        "-F --fillfactor -I --init-steps -L --latency-limit -R --rate --random-seed",
    },
    "go_tpc": {
        "warehouses": "--warehouses",
        "threads": "-T --threads",
        "time_s": "--time",
        "left_out": "-H --host -P --port -D --db -U --user -p --password",
    },
}
_FLAGS = {
    "select_only": "-S --select-only",
    "simple_update": "-N --skip-some-updates",
    "initialize": "-i --initialize",
    "connect": "-C --connect",
    "left_out": "-n --no-vacuum -r --report-latencies --report-per-command -l --log -v --vacuum-all -q --quiet",
}


def _parser(load: str) -> ArgumentParser:
    parser = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False, argument_default=SUPPRESS)
    for name, options in _OPTIONS[load].items():
        parser.add_argument(*options.split(), dest=name)
    for name, options in _FLAGS.items() if load == "pgbench" else ():
        parser.add_argument(*options.split(), dest=name, action="store_true")
    return parser


_PARSERS = {load: _parser(load) for load in LOADS}


class Run(NamedTuple):
    """A command that starts a load: which one, its settings, its other options, the threads that a loop counts."""

    load: str
    workload: str
    settings: dict[str, int | str]
    options: list[str]
    line: int
    text: str
    threads: list[int]


def run_of(command: Command) -> Run | None:
    """Return the load that a command starts; None where it starts none."""
    text, line, loops = command
    # Where a text was typeset, an option's dashes may stand alone.
    path, *words = re.sub(r"--\s+(?=[a-z])", "--", text).replace('"', "").split()
    load = path.rpartition("/")[2].replace("-", "_")
    if load not in LOADS:
        return None
    try:
        parsed, rest = _PARSERS[load].parse_known_args([word for word in words if word != "--"])
    except ArgumentError:
        return None
    said: dict[str, str] = vars(parsed)
    if {"--version", "--help", "-V"} & {*rest}:
        return None
    bare = [word for word in rest if not word.startswith("-") and not re.fullmatch("run|prepare|cleanup|prewarm", word)]
    prepares = "prepare" in rest or "initialize" in said
    settings: dict[str, int | str] = {
        name: number for name, value in said.items() if name in SETTINGS and (number := _seconds(value)) is not None
    }
    counted = loops.get(said.get("threads", "").strip("${}"), [])
    threads = [int(one) for one in counted] if all(map(str.isdecimal, counted)) and not prepares else []
    if prepares:
        settings.pop("threads", None)
    options = [
        *(f"--{name}={said[name]}" for name in ("protocol", "jobs") if name in said),
        *(["--connect"] if "connect" in said else []),
        *(word for word in rest if re.match("--[a-z]", word)),
    ]
    options = [one for one in dict.fromkeys(options) if "$" not in one]
    workload = said.get("test", next(iter(bare), "")).rpartition("/")[2].removesuffix(".lua")
    if load == "pgbench":
        flag = next((name for name in ("select_only", "simple_update") if name in said), "tpcb_like")
        own = prepares or "script" in said
        workload = "" if own else said.get("builtin", flag).replace("-", "_")
    return Run(load, workload, settings, options, line, text, threads)


def _seconds(value: str) -> int | None:
    """Return a whole number, or a time such as 20m or 2h0m0s in seconds."""
    parts = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?", value)
    if not parts or not value:
        return None
    return sum(int(part or 0) * of for part, of in zip(parts.groups(), (3600, 60, 1), strict=True))


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
        (r"tpc[ _-]?b|read[ _-]?write|\bstandard\b|\bdefault\b|读写", "tpcb_like"),
    ],
}
_PROTOCOL = re.compile(r"\b(?:(prepared|extended)\b|(simple)(?=\W*(?:mode|protocol|query|$)))", re.IGNORECASE)


def called_workload(load: str, words: str) -> tuple[str, str]:
    """Return the workload of a load generator that words call, and the query protocol of pgbench; "" for none."""
    protocol = _PROTOCOL.search(words) if load == "pgbench" else None
    name = next(
        (
            name or found[1].lower()
            for pattern, name in _WORKLOADS.get(load, [])
            if (found := re.search(pattern, words, re.IGNORECASE))
        ),
        "",
    )
    return name, (protocol[1] or protocol[2]).lower() if protocol else ""


# How a text says what a load generator was told: "Clients: 20", "scaling factor: 100", "duration: 600 s".
_SAID = [
    (r"(?:scale|scaling)[ _]?factor|scale", "scale"),
    (r"(?:number of )?(?:concurrent )?(?:clients|connections|users)|concurrency|并发数?|客户端数?", "clients"),
    (r"(?:number of )?(?:worker )?threads|线程数?", "threads"),
    (r"(?:test |run )?duration(?:_s)?|(?:test[ _])?time|(?:测试)?时长", "time_s"),
    (r"(?:number of )?tables", "tables"),
    (r"table[ _-]?size|rows per table", "table_size"),
    (r"query mode|protocol", "protocol"),
    (r"transaction type", "workload"),
]
_PAIR = re.compile(r"[\s>*_`#•-]*([^\W\d][\w ]{1,40}?)[\s*_`]*[:：=][\s*_`]*(\S.*)")
# "16 tables, each with 10 million rows", "4 × 50,000 rows", "16表 × 1000万行".
_DATA = re.compile(
    r"(\d+)\s*(?:tables|张?表)?,?\s*(?:[x×*]|each(?: table)? (?:with|of)|of|每表)?\s*"
    r"(\d[\d.,]*\s*(?:万|million|[kM]\b)?)\s*(?:rows|行)"
)


def run_in_text(read: Reading) -> Run | None:
    """Return what a document tells of its load in words or prints as an output, where it prints no command."""
    named = re.search(r"\b(pgbench|sysbench)\b", read.text)
    if not named:
        return None
    load = named[1]
    pairs = [
        (match[1], match[2], block.line + number)
        for block in read.blocks
        if block.kind in {"item", "paragraph", "code"}
        for number, line in enumerate(block.text.split("\n"))
        if (match := _PAIR.match(line))
    ]
    pairs += [(a.text, b.text, a.line) for table in read.tables if len(table.columns) == 2 for a, b in table.rows]
    said: dict[str, list[str]] = {}
    lines = [read.text.count("\n", 0, named.start()) + 1]
    for name, value, line in pairs:
        if key := next((key for pattern, key in _SAID if re.fullmatch(pattern, name.strip("*_` "), re.IGNORECASE)), ""):
            said.setdefault(key, []).append(value)
            lines.append(line)
    settings: dict[str, int | str] = {}
    for key in ("clients", "threads", "scale", "time_s", "tables", "table_size"):
        if known := [number for value in said.get(key, []) if (number := _whole(value))]:
            settings[key] = max(set(known), key=known.count)
    if load == "sysbench" and (data := _DATA.search(read.text)) and (rows := _whole(data[2])):
        settings = {"tables": int(data[1]), "table_size": rows, **settings}
    jobs = settings.pop("threads", None)
    if threads := settings.pop("clients", jobs):
        settings = {"threads": threads} | settings
    protocol = _PROTOCOL.search(said["protocol"][0]) if "protocol" in said else None
    options = [f"--jobs={jobs}"] if load == "pgbench" and jobs else []
    options += [f"--protocol={protocol[0].lower()}"] if protocol and load == "pgbench" else []
    workload = called_workload(load, said["workload"][0])[0] if "workload" in said else ""
    words = ", ".join(f"{name} {value}" for name, value in settings.items()) or load
    workload = workload or ("tpcb_like" if load == "pgbench" else "")
    return Run(load, workload, settings, options, min(lines[1:], default=lines[0]), words, [])


def _whole(text: str) -> int | None:
    """Return the number that a text begins with, a time in seconds."""
    found = figures(text)[:1]
    scale = factor(found[0].unit, "s") if found and found[0].unit in SECONDS else 1.0
    return int(found[0].value * (scale or 1)) if found and found[0].start < 5 else None
