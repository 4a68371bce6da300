"""Sentences that compare two named things, order several, or quote one cell, held against the cells that their words name.

A cell is named by the words around it: the levels of its row, the product in its heading. What a sentence calls by
name selects cells; the cells of two names, alike in all else, are the pairs that "30% faster than" may speak of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, permutations, product
from statistics import median

from benchbook.documents.amounts import APART, DOWN, UP, Gap, gaps, in_figures, way_of
from benchbook.documents.findings import Finding, Passed, Severity
from benchbook.documents.findings import figure as shown
from benchbook.documents.named_cells import (
    BY_SPEED,
    GENERAL,
    METRIC_NAMES,
    NO_NAME,
    NUMBER,
    Point,
    all_named,
    cells_among,
    cells_at,
    cells_of,
    metric_of,
    metric_score,
    said_names,
    short_name,
    speaks_of_others,
)
from benchbook.documents.numerals import figures
from benchbook.documents.passages import NotBound, Outcome, Sentence, sentence_finding
from benchbook.documents.tables import Reading, Table
from benchbook.documents.units import factor, is_rate
from benchbook.grouping import grouped

_PIVOT = re.compile(
    r"\b(?:than|compared (?:to|with)|in comparison (?:to|with)|versus|vs\.?|against|relative to|over)\b|比|相比|较",
    re.IGNORECASE,
)
_PERCENTAGES = re.compile(r"\d\s?[%％]")
MOOD = re.compile(
    r"\b(?:if|should|would|could|may|might|expect\w*|theor\w+|goal|target|claims?|ideal\w*|previous\w*|earlier)\b|如果|预期|理论|可能",
    re.IGNORECASE,
)

ROUND = 0.12
"""How far, of itself, "about 30%" may be off. Of the 99 sentences in benchmarks/sentences nothing changes from 0.05 to 0.12; at 0.2 two
false ones pass."""
FAR = 1.2
"""How many times off a comparison is no rounding: of those sentences 91 are judged rightly at 1.1, 89 at 1.2, 83 at 1.5, none wrongly."""

Pair = tuple[Point, Point]


@dataclass
class _Order:
    """Two things that a sentence puts in order; the pairs of cells in which it is right, and those in which it is wrong."""

    first: str
    last: str
    right: list[Pair] = field(default_factory=list)
    wrong: list[Pair] = field(default_factory=list)
    sure: bool = True
    """Whether every word of the sentence is the table's, or says nothing of what is compared."""


def _headings(table: Table) -> tuple[str, ...]:
    return tuple(METRIC_NAMES.sub("", one.heading) if one.role == "metric" else one.heading for one in table.columns)


def _clause(text: str, gap: Gap) -> str:
    """Return the part of a sentence, between commas, that tells a gap: if it names a metric, the gap is of that."""
    return next((part for part in re.split(r"[,;:]\s|[，；：]", text) if gap.printed in part), text)


