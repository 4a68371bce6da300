"""Blocks to tables of cells, each with its section and caption; all tables of a document as one tidy frame."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise, product

from benchbook.documents.columns import Better, Column, Role, column, direction, rule_of, scale_of, unit_of
from benchbook.documents.formats import MOST_CELLS, Block, pipes, read, table_block
from benchbook.documents.numerals import UNITS, Figure, Style, figures, is_empty, style_of
from benchbook.documents.tool_output import tables_of
from benchbook.documents.units import is_time
from benchbook.errors import counted
from benchbook.grouping import grouped


@dataclass(frozen=True)
class Cell:
    """A cell as printed, with the figures in it."""

    text: str
    figures: list[Figure]
    line: int

    @property
    def figure(self) -> Figure | None:
        """The first figure, where it stands for one value."""
        return self.figures[0] if self.figures and self.figures[0].exact else None


@dataclass(frozen=True)
class Table:
    """A table of a document: a column for each of its headings, and rows of cells, as many as columns."""

    id: str
    section: str
    caption: str
    line: int
    columns: list[Column]
    rows: list[list[Cell]]
    parts: list[tuple[Table, int]] = field(default_factory=list)
    """Of tables that were put together: where each of the rows stands."""

    def number(self, row: int, place: int) -> Figure | None:
        """Return a cell's figure in its column's unit; None where it prints none, or one in a unit of its own."""
        figure, unit = self.rows[row][place].figure, self.columns[place].unit
        if figure is None or (figure.unit and figure.unit != unit and not {figure.unit, unit} <= {"", "1"}):
            return None
        return figure

    def numbers(self, place: int) -> dict[int, Figure]:
        """Return the figures of a column, by row."""
        return {row: number for row in range(len(self.rows)) if (number := self.number(row, place))}

    def places(self, role: Role) -> list[int]:
        """Return the places of the columns of a role."""
        return [place for place, column in enumerate(self.columns) if column.role == role]

    def label(self, row: int) -> str:
        """Return a row's levels in words: "Threads 100"."""
        words = [
            f"{self.columns[place].heading} {self.rows[row][place].text}".strip()
            for place in self.places("level") or [0]
            if self.rows[row][place].text
        ]
        return ", ".join(words) or f"row {row + 1}"

    def values(self, place: int) -> list[float]:
        """Return the figures of a column, one for each row; none where a row has none."""
        found = [number.value for number in self.numbers(place).values()]
        return found if len(found) == len(self.rows) else []

    @property
    def ladder(self) -> list[float]:
        """The steps of its one level, up or down, one for each row; empty where its rows are no such steps."""
        levels = self.places("level")
        steps = self.values(levels[0]) if len(levels) == 1 else []
        return steps if steps in (sorted(set(steps)), sorted(set(steps), reverse=True)) else []

    @property
    def heading(self) -> str:
        """The heading that it stands under."""
        return self.section.rpartition(" > ")[2]

    @property
    def name(self) -> str:
        """Its place in words."""
        return f"{self.id} (line {self.line}{f', {self.section}' if self.section else ''})"


@dataclass(frozen=True)
class Reading:
    """A document that was read: its blocks, its tables, and notes of what could not be read as a figure."""

    document: str
    text: str
    blocks: list[Block]
    tables: list[Table]
    style: Style = "point"
    notes: list[str] = field(default_factory=list)


