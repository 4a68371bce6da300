"""Cells by the words that name them: their metric, their level, their product."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from benchbook.documents.amounts import APART, DOWN, UP, in_figures
from benchbook.documents.columns import Column, rule_of
from benchbook.documents.numerals import Figure, figures
from benchbook.documents.tables import Table

METRIC_WORDS = {
    "throughput": r"throughput|(?<![a-z])(?:tps|qps|[km]?ops|rps|iops)|performance|吞吐|性能|tpmc|bandwidth|speed|每秒"
    r"|(?:transactions?|quer(?:y|ies)|requests?|operations?|rows?|inserts?|reads?|writes?|events?|messages?) (?:per|/|a) ?s",
    "latency": r"latenc|延迟|response|响应|duration",
    "percentile": r"latenc|p\d\d|percentile|延迟|分位",
    "mean": r"latenc|average|mean|延迟|duration|平均",
    "max": r"latenc|max|worst|延迟",
    "min": r"latenc|min|延迟",
    "time": r"\btime\b|duration|耗时|时间|seconds|\b(?:took|takes?|needs?|longer|as long)\b",
    "size": r"memory|size|space|内存|disk|storage",
    "usage": r"cpu|usage|utili[sz]ation|使用率|利用率",
    "cost": r"cost|price|成本|价格",
}
# What a heading may only abbreviate; any other quantity is named by its heading, for prices and sizes are of many things.
GENERAL = {"throughput", "latency", "percentile", "mean", "max", "min", "time"}
_SPEED = re.compile(r"\b(?:faster|slower|performance|speed\w*|quick\w*|outperforms?)\b|性能|更快|更慢", re.IGNORECASE)

_BRACKET = re.compile(r"\s*[(\[（].*")
METRIC_NAMES = re.compile(
    r"\b(?:tps|qps|ops|iops|rps|throughput|latenc\w+|time|p\d\d(?:\.\d+)?|avg|average|mean|median|\d\dth|percentile|transactions|queries|requests|per|sec(?:ond)?s?|"
    r"ms|us|cpu|usage)\b|平均|延迟|吞吐量?|[/_:]",
    re.IGNORECASE,
)
NO_NAME = re.compile(r"none|no|off|without|base(?:line)?|default|native", re.IGNORECASE)


class Point(NamedTuple):
    """A figure of a metric: what its row, its column and its table are called, by dimension, and what else its heading says."""

    table: Table
    row: int
    place: int
    names: dict[str, str]
    rest: str
    number: Figure
    change: float | None
    """The change in percent that is printed beside it."""

    @property
    def column(self) -> Column:
        """The column that it stands in."""
        return self.table.columns[self.place]

    @property
    def label(self) -> str:
        """The levels of its row in words."""
        return self.table.label(self.row)


@cache
def short_name(name: str) -> str:
    """Return a name without what stands in brackets behind it."""
    return _BRACKET.sub("", name).strip("*`_ ,") or name


def cells_of(table: Table) -> list[Point]:
    """Return every cell of a metric in a table, with its names by dimension."""
    levels = table.places("level") or [0]
    title = table.caption.strip("*:：_ \n") if len(table.caption) < 60 else ""
    title = title or table.heading
    changed = [
        row
        for row in range(len(table.rows))
        if (rule := rule_of(table.rows[row][levels[0]].text)) and rule.role == "delta"
    ]
    places = [place for place in table.places("metric") if place not in levels]
    products = {
        place: " ".join(METRIC_NAMES.sub(" ", short_name(table.columns[place].heading)).strip(" ,;-").split())
        for place in places
    }
    rests = {
        place: " ".join(table.columns[place].heading.replace(product, " ").split())
        if product
        else table.columns[place].heading
        for place, product in products.items()
    }
    alike = Counter((rest, table.columns[place].unit) for place, rest in rests.items())
    found = []
    for place in places:
        column = table.columns[place]
        # What no other column shares is no product: "Disk" of "Disk size" is of the metric.
        rest = rests[place] if alike[rests[place], column.unit] > 1 else column.heading
        beside = table.rows[changed[0]][place].figure if len(changed) == 1 else None
        for row, number in table.numbers(place).items():
            if row in changed or number.low <= 0:
                continue
            names = {table.columns[at].heading: table.rows[row][at].text.strip("*`_ ") for at in levels}
            said = rest
            for dimension, name in names.items():
                # "snappy, reads/s" is snappy's.
                own, _, tail = name.rpartition(", ")
                if own and (rule := rule_of(tail)) and rule.role == "metric":
                    names[dimension], said = own, f"{rest} {tail}".strip()
            names |= {"/column": products[place], "/table": title, "/metric": said}
            second = next((one for one in table.rows[row][place].figures[1:] if one.unit == "%"), beside)
            deltas = [at for at, one in enumerate(table.columns) if one.role == "delta" and one.unit == "%"]
            second = second or (table.number(row, deltas[0]) if len(deltas) == 1 else None)
            found.append(Point(table, row, place, names, said, number, second.value if second else None))
    return found


def said_names(text: str, candidates: Sequence[Point]) -> dict[str, list[tuple[int, str]]]:
    """Return the names of cells that a text says, by dimension, with their place; the longest name counts."""
    names = {(dimension, short_name(name)) for point in candidates for dimension, name in point.names.items()}
    masked, found = text, dict[str, list[tuple[int, str]]]()
    for dimension, name in sorted(names, key=lambda one: (one[0] in {"/table", "/metric"}, -len(one[1]), one)):
        others = tuple(sorted(other for at, other in names if at == dimension and other != name))
        pattern = _said(dimension, in_figures(name), others, text)
        if not pattern:
            continue
        for match in re.finditer(pattern, masked, re.IGNORECASE):
            found.setdefault(dimension, []).append((match.start(), name))
        if dimension != "/metric":
            masked = re.sub(pattern, lambda match: "\0" * len(match[0]), masked, flags=re.IGNORECASE)
    return {dimension: sorted(said) for dimension, said in found.items()}


_LOAD = r"(?:threads?|clients?|connections?|concurren\w*|线程|并发)"
# Behind a number that its noun does not follow: "from 8 to 32 clients", "with 8 threads than with 4".
_BARE = r"(?=\s*(?:[,.;:)]\s|$|[,.;:)]$|(?:to|and|or|than|with|when|in|for|is|are|has|does)\b))"


def _said(dimension: str, name: str, others: tuple[str, ...], text: str) -> str:
    """Return a pattern of what a text says where it names a level or a product; "" where it cannot be told."""
    head = short_name(dimension).removeprefix("/column").removeprefix("/table").removeprefix("/metric")
    version = dimension == "/column" and re.fullmatch(r"\d+(?:\.\d+)+", name)
    if not version and (number := re.fullmatch(r"([\d,.]*\d)(?:\s?([A-Za-z/ ]+))?", name)):
        noun = (number[2] or head.rpartition(" ")[2]).strip().removesuffix("s")
        noun = rf"(?:(?:{re.escape(head)}|{re.escape(noun)})s?)" if noun else r"(?!)"
        if re.search(
            r"thread|client|connection|concurren|线程|并发", f"{dimension}{number[2] or ''}", re.IGNORECASE
        ) or (dimension == "/column" and not number[2]):
            noun = _LOAD
        digits = (
            re.escape(f"{int(number[1].replace(',', '')):,}").replace(",", ",?")
            if re.fullmatch(r"[\d,]+", number[1])
            else re.escape(number[1])
        )
        bare = rf"|{_BARE}" if re.search(rf"\d\s?-?{noun}|\b{noun}", text, re.IGNORECASE) else ""
        between = rf"|(?:(?<=from )|(?<=to )|(?<=between )){digits}(?![\w%]|[.,]\d)(?=\s[a-z])" if bare else ""
        return rf"(?<![\d.,A-Za-z]){digits}(?![\d%]|[.,]\d)(?:(?:\s|-|个|concurrent )*{noun}(?![a-z]){bare})|{noun}\W{{0,3}}(?:数|is|was|of|=|为|at|\s){{0,2}}\s?{digits}(?![\d,.]*\d|\s?[%％x×]){between}"
    if len(name) == 1 and name.isupper():
        before = [rf"(?<={re.escape(word)} )" for word in ("of", "than", "and", "vs", "for", "with", head) if word]
        return rf"(?:{'|'.join(before)})(?-i:{name})(?![\w'’])"
    if len(name) < 2:
        return ""
    # point_select, Point select and point-select; scans of Scan.
    words = [re.escape(word) for word in re.split(r"[\s_-]+", name) if word]
    written = r"[\s_-]?".join(words)
    if len(name) > 3 and name[-1].isalpha() and name.isascii():
        written = f"{written.removesuffix('s')}(?:s|es)?"
    if NO_NAME.fullmatch(name) and len(head) > 3:
        written = rf"(?:{written}|(?:no|without|un)[\s-]?{re.escape(head[:8])}\w*)"
    first = name.split(maxsplit=1)[0].strip(",;")
    if (
        len(first) > 3
        and first[0].isupper()
        and dimension not in {"/table", "/metric"}
        and not any(other.startswith(first) for other in others)
    ):
        written = f"{written}|{re.escape(first)}"
    return rf"(?<![\w.]){'v?' if version else ''}(?:{written})(?![\w]|\.\d)"


def cells_at(points: list[Point], names: dict[str, list[tuple[int, str]]], but: str = "") -> list[Point]:
    """Return the points of the names that a sentence says, where it says one alone of a dimension."""
    for dimension, said in names.items():
        if dimension not in {but, "/metric"} and len({name for _, name in said}) == 1:
            points = [one for one in points if short_name(one.names.get(dimension, "")) == said[0][1]] or points
    return points


def cells_among(points: list[Point], names: dict[str, list[tuple[int, str]]], but: str = "") -> list[Point]:
    """Return the points of the names that a sentence says, of any number of them."""
    for dimension, places in names.items():
        if dimension not in {but, "/metric"}:
            said = {name for _, name in places}
            points = [one for one in points if short_name(one.names.get(dimension, "")) in said] or points
    return points


def all_named(points: list[Point], names: dict[str, list[tuple[int, str]]]) -> bool:
    """Return whether every name that a sentence says is one of these points'."""
    return all(
        name in {short_name(one.names[dimension]) for one in points}
        for dimension, places in names.items()
        for _, name in places
    )


