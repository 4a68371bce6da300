"""A file of any format to blocks in reading order: headings, paragraphs, tables as they are drawn, code."""

from __future__ import annotations

import codecs
import csv
import io
import re
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx
import lxml.html
from lxml import etree
from markdown_it import MarkdownIt
from markdown_it.token import Token

from benchbook.documents.numerals import UNITS
from benchbook.errors import BadInput, installing
from benchbook.user_input import user_file

MOST_BYTES = 20_000_000
MOST_TEXT = 4_000_000
MOST_UNPACKED = 200_000_000
MOST_COLUMNS = 2_000
# Of one document; they take some ten seconds.
MOST_CELLS = 100_000
_READER = f"install what reads it: {installing('reader')}"

BlockKind = Literal["heading", "paragraph", "item", "table", "code"]


@dataclass
class Block:
    """A piece of a document: `line` is where it begins (from 1); a table has `rows` of texts and its header rows first."""

    kind: BlockKind
    text: str
    line: int
    level: int = 0
    language: str = ""
    rows: list[list[str]] = field(default_factory=list)
    header: int = 0
    lines: list[int] = field(default_factory=list)
    section: str = ""
    """The headings that it stands under; without the document's title, where there are others."""


def table_block(rows: list[list[str]], lines: list[int], header: int = 1, text: str = "") -> Block:
    """Return a table of rows, each with its line, the header first."""
    return Block("table", text, lines[0], rows=rows, header=header, lines=lines)


def read(source: str) -> tuple[str, list[Block]]:
    """Return the text and the blocks of a file, an http(s) address, or "-" for standard input. Raise BadInput."""
    text, blocks = _blocks(source)
    sections: dict[int, str] = {}
    for block in blocks:
        if block.kind == "heading":
            sections = {level: words for level, words in sections.items() if level < block.level}
            sections[block.level] = block.text.strip()
        block.section = " > ".join(words for level, words in sections.items() if level > 1 or len(sections) == 1)
    return text, blocks


def _blocks(source: str) -> tuple[str, list[Block]]:
    raw, name = _content(source)
    if not raw.strip():
        raise BadInput(
            "there is nothing in it", file=source, fix="give a report: Markdown, HTML, text, PDF, CSV or XLSX"
        )
    suffix = Path(name).suffix.lower()
    if raw.startswith(b"%PDF"):
        return _pdf(raw, source)
    if raw.startswith(b"PK\x03\x04"):
        return _spreadsheet(raw, source)
    text = decoded(raw, source)
    if suffix in {".csv", ".tsv"}:
        return text, _separated(text, source)
    if suffix in {".html", ".htm", ".xhtml"} or re.match(
        r"\s*(?:<!--.*?-->\s*)*<(?:!doctype html|html|head|body)\b", text, re.I | re.S
    ):
        blocks = list(html_blocks(text, source))
        if not blocks:
            raise BadInput(
                "has no text that can be read", file=source, fix="save the page again, or the report in it as Markdown"
            )
        return text, blocks
    return text, markdown_blocks(text)


def decoded(raw: bytes, source: str) -> str:
    """Return text in the encoding that its bytes show: a byte order mark, UTF-8, GBK or Latin-1. Raise BadInput."""
    if len(raw) > MOST_TEXT:
        fix = f"give the report alone: at most {MOST_TEXT // 1_000_000} MB of text"
        raise BadInput("is too large", file=source, value=f"{len(raw):,} bytes", fix=fix)
    for mark, encoding in (
        (codecs.BOM_UTF32_LE, "utf-32"),  # begins as that of UTF-16 does
        (codecs.BOM_UTF32_BE, "utf-32"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
        (codecs.BOM_UTF8, "utf-8-sig"),
    ):
        if raw.startswith(mark):
            return raw.decode(encoding, errors="replace")
    if b"\0" in raw:
        raise BadInput(
            "is not text", file=source, value="a NUL byte", fix="give Markdown, HTML, text, PDF, CSV or XLSX"
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        pass
    try:
        text = raw.decode("gb18030")
        # Kana are none: in Japanese EUC they are the same bytes, but other characters are not.
        chinese = re.findall(r"[\u3000-\u303f\u4e00-\u9fa5\uff00-\uffef]", text)
        if len(chinese) > 0.9 * sum(not character.isascii() for character in text):
            return text
    except UnicodeDecodeError:
        pass
    text = raw.decode("cp1252", errors="replace")
    odd = sum(not (c.isprintable() or c in "\r\n\t\f") for c in text)
    if odd > 0.02 * len(text):
        raise BadInput("is not text", file=source, fix="give Markdown, HTML, text, PDF, CSV or XLSX")
    return text


def _content(source: str) -> tuple[bytes, str]:
    if source == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1), ""
    if re.match(r"https?://", source):
        try:
            with httpx.stream("GET", source, follow_redirects=True, timeout=20) as answer:
                answer.raise_for_status()
                raw = bytearray()
                for piece in answer.iter_bytes():
                    raw += piece
                    if len(raw) > MOST_BYTES:
                        raise BadInput("is too large", file=source, fix="save the report alone, and give the file")
                return bytes(raw), source.partition("?")[0]
        except httpx.HTTPError as error:
            raise BadInput(
                "cannot be fetched", file=source, value=str(error), fix="save it, and give the file"
            ) from error
    return user_file.content(Path(source), most=MOST_BYTES), source


# -- Markdown and text ------------------------------------------------------------------------------------------------

_PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:[|+]\s*:?-{2,}:?\s*)*\|?\s*$")


