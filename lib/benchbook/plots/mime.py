"""A figure as a notebook keeps it: SVG, PNG for who shows no SVG, and what it shows in words."""

from __future__ import annotations

import io
from base64 import b64encode
from typing import Any
from weakref import WeakKeyDictionary

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from IPython.core.getipython import get_ipython
from matplotlib.figure import Figure

from benchbook.plots.placed import is_as_it_was, placed
from benchbook.plots.style import DPI

# Beyond this size (bytes), thousands of marks, the PNG is the smaller one and is all that is kept.
MOST_SVG = 250_000
# Characters of a panel, of a mark and of a point of a line: fewer than in this kit's figures (`_at_least`).
_PANEL, _MARK, _POINT = 6_500, 110, 35
_NO_MARK = (None, "", " ", "none", "None")
Bundle = dict[str, Any]

# What was drawn of a figure, and under which description, while it is as it was.
_drawn: WeakKeyDictionary[Figure, tuple[str, bytes]] = WeakKeyDictionary()
_words: WeakKeyDictionary[Figure, tuple[str, str]] = WeakKeyDictionary()


def described(figure: Figure, alt: str, caption: str = "") -> Figure:
    """The same figure, with what it shows in words; pyplot no longer keeps it, so that nothing shows it twice.

    Whichever of the kit's figures is a notebook's first: from it on, its kernel shows figures in full.
    """
    show_figures_in_full()
    _words[figure] = (alt, caption)
    plt.close(figure)
    return figure


def words(figure: Figure) -> tuple[str, str]:
    """Alt text and caption of a figure; of one that nobody described, its titles."""
    titles = [axis.get_title() or axis.get_title(loc="left") for axis in figure.axes]
    return _words.get(figure, (f"Figure: {'; '.join(filter(None, titles)) or 'without a title'}", ""))


def bundle(figure: Figure) -> tuple[Bundle, Bundle]:
    """The data of a notebook's output by MIME type, and its metadata (`alt`, `caption`)."""
    alt, caption = words(figure)
    data: Bundle = {"text/plain": "\n".join(filter(None, (caption, alt))), "image/png": png(figure, alt)}
    if (drawn := svg(figure, alt)) is not None:
        data["image/svg+xml"] = drawn
    return data, {"alt": alt, "caption": caption}


def png(figure: Figure, alt: str) -> bytes:
    """The figure as PNG; asked for again, what was drawn, while nothing of the figure has changed."""
    known = _drawn.get(figure)
    if known and known[0] == alt and is_as_it_was(figure):
        return known[1]
    buffer = io.BytesIO()
    with placed(figure) as part:
        figure.savefig(buffer, format="png", dpi=DPI, bbox_inches=part, metadata={"Description": alt})
    _drawn[figure] = alt, buffer.getvalue()
    return buffer.getvalue()


def svg(figure: Figure, alt: str) -> str | None:
    """Text stays text: small, searchable, in a font of the reader's. No date: it is the same each time.

    None for one that would have more than MOST_SVG characters.
    """
    if _at_least(figure) > MOST_SVG:
        return None
    buffer = _UpTo(MOST_SVG)
    about = {"Description": alt, "Date": None}
    with (
        placed(figure) as part,
        mpl.rc_context({"svg.fonttype": "none", "font.family": "sans-serif", "svg.hashsalt": alt}),
    ):
        try:
            figure.savefig(buffer, format="svg", bbox_inches=part, metadata=about)
        except _TooLong:
            return None
    return buffer.getvalue()


def _at_least(figure: Figure) -> int:
    """Characters of the figure as SVG, by what is in it: to draw a third of it in vain takes as long as its PNG."""
    panels = [axis for axis in figure.axes if axis.get_visible()]
    lines = [line for axis in panels for line in axis.lines]
    points = [len(np.atleast_1d(line.get_xdata())) for line in lines]
    marks = sum(n for n, line in zip(points, lines, strict=True) if line.get_marker() not in _NO_MARK)
    return _PANEL * len(panels) + _MARK * marks + _POINT * sum(points)


class _TooLong(Exception):
    """What is drawn is thrown away: to draw the rest of it would be in vain."""


class _UpTo(io.StringIO):
    """Text of at most so many characters. Raises _TooLong in the middle of what would be more."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def write(self, text: str) -> int:
        self._left -= len(text)
        if self._left < 0:
            raise _TooLong
        return super().write(text)


def _repr_figure(figure: Figure, include: Any = None, exclude: Any = None) -> tuple[Bundle, Bundle]:
    data, about = bundle(figure)
    return {**data, "image/png": b64encode(data["image/png"]).decode()}, about


def show_figures_in_full() -> None:
    """From here on this kernel shows every matplotlib figure as SVG, PNG and words. Does nothing outside of one."""
    shell = get_ipython()
    if shell is not None and shell.display_formatter is not None:
        shell.display_formatter.mimebundle_formatter.for_type(Figure, _repr_figure)
        # Imported before there is a shell, it would never know of it.
        from matplotlib_inline.config import InlineBackend  # noqa: PLC0415

        # A kernel that draws inline would draw each figure once more, and show that in place of ours.
        InlineBackend.instance(parent=shell).figure_formats = set()
        shell.display_formatter.formatters["image/png"].pop(Figure, None)
