"""A figure as a notebook keeps it: SVG, PNG for who shows no SVG, and what it shows in words.

GitHub, nbviewer and sanitised HTML drop pictures that stand inside HTML: a figure is an output of its own.
"""

from __future__ import annotations

import html
import io
import json
import pickle
import re
import warnings
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import matplotlib as mpl
import matplotlib.pyplot as plt
from IPython.core.getipython import get_ipython
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.text import Text
from matplotlib_inline.config import InlineBackend
from seaborn.axisgrid import Grid

from benchbook.display.show import Picture
from benchbook.plots.style import COLUMNS, DPI, HEIGHT, short_numbers, styled
from benchbook.plots.values import values
from benchbook.user_input.atomic_file import replace_bytes

# Bytes: a figure of thousands of marks is larger as SVG than as PNG, which then is all that is kept.
MOST_SVG = 250_000
# Inches: a phone shows a figure of this width at its own size. From so many panels on, two stand side by side.
PHONE, SMALL_PANELS = 3.7, 7
Bundle = dict[str, Any]
_IDENTIFIER = re.compile(r"[A-Za-z]\w*_\w+")

_words: WeakKeyDictionary[Figure, tuple[str, str]] = WeakKeyDictionary()
# Under which name a figure was saved: a page links to its files.
_names: WeakKeyDictionary[Figure, str] = WeakKeyDictionary()
# The same values on another scale: a page shows either.
_absolute: WeakKeyDictionary[Figure, Figure] = WeakKeyDictionary()
# Figures that only say why there is none: shown as a sentence, never numbered, never a file.
_empty: WeakSet[Figure] = WeakSet()


def described(drawn: Figure | Grid | Axes, alt: str, caption: str = "", *, absolute: Figure | None = None) -> Figure:
    """Return the figure of what matplotlib or seaborn drew, with what it shows in words.

    Any figure may be described: `plots.described(sns.relplot(...), "tps against threads: ...", "with 95% intervals")`.
    One that says why there is none (`nothing`) keeps its own words. `absolute`: of relative values, a figure of the
    values themselves, which the reader of a page may choose.
    """
    figure = drawn if isinstance(drawn, Figure) else drawn.figure
    assert isinstance(figure, Figure)
    show_figures_in_full()
    if figure not in _empty:
        _words[figure] = (alt, caption)
        if absolute is not None:
            _absolute[figure] = absolute
    # pyplot keeps it no longer, so that a notebook does not show it twice.
    plt.close(figure)
    return figure


def words(figure: Figure) -> tuple[str, str]:
    """Return alt text and caption of a figure; of one that nobody described, its titles."""
    titles = [axis.get_title() or axis.get_title(loc="left") for axis in figure.axes]
    return _words.get(figure, (f"Figure: {'; '.join(filter(None, titles)) or 'without a title'}", ""))


def reword(figure: Figure, titles: Mapping[str, str]) -> None:
    """Put titles in the place of names that have an underscore, in all words of a figure and of its absolute one.

    Numbers on axes become as short as they can be read.
    """

    def said(text: str) -> str:
        return _IDENTIFIER.sub(lambda name: titles.get(name[0], name[0]), text)

    for drawn in filter(None, (figure, _absolute.get(figure))):
        for axis in drawn.axes:
            short_numbers(axis)
            # Drawing writes the labels of ticks anew.
            for line in (axis.xaxis, axis.yaxis):
                names = [label.get_text() for label in line.get_ticklabels()]
                if (titled := [*map(said, names)]) != names:
                    line.set_major_formatter(dict(zip(line.get_ticklocs(), titled, strict=True)).get)
        for text in drawn.findobj(Text):
            text.set_text(said(text.get_text()))
        if drawn in _words:
            alt, caption = _words[drawn]
            _words[drawn] = said(alt), said(caption)


def bundle(figure: Figure) -> tuple[Bundle, Bundle]:
    """Return the data of a notebook's output by MIME type, and its metadata for a page.

    `alt`, `caption`, `name`; `values` as JSON; `phone` and `phone_values` of the drawing for a phone; `absolute`: `svg`
    and the metadata of the figure of the values themselves.
    """
    alt, caption = words(figure)
    if figure in _empty:
        return {"text/plain": alt, "text/html": f"<p>{html.escape(alt)}</p>"}, {}
    encoded = b64encode(png(figure)).decode()
    data: Bundle = {"text/plain": "\n".join(filter(None, (caption, alt))), "image/png": encoded}
    if len(drawn := svg(figure)) <= MOST_SVG:
        data["image/svg+xml"] = drawn
    about = _about(figure)
    if (other := _absolute.get(figure)) and len(drawn := svg(other)) <= MOST_SVG:
        about["absolute"] = {"svg": b64encode(drawn.encode()).decode(), **_about(other)}
    return data, about


def _about(figure: Figure) -> Bundle:
    alt, caption = words(figure)
    small, small_values = phone(figure)
    told = {"alt": alt, "caption": caption, "name": _names.get(figure, ""), "values": json.dumps(values(figure))}
    return {**told, "phone": small, "phone_values": small_values}


