"""How things look in a notebook: HTML with its text beside it, tables that a page styles, pictures.

GitHub, nbviewer and sanitised HTML drop pictures that stand inside of HTML: a picture is SVG with PNG beside it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd
from IPython.display import HTML, display
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchbook.analysis.beside import in_rows, levels_of, measured_in
from benchbook.analysis.formatting import number, span, with_interval
from benchbook.analysis.schema import as_level
from benchbook.audit.findings import Audit, counted
from benchbook.documents.findings import SEVERITIES
from benchbook.published.tables import Published, PublishedTable

# Of a table as text, the lines that are shown; the HTML has them all.
MOST_LINES = 25
_CELL_ENDS = re.compile(r"</t[dh]>\s*(?=<t[dh])")
_LINE_ENDS = re.compile(r"</(?:tr|p|caption|figcaption|li|h\d|div|summary)>|<(?:br|div)\b[^>]*>")
_TAGS = re.compile(r"<[^>]*>")


def as_text(source: str) -> str:
    """HTML as plain text: a line per row and paragraph, cells apart."""
    lined = _LINE_ENDS.sub("\n", _CELL_ENDS.sub("  |  ", re.sub(r"\s+", " ", source)))
    lines = [html.unescape(_TAGS.sub("", line)).strip(" |") for line in lined.splitlines()]
    kept = [line for line in lines if line]
    more = [f"... ({len(kept) - MOST_LINES} more lines)"] if len(kept) > MOST_LINES else []
    return "\n".join([*kept[:MOST_LINES], *more])


class Shown(HTML):
    """HTML whose repr is its text."""

    def __init__(self, data: str) -> None:
        HTML.__init__(self, data)

    def __repr__(self) -> str:
        return as_text(str(self.data))


class Picture(Shown):
    """A picture; `about` holds `alt`, `caption`, `name` and `phone`. Its `data` is the same as one piece of HTML."""

    def __init__(self, data: str, bundle: Mapping[str, Any], about: Mapping[str, str]) -> None:
        super().__init__(data)
        self._bundle, self._about = dict(bundle), dict(about)

    def _ipython_display_(self) -> None:
        # SVG and PNG without HTML beside them, which a reader that knows all three would take.
        caption = self._about.get("caption", "")
        display(self._bundle, raw=True, metadata={**self._about, "caption": ""})
        if caption:
            # An output of its own, because JupyterLab shows no caption of a picture; a page puts both together.
            _show_html(f'<p class="bb-caption">{html.escape(caption)}</p>')


def captioned(frame: pd.DataFrame, caption: str) -> HTML:
    if frame.empty:
        return paragraph(f"{caption}: none.")
    drawn = frame.to_html(notebook=True, max_rows=pd.options.display.max_rows, show_dimensions=False, border=0)
    return Shown(drawn.replace('class="dataframe">', f'class="dataframe"><caption>{html.escape(caption)}</caption>', 1))


class Stack(Shown):
    """Several pieces below each other: neighbouring HTML is one output, every picture its own."""

    def __init__(self, parts: Sequence[HTML]) -> None:
        self.parts: list[HTML] = [one for part in parts for one in (part.parts if isinstance(part, Stack) else [part])]
        super().__init__("\n".join(str(part.data) for part in self.parts))

    def _ipython_display_(self) -> None:
        for is_picture, group in groupby(self.parts, lambda part: isinstance(part, Picture)):
            pieces = list(group)
            for piece in pieces if is_picture else [Shown("\n".join(str(part.data) for part in pieces))]:
                if isinstance(piece, Picture):
                    piece._ipython_display_()
                else:
                    _show_html(str(piece.data))


def _show_html(source: str) -> None:
    display({"text/html": source, "text/plain": as_text(source)}, raw=True)


def fragment(template: str, **values: object) -> HTML:
    """`templates/<template>.html.j2` filled in; every value is escaped."""
    return Shown(_templates().get_template(f"{template}.html.j2").render(values))


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


# Rows of a table on a page; nobody reads more of them, and a page of thousands does not open on a phone.
MOST_ROWS = 250
# JupyterLab sets every cell flush right: no way to read a sentence.
_SENTENCE, _ON_THE_LEFT = re.compile(r"<td>(?=[^<]{40})"), '<td style="text-align: left">'
_INTERVAL = re.compile("\u00a0(\\[[^]<]*\\])(?=</td>)")


def table(rows: Iterable[Mapping[str, object]], caption: str = "") -> HTML:
    """Rows as a table; the caption says what it is, and how many rows there are where not all are shown."""
    every = list(rows)
    if len(every) > MOST_ROWS:
        caption = f"{caption} (the first {MOST_ROWS:,} of {len(every):,} rows)".strip()
    frame = pd.DataFrame(every[:MOST_ROWS])
    # Without a formatter of its own, pandas writes the end of a line as \n.
    how = {name: str for name in frame if not pd.api.types.is_numeric_dtype(frame[name])}
    body = frame.to_html(index=False, border=0, classes="bb-table", escape=True, na_rep="–", formatters=how)
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    # An interval stands under its value: half as wide, and still one text for who copies it.
    narrow = _INTERVAL.sub("\u00a0<small>\\1</small>", body)
    return Shown(_SENTENCE.sub(_ON_THE_LEFT, narrow).replace("<thead>", f"{title}<thead>", 1))


def stack(parts: Sequence[HTML]) -> HTML:
    return Stack(parts)


def heading(text: str) -> HTML:
    return Shown(f"<h3>{html.escape(text)}</h3>")


def paragraph(text: str) -> HTML:
    return Shown(f"<p>{html.escape(text)}</p>")


def published(data: Published) -> HTML:
    """Return every table of the report as it was printed, with units and where it stands."""
    return stack([_published_table(part) for part in data.tables.values()])


def _published_table(part: PublishedTable) -> HTML:
    names = [name for name in part.frame.columns if part.fields[name].role != "note"]
    heads = {n: f"{part.fields[n].title}{unit_in_brackets(part.fields[n].unit)}" for n in names}
    rows = [{heads[n]: _cell(part, i, n) for n in names} for i in range(len(part.frame))]
    return table(rows, f"{part.title} ({part.where})")


def _cell(part: PublishedTable, row: int, name: str) -> str:
    """A metric as printed, so that 2.00 does not turn into 2; large plain numbers get their thousands set apart."""
    value = part.frame[name].iloc[row]
    if name not in part.printed.columns or pd.isna(value):
        return value if isinstance(value, str) else number(value)
    printed = str(part.printed[name].iloc[row])
    return f"{int(printed):,}" if printed.isdigit() else printed


def unit_in_brackets(unit: str) -> str:
    """ " (1/s)"; empty for a number of something."""
    return f" ({unit})" if unit not in ("", "1", "threads", "connections") else ""


def audit(found: Audit) -> HTML:
    """Findings gravest first, each with its arithmetic, below the counts of what passed."""
    head = paragraph(counted(found))
    if not found.findings:
        return head
    looks = dict(zip(SEVERITIES, ("bad", "warn", "none"), strict=True))
    return stack([head, fragment("audit", findings=found.findings, looks=looks)])


def beside(frame: pd.DataFrame, data: Published) -> HTML:
    """Published beside measured (schema.BESIDE), a table each: one line per system and levels, two columns a metric."""
    parts = {id: frame[frame.table == id] for id in data.tables}
    return stack([_beside(part, data.tables[id]) for id, part in parts.items() if part.measured.notna().any()])


def _beside(part: pd.DataFrame, source: PublishedTable) -> HTML:
    levels = ["system", *(name for name in levels_of(part) if part[name].notna().any())]
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    counts: dict[tuple[str, ...], list[int]] = {}
    # As printed: 2.00 does not turn into 2.
    printed = {
        (*(str(source.frame[name].iloc[i]) for name in source.levels), metric): _cell(source, i, metric)
        for i in range(len(source.frame))
        for metric in source.printed.columns
    }
    for row in in_rows(part):
        shown = {name: str(row[name]) for name in levels if name in row}
        key, metric = tuple(shown.values()), str(row["metric"])
        line = lines.setdefault(key, dict(shown))
        label = f"{source.fields[metric].title}{unit_in_brackets(row['unit'])}"
        at = tuple(shown.get(as_level(name), "<NA>") for name in source.levels)
        line[f"{label}, published"] = printed.get((*at, metric)) or number(row.get("published"))
        line[f"{label}, measured"] = with_interval(measured_in(row))
        counts.setdefault(key, []).extend([row["n"]] if row["n"] else [])
    for key, line in lines.items():
        # Fewer repetitions for a metric that not every trial has, a percentile.
        line["n"] = span(counts[key])
    every = list(lines.values())
    constant = _constants(every, [*levels, "n"])
    names = dict.fromkeys(key for line in every for key in line)
    columns = [
        *(name for name in names if name not in constant and name != "n"),
        *(["n"] if "n" not in constant else []),
    ]
    held = "".join(f"; {name} {value}" if name != "n" else f", n = {value}" for name, value in constant.items())
    caption = f"{source.title}: mean [95% interval]{held}"
    return table([{name: line.get(name, "–") for name in columns} for line in every], caption)


def _constants(lines: Sequence[Mapping[str, str]], names: Iterable[str]) -> dict[str, str]:
    """What is the same in every line stands in the caption; of a single line, only what says nothing by itself."""
    if len(lines) < 2:
        return {}
    found = {name: {line.get(name, "–") for line in lines} for name in names}
    return {name: next(iter(values)) for name, values in found.items() if len(values) == 1}
