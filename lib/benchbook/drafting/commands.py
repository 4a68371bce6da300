"""How a load was run: as a printed command says it, or as the text tells it."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from benchbook.documents.numerals import figures
from benchbook.documents.setups import Command
from benchbook.documents.tables import Reading
from benchbook.documents.units import SECONDS, factor


class _Tool(NamedTuple):
    """A load generator's options: `settings` by what they set; `private` ones name servers and accounts."""

    load: str
    settings: dict[str, str]
    private: str


def _options(**names: str) -> dict[str, str]:
    """Return the setting of each option; of a setting, its options are given in one text."""
    return {option: setting for setting, options in names.items() for option in options.split()}


TOOLS = {
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
    words = re.sub(r"--\s+(?=[a-z])", "--", text).split()
    program = words[0].rpartition("/")[2]
    tool = TOOLS.get(program)
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
    return Run(tool.load, workload, settings, list(dict.fromkeys(options)), line, text, threads)


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


WORKLOADS = {
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


def called_workload(load: str, words: str) -> tuple[str, str]:
    """Return the workload of a load generator that words call, and the query protocol of pgbench; "" for none."""
    for pattern, name in WORKLOADS[load]:
        if found := re.search(pattern, words, re.IGNORECASE):
            protocol = _PROTOCOL.search(words) if load == "pgbench" else None
            return name or found[1].lower(), protocol[1].lower() if protocol else ""
    return "", ""


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


def run_in_text(read: Reading) -> Run | None:
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
    workload = called_workload(load, said["workload"][0][0])[0] if "workload" in said else ""
    first = min(line for key, places in said.items() if key for _, line in places)
    workload = workload or ("tpcb_like" if load == "pgbench" else "")
    settings = {"threads": threads, **settings}
    words = ", ".join(f"{name} {value}" for name, value in settings.items())
    return Run(load, workload, settings, options, first, words, [])


def _whole(text: str) -> int | None:
    """Return the number that a text begins with, a time in seconds."""
    found = figures(text)[:1]
    scale = factor(found[0].unit, "s") if found and found[0].unit in SECONDS else 1.0
    return int(found[0].value * (scale or 1)) if found and found[0].start < 3 else None
