"""Where everything of a figure stands: found once for all that is drawn of it, as PNG, as SVG and for a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from benchbook.plots.style import DPI

# Around a figure that its engine has filled but for a narrow edge (inches).
_EDGE = 0.05

_parts: WeakKeyDictionary[Figure, Bbox] = WeakKeyDictionary()


def is_as_it_was(figure: Figure) -> bool:
    """Whether nothing was changed since it was placed: whatever changes an artist marks its figure as stale."""
    return figure in _parts and not figure.stale


@contextmanager
def placed(figure: Figure) -> Iterator[Bbox]:
    """The part of the figure to draw (inches), which has nothing else around; in the block nothing moves.

    What `savefig(bbox_inches="tight")` does each time (layout, a draw that nobody sees) is most of what it takes.
    """
    if not is_as_it_was(figure):
        _parts[figure] = _place(figure)
    engine = figure.get_layout_engine()
    figure.set_layout_engine(None)
    try:
        yield _parts[figure]
    finally:
        figure.set_layout_engine(engine)
        figure.stale = False


def _place(figure: Figure) -> Bbox:
    """By its layout engine, which keeps within the figure all that it makes room for; without one, by what is there."""
    dpi, figure.dpi = figure.dpi, DPI
    if (engine := figure.get_layout_engine()) is None:
        part = figure.get_tightbbox().padded(float(mpl.rcParams["savefig.pad_inches"]))
    else:
        engine.execute(figure)
        wide = [*_without_room(figure), *figure.legends]
        boxes = [figure.bbox, *(artist.get_window_extent() for artist in wide)]
        part = Bbox.union(boxes).transformed(figure.dpi_scale_trans.inverted()).padded(_EDGE)
    figure.dpi = dpi
    return part


def _without_room(figure: Figure) -> Iterator[Text]:
    """Titles and labels that may be longer than their panel: a layout engine makes no room for their length."""
    for panel in figure.axes:
        if panel.get_visible():
            yield from (t for t in (panel.title, panel.xaxis.label, panel.yaxis.label) if t.get_text())
