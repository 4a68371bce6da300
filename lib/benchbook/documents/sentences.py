"""Sentences of a document, English and Chinese, held against its tables and against themselves.

A sentence is checked where its words bind it to one reading, or to several that agree. Where they do not, it is
counted as not bound, and is never a finding. The patterns are a table; each has an example, and these are its tests.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import NamedTuple

from benchbook.documents.comparisons import Cells
from benchbook.documents.findings import Finding, Kind, Passed, Severity
from benchbook.documents.findings import figure as shown
from benchbook.documents.formats import Block
from benchbook.documents.named_cells import METRIC_WORDS, Point
from benchbook.documents.numerals import UNITS, Figure, figures
from benchbook.documents.tables import SAID, Reading, Table
from benchbook.documents.units import factor


class Sentence(NamedTuple):
    """A sentence, the line of its block, and the section that it stands in."""

    text: str
    line: int
    section: str


class NotBound(NamedTuple):
    """A sentence that says something of figures, but not of which."""

    sentence: Sentence


Outcome = Finding | Passed | NotBound
# A name may begin a sentence in a small letter, but not behind an abbreviation.
_NO_END = "".join(rf"(?<!\b{word}\.)" for word in "vs etc max min avg sec approx resp incl no fig".split())
_END = re.compile(
    rf"(?<=[.!?])\s+(?=[A-Z\d\"'(*\[])|(?<=[a-z\d%)][a-z\d%)]\.){_NO_END}\s+(?=[a-z]{{3}}|v\d)"
    r"|(?<=[。！？；;])|\n(?=\s*(?:[-*•]|\(\d+\)|\d+\.)\s)"
)
_N = r"(?P<{0}>(?<![\w.,])[~≈]?\d[\d,.]*\d|(?<![\w.,])\d)(?![.,]?\d)(?P<{0}_m>\s?(?:k|K|M|万|亿|million|thousand|billion)(?![A-Za-z]))?"


def _number(name: str) -> str:
    return _N.format(name)


_PERCENT = r"(?P<percent>\d[\d,]*(?:\.\d+)?)\s?(?:%|percent|per cent|％)"
_UNITS = r"(?:\s?(?!(?:to|per|and|or|in|of)\b)[A-Za-zµμ/%]{1,12}){0,2}"
_FROM_TO = (
    rf"(?:from|从|由)\s?(?:about |around |约)?{_number('a')}(?P<a_u>{_UNITS})\s?(?:to|down to|up to|到|至|提升到|提升至|增加到|增长到|下降到|降低到|降至|上升到|减少到)\s?"
    rf"(?:about |around |约)?{_number('b')}(?P<b_u>{_UNITS})"
)


class Pattern(NamedTuple):
    """What a sentence says, by name; `example` matches."""

    name: str
    pattern: re.Pattern[str]
    example: str


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


PATTERNS = [
    Pattern(
        "from a to b by n%",
        _compiled(rf"{_FROM_TO}[^.。;；%\d]{{0,40}}?{_PERCENT}"),
        "Throughput rose from 1,200 to 1,500 QPS, an improvement of 25%",
    ),
    Pattern(
        "n%: from a to b",
        _compiled(rf"{_PERCENT}\s?\**\s?[:：(（]\s?{_FROM_TO}"),
        "吞吐量提升 25%：从 1,200 RPS 提升至 1,500 RPS",
    ),
    Pattern(
        "a against b, n%",
        _compiled(
            rf"{_number('a')}(?P<a_u>{_UNITS})\s(?:vs\.?|versus|compared (?:to|with)|against)\s{_number('b')}(?P<b_u>{_UNITS})\s?\(?,?\s?(?:an? |is |i\.e\. |which is )?(?P<sign>[+−-])?{_PERCENT}"
        ),
        "1,500 QPS vs 1,200 QPS (+25%)",
    ),
    Pattern(
        "impossible percentage",
        _compiled(
            rf"(?:{_PERCENT}\s(?:fewer|less|lower|smaller|reduction|decrease|drop|shorter)|(?:reduc\w+|decreas\w+|lower\w*|drop\w*|cut)\b(?: \w+){{0,4}}? by (?:about |up to |over |more than )?(?P<percent2>\d[\d,]*(?:\.\d+)?)\s?%|(?:下降|减少|降低|缩短)了?\s?(?P<percent3>\d+(?:\.\d+)?)\s?[%％])"
        ),
        "It needs 111% fewer instructions",
    ),
    Pattern(
        "linear",
        _compiled(
            r"\b(?:scales?|scaling|grows?|growth|increases?|rises?|improves?)\b[^.]{0,30}\b(?<!near-)(?<!sub-)(?<!super-)linear(?:ly)?\b|\blinear (?:scal\w+|growth|increase)\b|线性(?:增长|提升|扩展|增加)"
        ),
        "Throughput scales linearly with the number of threads",
    ),
    Pattern(
        "up to n%",
        _compiled(
            rf"\b(?:up to|as much as|at most|a maximum of|最高|最多|高达)\s?(?:提升|提高)?\s?(?:~|about )?{_PERCENT}"
        ),
        "TPS improves by up to 40%",
    ),
    Pattern(
        "n% on average",
        _compiled(
            rf"\b(?:on average|average|averaging|an average of|平均)\b[^.%]{{0,40}}?{_PERCENT}|{_PERCENT.replace('percent>', 'percent2>')}[^.%]{{0,30}}?\b(?:on average)\b"
        ),
        "TPS improves by 12.5% on average",
    ),
    Pattern(
        "peak",
        _compiled(
            rf"\b(?:peaks?|peaked|maximum|highest|best|top(?:s|ped)? out)\b[^.\d]{{0,50}}?\b(?:at|of|is|was|reaches|reached|with)\s(?:about |around )?{_number('a')}\s?(?P<unit>tps|qps|ops/s\w*|ops|rps|iops|MB/s|GB/s|requests/s\w*|req/s\w*)"
        ),
        "Throughput peaks at 12,345 QPS",
    ),
]


def sentences(read: Reading) -> Iterator[Outcome]:
    """Yield what the sentences of a document come to: findings, what was checked and held, what could not be bound."""
    for _, outcomes in by_sentence(read):
        yield from outcomes
    yield from _told_alike(read)


def by_sentence(read: Reading) -> Iterator[tuple[Sentence, list[Outcome]]]:
    """Yield every sentence of a document with what it comes to."""
    checks: dict[str, Callable[[Reading, Sentence, re.Match[str]], Iterator[Outcome]]] = {
        "from a to b by n%": _change,
        "n%: from a to b": _change,
        "a against b, n%": _change,
        "impossible percentage": _impossible,
        "linear": _linear,
        "up to n%": _up_to,
        "n% on average": _average,
        "peak": _peak,
    }
    printed = {
        re.sub(r"\D", "", one.printed)
        for table in read.tables
        for cells in table.rows
        for cell in cells
        for one in cell.figures
    }
    cells = Cells(read)
    for sentence in split(read):
        found: list[Outcome] = []
        for pattern in PATTERNS:
            for match in pattern.pattern.finditer(sentence.text):
                found += checks[pattern.name](read, sentence, match)
        named = list(_named_cells(read, cells, sentence))
        found += (
            named if any(isinstance(one, Finding) for one in named) else [*_quoted(read, sentence, printed), *named]
        )
        # A sentence of which one part was bound is no longer one that was not.
        bound = any(isinstance(one, Finding) or (isinstance(one, Passed) and one.kind != "impossible") for one in found)
        yield sentence, [one for one in found if not (bound and isinstance(one, NotBound))]


def split(read: Reading) -> list[Sentence]:
    """Return the sentences of paragraphs and list items, each with the section that it stands in."""
    return [
        Sentence(text, line, block.section)
        for block in read.blocks
        if block.kind in {"paragraph", "item"}
        for text, line in _cut(block)
    ]


_LONGEST = 2000
"""What is longer is no sentence but a pasted output: a hundred lines of one took minutes to hold against each cell."""
# What sysbench and pgbench print every few seconds: figures of an interval, near those of the whole run.
_PROGRESS = re.compile(r"\s*(?:\[ *\d+ ?s ?\]|progress: )")


def _cut(block: Block) -> Iterator[tuple[str, int]]:
    place = 0
    for text in _END.split(block.text):
        if text and text.strip() and len(text) < _LONGEST and not _PROGRESS.match(text):
            at = block.text.find(text, place)
            place = at + len(text)
            yield " ".join(text.split()), block.line + block.text.count("\n", 0, max(at, 0))


def sentence_finding(
    sentence: Sentence, kind: Kind, severity: Severity, words: str, arithmetic: list[str], sure: float
) -> Finding:
    """Return a finding about a sentence, or about a command that stands for one."""
    return Finding(
        id=f"line{sentence.line}.{kind.replace(' ', '-')}.{abs(hash_of(sentence.text + words)) % 10_000}",
        where=f"line {sentence.line}{f', {sentence.section}' if sentence.section else ''}",
        kind=kind,
        severity=severity,
        sentence=words,
        arithmetic=arithmetic,
        line=sentence.line,
        printed=sentence.text if len(sentence.text) < 400 else sentence.text[:397] + "...",
        sure=sure,
    )


def hash_of(text: str) -> int:
    """Return a number of a text that is the same in every run."""
    return sum((place + 1) * ord(character) for place, character in enumerate(text))


# -- arithmetic within one sentence -------------------------------------------------------------------------------------


def _of(match: re.Match[str], name: str) -> Figure | None:
    found = figures(f"{match[name].lstrip('~≈')}{match[f'{name}_m'] or ''}")
    return found[0] if len(found) == 1 and found[0].low > 0 else None


def _is_level(read: Reading, word: str) -> bool:
    """Return whether a word behind a number is that of a level: 64 threads, or 4,000 warehouses where a column is headed so."""
    heads = " ".join(one.heading for table in read.tables for one in table.columns if one.role == "level").lower()
    stem = word.strip().lower().removesuffix("s")
    return bool(re.search(r"thread|client|connection|node|worker|user|core|concurren|线程|并发", stem)) or (
        len(stem) > 2 and stem in heads
    )


def _are_levels(read: Reading, *ends: Figure | None, unit: str) -> bool:
    """Return whether figures are levels of one column of a table: "from 16 GB to 64 GB", where a row has each."""
    for table in read.tables:
        for place in [place for place, one in enumerate(table.columns) if one.role == "level"] or [0]:
            cells = [row[place].figure for row in table.rows]
            levels = {cell.value for cell in cells if cell and cell.unit == unit}
            if all(one and one.value in levels for one in ends):
                return True
    return False


def _change(read: Reading, sentence: Sentence, match: re.Match[str]) -> Iterator[Outcome]:
    a, b = _of(match, "a"), _of(match, "b")
    printed = figures(match["percent"])
    said = match[0]
    # From 11.92s to 131ms: in one unit, where both have one.
    units = [UNITS.get(match[f"{name}_u"].strip(), "") for name in ("a", "b")]
    scale = factor(*units) if all(units) else 1.0
    if a and scale:
        a = a._replace(value=a.value * scale, low=a.low * scale, high=a.high * scale)
    # Another figure between them, a reference or a second clause: which change is meant is not sure.
    if (
        re.search(r"(?:from|从|由)\s?$|[%％]\s?[,，;；].*\D", said[: match.start("percent") - match.start()])
        or a is None
        or b is None
        or scale is None
        or not printed
        # "5,326 -> 4,589 tps from 200 to 400 threads, -14%": the levels of a load do not change by that.
        or _is_level(read, match["b_u"])
        or re.search(
            r"respectively|分别|每|per cent of|percentile|%\s?(?:of|confidence|percentile)",
            sentence.text[match.end() - 1 :][:30] + said,
        )
    ):
        yield NotBound(sentence)
        return
    percent = printed[0]
    room = (
        max(percent.place, 0.06 * percent.value)
        if re.search(r"about|around|roughly|nearly|almost|more than|over|约|超过", sentence.text)
        else percent.place
    )
    formulas = [("({b} / {a} - 1) x 100", a, b), ("({b} / {a} - 1) x 100", b, a)]
    results = []
    for words, x, y in formulas:
        ends = [(high / low - 1) * 100 for low, high in ((x.low, y.high), (x.high, y.low))]
        results.append((words.format(a=x.printed, b=y.printed), min(ends), (y.value / x.value - 1) * 100, max(ends)))
    times = (min(a.low, b.low) / max(a.high, b.high) * 100, max(a.high, b.high) / min(a.low, b.low) * 100)
    fits = any(low - room <= sign * percent.value <= high + room for _, low, _, high in results for sign in (1, -1))
    if fits or any(abs(one - percent.value) <= room + 0.02 * one for one in times):
        yield Passed("sentence", 1)
        return
    if _are_levels(read, _of(match, "a"), _of(match, "b"), unit=UNITS.get(match["b_u"].strip().partition(" ")[0], "")):
        yield NotBound(sentence)
        return
    words, _, value, _ = results[0]
    what = f"The sentence gives {percent.printed}%, but from {a.printed} to {b.printed} is {value:+.3g}%."
    lines = [f"{words} = {value:.4g}; printed {percent.printed}%"]
    yield sentence_finding(sentence, "sentence", "contradiction", what, lines, 0.8)


def _impossible(read: Reading, sentence: Sentence, match: re.Match[str]) -> Iterator[Outcome]:
    text = match["percent"] or match["percent2"] or match["percent3"]
    percent = float(text.replace(",", "").rstrip("."))
    if re.search(r"\b(?:throughput|speed|faster)\b", match[0], re.IGNORECASE) or percent <= 100:
        yield Passed("impossible", 1)
        return
    what = f"Nothing that is counted can become {text}% less: at 100% nothing is left."
    lines = [f"1 - {text} / 100 = {1 - percent / 100:.4g}, which is below 0"]
    yield sentence_finding(sentence, "impossible", "contradiction", what, lines, 0.9)


# -- sentences about a table --------------------------------------------------------------------------------------------


def _near(read: Reading, sentence: Sentence) -> list[Table]:
    """Return the tables of the sentence's own section; without one, those of the whole document if there is one alone."""
    mine = [table for table in read.tables if table.section == sentence.section]
    if len(mine) > 1:
        # The nearest one, above or below, of several.
        named = [
            table for table in mine if table.caption and table.caption.split(":")[0].lower() in sentence.text.lower()
        ]
        mine = named or mine
    return mine or (read.tables if len(read.tables) == 1 else [])