BY_SPEED = 0.5
"""The score of a metric of which a text says no more than "faster"."""


def metric_score(text: str, point: Point) -> float:
    """Return how much a text says of the metric of a cell: the words of its heading, else of its quantity."""
    column = point.column
    score = 0.0
    ranks = re.findall(
        r"\b(?:p|tp)\s?(\d\d(?:\.\d+)?)\b|\b(\d\d(?:\.\d+)?)(?:th|%?\s(?:percentile|latenc))", text, re.IGNORECASE
    )
    if ranks:
        # One percentile is not another one.
        if column.percent is None or f"{column.percent:g}" not in {a or b for a, b in ranks}:
            return 0.0
        score += 2
    for word in re.findall(r"[A-Za-z]{3,}", _METRIC_STOP.sub(" ", short_name(point.rest))):
        stem = word[: max(4, len(word) - 2)]
        score += bool(re.search(rf"(?<![A-Za-z]){re.escape(stem)}[a-z]{{0,5}}(?![A-Za-z])", text, re.IGNORECASE))
    words = METRIC_WORDS.get(column.quantity, "")
    if words and re.search(words, text, re.IGNORECASE):
        score += 0.75
    elif column.quantity in GENERAL and column.better and _SPEED.search(text):
        score += BY_SPEED if column.quantity in {"throughput", "time"} else BY_SPEED / 2
    return score


