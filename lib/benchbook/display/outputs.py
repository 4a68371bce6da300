"""What a cell shows: HTML with its text beside it, pictures as outputs of their own, and never a repr of an address.

GitHub, nbviewer and sanitised HTML drop pictures that stand inside of HTML: a picture is SVG with PNG beside it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from IPython.display import HTML, display
from jinja2 import Environment, FileSystemLoader, StrictUndefined

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
    """A picture; `about` holds `alt`, `caption` and `name`. Its `data` is the same as one piece of HTML."""

    def __init__(self, data: str, bundle: Mapping[str, Any], about: Mapping[str, str]) -> None:
        super().__init__(data)
        self._bundle, self._about = dict(bundle), dict(about)

    def _ipython_display_(self) -> None:
        # SVG and PNG without HTML beside them, which a reader that knows all three would take.
        caption = self._about.get("caption", "")
        display(self._bundle, raw=True, metadata={name: self._about[name] for name in ("alt", "name")})
        if caption:
            # An output of its own, because JupyterLab shows no caption of a picture; a page puts both together.
            _show_html(f'<p class="bb-caption">{html.escape(caption)}</p>')


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
