"""A figure as PNG and as SVG by one drawing: what Agg is told to paint, an SVG of the same figure is told to write.

Ticks, lines and the places of texts are most of what a drawing takes, and they are the same in both.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO, StringIO
from typing import Any, cast

import numpy as np
from matplotlib.backend_bases import GraphicsContextBase
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, Bbox, Transform, TransformedPath

# Of an inch: SVG measures in points, and so does matplotlib what it writes.
_POINTS = 72


class NotInOneError(Exception):
    """Something in the figure is no path and no text (an image, say), which the two formats draw in their own ways."""


class TooLongError(Exception):
    """What is written would be thrown away: to write the rest of it would be in vain."""


class UpTo(StringIO):
    """Text of at most so many characters. Raises TooLongError in the middle of what would be more."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def write(self, text: str) -> int:
        self._left -= len(text)
        if self._left < 0:
            raise TooLongError
        return super().write(text)


def draw(figure: Figure, out: BytesIO, svg: UpTo, *, part: Bbox, dpi: float, png_about: Any, svg_about: Any) -> bool:
    """Write `part` (inches) of the figure as PNG to `out` and as SVG to `svg`; whether `svg` had room for it.

    The figure has no layout engine meanwhile. Raises NotInOneError, and has written nothing of use then.
    """
    before = figure.canvas
    canvas = _CanvasOfBoth(figure, svg, svg_about)
    try:
        canvas.print_figure(out, format="png", dpi=dpi, bbox_inches=part, metadata=png_about)
    finally:
        figure.set_canvas(before)
    return canvas.written()


class _CanvasOfBoth(FigureCanvasAgg):
    """Paints as ever, by a renderer that also writes."""

    def __init__(self, figure: Figure, svg: UpTo, about: Any) -> None:
        super().__init__(figure)
        self._svg, self._about = svg, about
        self._both: _RendererOfBoth | None = None

    def get_renderer(self) -> RendererAgg:
        if self._both is None:
            width, height = self.get_width_height(physical=True)
            self._both = _RendererOfBoth(width, height, self.figure.dpi, self._written_by())
        return self._both

    def _written_by(self) -> Any:
        width, height = self.figure.get_size_inches() * _POINTS
        make: Any = RendererSVG
        try:
            return make(width, height, self._svg, image_dpi=self.figure.dpi, metadata=self._about)
        except TooLongError:
            return None

    def written(self) -> bool:
        """Whether the SVG is whole, having been ended."""
        return self._both is not None and self._both.ended()


class _RendererOfBoth(RendererAgg):
    """Agg, which sees everything first, and an SVG, where there is one.

    It has all lengths in points; widths of lines and sizes of letters are in points already.
    """

    def __init__(self, width: int, height: int, dpi: float, svg: Any) -> None:
        agg: Any = super()
        agg.__init__(width, height, dpi)
        self._svg, self._share = svg, _POINTS / dpi
        self._scale = Affine2D().scale(self._share)
        # Agg's are no methods, but set by its constructor.
        names = ("draw_markers", "draw_path_collection")
        self._paint: dict[str, Callable[..., None]] = {name: getattr(self, name) for name in names}
        for name in ("draw_image", "draw_quad_mesh", "draw_gouraud_triangles"):
            setattr(self, name, self._neither)
        vars(self).update(draw_markers=self._markers, draw_path_collection=self._collection)

    def ended(self) -> bool:
        self._write(lambda svg: svg.finalize())
        return self._svg is not None

    def _write(self, how: Callable[[Any], None]) -> None:
        if self._svg is not None:
            try:
                how(self._svg)
            except TooLongError:
                self._svg = None

    def open_group(self, s: str, gid: str | None = None) -> None:
        self._write(lambda svg: svg.open_group(s, gid))

    def close_group(self, s: str) -> None:
        self._write(lambda svg: svg.close_group(s))

    def draw_path(self, gc: GraphicsContextBase, path: Any, transform: Transform, rgbFace: Any = None) -> None:
        agg: Any = super()
        agg.draw_path(gc, path, transform, rgbFace)
        self._write(lambda svg: svg.draw_path(self._scaled(gc), path, transform + self._scale, rgbFace))

    def _markers(
        self, gc: GraphicsContextBase, marker: Any, marker_trans: Transform, path: Any, trans: Transform, *rest: Any
    ) -> None:
        self._paint["draw_markers"](gc, marker, marker_trans, path, trans, *rest)
        small, there = marker_trans + self._scale, trans + self._scale
        self._write(lambda svg: svg.draw_markers(self._scaled(gc), marker, small, path, there, *rest))

    def _collection(
        self, gc: GraphicsContextBase, master: Transform, paths: Any, transforms: Any, offsets: Any, at: Transform,
        *rest: Any, **more: Any,
    ) -> None:  # fmt: skip
        self._paint["draw_path_collection"](gc, master, paths, transforms, offsets, at, *rest, **more)
        small, there = master + self._scale, at + self._scale
        self._write(
            lambda svg: svg.draw_path_collection(
                self._scaled(gc), small, paths, transforms, offsets, there, *rest, **more
            )
        )

    def draw_text(
        self, gc: GraphicsContextBase, x: float, y: float, s: str, prop: Any, angle: float,
        ismath: Any = False, mtext: Text | None = None,
    ) -> None:  # fmt: skip
        agg: Any = super()
        agg.draw_text(gc, x, y, s, prop, angle, ismath, mtext)
        beside: Any = mtext and _ScaledText(mtext, self._scale)

        def write(svg: Any) -> None:
            # Both count from the top; Agg has whole pixels.
            down = svg.height - (self.height - y) * self._share
            svg.draw_text(self._scaled(gc), x * self._share, down, s, prop, angle, ismath, beside)

        self._write(write)

    def _scaled(self, gc: GraphicsContextBase) -> GraphicsContextBase:
        """The same with its clip in points."""
        found = GraphicsContextBase()
        found.copy_properties(gc)
        within = gc.get_clip_rectangle()
        if within is not None:
            found.set_clip_rectangle(Bbox(np.asarray(within.get_points()) * self._share))
        # A path, whatever its hint says.
        path, transform = cast(tuple[Any, Any], gc.get_clip_path())
        if path is not None:
            found.set_clip_path(TransformedPath(path, transform + self._scale))
        return found

    def _neither(self, *_: Any, **__: Any) -> None:
        raise NotInOneError

    def draw_tex(self, *_: Any, **__: Any) -> None:
        raise NotInOneError

    def start_rasterizing(self) -> None:
        raise NotInOneError

    def start_filter(self) -> None:
        raise NotInOneError


class _ScaledText:
    """What an SVG asks of a text: where it is anchored, in points; the rest is the text's own."""

    def __init__(self, text: Text, scale: Affine2D) -> None:
        self._text, self._scale = text, scale

    def get_transform(self) -> Transform:
        return self._text.get_transform() + self._scale

    def __getattr__(self, name: str) -> Any:
        return getattr(self._text, name)