_METRIC_STOP = re.compile(r"\b(?:per|sec|second|seconds|min|hour|the|and|with|for|ops)\b", re.IGNORECASE)


def metric_of(text: str, points: Sequence[Point]) -> list[Point]:
    """Return the cells of the metric that a text says most of; none where it says nothing of any."""
    scores = {(one.table.id, one.place): metric_score(text, one) for one in points}
    most = max(scores.values(), default=0.0)
    return [one for one in points if most > 0 and scores[one.table.id, one.place] == most]


# What a comparison may be "of", "with" or "than" without being of other things than a table has.
_ANYWHERE = re.compile(
    r"(?:the|an?|all|each|every|both|its|their|our|this|that|those|these|same|before|it|in|at|with|for|of|on|from|to|when|however|only|case|once|just)$"
    r"|latenc|throughput|time|quer|transaction|request|operation|thread|client|connection|worker|node|version|release|run|test|result|total|average|mean|percentile|p\d|workload"
    r"|comparison|contrast|factor|concurren|~?\d|(?:go|grow|doubl|mov|switch|chang|us|add|rais|increas|reduc|load|build|insert|writ|read)ing$|(?:tps|qps|ops)\b",
    re.IGNORECASE,
)
# Words that any comparison may have. Any other word may be of something that no table has, or deny what it names.
_COMPARING = set(
    "a about above across ahead all almost also always an and any approximately are around as at average be beats been below "
    "best better between both by case cases compared comparison consistently count counts deliver delivered delivers "
    "difference does each even every fast faster fastest few fewer fewest finishes for from gap get gets give gives had "
    "handles has have high higher highest in is it its itself just keep keeps large larger largest latency least less long "
    "longer longest low lower lowest many margin mean more most much nearly need needs of on one only or our outperform "
    "outperforms over overall per percent perform performs reach reached reaches relative remain remains responses roughly "
    "runs sec second seconds serve serves set short shorter shortest show shows slow slower slowest small smaller smallest "
    "stay stays sustains take takes than that the their these this those through throughout times to took total under "
    "uniformly up uses versus vs was we were when where which while with within worst x".split()
)
NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?!\s?[%％])")
_WORD = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z][A-Za-z0-9]*(?:\.\d+)*")