class Cells:
    """The cells of a document by their names, to be found by the words of its sentences."""

    def __init__(self, read: Reading) -> None:
        self.points = {table.id: points for table in read.tables if (points := cells_of(table))}
        self.tables = [table for table in read.tables if table.id in self.points]
        self.titles = {one.id: _words(one.heading) for one in self.tables}
        points = [point for of in self.points.values() for point in of]
        names = {
            short_name(name) for one in points for at, name in one.names.items() if at not in {"/table", "/metric"}
        }
        self.names = sorted(one for one in names if re.search(r"[^\W\d]{2}", one))

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
        alike = grouped(tables, _headings)
        each = [self.points[table.id] for table in tables]
        return each + [
            [one for table in group for one in self.points[table.id]] for group in alike.values() if len(group) > 1
        ]

    def outcomes(self, sentence: Sentence) -> Iterator[Outcome]:
        """Yield what comes of the cells that a sentence's words name: how far they are apart, their order, a limit, a figure."""
        if not self.points:
            return
        found = list(self._held(sentence))
        if not any(isinstance(one, (Passed, Finding)) for one in found):
            # "3.5 s, 21 times faster than Ash" below the heading "Birch": of Birch, wherever both are printed.
            subject = next(filter(None, map(self._subject, reversed(sentence.section.split(" > ")))), "")
            about = sentence._replace(text=f"{subject}: {sentence.text}" if subject else sentence.text, section="")
            found += [one for one in self._held(about) if isinstance(one, (Passed, Finding))]
        yield from found

    def _subject(self, heading: str) -> str:
        """Return the names of cells that stand in a heading."""
        said = [one for one in self.names if one in heading and re.search(rf"(?<!\w){re.escape(one)}(?!\w)", heading)]
        return ", ".join(sorted(said, key=heading.find))

    def _held(self, sentence: Sentence) -> Iterator[Outcome]:
        yield from self._compared(sentence)
        yield from self._ordered(sentence)
        yield from self._bounded(sentence)
        yield from self._quoted(sentence)

    def _compared(self, sentence: Sentence) -> Iterator[Outcome]:
        """Hold the gaps that a sentence tells against the cells that its words bind them to."""
        text = in_figures(sentence.text)
        said = gaps(text) if len(text) < 600 else []
        groups = self.groups(text, sentence.section) if said else []
        found = False
        for gap in said:
            bound = [one for group in groups if (one := self._bound(group, text, gap, sentence, single=len(said) == 1))]
            if holding := [one for one in bound if isinstance(one, Passed)]:
                bound = [holding[0]]
            if len(bound) == 1:
                found = True
                yield bound[0]
        if not found and any(metric_of(text, group) or said_names(text, group) for group in groups):
            yield NotBound(sentence)

    def _is_name_elsewhere(self, cell: Point) -> bool:
        """Return whether a word of a cell's metric names other columns: "writes" of "Write p99" beside "Write TPS"."""
        words = set(cell.rest.lower().split())
        return any(
            dimension.startswith("/column") and name.lower() in words
            for one in self.points[cell.table.id]
            if one.rest != cell.rest
            for dimension, name in one.names.items()
        )

    def _bound(
        self, group: list[Point], text: str, gap: Gap, sentence: Sentence, *, single: bool
    ) -> Passed | Finding | None:
        own = any(table.section == sentence.section for table in self.tables)
        names = said_names(text, group)
        metric = metric_of(text, group)
        kept = metric or group
        ways = list(self._ways(text, group, kept, names))
        for pairs, sure, _ in ways:
            right = [(a, b) for a, b in pairs if not sure or self._is_right(gap, a, b)]
            sides = [_apart(gap, a, b) for a, b in right]
            if any(_fits(gap, a, b) for a, b in right):
                return Passed("sentence", 1)
            flat = [value for way in sides for value in way]
            # Of many pairs their mean may be meant, or by a round figure all that lie about it.
            means = [sum(way) / len(way) for way in zip(*sides, strict=True)]
            room = gap.place + (ROUND * gap.high if gap.about else 0)
            several = any(len({name for _, name in said}) == 2 for said in names.values())
            if any(gap.low - room <= mean <= gap.high + room for mean in means) or (
                gap.about
                and (own or several)
                and len(pairs) > 1
                and flat
                and min(flat) <= gap.high
                and gap.low <= max(flat)
            ):
                return Passed("sentence", 1)
        if len(ways) != 1:
            return self._changed(cells_at(kept, names), gap) if metric and not ways else None
        pairs, sure, dimension = ways[0]
        right = [(a, b) for a, b in pairs if not sure or self._is_right(gap, a, b)]
        of = {one.column.quantity for one in metric}
        score = min((metric_score(text, one) for one in metric), default=0.0)
        told = names.keys() - {"/metric"}
        strict = (
            single
            and (own or dimension == "/table" or (sure and not sentence.section))
            and (sure or len(pairs) == 1)
            and len({(one.rest, one.column.unit) for pair in pairs for one in pair}) == 1
            and (of <= GENERAL or score >= 1)
            and (
                bool(told) or score >= 1.5
                if metric
                else bool(told) and ("/column" in told or len({one.rest for one in group}) == 1)
            )
            and len(_PERCENTAGES.findall(text)) < 2
            and not MOOD.search(text)
            and not re.search(r"on average|平均", text)
            and not speaks_of_others(text, pairs[0][0].table, names)
            and all_named(kept, names)
            and (sure or not self._elsewhere(gap, kept, pairs))
            and (score >= 2 or not self._is_name_elsewhere(pairs[0][0]))
            and (not (nearest := metric_of(_clause(text, gap), group)) or any(one in metric for one in nearest))
        )
        if not strict or not _is_far(gap, right):
            return None
        a = pairs[0][0]
        more = f", and in no pair of the {len(pairs)} rows" if len(pairs) > 1 else ""
        what = f"The sentence says {gap.printed}; that is not what {a.column.heading} of {a.table.name} gives{more}."
        lines = [
            f"{a.label}: {a.number.printed}; {b.label}: {b.number.printed}; {shown(a.number.value / b.number.value)} times"
            for a, b in pairs[:5]
        ]
        return sentence_finding(sentence, "sentence", "suspicious", what, lines, 0.7)

    @staticmethod
    def _elsewhere(gap: Gap, kept: list[Point], pairs: list[Pair]) -> bool:
        """Return whether another cell of the metric is as far from one of these as is claimed: it may be what is meant."""
        return any(
            _fits(gap, one, other)
            for pair in pairs
            for one in pair
            for other in kept
            if other.table is one.table
            and other not in pair
            and other.rest == one.rest
            and (other.place == one.place or other.row == one.row)
        )

    def _ways(
        self, text: str, group: list[Point], kept: list[Point], names: dict[str, list[tuple[int, str]]]
    ) -> Iterator[tuple[list[Pair], bool, str]]:
        """Yield the pairs of cells that a comparison may be of, whether a word says which is its base, and what tells them apart."""
        said = {dimension: list(dict.fromkeys(name for _, name in places)) for dimension, places in names.items()}
        several = [dimension for dimension, of in said.items() if len(of) > 1]
        found: list[tuple[list[Pair], bool, str]] = []
        for dimension in [*several, *{one: 0 for point in group for one in point.names if one not in several}]:
            if found and several and dimension not in several:
                break
            points = cells_at(group if dimension == "/metric" else kept, names, dimension)
            values = list(dict.fromkeys(short_name(one.names.get(dimension, "")) for one in points))
            for subject, base, sure in _sides(text, names.get(dimension, []), values, implied=dimension != "/metric"):
                if pairs := _pairs(points, dimension, subject, base):
                    found.append((pairs, sure, dimension))
        # "At 100 clients" is where two things are compared, if two are there.
        at = {dimension for dimension, of in said.items() if len(of) == 1 and NUMBER.match(of[0])}
        yield from [one for one in found if one[2] not in at] or found

    def _is_right(self, gap: Gap, a: Point, b: Point) -> bool:
        return not gap.way or self._is_way(gap.way, a, b)

    @staticmethod
    def _changed(kept: list[Point], gap: Gap) -> Passed | None:
        """Hold a gap against the changes that are printed beside its cells."""
        changes = [abs(one.change) for one in kept if one.change is not None]
        if not changes or gap.times:
            return None
        room = gap.place + (ROUND * gap.high if gap.about else 0)
        fits = len(set(changes)) <= 2 or gap.about or gap.place < 1
        near = any(gap.low - room <= one <= gap.high + room for one in changes if fits)
        return Passed("sentence", 1) if near or gap.low - room <= median(changes) <= gap.high + room else None

    def _ordered(self, sentence: Sentence) -> Iterator[Outcome]:
        """Hold the orders that a sentence gives against its cells: "A > B > C", "A outperforms B", "A has the lowest latency"."""
        text = sentence.text
        beats, most = _BEATS.search(text), _MOST.search(text)
        if (
            (not beats and not most and len(_CHAIN.findall(text)) < 2)
            or gaps(in_figures(text))
            or MOOD.search(text)
            or re.search(
                r"\b(?:not|cannot|never|mostly|most of|some|except|unless|almost|nearly|nor|can)\b|n['’]t\b", text
            )
        ):
            return
        word = beats or most
        way = way_of(word[0].lower()) if word else "better"
        is_superlative = most is not None and not beats
        every = bool(_EVERY.search(text)) and not is_superlative
        found: dict[tuple[str, str, str], _Order] = {}
        for group in self.groups(text, sentence.section):
            candidates = [one for one in group if way in {"more", "less"} or one.column.better]
            metric = [one for one in metric_of(text, candidates) if metric_score(text, one) > BY_SPEED]
            candidates = metric or ([] if is_superlative else candidates)
            names = said_names(text, candidates)
            orders = {
                dimension: _orders(text, said, beats, most, candidates, dimension) for dimension, said in names.items()
            }
            # "A on Q9 is faster than B on Q5" compares neither A with B nor Q9 with Q5.
            alone = sum(any(first != last for first, last in each) for each in orders.values()) == 1
            for dimension, each in orders.items():
                for first, last in each:
                    both = _pairs(cells_among(candidates, names, dimension), dimension, first, last)
                    if first == last or not both:
                        continue
                    right = [(a, b) for a, b in both if a.number.value == b.number.value or self._is_way(way, a, b)]
                    # Faster by one metric is faster; where all metrics of a row say the reverse, it is not.
                    rows = {(a.table.id, a.row, b.row, a.rest, a.column.unit) for a, b in right}
                    wrong = [
                        (a, b)
                        for a, b in both
                        if (a, b) not in right
                        and not any(
                            one[:3] == (a.table.id, a.row, b.row) and one[3:] != (a.rest, a.column.unit) for one in rows
                        )
                    ]
                    # The lowest of all is below each of the others.
                    order = found.setdefault((dimension, first, "" if is_superlative else last), _Order(first, last))
                    order.right += right
                    order.wrong += wrong
                    order.sure &= alone and not speaks_of_others(text, both[0][0].table, names)
        orders_told = list(found.values())
        if is_superlative:
            # "A is highest with 8 threads": of all threads A has, or of all that have 8 threads.
            orders_told = [one for one in orders_told if not one.wrong] or orders_told
        for order in orders_told:
            if not order.wrong:
                yield Passed("sentence", len(order.right))
            elif not order.sure or not (every or (len(order.wrong) > 1 and not order.right)):
                yield NotBound(sentence)
            else:
                a = order.wrong[0][0]
                words = (
                    f"The sentence speaks of all rows, but the figures of {a.label} say the opposite ({a.table.name})."
                    if every
                    else f"The sentence puts {order.first} before {order.last}; all {len(order.wrong)} pairs of cells say the opposite ({a.table.name})."
                )
                lines = [_beside(a, b) for a, b in order.wrong[:5]]
                severity: Severity = "contradiction" if every else "suspicious"
                yield sentence_finding(sentence, "sentence", severity, words, lines, 0.75 if every else 0.7)

    def _bounded(self, sentence: Sentence) -> Iterator[Outcome]:
        """Hold the limit that a sentence sets to a metric against its cells: "p95 latency stays below 10 ms up to 256 threads"."""
        text, section = sentence.text, sentence.section
        limit = _LIMIT.search(text)
        printed = figures(text[limit.start("limit") :])[:1] if limit else []
        if limit is None or not printed or not printed[0].unit or MOOD.search(text):
            return
        denied = re.search(r"\b(?:never|not)\b|n['’]t\b", limit[0], re.IGNORECASE)
        below = bool(re.search(r"below|under|less|most|low", limit["way"], re.IGNORECASE)) != bool(denied)
        bounds = []
        for group in self.groups(text, section):
            metric = metric_of(text, group)
            kept = [one for one in metric if (scale := factor(printed[0].unit, one.column.unit))]
            names = said_names(text, kept)
            for dimension, said in names.items():
                if (
                    re.search(r"(?:up to|until|through)\s$", text[: said[-1][0]], re.IGNORECASE)
                    and dimension[:1] != "/"
                ):
                    ends = figures(said[-1][1])
                    level = [(figures(one.names[dimension]), one) for one in kept]
                    kept = [one for values, one in level if ends and values and values[0].value <= ends[0].value]
                else:
                    kept = cells_among(kept, {dimension: said})
            if not kept or len({one.rest for one in kept}) > 1 or not scale:
                continue
            end = printed[0].value * scale
            wrong = [one for one in kept if (one.number.low > end if below else one.number.high < end)]
            strict = (
                any(
                    one.table.section == section
                    # A limit in a rate names the throughput that is headed so: "never exceeds 30,000 ops/s"; tps are no qps.
                    and (
                        metric_score(text, one) >= 1
                        or (
                            is_rate(printed[0].unit)
                            and len(names) > 0
                            and printed[0].printed.lstrip("0123456789,. kKM").lower() in one.column.heading.lower()
                        )
                    )
                    for one in kept
                )
                and not speaks_of_others(re.sub(r"\b(?:never|not|exceeds?)\b", "", text), kept[0].table, names)
                and all_named(metric, names)
                # "A stays below 10,000, B does not."
                and not re.search(r"\b(?:do|does|did|is|was)(?: not|n['’]t)\b", text[limit.end() :], re.IGNORECASE)
                # "Under 5 ms at 64 threads, 11 ms at 128" sets no limit at 128; "every codec" is not the row without one.
                and len([one for one in figures(text) if one.unit == printed[0].unit]) == 1
                and not all(any(NO_NAME.fullmatch(name) for name in one.names.values()) for one in wrong)
            )
            if not wrong or (strict and len(wrong) < len(kept)):
                bounds.append((kept, wrong))
        if holding := [kept for kept, wrong in bounds if not wrong]:
            yield Passed("sentence", len(holding[0]))
        elif len(bounds) == 1:
            kept, wrong = bounds[0]
            words = limit[0][:-1] + printed[0].printed
            what = f"The sentence sets a limit, {words!r}; {len(wrong)} of the {len(kept)} cells that it names lie beyond ({wrong[0].table.name})."
            lines = [f"{one.label}, {one.column.heading}: {one.number.printed}" for one in wrong[:5]]
            yield sentence_finding(sentence, "sentence", "suspicious", what, lines, 0.7)

    def _quoted(self, sentence: Sentence) -> Iterator[Outcome]:
        """Hold the one figure of a sentence against the few cells that its words name."""
        text, section = sentence.text, sentence.section
        if not re.search(r"\d", text):
            return
        all_told = [
            one
            for one in figures(re.sub(r"\bto\b|→", ";", text))
            if one.kind in {"number", "about"} and one.unit not in {"", "x", "1"}
        ]
        told = [one for one in all_told if len(re.sub(r"\D", "", one.printed).strip("0")) >= 3 and one.unit != "%"]
        # What is told is one of the few cells that the words name.
        for group in self.groups(text, section) if all_told else []:
            of_metric = metric_of(text, group)
            names = said_names(text, [one for one in of_metric if metric_score(text, one) >= 1] or group)
            names.pop("/metric", None)
            for one, cell in product(all_told, cells_at(of_metric or group, names)[:4] if names else []):
                scale = factor(one.unit, cell.column.unit)
                fits = scale and one.low * scale <= cell.number.high and cell.number.low <= one.high * scale
                if fits and (one in told or (section and of_metric)):
                    yield Passed("quoted figure", 1)
                    return
        tables = [one for one in self.tables if one.section == section]
        cells = self.points[tables[0].id] if len(tables) == 1 else []
        metric = [one for one in metric_of(text, cells) if metric_score(text, one) >= 1]
        names = said_names(text, metric or cells)
        names.pop("/metric", None)
        if (
            len(told) != 1
            or len([one for one in all_told if one.unit == told[0].unit]) != 1
            or MOOD.search(text)
            or re.search(rf"\bfrom \d|average|平均|\b(?:{UP}|{DOWN}|{APART})", text, re.IGNORECASE)
            or not names
            or speaks_of_others(text, tables[0], names)
            or any(len({name for _, name in said}) > 1 for said in names.values())
        ):
            return
        number, unit = told[0], told[0].unit
        kept = [
            one
            for one in metric or cells
            if all(short_name(one.names[each]) == said[0][1] for each, said in names.items())
            and tables[0].columns[one.place].unit in ({unit, ""} if len(names) > 1 else {unit})
        ]
        # What is of another order is of something else; of one cell alone that two names call, it may be far off.
        most = 10 if len(kept) == 1 and len(names) + bool(metric) > 1 else 2
        if not kept or not all(1 / most < number.value / one.number.value < most for one in kept):
            return
        if any(one.number.low <= number.high and number.low <= one.number.high for one in kept):
            yield Passed("quoted figure", 1)
            return
        there = " and ".join(f"{one.column.heading} of {one.label} is {one.number.printed}" for one in kept)
        what = f"The text says {number.printed}; {there} in {kept[0].table.name}."
        lines = [f"{number.printed} in the text, {' and '.join(one.number.printed for one in kept)} in the table"]
        yield sentence_finding(sentence, "quoted figure", "suspicious", what, lines, 0.7)

    def _is_way(self, way: str, a: Point, b: Point) -> bool:
        """Return whether one cell is more than, less than, better or worse than another, as it is said to be."""
        better, more = a.column.better, a.number.value > b.number.value
        if way in {"better", "worse"}:
            return not better or (more == (better == "more")) == (way == "better")
        return more == (way == "more")


