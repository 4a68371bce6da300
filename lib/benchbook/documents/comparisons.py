"""Sentences that compare two named things, order several, or quote one cell, held against the cells that their words name.

A cell is named by the words around it: the levels of its row, the product in its heading. What a sentence calls by
name selects cells; the cells of two names, alike in all else, are the pairs that "30% faster than" may speak of.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from benchbook.documents.columns import rule_of
from benchbook.documents.numerals import Figure, figures
from benchbook.documents.tables import Reading, Table
from benchbook.documents.units import is_rate, is_time

METRIC_WORDS = {
    "throughput": r"throughput|tps|qps|ops|rps|iops|performance|requests? (?:per|/) ?s|吞吐|性能|tpmc|bandwidth|speed|每秒",
    "latency": r"latenc|延迟|response|响应|duration", "percentile": r"latenc|p\d\d|percentile|延迟|\d\d%|分位", "mean": r"latenc|average|mean|延迟|duration|平均",
    "max": r"latenc|max|worst|延迟", "min": r"latenc|min|延迟", "time": r"\btime\b|duration|耗时|时间|seconds|\btook\b|\btakes\b", "size": r"memory|size|space|内存|disk|storage",
    "usage": r"cpu|usage|utili[sz]ation|使用率|利用率", "cost": r"cost|price|成本|价格",
}  # fmt: skip
_SPEED = re.compile(r"\b(?:faster|slower|performance|speed\w*|quick\w*|outperforms?)\b|性能|更快|更慢", re.IGNORECASE)
_ABOUT = r"(?:about |around |roughly |approximately |nearly |almost |over |more than |at least |up to |as much as |an average of |only |~\s?|约|大约|近|超过|至少|最多|高达|了|至原来的)*"
_N = r"(?P<n{0}>\d[\d,]*(?:\.\d+)?)(?:\s?%?\s?(?:[~–—-]|to)\s?(?P<m{0}>\d[\d,]*(?:\.\d+)?))?\s?(?P<u{0}>%|％|percent|[x×X](?![A-Za-z])|times|倍)"
UP = r"faster|higher|more|greater|larger|better|increas\w+|improv\w+|gains?|grow\w*|grew|rais\w+|ris\w+|rose|boost\w*|speed-?up|提升|提高|增加|增长|上升|高出"
DOWN = r"slower|fewer|less|lower|smaller|worse|reduc\w+|decreas\w+|declin\w+|drop\w*|degrad\w+|下降|减少|降低|缩短"
_BEHIND = re.compile(rf"(?P<about>{_ABOUT}){_N.format('')}\s?(?:(?!of\b|the\b|and\b|or\b)[a-z]+\s){{0,2}}?(?P<way>{UP}|{DOWN})", re.IGNORECASE)  # fmt: skip
_BEFORE = re.compile(rf"(?P<way>{UP}|{DOWN})(?:\s(?:\w+\s){{0,3}}?by\s|\s?)(?P<about>{_ABOUT}){_N.format('')}", re.IGNORECASE)  # fmt: skip
_HOW_FAR = re.compile(r"\d\s?(?:%|％|percent|[x×X](?![A-Za-z])|times|倍)", re.IGNORECASE)
_PIVOT = re.compile(r"\b(?:than|compared (?:to|with)|in comparison (?:to|with)|versus|vs\.?|against|relative to|over)\b|比|相比|较", re.IGNORECASE)  # fmt: skip
_MOOD = re.compile(r"\b(?:if|should|would|could|may|might|expect\w*|theor\w+|goal|target|claims?|ideal\w*|previous\w*|earlier)\b|如果|预期|理论|可能", re.IGNORECASE)  # fmt: skip
_BRACKET = re.compile(r"\s*[(\[（].*")
_METRIC = re.compile(
    r"\b(?:tps|qps|ops|iops|rps|throughput|latenc\w+|time|p\d\d(?:\.\d+)?|avg|average|mean|median|\d\dth|percentile|transactions|queries|requests|per|sec(?:ond)?s?|"
    r"ms|us|cpu|usage)\b|平均|延迟|吞吐量?|[/_:]", re.IGNORECASE,
)  # fmt: skip


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


class Claim(NamedTuple):
    """What a sentence says of two things: between `low` and `high` percent (or times) apart, and which way."""

    low: float
    high: float
    times: bool
    way: str
    """ "more", "less" for figures; "better", "worse" for what they mean."""
    about: bool
    place: float
    printed: str


Pair = tuple[Point, Point]


class Compared(NamedTuple):
    """A claim that was bound, the pairs of cells that it is about, and whether it holds; else it is wrong for all of them."""

    claim: Claim
    holds: bool
    pairs: list[Pair]


class Ordered(NamedTuple):
    """Two things that a sentence puts in order; the pairs of cells in which it is right, and those in which it is wrong."""

    first: str
    last: str
    right: list[Pair]
    wrong: list[Pair]


class Quoted(NamedTuple):
    """A figure that a sentence gives for the one cell that its words name."""

    figure: Figure
    cell: Point
    holds: bool


def claims(text: str) -> list[Claim]:
    """Return what a sentence says of how far two things are apart."""
    found: dict[int, Claim] = {}
    for pattern in (_BEHIND, _BEFORE) if _HOW_FAR.search(text) else ():
        for match in pattern.finditer(text):
            low = figures(match["n"])
            high = figures(match["m"]) if match["m"] else low
            if (
                not low
                or not high
                or match.start("n") in found
                or re.search(r"(?:from|从)\s?$", text[: match.start("n")])
            ):
                continue
            word = match["way"].lower()
            way = "more"
            if re.match(r"faster|better|improv|gain|boost|speed|提升|提高", word):
                way = "better"
            elif re.match(r"slower|worse|degrad", word):
                way = "worse"
            elif re.match(DOWN, word):
                way = "less"
            times = match["u"].lower() in {"x", "×", "times", "倍"}
            about = bool(match["about"].strip("了 ")) or bool(match["m"])
            found[match.start("n")] = Claim(low[0].value, high[0].value, times, way, about, low[0].place, match[0].strip())  # fmt: skip
    return [found[at] for at in sorted(found)]


class Cells:
    """The cells of a document by their names, to be found by the words of its sentences."""

    def __init__(self, read: Reading) -> None:
        self.points = {table.id: points for table in read.tables if (points := _points(table))}
        self.tables = [table for table in read.tables if table.id in self.points]
        self.titles = {one.id: _words(one.section.rpartition(" > ")[2]) for one in self.tables}
        self.around: dict[str, str] = {}
        section = ""
        for block in read.blocks:
            section = block.text.strip() if block.kind == "heading" else section
            if block.kind in {"paragraph", "item"}:
                self.around[section] = f"{self.around.get(section, '')} {block.text}"[:2000]

    def near(self, text: str, section: str) -> list[Table]:
        """Return the tables of a section; without any, those whose section the text names, or of the nearest section around."""
        if mine := [one for one in self.tables if one.section == section]:
            return mine
        said = _words(text)
        if named := [one for one in self.tables if len(self.titles[one.id]) > 1 and self.titles[one.id] <= said]:
            return named
        path = section.split(" > ")
        for depth in range(len(path) - 1, 0, -1):
            around = " > ".join(path[:depth])
            if mine := [one for one in self.tables if f"{one.section} > ".startswith(f"{around} > ")]:
                return mine
        return self.tables

    def groups(self, text: str, section: str) -> list[list[Point]]:
        """Return the cells that a sentence may be about: of each table near it, and of tables with the same headings."""
        tables = self.near(text, section)
        alike: dict[tuple[str, ...], list[Table]] = {}
        for table in tables:
            alike.setdefault(tuple(_METRIC.sub("", one.heading) if one.role == "metric" else one.heading for one in table.columns), []).append(table)  # fmt: skip
        each = [self.points[table.id] for table in tables]
        return each + [
            [one for table in group for one in self.points[table.id]] for group in alike.values() if len(group) > 1
        ]

    def better(self, point: Point) -> str:
        """Return whether more of a cell's metric is better, or less; what is told around its table may say it."""
        column = point.table.columns[point.place]
        text = f"{point.table.caption} {self.around.get(point.table.section.rpartition(' > ')[2], '')}"
        said = not column.unit and re.search(
            r"\btime\b[^.]{0,40}\bin (?:milli)?seconds\b|latency in|耗时", text, re.IGNORECASE
        )
        return column.better or ("less" if is_time(column.unit) or said else "more" if is_rate(column.unit) else "")

    def compared(self, text: str, section: str) -> list[Compared]:
        """Return the claims of a sentence that its words bind to cells."""
        said = claims(text)
        groups = self.groups(text, section) if said and len(text) < 600 else []
        own = any(table.section == section for table in self.tables)
        found = []
        for claim in said:
            bound = [
                one
                for group in groups
                if group and (one := self._bound(group, text, claim, own=own, single=len(said) == 1))
            ]
            holding = [one for one in bound if one.holds]
            found += holding[:1] or (bound if len(bound) == 1 else [])
        return found

    def _bound(self, group: list[Point], text: str, claim: Claim, *, own: bool, single: bool) -> Compared | None:
        metric = [one for one in group if _about(text, one, exactly=True)] or [
            one for one in group if _about(text, one)
        ]
        names = said_names(text, metric or group)
        kept = metric or group
        counts = {dimension: len({name for _, name in said}) for dimension, said in names.items()}
        for dimension in (one for one, count in counts.items() if count == 1):
            kept = [one for one in kept if _short(one.names.get(dimension, "")) == names[dimension][0][1]] or kept
        two = [dimension for dimension, count in counts.items() if count == 2]
        sure = False
        if len(two) == 1:
            dimension = two[0]
            subject, base, sure = _order(text, names[dimension])
        else:
            every: dict[str, list[str]] = {}
            for one in metric or group:
                for dimension, name in one.names.items():
                    every.setdefault(dimension, []).append(_short(name))
            pairs_of = [(one, list(dict.fromkeys(all_))) for one, all_ in every.items() if len(set(all_)) == 2]
            if two or len(pairs_of) != 1:
                return self._changed(kept, claim) if metric else None
            dimension, (base, subject) = pairs_of[0]
            kept = [one for one in (metric or group) if all(_short(one.names.get(other, "")) == names[other][0][1] for other in counts if other != dimension)] or kept  # fmt: skip
        pairs = _pairs(kept, dimension, subject, base)
        if not pairs:
            return self._changed(kept, claim) if metric else None
        right = [(a, b) for a, b in pairs if not sure or self._right_way(claim, a, b)]
        sides = [_apart(claim, a, b) for a, b in right]
        means = [sum(way) / len(way) for way in zip(*sides, strict=True)]
        room = claim.place + (0.12 * claim.high if claim.about else 0)
        flat = [value for way in sides for value in way]
        holds = any(_fits(claim, a, b) for a, b in right) or any(
            claim.low - room <= mean <= claim.high + room for mean in means
        )
        # A round figure for many pairs is one of their range.
        holds = holds or (
            claim.about
            and (own or len(two) == 1)
            and len(pairs) > 1
            and bool(flat)
            and min(flat) <= claim.high
            and claim.low <= max(flat)
        )
        if holds:
            return Compared(claim, True, pairs)
        unit = pairs[0][0].table.columns[pairs[0][0].place].unit
        strict = (
            own
            and single
            and sure
            and metric
            and unit not in {"", "%"}
            and not _MOOD.search(text)
            and not re.search(r"average|平均", text)
        )
        far = (
            not flat
            or claim.low > 1.2 * max(flat)
            or (len(pairs) == 1 and claim.high < min(flat) / 1.2 and not claim.about)
        )
        return Compared(claim, False, pairs) if strict and far else None

    @staticmethod
    def _changed(kept: list[Point], claim: Claim) -> Compared | None:
        """Hold a claim against the changes that are printed beside the cells that it is about."""
        changes = [abs(one.change) for one in kept if one.change is not None]
        if not changes or claim.times:
            return None
        room = claim.place + (0.12 * claim.high if claim.about else 0)
        fits = len(set(changes)) <= 2 or claim.about or claim.place < 1
        near = any(claim.low - room <= one <= claim.high + room for one in changes if fits)
        return Compared(claim, True, []) if near or claim.low - room <= median(changes) <= claim.high + room else None

    def _right_way(self, claim: Claim, a: Point, b: Point) -> bool:
        better, more = self.better(a), a.number.value > b.number.value
        if claim.way in {"better", "worse"}:
            return not better or (more == (better == "more")) == (claim.way == "better")
        return more == (claim.way == "more")

    def ordered(self, text: str, section: str) -> list[Ordered]:
        """Return the orders that a sentence gives: "A > B > C", "A outperforms B"."""
        beats = _BEATS.search(text)
        if (
            (not beats and len(_CHAIN.findall(text)) < 2)
            or claims(text)
            or _MOOD.search(text)
            or re.search(r"\b(?:not|cannot|never|most|some|except)\b|n['’]t\b", text)
        ):
            return []
        worse = bool(beats and re.search("slower|worse", beats[0], re.IGNORECASE))
        found: dict[tuple[str, str], Ordered] = {}
        for group in self.groups(text, section):
            candidates = [one for one in group if self.better(one)]
            candidates = [one for one in candidates if _about(text, one, exactly=True)] or candidates
            for dimension, said in said_names(text, candidates).items():
                names = list(dict.fromkeys(name for _, name in said))
                if beats:
                    before = [name for at, name in said if at < beats.start()]
                    turn = _TURN.search(text, beats.end())
                    behind = [name for at, name in said if beats.end() <= at < (turn.start() if turn else len(text))]
                    pairs = [(before[-1], name) for name in behind] if before else []
                else:
                    pairs = list(pairwise(names))
                for first, last in pairs:
                    both = _pairs(candidates, dimension, first, last) if first != last else []
                    right = [
                        (a, b)
                        for a, b in both
                        if a.number.value == b.number.value
                        or ((a.number.value > b.number.value) == (self.better(a) == "more")) != worse
                    ]
                    wrong = [pair for pair in both if pair not in right]
                    old = found.get((first, last), Ordered(first, last, [], []))
                    if both:
                        found[first, last] = Ordered(first, last, old.right + right, old.wrong + wrong)
        return list(found.values())

    def quoted(self, text: str, section: str) -> Quoted | None:
        """Return the one figure of a sentence that calls one cell by two names or more: its product, and its load."""
        tables = [one for one in self.tables if one.section == section]
        if len(tables) != 1 or not re.search(r"\d{3}|\d\.\d\d", text):
            return None
        told = [
            one
            for one in figures(text)
            if one.exact and len(re.sub(r"\D", "", one.printed).strip("0")) >= 3 and one.unit not in {"", "%", "x", "1"}
        ]
        if len(told) != 1 or _MOOD.search(text) or re.search(r"\bfrom \d|average|平均", text):
            return None
        cells = self.points[tables[0].id]
        metric = [one for one in cells if _about(text, one, exactly=True)]
        names = said_names(text, cells)
        if len(names) + bool(metric) < 2 or any(len({name for _, name in said}) > 1 for said in names.values()):
            return None
        kept = [
            one for one in metric or cells if all(_short(one.names[each]) == said[0][1] for each, said in names.items())
        ]
        unit = tables[0].columns[kept[0].place].unit if kept else ""
        if (
            len(kept) != 1
            or (unit or ("" if len(names) > 1 else "none")) not in {"", told[0].unit}
            or not 0.1 < told[0].value / (kept[0].number.value or 1) < 10
        ):
            return None
        number = kept[0].number
        return Quoted(told[0], kept[0], number.low <= told[0].high and told[0].low <= number.high)