def markdown_blocks(text: str) -> list[Block]:  # noqa: PLR0912 - a branch for each kind of token
    """Return the blocks of Markdown, or of plain text, which is Markdown without marks."""
    text = re.sub(r"\A---\n.*?\n---\n", lambda m: "\n" * m[0].count("\n"), text, count=1, flags=re.S)
    closed = text.rfind("-->") + 3  # behind it none ends, and each beginning would be held against the whole rest
    text = re.sub(r"<!--.*?-->", lambda m: re.sub(r"[^\n]", " ", m[0]), text[:closed], flags=re.S) + text[closed:]
    # A blank line would end the HTML of a table; one with code or another table in it is no table of figures.
    text = re.sub(
        r"<table(?:(?!```|<table).)*?</table",
        lambda m: re.sub(r"(?m)^[ \t]*$", "<!-- -->", m[0]),
        text,
        flags=re.DOTALL,
    )
    tokens = _PARSER.parse(text)
    source = text.split("\n")
    found: list[Block] = []
    kind: BlockKind = "paragraph"
    items = level = 0
    table: Block | None = None
    for token in tokens:
        line = token.map[0] + 1 if token.map else (found[-1].line if found else 1)
        if token.type in {"list_item_open", "list_item_close"}:
            items += token.nesting
        elif token.type == "heading_open":
            kind, level = "heading", int(token.tag[1])
        elif token.type == "paragraph_open":
            kind = "item" if items else "paragraph"
        elif token.type == "table_open":
            table = Block("table", "", line)
        elif token.type == "table_close" and table:
            table.text = "\n".join(source[table.line - 1 : table.lines[-1]])
            _ragged(table, source)
            found.append(table)
            table = None
        elif token.type == "tr_open" and table:
            table.rows.append([])
            table.lines.append(line)
        elif token.type == "thead_close" and table:
            table.header = len(table.rows)
        elif token.type == "inline":
            words = _inline(token)
            if table:
                table.rows[-1].append(" ".join(words.split()))
            else:
                found.append(Block(kind, words, line, level if kind == "heading" else 0))
        elif token.type in {"fence", "code_block"}:
            found.append(
                Block(
                    "code",
                    token.content,
                    line + (token.type == "fence"),
                    language=token.info.strip().split(" ")[0].lower(),
                )
            )
        elif token.type == "html_block":
            found += [_moved(one, line - 1) for one in html_blocks(token.content, "HTML in Markdown")]
    return [block for one in found for block in _drawn(one)]


def _moved(block: Block, lines: int) -> Block:
    block.line += lines
    block.lines = [line + lines for line in block.lines]
    return block


def _inline(token: Token) -> str:
    words = []
    for child in token.children or []:
        if child.type in {"text", "code_inline"}:
            words.append(child.content)
        elif child.type in {"softbreak", "hardbreak"}:
            words.append("\n")
        elif child.type == "html_inline" and re.match(r"<br", child.content, re.I):
            words.append(" ")
    return re.sub(r"\[\^[^\]]+\]", "", "".join(words))


def _ragged(table: Block, source: list[str]) -> None:
    """Give a row the cells that stand beyond its header: Markdown drops them."""
    for row, line in zip(table.rows, table.lines, strict=True):
        cells = pipes(source[line - 1])
        if len(cells) > len(row) and any(cells[len(row) :]):
            row += [re.sub(r"[*`]|\\(?=[*_])", "", cell) for cell in cells[len(row) :]]