_CHAIN = re.compile(r"(?<=[\w)）])\s?[>＞]\s?(?=[A-Za-z])")
_BEATS = re.compile(
    rf"\b(?:outperforms?|beats?|(?:(?:is|are|was|were|stays?|remains?) (?:\w+ ){{0,2}}?)?(?:{UP}|{DOWN}) than)\b|优于|好于",
    re.IGNORECASE,
)
_MOST = re.compile(
    r"(?<!\dnd )(?<!\drd )(?<!\dth )(?<!second )(?<!third )\b(?:high|low|fast|slow|large|small|short|long)est\b|\b(?:best|worst|fewest|least)\b(?! \d)",
    re.IGNORECASE,
)
_EVERY = re.compile(
    r"\b(?:consistently|always|(?:in|at|for|on) (?:all|every|each)|across the board|uniformly)\b", re.IGNORECASE
)
_LIMIT = re.compile(
    r"\b(?:stay|remain|keep|kept|hold|held|is|are|was|were|never|not)\w*\b[^.;]{0,40}?\b(?P<way>below|under|less than|at most|lower than|exceeds?|above|more than|at least)\s(?P<limit>\d)",
    re.IGNORECASE,
)


def _orders(
    text: str,
    said: list[tuple[int, str]],
    beats: re.Match[str] | None,
    most: re.Match[str] | None,
    cells: Sequence[Point],
    dimension: str,
) -> list[tuple[str, str]]:
    """Return the names of a dimension that a sentence puts in order, first and last."""
    names = list(dict.fromkeys(name for _, name in said))
    if beats:
        # "More than 41,000 TPS" puts nothing before another, unless 41,000 is a name.
        amount = re.match(r"\s(?:about |an? |half |~)*[\d$€]", text[beats.end() :])
        if amount and not any(beats.end() <= at < beats.end() + amount.end() for at, _ in said):
            return []
        before = [name for at, name in said if at < beats.start()]
        turn = _TURN.search(text, beats.end())
        behind = [name for at, name in said if beats.end() <= at < (turn.start() if turn else len(text))]
        return [(before[-1], name) for name in behind] if before else []
    if most:
        # "A's lowest latency" and "the lowest latency of A" are lowest of A alone.
        if re.search(r"(?:['’]s?|\b(?:its|their|whose))\s(?:\w+\s)?$", text[: most.start()]) or re.search(
            r"\bof (?:the )?$", text[: said[0][0]]
        ):
            return []
        others = dict.fromkeys(short_name(one.names.get(dimension, "")) for one in cells)
        return (
            [(names[0], one) for one in others if one != names[0]] if len(names) == 1 and dimension != "/metric" else []
        )
    return list(pairwise(names))