def _is_about(text: str, table: Table, place: int) -> bool:
    column = table.columns[place]
    words = METRIC_WORDS.get(column.quantity, "")
    heading = re.sub(r"[(\[（].*", "", column.heading).strip().lower()
    return bool((words and re.search(words, text, re.IGNORECASE)) or (len(heading) > 1 and heading in text.lower()))


def _changes(table: Table) -> Iterator[tuple[int, int, list[tuple[int, float]]]]:
    """Yield all relative changes in percent between two columns of one unit, over the rows: b against a."""
    metrics = [place for place, column in enumerate(table.columns) if column.role == "metric" and column.unit != "%"]
    for a, b in permutations(metrics[:8], 2):
        if factor(table.columns[a].unit, table.columns[b].unit) != 1.0:
            continue
        rows = []
        for row in range(len(table.rows)):
            x, y = table.number(row, a), table.number(row, b)
            if x and y and x.value > 0:
                rows.append((row, (y.value / x.value - 1) * 100))
        if rows:
            yield a, b, rows


def _deltas(table: Table) -> list[tuple[int, list[float]]]:
    found = []
    for place, column in enumerate(table.columns):
        values = [
            number.value
            for row in range(len(table.rows))
            if (number := table.number(row, place))
            and not re.search(r"average|mean|平均|total", table.rows[row][0].text, re.IGNORECASE)
        ]
        if column.role == "delta" and column.unit == "%" and len(values) >= 2:
            found.append((place, values))
    return found