_CHAIN = re.compile(r"(?<=[\w)）])\s?[>＞]\s?(?=[A-Za-z])")
_BEATS = re.compile(
    r"\b(?:outperforms?|beats?|(?:is|are|was|were) (?:much |significantly |noticeably |far )?(?:faster|better|slower|worse) than)\b|优于|好于", re.IGNORECASE
)  # fmt: skip
# What follows is said of something else: "faster than B, but slower than C".
_TURN = re.compile(
    r"\b(?:but|while|whereas|(?:al)?though|yet|however|than)\b|[;；]|而|但", re.IGNORECASE
)  # fmt: skip
# Words of many titles: they do not tell one section from another.
_COMMON = set("benchmark benchmarks test tests dataset data results result the of performance and for with".split())


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) - _COMMON


def _short(name: str) -> str:
    return _BRACKET.sub("", name).strip("*`_ ") or name


def _points(table: Table) -> list[Point]:
    levels = [place for place, one in enumerate(table.columns) if one.role == "level"] or [0]
    title = table.caption.strip("*:：_ \n") if len(table.caption) < 60 else ""
    title = title or table.section.rpartition(" > ")[2]
    changed = [
        row
        for row in range(len(table.rows))
        if (rule := rule_of(table.rows[row][levels[0]].text)) and rule.role == "delta"
    ]
    found = []
    for place, column in enumerate(table.columns):
        if column.role != "metric" or place in levels:
            continue
        product = " ".join(_METRIC.sub(" ", _short(column.heading)).split())
        rest = " ".join(column.heading.replace(product, " ").split()) if product else column.heading
        beside = table.rows[changed[0]][place].figure if len(changed) == 1 else None
        for row in range(len(table.rows)):
            if row in changed or (number := table.number(row, place)) is None or number.low <= 0:
                continue
            names = {table.columns[at].heading: table.rows[row][at].text.strip("*`_ ") for at in levels} | {
                "/column": product,
                "/table": title,
            }
            second = next((one for one in table.rows[row][place].figures[1:] if one.unit == "%"), beside)
            deltas = [at for at, one in enumerate(table.columns) if one.role == "delta" and one.unit == "%"]
            second = second or (table.number(row, deltas[0]) if len(deltas) == 1 else None)
            found.append(Point(table, row, place, names, rest, number, second.value if second else None))
    return found


