"""Sentences of a document, English and Chinese, held against its tables and against themselves.

A sentence is checked where its words bind it to one reading, or to several that agree. Where they do not, it is
counted as not bound, and is never a finding. The patterns are a table; each has an example, and these are its tests.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import permutations
from statistics import fmean
from typing import NamedTuple

from benchbook.documents.amounts import DOWN, UP
from benchbook.documents.cell_findings import MOST_ROWS
from benchbook.documents.comparisons import MOOD, Cells
from benchbook.documents.findings import Finding, Passed
from benchbook.documents.named_cells import METRIC_WORDS, speaks_of_others
from benchbook.documents.numerals import UNITS, Figure, figures
from benchbook.documents.passages import NotBound, Outcome, Sentence, sentence_finding, split
from benchbook.documents.tables import Reading, Table
from benchbook.documents.units import factor

_N = r"(?P<{0}>(?<![\w.,])[~≈]?\d[\d,.]*\d|(?<![\w.,])\d)(?![.,]?\d)(?P<{0}_m>\s?(?:k|K|M|万|亿|million|thousand|billion)(?![A-Za-z]))?"


def _number(name: str) -> str:
    return _N.format(name)


_NUMBER = r"(?P<percent>\d[\d,]*(?:\.\d+)?)"
_PERCENT = rf"{_NUMBER}\s?(?:%|percent|per cent|％)"
_AMOUNT = rf"{_NUMBER}\s?(?:%|percent|per cent|％|(?P<times>[x×](?![A-Za-z])|times|倍))"
_UNITS = r"(?:\s?(?!(?:to|per|and|or|in|of)\b)[A-Za-zµμ/%]{1,12}){0,2}"
_PAIR = (
    rf"(?:(?P<from>from|从|由)\s?)?(?:about |around |约)?{_number('a')}(?P<a_u>{_UNITS})\s?"
    r"(?(from)(?:to|down to|up to|到|至|提升到|提升至|增加到|增长到|下降到|降低到|降至|上升到|减少到|→|->)|(?:→|->|(?<=\s)(?:vs\.?|versus|compared (?:to|with)|against)(?=\s)))"
    rf"\s?(?:about |around |约)?{_number('b')}(?P<b_u>{_UNITS})"
)
"""Two figures, from one to another or side by side."""


def _of(match: re.Match[str], name: str) -> Figure | None:
    found = figures(f"{match[name].lstrip('~≈')}{match[f'{name}_m'] or ''}")
    return found[0] if len(found) == 1 and found[0].low > 0 else None


# -- arithmetic within one sentence -------------------------------------------------------------------------------------


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
        for place in table.places("level") or [0]:
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
        a = a.times(scale)
    # Another figure between them, a reference or a second clause: which change is meant is not sure.
    if (
        re.search(r"(?:from|从|由)\s?$|[%％]\s?[,，;；].*\D", said[: match.start("percent") - match.start()])
        or a is None
        or b is None
        or scale is None
        or not printed
        # "99%: 10 ms vs 14 ms" is of a percentile; "25% more (1,200 vs 1,500)" says a change, as "+25%" and "25x" do.
        or not (
            match.start("a") < match.start("percent")
            or match["from"]
            or match["times"]
            or re.search(rf"{UP}|{DOWN}|[+−-]\d", sentence.text[: match.start("a")], re.IGNORECASE)
        )
        # "5,326 -> 4,589 tps from 200 to 400 threads, -14%": the levels of a load do not change by that.
        or _is_level(read, match["b_u"])
        or re.search(
            r"respectively|分别|每|per cent of|percentile|%\s?(?:of|confidence|percentile)",
            sentence.text[match.end() - 1 :][:30] + said,
        )
    ):
        yield NotBound(sentence)
        return
    amount, whole, mark = printed[0], 1 if match["times"] else 100, " times" if match["times"] else "%"
    room = _room(amount, sentence.text)
    # More or less than the first or the second one, or so many times (or percent of) it.
    ratios = [(y.low / x.high, y.high / x.low) for x, y in ((a, b), (b, a))]
    ways = [(whole * (low - more), whole * (high - more)) for low, high in ratios for more in (0, 1)]
    if any(low - room <= sign * amount.value <= high + room for low, high in ways for sign in (1, -1)):
        yield Passed("sentence", 1)
        return
    if _are_levels(read, _of(match, "a"), _of(match, "b"), unit=UNITS.get(match["b_u"].strip().partition(" ")[0], "")):
        yield NotBound(sentence)
        return
    value = max(a.value, b.value) / min(a.value, b.value) if match["times"] else (b.value / a.value - 1) * 100
    what = f"The sentence gives {amount.printed}{mark}, but from {a.printed} to {b.printed} is {value:.3g}{mark}."
    lines = [f"{b.printed} against {a.printed}: {value:.4g}{mark}; printed {amount.printed}{mark}"]
    yield sentence_finding(sentence, "sentence", "contradiction", what, lines, 0.8)


def _room(percent: Figure, text: str) -> float:
    """Return how far off a percentage may be: one of its last place, and of itself more where it is told as a round one."""
    is_round = re.search(r"about|around|roughly|nearly|almost|more than|over|约|超过", text)
    return max(percent.place, 0.06 * percent.value) if is_round else percent.place


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
        # Of several, those whose caption the sentence names.
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


def _linear(read: Reading, sentence: Sentence, match: re.Match[str]) -> Iterator[Outcome]:
    hedged = re.search(
        r"\b(?:not|nothing|than|near\w*|almost|sub|roughly|until|up to|approximately|quasi|close to|non|super|fairly|if|should|would|expect\w*)\b|接近|近似|非线性|不是|基本",
        sentence.text,
        re.IGNORECASE,
    )
    tables = _near(read, sentence)
    ladders = [(table, *ladder) for table in tables for ladder in _ladders(table)]
    bound = [one for one in ladders if _is_about(sentence.text, one[0], one[2])] or ladders
    bound = bound or [(table, *ladder) for table in read.tables for ladder in _ladders(table, sentence.text)]
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


def _of_changes(read: Reading, sentence: Sentence, match: re.Match[str]) -> Iterator[Outcome]:
    """Hold "up to n%" and "n% on average" against the one column of changes of its section: its largest, or its mean."""
    name, text = ("largest" if "most" in match.groupdict() else "mean"), sentence.text
    percent = figures(next(filter(None, match.groups())))[0]
    room = _room(percent, text)
    columns = [
        (table, table.columns[place].heading, changes)
        for table in _near(read, sentence)
        for place in table.places("delta")
        if table.columns[place].unit == "%" and len(changes := _changes(table, place)) > 1
        if _is_of_changes(text, table, table.columns[place].heading)
        and max(len(table.rows), len(table.columns)) <= MOST_ROWS
    ]
    if len(columns) != 1:
        yield NotBound(sentence)
        return
    table, heading, changes = columns[0]
    value = abs(max(changes, key=abs) if name == "largest" else fmean(changes))
    if abs(value - percent.value) <= room:
        yield Passed("sentence", 1)
    # It may be of some of the rows, or of two other figures of the table.
    elif (
        speaks_of_others(text, table, {})
        or MOOD.search(text)
        or any(abs(one - percent.value) <= room for one in _percentages(table))
    ):
        yield NotBound(sentence)
    else:
        what = f"The sentence says {percent.printed}%; the {name} {heading} in {table.name} is {value:.4g}%, and no two figures of the table give {percent.printed}%."
        lines = [f"{name} of {', '.join(f'{one:g}' for one in changes[:12])} = {value:.4g}; printed {percent.printed}%"]
        yield sentence_finding(sentence, "sentence", "suspicious", what, lines, 0.7)


def _changes(table: Table, place: int) -> list[float]:
    rows = table.numbers(place).items()
    return [
        one.value
        for row, one in rows
        if not re.search(r"average|mean|total|平均", table.rows[row][0].text, re.IGNORECASE)
    ]


def _is_of_changes(text: str, table: Table, heading: str) -> bool:
    """Return whether a text names the metric that a column of changes is of, by its heading or by what stands around it."""
    around = " ".join([table.caption, table.section, *(column.heading for column in table.columns)])
    metrics = [METRIC_WORDS[name] for name in ("throughput", "latency", "time", "size", "usage", "cost")]
    of = heading if any(re.search(words, heading, re.IGNORECASE) for words in metrics) else around
    ranks = re.findall(r"\bp\d\d+\b|\b\d\dth\b", text.lower())
    return all(rank in of.lower() for rank in ranks) and any(
        re.search(words, text, re.IGNORECASE) and re.search(words, of, re.IGNORECASE) for words in metrics
    )


def _percentages(table: Table) -> Iterator[float]:
    """Yield every percentage that a table prints, and how far any two figures of a row or of a column are apart."""
    for cells in table.rows:
        yield from (abs(one.value) for cell in cells for one in cell.figures if one.unit in {"", "%"})
    columns = [table.numbers(place) for place in table.places("metric")]
    rows = [[column[row] for column in columns if row in column] for row in range(len(table.rows))]
    for line in [*rows, *([*column.values()] for column in columns)]:
        yield from (abs(y.value / x.value - 1) * 100 for x, y in permutations(line, 2) if x.value > 0)


def _ladders(table: Table, called_in: str = "") -> Iterator[tuple[int, int, list[int]]]:
    """Yield a level, a metric, and the rows along them: of the one ladder of a table, or of those that a text calls by name.

    It calls its level and its metric, and the ends of the level: "QPS grows linearly from 1 to 8 replicas".
    """
    ends = re.search(r"\bfrom (\d[\d,]*) to (\d[\d,]*)\b", called_in)
    found = []
    for level, head in enumerate(table.columns):
        x = table.numbers(level)
        if head.role == "level" and len(x) >= 3:
            found.append((level, head, [number.value for number in x.values()], x))
    if not called_in and len(found) > 1:
        return
    for level, head, steps, rows in found:
        if steps != sorted(set(steps)) or (
            called_in
            and not (
                ends
                and [steps[0], steps[-1]] == [float(end.replace(",", "")) for end in ends.groups()]
                and _calls(called_in, head.heading)
            )
        ):
            continue
        for place, column in enumerate(table.columns):
            if column.quantity in {"throughput", "time"} and (not called_in or _calls(called_in, column.heading)):
                yield level, place, [row for row in rows if table.number(row, place)]


def _calls(text: str, heading: str) -> bool:
    return bool(re.search(rf"\b{re.escape(heading)}\b", text, re.IGNORECASE))


def _peak(read: Reading, sentence: Sentence, match: re.Match[str]) -> Iterator[Outcome]:
    quoted = _of(match, "a")
    tables = _near(read, sentence)
    if quoted is None or not tables:
        yield NotBound(sentence)
        return
    for table in tables:
        for place, column in enumerate(table.columns):
            numbers = table.numbers(place).values()
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
        near = [
            one
            for one in cells
            if _one_slip(digits, re.sub(r"\D", "", one[3].printed))
            and _is_about(sentence.text, one[0], one[2])
            and 0.3 < quoted.value / (one[3].value or quoted.value) < 3
        ]
        if len(near) == 1:
            table, row, place, number = near[0]
            what = f"The text says {quoted.printed}; {table.columns[place].heading} of {table.label(row)} is {number.printed} in {table.name}: a digit may have slipped."
            lines = [f"{quoted.printed} in the text, {number.printed} in the table"]
            yield sentence_finding(sentence, "quoted figure", "suspicious", what, lines, 0.7)


def _one_slip(one: str, other: str) -> bool:
    """Return whether digits differ in one place, or in two neighbours that were exchanged."""
    apart = [place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    exchanged = len(apart) == 2 and apart[1] == apart[0] + 1 and sorted(one) == sorted(other)
    return len(one) == len(other) and (len(apart) == 1 or exchanged)


class Pattern(NamedTuple):
    """How a sentence says something, and what holds that against the document; `example` matches."""

    check: Callable[[Reading, Sentence, re.Match[str]], Iterator[Outcome]]
    pattern: re.Pattern[str]
    example: str


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


PATTERNS = [
    Pattern(
        _change,
        _compiled(
            rf"{_PAIR}(?(from)[^.。;；%\d]{{0,40}}?|\s?[(（]?,?\s?(?:an? |is |i\.e\. |which is )?[+−-]?){_AMOUNT}"
        ),
        "1,500 QPS vs 1,200 QPS (+25%)",
    ),
    Pattern(
        _change,
        _compiled(rf"{_AMOUNT}\**(?:\s(?:{UP}|{DOWN})\b[^.。;；:：(（\d]{{0,30}})?\s?\**\s?[:：(（]\s?{_PAIR}"),
        "32x slower than by index (4,065s vs 128s)",
    ),
    Pattern(
        _impossible,
        _compiled(
            rf"(?:{_PERCENT}\s(?:fewer|less|lower|smaller|reduction|decrease|drop|shorter)|(?:reduc\w+|decreas\w+|lower\w*|drop\w*|cut)\b(?: \w+){{0,4}}? by (?:about |up to |over |more than )?(?P<percent2>\d[\d,]*(?:\.\d+)?)\s?%|(?:下降|减少|降低|缩短)了?\s?(?P<percent3>\d+(?:\.\d+)?)\s?[%％])"
        ),
        "It needs 111% fewer instructions",
    ),
    Pattern(
        _linear,
        _compiled(
            r"\b(?:scales?|scaling|grows?|growth|increases?|rises?|improves?)\b[^.]{0,30}\b(?<!near-)(?<!sub-)(?<!super-)linear(?:ly)?\b|\blinear (?:scal\w+|growth|increase)\b|线性(?:增长|提升|扩展|增加)"
        ),
        "Throughput scales linearly with the number of threads",
    ),
    Pattern(
        _of_changes,
        _compiled(
            rf"(?:\b(?:up to|as much as|at most|a maximum of)|最高|最多|高达)\s?(?:提升|提高)?\s?(?:~|about )?{_PERCENT.replace('percent>', 'most>')}"
        ),
        "TPS improves by up to 40%",
    ),
    Pattern(
        _of_changes,
        _compiled(
            rf"(?:\b(?:on average|averag(?:es|ing)|an average of|average (?:{UP}|{DOWN}))\b|平均(?={UP}|{DOWN}))[^.%]{{0,40}}?{_PERCENT}|{_PERCENT.replace('percent>', 'percent2>')}[^.%]{{0,30}}?\bon average\b"
        ),
        "TPS improves by 12.5% on average",
    ),
    Pattern(
        _peak,
        _compiled(
            rf"\b(?:peaks?|peaked|maximum|highest|best|top(?:s|ped)? out)\b[^.\d]{{0,50}}?\b(?:at|of|is|was|reaches|reached|with)\s(?:about |around )?{_number('a')}\s?(?P<unit>tps|qps|ops/s\w*|ops|rps|iops|MB/s|GB/s|requests/s\w*|req/s\w*)"
        ),
        "Throughput peaks at 12,345 QPS",
    ),
]


def by_sentence(read: Reading) -> Iterator[tuple[Sentence, list[Outcome]]]:
    """Yield every sentence of a document with what it comes to."""
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
                found += pattern.check(read, sentence, match)
        named = list(cells.outcomes(sentence))
        found += (
            named if any(isinstance(one, Finding) for one in named) else [*_quoted(read, sentence, printed), *named]
        )
        # A sentence of which one part was bound is no longer one that was not.
        bound = any(isinstance(one, Finding) or (isinstance(one, Passed) and one.kind != "impossible") for one in found)
        yield sentence, [one for one in found if not (bound and isinstance(one, NotBound))]