def _all_percentages(read: Reading) -> Iterator[float]:
    """Yield every percentage that any table prints, or that two of its figures give."""
    for table in read.tables:
        for row in range(len(table.rows)):
            for cell in table.rows[row]:
                yield from (abs(one.value) for one in cell.figures if one.unit == "%" or not one.unit)
        for _, _, rows in _changes(table):
            yield from (abs(value) for _, value in rows)
        for place, column in enumerate(table.columns):
            if column.role == "metric":
                values = [
                    number.value
                    for row in range(min(40, len(table.rows)))
                    if (number := table.number(row, place)) and number.value > 0
                ]
                yield from (abs(y / x - 1) * 100 for x, y in permutations(values, 2))


def _up_to(read: Reading, sentence: Sentence, match: re.Match[str]) -> Iterator[Outcome]:
    yield from _of_column(read, sentence, match, "largest", lambda values: max(values, key=abs))


def _average(read: Reading, sentence: Sentence, match: re.Match[str]) -> Iterator[Outcome]:
    yield from _of_column(read, sentence, match, "mean", lambda values: sum(values) / len(values))


def _of_column(
    read: Reading, sentence: Sentence, match: re.Match[str], name: str, of: Callable[[list[float]], float]
) -> Iterator[Outcome]:
    """Hold a percentage against the one column of changes of its section: its largest, or its mean."""
    groups = [group for key, group in match.groupdict().items() if key.startswith("percent") and group]
    percent = figures(groups[0])[0]
    tables = _near(read, sentence)
    columns = [(table, place, values) for table in tables for place, values in _deltas(table)]
    if len(columns) != 1:
        near = (
            any(abs(one - percent.value) <= percent.place for one in _all_percentages(read)) if read.tables else False
        )
        yield Passed("sentence", 1) if near else NotBound(sentence)
        return
    table, place, values = columns[0]
    value = abs(of(values))
    if abs(value - percent.value) <= max(percent.place, 0.011 * value) or any(
        abs(one - percent.value) <= percent.place for one in _all_percentages(read)
    ):
        yield Passed("sentence", 1)
        return
    metric = any(
        _is_about(sentence.text, table, other) for other, column in enumerate(table.columns) if column.role == "metric"
    )
    if not metric or (name == "largest" and percent.value < value * 0.5):
        yield NotBound(sentence)
        return
    what = f"The sentence says {percent.printed}%; the {name} {table.columns[place].heading} in {table.name} is {value:.4g}%, and no two figures of the tables give {percent.printed}%."
    lines = [f"{name} of {', '.join(f'{one:g}' for one in values[:12])} = {value:.4g}; printed {percent.printed}%"]
    yield sentence_finding(sentence, "sentence", "suspicious", what, lines, 0.7)