def reading(source: str) -> Reading:
    """Return a document as blocks and tables; a heading, a caption and a bold line before a table belong to it.

    Raise BadInput where it cannot be read.
    """
    text, blocks = read(source)
    style = style_of(cell for block in blocks for row in block.rows for cell in row)
    tables: list[Table] = []
    notes: list[str] = []
    caption = ""
    left = MOST_CELLS
    # Of all times it is said anywhere, else of what stands below the same heading.
    units = [
        ("" if re.search("times|时间", found[0]) or not block.section else f"{block.section} > ", found)
        for block in blocks
        if (found := _ALL_IN.search(" ".join(block.text.split())))
    ]
    for block in _with_lists(blocks):
        if block.kind == "heading":
            caption = ""
        elif block.kind in {"paragraph", "item"} and block.text.strip():  # a picture has no words
            caption = block.text.strip() if len(block.text) < 400 else ""
        for drawn in (
            [block] if block.kind == "table" else tables_of(block) if block.kind in {"code", "paragraph"} else []
        ):
            width = max(map(len, drawn.rows), default=1) or 1
            if (beyond := len(drawn.rows) - left // width) > 0:
                del drawn.rows[-beyond:], drawn.lines[-beyond:]
                notes.append(
                    f"line {drawn.line}: {counted(beyond, 'row')} left out: the document has more than {MOST_CELLS:,} cells"
                )
            left -= len(drawn.rows) * width
            about = (drawn.text if drawn is not block else "") or caption
            said = next(
                (found for section, found in reversed(units) if f"{block.section} > ".startswith(section)), None
            )
            table = _table(drawn, f"table {len(tables) + 1}", block.section, about, style, said)
            if table is not None:
                tables.append(table)
                notes += [*_short_rows(drawn), *_unread(table)]
                caption = ""
    return Reading(source, text, blocks, tables, style, notes)


SAID = re.compile(
    r"\b([A-Z][\w-]{1,12}|[a-z]+(?: [a-z]+){0,3}) (?:is|are|was|were) (?:about |around )?(\d[\d,]*(?:\.\d+)?)(?![\w.]*\d)(?!\s?%)"
)
"""A figure that is told by its name: "the TPS is 935"."""


def table_in_sentences(read: Reading) -> Table | None:
    """Return figures that three paragraphs or more give under the same two names or more: a row per paragraph, else None."""
    rows: list[tuple[str, int, dict[str, str]]] = []
    for block in read.blocks:
        if block.kind in {"paragraph", "item"}:
            said = {name: number for name, number in SAID.findall(" ".join(block.text.split())) if _is_metric(name)}
            rows.append((block.section.rpartition(" > ")[2], block.line, said))
    names = [name for name, count in Counter(name for *_, said in rows for name in said).items() if count >= 3]
    kept = [row for row in rows if len(row[2].keys() & set(names)) >= 2]
    if len(kept) < 3:
        return None
    texts = [["passage", *names], *([where, *(said.get(name, "") for name in names)] for where, _, said in kept)]
    lines = [line for _, line, _ in kept]
    return _table(table_block(texts, [lines[0], *lines]), "told in words", "", "", read.style)


_ALL_IN = re.compile(
    r"\b(?:(?:[Aa]ll (?:the )?(?:measurements|values|times|results|figures|numbers)|data in (?:the|this) table)\b[^.]{0,150}?|time\b[^.]{0,40}?)"
    r"\b(?:in|use) (?P<all>seconds|milliseconds|ms|us)\b"
    r"|时间的?单位[均都]?[为是]\s?(ms|us)\b"
)
"""A sentence that gives the figures of its section their unit: "All values are in milliseconds"."""


def _is_metric(heading: str) -> bool:
    rule = rule_of(heading)
    return rule is not None and rule.role == "metric"


def together(tables: Sequence[Table]) -> list[Table]:
    """Return a table of all rows of each group of tables with the same headings and units: what relates one relates all."""
    groups = grouped(tables, lambda table: tuple((one.heading, one.unit) for one in table.columns))
    return [
        replace(
            group[0],
            rows=[row for table in group for row in table.rows],
            parts=[(table, row) for table in group for row in range(len(table.rows))],
        )
        for group in groups.values()
        if len(group) > 1
    ]


def with_rows_as_columns(table: Table) -> Table | None:
    """Return a table with its rows as columns, where a row says how far the rows above it are apart; else None."""
    labels = [cells[0].text for cells in table.rows]
    rules = [rule_of(label) for label in labels]
    if not any(rule and rule.role == "delta" for rule in rules) or len(table.columns) < 4:
        return None
    heads = [Cell(one.heading, [], table.line) for one in table.columns[1:]]
    sides = [[cells[place] for cells in table.rows] for place in range(1, len(table.columns))]
    columns = [
        column(label, [cell.figures for cell in cells[1:]], [cell.text for cell in cells[1:]], first=False)
        for label, cells in zip(labels, table.rows, strict=True)
    ]
    level = Column(table.columns[0].heading, role="level")
    rows = [[head, *cells] for head, cells in zip(heads, sides, strict=True)]
    return Table(table.id, table.section, table.caption, table.line, [level, *columns], rows)


# A number, and the plural that others than 1 have.
_LEVEL = re.compile(r"\d[\d.,]*[kKM]?|(?<=[a-z]s)es\b|(?<=[a-z][a-rt-z])s\b")


def _table(
    block: Block, id: str, section: str, caption: str, style: Style, said: re.Match[str] | None = None
) -> Table | None:
    header = [row for row in block.rows[: block.header] if any(row)]
    body = block.rows[block.header :]
    lines = block.lines[block.header :]
    kept = [(row, line) for row, line in zip(body, lines, strict=True) if any(cell.strip() for cell in row)]
    if not kept:
        return None
    width = max(len(row) for row in [*header, *(row for row, _ in kept)])
    heads = _headings(header, width)
    cells = [
        [
            Cell(text, [] if is_empty(text) else figures(text, style), line)
            for text in [*row, *[""] * (width - len(row))]
        ]
        for row, line in kept
    ]
    units = [place for place, heading in enumerate(heads) if place and _UNITS_BESIDE.fullmatch(heading)]
    for row, place in product(cells, units):  # "Value | Unit"
        unit = UNITS.get(row[place].text, UNITS.get(row[place].text.lower(), ""))
        told = [one if one.unit else one._replace(unit=unit) for one in row[place - 1].figures]
        row[place - 1] = replace(row[place - 1], figures=told)
    if _on_its_side(heads, cells):
        sides = [place for place in range(1, width) if place not in units]
        cells = [
            [Cell(heads[place], figures(heads[place], style), block.line), *(row[place] for row in cells)]
            for place in sides
        ]
        heads = [heads[0], *(row[0] for row, _ in kept)]
    columns: list[Column] = []
    # Columns that stand for levels, "1 process", "4 processes": what is below is measured.
    series = Counter(_LEVEL.sub("", heading) for heading in heads if re.search(r"\d", heading))
    for place, heading in enumerate(heads):
        mine = [row[place] for row in cells]
        first = not any(one.role in {"metric", "delta"} for one in columns)
        columns.append(column(heading, [cell.figures for cell in mine], [cell.text for cell in mine], first=first))
        is_level = columns[-1].role == "level" or re.match(r"\W*size\W*\d", heading, re.IGNORECASE)
        if place and is_level and series[_LEVEL.sub("", heading)] > 1:
            unit = unit_of(heading)
            columns[-1] = Column(heading, "", unit, direction(unit), "metric", sure=0.5)
        scale = scale_of(heading) if columns[-1].quantity in {"throughput", "count"} else 1.0
        if scale != 1.0:
            for row in cells:
                # One that has letters of its own (12k, 3 ms) is as it is printed.
                own = [re.search(r"[^\W\d_]", one.printed) for one in row[place].figures]
                told = [
                    one if letters else one.times(scale) for one, letters in zip(row[place].figures, own, strict=True)
                ]
                row[place] = replace(row[place], figures=told)
    columns = _of_caption(_bare_ranks(columns), caption, section.rpartition(" > ")[2], said)
    return Table(id, section, caption, block.line, _settings_and_clocks(columns, cells), cells)


_UNITS_BESIDE = re.compile(r"\W*(?:units?|单位)\W*", re.IGNORECASE)


def _settings_and_clocks(columns: list[Column], rows: list[list[Cell]]) -> list[Column]:
    """Tell what was set, "Setting | Value", and the seconds of a run, 1, 2, 3, from what was measured."""
    first = columns[0]
    told = r"\W*(?:settings?|parameters?|config\w*|options?|参数|配置)\W*"
    said = any(re.fullmatch(told, one.heading, re.IGNORECASE) for one in columns)
    # "Configuration | TPS" is measured.
    if len(columns) == 2 and said and not (_is_metric(columns[1].heading) or unit_of(columns[1].heading)):
        return [first, columns[1]._replace(quantity="", better="", role="note")]
    values = [Decimal(str(row[0].figure.value)) for row in rows if row[0].figure]  # 0.3 - 0.2 is 0.1
    steps = {after - before for before, after in pairwise(values)}
    if len(values) == len(rows) >= CLOCK and len(steps) == 1 and min(steps) > 0 and first.quantity in {"", "time"}:
        return [first._replace(role="level"), *columns[1:]]
    return columns


CLOCK = 4
"""So many rows of a first column that go up by even steps are no measurement.

Of four whole numbers up to 100 that go up, 0.04% do so by chance (1,617 of 3,921,225); of three, 1.5%. In 240 public
documents all 8 such columns of times are clocks.
"""


def _bare_ranks(columns: list[Column]) -> list[Column]:
    """Tell percentiles from other levels where headings are numbers alone: 10, 50, 90, 99 (and 100), not 50, 75, 100."""
    bare = {
        place: float(one.heading) for place, one in enumerate(columns) if re.fullmatch(r"\d+(?:\.\d+)?", one.heading)
    }
    numbers = list(bare.values())
    if len(numbers) < 2:
        return columns
    most = numbers[-2] if numbers[-1] == 100 else numbers[-1]
    ranks = (
        numbers == sorted(set(numbers))
        and (99 if most != numbers[-1] else 90) <= most < 100
        and len({50, 75, 90, 95, 99} & set(numbers)) > 1
    )
    better: Better = "less" if ranks else ""
    return [
        one._replace(
            quantity="percentile" if ranks else "", better=better, role="metric", percent=bare[place] if ranks else None
        )
        if place in bare and one.role in {"metric", "level"} and (ranks or one.quantity == "percentile")
        else one
        for place, one in enumerate(columns)
    ]


def _headings(header: Sequence[Sequence[str]], width: int) -> list[str]:
    heads = []
    for place in range(width):
        words = [row[place].strip() if place < len(row) else "" for row in header]
        heads.append(" / ".join(dict.fromkeys(word for word in words if word)))
    return heads


def _on_its_side(heads: Sequence[str], rows: Sequence[Sequence[Cell]]) -> bool:
    """Return whether quantities stand in the first column, and not in the header."""
    down = [rule_of(row[0].text) for row in rows]
    known = [rule for rule in down if rule and rule.role == "metric"]
    said = bool(re.fullmatch(r"\W*(?:metrics?|measurements?|指标)\W*", heads[0], re.IGNORECASE))
    quantities = {(rule.quantity, rule.unit) for rule in down if rule and (said or rule in known)}
    across = [rule_of(head) for head in heads[1:] if not _STATISTIC.fullmatch(head)]
    units = {unit_of(row[0].text) for row in rows} - {""}
    if any(rule and rule.role in {"metric", "delta"} for rule in across) or len(rows) > 60:
        return False
    enough = len(known) >= 0.3 * len(rows) if said else len(known) >= max(2, 0.6 * len(rows))
    return bool(known) and enough and (len(quantities) > 1 or len(units) > 1)


def _of_caption(columns: list[Column], caption: str, section: str, said: re.Match[str] | None) -> list[Column]:
    """Give columns headed by products or levels the quantity that the first heading, the caption or the section names."""
    about = f"{caption} {section}"
    told = re.search(r"\b(?i:in|unit:?) \(?((?i:milliseconds?|microseconds?|seconds)|ms|us|µs)\b", about)
    open_times = [one for one in columns if one.quantity in _TIMES and not one.unit]
    bare = [one for one in open_times if one.role == "metric" and _STATISTIC.fullmatch(one.heading)]
    units = {one.unit for one in columns if one.quantity in _TIMES} - {""}
    rates = "throughput" in {_quantity(section), *(one.quantity for one in columns)}
    word = told[1] if told else next(filter(None, said.groups())) if said else ""
    if word or (len(units) == 1 and all(map(is_time, units)) and not rates):  # "avg ms | p50 | p99"
        unit = UNITS[word.lower()] if word else units.pop()
        columns = [
            one._replace(unit=unit, better=one.better or "less") if one in (open_times if word else bare) else one
            for one in columns
        ]
    elif _quantity(section) == "throughput":
        columns = [one._replace(better="more") if one in bare else one for one in columns]
    open_ones = [one for one in columns if one.role == "metric" and not one.quantity]
    if len(open_ones) <= sum(one.role == "metric" for one in columns) / 2:
        return columns
    if said and said["all"]:
        unit = UNITS[said["all"]]
        return [one._replace(unit=unit, better="less") if one in open_ones and not one.unit else one for one in columns]
    corner = rule_of(columns[0].heading) if columns[0].role == "level" else None
    about = columns[0].heading if corner and corner.quantity in {"throughput", *_TIMES} else about
    rule = rule_of(about)
    # "improved by 50%" is no percentile.
    if rule is None or rule.role != "metric" or (rule.quantity == "percentile" and not _RANKED.search(about)):
        return columns
    # "ops/s | success | failed" below "Throughput"; a sentence speaks of sizes and CPU by the way.
    by_the_way = rule.quantity not in {"throughput", *_TIMES} and (len(about) > 100 or re.search(r"[.。]\s", about))
    if by_the_way or any((one.quantity, one.role) == (rule.quantity, "metric") for one in columns):
        return columns
    unit = unit_of(about) or rule.unit
    return [
        one._replace(
            quantity=rule.quantity, unit=one.unit or unit, better=rule.better or one.better or direction(unit), sure=0.6
        )
        if one in open_ones and (not one.unit or one.unit == unit)
        else one
        for one in columns
    ]


_TIMES = {"percentile", "mean", "min", "max", "latency", "spread", "time"}


def _quantity(heading: str) -> str:
    rule = rule_of(heading)
    return rule.quantity if rule else ""


_STATISTIC = re.compile(
    r"\W*(?:avg|average|mean|median|min(?:imum)?|max(?:imum)?|p?\d+(?:\.\d+)?(?:th|%)?|std\.? ?dev)\W*", re.IGNORECASE
)
_RANKED = re.compile(r"latenc|percentile|\b(?:p|tp)\d|\dth\b|分位|延迟", re.IGNORECASE)


_PAIR = re.compile(r"^([^:：=\n]{2,60}?)\s*[:：]\s+(\S.{0,60})$")


def _with_lists(blocks: list[Block]) -> list[Block]:
    """Return the blocks, with a table behind each list of two and more `key: value` items that are measurements."""
    found: list[Block] = []
    run: list[_Pair] = []
    for block in [*blocks, Block("paragraph", "", 0)]:
        pair = _PAIR.match(block.text.strip()) if block.kind == "item" else None
        rule = rule_of(pair[1]) if pair else None
        if pair and rule and rule.role == "metric" and (_begins_with_figure(pair[2]) or is_empty(pair[2])):
            run.append((pair[1], pair[2], block.line))
        else:
            if len(run) >= 2:
                found.append(_of_pairs(run, found[-1].section))
            run = []
        found.append(block)
        if block.kind == "paragraph":
            found += _lines(block)
    return found[:-1]


_Pair = tuple[str, str, int]


def _of_pairs(pairs: list[_Pair], section: str) -> Block:
    heads, cells, lines = zip(*pairs, strict=True)
    return replace(table_block([[*heads], [*cells]], [lines[0]] * 2), section=section)


def _begins_with_figure(text: str) -> bool:
    """Return whether a text begins with its figure: "offers a 67% reduction" does not, it is a sentence."""
    return any(one.start < 4 for one in figures(text)[:1])


def _lines(block: Block) -> list[Block]:
    """Return `word value` lines of a pasted table: QPS 145062 / CPU Usage 400%."""
    pairs = []
    for number, line in enumerate(block.text.split("\n")):
        match = re.fullmatch(r"[\s•·*-]*([^\d:：=|]{2,40}?)\s*[:：=]?\s+([+-]?[\d.,]+\s?\S{0,6})\s*", line)
        rule = rule_of(match[1]) if match else None
        if match and rule and rule.role in {"metric", "level"} and figures(match[2]):
            pairs.append((match[1], match[2], block.line + number))
    if len(pairs) < 2 or not any((rule := rule_of(pair[0])) and rule.role == "metric" for pair in pairs):
        return []
    return [_of_pairs(pairs, block.section)]


def _short_rows(block: Block) -> list[str]:
    """Return a note where all rows of a pipe table lack a cell: no one can tell which, and all behind it are shifted."""
    head, *rows = [len(pipes(line)) for line in block.text.split("\n") if "|" in line] or [0]
    rows = rows[1:]
    if len(rows) < 2 or len(set(rows)) > 1 or not 1 < rows[0] < head or not _is_metric(block.rows[0][-1]):
        return []  # a column of remarks may stand empty
    return [
        f"line {block.line}: each row has {rows[0]} cells under {head} headings: figures may stand under the wrong one"
    ]


def _unread(table: Table) -> list[str]:
    """Return a note for each cell of a column of figures that has a digit and yet no figure."""
    return [
        f"line {cell.line}: {cell.text!r} in column {column.heading!r} was not read as a figure"
        for row in table.rows
        for column, cell in zip(table.columns, row, strict=True)
        if (column.role in {"metric", "delta"} or (column.better and column.role == "note"))
        and not cell.figures
        and not is_empty(cell.text)
        and re.search(r"\d", cell.text)
    ]