def pipes(line: str) -> list[str]:
    """Return the cells of a line that is cut by pipes, with or without outer ones."""
    line = re.sub(r"^\s*\||(?<!\\)\|\s*$", "", line.rstrip())
    return [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line)]


_FRAME = re.compile(r"^\s*[+├┌└┼┬┴╔╠╚╟|│║][-=─═━+┼┬┴├┤┌┐└┘╪╬╦╩╠╣╔╗╚╝╟╢|: ]{3,}\s*$")
_BARS = re.compile(r"[|│║┃]")


def _drawn(block: Block) -> Iterator[Block]:
    """Yield a block, with the tables that are drawn in its text as blocks of their own behind it."""
    yield block
    if block.kind not in {"code", "paragraph"}:
        return
    lines = block.text.split("\n")
    start = None
    for number, line in enumerate([*lines, ""]):
        bars = len(_BARS.findall(line))
        # Of two columns, as psql draws them, the rule alone has a cross: "----+----" below "name | size".
        inside = bool(
            _FRAME.match(line)
            or bars >= 2
            or (start is not None and (bars or _RULE.match(line)))
            or (bars and "+" in "".join(lines[number + 1 : number + 2]) and _RULE.match(lines[number + 1]))
        )
        if inside and start is None:
            start = number
        elif not inside and start is not None:
            table = _from_drawing(lines[start:number], block.line + start)
            if table:
                yield table
            start = None


def _from_drawing(lines: list[str], line: int) -> Block | None:
    frames = [number for number, text in enumerate(lines) if _FRAME.match(text) or _RULE.match(text)]
    rows = [(number, text) for number, text in enumerate(lines) if number not in frames]
    # A line that begins with the edge of a box, or has one glued to a word, is part of a picture.
    if len(rows) < 2 or any(re.search(r"^\s*\+-|\w\+--|--\+\w", text) for _, text in rows):
        return None
    # Where the headings have no bar before them, a bar at the beginning of a row stands behind an empty cell.
    outer = r"^\s*[|│║┃]|[|│║┃]\s*$" if _BARS.match(rows[0][1].lstrip()) else r"[|│║┃]\s*$"
    cells = [[cell.strip() for cell in _BARS.split(re.sub(outer, "", text))] for _, text in rows]
    width = max(map(len, cells))
    figures = sum(cell[:1].isdigit() for row in cells[1:] for cell in row)
    even = len(rows) > 2 and {len(row) for row in cells} == {width} and figures > width * (len(rows) - 1) / 2
    if width < 2 or not (frames or even):
        return None
    after_header = [frame for frame in frames if frame > rows[0][0]]
    header = sum(number < after_header[0] for number, _ in rows) if after_header else 1
    header = 1 if header in {0, len(rows)} else header
    return table_block(cells, [line + number for number, _ in rows], header, "\n".join(lines))


# -- HTML -------------------------------------------------------------------------------------------------------------

_TEXTS = set("p li dd dt blockquote figcaption caption summary td th div section article center span".split())
_SKIPPED = {"script", "style", "noscript", "template", "svg", "nav", "head", "iframe", "button", "form"}