def _linear(read: Reading, sentence: Sentence, match: re.Match[str]) -> Iterator[Outcome]:
    hedged = re.search(
        r"\b(?:not|nothing|than|near\w*|almost|sub|roughly|until|up to|approximately|quasi|close to|non|super|fairly|if|should|would|expect\w*)\b|接近|近似|非线性|不是|基本",
        sentence.text,
        re.IGNORECASE,
    )
    tables = _near(read, sentence)
    ladders = [(table, *ladder) for table in tables for ladder in _ladders(table)]
    bound = [one for one in ladders if _is_about(sentence.text, one[0], one[2])] or ladders
    bound = bound or [(table, *ladder) for table in read.tables for ladder in _said_ladders(table, sentence.text)]
    if hedged or not bound or len({table.id for table, *_ in bound}) > 1:
        yield NotBound(sentence)
        return
    worst = []
    for table, level, place, rows in bound:
        x = [table.number(row, level) for row in rows]
        y = [table.number(row, place) for row in rows]
        ends = [one for one in (x[0], x[-1], y[0], y[-1]) if one and one.value > 0]
        if len(ends) == 4:
            gain = (ends[3].value / ends[2].value) / (ends[1].value / ends[0].value)
            worst.append((gain, table, level, place, ends))
    off = [one for one in worst if one[0] < 0.6 or one[0] > 1.7]
    if not worst or len(off) < len(worst):
        yield Passed("sentence", 1) if worst else NotBound(sentence)
        return
    gain, table, level, place, ends = off[0]
    what = f"The sentence says linear; {table.columns[place].heading} changes {ends[3].value / ends[2].value:.3g} times where {table.columns[level].heading} changes {ends[1].value / ends[0].value:.3g} times ({table.name})."
    lines = [
        f"{ends[3].printed} / {ends[2].printed} = {ends[3].value / ends[2].value:.3g}; {ends[1].printed} / {ends[0].printed} = {ends[1].value / ends[0].value:.3g}"
    ]
    yield sentence_finding(sentence, "sentence", "suspicious", what, lines, 0.7)