def png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, bbox_inches="tight", metadata={"Description": words(figure)[0]})
    return buffer.getvalue()


def svg(figure: Figure) -> str:
    """Return the figure as SVG: text stays text, in the reader's font; no date, so that it is the same each time."""
    alt, _ = words(figure)
    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "font.family": "sans-serif", "svg.hashsalt": alt}):
        figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Description": alt, "Date": None})
    return buffer.getvalue()


def phone(figure: Figure) -> tuple[str, str]:
    """Return the figure drawn for a phone as SVG in base64, and its values as JSON.

    Empty where it is too large or its panels have no order.
    """
    places = [place for axis in figure.axes if (place := axis.get_subplotspec())]
    several = len({place.get_gridspec() for place in places}) != 1
    if several or len(places) < len(figure.axes) or any(place.num1 != place.num2 for place in places):
        return "", ""
    try:
        # A copy: what a cell does with the figure afterwards finds it as it was.
        copy = pickle.loads(pickle.dumps(figure))
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            _stack(copy)
    except (pickle.PicklingError, AttributeError, TypeError, UserWarning):
        # It holds a function without a name, or its words leave the panels no room.
        return "", ""
    _words[copy] = words(figure)
    drawn = svg(copy)
    return (b64encode(drawn.encode()).decode(), json.dumps(values(copy))) if len(drawn) <= MOST_SVG else ("", "")


def _stack(figure: Figure) -> None:
    """Set panels and legends of a figure below each other, as wide as a phone."""
    height = figure.get_size_inches()[1]
    places = {axis: place for axis in figure.axes if (place := axis.get_subplotspec())}
    order = sorted({place.num1 for place in places.values()})
    [grid] = {place.get_gridspec() for place in places.values()}
    named = any(axis.texts for axis in places)  # beside their panels, which narrow ones have no room for
    columns = 2 if len(order) >= SMALL_PANELS and grid.ncols > 1 and not named else 1
    rows = -(-len(order) // columns)
    ratios = grid.get_height_ratios() if columns == grid.ncols else None
    below = GridSpec(rows, columns, figure=figure, height_ratios=ratios)
    figure.set_layout_engine("none")
    for axis, place in places.items():
        axis.set_subplotspec(below[order.index(place.num1)])
        # Panels that shared an axis had its numbers at the edge of the figure alone.
        for line in (axis.xaxis, axis.yaxis):
            if line.get_visible() and line.get_major_ticks():
                line.set_tick_params(label1On=True)
                for label in line.get_ticklabels():
                    label.set_visible(True)
    figure.set_size_inches(PHONE, max(height / grid.nrows, 1.5) * rows)
    for legend in list(figure.legends):
        handles, texts = [one for one in legend.legend_handles if one], [text.get_text() for text in legend.texts]
        figure.legend(
            handles, texts, title=legend.get_title().get_text(), loc="upper center", bbox_to_anchor=(0.5, 0.0),
            ncols=2, frameon=False,
        )  # fmt: skip
        legend.remove()
    figure.tight_layout()


def save(figure: Figure, file: Path) -> None:
    """Write the figure as PNG to `file`, and as SVG beside it; of one that shows nothing no file. Raise NotWritten."""
    if figure in _empty:
        for left in (file, file.with_suffix(".svg")):
            left.unlink(missing_ok=True)
        return
    _names[figure] = file.stem
    replace_bytes(file, png(figure))
    replace_bytes(file.with_suffix(".svg"), svg(figure).encode())
    if other := _absolute.get(figure):
        save(other, file.with_stem(f"{file.stem}-absolute"))


def picture(figure: Figure) -> Picture:
    """Return a described figure as a part of a notebook's output that holds more than it."""
    data, about = bundle(figure)
    if not about:
        return Picture(data["text/html"], data, about)
    image = (
        f'<figure class="bb-figure"><img alt="{html.escape(about["alt"], quote=True)}" style="max-width:100%" '
        f'src="data:image/png;base64,{data["image/png"]}"><figcaption>{html.escape(about["caption"])}</figcaption>'
    )
    return Picture(f"{image}</figure>", data, about)


@styled()
def nothing(why: str) -> Figure:
    """Return a figure that says why there is none: a notebook goes on, and its reader knows."""
    figure = Figure(figsize=(COLUMNS * HEIGHT, 0.6))
    figure.text(0.02, 0.5, why, va="center", fontsize=9)
    described(figure, why)
    _empty.add(figure)
    return figure


def show_figures_in_full() -> None:
    """Let this kernel show every matplotlib figure as SVG, PNG and words. Do nothing outside a kernel."""
    shell = get_ipython()
    if shell is not None and shell.display_formatter is not None:
        shell.display_formatter.mimebundle_formatter.for_type(Figure, lambda figure, **_: bundle(figure))
        # A kernel that draws inline would draw each figure once more, and show that in place of ours.
        InlineBackend.instance(parent=shell).figure_formats = set()
        shell.display_formatter.formatters["image/png"].pop(Figure, None)