def said_names(text: str, candidates: Sequence[Point]) -> dict[str, list[tuple[int, str]]]:
    """Return the names of cells that a text says, by dimension, with their place; the longest name counts."""
    names = {(dimension, _short(name)) for point in candidates for dimension, name in point.names.items()}
    masked, found = text, dict[str, list[tuple[int, str]]]()
    for dimension, name in sorted(names, key=lambda one: (one[0] == "/table", -len(one[1]), one)):
        if re.fullmatch(r"[\d,.]+", name):
            noun = re.escape(dimension.rstrip("s")) + "s?"
            if re.search(r"thread|client|connection|concurren|线程|并发|/column", dimension, re.IGNORECASE):
                noun = r"(?:threads?|clients?|connections?|concurren\w*|线程|并发)"
            pattern = rf"(?<![\d.,]){re.escape(name)}\s?(?:个|concurrent )?{noun}|{noun}\W{{0,3}}(?:数|is|was|of|=|为|at|\s){{0,2}}\s?{re.escape(name)}(?![\d,.]*\d)"
        elif len(name) > 1:
            others = [other for at, other in names if at == dimension and other != name]
            first = name.split()[0]
            short = (
                len(first) > 3
                and first[0].isupper()
                and dimension != "/table"
                and not any(other.startswith(first) for other in others)
            )
            pattern = rf"(?<![\w.])(?:{re.escape(name)}{f'|{re.escape(first)}' if short else ''})(?![\w]|\.\d)"
        else:
            continue
        for match in re.finditer(pattern, masked, re.IGNORECASE):
            found.setdefault(dimension, []).append((match.start(), name))
        masked = re.sub(pattern, lambda match: "\0" * len(match[0]), masked, flags=re.IGNORECASE)
    return {dimension: sorted(said) for dimension, said in found.items()}