def _ladders(table: Table) -> Iterator[tuple[int, int, list[int]]]:
    levels = [
        place
        for place, column in enumerate(table.columns)
        if column.role == "level" and sum(table.number(row, place) is not None for row in range(len(table.rows))) >= 3
    ]
    if len(levels) != 1:
        return
    x = [(number.value, row) for row in range(len(table.rows)) if (number := table.number(row, levels[0]))]
    if [value for value, _ in x] != sorted({value for value, _ in x}):
        return
    for place, column in enumerate(table.columns):
        if column.quantity in {"throughput", "time"}:
            yield levels[0], place, [row for _, row in x if table.number(row, place)]


def _said_ladders(table: Table, text: str) -> Iterator[tuple[int, int, list[int]]]:
    """Yield ladders of the level that a sentence calls by name and from end to end: "replicas from 1 to 8", QPS."""
    ends = re.search(r"\bfrom (\d[\d,]*) to (\d[\d,]*)\b", text)
    for level, head in enumerate(table.columns):
        x = [number.value for row in range(len(table.rows)) if (number := table.number(row, level))]
        if (
            ends is None
            or head.role != "level"
            or len(x) < max(3, len(table.rows))
            or x != sorted(set(x))
            or [x[0], x[-1]] != [float(end.replace(",", "")) for end in ends.groups()]
            or not re.search(rf"\b{re.escape(head.heading)}\b", text, re.IGNORECASE)
        ):
            continue
        for place, column in enumerate(table.columns):
            if column.quantity == "throughput" and re.search(rf"\b{re.escape(column.heading)}\b", text, re.IGNORECASE):
                yield level, place, [row for row in range(len(table.rows)) if table.number(row, place)]