# What follows is said of something else: "faster than B, but slower than C".
_TURN = re.compile(r"\b(?:but|while|whereas|(?:al)?though|yet|however|than)\b|[;；]|而|但", re.IGNORECASE)
# Words of many titles: they do not tell one section from another.
_COMMON = set("benchmark benchmarks test tests dataset data results result the of performance and for with".split())


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower())) - _COMMON


def _sides(
    text: str, said: list[tuple[int, str]], values: list[str], *, implied: bool
) -> Iterator[tuple[str, str, bool]]:
    """Yield subject and base of a comparison along a dimension, and whether a word says which is which."""
    names = list(dict.fromkeys(name for _, name in said))
    if len(names) == 2:
        yield _order(text, said)
    elif len(names) > 2:
        yield from ((a, b, False) for a, b in permutations(names[:6], 2))
    elif implied and len(values) == 2:
        subject = names[0] if names and names[0] in values else values[1]
        yield subject, next(one for one in values if one != subject), False
    elif implied and names:
        yield from ((names[0], one, False) for one in values if NO_NAME.fullmatch(one) and one != names[0])


def _order(text: str, said: list[tuple[int, str]]) -> tuple[str, str, bool]:
    """Return the subject and the base of a comparison, and whether a word says which is which."""
    first, last = said[0][1], next(name for _, name in said if name != said[0][1])
    if (ends := re.search(r"\b(?:from|between)\b", text)) and said[0][0] >= ends.end():
        return last, first, ends[0].lower() == "from"
    pivot = _PIVOT.search(text)
    behind = [name for at, name in said if pivot and at >= pivot.end()]
    before = [name for at, name in said if pivot and at < pivot.start()]
    if pivot and pivot[0] == "相比" and before and re.search(r"[和与跟]\s?\S+\s?$", text[: pivot.start()]):
        behind = before[::-1]
    if not behind:
        return first, last, False
    return (last if behind[0] == first else first), behind[0], True