def _about(text: str, point: Point, *, exactly: bool = False) -> bool:
    """Return whether a text is about the metric of a cell: says its heading, or words of its quantity."""
    column = point.table.columns[point.place]
    words = METRIC_WORDS.get(column.quantity, "")
    heading = re.sub(r"\W+", " ", _short(column.heading)).strip()
    if (
        words
        and len(heading) > 2
        and re.search(words, heading, re.IGNORECASE)
        and re.search(rf"(?<![A-Za-z0-9]){re.escape(heading)}(?![A-Za-z0-9])", re.sub(r"\W+", " ", text), re.IGNORECASE)
    ):
        return True
    return not exactly and (
        bool(words and re.search(words, text, re.IGNORECASE)) or bool(column.better and _SPEED.search(text))
    )


def _order(text: str, said: list[tuple[int, str]]) -> tuple[str, str, bool]:
    """Return the subject and the base of a comparison, and whether a word says which is which."""
    first, last = said[0][1], next(name for _, name in said if name != said[0][1])
    pivot = _PIVOT.search(text)
    behind = [name for at, name in said if pivot and at >= pivot.end()]
    before = [name for at, name in said if pivot and at < pivot.start()]
    if pivot and pivot[0] == "相比" and before and re.search(r"[和与跟]\s?\S+\s?$", text[: pivot.start()]):
        behind = before[::-1]
    if not behind:
        return first, last, False
    return (last if behind[0] == first else first), behind[0], True