def _peak(read: Reading, sentence: Sentence, match: re.Match[str]) -> Iterator[Outcome]:
    quoted = _of(match, "a")
    tables = _near(read, sentence)
    if quoted is None or not tables:
        yield NotBound(sentence)
        return
    for table in tables:
        for place, column in enumerate(table.columns):
            numbers = [number for row in range(len(table.rows)) if (number := table.number(row, place))]
            if column.quantity != "throughput" or not any(
                abs(number.value - quoted.value) <= quoted.place for number in numbers
            ):
                continue
            most = max(numbers, key=lambda number: number.value)
            if most.low <= quoted.high:
                yield Passed("sentence", 1)
            elif not re.search(r"\b(?:for|with|at)\s\d", sentence.text[match.end() :]):
                what = f"The sentence calls {quoted.printed} the most; {column.heading} reaches {most.printed} in {table.name}."
                lines = [f"{most.printed} > {quoted.printed}"]
                yield sentence_finding(sentence, "sentence", "suspicious", what, lines, 0.65)
            return
    yield NotBound(sentence)


def _quoted(read: Reading, sentence: Sentence, known: set[str]) -> Iterator[Outcome]:
    """Yield figures in text that differ from a cell of their section in one digit, and stand nowhere in the tables."""
    tables = _near(read, sentence)
    cells = [
        (table, row, place, cell.figures[0])
        for table in tables
        for row, cells in enumerate(table.rows)
        for place, cell in enumerate(cells)
        if cell.figure and table.columns[place].role == "metric"
    ]
    if not cells:
        return
    for quoted in figures(sentence.text):
        digits = re.sub(r"\D", "", quoted.printed)
        if len(digits.strip("0")) < 4 or not quoted.exact or re.fullmatch(r"(?:19|20)\d\d", digits):
            continue
        if digits in known:
            yield Passed("quoted figure", 1)
            continue
        bound = _at_level(sentence.text, quoted, tables)
        if bound and not any(number.low <= quoted.high and quoted.low <= number.high for *_, number in bound):
            table, row, *_ = bound[0]
            what = f"The text says {quoted.printed} of {table.label(row)}, which stands nowhere in {table.name}."
            lines = [
                f"{quoted.printed} in the text; in the table {', '.join(f'{table.columns[place].heading}: {number.printed}' for _, _, place, number in bound)}"
            ]
            yield sentence_finding(sentence, "quoted figure", "suspicious", what, lines, 0.75)
            continue
        near = [
            one
            for one in cells
            if _one_slip(digits, re.sub(r"\D", "", one[3].printed))
            and _is_about(sentence.text, one[0], one[2])
            and _magnitude(quoted, one[3])
        ]
        if len(near) == 1:
            table, row, place, number = near[0]
            what = f"The text says {quoted.printed}; {table.columns[place].heading} of {table.label(row)} is {number.printed} in {table.name}: a digit may have slipped."
            lines = [f"{quoted.printed} in the text, {number.printed} in the table"]
            yield sentence_finding(sentence, "quoted figure", "suspicious", what, lines, 0.7)