def _pairs(kept: Sequence[Point], dimension: str, subject: str, base: str) -> list[Pair]:
    """Return the pairs of cells of two names that are alike in all else, or that are the only ones of their names."""
    found: list[Pair] = []
    for strictly in (True, False):
        groups: dict[tuple[object, ...], dict[str, list[Point]]] = {}
        for one in kept:
            name = short_name(one.names.get(dimension, ""))
            if name in {subject, base}:
                others = tuple(
                    each
                    for each in one.names.items()
                    if each[0] not in {dimension, "/table", "/metric"} and (strictly or each[0].startswith("/"))
                )
                rest = "" if dimension == "/metric" else one.rest
                same = one.table.id if dimension != "/table" else ""
                key = (others, rest, same, one.column.unit)
                groups.setdefault(key, {}).setdefault(name, []).append(one)
        found = [
            (group[subject][-1], group[base][-1])
            for group in groups.values()
            if len(group) == 2 and (strictly or all(len(each) == 1 for each in group.values()))
        ]
        if found:
            break
    return found


def _beside(a: Point, b: Point) -> str:
    """Return two cells as printed, with what tells them apart."""
    columns = [f"{one.column.heading} {one.number.printed}" for one in (a, b)]
    rows = [f"{one.label}, " if a.row != b.row else "" for one in (a, b)]
    return f"{rows[0]}{columns[0]} against {rows[1]}{columns[1]}"