def _pairs(kept: Sequence[Point], dimension: str, subject: str, base: str) -> list[Pair]:
    groups: dict[tuple[object, ...], dict[str, Point]] = {}
    for one in kept:
        name = _short(one.names.get(dimension, ""))
        if name in {subject, base}:
            others = tuple(each for each in one.names.items() if each[0] not in {dimension, "/table"})
            rest = one.rest if dimension == "/column" else one.table.columns[one.place].heading
            same = one.table.id if dimension != "/table" else ""
            groups.setdefault((others, rest, same, one.table.columns[one.place].unit), {})[name] = one
    return [(group[subject], group[base]) for group in groups.values() if len(group) == 2]


def _apart(claim: Claim, a: Point, b: Point) -> list[float]:
    """Return how far two cells are apart, in all ways that people mean: of one, of the other, times, times more."""
    x, y = a.number.value, b.number.value
    if claim.times:
        return [max(x / y, y / x), max(x / y, y / x) - 1]
    return [abs(x / y - 1) * 100, abs(y / x - 1) * 100]


def _fits(claim: Claim, a: Point, b: Point) -> bool:
    spread = (a.number.place / a.number.value + b.number.place / b.number.value) * (1 if claim.times else 100)
    room = claim.place + spread + (0.12 * claim.high if claim.about else 0.0)
    return any(claim.low - room <= value <= claim.high + room for value in _apart(claim, a, b))