def _named_cells(read: Reading, cells: Cells, sentence: Sentence) -> Iterator[Outcome]:
    """Yield what comes of a sentence whose words name cells: how far they are apart, their order, a figure of one of them."""
    if not cells.points:
        return
    bound = cells.compared(sentence.text, sentence.section)
    for one in bound:
        if one.holds:
            yield Passed("sentence", 1)
            continue
        a = one.pairs[0][0]
        more = f", and in no pair of the {len(one.pairs)} rows" if len(one.pairs) > 1 else ""
        what = f"The sentence says {one.gap.printed}; that is not what {a.table.columns[a.place].heading} of {a.table.name} gives{more}."
        lines = [
            f"{a.table.label(a.row)}: {a.number.printed}; {b.table.label(b.row)}: {b.number.printed}; {shown(a.number.value / b.number.value)} times"
            for a, b in one.pairs[:5]
        ]
        yield sentence_finding(sentence, "sentence", "suspicious", what, lines, 0.7)
    if not bound and cells.has_gap(sentence.text, sentence.section):
        yield NotBound(sentence)
    for order in cells.ordered(sentence.text, sentence.section):
        if not order.wrong:
            yield Passed("sentence", len(order.right))
        elif order.sure and (order.every or (len(order.wrong) > 1 and not order.right)):
            a = order.wrong[0][0]
            words = (
                f"The sentence speaks of all rows, but the figures of {a.table.label(a.row)} say the opposite ({a.table.name})."
                if order.every
                else f"The sentence puts {order.first} before {order.last}; all {len(order.wrong)} pairs of cells say the opposite ({a.table.name})."
            )
            lines = [_beside(a, b) for a, b in order.wrong[:5]]
            yield sentence_finding(
                sentence,
                "sentence",
                "contradiction" if order.every else "suspicious",
                words,
                lines,
                0.75 if order.every else 0.7,
            )
        else:
            yield NotBound(sentence)
    bounded = cells.bounded(sentence.text, sentence.section)
    if bounded and not bounded.wrong:
        yield Passed("sentence", len(bounded.cells))
    elif bounded:
        first = bounded.wrong[0]
        what = f"The sentence sets a limit, {bounded.said!r}; {len(bounded.wrong)} of the {len(bounded.cells)} cells that it names lie beyond ({first.table.name})."
        lines = [
            f"{one.table.label(one.row)}, {one.table.columns[one.place].heading}: {one.number.printed}"
            for one in bounded.wrong[:5]
        ]
        yield sentence_finding(sentence, "sentence", "suspicious", what, lines, 0.7)
    quoted = cells.quoted(sentence.text, sentence.section)
    if quoted and quoted.holds:
        yield Passed("quoted figure", 1)
    elif quoted:
        table, column = quoted.cell.table, quoted.cell.table.columns[quoted.cell.place]
        what = f"The text says {quoted.figure.printed}; {column.heading} of {table.label(quoted.cell.row)} is {quoted.cell.number.printed} in {table.name}."
        lines = [f"{quoted.figure.printed} in the text, {quoted.cell.number.printed} in the table"]
        yield sentence_finding(sentence, "quoted figure", "suspicious", what, lines, 0.7)