def _apart(gap: Gap, a: Point, b: Point) -> list[float]:
    """Return how far two cells are apart, in all ways that people mean: of one, of the other, times, times more."""
    x, y = a.number.value, b.number.value
    if gap.times:
        return [max(x / y, y / x), *([] if gap.exact else [max(x / y, y / x) - 1])]
    return [abs(x / y - 1) * 100, abs(y / x - 1) * 100]


def _fits(gap: Gap, a: Point, b: Point) -> bool:
    spread = a.number.place / a.number.value + b.number.place / b.number.value
    room = gap.place + (ROUND * gap.high if gap.about else 0.0)
    rooms = [(value, room + spread * (value if gap.times else 100)) for value in _apart(gap, a, b)]
    return any(gap.low - room <= value <= gap.high + room for value, room in rooms)


def _is_far(gap: Gap, pairs: Sequence[Pair]) -> bool:
    """Return whether a gap is no rounding of what any pair gives: `FAR` times off all of them, or the other way round."""
    flat = []
    for a, b in pairs:
        values = _apart(gap, a, b)
        if not gap.times and gap.way in {"more", "less"}:
            # Of the larger one where it is less, of the smaller one where it is more.
            values = [(max if gap.way == "more" else min)(values)]
        flat += values
    if not flat or gap.low > FAR * max(flat):
        return True
    return len(pairs) == 1 and not gap.about and all(gap.low > FAR * one or gap.high < one / FAR for one in flat)