def html_blocks(text: str, source: str) -> Iterator[Block]:
    """Yield the blocks of HTML; entities are only those of HTML, and nothing is loaded."""
    parser = lxml.html.HTMLParser(
        no_network=True, remove_comments=True, remove_pis=True, huge_tree=False, encoding="utf-8"
    )
    try:
        root = lxml.html.document_fromstring(text.encode("utf-8", errors="replace"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        if not re.search(r"\w", re.sub(r"<[^>]*>", "", text)):
            return  # closing tags, or a comment: an HTML block of Markdown may hold nothing
        raise BadInput(
            "is not HTML that can be read", file=source, value=str(error), fix="save the page again"
        ) from error
    stack = [root]
    while stack:
        element = stack.pop()
        tag = element.tag if isinstance(element.tag, str) else ""
        line = element.sourceline or 1
        if tag in _SKIPPED or not tag:
            continue
        if tag == "table":
            table = _html_table(element)
            if table:
                yield table
            continue
        if re.fullmatch(r"h[1-6]", tag):
            yield Block("heading", _words(element), line, int(tag[1]))
        elif tag == "pre":
            yield from _drawn(Block("code", element.text_content(), line))
        elif tag in _TEXTS and not _has_blocks(element):
            words = _words(element)
            if words:
                yield Block("item" if tag == "li" else "paragraph", words, line)
        else:
            if element.text and element.text.strip():
                yield Block("paragraph", " ".join(element.text.split()), line)
            stack += reversed(element)


def _has_blocks(element: Any) -> bool:
    return any(
        isinstance(child.tag, str)
        and (
            child.tag in _TEXTS - {"span"}
            or child.tag in {"table", "pre", "ul", "ol", "dl"}
            or re.fullmatch(r"h[1-6]", child.tag)
        )
        for child in element.iterdescendants()
    )


_TEXT = etree.XPath(
    ".//text()[not(ancestor::script) and not(ancestor::style) and not(ancestor::sup[starts-with(@class, 'foot') or a])] | .//br"
)


def _words(element: Any) -> str:
    found = _TEXT(element)
    return " ".join("".join(" " if not isinstance(one, str) else str(one) for one in found).split())


def _words_in(element: Any, *tags: str) -> str:
    return " ".join(_words(one) for one in element.iter(*tags))


def _html_table(element: Any) -> Block | None:  # noqa: PLR0912 - the rules of a table, one after another
    rows: list[list[str]] = []
    lines: list[int] = []
    header = count = 0
    open_cells: dict[int, tuple[int, str]] = {}
    for row in element.iter("tr"):
        if next(row.iterancestors("table")) is not element:
            continue
        cells: list[str] = []
        heads = 0
        own = [cell for cell in row if cell.tag in {"td", "th"}]
        for cell in [*own, None]:
            while len(cells) in open_cells:
                left, words = open_cells.pop(len(cells))
                if left > 1:
                    open_cells[len(cells)] = (left - 1, words)
                cells.append(words)
                if len(cells) > MOST_COLUMNS:
                    break
            if cell is None or len(cells) > MOST_COLUMNS:
                break
            words = _words(cell)
            heads += cell.tag == "th" or not words or words == _words_in(cell, "strong", "b")
            for _ in range(min(_span(cell, "colspan"), MOST_COLUMNS - len(cells))):
                if _span(cell, "rowspan") > 1:
                    open_cells[len(cells)] = (_span(cell, "rowspan") - 1, words)
                cells.append(words)
        in_head = any(parent.tag == "thead" for parent in row.iterancestors())
        if own and len(rows) == header and (in_head or (heads == len(own) and any(cells))):
            header += 1
        if cells:
            rows.append(cells)
            lines.append(row.sourceline or 1)
        count += len(cells)
        if count > MOST_CELLS:
            break
    caption = element.find("caption")
    words = _words(caption) if caption is not None else ""
    if not rows or max(map(len, rows)) < 2:
        return None
    return table_block(rows, lines, min(header or 1, len(rows) - 1), words)


def _span(cell: Any, name: str) -> int:
    text = cell.get(name) or "1"
    return min(int(text), MOST_COLUMNS) if text.isdigit() and len(text) < 6 and int(text) else 1


# -- PDF, spreadsheets, separated values ------------------------------------------------------------------------------


# pdfplumber's word for a character that its font does not name.
_UNNAMED = re.compile(r"\(cid:\d+\)")
MOST_UNNAMED = 0.2
"""The share of a PDF's characters that its fonts may leave unnamed.

Of six public files with text, one (flike/kingshard, KingDoc/report.pdf) has 94% such characters, the others at most 0.01%.
"""


def _pdf(raw: bytes, source: str) -> tuple[str, list[Block]]:
    try:
        import pdfplumber
    except ImportError as error:
        raise BadInput("is a PDF, which is not read without pdfplumber", file=source, fix=_READER) from error
    found: list[Block] = []
    try:
        with pdfplumber.open(io.BytesIO(raw)) as document:
            for page in document.pages[:300]:
                for rows in page.extract_tables():
                    cells = [[" ".join((cell or "").split()) for cell in row] for row in rows]
                    if len(cells) > 1 and len(cells[0]) > 1:
                        found.append(table_block(cells, [page.page_number] * len(cells)))
                outside = page.filter(_outside([table.bbox for table in page.find_tables()]))
                found += [
                    _moved(one, page.page_number - one.line) for one in markdown_blocks(outside.extract_text() or "")
                ]
    except BadInput:
        raise
    except Exception as error:  # a damaged file makes its library raise errors of any kind
        raise BadInput("is not a PDF that can be read", file=source, value=str(error), fix="save it again") from error
    text = "\n".join(block.text for block in found)
    characters = _UNNAMED.sub("\ufffd", text)
    if not found or characters.count("\ufffd") > MOST_UNNAMED * len(characters):
        raise BadInput("has no text layer", file=source, fix="run text recognition (OCR) over it first")
    return text, found


def _outside(boxes: list[tuple[float, float, float, float]]) -> Callable[[dict[str, float]], bool]:
    def keep(part: dict[str, float]) -> bool:
        return not any(
            x0 <= part["x0"] and part["x1"] <= x1 and top <= part["top"] and part["bottom"] <= low
            for x0, top, x1, low in boxes
        )

    return keep


def _spreadsheet(raw: bytes, source: str) -> tuple[str, list[Block]]:
    try:
        import openpyxl
    except ImportError as error:
        raise BadInput("is a spreadsheet, which is not read without openpyxl", file=source, fix=_READER) from error
    found: list[Block] = []
    try:
        if sum(part.file_size for part in zipfile.ZipFile(io.BytesIO(raw)).infolist()) > MOST_UNPACKED:
            raise BadInput("is too large once it is unpacked", file=source, fix="save the tables of the report as CSV")
        for sheet in openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True).worksheets:
            rows = [
                [
                    "" if one is None else f"{one:.15g}" if isinstance(one, float) else str(one)
                    for one in row[:MOST_COLUMNS]
                ]
                for row in sheet.iter_rows(values_only=True, max_row=20_000)
            ]
            if tables := list(_of_sheet(rows, range(1, len(rows) + 1))):
                found += [Block("heading", sheet.title, 1, 2), *tables]
    except BadInput:
        raise
    except Exception as error:  # a damaged file makes its library raise errors of any kind
        raise BadInput(
            "is not a spreadsheet that can be read", file=source, value=str(error), fix="save it as XLSX or CSV"
        ) from error
    if not found:
        raise BadInput("has no table", file=source, fix="save the sheet that has one as CSV")
    return "\n".join("\t".join(row) for block in found for row in block.rows), found


def _of_sheet(rows: list[list[str]], lines: Sequence[int]) -> Iterator[Block]:
    """Yield the tables of a sheet, each below rows of words alone: behind a blank row such words begin another one.

    Above other headings a cell that is merged is printed once, and blank in all other columns that it spans. Below
    headings without a blank, words are headings too if none stands in the first column, or if they are units, "name |
    ms | MB/s"; not so "CPU | Xeon" below "Parameter | Value", and "Q1 | | timeout" below "Query | ms | Error".
    """
    width = max(map(len, rows), default=0)
    rows = [[*row, *[""] * (width - len(row))] for row in rows]
    groups: list[dict[int, list[str]]] = [{}]
    words = [not any(re.match(r"[^\w\s]{0,2}\d+(?![\d]|th\b)", cell) for cell in row) for row in rows]
    for number, row in enumerate(rows):
        if groups[-1] and number and not any(rows[number - 1]) and any(row) and words[number]:
            groups.append({})
        if any(row):
            groups[-1][number] = row
    for group in groups:
        places = [place for place in range(width) if any(row[place] for row in group.values())]
        cells = [[row[place] for place in places] for row in group.values()]
        below = (
            place
            for place, number in enumerate(group)
            if place
            and (not words[number] or (all((*cells[place - 1], cells[place][0])) and not _are_units(cells[place][1:])))
        )
        header = min(next(below, 1), len(cells) - 1)
        for upper in cells[: header - 1]:
            for place in range(1, len(upper)):
                upper[place] = upper[place] or (upper[place - 1] if sum(map(bool, upper)) > 1 else "")
        if len(cells) > 1 and len(places) > 1:
            yield table_block(cells, [lines[number] for number in group], header)


def _are_units(cells: list[str]) -> bool:
    return all(UNITS.get(cell.strip("()[] "), "1") not in {"1", "x"} for cell in cells)  # "1": of rows, keys, nodes


def _separated(text: str, source: str) -> list[Block]:
    first = text.lstrip().split("\n", 1)[0]
    delimiter = max(",;\t|", key=first.count)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        rows, lines = [], []
        for row in reader:
            rows.append([cell.strip() for cell in row[:MOST_COLUMNS]])
            lines.append(reader.line_num)
            if len(rows) * max(1, len(row)) > MOST_CELLS:
                break
    except csv.Error as error:
        raise BadInput("is not CSV", file=source, value=str(error), fix="save it as CSV") from error
    if not (tables := list(_of_sheet(rows, lines))):
        raise BadInput("has no table", file=source, fix="give a header and rows")
    return tables