def _at_level(text: str, quoted: Figure, tables: list[Table]) -> list[tuple[Table, int, int, Figure]]:
    """Return the cells that a figure with a unit is said to be: of its unit, at the one level that the sentence names."""
    if (
        not quoted.unit
        or len(tables) != 1
        or len(re.findall(r"\d[\d,.]*\s?(?:tps|qps|ms|us|ops)", text, re.IGNORECASE)) != 1
    ):
        return []
    table = tables[0]
    levels = [place for place, column in enumerate(table.columns) if column.quantity == "concurrency"]
    said = re.findall(
        r"(\d[\d,]*)\s(?:threads?|clients?|connections?)|(?:线程|并发)数?(?:为|是)?\s?(\d+)|(\d+)\s?(?:个)?(?:线程|并发)",
        text,
        re.IGNORECASE,
    )
    if len(levels) != 1 or len(said) != 1:
        return []
    level = float("".join(said[0]).replace(",", ""))
    rows = [row for row in range(len(table.rows)) if (at := table.number(row, levels[0])) and at.value == level]
    if len(rows) != 1 or table.columns[levels[0]].role != "level":
        return []
    cells = [
        (table, rows[0], place, number)
        for place, column in enumerate(table.columns)
        if column.role == "metric" and column.unit == quoted.unit and (number := table.number(rows[0], place))
    ]
    # Whatever else it is about, it would not be of their order.
    return cells if cells and all(0.5 < quoted.value / one[3].value < 2 for one in cells if one[3].value) else []


def _beside(a: Point, b: Point) -> str:
    """Return two cells as printed, with what tells them apart."""
    columns = [f"{one.table.columns[one.place].heading} {one.number.printed}" for one in (a, b)]
    rows = [f"{one.table.label(one.row)}, " if a.row != b.row else "" for one in (a, b)]
    return f"{rows[0]}{columns[0]} against {rows[1]}{columns[1]}"


def _magnitude(one: Figure, other: Figure) -> bool:
    return 0.3 < one.value / other.value < 3 if other.value else False


def _one_slip(one: str, other: str) -> bool:
    if len(one) != len(other) or one == other:
        return False
    apart = [place for place, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    if len(apart) == 1:
        return True
    return (
        len(apart) == 2
        and apart[1] == apart[0] + 1
        and one[apart[0]] == other[apart[1]]
        and one[apart[1]] == other[apart[0]]
    )


# -- the same said of several cases ---------------------------------------------------------------------------------------


def _told_alike(read: Reading) -> Iterator[Outcome]:
    """Yield the paragraph whose figures are not whole multiples of each other, where those of all paragraphs like it are."""
    rows: list[tuple[Block, dict[str, Figure]]] = []
    for block in read.blocks:
        if block.kind in {"paragraph", "item"}:
            named = {
                " ".join(name.split()[-3:]): figures(number)[0]
                for name, number in SAID.findall(" ".join(block.text.split()))
            }
            rows.append((block, named))
    often = [name for name, count in Counter(name for _, named in rows for name in named).items() if count >= 5]
    for a, b in permutations(often, 2):
        both = [
            (block, named[a], named[b])
            for block, named in rows
            if a in named and b in named and 100 <= named[a].value <= named[b].value
        ]
        if len(both) < 5:
            continue
        off = [
            (block, x, y)
            for block, x, y in both
            if round(y.value / x.value) * x.low > y.high or round(y.value / x.value) * x.high < y.low
        ]
        # A rounded figure of three digits and more is a whole multiple of another by chance in one case of a hundred.
        if len(off) > max(1, len(both) // 5):
            continue
        yield Passed("identity", len(both) - len(off))
        for block, x, y in off:
            sentence = Sentence(" ".join(block.text.split()), block.line, "")
            ratio = y.value / x.value
            what = f"{b} is a whole multiple of {a} in {len(both) - len(off)} passages like this one, but not here."
            lines = [
                f"{y.printed} / {x.printed} = {ratio:.4g}; {round(ratio)} x {x.printed} = {shown(round(ratio) * x.value)}, {round(ratio) + 1} x {x.printed} = {shown((round(ratio) + 1) * x.value)}"
            ]
            yield sentence_finding(sentence, "identity", "contradiction", what, lines, 0.8)