def speaks_of_others(text: str, table: Table, names: dict[str, list[tuple[int, str]]]) -> bool:
    """Return whether a sentence speaks of something that a table does not have, or of a level of it that no name binds."""
    said = {number for places in names.values() for _, name in places for number in NUMBER.findall(name)}
    levels = {cells[place].text for place in table.places("level") for cells in table.rows}
    loads = re.findall(rf"(?<![\w.,])(\d[\d,]*)\s{_LOAD}", text, re.IGNORECASE)
    if (set(NUMBER.findall(text)) & levels | set(loads)) - said:
        return True
    # Of the cells, what is said as a name: "all reads" are some rows, read_only and point_select say.
    known = " ".join(
        [
            table.section,
            table.caption,
            *(one.heading for one in table.columns),
            *(name for places in names.values() for _, name in places),
        ]
    )
    known = re.sub(r"[\s_-]+", " ", known.lower())
    metrics = "|".join(METRIC_WORDS[one] for one in {each.quantity for each in table.columns} if one in METRIC_WORDS)
    if re.search(r"\bper (?!s|min|hour)|\beach (?:of|node|core|server|machine|host)\b", text, re.IGNORECASE):
        return True
    # "In our second run": "second" and "run" stand in many a sentence that compares, together they are another table's.
    runs = r"\b(?:first|second|third|last|next|other|another) (?:run|test|round|version|release|workload|node|client)"
    if (other := re.search(runs, text, re.IGNORECASE)) and other[0].lower() not in known:
        return True
    for one in reversed(figures(text)):
        text = f"{text[: one.start]} {text[one.end :]}"
    for match in _WORD.finditer(text):
        if (version := re.match(r"\s(\d+(?:\.\d+)+)", text[match.end() :])) and version[1] in said:
            continue  # "AcmeDB 4.2" where a column is headed 4.2
        word = match[0].lower()
        stem = re.escape(word[: max(4, len(word) - 2)]) + (r"\b" if len(word) < 4 else "")
        if (
            word not in _COMPARING
            and not _ANYWHERE.match(word)
            and not re.search(rf"\b{stem}", known)
            and not re.search(rf"{metrics or '$^'}|^(?:{UP}|{DOWN}|{APART})", word)
        ):
            return True
    return False
