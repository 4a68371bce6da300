"""What a document says of its set-up: commands against text and tables, hosts, versions, levels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from benchbook.documents.findings import Finding, Passed
from benchbook.documents.numerals import figures
from benchbook.documents.passages import Sentence, sentence_finding, split
from benchbook.documents.tables import Reading, Table


class Replaced(NamedTuple):
    """An option of a program that was replaced in a version."""

    program: str
    option: str
    since: tuple[int, ...]
    instead: str


REPLACED = [
    Replaced("sysbench", "--test", (1, 0), "the script is named first, without an option"),
    Replaced("sysbench", "--num-threads", (1, 0), "--threads"),
    Replaced("sysbench", "--max-time", (1, 0), "--time"),
    Replaced("sysbench", "--max-requests", (1, 0), "--events"),
    Replaced("sysbench", "--oltp-table-size", (1, 0), "--table-size"),
    Replaced("sysbench", "--oltp-tables-count", (1, 0), "--tables"),
]
FIRST = {"mongodb": (1, 0), "mysql": (3, 19), "postgresql": (6, 0), "tidb": (1, 0), "redis": (1, 0), "mariadb": (5, 1)}
"""The first version that was released for use."""
_VERSION = re.compile(
    r"\b(MongoDB|MySQL|PostgreSQL|TiDB|Redis|MariaDB|sysbench)\b[ \w]{0,10}?(?:version|版本)?\s*[:：]?\s*v?(\d+(?:\.\d+)+)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
# "32 tables of 1,000,000 rows" and "with" say it of each table; "and", and a total, say it of all of them.
_ROWS = re.compile(
    r"(\d[\d,]*) tables and ([\d,]{4,}) rows(?! (?:each|per|in each))"
    r"|(\d[\d,]*) tables[^.;。]{0,30}?\b(?:total(?:ing)? (?:of )?|altogether |in all )([\d,]{4,}) rows",
    re.IGNORECASE,
)
_LEVELS = re.compile(
    r"(threads?|clients?|connections?|concurrenc\w+|线程数?|并发数?)[^.。\d]{0,40}?((?:\d[\d,]*\s*(?:,|、|，|and|和|及)+\s*(?:and\s*)?){2,}\d[\d,]*)(?!\s*(?:rows|tables|GB|MB|行))",
    re.IGNORECASE,
)


def setups(read: Reading) -> Iterator[Finding | Passed]:
    """Yield what commands, hosts, versions and levels of a document contradict."""
    sentences = split(read)
    yield from _options(read)
    yield from _workloads(read)
    yield from _versions(read, sentences)
    yield from _hosts(read)
    yield from _imported(read, sentences)
    yield from _levels(read, sentences)


class Command(NamedTuple):
    """A command that starts a load generator, and what the loops of the shell around it count through, by variable."""

    text: str
    line: int
    loops: dict[str, list[str]]


_LOOP = re.compile(r"\bfor\s+(\w+)\s+in\s+([^;\n]+?)\s*(?:;|\n)\s*do\b")
_SEQ = re.compile(r"(?:\$\(|`)\s*seq\s+(\d[\d ]*?)\s*[)`]|\{(\d+)\.\.(\d+)(?:\.\.(\d+))?\}")
_STEP = re.compile(r"(?:^|[;\n&])\s*(do|done)\b")
_MOST_LEVELS = 100


def _loops(shell: str) -> dict[str, list[str]]:
    """Return the values of each variable that a loop round the end of a text counts through: 1 8 16, {1,2,4}, seq 8 8 64."""

    def counted(match: re.Match[str]) -> str:
        words = match[1].split() if match[1] else [one for one in (match[2], match[4], match[3]) if one]
        first, *step, last = map(int, words if len(words) > 1 else ["1", *words])
        return " ".join(map(str, range(first, last + 1, max(1, *step, 1))[:_MOST_LEVELS]))

    found = {}
    for loop in _LOOP.finditer(shell):
        steps = accumulate((1 if step == "do" else -1 for step in _STEP.findall(shell[loop.end() :])), initial=1)
        if 0 in steps:
            # It is over.
            continue
        words = loop[2]
        if said := re.fullmatch(r"\"?\$\{?(\w+)(?:\[@\])?\}?\"?", words):
            told = re.findall(
                rf"^\s*{said[1]}=(?:\"([^\"\n]*)\"|'([^'\n]*)'|\(([^)\n]*)\))", shell[: loop.start()], re.MULTILINE
            )
            words = "".join(told[-1]) if told else ""
        words = _SEQ.sub(counted, words)
        found[loop[1]] = [one for one in re.split(r"[\s,{}]+", words) if one and "$" not in one]
    return found


def commands(read: Reading) -> list[Command]:
    """Return every command that starts a load generator, its continued lines joined."""
    found = []
    for block in read.blocks:
        if block.kind not in {"code", "paragraph"}:
            continue
        joined = re.sub(r"\\\s*\n\s*", lambda m: " " * len(m[0]), block.text)
        for match in re.finditer(
            r"(?:^|;|&&|\bdo\b)[ \t$#>]*(?:\w+=\S*\s+)*"
            # What starts it on another host, in a container, on some cores: docker exec db, kubectl exec db --, taskset -c 0-3.
            r"(?:(?:sudo|time|docker|podman|kubectl|ssh|taskset|numactl|nohup|exec|env)\s(?:(?!;|&&)[^\n])*?[\s'\"])?"
            r"((?:\S*/)?(?:sysbench|pgbench|go-tpc|redis-benchmark|ycsb|go-ycsb|benchmark|fio|db_bench)\s(?:(?!;|&&|\s[>|#])[^\n])*)",
            joined,
            re.MULTILINE,
        ):
            command = " ".join(match[1].split())
            # A sentence may begin with the program's name, and so does what it prints.
            if re.search(r"\s--?\s?[a-zA-Z]", command):
                line = block.line + block.text.count("\n", 0, match.start())
                found.append(Command(command, line, _loops(joined[: match.start(1)])))
    return found


def _version_of(read: Reading, program: str) -> tuple[int, ...] | None:
    found = {match[2] for match in _VERSION.finditer(read.text) if match[1].lower() == program}
    return tuple(map(int, found.pop().split("."))) if len(found) == 1 else None


def _options(read: Reading) -> Iterator[Finding | Passed]:
    for command, line, _ in commands(read):
        old = [
            one
            for one in REPLACED
            if re.match(rf"\S*{one.program}\b", command) and re.search(rf"{re.escape(one.option)}(?=[= ])", command)
        ]
        version = _version_of(read, old[0].program) if old else None
        if old and version and version >= old[0].since:
            program = old[0].program
            sentence = f"The command uses options that were replaced before {program} {'.'.join(map(str, version))}, the version that is printed."
            lines = [f"{one.option}: since {'.'.join(map(str, one.since))} {one.instead}" for one in old]
            yield sentence_finding(Sentence(command, line, ""), "option", "note", sentence, lines, 0.9)
        else:
            yield Passed("option", 1)


# Without bulk_insert, which loads the tables of whatever runs behind it.
_SCRIPT = re.compile(r"\boltp_(?!common)[a-z_]+|\bselect_random_(?:points|ranges)\b")


def _workloads(read: Reading) -> Iterator[Finding | Passed]:
    """Yield a section that is headed by one workload of sysbench, and runs another one alone."""
    headings = [block for block in read.blocks if block.kind == "heading"]
    runs: dict[int, list[Command]] = {}
    for command in commands(read):
        if re.match(r"\S*sysbench\b", command.text) and re.search(r"\brun\b", command.text):
            above = [place for place, block in enumerate(headings) if block.line <= command.line]
            runs.setdefault(above[-1] if above else -1, []).append(command)
    for place, mine in runs.items():
        headed = set(_SCRIPT.findall(headings[place].text)) if place >= 0 else set()
        run = {name for command in mine for name in _SCRIPT.findall(command.text)}
        if len(headed) == 1 and run:
            if headed <= run:
                yield Passed("option", 1)
            else:
                (name,), others = headed, ", ".join(sorted(run))
                words = f"The section is of {name}; its command runs {others}."
                lines = [f"heading: {headings[place].text.strip()}", f"command: {others}"]
                said = Sentence(mine[0].text, mine[0].line, "")
                yield sentence_finding(said, "option", "contradiction", words, lines, 0.85)


def _versions(read: Reading, sentences: list[Sentence]) -> Iterator[Finding | Passed]:
    for sentence in sentences:
        for match in _VERSION.finditer(sentence.text):
            first = FIRST.get(match[1].lower())
            version = tuple(map(int, match[2].split(".")))
            if first and version < first and re.search(r"version|版本", match[0], re.IGNORECASE):
                words = f"{match[1]} {match[2]} is older than the first release, {'.'.join(map(str, first))}: the version must be a slip."
                lines = [f"{match[2]} < {'.'.join(map(str, first))}"]
                yield sentence_finding(sentence, "version", "contradiction", words, lines, 0.8)
            elif first:
                yield Passed("version", 1)


def _hosts(read: Reading) -> Iterator[Finding | Passed]:
    """Yield an address in a command that no table or text has, and that is one number off a host that they have."""
    told = {
        address
        for table in read.tables
        for row in table.rows
        for cell in row
        for address in _ADDRESS.findall(cell.text)
    }
    if len(told) < 2:
        return
    for command, line, _ in commands(read):
        for address in dict.fromkeys(_ADDRESS.findall(command)):
            near = [
                other
                for other in sorted(told)
                if sum(a != b for a, b in zip(address.split("."), other.split("."), strict=True)) == 1
                and address.split(".")[3] == other.split(".")[3]
            ]
            if address in told or address.startswith(("127.", "0.")):
                yield Passed("host", 1)
            elif len(near) == 1:
                said = Sentence(command, line, "")
                words = f"{address} is none of the {len(told)} hosts of the document; the nearest is {near[0]}."
                yield sentence_finding(said, "host", "contradiction", words, [f"{address} against {near[0]}"], 0.85)


def _imported(read: Reading, sentences: list[Sentence]) -> Iterator[Finding | Passed]:
    sizes = [
        (int(a[1]), int(b[1]))
        for command, *_ in commands(read)
        if (a := re.search(r"--tables=(\d+)", command)) and (b := re.search(r"--table[-_]size=(\d+)", command))
    ]
    for sentence in sentences:
        for match in _ROWS.finditer(sentence.text):
            tables, rows = (int(text.replace(",", "")) for text in match.groups() if text)
            for count, size in sizes:
                if tables == count and rows == size and count > 1:
                    words = f"“{match[0]}” reads as all rows; the command makes {count} tables of {size:,} rows each."
                    lines = [f"{count} x {size:,} = {count * size:,}; printed {rows:,}"]
                    yield sentence_finding(sentence, "identity", "suspicious", words, lines, 0.75)
                    break


def _levels(read: Reading, sentences: list[Sentence]) -> Iterator[Finding | Passed]:
    """Yield tables whose ladder of threads is not the one that the text announces, where other tables have it."""
    announced = []
    for sentence in sentences:
        text = re.sub(r"[`{}$]", "", sentence.text)
        for match in _LEVELS.finditer(text):
            levels = [
                one.value
                for piece in re.split(r"[、，,]\s|\band\b|和|及", match[2])
                for one in figures(piece.strip(" ,、，"))
            ]
            if len(levels) >= 3:
                announced.append((sentence, levels))
    ladders = [(table, found) for table in read.tables if (found := _clients(table))]
    for sentence, levels in announced[:1] if len({tuple(levels) for _, levels in announced}) == 1 else []:
        same = [table for table, ladder in ladders if ladder == levels]
        yield Passed("text against table", len(same))
        for table, ladder in ladders:
            if same and ladder != levels and len(ladder) == len(levels):
                printed, told = (", ".join(f"{one:g}" for one in each) for each in (ladder, levels))
                at_table = Sentence(sentence.text, table.line, table.section)
                words = f"The text says {told} (line {sentence.line}); {table.name} has {printed}."
                lines = [f"in the text: {told}; in the table: {printed}"]
                yield sentence_finding(at_table, "text against table", "contradiction", words, lines, 0.85)


def _clients(table: Table) -> list[float]:
    """Return the numbers of clients of two rows or more, in whatever order; none where a row tells none."""
    clients = (place for place in table.places("level") if table.columns[place].quantity == "concurrency")
    found = table.values(place) if (place := next(clients, None)) is not None else []
    return found if len(found) > 1 else []
